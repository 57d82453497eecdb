"""Writing to a tensor in place, and what that does to histories: its own, its base's, its views'.

A view remembers its base and how it was taken. A write through any of them rewrites the history of
the tensor that owns the memory (its entries of that region now come from what was written), and
every live view is taken anew from it, so that all of them stay right.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from ..arrays import adapters
from ..arrays.batched import Batched, adapter_of, tags_of
from ..arrays.kept import check_kept
from ..arrays.symbol import Symbol, is_open, may_be
from ..errors import ArgumentError, ArgumentTypeError, BatchedValueError, InplaceError
from . import versions
from .above import above
from .node import Leaf, Node, Notes, note, notes
from .op import OPS
from .state import state
from .tensor import Tensor, raw


def link_view(view: Tensor, base: Any, op: Any, attrs: Mapping[str, Any]) -> None:
    """Remember that `view` was made from `base` by `op`, if the two share memory."""
    if not isinstance(base, Tensor):
        return
    held = base._data
    kept = adapters[held.__class__].owner(held)
    if kept is None and not immutable(held):
        kept = held = above.owned(base)
        view._array = op.kernels[held.__class__](held, **attrs)
    if kept is None:
        attrs = above.viewed(view, base, op, attrs)
        if attrs is None:
            return
    elif adapters[view._array.__class__].owner(view._array) is not kept:
        return
    register(view, base, op, attrs)


def register(view: Tensor, base: Any, op: Any, attrs: Mapping[str, Any]) -> None:
    """Remember that `view` was made from `base`, which is known."""
    source, steps = getattr(base, "_view_of", None) or (base, ())
    view._view_of = (source, (*steps, (op, attrs)))
    views = getattr(source, "_views", None)
    if views is None:
        views = source._views = []
    elif len(views) >= 64 and len(views) & (len(views) - 1) == 0:  # now and then drop the dead
        views[:] = [v for v in views if v() is not None]
    views.append(weakref.ref(view))


def immutable(data: Any) -> bool:
    """Whether writing to an array makes another one, as JAX's arrays have it."""
    return getattr(adapter_of(data), "immutable", False)


def overwrite(target: Tensor, value: Any, name: str) -> Tensor:
    """Write a computed value (a Tensor or raw array) over a tensor, whose history it becomes.

    Raises `InplaceError` for a leaf that requires a gradient while recording is on, and for a
    value whose shape or dtype the target cannot hold.
    """
    check_writable(target, name)
    return write_over(target, value, name)


def write_over(target: Tensor, value: Any, name: str) -> Tensor:
    """`overwrite` of a target that has been found writable."""
    new_data = value._data if isinstance(value, Tensor) else value
    data = entered(target, new_data)
    if tuple(new_data.shape) != tuple(data.shape):
        if is_open(data.shape) and may_be(new_data.shape, data.shape):
            fitted = OPS["broadcast_to"](value, OPS["shape"](data))  # or an error when it runs
            raw(fitted).narrow(data.shape)
            return overwrite(target, fitted, name)
        raise ArgumentError(
            f"in-place `{name}`", f"a result of the target's shape {tuple(data.shape)}",
            f"shape {tuple(new_data.shape)}", "use the operation that makes a new tensor",
        )
    check_examples(target, name, new_data)
    node = value._node if isinstance(value, Tensor) else None
    adapter = adapters[data.__class__]
    try:
        written = adapter.write(data, new_data)
    except ValueError as error:  # what array libraries raise for memory that is not to be written
        raise InplaceError(
            f"in-place `{name}`", "memory that can be written", str(error),
            "copy it first: x = pullback.asarray(x, copy=True), or use the operation that makes a "
            "new tensor",
        ) from None
    if written is not data:  # a NumPy scalar: it becomes an array
        target._data = written
    versions.written(written, name)
    rewrite(target, node)
    return target


def entered(target: Tensor, *values: Any) -> Any:
    """The array of a target of a write: a symbol, if what is written is known when a graph runs."""
    return above.joined(target._data, values) if Symbol.made else target._data


