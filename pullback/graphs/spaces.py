"""Shapes and dtypes of what operations give, found when a graph is built.

Shapes come from rules (`shape_rules.py`), which know lengths that are not known (None), and refuse
what cannot fit. A dtype is that of an argument, or comes from a trial on arrays of two entries,
once for each kind of arguments. An operation without a rule, such as a user's, is tried as it is,
on ones, where every length is known; else on small arrays, which tell the number of axes and the
dtype, but no length: trials with some lengths may agree by chance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from ..arrays import adapters, dominant
from ..arrays.symbol import AnyShape, OpenShape, Symbol
from ..core.op import OPS
from ..core.symbols import symbols_in
from ..core.tensor import raw
from ..errors import ShapeError
from . import shape_rules

Space = tuple[Any, Any]
"""A shape, with None for what is not known (for all of it, too), and a dtype."""

_dtypes: dict[Any, tuple[Any, ...]] = {}
_TRIED = (4, 3, 2, 6, 1, 12)
"""Lengths to try: operations ask for three entries, for one, for lengths that others divide."""
_RANKS = (2, 1, 3, 4, 0)


def infer(op: Any, args: Sequence[Any], attrs: Any) -> tuple[type, list[Space]]:
    """The class of arrays that an operation will be computed on, and what each output will be.

    Raises what the operation raises for arguments that do not fit.
    """
    kind = kind_of(args, attrs)
    single = len(op.outputs) == 1
    if op.elementwise and single:
        return kind, [(elementwise_shape(args, op.name), _dtypes_of(op, args, attrs)[0])]
    rule = shape_rules.RULES.get(op.name)
    if rule is None:
        return kind, tried(op, args, attrs)
    plain = {k: raw(v) for k, v in attrs.items()}
    shape = rule(*args, **plain)
    if shape is shape_rules.TRY:
        return kind, tried(op, args, attrs)
    if op.name in shape_rules.SAME_DTYPE:
        return kind, [(shape, args[0].dtype)]
    if op.name in shape_rules.LIKE:
        other, count = shape_rules.LIKE[op.name]
        op, args, plain = OPS[other].op, args[:count], OPS[other].op.defaults
    dtypes = _dtypes_of(op, args, plain)
    return kind, list(zip([shape] if single else shape, dtypes, strict=True))


def kind_of(args: Sequence[Any], attrs: Any) -> type:
    """The class of arrays that the symbols among some arguments stand for."""
    kind: type | None = None
    found = [a for a in args if a.__class__ is Symbol]
    for symbol in found if not attrs else (*found, *symbols_in(attrs)):
        own = symbol.kind
        kind = own if kind is None or kind is own else dominant[kind, own]
    return numpy.ndarray if kind is None else kind


def is_rankless(symbol: Symbol) -> bool:
    """Whether not even the number of a symbol's axes is known."""
    return symbol.shape.__class__ is AnyShape


def elementwise_shape(args: Sequence[Any], who: str = "broadcasting") -> Any:
    """The shape that symbols and numbers broadcast to.

    That of an argument itself, where the others cannot stretch it.
    """
    shapes = [a.shape for a in args if a.__class__ is Symbol]
    first = shapes[0]
    if len(shapes) == 1 or (len(shapes) == 2 and first == shapes[1]):
        return first
    if not any(isinstance(s, OpenShape) for s in shapes):
        return broadcast(shapes, who)
    shapes = [s for s in shapes if isinstance(s, AnyShape) or tuple(s)]
    first = shapes[0]
    if all(s is first or s == first for s in shapes):
        return first
    if any(isinstance(s, AnyShape) for s in shapes):
        return None
    found = broadcast([tuple(s) for s in shapes], who)
    opened = [s for s in shapes if isinstance(s, OpenShape)]
    if all(s == opened[0] for s in opened) and tuple(opened[0]) == found:
        return opened[0]
    return found


