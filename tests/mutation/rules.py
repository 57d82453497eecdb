"""The kinds of edit for rules: sign, factor, cotangent, axis, argument, conjugate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tests.mutation.edits import Edit, Function, Place, at_start, edits, places

_TURNED = ("matrix_transpose", "swapaxes", "permute_dims", "moveaxis", "flip", "roll")
_AXES = ("axis", "axes", "dim", "axis1", "axis2")


def _called(helper: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(f"__mutant_{helper}__", ast.Load()), list(args), [])


def _name(node: ast.AST) -> str:
    """The name of what is called: `conj` of `conj(x)`, `xp.conj(x)` and `OPS["conj"](x)`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""


def _returns(kind: str, function: Function, helper: str) -> Iterator[Edit]:
    """A result of a function goes through a helper: an edit for each of its `return`s."""
    found = [
        p for p in _outer(function) if isinstance(p.node, ast.Return) and p.node.value is not None
    ]
    for place in found:
        changed = ast.Return(_called(helper, place.node.value))
        yield Edit(kind, place, changed)


def _outer(function: Function) -> Iterator[Place]:
    """The places of a function itself, without those of the functions in it."""
    hidden = {
        id(n) for f in ast.walk(function)
        if isinstance(f, ast.FunctionDef | ast.Lambda) and f is not function for n in ast.walk(f)
    }
    return (p for p in places(function) if id(p.node) not in hidden)


def _dropped_cotangent(function: Function, kind: str) -> Iterator[Edit]:
    if kind == "partial":  # the factor of the cotangent
        yield from _returns("cotangent", function, "ones")
        return
    first = function.args.args[0].arg
    if first in ("g", "t", "ts"):
        value = _called("ones", ast.Name(first, ast.Load()))
        statement = ast.Assign([ast.Name(first, ast.Store())], value)
        yield at_start("cotangent", function, statement)


def _other_axis(place: Place) -> Iterator[Any]:
    """Another axis, the axes in another order, other kept dimensions, nothing transposed."""
    node, owner = place.node, place.owner
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in _AXES and place.field in ("args", "value", "elts"):
            yield _called("mirrored", node)
        elif node.id == "keepdims" and place.field in ("args", "value"):
            yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(owner, ast.keyword) and place.field == "value":
        if owner.arg in _AXES and not isinstance(node, ast.Name):
            yield _called("mirrored", node)
        elif owner.arg == "keepdims" and isinstance(node, ast.Constant):
            yield ast.Constant(not node.value)
    elif isinstance(node, ast.Call) and _name(node.func) in _TURNED and node.args:
        yield node.args[0]
    elif isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        yield node.value


def _swapped_operands(place: Place) -> Iterator[Any]:
    """The operands of a product of matrices, of a difference and of a quotient, exchanged."""
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult | ast.Sub | ast.Div):
        yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords and (
        _name(node.func) in ("matmul", "quotient", "subtract", "divide")
    ):
        yield ast.Call(node.func, node.args[::-1], [])


def _without_conjugate(place: Place) -> Iterator[Any]:
    node = place.node
    if isinstance(node, ast.Call) and _name(node.func) == "conj" and len(node.args) == 1:
        yield node.args[0]


def _some(found: list[Edit], most: int) -> list[Edit]:
    """So many of some edits, those that stand furthest apart."""
    step = max(1.0, len(found) / most)
    return [found[int(i * step)] for i in range(min(most, len(found)))]


def edits_of_rule(function: Function, kind: str, of_complex: bool) -> Iterator[Edit]:
    """Every edit of a rule.

    kind        "pullback", "partial", "push", "collapse" or "batch"
    of_complex  the operation takes complex numbers: a conjugate may be missing, or too many
    """
    if kind == "batch":
        yield from _some(list(_returns("sign", function, "negated")), 1)
        yield from _some(list(edits(function, {"axis": _other_axis})), 1)
        return
    yield from _some(list(_returns("sign", function, "negated")), 1)
    yield from _some(list(_returns("factor", function, "scaled"))[::-1], 1)
    yield from _some(list(_dropped_cotangent(function, kind)), 1)
    yield from _some(list(_returns("argument", function, "zeros")), 1)
    yield from _some(list(edits(function, {"axis": _other_axis})), 2)
    yield from _some(list(edits(function, {"operands": _swapped_operands})), 1)
    if of_complex:
        missing = list(edits(function, {"conjugate": _without_conjugate}))
        yield from _some(missing or list(_returns("conjugate", function, "conj")), 1)
