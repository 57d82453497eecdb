"""`tf.gradients` and `tf.hessians` in traced functions; functions with a replaced gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..custom.gradient import custom_gradient
from ..errors import TapeError
from ..graphs import gradients as _gradients
from ..kinds.symbols import current_graph
from ..ops import reshape, stack
from .tape import UnconnectedGradients

__all__ = ["grad_pass_through", "gradients", "hessians"]


def _inside(subject: str) -> None:
    if current_graph() is None:
        raise TapeError(
            f"tf.{subject}", "a call inside a tf.function", "eager execution", "use tf.GradientTape"
        )


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", gate_gradients: bool = False,
    aggregation_method: Any = None, stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of sum(ys) with respect to each of xs, inside a traced function.

    grad_ys         one cotangent per y; ones by default
    stop_gradients  tensors to treat as constants

    `gate_gradients` and `aggregation_method` are ignored. Raises `TapeError` (a `RuntimeError`)
    outside traced functions.

    >>> from pullback import tf
    >>> slope = tf.function(lambda x: tf.gradients(x * x, x)[0])
    >>> slope(tf.constant(3.0)).numpy()
    np.float32(6.0)
    """
    _inside("gradients")
    return _gradients(ys, xs, grad_ys, stop_gradients,
                      getattr(unconnected_gradients, "value", unconnected_gradients), name=name)


def hessians(
    ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: Any = None,
    name: str = "hessians",
) -> list[Any]:
    """The Hessian of sum(ys) with respect to each of xs, of shape x.shape + x.shape.

    Only inside traced functions, as `gradients`.

    >>> from pullback import tf
    >>> curve = tf.function(lambda x: tf.hessians(tf.reduce_sum(x**3), x)[0])
    >>> curve(tf.constant([1.0, 2.0])).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    _inside("hessians")
    return [_hessian(ys, x) for x in (xs if isinstance(xs, (list, tuple)) else [xs])]


def _hessian(ys: Any, x: Any) -> Any:
    (first,) = gradients(ys, x)
    size = x.shape.num_elements()
    flat = reshape(first, (size,))
    rows: Any = [
        gradients(flat[i], x, unconnected_gradients=UnconnectedGradients.ZERO)[0]
        for i in range(size)
    ]
    return reshape(stack(rows), (*x.shape, *x.shape))


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with the gradient of the identity: the cotangent passes through unchanged.

    >>> from pullback import tf
    >>> x = tf.constant(1.2)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.grad_pass_through(tf.round)(x) * 3.0
    >>> tape.gradient(y, x).numpy()
    np.float32(3.0)
    """

    @custom_gradient
    def passing(*args: Any, **keywords: Any) -> Any:
        def grad(*gs: Any, variables: Any = None) -> Any:
            given = gs[0] if len(gs) == 1 else gs
            return given if variables is None else (given, [None] * len(variables))

        return f(*args, **keywords), grad

    return passing
