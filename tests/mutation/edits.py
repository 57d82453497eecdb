"""Edits of syntax trees: which lines may be changed, and how; the kinds for ordinary code."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef
Kind = Callable[["Place"], Iterator[Any]]

_UNREAD = {"annotation", "returns", "decorator_list", "args", "type_params"}
"""Fields of nodes that no run of the function reads."""


@dataclass(frozen=True)
class Place:
    """Where a node stands: `owner.field`, or `owner.field[index]`, in a statement."""

    node: Any
    owner: Any
    field: str
    index: int | None
    statement: ast.stmt


@dataclass
class Edit:
    """One change of a tree: another node, or another list of statements, in a place."""

    kind: str
    place: Place
    new: Any
    _old: Any = field(default=None, repr=False)

    def apply(self) -> None:
        """Put the new node into the tree."""
        place = self.place
        self._old = self._put(self.new)
        anchor = place.node[0] if isinstance(place.node, list) else place.node
        for node in self.new if isinstance(self.new, list) else [self.new]:
            _locate(node, anchor)

    def undo(self) -> None:
        """Put the old one back."""
        self._put(self._old)

    def _put(self, node: Any) -> Any:
        place = self.place
        if place.index is None:
            old = getattr(place.owner, place.field)
            setattr(place.owner, place.field, node)
        else:
            whole = getattr(place.owner, place.field)
            old, whole[place.index] = whole[place.index], node
        return old

    def text(self) -> tuple[str, str]:
        """The statement before and after, as code, each on one line."""
        before = _short(self.place.statement)
        if self.kind in ("deleted", "return"):
            return before, {"deleted": "pass", "return": "return None"}[self.kind]
        if isinstance(self.place.node, ast.expr) and len(before) > 90:
            return _short(self.place.node), _short(self.new)
        self.apply()
        try:
            changed = self.place.statement
            if self.place.node is changed:
                changed = self.new
            elif isinstance(self.new, list):
                changed = self.new[len(self.new) - len(self.place.node) - 1]
            return before, _short(changed)
        finally:
            self.undo()


def _locate(node: Any, anchor: Any) -> None:
    """Give new nodes the position of the old one, so that every line keeps its number."""
    for part in ast.walk(node):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, anchor)


def _short(statement: ast.AST) -> str:
    """The first line of a statement's code; of a compound one, its head."""
    return ast.unparse(statement).strip().splitlines()[0][:120]


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """(qualified name, node) of each function that stands in no other one."""
    def walk(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
        for node in body:
            if isinstance(node, Function):
                yield prefix + node.name, node
            elif isinstance(node, ast.ClassDef):
                yield from walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.If | ast.Try):
                yield from walk([*node.body, *node.orelse], prefix)

    yield from walk(tree.body, "")


def places(function: Function) -> Iterator[Place]:
    """Every place in a function's body, and in those of the functions inside it."""
    for i, statement in enumerate(function.body):
        if not is_text(statement):
            yield Place(statement, function, "body", i, statement)
            yield from _inside(statement, statement)


