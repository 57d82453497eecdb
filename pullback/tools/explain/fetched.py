"""Explains gradients in graphs by the values on the way to them, which a run fetches too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy

from ...arrays.symbol import Symbol
from .explanation import Explanation

_MOST = 20_000
"""The most values on the way to a gradient that a run fetches."""


def computed_for(elements: Iterable[Any]) -> list[Any]:
    """The symbols with floating entries that some symbols and operations need, and these."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    stack = list(elements)
    while stack and len(found) < _MOST:
        element = stack.pop()
        if id(element) in seen:
            continue
        seen.add(id(element))
        operation = element
        if element.__class__ is Symbol:
            operation = element.operation
            if numpy.dtype(element.dtype).kind in "fc":
                found[id(element)] = element
        if id(operation) not in seen or operation is element:
            seen.add(id(operation))
            stack += [*operation.takes, *operation.control]
    return list(found.values())


def wrong_in(
    gradient: Symbol, value: Any, values: Mapping[int, Any], last: int
) -> Explanation | None:
    """Explains a gradient that a run of a graph fetched; None if it is finite and not zero.

    values  the numbers of the symbols that it is computed from, by id
    last    the number of the target's operation: those that came later compute the gradient
    """
    value = numpy.asarray(value)
    bad = int((~numpy.isfinite(value)).sum())
    if not bad and value.any():
        return None
    word = "nan" if numpy.isnan(value).any() else "inf" if bad else "zero"
    shown = f"{bad} of {value.size} entries are NaN or infinite" if bad else "all entries are zero"
    fix = "explain(f, *values)   # the same computation as a Python function"
    text = f"Session.run computed it: {shown}."
    if not bad:
        return Explanation(word, "inside", text, fix=fix)
    first = _first(gradient, values)
    operation, at = first.operation, _place(first.operation.line)
    name = f"`{operation.name}` ({operation.type})"
    given = [s for s in operation.takes if id(s) in values]
    sizes = "; ".join(f"`{s.operation.name}` {_range(values[id(s)])}" for s in given)
    if not all(_is_finite(values[id(s)]) for s in given):
        return Explanation(word, "inside", text, fix=fix)  # fed, or a loop
    if not operation.takes:
        text += f" {name} has such values itself."
    elif operation.number <= last:
        text += f" {name} is the first operation on the way whose result is not finite: of {sizes}."
    else:
        behind = _differentiated(given, operation, last)
        lines = ", ".join(f"`{o.name}` ({o.type}) at {o.line}" for o in behind)
        text += (f" The values are finite up to {name} in the gradient, of {sizes}"
                 + (f": the derivative of {lines}." if len(behind) == 1 else
                    f": a derivative of one of {lines}." if behind else "."))
        if len(behind) == 1:
            operation, at = behind[0], _place(behind[0].line)
    return Explanation(word, "not finite", text, operation=operation.type, at=at, fix=fix)


def _first(symbol: Symbol, values: Mapping[int, Any]) -> Symbol:
    """The first symbol that is not finite, on a way back from one that is not."""
    seen: set[int] = set()
    while True:
        seen.add(id(symbol))
        behind = (
            s for s in symbol.operation.takes
            if id(s) in values and id(s) not in seen and not _is_finite(values[id(s)])
        )
        found = list(behind)
        if not found:
            return symbol
        # Of several, one whose entries are not finite in the same places: not one that is masked.
        symbol = next((s for s in found if _overlap(values, s, symbol)), found[0])


def _differentiated(given: Iterable[Symbol], operation: Any, last: int) -> list[Any]:
    """The operations of the forward pass whose derivative reads some values of it."""
    read = {i for symbol in given for i in _forward_values(symbol, last)}
    return [
        o for o in operation.graph.operations
        if o.number <= last and o.takes
        and (read & {id(s) for s in o.takes} or read & {id(s) for s in o.symbols})
    ]


def _forward_values(symbol: Symbol, last: int) -> set[int]:
    """The values of the forward pass that a value is computed from; none if it is a cotangent."""
    found: set[int] = set()
    stack, seen = [symbol], {id(symbol)}
    while stack:
        now = stack.pop()
        if now.operation.number <= last:
            found.add(id(now))
            continue
        if now.operation.op.name == "ones_like":  # with which a backward pass starts
            return set()
        fresh = [s for s in now.operation.takes if id(s) not in seen]
        seen.update(map(id, fresh))
        stack += fresh
    return found


def _overlap(values: Mapping[int, Any], one: Symbol, other: Symbol) -> bool:
    a, b = (~numpy.isfinite(values[id(s)]) for s in (one, other))
    return bool(a.shape == b.shape and (a & b).any())


def _is_finite(value: Any) -> bool:
    return bool(numpy.isfinite(value).all())


def _range(value: Any) -> str:
    values = numpy.asarray(value)
    if not values.size or values.dtype.kind == "c":
        return f"of shape {values.shape}"
    low, high = values.min(), values.max()
    return f"= {low:.4g}" if low == high else f"from {low:.4g} to {high:.4g}"


def _place(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return (file, int(number)) if number.isdigit() else ("", 0)
