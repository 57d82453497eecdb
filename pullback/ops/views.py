"""A chain of views as one operation: what in-place writes to views record.

`core.inplace` keeps for each view the operations that lead to it from its base. They only select
entries, so a view is described by the indices of its entries in the base.
"""

from __future__ import annotations

from math import prod
from typing import Any
from weakref import ref

from ..arrays import adapters
from ..arrays.batched import adapter_of, counted, zeros_by
from ..arrays.symbol import Symbol
from ..core import versions
from ..core.above import provide
from ..core.inplace import immutable, register
from ..core.node import Leaf, Node
from ..core.observe import notify
from ..core.op import OPS
from ..core.record import record
from ..core.state import state
from ..core.tensor import Tensor, raw, wrap
from ..kinds.shapes import UndecidedError, is_any, requested, shape_of, shapes
from ..kinds.symbols import deferred
from .complex_ import conj, imag, make_complex, real, view_as_complex, view_as_real
from .declaring import op
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
    if not any(step.name in ("broadcast_to", "lattice") for step, _ in steps):
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


# Parts of complex numbers -------------------------------------------------------------------
# A part is no selection of entries, so that a chain with one is several operations.

PARTS = frozenset(("real", "imag", "conj", "view_as_real", "view_as_complex"))


def _before_part(steps: Any) -> int:
    """How many of the first steps only select entries."""
    return next((i for i, (step, _) in enumerate(steps) if step.name in PARTS), len(steps))


def take_through(x: Any, steps: Any) -> Any:
    """The view of x, a Tensor or a raw array, that steps give, parts of complex numbers among them.

    >>> import numpy as np
    >>> take_through(np.array([1 + 2j]), ((OPS["imag"].op, {}),))
    array([2.])
    """
    while steps:
        count = _before_part(steps)
        x = take_view(x, steps=steps[:count]) if count else OPS[steps[0][0].name](x)
        steps = steps[count or 1 :]
    return x


def put_through(x: Any, steps: Any, value: Any) -> Any:
    """A copy of x in which the view that `take_through` gives is `value`.

    >>> import numpy as np
    >>> put_through(np.array([1 + 2j]), ((OPS["imag"].op, {}),), np.array([5.0]))
    array([1.+5.j])
    """
    count = _before_part(steps)
    if count == len(steps):
        return put_view(x, value, steps=steps) if steps else value
    if count:
        inner = put_through(take_view(x, steps=steps[:count]), steps[count:], value)
        return put_view(x, inner, steps=steps[:count])
    name, rest = steps[0][0].name, steps[1:]
    part = put_through(OPS[name](x), rest, value) if rest else value
    if name == "real":
        return make_complex(part, imag(x))
    if name == "imag":
        return make_complex(real(x), part)
    if name == "conj":
        return conj(part)
    return view_as_complex(part) if name == "view_as_real" else view_as_real(part)


# What a write does to those that share the memory ---------------------------------------------


def _has_part(steps: Any) -> bool:
    return _before_part(steps) < len(steps)


@provide
def owned(tensor: Tensor) -> Any:
    """The array of a tensor, which views and detached tensors share.

    Computed results without axes are NumPy's scalars, which have no memory to share. One becomes an
    array here, when the first view of it is taken.
    """
    data = tensor._data
    adapter = adapters[data.__class__]
    if adapter.owner(data) is None and not immutable(data):
        scalar, tensor._data = data, adapter.asarray(data)
        data = tensor._data
        if state().observers:
            notify("copied", "", [scalar], data)
        if isinstance(tensor._node, Leaf):
            tensor._node.data = data
    return data


# Note [views without shared memory]: tensors whose arrays share no memory, as JAX's and those of a
# graph, behave as if they did. What picks entries by integers and slices, or arranges them anew,
# makes a view, and what is written to one of the tensors is put into the arrays of the others.


@provide
def viewed(view: Tensor, base: Tensor, op: Any, attrs: Any) -> Any:
    """The attributes with which an operation gives a view, of such arrays; None if it copies.

    See Note [views without shared memory].
    """
    cast = op.name == "astype" and view._data.dtype != base._data.dtype
    if cast or attrs.get("copy") or not immutable(view._data):
        return None
    index = attrs.get("index")
    parts = index if index.__class__ is tuple else (index,)
    if any(hasattr(part, "dtype") or part.__class__ is bool for part in parts):
        return None
    if op.name == "lattice":
        from .strides import repeats_entries

        repeats = repeats_entries(**attrs)
    else:
        repeats = op.name == "broadcast_to"
    if repeats:
        return Repeated(attrs)
    if base._data.__class__ is Symbol:
        return deferred().view_in_graph(op, base, view, attrs)
    return attrs