def _inside(owner: ast.AST, statement: ast.stmt) -> Iterator[Place]:
    if isinstance(owner, ast.Raise | ast.Assert | ast.JoinedStr):
        return  # texts of errors are no gradients
    for name, value in ast.iter_fields(owner):
        if name in _UNREAD and isinstance(owner, (*_DEFINITIONS, ast.AnnAssign, ast.arg)):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or is_text(node):
                continue
            now = node if isinstance(node, ast.stmt) else statement
            yield Place(node, owner, name, index, now)
            yield from _inside(node, now)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_text(node: Any) -> bool:
    """Whether it is a docstring, or another constant that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# The kinds ------------------------------------------------------------------------------------


def negated_test(place: Place) -> Iterator[Any]:
    """`if a` to `if not a`, and `while`, and `x if a else y`."""
    if place.field == "test" and isinstance(place.owner, ast.If | ast.While | ast.IfExp):
        node = place.node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_exact(node.ops[0]):
            yield ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
        else:
            yield ast.UnaryOp(ast.Not(), node)


def _is_exact(operator: ast.cmpop) -> bool:
    """Whether the other comparison is the negation."""
    return not isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE)


_COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}


def other_comparison(place: Place) -> Iterator[Any]:
    """`<` to `<=`, `==` to `!=`, `is` to `is not`, `in` to `not in`, and back."""
    if not isinstance(place.node, ast.Compare):
        return
    for i, operator in enumerate(place.node.ops):
        if place.field == "test" and _is_exact(operator) and len(place.node.ops) == 1:
            continue  # as the negated test
        new = copy.copy(place.node)
        new.ops = [*new.ops[:i], _COMPARISONS[type(operator)](), *new.ops[i + 1 :]]
        yield new


def other_connective(place: Place) -> Iterator[Any]:
    """`and` to `or`, and back."""
    if isinstance(place.node, ast.BoolOp):
        other = ast.Or() if isinstance(place.node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, place.node.values)


_OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}


def other_operator(place: Place) -> Iterator[Any]:
    """`+` to `-`, `*` to `/`, and back; `-x` to `x`."""
    node = place.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OPERATORS:
        if isinstance(node, ast.BinOp) and any(map(_is_string, (node.left, node.right))):
            return
        new = copy.copy(node)
        new.op = _OPERATORS[type(node.op)]()
        yield new


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def other_constant(place: Place) -> Iterator[Any]:
    """An integer plus one, a float times 100, `True` to `False` and back."""
    node, owner = place.node, place.owner
    if not isinstance(node, ast.Constant) or isinstance(owner, ast.FormattedValue):
        return
    if isinstance(owner, ast.keyword) and owner.arg in ("strict", "stacklevel"):
        return  # a check of lengths that never differ; which line a warning shows
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 100 or 100.0)


def deleted(place: Place) -> Iterator[Any]:
    """A statement that is not run: a call, a write, a `raise`.

    It stays in dead code, so that the function keeps its local and free variables.
    """
    node = place.node
    written = getattr(node, "targets", [getattr(node, "target", None)])
    if isinstance(node, ast.Expr | ast.AugAssign | ast.Delete | ast.Raise) or (
        isinstance(node, ast.Assign)
        and not any(isinstance(t, ast.Name | ast.Tuple) for t in written)
    ):
        yield ast.If(ast.Constant(value=False), [node], [])


def returned_none(place: Place) -> Iterator[Any]:
    """`return None` in the place of a value."""
    node = place.node
    if isinstance(node, ast.Return) and node.value is not None:
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            return
        nothing = ast.Return(ast.Constant(value=None))
        yield ast.If(ast.Constant(value=True), [nothing], [node])


def other_jump(place: Place) -> Iterator[Any]:
    """`break` to `continue`, and back."""
    if isinstance(place.node, ast.Break):
        yield ast.Continue()
    elif isinstance(place.node, ast.Continue):
        yield ast.Break()


LINES: dict[str, Kind] = {
    "test": negated_test, "comparison": other_comparison, "connective": other_connective,
    "operator": other_operator, "constant": other_constant, "deleted": deleted,
    "return": returned_none, "jump": other_jump,
}
"""The kinds for ordinary lines, by name."""


def edits(function: Function, kinds: dict[str, Kind]) -> Iterator[Edit]:
    """Each edit of these kinds in a function."""
    for place in list(places(function)):
        for name, kind in kinds.items():
            for new in kind(place):
                yield Edit(name, place, new)


def yields_nothing(function: Function) -> Iterator[Edit]:
    """A generator that ends at once; what follows stays, so that it is still a generator."""
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function)):
        yield at_start("nothing", function, ast.Return(None))


def at_start(kind: str, function: Function, statement: ast.stmt) -> Edit:
    """A statement before the first of a function, behind its docstring."""
    body = function.body
    skip = 1 if is_text(body[0]) and len(body) > 1 else 0
    first = body[skip]
    place = Place(body[skip:], function, "body", None, first)
    return Edit(kind, place, [*body[:skip], statement, *body[skip:]])


def unchanged(function: Function) -> Edit:
    """No change of what a function does: its first parameter is given the value that it has.

    No test may fail on it: one that does is not to be trusted.
    """
    name = function.args.args[0].arg
    same = ast.Assign([ast.Name(name, ast.Store())], ast.Name(name, ast.Load()))
    return at_start("none", function, same)
