"""Shapes of results while a graph is built, where lengths may be unknown.

A rule takes the name and the arguments of an operation, symbols among them, and returns the shape
of the result (a list of shapes for several outputs). None in a shape is an unknown length; None
instead of a shape is an unknown shape. A rule raises a `PullbackError` for shapes that can never
fit, and `UndecidedError` where the operation itself has to decide (see `spaces.by_trial`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..arrays.symbol import AnyShape, OpenShape, Symbol, may_be
from ..errors import ArgumentError, PositionError, ShapeError, SymbolError


class UndecidedError(Exception):
    """A rule cannot tell the shape, or leaves an error message to the operation."""


class ShapeRule(NamedTuple):
    """How the shape and the dtype of an operation's results are found.

    function     name, arguments and attributes of the operation -> shape, or list of shapes
    rankless     the function accepts symbols of unknown rank; otherwise the result's is unknown too
    same_dtype   the result has the dtype of the first argument
    like         the result has the dtype of this operation on the first `count` arguments
    trial        attributes that replace the given ones when the operation runs on small arrays
    """

    function: Callable[..., Any]
    rankless: bool = False
    same_dtype: bool = False
    like: tuple[str, int] | None = None
    trial: Mapping[str, Any] = {}


RULES: dict[str, ShapeRule] = {}
"""Name of an operation -> its shape rule."""


def rule(*names: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the shape rule of operations, with options of `ShapeRule`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(names, ShapeRule(function, **options)))
        return function

    return register


def shapes(op: Any, args: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any] | None:
    """The shape of each output of an operation; None where no rule can tell."""
    found = RULES.get(op.name)
    if found is None:
        return None
    if not found.rankless and is_any(*args):
        return [None] * len(op.outputs)
    try:
        shape = found.function(op.name, *args, **attrs)
    except UndecidedError:
        return None
    return list(shape) if len(op.outputs) > 1 else [shape]


# What rules use -----------------------------------------------------------------------------


def is_integer(dtype: Any) -> bool:
    """Whether a dtype, of any library, holds integers or booleans."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biu"
    return not (dtype.is_floating_point or dtype.is_complex)


def is_any(*values: Any) -> bool:
    """Whether one of some values is a symbol of unknown rank."""
    return any(v.__class__ is Symbol and v.shape.__class__ is AnyShape for v in values)


def shape_of(x: Any) -> tuple[int | None, ...]:
    """The shape of a symbol or a number, as a tuple."""
    return tuple(x.shape) if x.__class__ is Symbol else ()


def axes_of(axis: Any, rank: int, subject: str) -> tuple[int, ...]:
    """Axes as non-negative numbers; None means all axes.

    Raises `PositionError` for an axis out of range, `ArgumentError` for a repeated one.
    """
    axes = range(rank) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if not -rank <= a < rank:
            raise PositionError(
                f"argument `axis` of `{subject}`", f"an axis in [-{rank}, {rank})", str(a)
            )
    found = tuple([a % rank for a in axes])
    if len(set(found)) != len(found):
        raise ArgumentError(f"argument `axis` of `{subject}`", "each axis once", str(axis))
    return found


