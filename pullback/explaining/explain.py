"""`explain`: the question put to the graph, the cuts and the journal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.journal import keeping, paused
from ..core.pull import reached, reached_ends
from ..core.state import setting
from ..core.symbols import holds_symbols
from ..core.tensor import Tensor, is_inexact, raw
from ..errors import ArgumentTypeError
from ..trees import flatten, leaves, mapped
from .causes import CURES
from .explanation import Explanation
from .numbers import of_numbers
from .severed import of_none, own_node

__all__ = ["explain"]


def explain(
    y: Any, x: Any = None, *more: Any, tape: Any = None, cotangent: Any = None,
    output_gradients: Any = None,
) -> Any:
    """Why is the gradient of y with respect to x None, zero, NaN or infinite?

    y          a Tensor or a nested structure of them; or a function, which is then called with
               `x, *more` and explained for each of these arguments
    x          a Tensor or Variable, or a nested structure, whose structure the answer has
    tape       the tape that was asked; it records and watches less than the whole graph
    cotangent  (or `output_gradients`) what the pull begins with; ones when left out

    Nothing is changed: no hooks run, no values are let go of. Inside `with pullback.debug():`, or
    after it, operations are named with their lines, and data are followed where nothing was
    recorded. Answers an `Explanation`, whose `cause` is one of `pullback.explaining.CAUSES`.

    Raises `ArgumentTypeError` for a source that is no Tensor.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> explain(pb.sum(pb.round(x) * 2), x).cause
    'flat'
    """
    if callable(y) and not isinstance(y, Tensor):
        found = _of_function(y, (x, *more))
        return found[0] if len(found) == 1 else found
    cotangent = output_gradients if cotangent is None else cotangent
    flat, rebuild = flatten(x)
    with paused():
        return rebuild([_one(y, s, tape, cotangent) for s in flat])


def _of_function(function: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, ...]:
    """Explanations for each argument that has floating numbers."""
    def leaf(value: Any) -> Any:
        made = Tensor(value.detach() if isinstance(value, Tensor) else value)
        return made.requires_grad_() if is_inexact(made._data) else made

    own = [mapped(leaf, a) for a in args]
    with setting(lines=True, enabled=True), keeping():
        y = function(*own)
    return tuple(explain(y, a) for a in own)


def _one(y: Any, x: Any, tape: Any, cotangent: Any) -> Explanation:
    if not isinstance(x, Tensor):
        raise ArgumentTypeError("source of explain", "a Tensor or Variable",
                                f"a {type(x).__name__}", "make it one before computing with it")
    if not is_inexact(x._data):
        return Explanation(
            "None", "integer", f"The source has dtype {x._data.dtype}: what is computed from "
            "integers has no derivative with respect to them.", fix=CURES["integer"],
        )
    targets = leaves(y)
    given = [None] * len(targets) if cotangent is None else leaves(cotangent)
    roots: dict[Any, Any] = {}
    for t, g in zip(targets, given, strict=False):
        node = own_node(t)
        if node is not None and is_inexact(t._data):
            roots[node] = (t, g)
    node = own_node(x)
    spans = tape._recorded() if tape is not None else None
    heard = tape is None or tape._source(x, 0) is not None
    if node is None or not heard or not is_reached(roots, spans, node):
        return of_none(targets, x, roots, tape)
    if any(holds_symbols(raw(t)) for t, _ in roots.values()):
        return Explanation("fine", "fine", "The path is whole; a graph's gradient is a number "
                           "only when the graph runs.")
    return of_numbers(roots, x, node, spans)


def is_reached(roots: Mapping[Any, Any], spans: Any, node: Any) -> bool:
    """Whether a path of the graph leads from the targets to a node."""
    if node in roots:
        return True
    whole = spans if spans is not None else [(0, math.inf)]
    return node in reached(roots, whole) or node in reached_ends(roots, whole)