def broadcast(
    shapes: Sequence[tuple[int | None, ...]], who: str = "broadcasting"
) -> tuple[int | None, ...]:
    """The shape that shapes with unknown lengths broadcast to.

    Raises `ShapeError` where known lengths do not fit.

    >>> broadcast([(None, 3), (5, 1), (None, 1, 1)])
    (None, 5, 3)
    """
    rank = max(map(len, shapes))
    found: list[int | None] = []
    for axis in range(-rank, 0):
        lengths = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        known = lengths - {None}
        if len(known) > 1:
            raise ShapeError(
                f"`{who}`", "shapes that broadcast", " and ".join(str(list(s)) for s in shapes)
            )
        found.append(known.pop() if known else None if lengths else 1)
    return tuple(found)


# Dtypes -------------------------------------------------------------------------------------


def weak_dtype(symbol: Symbol, number: Any) -> Any:
    """The dtype that a Python number has beside a symbol."""
    return (ones(symbol.kind, (1,), symbol.dtype) * number).dtype


def _dtypes_of(op: Any, args: Sequence[Any], attrs: Any) -> tuple[Any, ...]:
    """The dtypes of the outputs, by trying it on the least arrays that will do."""
    dtype = attrs.get("dtype") if attrs else None
    key = (
        op, tuple([
            (a.kind, a.dtype) if a.__class__ is Symbol else a.__class__ for a in args
        ]), None if dtype is None else str(dtype),
        tuple([getattr(v, "dtype", v.__class__) for v in attrs.values()]) if attrs else (),
    )
    found = _dtypes.get(key)
    if found is None:
        outputs = _least(op, args, attrs)
        found = _dtypes[key] = tuple([o.dtype for o in outputs])
    return found


def _least(op: Any, args: Sequence[Any], attrs: Any) -> Sequence[Any]:
    if op.elementwise:
        attrs = {k: v for k, v in attrs.items() if k in op.required}
        small = [ones(a.kind, (1,), a.dtype) if a.__class__ is Symbol else a for a in args]
        return _run(op, small, {k: _known(v, 1) for k, v in attrs.items()})
    given = shape_rules.LEAST.get(op.name, dict)(attrs)

    def run(guess: Guess) -> Any:
        places = iter(guess)
        small = [_small(a, *next(places)) if a.__class__ is Symbol else a for a in args]
        return _run(op, small, {k: _known(v, guess[0][0]) for k, v in given.items()})

    return trials(run, [a for a in args if a.__class__ is Symbol], 1)[0]


def _small(symbol: Symbol, length: int, rank: int) -> Any:
    rank = rank if is_rankless(symbol) else len(symbol.shape)
    return ones(symbol.kind, (length,) * rank, symbol.dtype)


def _run(op: Any, arrays: Sequence[Any], attrs: Any) -> Sequence[Any]:
    """The outputs of an operation's kernel, with floating-point warnings off."""
    kind: Any = None
    for a in arrays:
        kind = a.__class__ if kind is None else dominant[kind, a.__class__]
    with numpy.errstate(all="ignore"):
        answer = op.kernels[kind](*arrays, **attrs)
    return answer if len(op.outputs) > 1 else (answer,)


