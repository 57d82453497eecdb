"""PyTorch: special kernels, with the names, arguments and meaning of `ops`.

The wrappers of `array_api_compat` take some microseconds per call; if dtypes agree, these kernels
call PyTorch directly. Unlike PyTorch, the standard does not treat tensors without axes as numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .dtypes import dtype_of, inexact, matched, together
from .shapes import KERNELS as SHAPES

# Two arrays ---------------------------------------------------------------------------------


def add(x1: Any, x2: Any) -> Any:
    """x1 + x2."""
    if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return x1 + x2


def subtract(x1: Any, x2: Any) -> Any:
    """x1 - x2."""
    if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return x1 - x2


def multiply(x1: Any, x2: Any) -> Any:
    """x1 · x2."""
    if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return x1 * x2


def divide(x1: Any, x2: Any) -> Any:
    """x1 / x2."""
    if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return x1 / x2


def power(x1: Any, x2: Any) -> Any:
    """x1 ** x2."""
    if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return x1**x2


def quotient(x1: Any, x2: Any) -> Any:
    """x1 / x2, and 0 where both are 0."""
    if x2.__class__ in (int, float) and x2:
        return x1 / x2
    if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return (x1 / x2).masked_fill_((x1 == 0) & (x2 == 0), 0)


def matmul(x1: Any, x2: Any) -> Any:
    """The matrix product."""
    if x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return torch.matmul(x1, x2)


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator that also accepts numbers."""

    def kernel(x1: Any, x2: Any) -> Any:
        if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
            x1, x2 = matched(x1, x2)
        return function(x1, x2)

    return kernel


def _function(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of tensors of equal dtype."""

    def kernel(x1: Any, x2: Any) -> Any:
        if not (x2.__class__ is Tensor is x1.__class__ and x1.dtype is x2.dtype):
            x1, x2 = matched(x1, x2)
        return function(x1, x2)

    return kernel


def _float(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of floats that also accepts integers."""

    def kernel(x1: Any, x2: Any) -> Any:
        x1, x2 = matched(x1, x2)
        return function(inexact(x1), inexact(x2))

    return kernel


def where(condition: Any, x1: Any, x2: Any) -> Any:
    """x1 where the condition holds, else x2."""
    if condition.__class__ is not Tensor:
        some = x1 if isinstance(x1, Tensor) else x2
        condition = torch.as_tensor(condition, device=getattr(some, "device", None))
    if condition.dtype is not torch.bool:
        condition = condition != 0
    if x2.__class__ is Tensor is x1.__class__ and x1.dtype is not x2.dtype:
        x1, x2 = matched(x1, x2)
    return torch.where(condition, x1, x2)


def clip(x: Any, min: Any, max: Any) -> Any:
    """x limited to [min, max]; max where min > max."""
    if isinstance(x, Tensor) and not (isinstance(min, Tensor) or isinstance(max, Tensor)):
        return torch.clamp(x, min, max)
    x, min, max = together((x, min, max))
    return torch.minimum(torch.maximum(x, min), max)


# One array ----------------------------------------------------------------------------------


def sign(x: Any) -> Any:
    """x / |x|, 0 at 0; NaN for NaN."""
    if x.dtype.is_complex:
        return torch.sgn(x)
    return torch.where(x != x, x, torch.sign(x)) if x.dtype.is_floating_point else torch.sign(x)


def conj(x: Any) -> Any:
    """The conjugate, as a copy."""
    return torch.conj_physical(x) if x.dtype.is_complex else x.clone()


def real(x: Any) -> Any:
    """The real part, a view."""
    return torch.real(x)


def imag(x: Any) -> Any:
    """The imaginary part, a view; zeros for real x."""
    return torch.imag(x) if x.dtype.is_complex else torch.zeros_like(x)


def make_complex(re: Any, im: Any) -> Any:
    """re + i · im."""
    re, im = matched(re, im)
    return torch.complex(inexact(re), inexact(im))


def gate(x: Any, control: Any) -> Any:
    """x where control is above 0 (or NaN), else 0."""
    if x.shape == control.shape and x.dtype is control.dtype:
        return torch.ops.aten.threshold_backward(x, control, 0)
    return torch.where(control <= 0, 0, x)


def asarray(x: Any, *, copy: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """The tensor, or a copy."""
    if copy:
        x = x.clone() if isinstance(x, Tensor) else x
    return torch.as_tensor(x, dtype=dtype_of(dtype), device=device)


def _like(make: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: Any, *, dtype: Any = None, device: Any = None) -> Any:
        return make(x, dtype=dtype_of(dtype), device=device)

    return kernel


def full_like(x: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One number in the shape of x."""
    return torch.full_like(x, fill_value, dtype=dtype_of(dtype), device=device)


def astype(x: Any, dtype: Any, copy: bool | None = True, device: Any = None) -> Any:
    """x in another dtype; from complex to real its real part."""
    wanted = dtype_of(dtype)
    if x.dtype.is_complex and not (wanted.is_complex or wanted is torch.bool):
        x = x.real
    return x.to(dtype=wanted, device=device, copy=bool(copy))


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "remainder": lambda x1, x2: x1 % x2,
    "floor_divide": lambda x1, x2: x1 // x2,
    "bitwise_and": lambda x1, x2: x1 & x2,
    "bitwise_or": lambda x1, x2: x1 | x2,
    "bitwise_xor": lambda x1, x2: x1 ^ x2,
    "bitwise_left_shift": lambda x1, x2: x1 << x2,
    "bitwise_right_shift": lambda x1, x2: x1 >> x2,
    "equal": lambda x1, x2: x1 == x2,
    "not_equal": lambda x1, x2: x1 != x2,
    "less": lambda x1, x2: x1 < x2,
    "less_equal": lambda x1, x2: x1 <= x2,
    "greater": lambda x1, x2: x1 > x2,
    "greater_equal": lambda x1, x2: x1 >= x2,
}
_PLAIN = (
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
    "erf", "erfc", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "negative",
    "relu", "round", "sigmoid", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)
KERNELS: dict[str, Callable[..., Any]] = {
    **{name: getattr(torch, name) for name in _PLAIN},
    **{name: _operator(function) for name, function in _OPERATORS.items()},
    **{name: _function(getattr(torch, name)) for name in (
        "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
    )},
    **{name: _float(getattr(torch, name)) for name in (
        "atan2", "copysign", "hypot", "logaddexp", "nextafter",
    )},
    **{name: _like(getattr(torch, name)) for name in ("empty_like", "ones_like", "zeros_like")},
    **{f.__name__: f for f in (
        add, asarray, astype, clip, conj, divide, full_like, gate, imag, make_complex, matmul,
        multiply, quotient, real, sign, subtract, where,
    )},
    "pow": power, "positive": torch.clone, **SHAPES,
}
