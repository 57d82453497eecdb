"""More element-wise functions, which are also tensor methods.

`fmax` and `fmin` give the gradient of a tie to the first argument; `maximum` and `minimum` split
it. The derivative of `nan_to_num` is 0 where it replaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import ops
from .. import special as _special
from ..arrays.inexact import kind_of
from ..composed import counting
from ..composed import elementwise as composed
from ..core.tensor import raw, wrap
from ..errors import ArgumentError
from ..ops.complex_ import view_as_complex as _view_as_complex
from .aliases import alias, here
from .dtypes import cast, complex128, float64, floating, promoted
from .elementwise import clamp
from .errors import as_runtime, guarded
from .tensor import Tensor, tensor_of

_SPECIAL = ("digamma", "erfinv", "i0", "lgamma", "sinc")
_PAIRS = ("igamma", "igammac", "xlogy")

__all__ = [
    *_SPECIAL, *_PAIRS, "bitwise_left_shift", "bitwise_right_shift", "complex", "deg2rad",
    "float_power", "fmax", "fmin", "fmod", "frac", "gcd", "heaviside", "isneginf", "isposinf",
    "isreal", "lcm", "ldexp", "logaddexp2", "logit", "mvlgamma", "nan_to_num", "nextafter", "polar",
    "polygamma", "rad2deg", "rsub", "threshold", "view_as_complex", "view_as_real",
]


def _made(function: Callable[..., Any], name: str, operation: Callable[..., Any]) -> Any:
    made = guarded(function, name)
    made.__qualname__, made.__module__ = name, __name__
    made.__doc__ = (operation.__doc__ or "").partition("\n")[0]
    return made


def of_one(operation: Callable[..., Any], name: str) -> Any:
    """An operation as a function of one tensor; integers become the default dtype."""
    return _made(lambda input: operation(floating(input)), name, operation)


def of_two(operation: Callable[..., Any], name: str) -> Any:
    """An operation as a function of two operands, in their common floating dtype."""
    return _made(
        lambda input, other: operation(*promoted(input, other, inexact=True)), name, operation
    )


digamma: Any  # created below; other files import these
erfinv: Any
i0: Any
igamma: Any
igammac: Any
lgamma: Any
sinc: Any
xlogy: Any
for _name in _SPECIAL:
    globals()[_name] = of_one(here(_name, _special), _name)
for _name in _PAIRS:
    globals()[_name] = of_two(here(_name, _special), _name)


# Arithmetic -----------------------------------------------------------------------------------


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """other - alpha · input."""
    return other - (input if alpha == 1 else input * alpha)


@guarded
def fmod(input: Any, other: Any) -> Any:
    """The remainder of input / other with the sign of input; `remainder` has the sign of other.

    >>> import pullback.torch as torch
    >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """
    x, y = promoted(tensor_of(input), other)
    return composed.fmod(x, y)


def frac(input: Any) -> Any:
    """The fractional part, with the sign of the entry; its derivative is 1."""
    return input - ops.trunc(input)


def float_power(input: Any, exponent: Any) -> Any:
    """input ** exponent, in float64."""
    base = tensor_of(input)
    wide = complex128 if base.dtype.kind == "c" else float64
    power = cast(exponent, wide) if isinstance(exponent, Tensor) else exponent
    return cast(base, wide) ** power


def ldexp(input: Any, other: Any) -> Any:
    """input · 2 ** other."""
    return floating(input) * ops.pow(2.0, floating(tensor_of(other)))


def deg2rad(input: Any) -> Any:
    """Converts degrees to radians."""
    return floating(input) * (math.pi / 180)


def rad2deg(input: Any) -> Any:
    """Converts radians to degrees."""
    return floating(input) * (180 / math.pi)


def logaddexp2(input: Any, other: Any) -> Any:
    """log₂(2^input + 2^other), computed without overflow."""
    return composed.logaddexp2(input, other)


def _whole_pair(function: Callable[..., Any], name: str, doc: str) -> Any:
    def call(input: Any, other: Any) -> Any:
        x, y = promoted(tensor_of(input), other)
        return wrap(Tensor, function(raw(x), raw(y)))

    call.__doc__ = doc
    return guarded(call, name)


gcd = _whole_pair(counting.gcd, "gcd", "The greatest common divisor of integers.")
lcm = _whole_pair(counting.lcm, "lcm", "The least common multiple of integers.")


@guarded
def nextafter(input: Any, other: Any) -> Any:
    """The next floating-point number after input towards other; it has no derivative."""
    x, y = promoted(tensor_of(input), other)
    return ops.nextafter(x.detach(), raw(y))


@guarded
def bitwise_left_shift(input: Any, other: Any) -> Any:
    """input << other, for integers."""
    return tensor_of(input) << other


@guarded
def bitwise_right_shift(input: Any, other: Any) -> Any:
    """input >> other, for integers."""
    return tensor_of(input) >> other


# Comparisons ----------------------------------------------------------------------------------


@guarded
def fmax(input: Any, other: Any) -> Any:
    """The element-wise maximum; if one entry is NaN, the other one."""
    x, y = promoted(input, other)
    return ops.where((x >= y) | ops.isnan(y), x, y)


@guarded
def fmin(input: Any, other: Any) -> Any:
    """The element-wise minimum; if one entry is NaN, the other one."""
    x, y = promoted(input, other)
    return ops.where((x <= y) | ops.isnan(y), x, y)


@guarded
def heaviside(input: Any, values: Any) -> Any:
    """0 where input is negative, 1 where it is positive, `values` where it is 0."""
    return ops.where(input == 0, values, cast(input > 0, input.dtype))


@guarded
def threshold(input: Any, threshold: float, value: float) -> Any:
    """The entries above a threshold, `value` for the others."""
    return ops.where(input > threshold, input, value)


@guarded
def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """Replaces NaN (with 0) and infinities (with the dtype's extreme values).

    >>> import pullback.torch as torch
    >>> torch.tensor([1.0, float("nan")]).nan_to_num()
    tensor([1., 0.])
    """
    if kind_of(input.dtype) != "f":
        return ops.identity(input)
    return composed.nan_to_num(input, 0.0 if nan is None else nan, posinf, neginf)


@guarded
def isposinf(input: Any) -> Any:
    """True where an entry is +∞."""
    return input == math.inf


@guarded
def isneginf(input: Any) -> Any:
    """True where an entry is -∞."""
    return input == -math.inf


@guarded
def isreal(input: Any) -> Any:
    """True where an entry has no imaginary part."""
    if input.dtype.kind != "c":
        return ops.ones_like(input.detach(), dtype=ops.bool)
    return ops.imag(input.detach()) == 0


# Special functions ----------------------------------------------------------------------------


@guarded
def logit(input: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)); with eps, x is clamped to [eps, 1 - eps].

    >>> import pullback.torch as torch
    >>> torch.tensor([0.5]).logit()
    tensor([0.])
    """
    x = floating(input)
    return _special.logit(x if eps is None else clamp(x, eps, 1 - eps))


@guarded
def polygamma(n: Any, input: Any) -> Any:
    """The n-th derivative of `digamma`; as a method, `x.polygamma(n)`."""
    if isinstance(n, Tensor) and not isinstance(input, Tensor):
        n, input = input, n
    return _special.polygamma(n, floating(input))


@guarded
def mvlgamma(input: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension p."""
    x = floating(input)
    out = _special.gammaln(x) + p * (p - 1) / 4 * math.log(math.pi)
    for i in range(1, p):
        out = out + _special.gammaln(x - i / 2)
    return out


# Complex numbers ------------------------------------------------------------------------------


complex, view_as_real = alias("complex"), alias("view_as_real")


@guarded
def polar(abs: Any, angle: Any) -> Any:
    """abs · exp(i · angle)."""
    return ops.make_complex(abs * ops.cos(angle), abs * ops.sin(angle))


@guarded
def view_as_complex(input: Any) -> Any:
    """Real pairs along the last axis as complex entries: a view."""
    if not input.shape or input.shape[-1] != 2:
        raise as_runtime(ArgumentError(
            "`view_as_complex`", "a last axis of length 2", f"shape {tuple(input.shape)}"
        ))
    return _view_as_complex(input)
