"""Saved values in another form: packed when they are saved, unpacked when a rule reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..arrays import is_array
from ..core import state as _state
from ..core.forward import push_node
from ..core.node import FREED, Node, where
from ..core.tensor import Tensor, wrap
from ..errors import ArgumentTypeError, RuleError


class Packed:
    """What a value was packed into, how it is unpacked, and what it has to look like then."""

    __slots__ = ("dtype", "form", "shape", "unpack")

    def __init__(self, form: Any, unpack: Callable[[Any], Any], shape: Any, dtype: Any) -> None:
        self.form, self.unpack, self.shape, self.dtype = form, unpack, shape, dtype


class PackedValues(tuple[Any, ...]):
    """What a node saved, with None for what is packed; `packed` has that by position."""

    packed: dict[int, Packed]


class Packing:
    """The hooks that are in force: `State.packing`.

    pack    called with a Tensor that is saved, returns the object to keep instead
    unpack  called with that object, returns a Tensor of the same shape and dtype
    """

    def __init__(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        self._pack, self._unpack = pack, unpack

    def packed(self, data: Any, cls: type) -> Packed:
        """An array in packed form; the hook receives it as a Tensor of a class."""
        before = _state.quiet()
        try:
            return Packed(self._pack(wrap(cls, data)), self._unpack, data.shape, data.dtype)
        finally:
            _state.restore(before)

    def pack(self, node: Any, positions: Any, cls: type) -> None:
        """Pack the values that a node saved at some positions."""
        held = {i: self.packed(node.saved[i], cls) for i in positions if is_array(node.saved[i])}
        if held:
            rest = PackedValues([None if i in held else v for i, v in enumerate(node.saved)])
            rest.packed = held
            node.saved, node.op = rest, PackedOp(node.op)


def unpacked(entry: Packed, subject: str) -> Any:
    """The array that the unpack hook gives back.

    Raises `ArgumentTypeError` for what is no tensor, `RuleError` for another shape or dtype.
    """
    before = _state.quiet()
    try:
        found = entry.unpack(entry.form)
    finally:
        _state.restore(before)
    if not isinstance(found, Tensor):
        raise ArgumentTypeError(
            f"unpack hook for {subject}", "a tensor: the output is expected to be a Tensor",
            f"a {type(found).__name__}",
        )
    if found._data.shape != entry.shape or found._data.dtype != entry.dtype:
        raise RuleError(
            f"unpack hook for {subject}", f"shape {tuple(entry.shape)}, {entry.dtype}, as packed",
            f"shape {found.shape}, {found.dtype}",
        )
    return found._data


class PackedOp:
    """The operation of a node whose saved values are packed: it unpacks them for each step."""

    keeps = True

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @contextmanager
    def _open(self, node: Any) -> Iterator[Any]:
        saved = node.saved
        if saved is not FREED:
            values = list(saved)
            for i, entry in saved.packed.items():
                values[i] = unpacked(entry, where(node))
            node.saved = tuple(values)
        node.op = self.inner
        try:
            yield self.inner
        finally:
            node.op, node.saved = self, saved

    def pull(self, node: Node, g: Any, cotangents: dict[Node, Any]) -> None:
        """One step of a first-order pull."""
        with self._open(node) as op:
            op.pull(node, g, cotangents)

    def step(self, node: Node, *how: Any) -> None:
        """One step of any pull."""
        with self._open(node) as op:
            op.step(node, *how)

    def push(self, node: Node, tangents: Any, record: bool, cls: type) -> Any:
        """The tangent of the output."""
        with self._open(node):
            return push_node(node, tangents, record, cls)
