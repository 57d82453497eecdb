"""`tf.test`: gradients compared with finite differences."""

from __future__ import annotations

from typing import Any

import numpy

from ...errors import ArgumentError
from .arrays import placeholder
from .differentiation import gradients
from .graph import graph_for, opened
from .session import get_default_session

__all__ = ["compute_gradient", "compute_gradient_error"]


def compute_gradient(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: Any = None, extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian of y with respect to x, computed from gradients and from central differences.

    Both have one row per entry of x and one column per entry of y. Runs in the default session;
    a list of x's (with their shapes and values) gives a list of such pairs.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session():
    ...     x = tf.placeholder(tf.float64, [2])
    ...     exact, near = tf.test.compute_gradient(x, [2], x * x, [2], numpy.array([1.0, 3.0]))
    >>> exact
    array([[2., 0.],
           [0., 6.]])
    """
    session = get_default_session()
    if session is None:
        raise ArgumentError("compute_gradient", "a default session", "none",
                            "call it inside `with tf.Session():`")
    for target in _listed(init_targets):
        session.run(target)
    xs = x if isinstance(x, list) else [x]
    shapes = x_shape if isinstance(x, list) else [x_shape]
    starts = x_init_value if isinstance(x, list) and x_init_value else [x_init_value] * len(xs)
    values = [
        numpy.random.default_rng(0).uniform(size=shape) if v is None else v
        for v, shape in zip(starts, shapes, strict=True)
    ]
    arrays = [numpy.array(v, x._data.dtype) for x, v in zip(xs, values, strict=True)]
    feeds = {**dict(zip(xs, arrays, strict=True)), **(extra_feed_dict or {})}
    found = [_both(session, x, y, tuple(y_shape), feeds, delta) for x in xs]
    return found if isinstance(x, list) else found[0]


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _both(
    session: Any, x: Any, y: Any, y_shape: tuple[int, ...], feeds: Any, delta: float
) -> tuple[Any, Any]:
    """The Jacobian from gradients and from differences."""
    start = feeds[x]
    shape = (start.size, int(numpy.prod(y_shape, dtype=int)))
    exact, near = numpy.zeros(shape, start.dtype), numpy.zeros(shape, start.dtype)
    graph = graph_for((y,))
    with opened(graph):
        cotangent = placeholder(y.dtype, y_shape)
        (slope,) = gradients(y, x, cotangent)
    for column in range(shape[1]):
        one = numpy.zeros(shape[1], y._data.dtype)
        one[column] = 1
        if slope is not None:
            exact[:, column] = session.run(
                slope, {**feeds, cotangent: one.reshape(y_shape)}
            ).reshape(-1)
    for row in range(shape[0]):
        ends = []
        for sign in (1, -1):
            moved = start.copy().reshape(-1)
            moved[row] += sign * delta
            ends.append(session.run(y, {**feeds, x: moved.reshape(start.shape)}).reshape(-1))
        near[row] = (ends[0] - ends[1]) / (2 * delta)
    return exact, near


def compute_gradient_error(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: Any = None, extra_feed_dict: Any = None,
) -> float:
    """The largest difference between both Jacobians; see `compute_gradient`."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets,
                             extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max(float(numpy.max(numpy.abs(a - b), initial=0)) for a, b in pairs)
