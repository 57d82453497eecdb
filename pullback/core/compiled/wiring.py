"""The compiled functions of operations, and what the compiled core asks of the core in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays import adders, entrances, outer, scalers
from ...arrays.batched import Batched, HiddenShape
from ...arrays.inexact import inexact_dtypes
from ...arrays.refusals import REFUSALS, refuse
from ..cotangent import project
from ..inplace import link_view
from ..node import CallNode, Node, latest
from ..op import who
from ..outside import traces
from ..state import QUIET, State, forget_tapes, variable
from . import compiled, provide
from . import steps as steps

NONE, SAME, TIMES, BOTH, ALONE, SLOPE, CONSTANT = range(7)
"""How a rule is called; see `operation.h`."""


def wired(
    op: Any, general: Callable[..., Any], node: Callable[..., Any], unrecorded: Callable[..., Any]
) -> Any:
    """The compiled function of an operation of one or two arrays; `general` for others.

    general           its function in Python, which the compiled one calls but in the plain case
    node, unrecorded  see `core.dispatch._general_node` and `_without_derivative`
    """
    count = len(op.arguments)
    if compiled is None or op.variadic or len(op.outputs) > 1 or count > 2:
        return general
    if (op.required or op.view) and count == 2:
        return general
    provide(general_node=node, unrecorded=unrecorded)
    function = compiled.Operation(op, general, op.kernels)
    if op.required or op.view:
        function.with_attributes(
            op.differentiable, op.defaults, op.positional, len(op.required), op.view,
            "dtype" in op.required,
        )
    else:
        function.plain(count, op.differentiable)
    before = op.refresh

    def refresh() -> None:
        before()
        _tell(op, function, count)

    op.refresh = refresh
    _tell(op, function, count)
    if hasattr(op, "operate"):
        op.operate = function
    return function


def _tell(op: Any, function: Any, count: int) -> None:
    """Tell the compiled function what the rules of its operation read, and how to call them."""
    tracked = [(True,)] if count == 1 else [(True, False), (False, True), (True, True)]
    keeps = [op.keep(t) for t in tracked]
    masks = [sum(1 << i for i, kept in enumerate(keep) if kept) for keep in keeps]
    if op.saves_shapes:
        function.disable()
    short = not op.collapses and len(op.rules) == count
    short = short and all(rule.is_short() for rule in op.rules.values())
    forward = 0  # of which arguments the rule is its own transpose
    if short and op.elementwise and not op.linear and op.together is None:
        forward = sum(1 << i for i, r in op.rules.items() if r.own and i not in op.pushes)
    aligned = op.elementwise and op.batch is None and not op.required
    own = vars(function).get("__module__", "").startswith("pullback.")  # it lasts
    function.keep(*masks, *[0] * (3 - len(masks)), any(keeps[-1]), op.keeps, own, forward, aligned)
    for index, rule in op.rules.items():
        function.rule(
            index, _kind(rule) if short else NONE, rule.reads[0] if rule.reads else 0,
            count == 1 and rule.is_parted(), rule.function,
        )


def _kind(rule: Any) -> int:
    if rule.same:
        return TIMES if rule.partial else SAME
    if rule.partial:
        return SLOPE if rule.reads else CONSTANT
    return BOTH if rule.reads else ALONE


def _fitted(r: Any, node: Node, index: int) -> Any:
    """What a rule returned, in the space of the parent that it is for."""
    return project(r, node.parents[index], who(node.op.rule(index), node, index))


def _added(cotangents: dict[Node, Any], node: Node, r: Any) -> None:
    """Add a cotangent to that of a node; some libraries do it in place."""
    if r.__class__ in adders:
        cotangents[node] = adders[r.__class__](cotangents.pop(node), r)
    else:
        cotangents[node] = cotangents[node] + r


provide(
    refusals=REFUSALS, refuse=refuse, link_view=link_view, fitted=_fitted, added=_added,
    traces=traces, entrances=entrances, scalers=scalers, inexact_dtypes=inexact_dtypes,
    state_variable=variable, State=State, CallNode=CallNode, outer=outer, latest=latest,
    quiet=QUIET, forget_tapes=forget_tapes, Batched=Batched, HiddenShape=HiddenShape,
)
