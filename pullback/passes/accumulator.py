"""Tangents computed while a program runs: forward mode that keeps no graph alive.

An `Accumulator` knows the tangents of some nodes. While it is active, every operation on a tensor
that has one computes the tangent of its result at once. Unless reverse mode records it too, the
result's node is a `Dual`, which has no parents: the past is freed.

Several may be active, the innermost last. A tangent for one of them is computed with the outer
ones active, so that they see it. A tangent belongs to the accumulator that stores it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ..core import state as _state
from ..core.above import provide
from ..core.cotangent import wrapped
from ..core.forward import push_node
from ..core.node import LEAF, Leaf, Node, number, object_new
from ..core.op import OPS
from ..core.tensor import Tensor, raw, wrap


class Dual(Node):
    """The node of a value that has tangents and no history."""

    __slots__ = ()

    op = LEAF
    parents = ()
    saved = ()


def tangent_nodes() -> list[Node]:
    """The nodes of the tangents that active sweeps know."""
    found = [t._node for a in _state.state().accumulators for t in a.tangents.values()
             if isinstance(t, Tensor)]
    return [node for node in found if node is not None]


def dual(space: Any) -> Dual:
    """A node for an array, or in another node's place, to hang tangents on."""
    made = object_new(Dual)
    made.seq = number()
    made.level = _state.TANGENT
    made.shape, made.dtype = space.shape, space.dtype
    return made


class Accumulator:
    """The tangents of one forward sweep: node -> tangent, raw or a Tensor.

    Each is held by its node, and freed with it.
    """

    __slots__ = ("__weakref__", "tangents")

    def __init__(self) -> None:
        self.tangents: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()

    def watch(self, x: Any, tangent: Any) -> Tensor:
        """A tensor of x's value that has this tangent: an argument of its own."""
        made = fresh(x, _state.TANGENT)
        assert made._node is not None
        self.tangents[made._node] = tangent
        return made

    def tangent(self, x: Any) -> Any:
        """The tangent of a tensor, raw or a Tensor; None where there is none."""
        node = x._node if isinstance(x, Tensor) else None
        return None if node is None else self.tangents.get(node)

    def activate(self) -> _state.State:
        """Compute tangents from now on; `restore` with what is returned ends it."""
        return _state.change(accumulators=(*_state.state().accumulators, self))

    @staticmethod
    def push_through(node: Any, reverse: bool, cls: type) -> Node | None:
        """Compute the tangents of a node just made, of every active sweep.

        reverse  the node is recorded for reverse mode: it stays, and its tangents are recorded too

        Returns the node that its output gets.
        """
        now = _state.state()
        result: Node | None = node if reverse else None
        for k, accumulator in enumerate(now.accumulators):
            known = accumulator.tangents
            arriving = [None if p is None else known.get(p) for p in node.parents]
            if all(t is None for t in arriving):
                continue
            outer = now.accumulators[:k]
            record = reverse or bool(outer) or any(map(_tracked, arriving))
            arriving = [t if t is None else _seen(t, cls, record) for t in arriving]
            # Overrides and guards act on the computations in their block, not on the computation
            # of tangents.
            before = _state.change(accumulators=outer, overrides=(), closed=None)
            try:
                t = push_node(node, arriving, record, cls, result)
            finally:
                _state.restore(before)
            if t is None:
                continue
            if result is None:
                result = dual(node)
            known[result] = t
            if result is not node:
                known[node] = t  # by which a rule that is transposed knows its output
        return result

    @staticmethod
    def output_node(behind: Any, made: Node | None, index: int, data: Any) -> Node | None:
        """The node of one output among several, with its tangents: `made`, or a `Dual` for None.

        behind  the result of `push_through` for the node of all outputs
        """
        if behind is None:
            return made
        for accumulator in _state.state().accumulators:
            several = accumulator.tangents.get(behind)
            if several is not None and several[index] is not None:
                made = dual(data) if made is None else made
                accumulator.tangents[made] = several[index]
        return made


def fresh(x: Any, level: int) -> Tensor:
    """A tensor of x's value with a node of its own, at which derivatives begin.

    If x is tracked outside, the node leads there, and keeps its tangents. So
    the same tensor may be two arguments, or an argument and a closed-over one.
    """
    x = x if isinstance(x, Tensor) else Tensor(x)
    node, data = x._node, x._data
    now = _state.state()
    made: Any
    followed = node is not None and now.follows(node)
    if followed and now.closed is not None:
        followed = not now.closed.check(OPS["identity"].op, (node,))
    if followed:
        assert node is not None
        made = object_new(Node)
        made.op = OPS["identity"].op
        made.parents, made.saved = (node,), (None, None)
        made.seq = number()
        made.level = min(level, node.level)
        made.shape, made.dtype = data.shape, data.dtype
    elif level == _state.TANGENT:
        made = dual(data)
    else:
        made = Leaf(data, level)
    if node is not None:
        move_tangents(node, made)
    return wrap(x._out, data, made)


def move_tangents(old: Node, new_node: Node) -> None:
    """Give a node the tangents that another one has, of every active accumulator."""
    for accumulator in _state.state().accumulators:
        t = accumulator.tangents.get(old)
        if t is not None:
            accumulator.tangents[new_node] = t


@provide
def begin(x: Tensor, leaf: Leaf | None) -> None:
    """Make a tensor a leaf, or (None) untracked; it keeps its tangents."""
    if leaf is None:
        x._node = released(x)._node
        return
    if x._node is not None:
        move_tangents(x._node, leaf)
    x._node = leaf


def _tracked(t: Any) -> bool:
    """Whether a tangent (one of a list, of several outputs) has a history of its own."""
    if t.__class__ is list:
        return any(map(_tracked, t))
    return isinstance(t, Tensor) and t._node is not None


def _seen(t: Any, cls: type, record: bool) -> Any:
    """A tangent (a list, of several outputs) as a Tensor where it is to be recorded, else raw."""
    if t.__class__ is list:
        return [v if v is None else _seen(v, cls, record) for v in t]
    return wrapped(cls, t) if record else raw(t)


def untracked(x: Any) -> Any:
    """A tensor without the node that only an ended forward sweep needed."""
    return released(x) if isinstance(x, Tensor) and isinstance(x._node, Dual) else x


def released(x: Tensor) -> Tensor:
    """A tensor without its history; its tangents of active sweeps stay with it."""
    node = x._node
    known = [a for a in _state.state().accumulators if node is not None and node in a.tangents]
    if not known:
        return wrap(x._out, x._data)
    made = dual(x._data)
    for accumulator in known:
        accumulator.tangents[made] = accumulator.tangents[node]
    return wrap(x._out, x._data, made)
