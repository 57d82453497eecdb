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
from ...profile.holdings import captures

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
