"""The shape, dtype and array class of each result, inferred when an operation joins a graph.

Shapes come from the rules in the blocks of operations (`kinds/shapes.py`). A dtype is that of an
argument, or is found by running the operation on small arrays, once per combination of argument
dtypes. An operation without a rule runs on ones of the given shapes; if lengths are unknown, it
runs on small arrays, which show the rank and the dtype but no length, since lengths may agree by
chance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy

from ..arrays import adapters, dominant
from ..arrays.symbol import OpenShape, Symbol
from ..core.tensor import raw
from ..kinds.shapes import elementwise, is_any, shapes
from ..kinds.symbols import symbols_in

Space = tuple[Any, Any]
"""A shape and a dtype. In a shape, None is an unknown length; None alone is an unknown shape."""

_dtypes: dict[Any, tuple[Any, ...]] = {}
_TRIED = (4, 3, 2, 6, 1, 12)
"""Lengths to try: some operations need three entries, one, or a length with many divisors."""
_RANKS = (2, 1, 3, 4, 0)


def infer(op: Any, args: Sequence[Any], attrs: Any) -> tuple[type, list[Space]]:
    """The class of arrays that an operation will run on, and the space of each output.

    Raises the operation's errors for arguments that do not fit.
    """
    kind = kind_of(args, attrs)
    if op.elementwise and len(op.outputs) == 1:
        return kind, [(elementwise(args, op.name), _dtypes_of(op, args, attrs)[0])]
    plain = {k: raw(v) for k, v in attrs.items()}
    found = shapes(op, args, plain)
    if found is None:
        return kind, by_trial(op, args, attrs)
    if op.dtype.__class__ is str:
        return kind, [(found[0], args[op.arguments.index(op.dtype)].dtype)]
    return kind, list(zip(found, _dtypes_of(op, args, plain), strict=True))


def kind_of(args: Sequence[Any], attrs: Any) -> type:
    """The class of arrays of the symbols in arguments and attributes."""
    kind: type | None = None
    found = symbols_among(args)
    for symbol in found if not attrs else (*found, *symbols_in(attrs)):
        own = symbol.kind
        kind = own if kind is None or kind is own else dominant[kind, own]
    return numpy.ndarray if kind is None else kind


# Dtypes -------------------------------------------------------------------------------------


def weak_dtype(symbol: Symbol, number: Any) -> Any:
    """The dtype of a Python number in an operation with a symbol."""
    return (ones(symbol.kind, (1,), symbol.dtype) * number).dtype


def _dtypes_of(op: Any, args: Sequence[Any], attrs: Any) -> tuple[Any, ...]:
    """The dtypes of the outputs: the operation runs on arrays that are as small as possible."""
    dtype = attrs.get("dtype") if attrs else None
    key = (
        op, tuple([
            (a.kind, a.dtype) if a.__class__ is Symbol else a.__class__ for a in args
        ]), None if dtype is None else str(dtype),
        tuple([getattr(v, "dtype", v.__class__) for v in attrs.values()]) if attrs else (),
    )
    found = _dtypes.get(key)
    if found is None:
        vectors = [ones(a.kind, (1,), a.dtype) if a.__class__ is Symbol else a for a in args]
        if op.elementwise:
            attrs = {k: v for k, v in attrs.items() if k in op.required}
            outputs = _outputs(op, vectors, attrs, 1)
        elif op.dtype is not None:
            with numpy.errstate(all="ignore"):
                outputs = (op.dtype(*vectors),)
        else:
            outputs = next(trials(
                lambda guess: _run(op, args, attrs, guess, small=True), symbols_among(args)
            ))
        found = _dtypes[key] = tuple([o.dtype for o in outputs])
    return found


# Trials -------------------------------------------------------------------------------------


Guess = Sequence[tuple[int, int]]
"""For each of some symbols a length and a rank, in place of the unknown ones."""


def by_trial(op: Any, args: Sequence[Any], attrs: Any) -> list[Space]:
    """Shape and dtype of each output, found by running the operation.

    Lengths are known only if those of all arguments are.
    """
    symbols = symbols_among(args)
    if not any(isinstance(s.shape, OpenShape) for s in symbols) and not symbols_in(attrs):
        return [(tuple(o.shape), o.dtype) for o in _run(op, args, attrs, [(1, 0)] * len(symbols))]
    results = list(trials(lambda guess: _run(op, args, attrs, guess), symbols))
    return common_spaces(results[0], results[-1], symbols)


def is_integer(dtype: Any) -> bool:
    """Whether a dtype, of any library, holds integers or booleans."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biu"
    return not (dtype.is_floating_point or dtype.is_complex)


def symbols_among(args: Sequence[Any]) -> list[Symbol]:
    """The symbols among some arguments."""
    return [a for a in args if a.__class__ is Symbol]


