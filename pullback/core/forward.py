"""push: forward mode. Tangents go along recorded nodes, in rising order of recording.

A rule says how the tangent of an argument becomes one of the output (`pushforward`); for an
elementwise operation it is the pullback rule itself, whose Jacobian is diagonal, and a linear one
is applied to the tangent. What has a pullback only is pushed by transposing that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..arrays.symbol import is_open
from ..errors import NotDifferentiableError
from . import departures, symbols
from . import state as _state
from .batching import each_example, zeros_by
from .cotangent import cast, wrapped
from .multi_output import linked
from .node import FREED, Leaf, Node, number, where
from .op import OPS, Rule
from .record import freed
from .reverse import pull, reached
from .tensor import Tensor, raw, wrap

Tangents = Sequence[Any]


def push(
    tangents: dict[Node, Any], targets: Iterable[Node], *, record: bool = False,
    spans: list[tuple[int, float]] | None = None, cls: type = Tensor,
) -> dict[Node, Any]:
    """Carry tangents of some nodes forward, and return those that arrive at the targets.

    tangents  source node -> tangent (raw, or a Tensor with `record`), of the node's shape
    spans     only nodes recorded within these numbers are passed
    """
    wanted = list(targets)
    known = dict(tangents)
    for node in reversed(reached(dict.fromkeys(wanted), spans)):
        if node in tangents:
            continue
        arriving = [None if p is None else known.get(p) for p in node.parents]
        if any(t is not None for t in arriving):
            known[node] = push_node(node, arriving, record, cls)
    return {node: known[node] for node in wanted if known.get(node) is not None}


def push_node(node: Any, tangents: Tangents, record: bool, cls: type, link: Any = None) -> Any:
    """The tangent of a node's output from those of its parents (None where there is none).

    record  rules run on Tensors, so that what they do is recorded
    link    the node that the output is linked to, when it is not this one
    """
    try:
        own = getattr(node.op, "push", None)
        if own is not None:
            return own(node, tangents, record, cls)
        if not hasattr(node.op, "pushes"):
            return push_transposed(node, tangents, record, cls)
        if any(map(symbols.holds_symbols, tangents)) and symbols.waits(node):
            return symbols.later.push(
                node, tangents, record, cls,
                lambda: _push_operation(node, tangents, record, cls, link or node),
            )
        return _push_operation(node, tangents, record, cls, link or node)
    except Exception as error:
        note = f"in the tangent of {where(node)}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


def _push_operation(node: Any, tangents: Tangents, record: bool, cls: type, link: Node) -> Any:
    op = node.op
    saved = node.saved
    if saved is FREED:
        raise freed(node)
    if record:
        saved = linked(node, saved, cls, link)
    if len(op.outputs) > 1:
        return _push_several(node, tangents, saved, record, cls)
    if op.together is not None:
        first = next(i for i, t in enumerate(tangents) if t is not None)
        return into(op.together(tuple(tangents), saved, node, first), node)
    total = None
    rest: list[Any] = [None] * len(tangents)
    for index, t in enumerate(tangents):
        if t is None:
            continue
        rule = op.pushes.get(0 if op.variadic else index)
        if rule is not None:
            r = rule(t, saved, node, index)
        elif op.linear:
            r = _linear(op, t, saved, node, index)
        elif op.elementwise:
            r = _diagonal(op.rules.get(index), t, saved, node, index)
        else:
            rest[index] = t
            continue
        if r is not None:
            total = _added(total, r)
    if any(t is not None for t in rest):
        r = push_transposed(node, rest, record, cls)
        if r is not None:
            total = _added(total, r)
    return None if total is None else into(total, node)


def _push_several(
    node: Any, tangents: Tangents, saved: tuple[Any, ...], record: bool, cls: type
) -> list[Any]:
    """The tangents of several outputs: each rule answers with a tuple of them."""
    op = node.op
    if any(t is not None and i not in op.pushes for i, t in enumerate(tangents)):
        found: list[Any] = push_transposed(node, tangents, record, cls)
        return found
    total: list[Any] = [None] * len(op.outputs)
    for index, t in enumerate(tangents):
        if t is not None:
            answers = op.pushes[index](t, saved, node, index)
            total = [_added(old, r) for old, r in zip(total, answers, strict=True)]
    return [into(t, Space(*space)) for t, space in zip(total, node.spaces, strict=True)]


class Space:
    """What an output looks like: all that `into` wants to know of a node."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def _added(total: Any, r: Any) -> Any:
    """The sum of two tangents, of which one may be real and the other complex."""
    if total is None:
        return r
    return total + r if total.dtype == r.dtype else OPS["add"](total, r)


