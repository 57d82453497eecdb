"""push: forward mode. Tangents go along recorded nodes, in rising order of recording.

A rule says how the tangent of an argument becomes one of the output (`pushforward`); for an
elementwise operation it is the pullback rule itself, whose Jacobian is diagonal, and a linear one
is applied to the tangent. What has a pullback only is pushed by transposing that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..arrays.symbol import is_open
from .above import above
from .cotangent import cast
from .multi_output import linked
from .node import FREED, Node, where
from .op import OPS
from .record import freed
from .reverse import reached
from .tensor import Tensor, raw

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
            return above.push_transposed(node, tangents, record, cls)
        if any(map(above.holds_symbols, tangents)) and above.waits(node):
            return above.deferred().push(
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
        elif op.elementwise and ((own := op.rules.get(index)) is None or own.partial or own.own):
            r = None if own is None else own(t, saved, node, index)
        else:
            rest[index] = t
            continue
        if r is not None:
            total = added(total, r)
    if any(t is not None for t in rest):
        r = above.push_transposed(node, rest, record, cls)
        if r is not None:
            total = added(total, r)
    return None if total is None else into(total, node)


def _push_several(
    node: Any, tangents: Tangents, saved: tuple[Any, ...], record: bool, cls: type
) -> list[Any]:
    """The tangents of several outputs; each rule returns a tuple."""
    op = node.op
    if any(t is not None and i not in op.pushes for i, t in enumerate(tangents)):
        found: list[Any] = above.push_transposed(node, tangents, record, cls)
        return found
    total: list[Any] = [None] * len(op.outputs)
    for index, t in enumerate(tangents):
        if t is not None:
            answers = op.pushes[index](t, saved, node, index)
            total = [added(old, r) for old, r in zip(total, answers, strict=True)]
    return [into(t, Space(*space)) for t, space in zip(total, node.spaces, strict=True)]


class Space:
    """What an output looks like: all that `into` wants to know of a node."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def added(total: Any, r: Any) -> Any:
    """The sum of two tangents, of which one may be real and the other complex."""
    if total is None:
        return r
    return total + r if total.dtype == r.dtype else OPS["add"](total, r)


def _linear(op: Any, t: Any, saved: tuple[Any, ...], node: Any, index: int) -> Any:
    """A linear operation's tangent: itself, of the tangent in the argument's place."""
    args = [t if i == index else saved[i] for i in range(len(node.parents))]
    attrs = {k: node.attrs[k] for k in op.required if k in node.attrs}
    return op.function(*args, **attrs)


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