class Repeated(dict[str, Any]):
    """The attributes of a view with an entry that stands in several places."""

    repeats = True


@provide
def carry(target: Tensor, reached: tuple[Tensor, ...] = ()) -> None:
    """Put what was written to a tensor into the arrays of those that it is a view of, or has.

    reached  detached tensors, and those that they were detached from, which have it already
    See Note [views without shared memory].
    """
    source = _carry_to_views(target)
    views = getattr(source, "_views", ())
    members = [source, *[v for r in views if (v := r()) is not None]] if views else [source]
    for member in members:
        twins = getattr(member, "_views", None)
        if twins.__class__ is Twins:
            for other in twins.all():
                if not any(other is t for t in reached):
                    other._data = member._data
                    if isinstance(other._node, Leaf):
                        other._node.renew(other._data)
                    carry(other, (*reached, member))


def _carry_to_views(target: Tensor) -> Tensor:
    """`carry` within the views of one tensor, which is returned."""
    source, steps = getattr(target, "_view_of", None) or (target, ())
    moves = immutable(source._data) or immutable(target._data)
    if moves and steps:
        source._data = put_through(source._data, steps, target._data)
    elif _is_copied(steps):
        _copy_over(source._data, put_through(source._data, steps, target._data))
    for reference in getattr(source, "_views", ()):
        view = reference()
        if view is None:
            continue
        if moves:
            view._data = take_through(source._data, view._view_of[1])
        elif view is not target and _is_copied(view._view_of[1]):
            _copy_over(view._data, take_through(source._data, view._view_of[1]))
    if moves and isinstance(source._node, Leaf):
        source._node.renew(source._data)
    return source


class Copies(list[Any]):
    """The views of a tensor, some of which do not share its memory: a write is carried over."""


class Twins(Copies):
    """The views of a tensor that was detached, or that a tensor was detached from.

    origin    the tensor that it was detached from, or None
    detached  weak references to those that were detached from it
    """

    origin: Tensor | None = None

    def __init__(self, views: Any = ()) -> None:
        super().__init__(views)
        self.detached: list[Any] = []

    def all(self) -> list[Tensor]:
        """The tensors with the same values but other histories."""
        found = [self.origin, *[r() for r in self.detached]]
        return [t for t in found if t is not None]


@provide
def share(tensor: Tensor, made: Tensor) -> None:
    """Let a detached tensor share what is written, where arrays share no memory.

    Each of the two has its own views and its own history.
    """
    of_tensor, of_made = _twins(tensor), _twins(made)
    of_made.origin = tensor
    of_tensor.detached = [r for r in of_tensor.detached if r() is not None]
    of_tensor.detached.append(ref(made))


def _twins(tensor: Tensor) -> Twins:
    found = getattr(tensor, "_views", None)
    if found.__class__ is not Twins:
        found = tensor._views = Twins(found or ())
    return found


def conjugate_view(x: Tensor) -> Tensor:
    """The complex conjugate of a complex tensor, as a view that does not share its memory.

    >>> import pullback as pb
    >>> x = pb.tensor([1 + 2j])
    >>> y = conjugate_view(x)
    >>> y += 1j
    >>> x
    Tensor([1.+1.j], dtype=complex128)
    """
    out: Tensor = conj(x)
    if out is not x:
        register(out, x, OPS["conj"].op, {})
        source = out._view_of[0]
        if not isinstance(source._views, Copies):
            source._views = Copies(source._views)
    return out


def _is_copied(steps: Any) -> bool:
    return any(step.name == "conj" for step, _ in steps)


def _copy_over(data: Any, value: Any) -> None:
    adapters[data.__class__].write(data, value)
    versions.written(data, "conj")


@provide
def put_node(source: Tensor, steps: Any, target: Tensor, node: Node | None) -> Node | None:
    """The node of a base after a view of it was written, which now has the history `node`."""
    if _has_part(steps):
        held = wrap(source._out, source._data, source._node)
        found: Node | None = put_through(held, steps, wrap(target._out, target._data, node))._node
        return found
    return record(
        put_view.op, (source._node, node), (source._data, target._data), source._data,
        {"steps": steps},
    )


@provide
def take_node(source: Tensor, steps: Any, view: Tensor) -> Node | None:
    """The node of a view taken anew from its base."""
    if source._node is None:
        return None
    if _has_part(steps):
        held = wrap(source._out, source._data, source._node)
        found: Node | None = take_through(held, steps)._node
        return found
    return record(take_view.op, (source._node,), (source._data,), view._data, {"steps": steps})
