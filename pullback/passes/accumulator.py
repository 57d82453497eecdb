"""Tangents computed while a program runs: forward mode that keeps no graph alive.

An `Accumulator` knows the tangents of some nodes. While it is active, every operation on a tensor
that has one computes the tangent of its result at once. Unless reverse mode records it too, the
result's node is a `Dual`, which has no parents: the past is freed.

Several may be active, the innermost last. A tangent for one of them is computed with the outer
ones active, so that they see it. A tangent belongs to the accumulator that stores it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from ..arrays import adapters
from ..arrays.symbol import Symbol
from ..core import state as _state
from ..core.above import provide
from ..core.compiled import provide as provide_compiled
from ..core.cotangent import wrapped
from ..core.forward import added, into, push_node
from ..core.node import LEAF, Leaf, Node, number, object_new
from ..core.op import OPS
from ..core.tensor import Tensor, raw, wrap


class Dual(Node):
    """The node of a value that has tangents and no history.

    token, tangent   the token of one sweep, and its tangent, a raw array; see `Tangents`
    """

    __slots__ = ("tangent", "token")

    op = LEAF
    parents = ()
    saved = ()

    token: Any
    tangent: Any


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
    made.token = made.tangent = None
    return made


class Tangents:
    """node -> tangent, of one sweep. Each is held by its node, and freed with it.

    A `Dual` has one in itself, if it is a raw array: that of the sweep whose token it has. So the
    usual case, one sweep, needs no table.
    """

    __slots__ = ("_others", "token")

    def __init__(self) -> None:
        self.token = object()
        self._others: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()

    def get(self, node: Any, default: Any = None) -> Any:
        """The tangent of a node."""
        if node.__class__ is Dual and node.token is self.token:
            return node.tangent
        return self._others.get(node, default)

    def __contains__(self, node: Any) -> bool:
        if node.__class__ is Dual and node.token is self.token:
            return True
        return node in self._others

    def __getitem__(self, node: Node) -> Any:
        found = self.get(node, self)
        if found is self:
            raise KeyError(node)
        return found

    def __setitem__(self, node: Any, tangent: Any) -> None:
        if node.__class__ is Dual:
            own = node.token is self.token
            if (own or node.token is None) and _is_raw(tangent):
                node.token, node.tangent = self.token, tangent
                self._others.pop(node, None)
                return
            if own:
                node.token = node.tangent = None
        self._others[node] = tangent

    def values(self) -> Iterable[Any]:
        """The tangents in the table: all that may be Tensors."""
        return self._others.values()

    def setdefault(self, node: Node, tangent: Any) -> Any:
        """The tangent of a node, set if it has none."""
        found = self.get(node, self)
        if found is self:
            self[node] = found = tangent
        return found


def _is_raw(tangent: Any) -> bool:
    """Whether a tangent is an array with values: no Tensor, symbol, or list of several."""
    cls = tangent.__class__
    return cls in adapters and cls is not Symbol


class Accumulator:
    """The tangents of one forward sweep: node -> tangent, raw or a Tensor."""

    __slots__ = ("__weakref__", "tangents", "token")

    def __init__(self) -> None:
        self.tangents = Tangents()
        self.token = self.tangents.token

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

    def advanced(
        self, op: Any, parents: tuple[Any, ...], data: tuple[Any, ...], out: Any, attrs: Any
    ) -> Any:
        """The `Dual` of a result in the plain case, in the fewest steps; None without a tangent.

        The plain case: this sweep alone, raw tangents, rules of the library's own that need no
        transposition. NotImplemented in any other; then `push_through` does it, or raises.
        """
        token, total = self.token, None
        if op.together is not None or len(op.outputs) > 1 or out.__class__ is Symbol:
            return NotImplemented
        try:
            for index, p in enumerate(parents):
                if p is None:
                    continue
                if p.__class__ is not Dual or p.token is not token:
                    return NotImplemented
                rule = op.pushes.get(0 if op.variadic else index)
                if rule is None:
                    if op.linear:
                        args = [p.tangent if i == index else d for i, d in enumerate(data)]
                        t = op.function(*args, **{k: attrs[k] for k in op.required if k in attrs})
                        total = t if total is None else added(total, t)
                        continue
                    if not op.elementwise:
                        return NotImplemented
                    rule = op.rules.get(index)
                    if rule is None:
                        continue
                if not rule.own:
                    return NotImplemented
                reads = rule.reads
                if rule.keywords or (reads and (len(reads) > 1 or reads[0] < 0)):
                    t = rule(p.tangent, (*data, out), Point(parents, attrs), index)
                elif rule.partial:
                    t = p.tangent * (rule.function(_read(reads[0], data, out)) if reads
                                     else rule.function())
                elif reads:
                    t = rule.function(p.tangent, _read(reads[0], data, out))
                else:
                    t = rule.function(p.tangent)
                total = t if total is None else added(total, t)
        except Exception:
            return NotImplemented
        if total is None:
            return None
        made = object_new(Dual)
        made.seq = number()
        made.level = _state.TANGENT
        made.shape, made.dtype = shape, dtype = out.shape, out.dtype
        made.token = token
        made.tangent = total if total.shape == shape and total.dtype is dtype else into(total, out)
        return made

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


provide_compiled(Dual=Dual, Accumulator=Accumulator)


class Point:
    """What a rule reads of a node, where there is none."""

    __slots__ = ("attrs", "parents")

    def __init__(self, parents: tuple[Any, ...], attrs: Any) -> None:
        self.parents, self.attrs = parents, attrs


def _read(place: int, data: tuple[Any, ...], out: Any) -> Any:
    return data[place] if place < len(data) else out


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
