"""Shape inference: the rules of operations in graphs, where lengths may be unknown.

The block of an operation states its rule: with `elementwise`, `reduction` or `shape` of `op`, or as
a function with `@f.shaping`. Such a function takes the arguments, symbols among them, and the
attributes by keyword, and returns the shape of the result (a list of shapes for several outputs).
None in a shape is an unknown length; None instead of a shape is an unknown shape. It raises a
`PullbackError` for shapes that can never fit, and `UndecidedError` where the operation itself has
to decide, by a trial (`graphs/spaces.py`). If it reads a shape of unknown rank, the shape of the
result is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Integral
from typing import Any

from ..arrays.symbol import AnyShape, OpenShape, Symbol, UnknownRankError, may_be
from ..errors import ArgumentError, PositionError, RuleError, ShapeError, SymbolError

Shape = tuple[int | None, ...]


class UndecidedError(Exception):
    """A rule cannot tell the shape, or leaves an error message to the operation."""


def shapes(op: Any, args: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any] | None:
    """The shape of each output of an operation; None where no rule can tell."""
    rule = op.shape
    if rule is None:
        return None
    try:
        if callable(rule):
            shape = rule(*args, **attrs)
        elif rule == "reduced":
            shape = reduced(op.name, *args, **attrs)
        elif "->" in rule:
            shape = fitted(rule, op.name, *args)
        else:
            shape = _same(op.name, args[op.arguments.index(rule)], **attrs)
    except UndecidedError:
        return None
    except UnknownRankError:
        return [None] * len(op.outputs)
    return list(shape) if len(op.outputs) > 1 else [shape]


# Rules that several operations share --------------------------------------------------------


def elementwise(args: Sequence[Any], subject: str = "broadcasting") -> Any:
    """The shape that symbols and numbers broadcast to.

    It is an argument's own `OpenShape` where the other arguments cannot change it.
    """
    shapes = [a.shape for a in args if a.__class__ is Symbol]
    first = shapes[0]
    if len(shapes) == 1 or (len(shapes) == 2 and first == shapes[1]):
        return first
    if not any(isinstance(s, OpenShape) for s in shapes):
        return broadcast(shapes, subject)
    shapes = [s for s in shapes if isinstance(s, AnyShape) or tuple(s)]
    first = shapes[0]
    if all(s is first or s == first for s in shapes):
        return first
    if any(isinstance(s, AnyShape) for s in shapes):
        return None
    found = broadcast([tuple(s) for s in shapes], subject)
    opened = [s for s in shapes if isinstance(s, OpenShape)]
    if all(s == opened[0] for s in opened) and tuple(opened[0]) == found:
        return opened[0]
    return found


def _same(subject: str, x: Any, /, *, axis: Any = None, **attrs: Any) -> Any:
    """The shape of an argument, which must have the axis."""
    if axis is not None and _are_axes(axis) and not is_any(x):
        axes_of(axis, len(shape_of(x)), subject)
    return getattr(x, "shape", ())


def reduced(
    subject: str, x: Symbol, /, *, axis: Any = None, keepdims: bool = False, **attrs: Any
) -> Any:
    """The shape without the axes, or with length 1 on them."""
    if axis is None and not keepdims:
        return ()
    if not _are_axes(axis):
        raise UndecidedError
    own = shape_of(x)
    if not own and subject not in ("var", "std") and axis in (0, -1):
        return ()  # which array libraries allow
    gone = axes_of(axis, len(own), subject)
    if keepdims:
        return tuple([1 if i in gone else n for i, n in enumerate(own)])
    return tuple([n for i, n in enumerate(own) if i not in gone])


def _are_axes(axis: Any) -> bool:
    """Whether an attribute holds axes, and no symbols: an integer, several, or None."""
    parts = axis if isinstance(axis, (tuple, list)) else (axis,)
    return axis is None or all(isinstance(a, Integral) for a in parts)


def fitted(signature: str, subject: str, /, *arrays: Any) -> Any:
    """The shape that the notation of NumPy's generalised functions gives; a list for several.

    The axes in front of those named broadcast. A vector lacks the axes marked `?`. k is the
    smaller one of m and n. Raises `ShapeError` for lengths that do not fit, `RuleError` for a
    signature that does not fit the operation.

    >>> x, y = (Symbol(None, 0, list, shape, None) for shape in [(5, 2, 3), (3,)])
    >>> fitted("(m?,n),(n,p?)->(m?,p?)", "matmul", x, y)
    (5, 2)
    """
    takes, gives = _sides(signature, subject, len(arrays))
    lengths: dict[str, int | None] = {}
    stacks = []
    for names, x in zip(takes, arrays, strict=True):
        own = shape_of(x)
        if len(own) < len(names):
            names = [n for n in names if not n.endswith("?")]
        if len(own) < len(names):
            raise UndecidedError
        split = len(own) - len(names)
        stacks.append(own[:split])
        for name, length in zip(names, own[split:], strict=True):
            known = lengths.get(name)
            if None not in (known, length) and known != length:
                expected = f"dimensions that fit, as in {signature}"
                raise unfit(subject, expected, map(shape_of, arrays))
            lengths[name] = length if known is None else known
    stack = broadcast(stacks, subject)
    m, n = lengths.get("m"), lengths.get("n")
    lengths["k"] = None if m is None or n is None else min(m, n)
    found = [
        arrays[0].shape if len(takes) == 1 and names == takes[0]
        else (*stack, *[lengths[n] for n in names if n in lengths])
        for names in gives
    ]
    return found if len(found) > 1 else found[0]


@cache
def _sides(signature: str, subject: str, count: int) -> list[list[list[str]]]:
    """The names of the axes of each of `count` arguments, and of each output."""
    takes, gives = (
        [re.findall(r"\w+\??", names) for names in re.findall(r"\((.*?)\)", side)]
        for side in signature.split("->")
    )
    named = {name for names in takes for name in names} | {"k"}
    if len(takes) != count or any(not named.issuperset(names) for names in gives):
        raise RuleError(
            f"option `shape` of `{subject}`",
            f"axes of {count} arguments, and outputs of these axes and k", repr(signature),
            'write it as "(m,n),(n)->(m)"',
        )
    return [takes, gives]


# What rules use -----------------------------------------------------------------------------


def is_any(*values: Any) -> bool:
    """Whether one of some values is a symbol of unknown rank."""
    return any(v.__class__ is Symbol and v.shape.__class__ is AnyShape for v in values)


def shape_of(x: Any) -> Shape:
    """The shape of a symbol, an array or a number, as a tuple."""
    return tuple(getattr(x, "shape", ()))


def axes_of(axis: Any, rank: int, subject: str) -> tuple[int, ...]:
    """One or several axes, or None for all, as a tuple counted from the front.

    Raises `PositionError` for an axis out of range, `ArgumentError` for a repeated one.
    """
    if axis is None:
        return tuple(range(rank))
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for a in given:
        if not -rank <= a < rank:
            raise PositionError(
                f"argument `axis` of `{subject}`", f"an axis in [-{rank}, {rank})", str(a)
            )
    found = tuple(a + rank if a < 0 else a for a in given)
    if len(set(found)) != len(found):
        raise ArgumentError(f"argument `axis` of `{subject}`", "each axis once", str(axis))
    return found


def broadcast(given: Sequence[Shape], subject: str = "broadcasting") -> tuple[Any, ...]:
    """The shape that shapes with unknown lengths broadcast to.

    Raises `ShapeError` where known lengths do not fit.

    >>> broadcast([(None, 3), (5, 1), (None, 1, 1)])
    (None, 5, 3)
    """
    found: list[int | None] = []
    for axis in range(-max(map(len, given), default=0), 0):
        lengths = {s[axis] for s in given if len(s) >= -axis} - {1}
        known = lengths - {None}
        if len(known) > 1:
            raise unfit(subject, "shapes that broadcast", given)
        found.append(known.pop() if known else None if lengths else 1)
    return tuple(found)


def merged(given: Sequence[Any], subject: str) -> Shape:
    """All that is known of shapes that must be equal.

    Raises `ShapeError` where they cannot be.
    """
    if not all(may_be(a, b) for i, a in enumerate(given) for b in given[:i]):
        raise unfit(subject, "equal shapes", given)
    return tuple([next((n for n in c if n is not None), None) for c in zip(*given, strict=True)])


def unfit(subject: str, expected: str, given: Any) -> ShapeError:
    """The error for shapes that do not fit each other."""
    return ShapeError(f"`{subject}`", expected, " and ".join(str(tuple(s)) for s in given))


def changed(x: Symbol, axis: int, length: Callable[[int], int | None], subject: str) -> Shape:
    """The shape of a symbol with a function of the length on one axis, if that is known."""
    own = list(x.shape)
    (axis,) = axes_of(axis, len(own), subject)
    own[axis] = None if own[axis] is None else length(own[axis])
    return tuple(own)


def size_of(shape: Any) -> int | None:
    """The number of entries of a shape, or None where a length is unknown."""
    if isinstance(shape, AnyShape) or None in tuple(shape):
        return None
    return math.prod(shape)


def requested(shape: Any) -> Any:
    """The shape that an attribute asks for.

    Raises `SymbolError` for a length that is None, which has no meaning when the operation runs.
    """
    if shape.__class__ is Symbol:
        if shape.operation.value is None:
            known = not is_any(shape) and len(shape.shape) == 1 and shape.shape[0] is not None
            return (None,) * shape.shape[0] if known else None
        shape = shape.operation.value
    if isinstance(shape, OpenShape):
        return shape
    return tuple(map(_length, shape if hasattr(shape, "__iter__") else (shape,)))


def _length(n: Any) -> int | None:
    """A length in a requested shape; None for a symbol that is no constant."""
    if n is None:
        raise SymbolError(
            "a length of a shape", "a number, -1, or a tensor of one", "None: it is not known yet",
            "use pullback.shape(x), which the graph computes",
        )
    if n.__class__ is Symbol:
        return None if n.operation.value is None else int(n.operation.value)
    return int(n)
