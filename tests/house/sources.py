"""The files of the project, as the house rules read them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pullback"

FOLDERS = ["pullback", "tests", "benchmarks", "examples", "docs"]
"""Where Python files of the project may stand."""


def python_files(*folders: str) -> list[Path]:
    """Every Python file in the folders that are there."""
    return sorted(p for f in folders or FOLDERS for p in (ROOT / f).rglob("*.py"))


@functools.cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


Function = ast.FunctionDef | ast.AsyncFunctionDef


def statements(path: Path) -> Iterator[tuple[ast.stmt, bool]]:
    """(statement, whether a function contains it) for all statements of a file, in any order.

    Looks into statements only: a tree has ten times as many expressions.
    """
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in tree(path).body]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node, inside
        within = inside or isinstance(node, Function)
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += [(inner, within) for inner in getattr(node, field, ())]


def name_of(path: Path) -> str:
    """The path within the project."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports(path: Path) -> tuple[tuple[str, bool, int], ...]:
    """(dotted name, whether at module level, line) of everything a file imports.

    `from . import name` counts as an import of `….name` where that is a module.
    """
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, bool, int]]:
    package = module_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node, inside in statements(path):
        top = not inside
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, top, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                longer = f"{whole}.{alias.name}"
                yield (longer if is_module(longer) else whole), top, node.lineno


@functools.cache
def is_module(dotted: str) -> bool:
    """Whether a dotted name is a file or folder of the package."""
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def under_type_checking(path: Path) -> set[int]:
    """The lines that only a type checker reads."""
    return {
        inner.lineno
        for node, _ in statements(path)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for part in node.body for inner in ast.walk(part) if hasattr(inner, "lineno")
    }
