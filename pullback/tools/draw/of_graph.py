"""Pictures of static graphs: selects the operations, and converts them into a `Picture`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ...arrays.symbol import Symbol
from ...core.multi_output import Pick
from ...core.tensor import raw
from ...custom.calls import HandWritten
from ...custom.function_op import FunctionOp
from ...custom.gradient import CustomGradient
from ...custom.override import Overridden
from ...errors import ArgumentError, ArgumentTypeError
from ...graphs.listing import line_text, shape_text
from ...graphs.operation import Operation
from .layout import Box, Drawn, Edge, Picture
from .layout.drawn import FORMATS

SHOWN = ("type", "shape", "dtype")
"""What a box shows below the name by default."""
ROWS = 3
"""The maximum number of outputs listed in a box."""

_LOOKS = {
    "placeholder": "input", "placeholder_with_default": "input", "argument": "input",
    "captured": "input", "read_variable": "variable", "variable": "variable", "assign": "update",
    "constant": "constant", "no_op": "order",
}
_MEANINGS = {
    "input": "placeholder or argument", "variable": "variable", "update": "assignment",
    "constant": "constant", "operation": "operation", "overridden": "overridden gradient",
    "custom": "custom gradient", "backward": "backward part", "order": "only waits",
}
_LINES = {
    "value": "value", "backward": "within the backward part",
    "saved": "saved for the backward part", "order": "runs before",
}


def draw(
    graph: Any, targets: Any = None, *, between: Any = None, format: str = "svg",
    show: Collection[str] = SHOWN, fold: bool | None = None,
) -> Drawn:
    """Returns a picture of a graph; `Graph.draw` documents the arguments."""
    if format not in FORMATS:
        raise ArgumentError("argument `format` of draw", f"one of {', '.join(FORMATS)}",
                            repr(format))
    if isinstance(show, str) or not set(show) <= {*SHOWN, "line"}:
        raise ArgumentError(
            "argument `show` of draw", f"some of {', '.join(SHOWN)}, line", repr(show),
            'show=["type", "line"]',
        )
    ends = [] if targets is None else _tensors(graph, targets, "targets")
    operations = _chosen(graph, ends if targets is not None else None, between)
    return Drawn(picture_of(graph, operations, show, ends), format, fold)


def picture_of(
    graph: Any, operations: Sequence[Operation], show: Collection[str] = SHOWN,
    ends: Sequence[Any] = (),
) -> Picture:
    """Returns operations of a graph as boxes and edges, with name scopes as groups.

    ends   tensors whose own nodes are searched for custom gradients, too
    """
    groups = _groups(operations)
    marks = _marks(operations, ends)
    derived = tuple(sorted(graph.derived))
    behind = {o.name for o in operations if derived and o.name.startswith(derived)}
    boxes = [_box(o, groups[o.name], marks, o.name in behind, show) for o in operations]
    edges = list(_edges(operations, behind))
    found = {box.look for box in boxes}
    legend = {look: text for look, text in _MEANINGS.items() if look in found}
    lines = {edge.look for edge in edges}
    legend |= {look: text for look, text in _LINES.items() if look in lines and lines != {"value"}
               and look not in legend}
    return Picture(boxes, edges, "", ("operation", "operations"), legend)


# Which operations -------------------------------------------------------------------------------


def _chosen(graph: Any, targets: Sequence[Any] | None, between: Any) -> list[Operation]:
    """The operations to draw, in the order in which they were built."""
    chosen = set(graph.operations)
    if targets is not None:
        chosen &= _needed(_operations(targets))
    if between is not None:
        if not isinstance(between, (tuple, list)) or len(between) != 2:
            raise ArgumentTypeError(
                "argument `between` of draw", "a pair (from, to)", repr(between)[:60],
                "between=(x, loss), or between=([x, y], [loss])",
            )
        starts, stops = (_operations(_tensors(graph, end, "between")) for end in between)
        chosen &= _needed(stops) & _reached(graph, starts)
    return [o for o in graph.operations if o in chosen]


def _tensors(graph: Any, values: Any, subject: str) -> list[Any]:
    """The tensors and operations for the given tensors, operations and names."""
    listed = values if isinstance(values, (list, tuple)) else [values]
    found = [graph.as_graph_element(v) for v in listed]
    for value in found:
        data = raw(value)
        operation = value if isinstance(value, Operation) else getattr(data, "operation", None)
        if operation is None or operation.graph is not graph:
            raise ArgumentTypeError(
                f"argument `{subject}` of draw", "tensors and operations of this graph, or names",
                repr(value)[:60],
            )
    return found


def _operations(values: Iterable[Any]) -> list[Operation]:
    return [v if isinstance(v, Operation) else raw(v).operation for v in values]


def _before(operation: Operation) -> list[Operation]:
    return [*[s.operation for s in operation.takes], *operation.control]


def _needed(stops: Iterable[Operation]) -> set[Operation]:
    """The given operations, and all that they depend on."""
    stack, found = list(stops), set()
    while stack:
        operation = stack.pop()
        if operation not in found:
            found.add(operation)
            stack += _before(operation)
    return found


def _reached(graph: Any, starts: Iterable[Operation]) -> set[Operation]:
    """The given operations, and all that depend on them."""
    found = set(starts)
    for operation in graph.operations:
        if any(b in found for b in _before(operation)):
            found.add(operation)
    return found


# Boxes ------------------------------------------------------------------------------------------


def _groups(operations: Sequence[Operation]) -> dict[str, tuple[str, ...]]:
    """The groups of each operation: its scopes that contain more than one operation."""
    scopes = {o.name: tuple(o.name.split("/")[:-1]) for o in operations}
    counts = Counter(s[: d + 1] for s in scopes.values() for d in range(len(s)))
    found = {}
    for name, scope in scopes.items():
        depth = 0
        while depth < len(scope) and counts[scope[: depth + 1]] > 1:
            depth += 1
        found[name] = scope[:depth]
    return found


def _box(
    operation: Operation, group: tuple[str, ...], marks: dict[Operation, str], behind: bool,
    show: Collection[str],
) -> Box:
    look = _LOOKS.get(getattr(operation.op, "name", ""), "backward" if behind else "operation")
    rule = _override(operation)
    rows = [_call(operation)] if "type" in show else []
    rows += _spaces(operation, show)
    if "line" in show:
        rows.append(line_text(operation.line))
    if look in ("operation", "backward") and rule is not None:
        look = "overridden"
        rows.append(f"∇ {rule}")
    elif operation in marks:
        look = "custom"
        rows.append(f"∇ of {marks[operation]}")
    title = operation.name[sum(len(part) + 1 for part in group) :]
    return Box(operation.name, title, tuple(rows), look, group, _detail(operation, rule))


def _call(operation: Operation) -> str:
    """The type of an operation, with its constant arguments: `multiply(·, 2.0)`."""
    numbers = [a for a in operation.args if a.__class__ is not Symbol]
    if not numbers:
        return operation.type
    parts = ["·" if a.__class__ is Symbol else repr(a) for a in operation.args]
    return f"{operation.type}({', '.join(parts)})"


def _spaces(operation: Operation, show: Collection[str]) -> list[str]:
    """The dtype and shape of each output, and the value of a constant with one entry."""
    value = operation.value
    rows = []
    for symbol in operation.symbols[:ROWS]:
        parts = [str(symbol.dtype)] if "dtype" in show else []
        parts += [shape_text(symbol)] if "shape" in show else []
        rows += [" ".join(parts)] if parts else []
    if len(operation.symbols) > ROWS:
        rows.append(f"… {len(operation.symbols)} outputs")
    if value is not None and getattr(value, "size", 9) == 1:
        rows.append(f"= {value.item():.6g}" if hasattr(value, "item") else f"= {value}")
    return rows


def _detail(operation: Operation, rule: str | None) -> str:
    """All details of an operation as text."""
    text = operation.node_def + f"built at: {operation.line}\n"
    if rule is not None:
        text += f"gradient: {rule}\n"
    for number, region in enumerate(getattr(operation.op, "regions", ())):
        text += f"region {number}: {len(region.operations)} operations: "
        text += ", ".join(o.name for o in region.operations[:12]) + "\n"
    return text


def _node(symbol: Any) -> Any:
    """The node that differentiates a tensor of a graph, if any."""
    return None if symbol.face is None else _common(symbol.face._node)


def _common(node: Any) -> Any:
    """The node of the whole operation, if the given node is one of its outputs."""
    return node.parents[0] if isinstance(node, Pick) else node


def _override(operation: Operation) -> str | None:
    """The name of the function that overrides the gradient of an operation, if any."""
    for symbol in operation.symbols:
        op = getattr(_node(symbol), "op", None)
        if isinstance(op, Overridden):
            return _named(op.rule_function)
    return None


def _named(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _marks(operations: Sequence[Operation], ends: Sequence[Any]) -> dict[Operation, str]:
    """Operations whose outputs have a custom gradient -> its name.

    The nodes inside the custom function do not refer to it; the nodes that use its output do.
    """
    found: dict[Operation, str] = {}
    for end in ends:
        if not isinstance(end, Operation) and end._node is not None:
            _mark(found, raw(end), end._node)
    for operation in operations:
        for symbol in operation.symbols:
            node = _node(symbol)
            parents = getattr(node, "parents", ())
            if len(parents) == len(operation.args):
                for argument, parent in zip(operation.args, parents, strict=True):
                    if argument.__class__ is Symbol and parent is not None:
                        _mark(found, argument, parent)
    return found


def _mark(found: dict[Operation, str], symbol: Any, node: Any) -> None:
    op = getattr(_common(node), "op", None)
    op = getattr(op, "base", op)
    if isinstance(op, (CustomGradient, HandWritten, FunctionOp)):
        found[symbol.operation] = str(op.name)


# Edges ------------------------------------------------------------------------------------------


def _edges(operations: Sequence[Operation], behind: set[str]) -> Iterable[Edge]:
    """An edge per input, and an edge per control dependency."""
    drawn = {o.name for o in operations}
    for operation in operations:
        for symbol in operation.takes:
            tail = symbol.operation.name
            if tail in drawn:
                look = "value"
                if tail in behind:
                    look = "backward"
                elif operation.name in behind:
                    look = "saved"
                yield Edge(tail, operation.name, symbol.index, shape_text(symbol), look)
        for other in operation.control:
            if other.name in drawn:
                yield Edge(other.name, operation.name, -1, "", "order")
