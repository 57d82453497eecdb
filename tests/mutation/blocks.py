"""Blocks: runs of statements with one entrance, which are counted as a test enters them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.edits import is_text
from tests.mutation.live import Live, Source
from tests.mutation.probes import WEAK, Probe, comparing

HIT = "__mutation_hit__"
"""The name, put into each module, of the function that is told of a block."""
_BODIES = ("body", "orelse", "finalbody")


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements directly in a statement: those of its branches and handlers."""
    for name in _BODIES:
        value = getattr(node, name, None)
        if isinstance(value, list) and value:
            yield value
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body


def numbered(sources: list[Source]) -> dict[int, int]:
    """id(statement) -> the number of its block, for every function of some files."""
    numbers: dict[int, int] = {}
    count = 0

    def walk(body: list[ast.stmt]) -> None:
        nonlocal count
        new = True
        for statement in body:
            count += new
            numbers[id(statement)] = count - 1
            inner = list(bodies(statement))
            for deeper in inner:
                walk(deeper)
            new = bool(inner)

    for source in sources:
        for _, function in source.functions:
            walk(function.body)
    return numbers


def count_of(numbers: dict[int, int]) -> int:
    """How many blocks there are."""
    return max(numbers.values(), default=-1) + 1


def instrument(
    sources: list[Source], numbers: dict[int, int], probes: list[Probe], live: Live, hits: set[int]
) -> None:
    """Make every block note its number when it is entered, and every probe what differs."""
    for probe in probes:
        probe.put()
    weak = comparing(hits)
    for source in sources:
        for _, function in source.functions:
            tell(function.body, numbers)
        vars(source.module).update({HIT: hits.add, WEAK: weak})
        source.replace(live)


def tell(body: list[ast.stmt], numbers: dict[int, int]) -> None:
    """Put a call before each block of some statements."""
    last = -1
    for statement in list(body):
        for inner in bodies(statement):
            tell(inner, numbers)
        number = numbers[id(statement)]
        if number != last and not (is_text(statement) and statement is body[0]):
            call = ast.Call(ast.Name(HIT, ast.Load()), [ast.Constant(number)], [])
            told = ast.copy_location(ast.Expr(call), statement)
            body.insert(body.index(statement), ast.fix_missing_locations(told))
            last = number
