"""Rules of PyTorch's functions, written with the operations and with PyTorch's parameters.

Elementwise functions, reductions, and the namespaces `linalg`, `fft` and `special` are here; shapes
and layers are in `torch_layers`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .table import pb

RULES: dict[str, Callable[..., Any]] = {}
"""`__name__` of a PyTorch function -> a function with its parameters, or those that are supported.
The names tell the namespaces apart: `linalg_inv`, `fft_fft`, `special_erf`."""


class ValuesIndices(NamedTuple):
    """Entries along an axis, and their indices."""

    values: Any
    indices: Any


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the rule of PyTorch's functions with these names."""

    def take(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return take


# Same function, other name ------------------------------------------------------------------

_UNARY = {
    name: name for name in (
        "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "ceil", "conj",
        "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "imag", "isfinite",
        "isinf", "isnan", "log", "log10", "log1p", "log2", "log_sigmoid", "logical_not",
        "positive", "real", "reciprocal", "rsqrt", "sigmoid", "sign", "signbit", "sin",
        "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    )
} | {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "bitwise_not": "bitwise_invert",
    "clone": "identity", "conj_physical": "conj", "fix": "trunc", "neg": "negative",
    "negative": "negative", "round": "round", "sgn": "sign", "isreal": "isreal",
}
_BINARY = {
    name: name for name in (
        "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
        "bitwise_xor", "copysign", "floor_divide", "hypot", "logaddexp", "logical_and",
        "logical_or", "logical_xor", "matmul", "maximum", "minimum", "nextafter", "outer",
        "pow", "remainder",
    )
} | {
    "arctan2": "atan2", "bmm": "matmul", "dot": "matmul", "eq": "equal", "ge": "greater_equal",
    "greater": "greater", "greater_equal": "greater_equal", "gt": "greater",
    "le": "less_equal", "less": "less", "less_equal": "less_equal", "lt": "less", "mm": "matmul",
    "mul": "multiply", "multiply": "multiply", "mv": "matmul", "ne": "not_equal",
    "not_equal": "not_equal", "true_divide": "divide", "ger": "outer",
}


def _unary(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input: operation(input)


def _binary(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, other: operation(input, other)


def _fill() -> None:
    """Add the rules that only rename functions."""
    for names, shape in ((_UNARY, _unary), (_BINARY, _binary)):
        for name, ours in names.items():
            if hasattr(pb, ours):
                RULES[name] = shape(getattr(pb, ours))
    for name in ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_power",
                 "pinv", "qr", "slogdet", "solve", "svd", "svdvals"):
        RULES[f"linalg_{name}"] = _positional(getattr(pb.linalg, name))
    RULES["det"], RULES["inverse"] = RULES["linalg_det"], RULES["linalg_inv"]
    for name in pb.special.__all__:
        if name not in ("softmax", "log_softmax", "logsumexp"):
            RULES[f"special_{name}"] = _positional(getattr(pb.special, name))
    for name in ("digamma", "erfinv", "i0", "sinc", "xlogy"):
        RULES[name] = RULES[f"special_{name}"]
    RULES["lgamma"] = RULES["special_gammaln"]
    for order in (0, 1):
        RULES[f"special_bessel_j{order}"] = RULES[f"special_j{order}"]
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        RULES[f"fft_{name}"] = _fourier(getattr(pb.fft, name))


def _positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose array parameters are positional-only: PyTorch names them otherwise."""
    count = sum(
        p.kind is p.POSITIONAL_ONLY for p in inspect.signature(function).parameters.values()
    )

    def call(*arrays: Any) -> Any:
        return function(*arrays)

    call.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        inspect.Parameter(f"x{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(count)
    ])
    return call


def _fourier(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
        return function(input, n=n, axis=dim, norm=norm or "backward")

    return call


# Elementwise --------------------------------------------------------------------------------


@rule("add")
def _add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return input + (other if alpha == 1 else other * alpha)


@rule("sub", "subtract")
def _sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return input - (other if alpha == 1 else other * alpha)


@rule("rsub")
def _rsub(input: Any, other: Any) -> Any:
    return other - input


@rule("div", "divide")
def _div(input: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    found = input / other
    return {None: lambda x: x, "floor": pb.floor, "trunc": pb.trunc}[rounding_mode](found)


@rule("where")
def _where(condition: Any, input: Any, other: Any) -> Any:
    return pb.where(condition, input, other)


@rule("clamp", "clip")
def _clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    return pb.clip(input, min, max)


@rule("lerp")
def _lerp(input: Any, end: Any, weight: Any) -> Any:
    return input + (end - input) * weight


@rule("relu")
def _relu(input: Any) -> Any:
    return pb.relu(input)


@rule("leaky_relu")
def _leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    return pb.leaky_relu(input, negative_slope)


@rule("elu")
def _elu(input: Any, alpha: float = 1.0) -> Any:
    return pb.elu(input, alpha)


@rule("gelu")
def _gelu(input: Any, *, approximate: str = "none") -> Any:
    return pb.gelu(input, approximate)


@rule("silu")
def _silu(input: Any) -> Any:
    return pb.silu(input)


@rule("softplus")
def _softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """`threshold` is ignored, because pullback's softplus never overflows."""
    return pb.softplus(input, beta)


@rule("zeros_like")
def _zeros_like(input: Any, *, dtype: Any = None) -> Any:
    return pb.zeros_like(input, dtype=dtype)


@rule("ones_like")
def _ones_like(input: Any, *, dtype: Any = None) -> Any:
    return pb.ones_like(input, dtype=dtype)


# Reductions ---------------------------------------------------------------------------------


def axes_of(dim: Any) -> Any:
    """An axis, a tuple of them, or None for all."""
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


@rule("sum")
def _sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return pb.sum(input, axis=axes_of(dim), keepdims=keepdim, dtype=dtype)


@rule("prod")
def _prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return pb.prod(input, axis=dim, keepdims=keepdim, dtype=dtype)


def _reducing(name: str, function: Callable[..., Any]) -> None:
    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return function(input, axis=axes_of(dim), keepdims=keepdim)

    RULES[name] = call


def _spread(name: str, function: Callable[..., Any]) -> None:
    def call(
        input: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *,
        correction: Any = None,
    ) -> Any:
        by = float(unbiased if correction is None else correction)
        return function(input, axis=axes_of(dim), correction=by, keepdims=keepdim)

    RULES[name] = call


def _extreme(name: str, function: Callable[..., Any], where: Any, pair: Any) -> None:
    def call(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if other is not None or hasattr(dim, "dtype"):
            return pair(input, dim if other is None else other)
        if dim is None:
            return function(input)
        indices = where(input, axis=dim, keepdims=True)
        values = pb.take_along_axis(input, indices, axis=dim)
        found = (values, indices) if keepdim else (
            pb.squeeze(values, dim), pb.squeeze(indices, dim)
        )
        return ValuesIndices(*found)

    RULES[name] = call


def _running(name: str, function: Callable[..., Any]) -> None:
    def call(input: Any, dim: int, *, dtype: Any = None) -> Any:
        return function(input, axis=dim, dtype=dtype)

    RULES[name] = call


def _normalised(name: str, function: Callable[..., Any]) -> None:
    def call(input: Any, dim: int, dtype: Any = None) -> Any:
        return function(input if dtype is None else pb.astype(input, dtype), axis=dim)

    RULES[name] = RULES[f"special_{name}"] = call


for _name, _ours in {
    "mean": pb.mean, "amax": pb.max, "amin": pb.min, "all": pb.all, "any": pb.any,
    "argmax": pb.argmax, "argmin": pb.argmin, "logsumexp": pb.logsumexp,
}.items():
    _reducing(_name, _ours)
_spread("std", pb.std)
_spread("var", pb.var)
_extreme("max", pb.max, pb.argmax, pb.maximum)
_extreme("min", pb.min, pb.argmin, pb.minimum)
_running("cumsum", pb.cumulative_sum)
_running("cumprod", pb.cumulative_prod)
_normalised("softmax", pb.softmax)
_normalised("log_softmax", pb.log_softmax)


@rule("norm")
def _norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Any:
    order = 2 if p in ("fro", None) else p
    return pb.vector_norm(input, ord=order, axis=axes_of(dim), keepdims=keepdim)


@rule("linalg_vector_norm")
def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    return pb.linalg.vector_norm(x, ord=ord, axis=axes_of(dim), keepdims=keepdim)


@rule("sort")
def _sort(input: Any, dim: int = -1, descending: bool = False) -> Any:
    at = pb.argsort(input, axis=dim, descending=descending)
    return ValuesIndices(pb.take_along_axis(input, at, axis=dim), at)


@rule("topk")
def _topk(input: Any, k: int, dim: int = -1, largest: bool = True) -> Any:
    mode = "largest" if largest else "smallest"
    return ValuesIndices(*pb.top_k(input, k, axis=dim, mode=mode))


_fill()