def is_plain(value: Any) -> bool:
    """Whether an attribute holds no symbols."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return not any(p.__class__ is Symbol or isinstance(p, OpenShape) for p in (value, *parts))


def broadcast(
    given: Sequence[tuple[int | None, ...]], subject: str = "broadcasting"
) -> tuple[int | None, ...]:
    """The shape that shapes with unknown lengths broadcast to.

    Raises `ShapeError` where known lengths do not fit.

    >>> broadcast([(None, 3), (5, 1), (None, 1, 1)])
    (None, 5, 3)
    """
    found: list[int | None] = []
    for axis in range(-max(map(len, given)), 0):
        lengths = {s[axis] for s in given if len(s) >= -axis} - {1}
        known = lengths - {None}
        if len(known) > 1:
            raise unfit(subject, "shapes that broadcast", given)
        found.append(known.pop() if known else None if lengths else 1)
    return tuple(found)


def merged(given: Sequence[Any], subject: str) -> tuple[int | None, ...]:
    """All that is known of shapes that must be equal.

    Raises `ShapeError` where they cannot be.
    """
    if not all(may_be(a, b) for i, a in enumerate(given) for b in given[:i]):
        raise unfit(subject, "equal shapes", given)
    return tuple([next((n for n in c if n is not None), None) for c in zip(*given, strict=True)])


def unfit(subject: str, expected: str, given: Sequence[Any]) -> ShapeError:
    """The error for shapes that do not fit each other."""
    return ShapeError(f"`{subject}`", expected, " and ".join(str(list(s)) for s in given))


def changed(
    x: Symbol, axis: int, length: Callable[[int], int | None], subject: str
) -> tuple[int | None, ...]:
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


# The same shape -----------------------------------------------------------------------------


def same(subject: str, x: Any, /, *args: Any, axis: Any = None, **attrs: Any) -> Any:
    """The shape of the first argument."""
    if axis is not None and is_plain(axis) and not is_any(x):
        axes_of(axis, len(x.shape), subject)
    return x.shape if x.__class__ is Symbol else ()


def second(subject: str, x: Any, y: Any, /, *args: Any, **attrs: Any) -> Any:
    """The shape of the second argument."""
    return same(subject, y)


rule("to_device", "clip_gradient", "put_view", "flip", "roll", "sort", rankless=True,
     same_dtype=True)(same)
rule("empty_like", "full_like", "ones_like", "zeros_like", "astype", "isin", "normalise",
     "softmax", "log_softmax", "argsort", "fftn", "ifftn", rankless=True)(same)
rule("cross_entropy_slope", rankless=True, like=("mean", 1))(same)
rule("searchsorted", rankless=True)(second)
rule("max_pool_scatter", rankless=True, same_dtype=True)(second)


# Reductions ---------------------------------------------------------------------------------


@rule("sum", "mean", "max", "min", "prod", "var", "std", "all", "any", "count_nonzero",
      "logsumexp", "argmax", "argmin", "vector_norm", rankless=True)
def reduced(
    subject: str, x: Symbol, /, *, axis: Any = None, keepdims: bool = False, **attrs: Any
) -> Any:
    """The shape without the axes, or with length 1 on them."""
    if not is_plain(axis):
        raise UndecidedError
    if is_any(x):
        return () if axis is None and not keepdims else None
    own = tuple(x.shape)
    gone = axes_of(axis, len(own), subject)
    if keepdims:
        return tuple([1 if i in gone else n for i, n in enumerate(own)])
    return tuple([n for i, n in enumerate(own) if i not in gone])


@rule("cumulative_sum", "cumulative_prod", rankless=True)
def cumulative(
    subject: str, x: Symbol, /, *, axis: Any = None, include_initial: bool = False, **attrs: Any
) -> Any:
    """The argument's shape; one longer with the initial value."""
    if is_any(x):
        return None if include_initial else x.shape
    if axis is None and len(x.shape) != 1:
        raise UndecidedError
    longer = changed(x, axis or 0, lambda n: n + 1, subject)
    return longer if include_initial else x.shape


@rule("cross_entropy", rankless=True, like=("mean", 1))
def cross_entropy(
    subject: str, x: Symbol, t: Any, /, *, axis: int, reduction: str, **attrs: Any
) -> Any:
    """A number, or the shape without the axis of the classes."""
    less = reduced(subject, x, axis=axis)
    fits = less if is_integer(t.dtype) else x.shape
    if not is_any(x, t) and not may_be(tuple(fits), tuple(t.shape)):
        raise UndecidedError
    return less if reduction == "none" else ()


# Other shapes -------------------------------------------------------------------------------


@rule("shape", rankless=True)
def shape(subject: str, x: Any, /) -> Any:
    """A vector with one entry per axis."""
    return (None,) if is_any(x) else (len(shape_of(x)),)


@rule("scatter", "scatter_view", rankless=True, same_dtype=True)
def requested(subject: str, x: Any, /, *, shape: Any, **attrs: Any) -> Any:
    """The shape that an attribute asks for."""
    if shape.__class__ is Symbol:
        if shape.operation.value is None:
            known = not is_any(shape) and len(shape.shape) == 1 and shape.shape[0] is not None
            return (None,) * shape.shape[0] if known else None
        shape = shape.operation.value
    if isinstance(shape, OpenShape):
        return shape
    return tuple(map(_length, shape if hasattr(shape, "__iter__") else (shape,)))


def _length(n: Any) -> int | None:
    """A length in a requested shape; None for a symbol that is no constant.

    Raises `SymbolError` for None, which has no meaning when the operation runs.
    """
    if n is None:
        raise SymbolError(
            "a length of a shape", "a number, -1, or a tensor of one", "None: it is not known yet",
            "use pullback.shape(x), which the graph computes",
        )
    if n.__class__ is Symbol:
        return None if n.operation.value is None else int(n.operation.value)
    return int(n)


