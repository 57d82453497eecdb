"""Reverse mode of what is known as a forward rule only: the rule, transposed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core import departures
from ..core import state as _state
from ..core.batching import each_example
from ..core.cotangent import accumulate, wrapped
from ..core.forward import check_stayed, zeros_for
from ..core.node import Leaf, Node, number, where
from ..core.reverse import pull
from ..core.tensor import Tensor, raw, wrap

Along = Callable[[list[Any]], Any]


def pull_transposed(
    node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None, record: bool,
    cls: type, along: Along,
) -> None:
    """One step of a pull through a node whose rule, `along`, answers tangents with tangents.

    It is linear in them: t ↦ J t. Recorded on tangents of zeros and pulled, it gives g ↦ Jᵀ g.
    """
    gs = g if g.__class__ is list else [g]
    like = next(c for c in gs if c is not None)
    start = number()
    before = _state.recording(fresh=not record)
    departed, token = departures.follow()
    try:
        ts = [_leaf(p, like, cls, needed) for p in node.parents]
        answer = along(ts)
    finally:
        departures.unfollow(token)
        _state.restore(before)
    leaves = [None if t is None else t._node for t in ts]
    if departed:
        check_stayed(departed, leaves, start, f"gradient through {where(node)}", "`backward`")
    answers = answer if answer.__class__ is list else [answer]
    roots: dict[Node, Any] = {}
    for t, c in zip(answers, gs, strict=True):
        if c is not None and isinstance(t, Tensor) and t._node is not None:
            c = wrapped(cls, c) if record else raw(c)
            roots[t._node] = c if t._node not in roots else roots[t._node] + c
    found = _found(node, roots, leaves, record, start, cls) if roots else {}
    for parent, leaf in zip(node.parents, leaves, strict=True):
        r = found.get(leaf)
        if r is not None:
            accumulate(cotangents, parent, r)


def _leaf(parent: Node | None, like: Any, cls: type, needed: set[Node] | None) -> Any:
    """A tangent of zeros to pull back to, for an argument that somebody wants a gradient of."""
    if parent is None or (needed is not None and parent not in needed):
        return None
    data = zeros_for((parent.shape, parent.dtype), like)
    return wrap(cls, data, Leaf(data, _state.REQUIRED))


def _found(
    node: Any, roots: dict[Node, Any], leaves: list[Node | None], record: bool, start: int,
    cls: type,
) -> dict[Any, Any]:
    wanted = [leaf for leaf in leaves if leaf is not None]
    before = _state.state() if record else _state.pulling()
    try:
        with each_example(*(p.shape for p in node.parents if p is not None), node.shape):
            return pull(roots, wanted, record=record, spans=[(start, math.inf)], cls=cls)
    finally:
        _state.restore(before)
