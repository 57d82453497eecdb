"""The forward values of a path: which operation made the first one that is not finite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from ...arrays import adapters, is_array
from ...arrays.batched import Batched
from ...core.node import Leaf, Node
from ...core.op import OPS, Op
from ...core.tensor import raw
from ...custom.calls import HandWritten
from ...custom.function_op import FunctionOp
from ...custom.gradient import CustomGradient
from ...custom.override import Overridden


class Origin(NamedTuple):
    """The operation that made a value that is not finite.

    word    "nan" or "inf"
    proved  its arguments are known, and finite
    """

    node: Node
    word: str
    proved: bool


class Forward:
    """The forward values of some nodes, as far as nodes and their children saved them."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.values: dict[Node, Any] = {}
        for node in nodes:
            for parent in node.parents:
                if isinstance(parent, Leaf) and is_array(parent.data):
                    self.values[parent] = parent.data
            for i, value in enumerate(saved_by(node)):
                maker = node.parents[i] if i < len(node.parents) else node
                if maker is not None and value is not None and is_array(value):
                    self.values[maker] = value

    def is_bad(self, node: Node | None) -> bool | None:
        """Whether a node's value is not finite; None if the value is not known."""
        if node is None:
            return None
        if node not in self.values:
            self.values[node] = _computed(node)
        value = self.values[node]
        return None if value is None else not is_finite(value)

    def origin(self, starts: Iterable[Node]) -> Origin | None:
        """The first node with a value that is not finite, on the way back from some nodes.

        Does not follow finite values, nor the entries that a `where` did not select.
        """
        stack, seen, bad = list(starts), set(), []
        while stack:
            node = stack.pop()
            if node in seen or self.is_bad(node) is False:
                continue
            seen.add(node)
            if self.is_bad(node):
                bad.append(node)
            stack.extend(self._used(node))
        first = min(bad, key=lambda n: n.seq, default=None)
        if first is None:
            return None
        word = "nan" if numpy.isnan(as_numpy(self.values[first])).any() else "inf"
        return Origin(first, word, self._is_proved(first))

    def _used(self, node: Node) -> Iterator[Node]:
        """The parents that a node's value came from."""
        masks = [v for v in saved_by(node) if v is not None and is_array(v)
                 and as_numpy(v).dtype.kind == "b"] if node.name() == "where" else []
        for i, parent in enumerate(node.parents):
            if parent is None:
                continue
            if len(masks) == 1 and self.is_bad(parent):
                selected = as_numpy(masks[0]) ^ (i != len(node.parents) - 2)
                if not (~numpy.isfinite(as_numpy(self.values[parent])) & selected).any():
                    continue
            yield parent

    def _is_proved(self, node: Node) -> bool:
        saved = saved_by(node)
        for i, parent in enumerate(node.parents):
            value = saved[i] if i < len(saved) else None
            if parent is not None and self.is_bad(parent) is not False:
                return False
            if parent is None and (value is None or not is_array(value) or not is_finite(value)):
                return False
        return bool(node.parents)


def _computed(node: Node) -> Any:
    """A node's value from its saved arguments; None if they are not all there."""
    saved, count = saved_by(node), len(getattr(node.op, "arguments", ()))
    if not count or len(saved) < count or node.attrs or not all(map(is_array, saved[:count])):
        return None
    try:
        with numpy.errstate(all="ignore"):
            value = raw(OPS[node.op.name](*saved[:count]))
    except Exception:  # the operation has other arguments too
        return None
    return value if is_array(value) and tuple(value.shape) == tuple(node.shape) else None


def is_written(node: Node) -> bool:
    """Whether the gradient of a node is a hand-written rule: no traced or checkpointed function."""
    owner = getattr(node.op, "function", node.op) if isinstance(node.op, FunctionOp) else node.op
    return isinstance(owner, (CustomGradient, HandWritten, Overridden, type))


def saved_by(node: Node) -> Sequence[Any]:
    """The values that a node of an operation saved: its arguments, and its result."""
    return node.saved if isinstance(node.op, Op) and node.saved.__class__ is tuple else ()


def bad_values(node: Node, forward: Forward) -> list[Node]:
    """The node itself or the parents, whichever saved value is not finite."""
    if forward.is_bad(node):
        return [node]
    return [p for p in node.parents if p is not None and forward.is_bad(p)]


def bad_event(events: Mapping[int, Any], targets: Iterable[Any]) -> Any:
    """The first event that made a value that is not finite, on the way back from targets."""
    stack, seen = [t for t in targets if t is not None and t.bad], {}
    while stack:
        event = stack.pop()
        if event.number not in seen:
            seen[event.number] = event
            stack += [e for e in (events.get(i) for i in event.inputs) if e is not None and e.bad]
    return seen[min(seen)] if seen else None


def is_finite(value: Any) -> bool:
    """Whether all entries of an array are finite."""
    return bool(numpy.isfinite(as_numpy(value)).all())


def as_numpy(value: Any) -> Any:
    """Arrays, lists of arrays and tensors as a NumPy array; all examples of a `vmap`."""
    if isinstance(value, list):
        parts = [as_numpy(v).ravel() for v in value if v is not None]
        return numpy.concatenate(parts) if parts else numpy.zeros(0)
    value = raw(value)
    while isinstance(value, Batched):
        value = value.value
    return numpy.asarray(adapters[value.__class__].numpy(value))
