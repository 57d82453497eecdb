"""Element-wise functions, which are also tensor methods.

The derivative of `abs` and `relu` is 0 at the kink and that of `clamp` is 1 at its bounds;
`maximum` and `minimum` split the gradient of a tie equally.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..errors import ArgumentError, ArgumentTypeError
from ..ops.views import conjugate_view
from .aliases import here
from .dtypes import cast, dtype_of, float32, floating, promoted
from .errors import as_runtime, guarded, written
from .scalars import of_scalars
from .tensor import Tensor, tensor_of

_FLOATING = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
    "erfc", "sigmoid", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
    "special_expit",
)
"""For integers, these return the default dtype."""

_PLAIN = (
    "abs", "absolute", "neg", "negative", "sign", "sgn", "square", "ceil", "floor", "trunc", "fix",
    "isnan", "isinf", "isfinite", "logical_not", "bitwise_not", "relu", "real", "imag", "signbit",
    "clone", "conj_physical",
)

_BINARY = (
    "maximum", "minimum", "hypot", "logaddexp", "copysign", "logical_and", "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder", "atan2",
    "arctan2", "eq", "ne", "lt", "le", "gt", "ge", "less", "greater", "less_equal",
    "greater_equal", "not_equal",
)

_INEXACT = ("atan2", "arctan2", "copysign")
"""For integers, these functions of `_BINARY` return the default dtype."""

__all__ = [
    *_FLOATING, *_PLAIN, *_BINARY, "add", "addcdiv", "addcmul", "allclose", "angle", "clamp",
    "clamp_max", "clamp_min", "clip", "conj", "div", "divide", "equal", "isclose", "lerp",
    "log_softmax", "logsumexp", "masked_fill", "mul", "multiply", "positive", "pow", "round",
    "softmax", "sub", "subtract", "true_divide", "where",
]


def _floating(operation: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, *, out: Any = None) -> Any:
        if out is not None:
            return written(out, call(input))
        try:
            dtype = input._array.dtype
        except AttributeError:
            raise ArgumentTypeError(
                f"`{operation.__name__}`", "a tensor", f"a {type(input).__name__}"
            ) from None
        return operation(input if dtype is float32 else floating(input))

    return call


def _pair(operation: Callable[..., Any], name: str) -> Callable[..., Any]:
    inexact = name in _INEXACT

    def call(input: Any, other: Any) -> Any:
        return operation(*promoted(tensor_of(input), other, inexact=inexact))

    return guarded(call, name)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (here(name).__doc__ or "").partition("\n")[0]
    function.__module__ = __name__
    return function


maximum: Any  # created by the loop above; other files import these
minimum: Any
erf: Any
erfc: Any
exp2: Any
expm1: Any
log1p: Any
sigmoid: Any
tanh: Any
for _name in _FLOATING:
    globals()[_name] = _named(_floating(here(_name)), _name)
for _name in _PLAIN:
    globals()[_name] = here(_name)
for _name in _BINARY:
    globals()[_name] = _named(_pair(here(_name), _name), _name)
angle = _named(_floating(ops.angle), "angle")


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """input + alpha · other."""
    value = input + (other if alpha == 1 else other * alpha)
    return value if out is None else written(out, value)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """input - alpha · other."""
    value = input - (other if alpha == 1 else other * alpha)
    return value if out is None else written(out, value)


def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """input · other."""
    return input * other if out is None else written(out, input * other)


def div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None
) -> Any:
    """input / other, optionally rounded: rounding_mode "trunc" or "floor".

    >>> import pullback.torch as torch
    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    if out is not None:
        return written(out, div(input, other, rounding_mode=rounding_mode))
    if rounding_mode is None:
        return input / other
    if rounding_mode == "floor":
        return input // other
    if rounding_mode != "trunc":
        raise as_runtime(ArgumentError(
            "argument `rounding_mode` of `div`", "None, 'trunc' or 'floor'", repr(rounding_mode)
        ))
    quotient, whole = input / other, (input // other).dtype
    return ops.astype(ops.trunc(quotient), whole, copy=False)


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """input ** exponent; either may be a number."""
    return input**exponent if out is None else written(out, input**exponent)


def conj(input: Any) -> Any:
    """The complex conjugate: a view; real tensors are unchanged."""
    return conjugate_view(input)


def positive(input: Any) -> Any:
    """The tensor itself."""
    return input


multiply, subtract, divide, true_divide = mul, sub, div, div


@guarded
def round(input: Any, *, decimals: int = 0) -> Any:
    """Rounds to `decimals` decimals, half to even; the derivative is 0.

    >>> import pullback.torch as torch
    >>> torch.tensor([1.25, 26.0]).round(decimals=-1)
    tensor([ 0., 30.])
    """
    if not decimals:
        return ops.round(input)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    if decimals > 0:
        return ops.round(input * scale) / scale
    return ops.round(input / scale) * scale


@guarded
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Clamps the entries to [min, max]; either bound may be None.

    >>> import pullback.torch as torch
    >>> torch.tensor([-1.5, 0.2]).clamp(min=0)
    tensor([0.0000, 0.2000])
    """
    if min is None and max is None:
        raise as_runtime(ArgumentError("`clamp`", "min, max or both", "neither"))
    return ops.clip(*promoted(input, min, max))


clip = clamp


def clamp_min(input: Any, min: Any) -> Any:
    """Clamps the entries to at least `min`."""
    return clamp(input, min=min)


def clamp_max(input: Any, max: Any) -> Any:
    """Clamps the entries to at most `max`."""
    return clamp(input, max=max)


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Linear interpolation: input + weight · (end - input)."""
    return input + weight * (end - input)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value · tensor1 · tensor2."""
    return input + value * (tensor1 * tensor2)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value · tensor1 / tensor2."""
    return input + value * (tensor1 / tensor2)


@guarded
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Entries of input where the condition is true, of other elsewhere.

    With the condition alone, its true indices: one index tensor per axis.
    """
    if input is None and other is None:
        return ops.nonzero(condition)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = tensor_of(input)
    return ops.where(condition, *promoted(input, other))


@guarded
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """The entries, with `value` where the mask is true.

    >>> import pullback.torch as torch
    >>> torch.ones(2).masked_fill(torch.tensor([True, False]), 0.0)
    tensor([0., 1.])
    """
    filled = ops.where(mask, value, input)
    return filled if filled.dtype == input.dtype else ops.astype(filled, input.dtype)


@guarded
@of_scalars
def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """exp(x) / Σ exp(x) along an axis."""
    return ops.softmax(cast(input, dtype_of(dtype)), axis=dim)


@guarded
@of_scalars
def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """log(exp(x) / Σ exp(x)) along an axis, computed without overflow."""
    return ops.log_softmax(cast(input, dtype_of(dtype)), axis=dim)


@guarded
@of_scalars
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """log Σ exp(x) along the given axes, computed without overflow."""
    axis = tuple(dim) if isinstance(dim, list) else dim
    return ops.logsumexp(floating(input), axis=axis, keepdims=keepdim)


@guarded
def isclose(
    input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """True where |input - other| ≤ atol + rtol · |other|; equal infinities are close."""
    x, y = input.detach(), other.detach()
    same = x == y
    # If both are infinite with one sign, the difference is NaN, and `same` decides.
    gap = ops.abs(ops.where(same, 0, x) - ops.where(same, 0, y))
    found = same | (ops.isfinite(y) & (gap <= atol + rtol * ops.abs(y)))
    return found | (ops.isnan(x) & ops.isnan(y)) if equal_nan else found


def allclose(
    input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """True if `isclose` holds for all entries."""
    return bool(ops.all(isclose(input, other, rtol, atol, equal_nan)).item())


def equal(input: Any, other: Any) -> bool:
    """True if two tensors have the same shape and entries."""
    if tuple(input.shape) != tuple(other.shape):
        return False
    return bool(ops.all(ops.equal(input, other)).item())
