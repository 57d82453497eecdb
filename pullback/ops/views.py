"""A chain of views as one operation: what in-place writes to views record.

`core.inplace` keeps for each view the operations that lead to it from its base. They only select
entries, so a view is described by the indices of its entries in the base.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..arrays import adapters
from ..arrays.batched import adapter_of, counted, zeros_by
from ..arrays.symbol import Symbol
from ..core.op import op
from ..core.tensor import raw
from ..kinds.shapes import UndecidedError, is_any, requested, shape_of, shapes
from .indexing import getitem, scatter, set_at
from .shaping import reshape, with_rank

__all__ = ["put_view", "take_view"]


def follow(x: Any, steps: Any) -> Any:
    """Apply view operations, given as (operation, attributes), to a raw array.

    `astype` is a view if it changes nothing. A reshape that was a view of the base may copy another
    array of the same shape, if its memory layout differs.
    """
    for step, attrs in steps:
        if step.name != "astype":
            how = {name: value for name, value in attrs.items() if name != "copy"}
            x = step.kernels[x.__class__](x, **how)
    return x


def _positions(xp: Any, shape: Any, steps: Any, like: Any) -> Any:
    """The indices, in the flattened base, of a view's entries."""
    return follow(xp.reshape(counted(prod(shape), like), shape), steps)


def _put(xp: Any, base: Any, steps: Any, value: Any) -> Any:
    """Write to a view of an array that is not shared, and return the array."""
    adapter = adapters[base.__class__]
    if len(steps) == 1 and "index" in steps[0][1]:
        return adapter.assign(base, steps[0][1]["index"], value)
    view, owner = follow(base, steps), adapter.owner(base)
    if owner is not None and adapter.owner(view) is owner:
        adapter.assign(view, ..., value)
        return base
    # The same steps may copy if the memory layout differs from that of the first base.
    flat, at = adapter.copy(xp.reshape(base, (-1,))), _positions(xp, base.shape, steps, base)
    return xp.reshape(adapter.assign(flat, at, value), base.shape)


@op(linear=True, dtype="x")
def take_view(xp: Any, x: Any, /, *, steps: Any) -> Any:
    """The view of x that a chain of view operations gives.

    >>> import numpy as np
    >>> import pullback as pb
    >>> take_view(np.array([1.0, 2.0, 3.0]), steps=((pb.getitem.op, {"index": slice(1, None)}),))
    array([2., 3.])
    """
    return follow(x, steps)


@take_view.pullback("x")
def pullback_take_view(g: Any, shape: Any, *, steps: Any) -> Any:
    return scatter_view(g, steps=steps, shape=shape)


@take_view.batching
def batch_take_view(x: Any, *, steps: Any) -> Any:
    flat, at = _flat(x), _view_index(x, x.shape[1:], steps)
    return getitem(flat, at)


@take_view.shaping
def shape_take_view(x: Any, *, steps: Any) -> Any:
    for step, attrs in steps:
        found = shapes(step, (x,), attrs)
        if found is None:
            raise UndecidedError
        x = Symbol(x.operation, x.index, x.kind, found[0], x.dtype)
    return None if is_any(x) else shape_of(x)


def _flat(x: Any) -> Any:
    """The entries of each example in one axis."""
    return reshape(x, (x.shape[0], prod(x.shape[1:])))


def _view_index(x: Any, shape: Any, steps: Any) -> Any:
    """The index, into flattened examples of a shape, of a view's entries."""
    return (slice(None), _positions(adapter_of(x).namespace, tuple(shape), steps, x))


@op(linear=True, dtype="x")
def scatter_view(xp: Any, x: Any, /, *, steps: Any, shape: Any) -> Any:
    """Zeros of `shape` with `x` added to a view of them: the adjoint of `take_view`.

    >>> import numpy as np
    >>> import pullback as pb
    >>> steps = ((pb.getitem.op, {"index": slice(1, None)}),)
    >>> scatter_view(np.array([2.0, 3.0]), steps=steps, shape=(3,))
    array([0., 2., 3.])
    """
    if not any(step.name == "broadcast_to" for step, _ in steps):
        return _put(xp, zeros_by(tuple(shape), x), steps, x)
    flat = zeros_by((prod(shape),), x)
    adapter = adapters[flat.__class__]
    return xp.reshape(adapter.accumulate(flat, _positions(xp, shape, steps, x), x), shape)


@scatter_view.pullback("x")
def pullback_scatter_view(g: Any, *, steps: Any) -> Any:
    return take_view(g, steps=steps)


@scatter_view.batching
def batch_scatter_view(x: Any, *, steps: Any, shape: Any) -> Any:
    size = x.shape[0]
    flat = scatter(x, index=_view_index(x, shape, steps), shape=(size, prod(shape)))
    return reshape(flat, (size, *shape))


@scatter_view.shaping
def shape_scatter_view(x: Any, *, steps: Any, shape: Any) -> Any:
    return requested(shape)


@op(shape="x", dtype="x")
def put_view(xp: Any, x: Any, value: Any, /, *, steps: Any) -> Any:
    """A copy of x in which the view given by `steps` is `value`.

    >>> import numpy as np
    >>> import pullback as pb
    >>> steps = ((pb.getitem.op, {"index": slice(1, None)}),)
    >>> put_view(np.zeros(3), np.array([2.0, 3.0]), steps=steps)
    array([0., 2., 3.])
    """
    return _put(xp, adapters[x.__class__].copy(x), steps, value)


@put_view.pullback("x")
def pullback_put_view_x(g: Any, *, steps: Any) -> Any:
    return put_view(g, 0.0, steps=steps)


@put_view.pullback("value")
def pullback_put_view_value(g: Any, shape: Any, *, steps: Any) -> Any:
    taken = take_view(g, steps=steps)
    extra = len(shape) - len(taken.shape)  # axes of length 1 that the region does not have
    return reshape(taken, (*(1,) * extra, *taken.shape)) if extra > 0 else taken


@put_view.pushforward()
def pushforward_put_view(ts: Any, shapes: Any, *, steps: Any) -> Any:
    base, value = ts
    if base is None:
        base = zeros_by(tuple(shapes[0]), raw(value))
    return put_view(base, 0.0 if value is None else value, steps=steps)


@put_view.batching
def batch_put_view(x: Any, value: Any, *, steps: Any) -> Any:
    at = _view_index(x, x.shape[1:], steps)
    rank = len(at[1].shape)
    if len(value.shape) > rank + 1:  # axes of length 1 that the region does not have
        value = reshape(value, (value.shape[0], *value.shape[-rank:]))
    value = with_rank(value, rank + 1)
    return reshape(set_at(_flat(x), value, at), x.shape)
