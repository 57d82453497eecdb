"""`explain`: finds the cause from the graph, the recorded cuts and the journal of `debug()`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.reverse import reached, reached_ends
from ...core.state import setting
from ...core.tensor import Tensor, is_inexact, raw
from ...errors import ArgumentTypeError
from ...kinds.symbols import holds_symbols
from ...trees import flatten, leaves, mapped
from ..debug.journal import keeping, paused
from .causes import CURES
from .explanation import Explanation
from .numbers import of_numbers
from .partly import partly
from .severed import of_none, own_node

__all__ = ["explain"]


def explain(
    y: Any, x: Any = None, *more: Any, tape: Any = None, cotangent: Any = None,
    output_gradients: Any = None,
) -> Any:
    """Returns an `Explanation` of why the gradient of y w.r.t. x is None, zero, NaN or infinite.

    y          a Tensor or a pytree of Tensors; or a function, which is called with `x, *more` and
               explained for each of these arguments
    x          a Tensor or Variable, or a pytree of them; the result has the same structure
    tape       the tape that computed the gradient; a tape records less than the whole graph
    cotangent  (or `output_gradients`) the cotangents of y; default: ones

    `explain` changes nothing: it runs no hooks and frees no saved values. Inside `with
    pullback.debug():`, or after it, explanations name the line of each operation, and also follow
    values through code that was not recorded. Outside `debug()`, explain infers the cause from the
    graph: it reports the cut nearest the target, marks it as a guess and lists the others. The
    `cause` of an explanation is one of `pullback.tools.explain.CAUSES`.

    Raises `ArgumentTypeError` if the source is not a Tensor.

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
    """Returns an explanation for each argument; only floating ones can have a gradient."""
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
            "None", "integer", f"The source has dtype {x._data.dtype}: results computed from "
            "integers have no derivative with respect to them.", fix=CURES["integer"],
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
        return Explanation("unknown", "unknown", "The path is connected; inside a graph, the value "
                           "of the gradient is known only when the graph runs.")
    return partly(of_numbers(roots, x, node, spans), targets, x, node, tape)


def is_reached(roots: Mapping[Any, Any], spans: Any, node: Any) -> bool:
    """Returns whether the graph has a path from the targets to the node."""
    if node in roots:
        return True
    whole = spans if spans is not None else [(0, math.inf)]
    return node in reached(roots, whole) or node in reached_ends(roots, whole)
