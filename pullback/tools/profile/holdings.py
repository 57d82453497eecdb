"""The arrays that a recorded operation holds, and why: for its rules, in closures, in contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import ReferenceType

from ...arrays import is_array
from ...arrays.symbol import Symbol
from ...core.node import FREED, Leaf, Node, notes
from ...core.op import ALL_ARRAYS, Op, Rule
from ...core.tensor import Tensor
from ...custom.context import Context, FunctionNode
from ...custom.gradient import CustomGradient
from ...custom.saved_tensor_hooks import Packed
from ...custom.vjp import Residuals as VjpResiduals
from ...graphs.subgraph_call import Piece

DEPTH = 6
"""The maximum depth of nested structures, closures and objects to search."""


class Holding(NamedTuple):
    """An array that a node holds: its role, and the rule that reads it.

    data   a raw array, or a weak reference to one
    node   the node that keeps the array's own history, if it has one
    """

    data: Any
    role: str
    reason: str
    node: Node | None = None


def holdings(node: Node) -> Iterator[Holding]:
    """Yields the arrays that a node holds; skips freed nodes and leaves.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> [(h.role, h.reason) for h in holdings((x * x).node)][0]
    ('input `x1`', '`partial_multiply_x2` reads it')
    """
    if isinstance(node, Leaf):
        return
    op: Any = node.op
    form = getattr(node.saved, "packed", {})
    while hasattr(op, "inner") or hasattr(op, "base"):  # packed values, overridden gradients
        yield from _found(getattr(op, "held", None), "held", f"override of `{op.name}` sees it")
        op = op.inner if hasattr(op, "inner") else op.base
    if node.saved is not FREED:
        if isinstance(op, Op) and isinstance(node.saved, tuple):
            yield from _of_operation(node, op, node.op is not op and not form)
        else:
            yield from _of_hand_written(node)
        for position, entry in form.items():
            yield from _found(entry, _role(op, position, len(node.parents)) + ", packed",
                              "an unpack hook restores its value")
    yield from _found(dict(node.attrs), "attribute", "an argument of the call")
    noted = notes.get(node)
    if noted is not None and noted.retained is not None:
        yield from _found(noted.retained, "retained gradient", "saved by retain_grad()")


# Operations with rules ------------------------------------------------------------------------


def _of_operation(node: Node, op: Op, overridden: bool) -> Iterator[Holding]:
    tracked = tuple(p is not None for p in node.parents)
    for position, value in enumerate(node.saved):
        weak = isinstance(value, ReferenceType)
        if value is None or not (weak or is_array(value) or value.__class__ is Symbol):
            continue
        role = _role(op, position, len(tracked))
        if weak:
            yield Holding(value, role, "no rule reads it")
            continue
        why = "an override may read it" if overridden else reason_of(op, tracked, position)
        yield Holding(value, role, why)


def _role(op: Any, position: int, inputs: int) -> str:
    if position >= inputs:
        several = len(op.outputs) > 1
        return f"output `{op.outputs[position - inputs]}`" if several else "output"
    if op.variadic:
        return f"input {position}"
    return f"input `{op.arguments[position]}`"


def reason_of(op: Op, tracked: tuple[bool, ...], position: int) -> str:
    """The rules of an operation that read one of its values, given which inputs are tracked.

    >>> from pullback.core.op import OPS
    >>> reason_of(OPS["exp"].op, (True,), 1)
    '`partial_exp` reads it'
    """
    names: dict[str, None] = {}
    later: dict[str, None] = {}
    for index in [i for i, wanted in enumerate(tracked) if wanted]:
        key = 0 if op.variadic else index
        rules = (op.rules.get(key), op.pushes.get(key), op.collapses.get(key), op.together)
        for place, rule in enumerate(rules):
            if rule is not None and position in _positions(rule, op, len(tracked), index):
                (later if place else names)[rule.name] = None
        if op.linear and len(tracked) > 1 and position < len(tracked) and position != index:
            later.setdefault(f"{op.name}, on a tangent,", None)
    found = list(names or later)
    if found:
        listed = " and ".join(f if "," in f else f"`{f}`" for f in found)
        return f"{listed} {'read' if len(found) > 1 else 'reads'} it"
    return "an override may read it" if op.flat else "saved by keep_values() or for an override"


def _positions(rule: Rule, op: Op, count: int, index: int) -> set[int]:
    found = {count + r - len(op.arguments) if r >= len(op.arguments) else r
             for r in rule.reads if r >= 0}
    if ALL_ARRAYS in rule.reads:
        found.update(i for i in range(count) if i != index)
    return found


# Custom gradients, and everything else --------------------------------------------------------


def _of_hand_written(node: Any) -> Iterator[Holding]:
    saved, name = node.saved, node.name()
    if isinstance(node.op, CustomGradient):
        rule = getattr(saved, "__name__", "gradient")
        yield from _found(saved, f"`{rule}`", f"the gradient of `{name}` closes over it")
    elif isinstance(node, FunctionNode) and isinstance(saved, Context):
        why = f"`backward` of `{node.op.name}` reads it"
        yield from _found(saved._saved, "ctx.saved_tensors", why)
        yield from _found(saved._ahead, "ctx.save_for_forward", "`jvp` reads it")
        yield from _found(dict(vars(saved)), "ctx", why)
    elif isinstance(node.op, Piece):
        yield from _found(saved.args, "argument", f"second derivatives of `{name}` read it")
        yield from _found(saved.residuals, "residual", f"the backward graph of `{name}` reads it")
    elif isinstance(saved, VjpResiduals):
        yield from _found(saved.values, "residual", f"`bwd` of `{name}` reads it")
        yield from _found(saved.call.leaves, "argument",
                          f"`fwd` of `{name}` runs again in second derivatives")
    else:
        yield from _found(saved, "saved", f"the backward pass of `{name}` reads it")


def _found(value: Any, role: str, reason: str) -> Iterator[Holding]:
    """The arrays in a value: in pytrees, closures, partial functions and objects."""
    stack = [(value, role, 0)]
    seen: dict[int, Any] = {}
    while stack:
        now, path, depth = stack.pop()
        if now is None or id(now) in seen:
            continue
        seen[id(now)] = now
        if isinstance(now, Tensor):
            yield Holding(now._data, path, reason, now._node)
        elif isinstance(now, Node):
            yield Holding(None, path, reason, now)
        elif now.__class__ is Symbol or is_array(now):
            yield Holding(now, path, reason)
        elif depth < DEPTH:
            stack.extend((v, p, depth + 1) for v, p in reversed(list(_inside(now, path))))


def _inside(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    if isinstance(value, Packed):
        yield value.form, path
    elif isinstance(value, Mapping):
        yield from ((v, f"{path} `{k}`") for k, v in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((v, f"{path}[{i}]") for i, v in enumerate(value))
    elif isinstance(value, partial):
        yield from ((v, path) for v in (value.func, *value.args, *value.keywords.values()))
    elif isinstance(value, MethodType):
        yield from ((v, path) for v in (value.__self__, value.__func__))
    elif isinstance(value, FunctionType):
        yield from _closed_over(value, path)
    elif not isinstance(value, (type, ModuleType, Op, ReferenceType, str, bytes, int, float)):
        slots = [s for c in type(value).__mro__ for s in getattr(c, "__slots__", ())]
        for name in dict.fromkeys([*getattr(value, "__dict__", ()), *slots]):
            if not name.startswith("__"):
                yield getattr(value, name, None), f"{path}.{name}"


def _closed_over(function: FunctionType, path: str) -> Iterator[tuple[Any, str]]:
    for name, value in captures(function).items():
        yield value, f"{path} `{name}`"
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield default, path


def captures(function: FunctionType) -> dict[str, Any]:
    """The variables that a function closes over, by name; leaves out unassigned ones.

    >>> captures((lambda k: lambda: k)(2))
    {'k': 2}
    """
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the variable is not assigned yet
            continue
    return found
