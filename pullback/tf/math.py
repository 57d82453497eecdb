"""`tf.math`: element-wise functions, comparisons, reductions and cumulative sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import ops
from ..core.op import OPS
from . import special as special
from . import strict
from .activations import log_softmax as log_softmax
from .activations import softmax as softmax
from .activations import softsign as softsign
from .convert import axis_of, checked, matched, operand
from .dtypes import array_dtype
from .elementwise import binary, named, unary
from .errors import invalid
from .indexed_slices import IndexedSlices
from .segments import (
    bincount,
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from .special_functions import (
    accumulate_n,
    bessel_i0,
    bessel_i0e,
    bessel_i1,
    bessel_i1e,
    betainc,
    confusion_matrix,
    cumulative_logsumexp,
    digamma,
    erfcinv,
    erfinv,
    igamma,
    igammac,
    in_top_k,
    invert_permutation,
    is_non_decreasing,
    is_strictly_increasing,
    lbeta,
    lgamma,
    ndtri,
    polygamma,
    reciprocal_no_nan,
    scalar_mul,
    xdivy,
    xlog1py,
    zero_fraction,
    zeta,
)

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin", "asin",
    "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e",
    "betainc", "bincount", "ceil", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero",
    "cumprod", "cumsum", "cumulative_logsumexp", "digamma", "divide", "divide_no_nan", "equal",
    "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor", "floordiv", "floormod",
    "greater", "greater_equal", "igamma", "igammac", "imag", "in_top_k", "invert_permutation",
    "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing",
    "l2_normalize", "lbeta", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid",
    "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum",
    "minimum", "mod", "multiply", "multiply_no_nan", "ndtri", "negative", "nextafter",
    "not_equal", "polygamma", "polyval", "pow", "real", "reciprocal", "reciprocal_no_nan",
    "reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance",
    "rint", "round", "rsqrt", "scalar_mul", "segment_max", "segment_mean", "segment_min",
    "segment_prod", "segment_sum", "sigmoid", "sign", "sin", "sinh", "softmax", "softplus",
    "softsign", "special", "sqrt", "square", "squared_difference", "subtract", "tan", "tanh",
    "top_k", "truediv", "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum", "xdivy",
    "xlog1py", "xlogy", "zero_fraction", "zeta",
]

# Functions of one tensor ----------------------------------------------------------------------

abs = unary("abs", "fci")
negative = unary("negative", "fci")
sign, square = unary("sign", "fci"), unary("square", "fci")
exp, expm1, log, log1p = unary("exp"), unary("expm1"), unary("log"), unary("log1p")
sqrt, rsqrt, reciprocal = unary("sqrt"), unary("rsqrt"), unary("reciprocal")
sin, cos, tan = unary("sin"), unary("cos"), unary("tan")
asin, acos, atan = unary("asin"), unary("acos"), unary("atan")
sinh, cosh, tanh = unary("sinh"), unary("cosh"), unary("tanh")
asinh, acosh, atanh = unary("asinh"), unary("acosh"), unary("atanh")
sigmoid, erf, erfc = unary("sigmoid"), unary("erf", "f"), unary("erfc", "f")
log_sigmoid, softplus = unary("log_sigmoid", "f"), unary("softplus", "f")
floor, ceil, rint = unary("floor", "f"), unary("ceil", "f"), unary("round", "f")
round = unary("round", "fi")
real, imag, conj = unary("real", "fc"), unary("imag", "fc"), unary("conj", "fci")
angle = unary("angle", "fc")
is_nan, is_inf, is_finite = unary("isnan", "f"), unary("isinf", "f"), unary("isfinite", "f")
logical_not = unary("logical_not", "b")

# Functions of two tensors ---------------------------------------------------------------------

add, subtract, multiply = (binary(f) for f in (strict.add, strict.subtract, strict.multiply))
divide = truediv = binary(strict.divide)
floordiv, floormod = binary(strict.floor_divide), binary(strict.remainder)
mod = floormod
pow, atan2 = binary(strict.power), binary(strict.atan2)
maximum, minimum = binary(strict.maximum), binary(strict.minimum)
less, less_equal = binary(strict.less), binary(strict.less_equal)
greater, greater_equal = binary(strict.greater), binary(strict.greater_equal)
equal, not_equal = binary(strict.equal), binary(strict.not_equal)
nextafter = binary(strict.nextafter)


def _logical(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any, name: str | None = None) -> Any:
        x, y = matched(call.__name__, x, y)
        return method(operand(x, "b", call.__name__), y)

    return named(call, name, OPS[name])


logical_and = _logical("logical_and", strict.logical_and)
logical_or = _logical("logical_or", strict.logical_or)
logical_xor = _logical("logical_xor", strict.logical_xor)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Any:
    """(x - y)², element-wise.

    >>> squared_difference(3.0, 1.0).numpy()
    np.float32(4.0)
    """
    return square(subtract(x, y))


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, but 0 where y is 0; the gradients are also 0 there.

    >>> divide_no_nan([1.0, 2.0], [0.0, 4.0]).numpy()
    array([0. , 0.5], dtype=float32)
    """
    x, y = matched("divide_no_nan", x, y)
    zero = equal(y, 0)
    return ops.where(zero, ops.zeros_like(x), divide(x, ops.where(zero, ops.ones_like(y), y)))


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """x · y, but 0 where y is 0, even if x is infinite or NaN.

    >>> multiply_no_nan(float("inf"), 0.0).numpy()
    np.float32(0.0)
    """
    x, y = matched("multiply_no_nan", x, y)
    zero = equal(y, 0)
    return ops.where(zero, ops.zeros_like(x), x) * ops.where(zero, ops.zeros_like(y), y)


