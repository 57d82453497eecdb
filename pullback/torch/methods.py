"""Binds functions to `Tensor` as methods, and adds in-place variants where they exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..arrays.batched import repeated
from ..core.inplace import check_writable, overwrite
from ..core.tensor import raw
from . import (
    creation,
    draws,
    dtypes,
    elementwise,
    functions,
    index_updates,
    indexing,
    members,
    ordering,
    products,
    reductions,
    shaping,
    statistics,
    views,
)
from .errors import guarded
from .operators import in_place
from .tensor import Tensor

_NO_METHODS = {
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors",
    "bucketize", "cartesian_prod", "cat", "cdist", "chain_matmul", "complex", "concat",
    "cumulative_trapezoid", "einsum", "fill", "gradient", "isin", "meshgrid", "polar", "rsub",
    "searchsorted", "stack", "std_mean", "tensordot", "threshold", "trapezoid", "trapz",
    "tril_indices", "triu_indices", "unravel_index", "vander", "var_mean", "view_as_complex",
    "view_as_real",
}
"""Functions whose first argument is not a tensor."""

_IN_PLACE = (
    *elementwise._FLOATING, "abs", "neg", "negative", "sign", "square", "ceil", "floor", "round",
    "trunc", "relu", "logical_not", "add", "sub", "mul", "div", "multiply", "subtract", "divide",
    "pow", "clamp", "clip", "clamp_min", "clamp_max", "lerp", "addcmul", "addcdiv", "masked_fill",
    "remainder", "floor_divide", "cumsum", "cumprod", "tril", "triu", "scatter", "scatter_add",
    "index_add", "addmm", "eq", "ne", "lt", "le", "gt", "ge", "atan2", "hypot", "absolute",
    "addbmm", "addmv", "addr", "arctan2", "baddbmm", "bitwise_and", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign", "deg2rad",
    "digamma", "erfinv", "fix", "float_power", "fmod", "frac", "gcd", "greater", "greater_equal",
    "heaviside", "i0", "igamma", "igammac", "index_copy", "index_fill", "index_put",
    "index_reduce", "lcm", "ldexp", "less", "less_equal", "lgamma", "logical_and", "logical_or",
    "logical_xor", "logit", "masked_scatter", "mvlgamma", "nan_to_num", "nextafter", "not_equal",
    "polygamma", "put", "rad2deg", "renorm", "scatter_reduce", "sgn", "sinc", "true_divide",
    "xlogy", "conj_physical",
)

_CASTS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "bool": dtypes.bool,
    "byte": dtypes.uint8, "char": dtypes.int8, "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}


def _caster(dtype: Any, name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return dtypes.cast(self, dtype)

    method.__name__ = name
    method.__doc__ = f"Converts the tensor to {dtype}; returns itself if it already has it."
    return method


def _to_bfloat16(self: Any) -> Any:
    """Converts the tensor to bfloat16, which needs the package ml_dtypes."""
    return dtypes.cast(self, dtypes.of_bfloat16())


def _where(self: Any, condition: Any, other: Any) -> Any:
    """The entries where the condition is true, those of other elsewhere."""
    return elementwise.where(condition, self, other)


def _filled(self: Any, value: Any) -> Any:
    # Not only the value: the old history is kept, with zero derivatives.
    return ops.set_at(self, value, ...)


def _copied(self: Any, src: Any, non_blocking: bool = False) -> Any:
    return _filled(self, src)


def _zeros(self: Any) -> Any:
    return _filled(self, 0)


def _normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with samples of a normal distribution, in place."""
    check_writable(self, "normal_")
    return overwrite(
        self, creation.drawn("normal", self.shape, self.dtype, generator) * std + mean, "normal_"
    )


def _uniform_(self: Any, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with uniform samples from [a, b), in place."""
    check_writable(self, "uniform_")
    drawn = creation.drawn("uniform", self.shape, self.dtype, generator)
    return overwrite(self, drawn * (b - a) + a, "uniform_")


def _bernoulli_(self: Any, p: float = 0.5, *, generator: Any = None) -> Any:
    """Fill with 1 (with probability p) and 0, in place."""
    check_writable(self, "bernoulli_")
    drawn = creation.drawn("uniform", self.shape, dtypes.float64, generator)
    return overwrite(self, ops.astype(ops.less(drawn, raw(p)), self.dtype), "bernoulli_")


def _new(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(
        self: Any, *args: Any, dtype: Any = None, requires_grad: bool = False, **how: Any
    ) -> Any:
        out = function(*args, dtype=dtype or self.dtype, **how)
        out._data = repeated(out._data, self._data)
        return out.requires_grad_() if requires_grad else out

    method.__name__ = name
    method.__doc__ = f"`torch.{name[4:]}` in the dtype of this tensor (under vmap, per example)."
    return method


def _reversed(self: Any) -> Any:
    """The axes in reverse order."""
    return ops.permute_dims(self, tuple(range(len(self.shape)))[::-1])


def _bind() -> None:
    for module in (
        elementwise, functions, reductions, shaping, views, indexing, ordering, index_updates,
        products, statistics,
    ):
        for name in module.__all__:
            if name not in _NO_METHODS:
                setattr(Tensor, name, getattr(module, name))
    bound: Any = Tensor
    bound.where = _where
    bound.T = property(_reversed)
    bound.bfloat16 = _to_bfloat16
    bound.bernoulli = creation.bernoulli
    bound.multinomial = draws.multinomial
    # In PyTorch these are attributes.
    for name in ("real", "imag"):
        setattr(Tensor, name, property(getattr(elementwise, name)))
    for name, dtype in _CASTS.items():
        setattr(Tensor, name, _caster(dtype, name))
    for name in _IN_PLACE:
        setattr(Tensor, name + "_", in_place(getattr(Tensor, name), name + "_"))
    twins: dict[str, Callable[..., Any]] = {
        "fill_": _filled, "copy_": _copied, "zero_": _zeros,
    }
    for name, function in twins.items():
        setattr(Tensor, name, in_place(function, name))
    for function in (_normal_, _uniform_, _bernoulli_):
        name = function.__name__[1:]
        setattr(Tensor, name, guarded(function, name))
    for name in ("zeros", "ones", "empty", "full", "tensor"):
        setattr(Tensor, "new_" + name, _new(getattr(creation, name), "new_" + name))
    members.bind()


_bind()
