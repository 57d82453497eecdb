"""Gradients of a hand-written rule that took tracked values out of the library: they have no second
derivative in these values, which must be an error and not a missing term."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

from ..core import state as _state
from ..core.cotangent import accumulate, wrapped
from ..core.custom_op import CustomOp
from ..core.node import Node, where
from ..core.tensor import Tensor, wrap
from ..departures import Departure, followed, intended_in, marked, may_leave
from ..errors import NotDifferentiableError
from ..linearity import numbers_of
from .context import UnknownOp, UnknownTangent, stand_in

Message = tuple[str, str, str, str]


@may_leave
def run_rule(
    record: bool, rule: Callable[..., Any], *args: Any, **keywords: Any
) -> tuple[Any, Sequence[Departure]]:
    """The result of a rule, and the departures of tracked tensors in it, if it is recorded.

    Those in the forward of a hand-written gradient that the rule calls are not among them.
    """
    if not record:
        return rule(*args, **keywords), ()
    departures = _InRule()
    with followed.held((*followed.get(), departures)):
        answer = rule(*args, **keywords)
    return answer, departures


def run_forward(forward: Callable[..., Any], *args: Any) -> tuple[Any, Sequence[Departure]]:
    """The result of a forward, and the departures of tracked tensors in it."""
    departures: list[Departure] = []
    with followed.held((*followed.get(), departures)):
        answer = forward(*args)
    return answer, [d for d in departures if d.live]


def in_result(
    departures: Sequence[Departure], found: Sequence[Any], again: Callable[[], Sequence[Any]]
) -> bool:
    """Whether what left the library in a rule is a part of some of its results.

    found  these results
    again  runs the rule once more and returns them: NaN leaves, and arrives where it is a part
    """
    marks: list[Any] = []
    try:
        with marked.held(marks), numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = again()
    except Exception:  # of code that wants no NaN
        return True
    return len(marks) < len(departures) or any(
        numpy.any(numpy.isnan(numbers_of(r)) & ~numpy.isnan(numbers_of(f)))
        for r, f in zip(results, found, strict=True) if r is not None and f is not None
    )


class _InRule(list[Departure]):
    """The departures in a rule itself."""

    def append(self, departure: Departure) -> None:
        if departure.live and intended_in() is run_rule.__code__:
            super().append(departure)


def with_forward(
    departures: Sequence[Departure], left: Callable[[], bool],
    in_forward: Callable[[], Sequence[Departure]],
) -> Sequence[Departure]:
    """The departures in a rule; or those in its forward, if the rule reads what was taken out.

    left  whether it reads something that may have been; it has no history
    """
    if departures:
        return departures
    found = in_forward()
    return found if found and left() else ()


BACKWARD = (
    "a backward in tensor operations",
    "write it with pullback's operations; or mark the backward of a Function "
    "@once_differentiable, which says that it has a first derivative only; x.detach() for a "
    "constant",
)
RULE = (
    "a rule in tensor operations",
    "write it with pullback's operations; x.detach() for a constant",
)
"""What is expected, and how to mend it: of a rule of reverse mode, and of forward mode."""


def severed(
    r: Any, departures: Sequence[Departure], node: Node, words: tuple[str, str] = BACKWARD
) -> Any:
    """A gradient with a history that raises where a derivative needs what left the library.

    Raises later, in a derivative: `NotDifferentiableError`. The part of its history that was
    recorded stays.
    """
    r = r if isinstance(r, Tensor) else wrap(Tensor, r)
    if r._node is not None and isinstance(r._node.op, (UnknownOp, SeveredOp)):
        return r
    first = departures[0]
    return _severed(r, tuple(dict.fromkeys(d.node for d in departures)), (
        f"second derivative through {where(node)}", words[0],
        f"one in which a tracked tensor leaves the library by {first.by} at {first.line}",
        words[1],
    ))


def _severed(r: Any, left: tuple[Node | None, ...], message: Message) -> Any:
    made = stand_in(SeveredOp(message), (r._node, *left), r._data)
    for sweep in _state.state().accumulators:
        arriving = [None if p is None else sweep.tangents.get(p) for p in made.parents]
        tangent = made.op.push(made, arriving, False, r._out)
        if tangent is not None:
            sweep.tangents[made] = tangent
    return wrap(r._out, r._data, made)


class SeveredOp(CustomOp):
    """The identity of its first parent; the others are what left the library."""

    by_hand = False
    keeps = False

    def __init__(self, message: Message) -> None:
        self.name, self.message = message[0], message

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """Raise if a derivative in what left is needed; pass the cotangent on otherwise."""
        if needed is None or any(p in needed for p in node.parents[1:]):
            raise NotDifferentiableError(*self.message)
        if node.parents[0] is not None:
            if record:  # what it is multiplied with next depends on what left
                g = _severed(wrapped(cls, g), node.parents[1:], self.message)
            accumulate(cotangents, node.parents[0], g)

    def push(self, node: Any, tangents: Iterable[Any], record: bool, cls: type) -> Any:
        """The tangent of the first parent; one that raises when it is used if others have one."""
        first, *rest = tangents
        if any(t is not None for t in rest):
            return UnknownTangent(self.message)
        return _severed(first, node.parents[1:], self.message) if isinstance(
            first, Tensor) else first
