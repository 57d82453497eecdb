"""The tensors and arrays that a hand-written rule reads, so far as its code shows them.

Used only where something was written in place since a call was recorded, to tell whether the rule
would read a changed value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from ..arrays import is_array
from ..core.node import Leaf, Node, where
from ..core.tensor import Tensor, raw
from ..errors import InplaceError
from ..lost_paths import own_node


def captured(values: Iterable[Any], readers: Iterable[Any] = ()) -> Iterator[Any]:
    """The tensors and arrays in values: in containers, closures, and attributes that are read.

    values   what a rule uses; of a function, its closure and its defaults
    readers  functions that read attributes of the values

    Of an object, only the attributes whose names occur in the code of the functions count.
    """
    stack, seen = list(values), set()
    objects: list[Any] = []
    names = {name for f in readers for name in _names(getattr(f, "__code__", None))}
    known = -1, -1
    while stack or known != (len(names), len(objects)):
        if not stack:  # a method that was found may read more of the objects
            known = len(names), len(objects)
            stack += [v for o in objects for v in _attributes(o, names)]
            continue
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor) or is_array(value):
            yield value
        elif isinstance(value, (list, tuple, set, frozenset)):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, partial):
            stack += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, MethodType):
            stack += [value.__func__, value.__self__]
        elif isinstance(value, FunctionType):
            names |= _names(value.__code__)
            stack += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            for cell in value.__closure__ or ():
                with suppress(ValueError):  # an empty cell
                    stack.append(cell.cell_contents)
        elif not isinstance(value, (type, ModuleType, str, bytes, int, float, complex)):
            objects.append(value)
            call = getattr(type(value), _CALL, None)
            stack += [call] if isinstance(call, FunctionType) else []


_CALL = "__call__"
"""The method of a callable object."""


def _names(code: CodeType | None) -> set[str]:
    """The names of attributes (and globals) in a function's code and in functions inside it."""
    if code is None:
        return set()
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def _attributes(value: Any, names: set[str]) -> Iterator[Any]:
    """The attributes of an object, and the methods of its class, that have one of some names."""
    own = getattr(value, "__dict__", {})
    for name in names:
        if name in own:
            yield own[name]
            continue
        found = getattr(type(value), name, None)
        if isinstance(found, FunctionType):
            yield found
        elif isinstance(found, MemberDescriptorType):
            with suppress(AttributeError):  # a slot that is not set
                yield found.__get__(value)


def unchanged(
    node: Node, values: Iterable[Any], readers: Iterable[Any] = (), role: str = "captured tensor"
) -> Iterator[tuple[str, Any]]:
    """For `CustomOp.held`: the arrays that a rule reads, which must be as they were at the call.

    Raises `InplaceError` for a tensor that was assigned since.
    """
    for value in captured(values, readers):
        # A variable gets another array when it is assigned; the number of its leaf tells.
        leaf = own_node(value) if isinstance(value, Tensor) else None
        if isinstance(leaf, Leaf) and leaf.seq > node.seq and leaf.seq != leaf.born:
            raise InplaceError(
                f"gradient of {where(node)}", "the tensors that its gradient function reads, "
                "unchanged", "one that was assigned since",
                "compute gradients before updating tensors, or copy the value in the forward",
            )
        yield role, raw(value)
