"""What a forward took out of the library and left for its rule: numbers, arrays, new tensors.

These have no history, so a second derivative would miss their part. What was there before the call
(arguments, what the function closes over) is a constant, or has its own history.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from types import CodeType, FunctionType
from typing import Any

from ..arrays import is_array
from ..core.tensor import Tensor, is_inexact
from .captured_values import captured


def is_taken(value: Any) -> bool:
    """Whether a value may hold what was taken out: a float, an array, a tensor without history."""
    if isinstance(value, Tensor):
        return value._node is None and is_inexact(value._data)
    return isinstance(value, (float, complex)) or (is_array(value) and is_inexact(value))


def left_in_closure(rule: Any, forward: Any) -> bool:
    """Whether a rule reads something that may have been taken out in the call that made it."""
    code = _code(forward)
    if not isinstance(rule, FunctionType) or code is None:
        return any(map(is_taken, _within([rule])))
    given = {*code.co_freevars, *_unchanged_parameters(code)}
    found: list[Any] = [*(rule.__defaults__ or ()), *(rule.__kwdefaults__ or {}).values()]
    for name, cell in zip(rule.__code__.co_freevars, rule.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        if name not in given:
            found.append(value)
        elif not is_taken(value):  # an object, in which the forward may have put something
            found += [v for v in captured([value], [rule]) if not isinstance(v, Tensor)]
            found += [
                v for k, v in getattr(value, "__dict__", {}).items() if k in _attributes(code)
            ]
    return any(map(is_taken, _within(found)))


def left_on_context(attributes: Mapping[str, Any], forward: Any) -> bool:
    """Whether attributes of a `ctx` hold something that may have been taken out in the forward."""
    code = _code(forward)
    given = frozenset() if code is None else _given_attributes(code)
    return any(map(is_taken, _within(v for k, v in attributes.items() if k not in given)))


def left_in_residuals(residuals: Iterable[Any], given: Iterable[Any]) -> bool:
    """Whether residuals hold something that may have been taken out, and is no argument."""
    known = set(map(_identity, given))
    return any(is_taken(v) and _identity(v) not in known for v in residuals)


def _identity(value: Any) -> tuple[bool, int]:
    """What tells values apart; the array of a tensor is not the tensor."""
    tensor = isinstance(value, Tensor)
    return tensor, id(value._data if tensor else value)


def _within(values: Iterable[Any]) -> Iterator[Any]:
    """Values, and those in containers and closures of functions."""
    stack, seen = list(values), set()
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (list, tuple, set, frozenset)):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, partial):
            stack += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, FunctionType):
            stack += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            stack += [c.cell_contents for c in value.__closure__ or () if _is_filled(c)]
        elif is_taken(value) or isinstance(value, Tensor):
            yield value
        else:
            yield from captured([value])


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _code(function: Any) -> CodeType | None:
    found = getattr(getattr(function, "__func__", function), "__code__", None)
    return found if isinstance(found, CodeType) else None


def _unchanged_parameters(code: CodeType) -> set[str]:
    """The parameters of a function that it assigns nothing to."""
    count = code.co_argcount + code.co_kwonlyargcount
    stored = [
        i.argval for i in dis.get_instructions(code) if "STORE_FAST" in i.opname
        or i.opname == "STORE_DEREF"
    ]
    names = {n for found in stored for n in (found if isinstance(found, tuple) else (found,))}
    return set(code.co_varnames[:count]) - names


@cache
def _attributes(code: CodeType) -> frozenset[str]:
    """The attributes that a function assigns."""
    return frozenset(i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")


@cache
def _given_attributes(code: CodeType) -> frozenset[str]:
    """The attributes to which a function assigns parameters, constants or outer names, as they are.

    >>> def forward(ctx, x, alpha):
    ...     ctx.alpha, ctx.total = alpha, float(x)
    ...     ctx.beta = alpha
    >>> sorted(_given_attributes(forward.__code__))
    ['beta']
    """
    constant = _unchanged_parameters(code)
    given: set[str] = set()
    computed: set[str] = set()
    loads: list[bool] = []  # the top of the stack, as far as it was only loaded
    for step in dis.get_instructions(code):
        name = step.opname
        if name == "STORE_ATTR":
            (given if len(loads) > 1 and loads[-2] else computed).add(step.argval)
            del loads[-2:]
        elif name == "SWAP" and len(loads) >= step.argval:
            loads[-1], loads[-step.argval] = loads[-step.argval], loads[-1]
        elif name.startswith("LOAD_FAST"):
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            loads += [n in constant for n in names]
        elif name in ("LOAD_CONST", "LOAD_GLOBAL", "LOAD_SMALL_INT"):
            loads.append(True)
        elif name == "LOAD_DEREF":
            loads.append(step.argval in code.co_freevars or step.argval in constant)
        elif name not in ("NOP", "RESUME", "CACHE", "EXTENDED_ARG"):
            loads = []
    return frozenset(given - computed)