@rule("reshape", rankless=True, same_dtype=True)
def reshape(subject: str, x: Symbol, /, *, shape: Any, **attrs: Any) -> Any:
    """The requested shape, with the length for its -1 where it is known."""
    wanted = requested(subject, x, shape=shape)
    if wanted is None or isinstance(wanted, OpenShape):
        return wanted
    total = size_of(x.shape)
    if total is None or None in wanted:
        return tuple([None if n == -1 else n for n in wanted])
    rest = math.prod([n for n in wanted if n != -1])
    if wanted.count(-1) == 1 and rest and total % rest == 0:
        return tuple([total // rest if n == -1 else n for n in wanted])
    if -1 in wanted or rest != total:
        raise ShapeError(
            f"`{subject}`", f"{total} entries, as of {list(x.shape)}", f"{list(wanted)}"
        )
    return wanted


@rule("broadcast_to", rankless=True, same_dtype=True)
def broadcast_to(subject: str, x: Any, /, *, shape: Any, **attrs: Any) -> Any:
    """The requested shape, if the argument broadcasts to it."""
    wanted = requested(subject, x, shape=shape)
    if wanted is None or is_any(x) or wanted.__class__ is AnyShape:
        return wanted
    own, whole = shape_of(x), tuple(wanted)
    pairs = zip(reversed(own), reversed(whole), strict=False)
    if len(own) > len(whole) or any(n not in (m, 1, None) and m is not None for n, m in pairs):
        raise ShapeError(
            f"`{subject}`", f"a shape that broadcasts to {list(whole)}", f"{list(own)}"
        )
    return wanted


@rule("expand_dims", same_dtype=True)
def expand_dims(subject: str, x: Symbol, /, *, axis: Any) -> Any:
    """Length 1 at the new axes."""
    rank = len(x.shape) + (1 if isinstance(axis, int) else len(axis))
    new = axes_of(axis, rank, subject)
    own = iter(x.shape)
    return tuple([1 if i in new else next(own) for i in range(rank)])


@rule("squeeze", same_dtype=True)
def squeeze(subject: str, x: Symbol, /, *, axis: Any) -> Any:
    """The shape without axes, whose lengths must be 1."""
    gone = axes_of(axis, len(x.shape), subject)
    if any(x.shape[a] not in (1, None) for a in gone):
        raise ShapeError(
            f"`{subject}`", "axes of length 1", f"axis {axis} of shape {list(x.shape)}"
        )
    return tuple([n for i, n in enumerate(x.shape) if i not in gone])


@rule("permute_dims", rankless=True, same_dtype=True)
def permute_dims(subject: str, x: Symbol, /, *, axes: Any) -> Any:
    """The lengths in another order."""
    own = (None,) * len(axes) if is_any(x) else tuple(x.shape)
    order = axes_of(tuple(axes), len(own), subject)
    if len(order) != len(own):
        raise ShapeError(f"`{subject}`", f"each of {len(own)} axes once", f"{tuple(axes)}")
    return tuple([own[a] for a in order])


@rule("tile", same_dtype=True)
def tile(subject: str, x: Symbol, /, *, repetitions: Any) -> Any:
    """Each length times its repetitions, both padded with 1 in front."""
    rank = max(len(x.shape), len(repetitions))
    own, times = ((*(1,) * (rank - len(s)), *s) for s in (x.shape, repetitions))
    return tuple([None if n is None else n * k for n, k in zip(own, times, strict=True)])


@rule("repeat", rankless=True, same_dtype=True)
def repeat(subject: str, x: Symbol, /, *, repeats: int, axis: Any = None) -> Any:
    """One length times the repeats; a vector where no axis is named."""
    if axis is None:
        total = size_of(x.shape)
        return (None if total is None else total * repeats,)
    return None if is_any(x) else changed(x, axis, lambda n: n * repeats, subject)


@rule("pad", rankless=True, same_dtype=True)
def pad(subject: str, x: Symbol, /, *, widths: Any, **attrs: Any) -> Any:
    """Each length plus its padding."""
    own = (None,) * len(widths) if is_any(x) else x.shape
    return tuple([None if n is None else n + sum(w) for n, w in zip(own, widths, strict=True)])


@rule("concat", rankless=True)
def concat(subject: str, /, *arrays: Any, axis: int, **attrs: Any) -> Any:
    """The sum of the lengths along an axis."""
    known = [shape_of(a) for a in arrays if not is_any(a)]
    if not known:
        return None
    lengths = [s[axis] for s in known]
    whole = None if None in lengths or len(known) < len(arrays) else sum(lengths)  # type: ignore[arg-type]
    return merged([(*s[:axis], whole, *s[axis + 1 :]) for s in known], subject)


@rule("stack", rankless=True)
def stack(subject: str, /, *arrays: Any, axis: int) -> Any:
    """A new axis with one entry per array."""
    known = [shape_of(a) for a in arrays if not is_any(a)]
    if not known:
        return None
    own = merged(known, subject)
    return (*own[:axis], len(arrays), *own[axis:])
