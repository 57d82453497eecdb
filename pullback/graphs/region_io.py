"""What operations that run regions share: how they are appended, and what goes in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ..arrays import SCALARS, adapters, is_array
from ..arrays.symbol import OpenShape, Symbol
from ..core.record import attach
from ..core.state import state
from ..core.tensor import Tensor, raw, wrap
from ..errors import ArgumentError, ArgumentTypeError
from ..kinds import symbols as _symbols
from .operation import Kind, Operation
from .regions import Region

HANDLE = (), numpy.dtype(bool)
"""The space of a symbol that stands for no array, but for something of Python's."""


class Slot:
    """An output of an operation before it is a Tensor."""

    __slots__ = ("_data", "_out")

    def __init__(self, data: Any, cls: type) -> None:
        self._data, self._out = data, cls


def seen(value: Any, cls: type) -> Any:
    """A cotangent or tangent as a Tensor; None stays."""
    return value if value is None or isinstance(value, Tensor) else wrap(cls, value)


def zeros(space: Any, like: Symbol, cls: type) -> Any:
    """Zeros of a shape and dtype, as a tensor of the graph being built."""
    shape, dtype = space
    graph = _symbols.current_graph() or _symbols.graph_of(like)
    return wrap(cls, graph.own(adapters[Symbol].zeros(shape, dtype, like)))


def outward(shape: Any, graph: Any) -> Any:
    """A shape found in a region, as it is known in the graph around it."""
    if not isinstance(shape, OpenShape):
        return tuple(shape)
    owner = shape.symbol.operation.graph
    while graph is not None:
        if owner is graph:
            return shape
        graph = getattr(graph, "outer", None)
    return plain(shape)


def plain(shape: Any) -> Any:
    """The lengths of a shape, None for each that is not known; None for any shape."""
    try:
        return tuple(shape)
    except TypeError:  # of unknown rank
        return None


def joined(shapes: Sequence[Any]) -> Any:
    """What several shapes have in common: None where lengths, or numbers of axes, differ."""
    first = shapes[0]
    if all(s is first or s == first for s in shapes):
        return first
    rows = [plain(s) for s in shapes]
    if any(r is None or len(r) != len(rows[0]) for r in rows):
        return None
    return tuple(n[0] if len(set(n)) == 1 else None for n in zip(*rows, strict=True))


def structure(tree: Any) -> Any:
    """What tells one nesting from another."""
    if tree is None or isinstance(tree, (Tensor, Operation, *SCALARS)) or is_array(tree):
        return "a leaf"
    import optree

    return optree.tree_structure(
        tree, is_leaf=lambda v: v is None or isinstance(v, Tensor), none_is_leaf=True
    )


def same_nesting(wanted: Any, answer: Any, name: str) -> None:
    """Raise an `ArgumentError` unless what a function returned is nested as it is to be."""
    found = structure(answer)
    if found != wanted:
        raise ArgumentError(
            f"function of `{name}`", f"results in the nesting of its arguments: {wanted}",
            f"{found}",
        )


def as_tensor(graph: Any, value: Any, subject: str) -> Any:
    """A value as a tensor of a graph."""
    data = raw(value)
    if data.__class__ is Symbol:
        own = graph.own(data)
        return value if own is data else wrap(graph.tensor_class, own, value._node)
    if data.__class__ in SCALARS:
        data = adapters[float].asarray(data)
    if not hasattr(data, "dtype"):
        raise ArgumentTypeError(
            subject, "a tensor, an array or a number", f"a {type(value).__name__}"
        )
    node = value._node if isinstance(value, Tensor) else None
    return wrap(graph.tensor_class, graph.own(data), node)


def inside(region: Region, value: Any, dtype: Any = None) -> Any:
    """What a function returned as a tensor of its region; a number takes on the dtype given."""
    data = raw(value)
    if data.__class__ is Symbol and data.operation.graph is region:
        return value
    if data.__class__ in SCALARS:
        data = adapters[float].asarray(data, dtype)
    node = value._node if isinstance(value, Tensor) else None
    return wrap(region.tensor_class, region.own(data), node)


ENTRY = Kind("kept", lambda kept, which, position: kept[which][position])
"""A value that a region drew or read when it ran."""
ENTRY.stateful = False


def hand_over(region: Region, saved: Sequence[Symbol], kept: Any, which: int) -> None:
    """Let a region know the values that a ghost drew and read."""
    for position, symbol in enumerate(saved):
        (region.known[symbol],) = region.append(
            ENTRY, [region.own(kept)], {"which": which, "position": position},
            [(symbol.shape, symbol.dtype)], symbol.kind,
        )


def appended(
    graph: Any, kind: Any, args: Sequence[Any], spaces: Sequence[Any], array_kind: type,
    regions: Sequence[Region],
) -> Operation:
    """The operation that runs regions, appended to the graph around them."""
    before = list(dict.fromkeys(o for r in regions for o in r.before))
    given = [a if a.__class__ is not Symbol else graph.own(a) for a in args]
    with graph.control_dependencies(before):
        graph.append(kind, given, {}, spaces, array_kind)
    for cell in kind.assigns:
        graph.reads.pop(cell, None)
    made: Operation = graph.operations[-1]
    return made


def followed_by(
    node: Any, values: Sequence[Any], cls: type, inputs: Sequence[Any] = ()
) -> list[Any]:
    """Outputs as tensors with a node, which has all but its place; or without.

    inputs  the tensors they were computed from, for an override to see
    """
    if not values or not state().differentiates(node.parents):
        return [wrap(cls, v) for v in values]
    slots: list[Any] = [Slot(v, cls) for v in values]
    return attach(node, slots, inputs)