def ones(kind: type, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array to try an operation on: ones, of matrices the identity (which has an inverse).

    Integers are zeros, which are positions in everything.
    """
    adapter = adapters[kind]
    if shape_rules.is_integer(dtype):
        base: Any = numpy.zeros((), numpy.int64)
    elif len(shape) >= 2 and shape[-1] * shape[-2] <= 1 << 20:
        base = numpy.eye(shape[-2], shape[-1])
    else:
        base = numpy.ones(())
    return adapter.asarray(numpy.broadcast_to(base, shape), dtype)


# Trials -------------------------------------------------------------------------------------


Guess = Sequence[tuple[int, int]]
"""For each of some symbols a length and a rank, in place of those that are not known."""


def trials(run: Callable[[Guess], Any], symbols: Sequence[Symbol], enough: int = 2) -> list[Any]:
    """What a function answers for some guesses; where the rank is not known, for several ranks.

    Raises what it raised first, where it refuses all.
    """
    made: list[Any] = []
    refused: Exception | None = None
    for guesses in _guesses(symbols):
        for guess in guesses:
            try:
                with numpy.errstate(all="ignore"):
                    made.append(run(guess))
            except Exception as error:
                refused = refused or error
            if made and len(made) % enough == 0:
                break
    if made:
        return made
    for guess in _mixed(symbols):
        try:
            with numpy.errstate(all="ignore"):
                return [run(guess)]
        except Exception:
            continue
    assert refused is not None
    refused.add_note("on small arrays, as lengths are not known; set_shape says what is known")
    raise refused


def _guesses(symbols: Sequence[Symbol]) -> Iterator[Iterator[Guess]]:
    """The same length and rank for all: for each rank, some lengths."""
    known = {n for s in symbols if not is_rankless(s) for n in s.shape if n is not None}
    lengths = tuple(dict.fromkeys((*_TRIED, *sorted(known))))
    for rank in _RANKS if any(map(is_rankless, symbols)) else (0,):
        yield ([(n, rank)] * len(symbols) for n in lengths)


def _mixed(symbols: Sequence[Symbol]) -> Iterator[Guess]:
    """Another length, or rank, for each of a few symbols."""
    opened = [isinstance(s.shape, OpenShape) for s in symbols]
    if not 1 < sum(opened) <= 3:
        return
    ranks = [_RANKS if is_rankless(s) else (0,) for s in symbols]
    lengths = [_TRIED[:4] if some else (0,) for some in opened]
    for rank in itertools.product(*ranks):
        for length in itertools.product(*lengths):
            yield list(zip(length, rank, strict=True))


def samples(symbols: Sequence[Symbol], guess: Guess) -> list[Any]:
    """Arrays to try a function on in place of symbols."""
    return [
        ones(s.kind, (length,) * rank if is_rankless(s) else tuple(
            [length if n is None else n for n in s.shape]
        ), s.dtype)
        for s, (length, rank) in zip(symbols, guess, strict=True)
    ]


def tried(op: Any, args: Sequence[Any], attrs: Any) -> list[Space]:
    """What an operation gives, by running it: all of it where every length is known."""
    symbols = [a for a in args if a.__class__ is Symbol]

    def run(guess: Guess) -> Any:
        arrays = iter(samples(symbols, guess))
        length = guess[0][0] if guess else 1
        return _run(
            op, [next(arrays) if a.__class__ is Symbol else a for a in args],
            {k: _known(v, length) for k, v in attrs.items()},
        )

    if not any(isinstance(s.shape, OpenShape) for s in symbols) and not symbols_in(attrs):
        return [(tuple(o.shape), o.dtype) for o in run([(1, 0)] * len(symbols))]
    answers = trials(run, symbols)
    sure = not any(map(is_rankless, symbols))
    return [
        ((None,) * len(a.shape) if sure and len(a.shape) == len(b.shape) else None, a.dtype)
        for a, b in zip(answers[0], answers[-1], strict=True)
    ]


def _known(value: Any, length: int) -> Any:
    """An attribute with values in place of the symbols in it: constants' own, else lengths."""
    value = raw(value)
    if value.__class__ is Symbol:
        if value.operation.value is not None:
            return value.operation.value
        if is_rankless(value):
            return ones(value.kind, (), value.dtype)
        shape = tuple(length if n is None else n for n in value.shape)
        if shape_rules.is_integer(value.dtype):
            # A bound of a slice, or a length: 1. A position in an array: 0.
            number = numpy.full(shape, 1 if shape == () else 0)
            return number[()] if shape == () else adapters[value.kind].asarray(number, value.dtype)
        return ones(value.kind, shape, value.dtype)
    if isinstance(value, OpenShape):
        return tuple(length if n is None else n for n in value)
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__([_known(v, length) for v in value])
    if isinstance(value, slice):
        return slice(*[_known(v, length) for v in (value.start, value.stop, value.step)])
    return value


def size_of(shape: Any) -> int | None:
    """The number of entries of a shape, or None where a length is not known."""
    if isinstance(shape, AnyShape) or None in tuple(shape):
        return None
    return math.prod(shape)
