"""Nodes: what is remembered of one operation, and where gradients of leaves are kept.

A node points at its parents and at what its rules saved, never at its own output `Tensor`, so a
graph holds no reference cycle and is freed with its last user, without the garbage collector.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakSet, ref

from .compiled import NodeBase, compiled

object_new = object.__new__
number: Callable[[], int] = itertools.count(1).__next__ if compiled is None else compiled.number
"""The next number of the one sequence that nodes, tapes and in-place writes share."""

latest: Final = [0]
"""The number of the latest in-place write or assignment of all."""

FREED: Final = ("freed",)
"""Stands in `Node.saved` once a pull has let go of the saved values."""


class _Holders(dict[type, Callable[[Any], Any] | None]):
    """array type -> how to hold a value without keeping it alive; None where a value is small.

    Note [constants are held weakly]: a constant that no rule reads must not be kept alive, yet a
    rule put in place after the fact may want to see it, and constants mostly live on anyway.
    """

    def __missing__(self, cls: type) -> Callable[[Any], Any] | None:
        found = self[cls] = ref if getattr(cls, "__weakrefoffset__", 0) else None
        return found


holders: Final = _Holders()


class Node(NodeBase):
    """One recorded operation.

    op       its `Op`: name, rules and `pull`
    parents  a node, or None where nothing is tracked, for each array argument
    saved    what the rules read: by position the inputs, then the output; None where not read
             (a constant that is not read is held weakly)
    seq      its place in the order of recording
    level    the level of recording from which on its children are recorded (see `core.state`)
    shape, dtype   of the output: the space its cotangent lives in
    """

    __slots__ = ()  # those of `NodeBase`

    op: Any
    parents: tuple[Node | None, ...]
    saved: Any
    noted: Notes  # set in few nodes; see `notes`
    seq: int
    level: int
    shape: tuple[int, ...]
    dtype: Any
    attrs: Mapping[str, Any] = MappingProxyType({})

    def name(self) -> str:
        """The operation's name.

        >>> import pullback as pb
        >>> pb.exp(pb.tensor(1.0, requires_grad=True)).node.name()
        'exp'
        """
        return str(self.op.name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name()} #{self.seq} {self.dtype}{list(self.shape)}>"


def maker_of(node: Node | None) -> str:
    """The name of the operation that made a result, for messages; empty where there is none."""
    return "" if node is None else node.name()


class CallNode(Node):
    """A node of an operation with keyword arguments: `attrs` holds them for the rules."""

    __slots__ = ("attrs",)

    attrs: Mapping[str, Any]


class LeafOp:
    """The operation of a leaf: it was given, not computed."""

    name = "leaf"

    def pull(self, node: Node, g: Any, cotangents: dict[Node, Any]) -> None:
        """A backward pass ends at leaves."""


LEAF: Final = LeafOp()


class Leaf(Node):
    """A node that nothing was computed for: a watched tensor, a variable, a `requires_grad` tensor.

    `grad` is where `backward` accumulates, kept here so that no node needs to know its tensor.
    `trainable` leaves are watched by tapes on their own. `data` is the array, for a rule that is
    put in place after the fact and wants to see its inputs. `variable` is a weak reference to the
    `Variable` it belongs to.
    """

    __slots__ = ("born", "data", "grad", "trainable", "variable")

    op = LEAF
    parents = ()
    saved = ()

    data: Any
    grad: Any
    trainable: bool
    variable: Callable[[], Any] | None
    born: int

    def __init__(self, data: Any, level: int, *, trainable: bool = False) -> None:
        self.seq = self.born = number()
        self.level = level
        self.shape = data.shape
        self.dtype = data.dtype
        self.data = data
        self.grad = None
        self.trainable = trainable
        self.variable = None

    def renew(self, data: Any) -> None:
        """Take note of a new value; its number tells which nodes were recorded with an old one."""
        self.data = data
        self.seq = latest[0] = number()


class Notes:
    """What is known of a few nodes beyond what every node holds."""

    __slots__ = (
        "after", "arrived", "before", "hooks", "line", "lock", "metadata", "retained", "retains",
    )

    def __init__(self) -> None:
        self.before: Any = None  # these three are tables as `hooks` is, made when they are needed
        self.after: Any = None
        self.arrived: Any = None
        self.metadata: dict[Any, Any] | None = None
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.line: str = ""
        self.lock: Any = None  # holds what was saved read-only; see `tools/debug/guards.py`
        self.retains = False
        self.retained: Any = None


class _Noted(WeakSet[Node]):
    """The nodes that have notes. They hold these themselves, so that the collector finds the cycle
    of a hook that closes over its tensor."""

    @staticmethod
    def get(node: Node) -> Notes | None:
        return getattr(node, "noted", None)


notes = _Noted()
"""Hooks, retained gradients and recorded lines: of few nodes, so that the many pay nothing."""


def note(node: Node) -> Notes:
    """The notes of a node, made on first use."""
    found = notes.get(node)
    if found is None:
        found = node.noted = Notes()
        notes.add(node)
    return found


def line_of(node: Node) -> str:
    """Where a node was recorded, as `file:line`, or empty when lines were not being kept."""
    found = notes.get(node)
    return found.line if found is not None else ""


def where(node: Node) -> str:
    """A phrase that says which recorded operation a node is, for error messages."""
    line = line_of(node)
    place = f"recorded at {line}" if line else f"recorded as operation {node.seq}"
    return f"`{node.name()}` of shape {node.shape}, {place}"
