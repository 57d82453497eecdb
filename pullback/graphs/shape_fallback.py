"""Functions of operations as one operation, where a graph does not know the lengths they need.

Such a function (`core.symbols.whole`) is tried on the symbols first: often it needs the lengths
that are known. What it appended before it met one that is not is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arrays import adapters
from ..arrays.symbol import OpenShape, Symbol
from ..core import symbols as _symbols
from ..core.tensor import Tensor, raw
from ..errors import PullbackError, SymbolError
from ..trees import flatten
from . import spaces
from .deferred_rules import Deferred
from .operation import Hole


def whole(function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """The function of symbols: its operations, or, where they need unknown lengths, itself."""
    found: list[Any] = []
    held = _taken((args, keywords), found)
    opened = any(isinstance(raw(v).shape, OpenShape) for v in found)
    graph = _symbols.graph_of(*map(raw, found))
    start = len(graph.operations)
    try:
        return function(*args, **keywords)
    except (TypeError, PullbackError) as error:
        if not opened and not isinstance(error, SymbolError):
            raise
        graph.rewind(start)
        return _one(function, held, found, error)


def _taken(value: Any, found: list[Any]) -> Any:
    """Arguments with holes in the place of symbols, which are added to `found`."""
    if raw(value).__class__ is Symbol:
        found.append(value)
        return Hole(len(found) - 1, False)
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__([_taken(v, found) for v in value])
    if value.__class__ is dict:
        return {k: _taken(v, found) for k, v in value.items()}
    return value


def _given(held: Any, values: Sequence[Any]) -> Any:
    """The arguments again, with values in their holes."""
    if held.__class__ is Hole:
        return values[held.position]
    if held.__class__ is tuple or held.__class__ is list:
        return held.__class__([_given(v, values) for v in held])
    if held.__class__ is dict:
        return {k: _given(v, values) for k, v in held.items()}
    return held


class _Whole:
    """A function of the arrays among its arguments, which answers with a tuple of arrays."""

    def __init__(self, function: Callable[..., Any], held: Any) -> None:
        self.function, self.held = function, held

    def answer(self, values: Sequence[Any]) -> Any:
        """What the function itself answers."""
        args, keywords = _given(self.held, values)
        return self.function(*args, **keywords)

    def __call__(self, *values: Any) -> Any:
        answers = flatten(self.answer(values))[0]
        plain = not any(isinstance(v, Tensor) for v in values)  # what it holds may be Tensors
        return tuple(map(raw, answers) if plain else answers)


def _one(
    function: Callable[..., Any], held: Any, found: list[Any], error: Exception
) -> Any:
    """The function as an operation of the graph."""
    made = _Whole(function, held)
    given, rebuild = _spaces(made, [raw(v) for v in found], error)
    kind = spaces.kind_of([raw(v) for v in found], {})
    cls = next((v._out for v in found if isinstance(v, Tensor)), None)
    return rebuild(Deferred(function.__name__, made, given)(found, kind, cls))


def _spaces(made: _Whole, symbols: Sequence[Symbol], error: Exception) -> Any:
    """The number of axes and the dtype of each output, by trials, and how they are put together.

    Lengths are not told: two trials may agree by chance. Raises what was raised at first where
    every trial is refused, and `SymbolError` where the number of outputs is a matter of lengths.
    """
    try:
        answers = spaces.trials(lambda g: made.answer(spaces.samples(symbols, g)), symbols)
    except Exception as refused:
        misuse = isinstance(error, PullbackError) and not isinstance(error, SymbolError)
        raise error if misuse else refused from None
    parts, rebuild = flatten(answers[0])
    counts = {len(flatten(a)[0]) for a in answers}
    others = flatten(answers[-1])[0]
    if len(counts) > 1:
        raise SymbolError(
            f"`{made.function.__name__}`", "lengths that are known, as they say what it answers",
            ", ".join(repr(s.shape) for s in symbols), "set_shape says what is known",
        ) from error
    sure = not any(spaces.is_rankless(s) for s in symbols)
    return [
        ((None,) * len(a.shape) if sure and len(a.shape) == len(b.shape) else None, a.dtype)
        for a, b in zip(map(_array, parts), map(_array, others), strict=True)
    ], rebuild


def _array(value: Any) -> Any:
    value = raw(value)
    return value if hasattr(value, "dtype") else adapters[float].asarray(value)


_symbols.later.whole = whole
