"""Probes: in the run for the map, an expression is evaluated as its mutants would be, too.

A test can kill a mutant only where the mutated expression has another value than the original. So
a mutant of an expression is noted for a test where that was the case, which leaves out most tests
of what all tests enter, and nearly all mutants that are equivalent to the original.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable
from typing import Any

from tests.mutation.edits import Edit, Place, places
from tests.mutation.mutants import Mutant

WEAK = "__mutation_weak__"
"""The name, put into each module, of the function that compares the values."""

_PURE = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.Constant, ast.IfExp, ast.Tuple, ast.List, ast.Slice, ast.Call, ast.Starred, ast.keyword,
    ast.GeneratorExp, ast.ListComp, ast.comprehension, ast.expr_context, ast.operator, ast.unaryop,
    ast.boolop, ast.cmpop,
)
_FUNCTIONS = {
    "isinstance", "issubclass", "len", "getattr", "hasattr", "callable", "type", "tuple", "list",
    "set", "id", "bool", "int", "float", "is_array", "is_inexact", "is_open", "is_complex", "min",
    "max", "any", "all", "abs", "sorted", "zip", "range", "enumerate", "state", "within", "get",
    "startswith", "endswith", "issubset", "issuperset",
}
"""Functions and methods that may be called once more."""
_THROUGH = (
    ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Subscript, ast.Call, ast.Tuple,
    ast.Slice,
)
"""What a change of a part is followed through, to the value of the whole."""


def is_pure(node: ast.AST) -> bool:
    """Whether an expression may be evaluated twice: it reads, and calls what reads."""
    for part in ast.walk(node):
        if not isinstance(part, _PURE):
            return False
        if isinstance(part, ast.Call):
            name = getattr(part.func, "attr", getattr(part.func, "id", ""))
            if name not in _FUNCTIONS:
                return False
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _whole(place: Place, above: dict[int, Place]) -> Place | None:
    """The largest expression around a place that can be probed, if there is any."""
    if not isinstance(place.node, ast.expr) or isinstance(place.owner, ast.pattern):
        return None
    if not is_pure(place.node):
        return None
    while isinstance(place.owner, _THROUGH) and is_pure(place.owner):
        place = above[id(place.owner)]
    return None if isinstance(place.node, ast.Slice | ast.Starred) else place


class Probe:
    """An expression, and the edits of it and its parts, by number."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.edits: list[tuple[int, Edit]] = []

    def put(self) -> None:
        """Let the expression in the tree be compared with its variants."""
        original = self.place.node
        body: ast.expr = ast.Constant(value=None)
        for i, (_, edit) in reversed(list(enumerate(self.edits))):
            chosen = ast.Compare(ast.Name("_i", ast.Load()), [ast.Eq()], [ast.Constant(i)])
            body = ast.IfExp(chosen, self._seen(self._variant(edit)), body)
        arguments = ast.arguments([], [ast.arg("_i")], None, [], [], None, [])
        numbers = ast.Tuple([ast.Constant(k) for k, _ in self.edits], ast.Load())
        variants = ast.Lambda(arguments, body)
        called = ast.Call(
            ast.Name(WEAK, ast.Load()), [numbers, self._seen(original), variants], []
        )
        ast.copy_location(called, original)
        Edit("probe", self.place, ast.fix_missing_locations(called)).apply()

    def _seen(self, node: ast.expr) -> ast.expr:
        """The expression; in a test, whether it is true."""
        if self.place.field not in ("test", "ifs"):
            return node
        return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node))

    def _variant(self, edit: Edit) -> Any:
        """The whole expression with one edit."""
        if edit.place.node is self.place.node:
            edit.apply()
            edit.undo()  # new nodes have positions now
            return copy.deepcopy(edit.new)
        edit.apply()
        made = copy.deepcopy(self.place.node)
        edit.undo()
        return made


def probes_of(mutants: Iterable[Mutant], first: int) -> list[Probe]:
    """Number the mutants that can be probed, from a number on; the probes of all of them."""
    found: dict[int, Probe] = {}
    above: dict[int, dict[int, Place]] = {}
    number = first
    for mutant in mutants:
        source = mutant.source
        if id(source) not in above:
            above[id(source)] = {id(p.node): p for _, f in source.functions for p in places(f)}
        edit = mutant.edit
        whole = _whole(edit.place, above[id(source)])
        if whole is not None and mutant.part not in ("rules", "control"):
            probe = found.setdefault(id(whole.node), Probe(whole))
            probe.edits.append((number, edit))
            mutant.block, number = number, number + 1
    return list(found.values())


_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) in (tuple, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) in _SIMPLE and bool(one == other)


def comparing(hits: set[int]) -> Callable[..., Any]:
    """The function that is put under `WEAK`: it notes mutants that have another value."""
    def weak(numbers: tuple[int, ...], value: Any, variant: Callable[[int], Any]) -> Any:
        for i, number in enumerate(numbers):
            if number not in hits:
                try:
                    same = _same(value, variant(i))
                except Exception:
                    same = False
                if not same:
                    hits.add(number)
        return value

    return weak