def common_spaces(
    first: Sequence[Any], last: Sequence[Any], symbols: Sequence[Symbol]
) -> list[Space]:
    """The rank, where it is certain, and the dtype of each result of two trials."""
    ranks_known = not is_any(*symbols)
    return [
        ((None,) * len(a.shape) if ranks_known and len(a.shape) == len(b.shape) else None, a.dtype)
        for a, b in zip(first, last, strict=True)
    ]


def trials(run: Callable[[Guess], Any], symbols: Sequence[Symbol]) -> Iterator[Any]:
    """The results of a function for some guesses; where ranks are unknown, for several ranks.

    Each guess has the same length and rank for all symbols; different ones only if no guess fits.

    Raises the first error of the function if it accepts no guess.
    """
    known = {n for s in symbols if not is_any(s) for n in s.shape if n is not None}
    lengths = tuple(dict.fromkeys((*_TRIED, *sorted(known))))
    refused: list[Exception] = []
    found = False

    def accepted(guesses: Iterable[Guess]) -> Iterator[Any]:
        for guess in guesses:
            try:
                with numpy.errstate(all="ignore"):
                    result = run(guess)
            except Exception as error:
                refused.append(error)
                continue
            yield result

    for rank in _RANKS if is_any(*symbols) else (0,):
        equal = ([(n, rank)] * len(symbols) for n in lengths)
        for result in itertools.islice(accepted(equal), 2):
            found = True
            yield result
    for result in () if found else itertools.islice(accepted(_mixed_guesses(symbols)), 1):
        found = True
        yield result
    if not found:
        refused[0].add_note(
            "on small arrays, as lengths are not known; set_shape says what is known"
        )
        raise refused[0]


def _mixed_guesses(symbols: Sequence[Symbol]) -> Iterator[Guess]:
    """Different lengths and ranks for two or three symbols."""
    opened = [isinstance(s.shape, OpenShape) for s in symbols]
    if not 1 < sum(opened) <= 3:
        return
    ranks = [_RANKS if is_any(s) else (0,) for s in symbols]
    lengths = [_TRIED[:4] if some else (0,) for some in opened]
    for rank in itertools.product(*ranks):
        for length in itertools.product(*lengths):
            yield list(zip(length, rank, strict=True))


def samples(symbols: Sequence[Symbol], guess: Guess, small: bool = False) -> list[Any]:
    """Arrays to run a function on instead of symbols; `small` replaces known lengths too."""
    return [
        ones(s.kind, (length,) * rank if is_any(s) else tuple(
            [length if small or n is None else n for n in s.shape]
        ), s.dtype)
        for s, (length, rank) in zip(symbols, guess, strict=True)
    ]


def ones(kind: type, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array to run an operation on: ones; identity matrices, which have an inverse.

    Integers are zeros, which are valid indices.
    """
    adapter = adapters[kind]
    if is_integer(dtype):
        base: Any = numpy.zeros((), numpy.int64)
    elif len(shape) >= 2 and shape[-1] * shape[-2] <= 1 << 20:
        base = numpy.eye(shape[-2], shape[-1])
    else:
        base = numpy.ones(())
    return adapter.asarray(numpy.broadcast_to(base, shape), dtype)


def _run(
    op: Any, args: Sequence[Any], attrs: Any, guess: Guess, small: bool = False
) -> Sequence[Any]:
    """The outputs of an operation on samples."""
    given = iter(samples(symbols_among(args), guess, small))
    arrays = [next(given) if a.__class__ is Symbol else a for a in args]
    return _outputs(op, arrays, attrs, guess[0][0] if guess else 1)


def _outputs(op: Any, arrays: Sequence[Any], attrs: Any, length: int) -> Sequence[Any]:
    """The outputs of an operation's kernel, without floating-point warnings."""
    kind: Any = None
    for a in arrays:
        kind = a.__class__ if kind is None else dominant[kind, a.__class__]
    with numpy.errstate(all="ignore"):
        answer = op.kernels[kind](*arrays, **{k: _sampled(v, length) for k, v in attrs.items()})
    return answer if len(op.outputs) > 1 else (answer,)


def _sampled(value: Any, length: int) -> Any:
    """An attribute with values instead of symbols: those of constants, else samples."""
    value = raw(value)
    if value.__class__ is Symbol:
        if value.operation.value is not None:
            return value.operation.value
        if value.shape == () and is_integer(value.dtype):
            return numpy.int64(1)  # a bound of a slice, or a length
        return samples([value], [(length, 0)])[0]
    if isinstance(value, OpenShape):
        return tuple(length if n is None else n for n in value)
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__([_sampled(v, length) for v in value])
    if isinstance(value, slice):
        return slice(*[_sampled(v, length) for v in (value.start, value.stop, value.step)])
    return value
