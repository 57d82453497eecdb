"""Reductions with PyTorch's `dim` and `keepdim`; also tensor methods.

`max` and `min` of a whole tensor, `amax` and `amin` share the gradient among tied entries;
along one axis the entry whose index is returned receives it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

from .. import ops
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import is_inexact
from ..errors import ArgumentError, DtypeError
from ..linalg import matrix_norm
from .aliases import alias
from .dtypes import adapts, cast, dtype_of
from .elementwise import maximum, minimum
from .errors import as_runtime, guarded
from .scalars import of_scalars

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "cumprod", "cumsum",
    "max", "mean", "min", "norm", "prod", "std", "sum", "var",
]


class ValuesIndices(NamedTuple):
    """Entries along an axis, and their indices."""

    values: Any
    indices: Any


def axes(dim: Any) -> Any:
    """An axis, a tuple of axes, or None for all."""
    if isinstance(dim, (list, tuple)):
        return tuple(dim) or None
    return dim


@guarded
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over all axes, or the given ones.

    >>> import pullback.torch as torch
    >>> torch.ones(2, 3).sum(dim=0)
    tensor([2., 2., 2.])
    """
    return ops.sum(input, axis=axes(dim), keepdims=keepdim, dtype=dtype_of(dtype))


@guarded
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over all axes, or the given ones; for floating-point tensors only."""
    input = cast(input, dtype_of(dtype))
    if adapts() and not is_inexact(input):
        raise as_runtime(DtypeError(
            "`mean`", "a floating or complex dtype", f"{input.dtype}", "write x.float().mean()"
        ))
    return ops.mean(input, axis=axes(dim), keepdims=keepdim)


@guarded
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over all axes, or one."""
    return ops.prod(cast(input, dtype_of(dtype)), axis=dim, keepdims=keepdim)


argmax, argmin = alias("argmax"), alias("argmin")


def _spread(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(
        input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
        correction: float | None = 1,
    ) -> Any:
        if isinstance(dim, bool):  # std(unbiased)
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        elif correction is None:
            correction = 1
        return function(input, axis=axes(dim), correction=correction, keepdims=keepdim)

    call.__doc__ = (
        f"The {'variance' if name == 'var' else 'standard deviation'} over all or some axes.\n\n"
        "    Divides by n - correction; unbiased=False means correction=0.\n    "
    )
    return guarded(of_scalars(call), name)


var, std = _spread(ops.var, "var"), _spread(ops.std, "std")


def _extreme(
    whole: Callable[..., Any], pair: Callable[..., Any], position: Callable[..., Any], name: str
) -> Callable[..., Any]:
    def call(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        dim = other if dim is None else dim
        if dim is None:
            return whole(input)
        if isinstance(dim, CoreTensor):
            return pair(input, dim)
        if not len(input.shape):
            return ValuesIndices(ops.identity(input), position(input))
        indices = position(input, axis=dim, keepdims=True)
        values = ops.take_along_axis(input, indices, axis=dim)
        if not keepdim:
            values, indices = ops.squeeze(values, axis=dim), ops.squeeze(indices, axis=dim)
        return ValuesIndices(values, indices)

    call.__doc__ = (
        f"The {name} entry; with `dim`, those along an axis and their indices.\n\n"
        "    With a second tensor instead, the element-wise {name} of both.\n    "
    )
    return guarded(call, name)


max = _extreme(ops.max, maximum, ops.argmax, "max")
min = _extreme(ops.min, minimum, ops.argmin, "min")


@guarded
def amax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The maximum over the given axes."""
    return ops.max(input, axis=axes(dim), keepdims=keepdim)


@guarded
def amin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The minimum over the given axes."""
    return ops.min(input, axis=axes(dim), keepdims=keepdim)


@guarded
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """True where all entries are true (nonzero)."""
    return ops.all(input, axis=axes(dim), keepdims=keepdim)


@guarded
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """True where some entry is true (nonzero)."""
    return ops.any(input, axis=axes(dim), keepdims=keepdim)


@guarded
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """The number of nonzero entries."""
    return ops.count_nonzero(input, axis=axes(dim))


@guarded
@of_scalars
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Cumulative sums along an axis."""
    return ops.cumulative_sum(cast(input, dtype_of(dtype)), axis=dim)


@guarded
@of_scalars
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Cumulative products along an axis."""
    return ops.cumulative_prod(cast(input, dtype_of(dtype)), axis=dim)


@guarded
@of_scalars
def norm(
    input: Any, p: float | str | None = "fro", dim: Any = None, keepdim: bool = False, *,
    dtype: Any = None,
) -> Any:
    """Norm (Σ |x|^p)^(1/p) over all or the given axes; "fro" is p = 2. Its derivative at 0 is 0.

    "nuc" is the nuclear norm of matrices: the sum of the singular values over two axes.

    >>> import pullback.torch as torch
    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    input = cast(input, dtype_of(dtype))
    if p == "nuc":
        return _nuclear(input, tuple(range(len(input.shape))) if dim is None else dim, keepdim)
    order: Any = 2.0 if p in ("fro", None) else inf if p == "inf" else p
    return ops.vector_norm(input, axis=axes(dim), keepdims=keepdim, ord=order)


def _nuclear(input: Any, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, int) or len(dim) != 2:
        raise as_runtime(ArgumentError("`norm` with p='nuc'", "two axes", repr(dim)))
    first, second = (d % len(input.shape) for d in dim)
    found = matrix_norm(ops.moveaxis(input, (first, second), (-2, -1)), ord="nuc")
    return ops.expand_dims(found, axis=tuple(sorted((first, second)))) if keepdim else found
