"""Files of at most 450 lines, functions of at most 60, lines of at most 100 columns."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.sources import name_of, python_files, tree

FILE, FUNCTION, LINE = 450, 60, 100
MOSTLY = 20
"""Nine functions in ten are no longer than this."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def length(function: Function) -> int:
    """Lines of a function without its docstring."""
    whole = (function.end_lineno or 0) - function.lineno + 1
    text = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        whole -= (text.end_lineno or 0) - text.lineno + 1
    return whole


def functions(path: Path) -> list[Function]:
    return [n for n in ast.walk(tree(path)) if isinstance(n, Function)]


@pytest.mark.parametrize("path", python_files(), ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= FILE
    assert [i for i, line in enumerate(lines, 1) if len(line) > LINE] == []
    long = {f.name: length(f) for f in functions(path) if length(f) > FUNCTION}
    assert not long, f"longer than {FUNCTION} lines: {long}"


def test_most_functions_are_very_short() -> None:
    lengths = sorted(length(f) for p in python_files("pullback") for f in functions(p))
    assert lengths[len(lengths) * 9 // 10] <= MOSTLY
