"""A graph as text: a line for each operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..arrays.symbol import AnyShape, Symbol

COLUMNS = ("name", "type", "outputs", "inputs", "line")
WIDEST = 44
"""Letters of a column; what is longer is cut."""


def listing(graph: Any) -> str:
    """The operations of a graph, in the order of building, as a table.

    Columns: name, type, dtype and shape of the outputs, inputs, and the line that built it. Names
    of inputs are those of tensors, without the `:0`; `^` stands before what only runs earlier.

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, placeholder
    >>> with Graph().as_default() as graph:
    ...     x = placeholder(pb.float64, [None], name="x")
    ...     y = pb.sum(x * 2.0)
    >>> print(listing(graph))  # doctest: +ELLIPSIS
    Graph of 3 operations
    name      type         outputs         inputs    line
    x         placeholder  float64 [None]            ...
    multiply  multiply     float64 [None]  x, 2.0    ...
    sum       sum          float64 []      multiply  ...
    """
    rows = [COLUMNS, *[row(operation) for operation in graph.operations]]
    widths = [max(len(r[c]) for r in rows) for c in range(len(COLUMNS))]
    lines = [f"Graph of {len(graph.operations)} operations"]
    lines += ["  ".join(t.ljust(w) for t, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    return "\n".join(lines)


def row(operation: Any) -> tuple[str, ...]:
    """An operation in the columns of a listing."""
    inputs = [tensor_name(a) if a.__class__ is Symbol else _cut(repr(a)) for a in operation.args]
    inputs += [tensor_name(s) for s in operation.extra]
    inputs += [f"^{o.name}" for o in operation.control]
    columns = (
        operation.name, operation.type, "; ".join(map(space_text, operation.symbols)),
        ", ".join(inputs),
    )
    return (*map(_cut, columns), line_text(operation.line))


def tensor_name(symbol: Symbol) -> str:
    """The name of a tensor; of the first output of an operation, the operation's.

    >>> from pullback.graphs import Graph, placeholder
    >>> with Graph().as_default():
    ...     tensor_name(placeholder("float32", [2], name="x")._data)
    'x'
    """
    return str(symbol.operation.name) if symbol.index == 0 else symbol.name


def space_text(symbol: Symbol) -> str:
    """Dtype and shape of a tensor: `float32 [None, 3]`."""
    return f"{symbol.dtype} {shape_text(symbol)}"


def shape_text(symbol: Symbol) -> str:
    """The shape of a tensor: `[None, 3]`; of unknown rank, `[…]`."""
    return "[…]" if isinstance(symbol.shape, AnyShape) else str(list(symbol.shape))


def line_text(line: str) -> str:
    """A line of a program without the folders.

    >>> line_text("/home/me/net.py:12")
    'net.py:12'
    """
    return Path(line).name


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