def _linear(op: Any, t: Any, saved: tuple[Any, ...], node: Any, index: int) -> Any:
    """A linear operation's tangent: itself, of the tangent in the argument's place."""
    args = [t if i == index else saved[i] for i in range(len(node.parents))]
    attrs = {k: node.attrs[k] for k in op.required if k in node.attrs}
    return op.function(*args, **attrs)


def _diagonal(
    rule: Rule | None, t: Any, saved: tuple[Any, ...], node: Any, index: int
) -> Any:
    """An elementwise operation's tangent: its Jacobian is diagonal, so its transpose is itself."""
    return None if rule is None else rule(t, saved, node, index)


def into(t: Any, node: Any) -> Any:
    """A tangent in the space of a node: broadcast, the real part of it, in its dtype."""
    if t.dtype != node.dtype:
        t = cast(t, node.dtype)
    seen, shape = raw(t).shape, node.shape
    if is_open(seen) or is_open(shape):  # equal to nothing but themselves
        return t if seen == shape else OPS["broadcast_to"](t, shape)
    if tuple(seen) != tuple(shape):
        t = OPS["broadcast_to"](t, tuple(shape))
    return t


# By transposition -----------------------------------------------------------------------------


def zeros_for(space: Any, like: Any) -> Any:
    """Raw zeros for a (shape, dtype), of the library of `like`."""
    shape, dtype = space
    return zeros_by(shape if is_open(shape) else tuple(shape), raw(like), dtype)


def push_transposed(node: Any, tangents: Tangents, record: bool, cls: type) -> Any:
    """The tangent of a node that has a pullback only, by pulling through the pullback.

    The pullback is linear in its cotangent: g ↦ Jᵀ g. Recorded on a cotangent of zeros and pulled,
    it gives Jᵀᵀ t = J t. For a node of several outputs, a list.
    """
    arriving = [t for t in tangents if t is not None]
    several = node.dtype is None
    spaces = node.spaces if several else [(node.shape, node.dtype)]
    with each_example(*(shape for shape, _ in spaces)):
        found = _transposed(node, tangents, spaces, arriving[0], record, cls)
    return found if several else found[0]


def _transposed(
    node: Any, tangents: Tangents, spaces: Sequence[Any], like: Any, record: bool, cls: type
) -> list[Any]:
    answers: dict[Node, Any] = {}
    start = number()
    before = _state.recording(fresh=not record)
    departed, token = departures.follow()
    try:
        gs = [_leaf(space, like, cls) for space in spaces]
        needed = {
            p for p, t in zip(node.parents, tangents, strict=True)
            if p is not None and t is not None
        }
        given = [g for g, _ in gs]
        node.op.step(node, given if node.dtype is None else given[0], answers, needed, True, cls)
    finally:
        departures.unfollow(token)
        _state.restore(before)
    leaves = [leaf for _, leaf in gs]
    if departed:
        check_stayed(departed, leaves, start, f"forward mode through {where(node)}", "`jvp`")
    roots: dict[Node, Any] = {}
    for parent, t in dict(zip(node.parents, tangents, strict=True)).items():
        r = answers.get(parent) if t is not None else None
        if isinstance(r, Tensor) and r._node is not None:
            t = wrapped(cls, t) if record else raw(t)
            old = roots.get(r._node)
            roots[r._node] = t if old is None else old + t
    found = _pulled_back(node, roots, leaves, record, start, cls) if roots else {}
    return [found.get(leaf) for leaf in leaves]


def _leaf(space: Any, like: Any, cls: type) -> tuple[Any, Node]:
    data = zeros_for(space, like)
    leaf = Leaf(data, _state.REQUIRED)
    return wrap(cls, data, leaf), leaf


def check_stayed(
    departed: list[Any], leaves: Iterable[Any], start: int, who: str, other: str
) -> None:
    """Raise a `NotDifferentiableError` if what a rule was handed left the library inside it."""
    gone = departures.first_from(departed, leaves, start)
    if gone is not None:
        raise NotDifferentiableError(
            who, "a rule in tensor operations, to be transposed",
            f"one that leaves the library by {gone.by} at {gone.line}",
            f"write it with tensor operations, or write {other} too",
        )


def _pulled_back(
    node: Any, roots: dict[Node, Any], leaves: list[Node], record: bool, start: int, cls: type
) -> dict[Node, Any]:
    before = _state.recording(fresh=False) if record else _state.pulling()
    try:
        return pull(roots, leaves, record=record, spans=[(start, math.inf)], cls=cls)
    except NotDifferentiableError as error:
        raise NotDifferentiableError(
            f"forward mode through {where(node)}",
            "a backward that can be differentiated, to be transposed",
            error.got or "one that cannot",
            "write it with tensor operations of its cotangent, or give the rule of forward mode: "
            "`jvp` of a Function",
        ) from error
    finally:
        _state.restore(before)
