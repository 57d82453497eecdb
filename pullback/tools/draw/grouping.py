"""Groups of operations: by the function and line that called them, else runs of operations."""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from typing import Any

from ...core.node import Node, line_of
from .facts import where_of
from .history import History
from .layout.picture import Path, common

MOST = 40
"""The maximum number of boxes or groups side by side in one group."""


def groups_of(history: History, kept: set[Node]) -> dict[Node, Path]:
    """The groups of each node.

    kept   nodes outside all groups: those that the user named

    Operations of one function form a group, with one inner group per line; without lines, runs of
    consecutive operations do. A group with too many members is split into runs. A leaf belongs to
    the innermost group that contains all its users.
    """
    computed = [n for n in history.nodes if not history.is_end(n) and n not in kept]
    found: dict[Node, Path] = dict.fromkeys(history.nodes, ())
    by_line: dict[str, list[Node]] = {}
    for node in computed:
        by_line.setdefault(line_of(node), []).append(node)
    functions = _functions(by_line)
    sizes: Counter[str] = Counter()
    for line, nodes in by_line.items():
        sizes[functions[line]] += len(nodes)
    for line, nodes in by_line.items():
        name = functions[line]
        outer: Path = (name,) if name and sizes[name] > 1 else ()
        outer = (*outer, where_of(nodes[0])) if line and len(nodes) > 1 else outer
        for node, path in zip(nodes, runs(len(nodes)), strict=True):
            found[node] = (*outer, *_named(path, nodes))
    users: dict[Node, list[Path]] = {}
    for tail, head, _, _ in history.lines:
        users.setdefault(tail, []).append(found[head])
    for node in history.nodes:
        if history.is_end(node) and node not in kept and node in users:
            found[node] = reduce(common, users[node])
    return found


def _functions(lines: Collection[str]) -> dict[str, str]:
    """`file:line` -> the name of the function around this line; "" outside functions."""
    found = dict.fromkeys(lines, "")
    files: dict[str, list[tuple[int, int, str]]] = {}
    for line in lines:
        file, _, number = line.rpartition(":")
        if not number.isdigit():
            continue
        if file not in files:
            files[file] = _spans(file)
        at = int(number)
        inside = [(first, name) for first, last, name in files[file] if first <= at <= last]
        found[line] = f"{max(inside)[1]}()" if inside else ""
    return found


def _spans(file: str) -> list[tuple[int, int, str]]:
    """(first line, last line, name) of each function of a file; names include classes."""
    try:
        return list(_inside(ast.parse("".join(linecache.getlines(file))), ""))
    except (SyntaxError, ValueError):  # not Python: a notebook's magic, a template
        return []


def _inside(tree: ast.AST, outer: str) -> Iterator[tuple[int, int, str]]:
    for part in ast.iter_child_nodes(tree):
        name = outer
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{outer}.{part.name}" if outer else part.name
            if not isinstance(part, ast.ClassDef):
                yield part.lineno, part.end_lineno or part.lineno, name
        yield from _inside(part, name)


def runs(count: int) -> list[tuple[tuple[int, int], ...]]:
    """For each of `count` things, the runs (first, end) that contain it, the largest first.

    >>> runs(2)
    [(), ()]
    >>> runs(1640)[-1]
    ((1600, 1640),)
    """
    steps: list[int] = []
    step = MOST
    while step < count:
        steps.insert(0, step)
        step *= MOST
    found = []
    for n in range(count):
        path = [(n // s * s, min(count, n // s * s + s)) for s in steps]
        found.append(tuple(p for i, p in enumerate(path) if p not in path[:i]))
    return found


def _named(path: Sequence[tuple[int, int]], nodes: Sequence[Node]) -> Path:
    return tuple(
        f"{first + 1}–{end}: {_contents(nodes[first:min(end, first + 3)])}" for first, end in path
    )


def _contents(nodes: Sequence[Any]) -> str:
    return ", ".join(str(node.op.name) for node in nodes) + ", …"
