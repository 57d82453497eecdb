"""Special functions of `tf.math`, and its less common functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops, special
from ..composed.counting import pair_counts
from ..composed.segments import limits
from ..core.tensor import raw, wrap
from ..kinds.symbols import whole
from .convert import axis_of, checked, matched, operand
from .dtypes import array_dtype
from .errors import invalid
from .indexed_slices import IndexedSlices
from .tensor import Tensor

__all__ = [
    "accumulate_n", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "betainc",
    "confusion_matrix", "cumulative_logsumexp", "digamma", "erfcinv", "erfinv", "igamma",
    "igammac", "in_top_k", "invert_permutation", "is_non_decreasing", "is_strictly_increasing",
    "lbeta", "lgamma", "ndtri", "polygamma", "reciprocal_no_nan", "scalar_mul", "xdivy",
    "xlog1py", "zero_fraction", "zeta",
]


def _special(name: str, core: str) -> Callable[..., Any]:
    function = getattr(special, core)

    def call(x: Any, name: str | None = None) -> Any:
        return function(operand(x, "f", call.__name__))

    call.__name__ = call.__qualname__ = name
    first = (function.__doc__ or "").partition("\n")[0]
    call.__doc__ = f"{first}\n\nSee `pullback.special.{core}`."
    return call


def _special_of_several(name: str, core: str) -> Callable[..., Any]:
    function = getattr(special, core)

    def call(*args: Any, name: str | None = None) -> Any:
        return function(*matched(call.__name__, *args))

    call.__name__ = call.__qualname__ = name
    first = (function.__doc__ or "").partition("\n")[0]
    call.__doc__ = f"{first}\n\nSee `pullback.special.{core}`."
    return call


lgamma, digamma = _special("lgamma", "gammaln"), _special("digamma", "digamma")
erfinv, erfcinv = _special("erfinv", "erfinv"), _special("erfcinv", "erfcinv")
ndtri = _special("ndtri", "ndtri")
bessel_i0, bessel_i0e = _special("bessel_i0", "i0"), _special("bessel_i0e", "i0e")
bessel_i1, bessel_i1e = _special("bessel_i1", "i1"), _special("bessel_i1e", "i1e")
bessel_j0, bessel_j1 = _special("bessel_j0", "j0"), _special("bessel_j1", "j1")
bessel_k0, bessel_k0e = _special("bessel_k0", "k0"), _special("bessel_k0e", "k0e")
bessel_k1, bessel_k1e = _special("bessel_k1", "k1"), _special("bessel_k1e", "k1e")
bessel_y0, bessel_y1 = _special("bessel_y0", "y0"), _special("bessel_y1", "y1")
igamma, igammac = (
    _special_of_several("igamma", "gammainc"), _special_of_several("igammac", "gammaincc")
)
betainc, zeta = _special_of_several("betainc", "betainc"), _special_of_several("zeta", "zeta")
polygamma = _special_of_several("polygamma", "polygamma")
xlog1py = _special_of_several("xlog1py", "xlog1py")


def xdivy(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, but 0 where x is 0.

    >>> xdivy(0.0, 0.0).numpy()
    np.float32(0.0)
    """
    x, y = matched("xdivy", x, y)
    return x / ops.where(ops.equal(x, 0), ops.ones_like(y), y)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Any:
    """1 / x, but 0 where x is 0.

    >>> reciprocal_no_nan([0.0, 4.0]).numpy()
    array([0.  , 0.25], dtype=float32)
    """
    x = operand(x, "fc", "reciprocal_no_nan")
    zero = ops.equal(x, 0)
    return ops.where(zero, ops.zeros_like(x), 1 / ops.where(zero, ops.ones_like(x), x))


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A scalar times a tensor or IndexedSlices.

    >>> scalar_mul(2.0, [1.0, 2.0]).numpy()
    array([2., 4.], dtype=float32)
    """
    if isinstance(x, IndexedSlices):
        return x.with_values(scalar_mul(scalar, x.values))
    x, scalar = matched("scalar_mul", x, scalar)
    if scalar.ndim:
        raise invalid("argument `scalar` of `scalar_mul`", "a number", f"shape {scalar.shape}")
    return scalar * x


def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Any:
    """The sum of a list of tensors of one shape.

    >>> accumulate_n([[1.0], [2.0]]).numpy()
    array([3.], dtype=float32)
    """
    first, *rest = matched("accumulate_n", *inputs)
    if any(x.shape != first.shape for x in rest):
        raise invalid("`accumulate_n`", "tensors of one shape", f"{[x.shape for x in rest]}")
    for x in rest:
        first = first + x
    return first


@checked
def lbeta(x: Any, name: str | None = None) -> Any:
    """log B(x) of the multivariate beta function, along the last axis.

    >>> lbeta([1.0, 1.0]).numpy()
    np.float32(0.0)
    """
    x = operand(x, "f", "lbeta")
    return ops.sum(lgamma(x), axis=-1) - lgamma(ops.sum(x, axis=-1))


@checked
@whole
def cumulative_logsumexp(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Cumulative log-sum-exp: log of the cumulative sums of exp(x), computed without overflow.

    exclusive  exclude the entry itself; the first result is -inf (the dtype's smallest number)
    reverse    sum from the end

    >>> cumulative_logsumexp([0.0, 0.0]).numpy()
    array([0.       , 0.6931472], dtype=float32)
    """
    x, axis = operand(x, "f", "cumulative_logsumexp"), int(axis_of(axis))
    x = ops.flip(x, axis=axis) if reverse else x
    parts = ops.unstack(x, axis=axis)
    lowest = limits(x._data.dtype).min
    total = ops.zeros_like(parts[0]) + wrap(Tensor, lowest.astype(x._data.dtype))
    made = []
    for part in parts:
        after = ops.logaddexp(total, part)
        made.append(total if exclusive else after)
        total = after
    out = ops.stack(made, axis=axis)
    return ops.flip(out, axis=axis) if reverse else out


