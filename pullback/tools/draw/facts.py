"""Facts about a recorded operation: name, dtype and shape, memory, line, and custom rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.node import FREED, Leaf, Node, line_of, notes
from ...custom.calls import HandWritten
from ...custom.function_op import FunctionOp
from ...custom.gradient import CustomGradient
from ...custom.override import Overridden
from ..profile.holdings import holdings

_NOT_SAVED = ("attribute", "retained gradient")


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
    parts, has_constants = [], False
    for i, parent in enumerate(node.parents):
        value = saved[i] if parent is None and i < len(saved) else None
        number = isinstance(value, (bool, int, float, complex))
        has_constants |= number
        parts.append((f"{value:.6g}" if isinstance(value, float) and len(repr(value)) > 9
                      else repr(value)) if number else "·")
    for key, value in node.attrs.items():
        if key != "shapes" and value is not None and value is not False:
            text = f"[{index_text(value)}]" if key == "index" else f"{key}={value!r}"
            parts.append(text if len(text) < 32 else f"{key}=…")
            has_constants = True
    return f"({', '.join(parts)})" if has_constants else ""


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
    arrays = {id(h.data): h.data for h in holdings(node) if not h.role.startswith(_NOT_SAVED)}
    return sum(int(getattr(data, "nbytes", 0)) for data in arrays.values())
