"""Functions that need lengths: one operation where a graph does not know the lengths.

Such a function (`kinds.symbols.whole`) first runs on the symbols, since the lengths that it needs
are often known. If not, the operations that it has appended are removed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arrays import adapters
from ..arrays.symbol import OpenShape, Symbol
from ..core.tensor import Tensor, raw
from ..errors import PullbackError, SymbolError
from ..kinds import symbols as _symbols
from ..trees import flatten
from . import spaces
from .deferred_rules import Deferred, put


def whole(function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """The result of a function of symbols: of its operations, or of itself as one operation."""
    held = _Held(function, *flatten((args, keywords)))
    given = [raw(v) for v in held.tensors]
    graph = _symbols.graph_of(*given)
    start = len(graph.operations)
    try:
        return function(*args, **keywords)
    except (TypeError, PullbackError) as error:
        opened = any(isinstance(s.shape, OpenShape) for s in given)
        if not opened and not isinstance(error, SymbolError):
            raise
        graph.rewind(start)
        results, rebuild = _spaces(held, given, error)
    cls = next((v._out for v in held.tensors if isinstance(v, Tensor)), None)
    kind = spaces.kind_of(given, {})
    return rebuild(Deferred(function.__name__, held, results)(held.tensors, kind, cls))


class _Held:
    """A function of the symbols among its arguments, with its other arguments fixed.

    It returns a tuple of arrays, or of Tensors if it is called with some.
    """

    def __init__(
        self, function: Callable[..., Any], leaves: Sequence[Any], rebuild: Callable[..., Any]
    ) -> None:
        self.function, self.leaves, self.rebuild = function, leaves, rebuild
        self.places = [i for i, v in enumerate(leaves) if raw(v).__class__ is Symbol]
        self.tensors = [leaves[i] for i in self.places]

    def nested(self, values: Sequence[Any]) -> Any:
        """The function's own result."""
        args, keywords = self.rebuild(put(self.leaves, self.places, values))
        return self.function(*args, **keywords)

    def __call__(self, *values: Any) -> Any:
        results = flatten(self.nested(values))[0]
        plain = not any(isinstance(v, Tensor) for v in values)  # fixed arguments may be Tensors
        return tuple(map(raw, results) if plain else results)


def _spaces(held: _Held, symbols: Sequence[Symbol], error: Exception) -> Any:
    """Rank and dtype of each output, found by trials, and the function that nests the outputs.

    Lengths stay unknown, since those of two trials may agree by chance. Raises the first error if
    every trial fails, and `SymbolError` if the number of outputs depends on lengths.
    """
    try:
        trials = list(spaces.trials(
            lambda guess: held.nested(spaces.samples(symbols, guess)), symbols
        ))
    except Exception as refused:
        misuse = isinstance(error, PullbackError) and not isinstance(error, SymbolError)
        raise error if misuse else refused from None
    results = [list(map(_array, flatten(trial)[0])) for trial in trials]
    if len(set(map(len, results))) > 1:
        raise SymbolError(
            f"`{held.function.__name__}`", "known lengths, since they determine the outputs",
            ", ".join(repr(s.shape) for s in symbols), "use set_shape",
        ) from error
    return spaces.common_spaces(results[0], results[-1], symbols), flatten(trials[0])[1]


def _array(value: Any) -> Any:
    value = raw(value)
    return value if hasattr(value, "dtype") else adapters[float].asarray(value)


_symbols.later.whole = whole