# Counting and comparing ---------------------------------------------------------------------


def zero_fraction(value: Any, name: str | None = None) -> Any:
    """The fraction of entries that are 0.

    >>> zero_fraction([0.0, 1.0]).numpy()
    np.float32(0.5)
    """
    return ops.mean(ops.astype(ops.equal(operand(value), 0), ops.float32))


@checked
@whole
def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Any:
    """Whether each row's target is among its k largest predictions; ties count as in.

    >>> in_top_k([1, 0], [[0.1, 0.9], [0.2, 0.8]], 1).numpy()
    array([ True, False])
    """
    at, x = operand(targets, "iu", "in_top_k"), operand(predictions, "f", "in_top_k")
    classes = ops.arange(x.shape[1], dtype=at._data.dtype)._data
    mine = ops.equal(ops.expand_dims(at, axis=-1), wrap(Tensor, classes))
    own = ops.sum(ops.where(mine, x, 0), axis=-1)
    larger = ops.count_nonzero(x > ops.expand_dims(own, axis=-1), axis=-1)
    return (larger < int(raw(k))) & ops.any(mine, axis=-1) & ops.isfinite(own)


@checked
@whole
def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None,
    dtype: Any = "int32", name: str | None = None,
) -> Any:
    """Confusion matrix: counts (or summed weights) per label (row) and prediction (column).

    >>> confusion_matrix([0, 1, 1], [0, 1, 0]).numpy()
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
    rows, columns = (operand(v, "iu", "confusion_matrix")._data.reshape(-1)
                     for v in (labels, predictions))
    most = int(max(rows.max(initial=-1), columns.max(initial=-1))) + 1
    size = most if num_classes is None else int(raw(num_classes))
    if most > size or min(rows.min(initial=0), columns.min(initial=0)) < 0:
        raise invalid("`confusion_matrix`", f"numbers in [0, {size})", f"{most - 1}")
    given = 1 if weights is None else operand(weights)._data.reshape(-1)
    return wrap(Tensor, pair_counts(rows, columns, size, given, array_dtype(dtype)))


@checked
@whole
def invert_permutation(x: Any, name: str | None = None) -> Any:
    """The inverse of a permutation: y[x[i]] = i.

    >>> invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    at = operand(x, "i", "invert_permutation")._data
    if sorted(at.tolist()) != list(range(at.size)):
        raise invalid("`invert_permutation`", "a permutation of 0 … n - 1", f"{at}")
    return wrap(Tensor, ops.argsort(at).astype(at.dtype))


def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """True if no entry is smaller than the one before.

    >>> bool(is_non_decreasing([1.0, 1.0, 2.0]))
    True
    """
    flat = ops.reshape(operand(x), (-1,))
    return ops.all(flat[1:] >= flat[:-1])


def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """True if every entry is larger than the one before.

    >>> bool(is_strictly_increasing([1.0, 1.0, 2.0]))
    False
    """
    flat = ops.reshape(operand(x), (-1,))
    return ops.all(flat[1:] > flat[:-1])
