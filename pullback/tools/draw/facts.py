"""Facts about a recorded operation: name, dtype and shape, memory, line, and custom rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import ref

from ...core.node import FREED, Leaf, Node, line_of, notes
from ...core.tensor import Tensor
from ...custom.calls import HandWritten
from ...custom.function_op import FunctionOp
from ...custom.gradient import CustomGradient
from ...custom.override import Overridden

_DEEP = 4


def look_of(node: Node) -> str:
    """The look of a node's box."""
    if isinstance(node, Leaf):
        return "variable" if node.variable is not None else "input"
    if isinstance(node.op, Overridden):
        return "overridden"
    if isinstance(node.op, (CustomGradient, HandWritten, FunctionOp)):
        return "custom"
    return "operation"


def rule_of(node: Node) -> str:
    """A line that names the custom rule of a node; empty if it has none."""
    look = look_of(node)
    if look == "overridden":
        function = node.op.rule_function
        return f"∇ {getattr(function, '__name__', type(function).__name__)}"
    return "∇ custom gradient" if look == "custom" else ""


def title_of(node: Node, names: dict[Node, str]) -> str:
    """The name of a box."""
    if node in names:
        return names[node]
    if isinstance(node, Leaf):
        variable = None if node.variable is None else node.variable()
        return "leaf" if variable is None else str(variable.name)
    return str(node.op.name)


def space_of(node: Node) -> str:
    """Dtype and shape of a node's output, or of its outputs.

    >>> import pullback as pb
    >>> space_of(pb.tensor([1.0, 2.0], requires_grad=True).node)
    'float64 [2]'
    """
    spaces = node.spaces if node.dtype is None and hasattr(node, "spaces") else None
    if spaces is None:
        spaces = [(node.shape, node.dtype)]
    found = [f"{str(dtype).rpartition('.')[2]} {list(shape)}" for shape, dtype in spaces[:3]]
    return "; ".join([*found, *(["…"] if len(spaces) > 3 else [])])


def call_of(node: Node) -> str:
    """The constants and attributes of the call: `(·, 2.0)`, `(·, axis=0)`; empty if none.
    """
    saved = node.saved if isinstance(node.saved, tuple) and node.saved is not FREED else ()
    parts, told = [], False
    for i, parent in enumerate(node.parents):
        value = saved[i] if parent is None and i < len(saved) else None
        number = isinstance(value, (bool, int, float, complex))
        told |= number
        parts.append((f"{value:.6g}" if isinstance(value, float) and len(repr(value)) > 9
                      else repr(value)) if number else "·")
    for key, value in node.attrs.items():
        if key != "shapes" and value is not None and value is not False:
            text = f"[{index_text(value)}]" if key == "index" else f"{key}={value!r}"
            parts.append(text if len(text) < 32 else f"{key}=…")
            told = True
    return f"({', '.join(parts)})" if told else ""


def index_text(index: Any) -> str:
    """An index as written between brackets.

    >>> index_text((slice(None, 3), Ellipsis, None, 2)), index_text(slice(4, None, 2))
    (':3, ..., None, 2', '4::2')
    """
    if isinstance(index, tuple):
        return ", ".join(map(index_text, index))
    if isinstance(index, slice):
        first, end = ("" if v is None else repr(v) for v in (index.start, index.stop))
        return f"{first}:{end}" + ("" if index.step is None else f":{index.step!r}")
    return "..." if index is Ellipsis else repr(index)


def where_of(node: Node) -> str:
    """The file and line, without folders; empty if lines were not kept."""
    return Path(line_of(node)).name if line_of(node) else ""


def has_hooks(node: Node) -> bool:
    """Whether a node has hooks."""
    found = notes.get(node)
    return found is not None and bool(found.hooks or found.before or found.after)


def bytes_of(node: Node) -> int:
    """The bytes of the arrays that a node saved, each counted once.

    >>> import pullback as pb
    >>> bytes_of(pb.exp(pb.tensor([1.0, 2.0], requires_grad=True)).node)
    16
    """
    if isinstance(node, Leaf) or node.saved is FREED:
        return 0
    found: dict[int, int] = {}
    _held(node.saved, found, _DEEP)
    return sum(found.values())


def _held(value: Any, found: dict[int, int], deep: int) -> None:
    if value is None or isinstance(value, (ref, Node, type)) or deep < 0:
        return
    if isinstance(value, Tensor):
        value = value._data
    if hasattr(value, "nbytes") and hasattr(value, "shape"):
        found[id(value)] = int(value.nbytes)
    elif isinstance(value, (tuple, list)):
        for part in value:
            _held(part, found, deep - 1)
    elif isinstance(value, dict):
        _held(list(value.values()), found, deep - 1)
    elif callable(value):
        _held([c.cell_contents for c in getattr(value, "__closure__", None) or ()
               if _is_filled(c)], found, deep - 1)
    elif hasattr(value, "_saved"):
        _held(value._saved, found, deep - 1)
    elif hasattr(value, "values") and not callable(value.values):
        _held(value.values, found, deep - 1)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def size_text(count: int) -> str:
    """A number of bytes with a suitable unit.

    >>> size_text(80), size_text(2048)
    ('80 B', '2 KiB')
    """
    size, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.3g} {units[0]}"
