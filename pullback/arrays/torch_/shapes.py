"""PyTorch: reductions, shapes and searching, with the names and meaning of `ops`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import array_api_compat.torch as compat
import torch

from .dtypes import dtype_of, inexact, matched, together
from .wrapped import may_be_saved

# Reductions ---------------------------------------------------------------------------------


def total(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum."""
    if axis is None and not keepdims:
        return torch.sum(x, dtype=dtype_of(dtype))
    if axis == () or not x.ndim:  # for PyTorch, no axes means all axes
        return torch.sum(x[None], 0, dtype=dtype_of(dtype))
    return torch.sum(x, axis, keepdims, dtype=dtype_of(dtype))


def product(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product."""
    dtype = dtype_of(dtype)
    if axis is None and not keepdims:
        return torch.prod(x, dtype=dtype)
    if axis.__class__ is int and x.ndim:
        return torch.prod(x, axis, keepdims, dtype=dtype)
    axes = sorted([a % x.ndim for a in _all(x, axis)], reverse=True) if x.ndim else []
    out = torch.prod(x[None], 0, dtype=dtype)
    for a in axes:
        out = torch.prod(out, a, keepdims)
    return out


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean."""
    x = inexact(x)
    if axis == () or not x.ndim:
        return x.clone()
    return torch.mean(x) if axis is None and not keepdims else torch.mean(x, axis, keepdims)


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if axis == ():
            return x.clone()
        return function(x, () if axis is None else axis, keepdims)

    return kernel


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(
        x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
    ) -> Any:
        if axis == () or not x.ndim:
            return function(x[None], 0, correction=correction)
        n = math.prod([x.shape[a] for a in _all(x, axis)])
        if n <= correction or not x.numel():  # PyTorch warns here
            square = torch.abs(x - torch.mean(x, axis, keepdim=True)) ** 2
            return torch.sum(square, axis, keepdims) / float(max(n - correction, 0))
        return function(x, axis, correction=correction, keepdim=keepdims)

    return kernel


def _all(x: Any, axis: Any) -> Any:
    if axis is None:
        return tuple(range(x.ndim))
    return axis if isinstance(axis, (tuple, list)) else (axis,)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log Σ exp(x)."""
    x = inexact(x)
    if axis == ():  # for PyTorch, no axes means all axes
        return x.clone()
    return torch.logsumexp(x, _all(x, axis), keepdims)


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) / Σ exp(x); 0 in a slice that is all `-inf`."""
    x = inexact(x)
    if not x.shape[axis]:
        return x
    return _filled(torch.softmax(x, axis), _nowhere(x, axis), 0)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """log(softmax(x)); `-inf` in a slice that is all `-inf`."""
    x = inexact(x)
    if not x.shape[axis]:
        return x
    return _filled(torch.log_softmax(x, axis), _nowhere(x, axis), -torch.inf)


def _filled(x: Any, where: Any, value: float) -> Any:
    return x.masked_fill(where, value) if may_be_saved(x) else x.masked_fill_(where, value)


def _nowhere(x: Any, axis: int) -> Any:
    """Whether a slice is all `-inf`."""
    return torch.amax(x, axis, keepdim=True) == -torch.inf


def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm."""
    if axis == ():  # for PyTorch, no axes means all axes
        x, axis, keepdims = x[None], 0, False
    x = inexact(x)
    if ord == math.inf and not x.numel():  # 0 for empty tensors, which PyTorch rejects
        return torch.sum(torch.abs(x), axis, keepdims)
    return torch.linalg.vector_norm(x, ord, axis, keepdims)


# Shapes -------------------------------------------------------------------------------------


def reshape(x: Any, shape: Any, copy: bool | None = None) -> Any:
    """The same entries in another shape."""
    if copy is False:
        return x.view(shape)
    return (x.clone() if copy else x).reshape(shape)


def expand_dims(x: Any, axis: Any = 0) -> Any:
    """Inserts axes of length 1."""
    if axis.__class__ is int:
        return x.unsqueeze(axis)
    rank = x.ndim + len(axis)
    if any(not -rank <= a < rank for a in axis):
        raise IndexError(f"axis out of range: {axis}; expected axes in [-{rank}, {rank})")
    places = sorted({a % rank for a in axis})
    if len(places) != len(axis):
        raise ValueError(f"duplicate axis in {axis}")
    for a in places:
        x = x.unsqueeze(a)
    return x


def squeeze(x: Any, axis: Any) -> Any:
    """Removes axes of length 1."""
    for a in _all(x, axis):
        if x.shape[a] != 1:
            raise ValueError(f"axis {a} has length {x.shape[a]}, not 1")
    return x.squeeze(_all(x, axis))


def permute_dims(x: Any, axes: Any) -> Any:
    """The axes in another order."""
    return x.permute(axes)


def broadcast_to(x: Any, shape: Any) -> Any:
    """A view with the entries repeated."""
    return x.expand(shape)


def flip(x: Any, *, axis: Any = None) -> Any:
    """The entries in reverse order."""
    return torch.flip(x, tuple(_all(x, axis)))


def roll(x: Any, shift: Any, *, axis: Any = None) -> Any:
    """The entries shifted along an axis."""
    if axis is not None and not isinstance(shift, (tuple, list)):
        shift = (shift,) * len(_all(x, axis))
    return torch.roll(x, shift, axis)


def tril(x: Any, *, k: int = 0) -> Any:
    """The lower triangle."""
    return torch.tril(x, k)


def triu(x: Any, *, k: int = 0) -> Any:
    """The upper triangle."""
    return torch.triu(x, k)


def pad(x: Any, widths: Any, *, constant_values: Any = 0) -> Any:
    """x padded with a constant."""
    sides = [side for pair in reversed(widths) for side in pair]
    return torch.nn.functional.pad(x, sides, value=constant_values)


def concat(*arrays: Any, axis: int, starts: Any = None) -> Any:
    """Concatenates along an axis."""
    return torch.cat(together(arrays), axis)


def stack(*arrays: Any, axis: int) -> Any:
    """Stacks along a new axis."""
    return torch.stack(together(arrays), axis)


def repeat(x: Any, repeats: Any, *, axis: Any = None) -> Any:
    """Each entry repeated."""
    return torch.repeat_interleave(x, repeats, axis)


def take(x: Any, indices: Any, *, axis: int = 0) -> Any:
    """The entries at positions along an axis."""
    return x[(*(slice(None),) * axis, indices.to(torch.int64))]


def einsum(*operands: Any, subscripts: str) -> Any:
    """The sum of products; for one operand a copy, never a view."""
    operands = tuple(together(operands))
    found = torch.einsum(subscripts, *operands)
    return found.clone() if len(operands) == 1 else found


def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Σ conj(x1) · x2 along an axis."""
    x1, x2 = torch.broadcast_tensors(*matched(x1, x2))
    return torch.linalg.vecdot(x1, x2, dim=axis)


def _running(function: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(
        x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        return function(x, axis=axis, dtype=dtype_of(dtype), include_initial=include_initial)

    return kernel


# Searching ----------------------------------------------------------------------------------


def sort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The entries in order."""
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The positions that sort the entries."""
    return torch.argsort(x, dim=axis, descending=descending, stable=stable)


def searchsorted(x1: Any, x2: Any, *, side: str = "left") -> Any:
    """The position of each entry of x2 in the sorted x1."""
    x1, x2 = matched(x1, x2)
    return torch.searchsorted(x1.contiguous(), x2.contiguous(), side=side)


def unique_all(x: Any) -> Any:
    """The distinct entries, their first positions, the inverse, and the counts."""
    flat = x.reshape(-1)
    order = torch.argsort(flat, stable=True)
    ordered = flat[order]
    new = torch.ones_like(flat, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    inverse = torch.empty_like(order)
    inverse[order] = torch.cumsum(new, 0) - 1
    starts = torch.nonzero(new)[:, 0]
    ends = torch.cat([starts[1:], torch.full_like(starts[:1], flat.numel())])
    return compat._aliases.UniqueAllResult(
        ordered[new], order[new], inverse.reshape(x.shape), ends - starts
    )


def lattice(x: Any, *, shape: Any, start: Any, steps: Any) -> Any:
    """A view by strides; a copy where one is negative, which PyTorch does not have."""
    by = x.stride()
    strides = [sum(s * b for s, b in zip(step, by, strict=True)) for step in steps]
    if min(strides, default=0) < 0:
        back = [k for k, stride in enumerate(strides) if stride < 0]
        first = tuple([
            f + sum((shape[k] - 1) * steps[k][a] for k in back) for a, f in enumerate(start)
        ])
        turned = tuple([
            tuple(-s for s in step) if k in back else step for k, step in enumerate(steps)
        ])
        return lattice(x, shape=shape, start=first, steps=turned).flip(back)
    offset = x.storage_offset() + sum(f * b for f, b in zip(start, by, strict=True))
    return x.as_strided(shape, strides, offset)


def view_as_complex(x: Any) -> Any:
    """A view; of half precision a copy in complex64."""
    if x.dtype not in (torch.float32, torch.float64):
        x = x.to(torch.float32)
    return torch.view_as_complex(x)


KERNELS: dict[str, Callable[..., Any]] = {
    "lattice": lattice, "view_as_real": torch.view_as_real,
    "view_as_complex": view_as_complex,
    **{f.__name__: f for f in (
        argsort, broadcast_to, concat, einsum, expand_dims, flip, log_softmax, logsumexp, mean,
        pad, permute_dims, repeat, reshape, roll, searchsorted, softmax, sort, squeeze, stack,
        take, tril, triu, unique_all, vecdot, vector_norm,
    )},
    "sum": total, "prod": product, "max": _extreme(torch.amax), "min": _extreme(torch.amin),
    "var": _spread(torch.var), "std": _spread(torch.std),
    "cumulative_sum": _running(compat.cumulative_sum),
    "cumulative_prod": _running(compat.cumulative_prod),
}
