"""Files of at most 450 lines, functions of at most 60 (the linter sees to the columns)."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.sources import Function, name_of, python_files, statements
from tests.loops import none_of

FILE, FUNCTION = 450, 60
MOSTLY = 20
"""Nine functions in ten are no longer than this."""


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def length(function: Function) -> int:
    """Lines of a function without its docstring, and without those of functions inside it."""
    whole = lines(function)
    if ast.get_docstring(function, clean=False) is not None:
        whole -= lines(function.body[0])
    return whole - sum(lines(n) for n in function.body if isinstance(n, Function))


def functions(path: Path) -> list[Function]:
    return [n for n, _ in statements(path) if isinstance(n, Function)]


def too_long(path: Path) -> dict[str, int]:
    """The lengths of a file and of its functions that are over the limits."""
    whole = len(path.read_text(encoding="utf-8").splitlines())
    found = {"the file": whole} if whole > FILE else {}
    return found | {f.name: length(f) for f in functions(path) if length(f) > FUNCTION}


def test_files_and_functions_are_short() -> None:
    none_of(python_files(), too_long, name_of)


def test_the_finder_finds(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    x = 1\n" * FILE, "utf-8")
    assert too_long(path) == {"the file": FILE + 1, "f": FILE + 1}


def test_most_functions_are_very_short() -> None:
    lengths = sorted(length(f) for p in python_files("pullback") for f in functions(p))
    assert lengths[len(lengths) * 9 // 10] <= MOSTLY
