"""Files of at most 450 lines, functions of at most 60 (the linter sees to the columns)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.sources import name_of, python_files, tree

FILE, FUNCTION = 450, 60
MOSTLY = 20
"""Nine functions in ten are no longer than this."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def length(function: Function) -> int:
    """Lines of a function without its docstring, and without those of functions inside it."""
    whole = lines(function)
    if ast.get_docstring(function, clean=False) is not None:
        whole -= lines(function.body[0])
    return whole - sum(lines(n) for n in function.body if isinstance(n, Function))


def functions(path: Path) -> list[Function]:
    return [n for n in ast.walk(tree(path)) if isinstance(n, Function)]


@pytest.mark.parametrize("path", python_files(), ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE
    long = {f.name: length(f) for f in functions(path) if length(f) > FUNCTION}
    assert not long, f"longer than {FUNCTION} lines: {long}"


def test_most_functions_are_very_short() -> None:
    lengths = sorted(length(f) for p in python_files("pullback") for f in functions(p))
    assert lengths[len(lengths) * 9 // 10] <= MOSTLY
