"""The other mode of a rule that is given for one mode only: the rule, transposed.

A pullback is linear in its cotangent, g ↦ Jᵀ g. Recorded on zeros and pulled back, it gives
Jᵀᵀ t = J t; and a pushforward t ↦ J t gives Jᵀ g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .arrays.batched import zeros_by
from .arrays.symbol import is_open
from .core import state as _state
from .core.above import provide
from .core.cotangent import accumulate, wrapped
from .core.node import Leaf, Node, number, where
from .core.reverse import pull
from .core.tensor import Tensor, raw, wrap
from .departures import first_from, follow, may_leave
from .errors import NotDifferentiableError
from .kinds.vmaps import each_example
from .linearity import FORWARD, REVERSE, Unrecorded, check_linear, is_ours, is_shown_linear
from .rng_replay import Draws

Space = tuple[Any, Any]
"""A shape and a dtype."""


def zeros_for(space: Space, like: Any) -> Any:
    """Raw zeros for a (shape, dtype), of the library of `like`."""
    shape, dtype = space
    return zeros_by(shape if is_open(shape) else tuple(shape), raw(like), dtype)


@provide
def push_transposed(node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
    """The tangent of a node that has a pullback only, by pulling through the pullback.

    For a node of several outputs, a list.
    """
    several = node.dtype is None
    spaces = node.spaces if several else [(node.shape, node.dtype)]
    pairs = dict(zip(node.parents, tangents, strict=True))
    needed = {p for p, t in pairs.items() if p is not None and t is not None}
    like = next(t for t in tangents if t is not None)
    found: dict[Node, Any] = {}

    def run(gs: list[Any], found: dict[Node, Any] = found, record: bool = True) -> None:
        node.op.step(node, gs if several else gs[0], found, needed, record, cls)

    draws = Draws()
    with each_example(*(shape for shape, _ in spaces)):
        with draws.record():
            leaves, start, unrecorded = _on_zeros(
                spaces, like, record, cls, run, f"forward mode through {where(node)}", "`jvp`"
            )
        reached = [(found.get(p), t) for p, t in pairs.items() if t is not None]
        before = _state.recording(fresh=False) if record else _state.pulling()
        try:
            pulled = _pulled(reached, leaves, record, start, cls)
        except NotDifferentiableError as error:
            raise NotDifferentiableError(
                f"forward mode through {where(node)}",
                "a backward that can be differentiated, to be transposed",
                error.got or "one that cannot",
                "write it with tensor operations of its cotangent, or give the rule of forward "
                "mode: `jvp` of a Function",
            ) from error
        finally:
            _state.restore(before)
        ts = [pulled.get(leaf) for leaf in leaves]
        if (getattr(node.op, "by_hand", False) or not is_ours(node.op)) and not is_shown_linear(
            node, leaves, found.values(), start, unrecorded
        ):
            ts = check_linear(
                FORWARD, node, spaces, like, lambda gs, into: run(gs, into, False), draws,
                found, ts, pairs,
            )
    return ts if several else ts[0]


def pull_transposed(
    node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None, record: bool,
    cls: type, along: Callable[[list[Any]], Any],
) -> None:
    """One step of a backward pass through a node that has a forward-mode rule only.

    along   maps the tangents of the parents, None for zero, to that of the output, or to a list
    """
    gs = g if g.__class__ is list else [g]
    like = next(c for c in gs if c is not None)
    spaces = [
        None if p is None or (needed is not None and p not in needed) else (p.shape, p.dtype)
        for p in node.parents
    ]
    results: list[Any] = []

    def run(ts: list[Any]) -> None:
        made = along(ts)
        results.extend(made if made.__class__ is list else [made])

    draws = Draws()
    with draws.record():
        leaves, start, unrecorded = _on_zeros(
            spaces, like, record, cls, run, f"gradient through {where(node)}", "`backward`"
        )
    before = _state.state() if record else _state.pulling()
    try:
        with each_example(*(p.shape for p in node.parents if p is not None), node.shape):
            reached = [(t, c) for t, c in zip(results, gs, strict=True) if c is not None]
            pulled = _pulled(reached, leaves, record, start, cls)
    finally:
        _state.restore(before)
    found = [pulled.get(leaf) for leaf in leaves]

    def again(ts: list[Any], into: dict[Any, Any]) -> None:
        given = [None if t is None else wrap(cls, t, Leaf(t, _state.REQUIRED)) for t in ts]
        made = along(given)
        into.update(enumerate(made if made.__class__ is list else [made]))

    if not is_shown_linear(node, leaves, results, start, unrecorded):
        with each_example(*(p.shape for p in node.parents if p is not None), node.shape):
            found = check_linear(
                REVERSE, node, spaces, like, again, draws, dict(enumerate(results)), found,
                dict(enumerate(gs)),
            )
    for parent, r in zip(node.parents, found, strict=True):
        if r is not None:
            accumulate(cotangents, parent, r)


@may_leave
def _on_zeros(
    spaces: Sequence[Space | None], like: Any, record: bool, cls: type,
    run: Callable[[list[Any]], None], subject: str, other: str,
) -> tuple[list[Any], int, Unrecorded]:
    """Record a linear rule on zeros of some spaces; their leaves, and the number at the start.

    The third result knows whether an operation on them was not recorded.

    Raises `NotDifferentiableError` if an argument left the library inside the rule; `other` is the
    rule that the user can write instead.
    """
    start = number()
    before = _state.recording(fresh=not record)
    departed, _ = follow()
    unrecorded, now = Unrecorded(start), _state.state()
    if now.observers or now.purpose != _state.NORMAL:
        unrecorded.found = True  # it would not be seen
    else:
        _state.change(observers=(unrecorded,))
    try:
        zeros = [None if s is None else _leaf(s, like, cls) for s in spaces]
        run(zeros)
    finally:
        _state.restore(before)
    leaves = [None if z is None else z._node for z in zeros]
    gone = first_from(departed, leaves, start) if departed else None
    if gone is not None:
        raise NotDifferentiableError(
            subject, "a rule in tensor operations, to be transposed",
            f"one that leaves the library by {gone.by} at {gone.line}",
            f"write it with tensor operations, or write {other} too",
        )
    return leaves, start, unrecorded


def _leaf(space: Space, like: Any, cls: type) -> Any:
    data = zeros_for(space, like)
    return wrap(cls, data, Leaf(data, _state.REQUIRED))


def _pulled(
    reached: Sequence[tuple[Any, Any]], leaves: Sequence[Any], record: bool, start: int, cls: type
) -> dict[Any, Any]:
    """Pull cotangents of recorded results back to leaves."""
    roots: dict[Node, Any] = {}
    for result, c in reached:
        if isinstance(result, Tensor) and result._node is not None:
            c = wrapped(cls, c) if record else raw(c)
            old = roots.get(result._node)
            roots[result._node] = c if old is None else old + c
    wanted = [leaf for leaf in leaves if leaf is not None]
    if not roots:
        return {}
    return pull(roots, wanted, record=record, spans=[(start, math.inf)], cls=cls)
