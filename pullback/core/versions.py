"""In-place writes: when was an array's memory last written, and did a gradient need it before?

Instead of a version counter in every tensor, there is one table of written memory: its key is the
object that owns the memory, which all views share, its value the number of the last write in the
sequence that nodes are numbered by. A value saved by a node is stale when its memory was written
after the node was recorded. Nothing is paid where nothing is written in place.
"""

from __future__ import annotations

import weakref
from typing import Any

from .._user_code import user_line
from ..arrays import adapters, is_array
from ..errors import InplaceError
from .node import FREED, Node, latest, number, where
from .observe import notify
from .state import state

_table: dict[int, tuple[int, str, str, Any, int]] = {}


def written(array: Any, by: str, *, line: bool = True) -> None:
    """Remember that an array's memory was overwritten just now, and by which operation."""
    owner = adapters[array.__class__].owner(array)
    if owner is None:
        return
    key = id(owner)
    old = _table.get(key)
    now = latest[0] = number()
    keeper = old[3] if old is not None else weakref.ref(owner, lambda _: _table.pop(key, None))
    count = old[4] + 1 if old is not None else 1
    _table[key] = (now, by, user_line() if line else "", keeper, count)
    if state().observers:
        notify("written", array, by)


def version(array: Any) -> int:
    """The number of the last write to an array's memory, 0 if there was none."""
    owner = adapters[array.__class__].owner(array)
    return _table[id(owner)][0] if owner is not None and id(owner) in _table else 0


def count(array: Any) -> int:
    """How many times an array's memory was written to in place."""
    owner = adapters[array.__class__].owner(array)
    return _table[id(owner)][4] if owner is not None and id(owner) in _table else 0


def check(node: Node) -> None:
    """Raise an `InplaceError` if a value that a node saved was overwritten after that."""
    saved: Any = node.saved
    if saved is FREED:
        return
    held = getattr(node.op, "held", None)
    if held is not None:
        for role, value in held(node):
            check_array(value, node, node.seq, role)
    elif saved.__class__ is not tuple:  # the operation checks what it reads
        return
    for position, value in enumerate(saved if held is None else ()):
        if value is not None and is_array(value):
            check_array(value, node, node.seq, _role(node, position))


def check_array(value: Any, node: Node, since: int, role: str) -> None:
    """Raise an `InplaceError` if a raw array was overwritten after a number."""
    if version(value) <= since:
        return
    owner = adapters[value.__class__].owner(value)
    _, by, line, _, _ = _table[id(owner)]
    raise InplaceError(
        f"gradient of {where(node)}",
        f"the {role} it was recorded with",
        f"a value changed in place (inplace) since, by `{by}`{' at ' + line if line else ''}",
        f"use an operation that makes a new tensor there (y = y + 1, not y += 1), or give "
        f"`{node.name()}` a copy; `with pullback.debug():` records lines",
    )


def _role(node: Node, position: int) -> str:
    names = getattr(node.op, "arguments", ())
    if position == len(node.saved) - 1:
        return "output"
    return f"input `{names[position]}`" if position < len(names) else f"input {position}"
