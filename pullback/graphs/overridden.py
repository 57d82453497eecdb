"""A call of a traced function, with other gradients inside than when it was traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from ..core.custom_op import CustomOp
from ..core.node import FREED, Node
from ..core.record import freed
from ..core.tensor import raw
from .arguments import same

KEPT = 8
"""So many sets of rules have their backward graphs kept, for each call of a graph."""


class Rules:
    """Overrides as a key: equal to others if every rule does the same.

    That is so for two functions of one text that close over the same objects, as a `lambda` written
    into a training loop is in each turn. What is compared is held, so that its identity is its own.
    """

    __slots__ = ("_hash", "_parts")

    def __init__(self, rules: Mapping[Any, Any]) -> None:
        self._parts: list[Any] = []
        for op in sorted(rules, key=lambda op: (op.name, id(op))):
            self._parts += [op, *_parts(rules[op])]
        self._hash = hash(tuple(map(id, self._parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and same(self._parts, other._parts)

    def __hash__(self) -> int:
        return self._hash


def _parts(rule: Any) -> list[Any]:
    """The objects that make a rule what it is."""
    if not isinstance(rule, FunctionType):
        return [rule]
    cells = rule.__closure__ or ()
    try:
        contents = [cell.cell_contents for cell in cells]
    except ValueError:  # one is not assigned yet
        return [rule]
    named = [v for item in (rule.__kwdefaults__ or {}).items() for v in item]
    return [rule.__code__, rule.__globals__, *(rule.__defaults__ or ()), *named, *contents]


class OverriddenPiece(CustomOp):
    """A piece, some of whose operations have other gradients than when it was traced.

    What those gradients read was not kept when it ran: it is computed again.
    """

    def __init__(self, piece: Any, overrides: Any) -> None:
        self.base, self.overrides = piece, overrides
        self.name = piece.name

    def holding(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> OverriddenPiece:
        """The same: what was computed is found in the body."""
        return self

    def contents(self) -> set[Any]:
        """The operations inside."""
        return self.base.contents()

    def overridden(self, rules: Mapping[Any, Any]) -> Any:
        """With further overrides, which go before these."""
        return self.base.overridden({**self.overrides.rules, **rules})

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull."""
        if node.saved is FREED:
            raise freed(node)
        piece = self.base
        gs, kept = piece.gathered(node, g), node.saved.args
        piece.check(node, kept)
        args = piece.linked(node, kept) if record else kept
        answers = piece.reverse(self.overrides)([*args, *gs], node.cls)
        found = piece.spread(answers, self.overrides)
        if not record:
            found = [None if a is None else raw(a) for a in found]
        piece.hand_on(node, found, cotangents, needed)

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangents of the outputs: overrides are for gradients."""
        return self.base.push(node, tangents, record, cls)