def xlogy(x: Any, y: Any, name: str | None = None) -> Any:
    """x · log(y), but 0 where x is 0.

    >>> xlogy(0.0, 0.0).numpy()
    np.float32(0.0)
    """
    x, y = matched("xlogy", x, y)
    return x * log(ops.where(equal(x, 0), ops.ones_like(y), y))


def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """The sum of a list of tensors of one shape and dtype.

    >>> add_n([1.0, 2.0, 3.0]).numpy()
    np.float32(6.0)
    """
    first, *rest = matched("add_n", *inputs)
    total = first if rest else ops.identity(first)
    for x in rest:
        if x.shape != first.shape:
            raise invalid("`add_n`", f"tensors of one shape, as {first.shape}", f"{x.shape}")
        total = strict.add(total, x)
    return total


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Any:
    """Evaluates a polynomial at x; coeffs begin with the highest power.

    >>> polyval([1.0, 0.0, 2.0], 3.0).numpy()
    np.float32(11.0)
    """
    x, total, *rest = matched("polyval", x, *coeffs)
    for coefficient in rest:
        total = coefficient + total * x
    return total


# Reductions ---------------------------------------------------------------------------------


def _reduction(name: str, core: str, kinds: str) -> Callable[..., Any]:
    """A reduction over one axis, several axes, or all."""
    function = OPS[core]

    def call(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        x = operand(input_tensor, kinds, call.__name__)
        return function(x, axis=axis_of(axis), keepdims=keepdims)

    call = checked(named(call, name, function))
    call.__doc__ = f"{(function.__doc__ or '').partition(chr(10))[0]}\n\nSee `pullback.{core}`."
    return call


def _total(name: str, core: str) -> Callable[..., Any]:
    """A sum or product that keeps the dtype of the entries, also for small integers."""
    function = OPS[core]

    def call(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        x = operand(input_tensor, "fciu", call.__name__)
        dtype = x._array.dtype if x._array.dtype.kind in "iu" else None
        return function(x, axis=axis_of(axis), dtype=dtype, keepdims=keepdims)

    return checked(named(call, name, function))


reduce_sum, reduce_prod = _total("reduce_sum", "sum"), _total("reduce_prod", "prod")
reduce_max = _reduction("reduce_max", "max", "fiu")
reduce_min = _reduction("reduce_min", "min", "fiu")
reduce_all, reduce_any = _reduction("reduce_all", "all", "b"), _reduction("reduce_any", "any", "b")
reduce_logsumexp = _reduction("reduce_logsumexp", "logsumexp", "f")
reduce_variance = _reduction("reduce_variance", "var", "fc")
reduce_std = _reduction("reduce_std", "std", "fc")
reduce_euclidean_norm = _reduction("reduce_euclidean_norm", "vector_norm", "fc")
_mean = _reduction("reduce_mean", "mean", "fc")


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The mean over one axis, several axes, or all; for integers an integer, rounded towards 0.

    >>> reduce_mean([[1.0, 2.0], [3.0, 5.0]], axis=0).numpy()
    array([2. , 3.5], dtype=float32)
    """
    x = operand(input_tensor, "fciu", "reduce_mean")
    if x._array.dtype.kind not in "iu":
        return _mean(x, axis, keepdims)
    total = reduce_sum(x, axis, keepdims)
    count = x.shape.num_elements() // max(1, total.shape.num_elements())
    return sign(total) * (abs(total) // count)


@checked
def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = "int64",
    name: str | None = None,
) -> Any:
    """The number of nonzero entries along one axis, several axes, or all.

    >>> count_nonzero([1.0, 0.0, 2.0]).numpy()
    np.int64(2)
    """
    count = ops.count_nonzero(operand(input), axis=axis_of(axis), keepdims=keepdims)
    return ops.astype(count, array_dtype(dtype))


# Cumulative sums ------------------------------------------------------------------------------


def _running(name: str, core: str) -> Callable[..., Any]:
    function = getattr(ops, core)

    def call(
        x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False,
        name: str | None = None,
    ) -> Any:
        x = operand(x, "fciu", call.__name__)
        axis = int(axis_of(axis))
        if reverse:
            x = ops.flip(x, axis=axis)
        dtype = x._array.dtype if x._array.dtype.kind in "iu" else None
        out = function(x, axis=axis, dtype=dtype, include_initial=exclusive)
        if exclusive:
            at = axis % len(x._data.shape)
            out = out[(*(slice(None),) * at, slice(0, -1))]
        return ops.flip(out, axis=axis) if reverse else out

    return checked(named(call, name, function))


cumsum = _running("cumsum", "cumulative_sum")
cumprod = _running("cumprod", "cumulative_prod")


# Positions ----------------------------------------------------------------------------------


def _extreme(name: str) -> Callable[..., Any]:
    def call(
        input: Any, axis: Any = None, output_type: Any = "int64", name: str | None = None
    ) -> Any:
        x = operand(input, "fiub", call.__name__)
        found = OPS[call.__name__](x, axis=0 if axis is None else axis_of(axis))
        wanted = array_dtype(output_type)
        return found if found._data.dtype == wanted else ops.astype(found, wanted)

    return checked(named(call, name, OPS[name]))


argmax, argmin = _extreme("argmax"), _extreme("argmin")


class TopKV2(NamedTuple):
    """The largest entries and their indices."""

    values: Any
    indices: Any


@checked
def top_k(
    input: Any, k: int = 1, sorted: bool = True, index_type: Any = "int32",
    name: str | None = None,
) -> TopKV2:
    """The k largest entries along the last axis, in descending order, and their indices.

    >>> top_k([1.0, 3.0, 2.0], 2).values.numpy()
    array([3., 2.], dtype=float32)
    """
    values, indices = ops.top_k(operand(input, "fiu", "top_k"), int(k))
    return TopKV2(values, ops.astype(indices, array_dtype(index_type)))


# Clipping and scaling -------------------------------------------------------------------------


@checked
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Clips t to [min, max]; the derivative is 1 inside and at the bounds, 0 outside.

    >>> clip_by_value([-3.0, 0.5, 3.0], -1.0, 1.0).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_value(t.values, clip_value_min, clip_value_max))
    t, low, high = matched("clip_by_value", t, clip_value_min, clip_value_max)
    return ops.clip(operand(t, "fiu", "clip_by_value"), low, high)


@checked
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Any:
    """x / √max(Σ x², epsilon), with the sum over one axis, several axes, or all.

    >>> l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    x = operand(x, "fc", "l2_normalize")
    total = reduce_sum(real(x * conj(x)), axis, keepdims=True)
    return x * ops.astype(rsqrt(maximum(total, epsilon)), x._array.dtype)


def complex(real: Any, imag: Any, name: str | None = None) -> Any:
    """The complex tensor real + i · imag.

    >>> complex(1.0, 2.0).dtype
    tf.complex64
    """
    return ops.make_complex(*matched("complex", real, imag))
