"""Finds the arrays that a recorded computation or a function keeps alive, by following
references."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterable, Iterator
from typing import Any

from ....arrays import is_array
from ....core.node import Node
from ....core.op import Op
from ....core.tensor import Tensor

_DEAD_ENDS = (type, types.ModuleType, types.FrameType, types.CodeType, Op, str, bytes, int, float)
_MOST = 5000


def held(roots: Iterable[Any]) -> Iterator[Any]:
    """Every Tensor and raw array reachable from some objects, each once."""
    stack = list(roots)
    seen: set[int] = set()
    while stack and len(seen) < _MOST:
        value = stack.pop()
        if id(value) in seen or isinstance(value, _DEAD_ENDS):
            continue
        seen.add(id(value))
        if is_array(value):
            yield value
            continue
        if isinstance(value, Tensor):
            yield value
        stack.extend(_parts(value))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return [value._data, value._node]
    if isinstance(value, Node):
        return [value.saved, dict(value.attrs), *value.parents]
    if isinstance(value, types.FunctionType):
        return [*captures(value).values(), value.__defaults__, value.__kwdefaults__]
    return list(gc.get_referents(value))


def captures(function: Any) -> dict[str, Any]:
    """The variables that a Python function closes over, by name."""
    names = function.__code__.co_freevars
    found = {}
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
