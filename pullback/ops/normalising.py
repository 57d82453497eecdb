"""Layer, batch and root-mean-square normalisation.

`normalise` is the only operation; weights and biases are an ordinary product and sum after it.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import raw, to_array, wrap
from ..errors import ArgumentError, ShapeError
from ..kinds.symbols import whole
from .declaring import op
from .exponential import sqrt
from .operands import stacked
from .shaping import hidden_axes, reshape
from .statistics import mean
from .taking import positive_axis

__all__ = ["batch_norm", "batch_statistics", "layer_norm", "rms_norm"]


@op(shape="x")
def normalise(
    xp: Any, x: Any, /, *, axes: tuple[int, ...], eps: float, centred: bool = True
) -> Any:
    """(x - mean) / √(variance + eps) along axes, or x / √(mean of x² + eps) if not centred.

    pullback  (g - mean g - out · mean(g · out)) / √(…), without the term mean g if not centred;
              out is computed again, so that it may be written in place

    >>> import numpy as np
    >>> normalise(np.array([1.0, 3.0]), axes=(0,), eps=0.0)
    array([-1.,  1.])
    """
    if 0 in x.shape:
        return x
    if centred:
        x = x - xp.mean(x, axis=axes, keepdims=True)
    return x / xp.sqrt(xp.mean(x * x, axis=axes, keepdims=True) + eps)


@normalise.pullback("x")
def pullback_normalise(
    g: Any, x: Any, *, axes: tuple[int, ...], eps: float, centred: bool
) -> Any:
    if 0 in x.shape:
        return g
    if centred:
        x = x - mean(x, axis=axes, keepdims=True)
        g = g - mean(g, axis=axes, keepdims=True)
    deviation = sqrt(mean(x * x, axis=axes, keepdims=True) + eps)
    out = x / deviation
    return (g - out * mean(g * out, axis=axes, keepdims=True)) / deviation


@normalise.pushforward("x")
def pushforward_normalise(
    t: Any, x: Any, *, axes: tuple[int, ...], eps: float, centred: bool
) -> Any:
    return pullback_normalise(t, x, axes=axes, eps=eps, centred=centred)  # symmetric


@normalise.batching
def batch_normalise(
    x: Any, *, axes: tuple[int, ...], eps: float, centred: bool
) -> Any:
    axes = hidden_axes(axes, len(x.shape) - 1, "normalise")
    return normalise(x, axes=axes, eps=eps, centred=centred)


@whole
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, /, *, axes: Any = -1, eps: float = 1e-5
) -> Any:
    """(x - mean) / √(variance + eps) · weight + bias, with mean and variance along axes.

    The variance is that of the population (divided by n). Weight and bias broadcast against x.

    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0]]), np.array([1.0, 2.0]), eps=0.0)
    array([[-1.,  2.]])
    """
    out = normalise(x, axes=_axes(x, axes, "layer_norm"), eps=eps)
    return _affine(out, weight, bias)


@whole
def rms_norm(x: Any, weight: Any = None, /, *, axes: Any = -1, eps: float = 1e-5) -> Any:
    """x / √(mean of x² + eps) · weight, with the mean along axes.

    >>> import numpy as np
    >>> rms_norm(np.array([[1.0, 7.0]]), eps=0.0)
    array([[0.2, 1.4]])
    """
    out = normalise(x, axes=_axes(x, axes, "rms_norm"), eps=eps, centred=False)
    return _affine(out, weight, None)


@whole
def batch_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    /,
    *,
    mean: Any = None,
    variance: Any = None,
    axis: int = 1,
    eps: float = 1e-5,
) -> Any:
    """(x - mean) / √(variance + eps) · weight + bias, with one mean, variance, … per channel.

    In training, leave out mean and variance: those of the batch are used, along all axes except
    `axis`, and gradients flow through them; `batch_statistics` returns them for running averages.
    In evaluation, pass the running averages. The variance is the population's (divided by n).

    Raises `ShapeError` unless weight, bias, mean and variance have the length of the axis.

    >>> import numpy as np
    >>> x = np.array([[1.0, 10.0], [3.0, 10.0]])
    >>> batch_norm(x, eps=1e-9).round(3)
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> batch_norm(x, mean=np.array([1.0, 0.0]), variance=np.array([4.0, 4.0]), eps=0.0)
    array([[0., 5.],
           [1., 5.]])
    """
    if (mean is None) != (variance is None):
        raise ArgumentError(
            "arguments `mean` and `variance` of `batch_norm`", "both or neither", "one of them"
        )
    axis = positive_axis(axis, len(x.shape), "batch_norm")
    weight, bias = _channels(x, weight, axis, "weight"), _channels(x, bias, axis, "bias")
    if mean is None:
        return _affine(normalise(x, axes=_others(x, axis), eps=eps), weight, bias)
    centre = _channels(x, mean, axis, "mean")
    scale = 1 / sqrt(_channels(x, variance, axis, "variance") + eps)
    if weight is not None:
        scale = weight * scale
    shift = -centre * scale
    return x * scale + (shift if bias is None else shift + bias)


@whole
def batch_statistics(x: Any, *, axis: int = 1) -> tuple[Any, Any]:
    """The per-channel mean and variance of a batch, as `batch_norm` uses them; not tracked.

    The variance is the population's; PyTorch's running average uses n / (n - 1) times it.

    >>> import numpy as np
    >>> batch_statistics(np.array([[1.0, 10.0], [3.0, 10.0]]))
    (array([ 2., 10.]), array([1., 0.]))
    """
    x = stacked(x)
    data = raw(to_array(x))
    axis = positive_axis(axis, len(data.shape), "batch_statistics")
    others = _others(data, axis)
    centre = mean(data, axis=others, keepdims=True)
    centred = data - centre
    found = reshape(centre, (-1,)), mean(centred * centred, axis=others)
    return found if x is data else tuple(wrap(x._out, value) for value in found)


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def _axes(x: Any, axes: Any, subject: str) -> tuple[int, ...]:
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(positive_axis(axis, len(x.shape), subject) for axis in given)


def _others(x: Any, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(len(x.shape)) if i != axis)


def _channels(x: Any, value: Any, axis: int, name: str) -> Any:
    """A vector over the channels, reshaped to broadcast against x."""
    if value is None:
        return None
    shape = tuple(x.shape)
    if tuple(value.shape) != shape[axis : axis + 1]:
        raise ShapeError(
            f"argument `{name}` of `batch_norm`", f"shape ({shape[axis]},), one number per channel",
            f"shape {tuple(value.shape)}", "pass the axis of the channels as `axis`",
        )
    return reshape(value, (-1,) + (1,) * (len(shape) - axis - 1))