def check_writable(target: Tensor, name: str) -> None:
    """Raise an `InplaceError` where writing would lose the gradient of a leaf.

    Also for mapped arguments of vmap, which are views of the caller's array, and for constant
    tensors of a front end.
    """
    if target._constant:
        raise ArgumentTypeError(
            f"in-place `{name}`", "a tensor that can be written",
            f"a {type(target).__module__.rpartition('.')[0]}.{type(target).__name__}, a constant",
            "compute a new tensor, or keep the values in a Variable",
        )
    data = target._data
    check_kept(data, f"in-place `{name}`")
    if data.__class__ is Symbol:
        above.deferred().check_shared(target, name)
    source, steps = getattr(target, "_view_of", None) or (target, ())
    if data.__class__ is Batched and (
        adapters[Batched].is_sealed(data) or adapters[Batched].is_sealed(source._data)
    ):
        raise InplaceError(
            f"in-place `{name}` inside vmap", "a tensor that owns its memory",
            "an argument that vmap maps, or a view of one or of something repeated",
            "write to a copy: y = pullback.asarray(x, copy=True)",
        )
    if immutable(data) and any(getattr(attrs, "repeats", False) for _, attrs in steps):
        raise InplaceError(
            f"in-place `{name}`", "a tensor each of whose entries stands in one place",
            "one that broadcasting repeats", "copy it first: x = pullback.asarray(x, copy=True)",
        )
    node = source._node
    if isinstance(node, Leaf) and state().follows(node) and not (
        target._assignable or (source._data.__class__ is Symbol and source._data.operation.takes)
    ):  # in a graph, what is computed with recording off has a leaf for a node
        view = "" if source is target else "a view of "
        raise InplaceError(
            f"in-place `{name}` on {view}a leaf tensor", "a computed tensor, or recording off",
            "a leaf that requires a gradient (or is watched), whose value would be lost",
            "write inside `with pullback.no_grad():`, or compute a new tensor",
        )


def check_examples(target: Tensor, name: str, *values: Any) -> None:
    """Raise a `BatchedValueError` for values, one for each example, that one target would get."""
    own = tags_of(target._data.shape)
    for value in values:
        if any(tag not in own for tag in tags_of(getattr(value, "shape", None))):
            raise BatchedValueError(
                f"in-place `{name}` inside vmap", "a tensor that is another one for each example",
                "one that is the same for all, to receive values that are not",
                "make a new tensor (y = y + v, y = pullback.set_at(y, v, i)), or make the target "
                "like a mapped one: pullback.zeros_like(x)",
            )


def rewrite(target: Tensor, node: Node | None) -> None:
    """Make `node` the history of what was just written to a target, and of all that share it.

    With recording off, the memory has changed and no history has.
    """
    source, steps = getattr(target, "_view_of", None) or (target, ())
    shared = getattr(source, "_views", None).__class__ in (list, type(None))
    if not shared or immutable(target._data):
        above.carry(target)
    now = state()
    if not now.level and not now.accumulators:
        return  # also in a graph, where what is computed with recording off has a leaf for a node
    if node is None and isinstance(source._node, Leaf):
        return  # written by an optimizer: still the same leaf
    before = _retaining(source) if notes else []
    if not steps:
        if node is None and source._node is not None:
            above.dropped("overwritten", source._node, "assignment", source)
        source._node = node
    elif source._node is not None or node is not None:
        source._node = above.put_node(source, steps, target, node)
    for reference in getattr(source, "_views", ()):
        view = reference()
        if view is not None:
            view._node = above.take_node(source, view._view_of[1], view)
    for tensor, found in before:  # `retain_grad` is of the tensor, whatever its history
        if tensor._node is not None:
            found.retains = False
            new_notes = note(tensor._node)
            new_notes.retains, new_notes.retained = True, found.retained


def _retaining(source: Tensor) -> list[tuple[Tensor, Notes]]:
    """The tensors sharing a memory whose gradient is to be kept, and what is noted of them."""
    views = [reference() for reference in getattr(source, "_views", ())]
    pairs = [(t, notes.get(t._node)) for t in (source, *views) if t is not None and t._node]
    return [(t, found) for t, found in pairs if found is not None and found.retains]
