"""Shapes of what operations give, by rules: lengths may be unknown, and nothing is computed.

A rule takes the arguments of its operation, symbols among them, and answers with a shape (a list
of them, for several outputs): None in it for a length that is not known, None for all of it. It
refuses what cannot fit, in the operation's name. `TRY` says that a trial is to decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..arrays.symbol import AnyShape, OpenShape, Symbol
from ..errors import ArgumentError, PositionError, ShapeError, SymbolError

TRY: Final = object()
RULES: dict[str, Callable[..., Any]] = {}
"""Operation's name -> its rule."""
SAME_DTYPE: set[str] = set()
"""Operations that give what they are given first, in another shape: in the dtype of that."""
LIKE: dict[str, tuple[str, int]] = {}
"""Operation's name -> another one, of so many of its arguments, that gives the same dtype."""
LEAST: dict[str, Callable[[Any], Any]] = {}
"""Operation's name -> the attributes with which it is tried on small arrays, for its dtype."""


def rule(*names: str, same: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the rule of operations; `same`: they keep the first argument's dtype."""

    def take(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = function
        if same:
            SAME_DTYPE.update(names)
        return function

    return take


def is_integer(dtype: Any) -> bool:
    """Whether a dtype, of any library, holds integers or booleans."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biu"
    return not (dtype.is_floating_point or dtype.is_complex)


def is_any(*arrays: Any) -> bool:
    """Whether one of some symbols is of unknown rank."""
    return any(a.__class__ is Symbol and a.shape.__class__ is AnyShape for a in arrays)


def shape_of(x: Any) -> tuple[int | None, ...]:
    """The shape of a symbol or a number, as a tuple."""
    return tuple(x.shape) if x.__class__ is Symbol else ()


def axes_of(axis: Any, rank: int, who: str) -> tuple[int, ...]:
    """Axes counted from the front; all for None. Raises `PositionError`, `ArgumentError`."""
    axes = range(rank) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if not -rank <= a < rank:
            raise PositionError(f"argument `axis` of `{who}`", f"an axis of {rank}", str(a))
    found = tuple([a % rank for a in axes])
    if len(set(found)) != len(found):
        raise ArgumentError(f"argument `axis` of `{who}`", "each axis once", str(axis))
    return found


def is_plain(value: Any) -> bool:
    """Whether an attribute holds no symbols."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return not any(p.__class__ is Symbol or isinstance(p, OpenShape) for p in (value, *parts))


def merged(shapes: Sequence[Any], who: str) -> tuple[int | None, ...]:
    """Shapes that are to be equal as one that says all that is known.

    Raises `ShapeError` where they are not.
    """
    ranks = {len(s) for s in shapes}
    columns = list(zip(*shapes, strict=True)) if len(ranks) == 1 else []
    if len(ranks) > 1 or any(len(set(c) - {None}) > 1 for c in columns):
        raise ShapeError(f"`{who}`", "equal shapes", " and ".join(str(list(s)) for s in shapes))
    return tuple([next((n for n in c if n is not None), None) for c in columns])


# The same shape -----------------------------------------------------------------------------


@rule("empty_like", "full_like", "ones_like", "zeros_like", "astype", "isin")
def first(x: Any, *args: Any, **attrs: Any) -> Any:
    """The first argument's."""
    return x.shape if x.__class__ is Symbol else ()


rule("to_device", "clip_gradient", "put_view", same=True)(first)
rule("normalise")(first)


def _along(name: str) -> Callable[..., Any]:
    def shape(x: Symbol, *args: Any, axis: Any = None, **attrs: Any) -> Any:
        if is_plain(axis) and not is_any(x):
            axes_of(axis, len(x.shape), name)
        return x.shape

    return shape


for _name in ("flip", "roll", "sort"):
    rule(_name, same=True)(_along(_name))
for _name in ("softmax", "log_softmax", "argsort", "cross_entropy_slope"):
    rule(_name)(_along(_name))


@rule("tril", "triu", same=True)
def matrices(x: Symbol, *args: Any, **attrs: Any) -> Any:
    """The first argument's, if it is one of matrices."""
    return TRY if not is_any(x) and len(x.shape) < 2 else x.shape


@rule("cholesky", "inv", "expm", "adjugate", "adjugate_along")
def square_matrices(x: Symbol, *args: Any, **attrs: Any) -> Any:
    """The first argument's, if it is one of square matrices."""
    return x.shape if are_square(x) else TRY


def are_square(x: Symbol) -> bool:
    """Whether a symbol may be one of square matrices; if not, its kernel words the error."""
    if is_any(x):
        return True
    own = tuple(x.shape)
    return len(own) > 1 and (None in own[-2:] or own[-1] == own[-2])


# Reductions ---------------------------------------------------------------------------------


def _reduction(name: str) -> Callable[..., Any]:
    def shape(x: Symbol, /, *, axis: Any = None, keepdims: bool = False, **attrs: Any) -> Any:
        if not is_plain(axis):
            return TRY
        if is_any(x):
            return () if axis is None and not keepdims else None
        own = tuple(x.shape)
        gone = axes_of(axis, len(own), name)
        if keepdims:
            return tuple([1 if i in gone else n for i, n in enumerate(own)])
        return tuple([n for i, n in enumerate(own) if i not in gone])

    return shape


for _name in (
    "sum", "mean", "max", "min", "prod", "var", "std", "all", "any", "count_nonzero", "logsumexp",
    "argmax", "argmin", "vector_norm",
):
    RULES[_name] = _reduction(_name)


@rule("cumulative_sum", "cumulative_prod")
def cumulative(x: Symbol, /, *, axis: Any = None, include_initial: bool = False, **a: Any) -> Any:
    """The argument's, one longer with the initial value."""
    if is_any(x):
        return None if include_initial else x.shape
    own = list(x.shape)
    if axis is None and len(own) != 1:
        return TRY  # an error, which the kernel words
    (axis,) = axes_of(0 if axis is None else axis, len(own), "cumulative_sum")
    own[axis] = None if own[axis] is None else own[axis] + 1
    return tuple(own) if include_initial else x.shape


@rule("cross_entropy")
def cross_entropy(x: Symbol, t: Any, /, *, axis: int, reduction: str, **attrs: Any) -> Any:
    """A number, or the shape without the axis of the classes."""
    less = RULES["sum"](x, axis=axis)
    fits = less if is_integer(t.dtype) else x.shape
    if not is_any(x, t) and None not in (*x.shape, *t.shape) and tuple(t.shape) != tuple(fits):
        return TRY  # an error, which the kernel words
    return less if reduction == "none" else ()


LIKE["cross_entropy"] = LIKE["cross_entropy_slope"] = ("mean", 1)


# Other shapes -------------------------------------------------------------------------------


@rule("reshape", same=True)
def reshape(x: Symbol, /, *, shape: Any, **attrs: Any) -> Any:
    """The shape asked for, with its -1 where that can be told."""
    from .spaces import size_of

    if shape.__class__ is Symbol:
        if shape.operation.value is None:
            return of_length(shape)
        shape = shape.operation.value
    if isinstance(shape, OpenShape):
        return shape
    wanted = [entry(n) for n in (shape if hasattr(shape, "__iter__") else (shape,))]
    total = size_of(x.shape)
    rest = math.prod([n for n in wanted if n is not None and n != -1])
    if None in wanted or (total is None and -1 in wanted):
        return tuple([None if n == -1 else n for n in wanted])
    if total is None:
        return tuple(wanted)
    if -1 in wanted and wanted.count(-1) == 1 and rest and total % rest == 0:
        return tuple([total // rest if n == -1 else n for n in wanted])
    if -1 in wanted or rest != total:
        raise ShapeError("`reshape`", f"{total} entries, as of {list(x.shape)}", f"{wanted}")
    return tuple(wanted)


def of_length(shape: Symbol) -> Any:
    """What a shape that is computed is known to be: its number of axes, if that."""
    if is_any(shape) or len(shape.shape) != 1 or shape.shape[0] is None:
        return None
    return (None,) * shape.shape[0]


def entry(n: Any) -> int | None:
    """A length in a shape: known, or that of a symbol that is no constant.

    Raises `SymbolError` for None, which says nothing to the operation when it runs.
    """
    if n is None:
        raise SymbolError(
            "a length of a shape", "a number, -1, or a tensor of one", "None: it is not known yet",
            "use pullback.shape(x), which the graph computes",
        )
    if n.__class__ is Symbol:
        return None if n.operation.value is None else int(n.operation.value)
    return int(n)


@rule("broadcast_to", same=True)
def broadcast_to(x: Symbol, /, *, shape: Any, **attrs: Any) -> Any:
    """The shape asked for, if the argument's fits."""
    wanted = to_shape(x, shape=shape)
    if wanted is None or is_any(x) or wanted.__class__ is AnyShape:
        return wanted
    own, whole = tuple(x.shape), tuple(wanted)
    pairs = zip(reversed(own), reversed(whole), strict=False)
    if len(own) > len(whole) or any(n not in (m, 1, None) and m is not None for n, m in pairs):
        raise ShapeError("`broadcast_to`", f"a shape that broadcasts to {list(whole)}", f"{own}")
    return wanted


@rule("scatter", "scatter_view", same=True)
def to_shape(x: Symbol, /, *, shape: Any, **attrs: Any) -> Any:
    """The shape asked for."""
    if isinstance(shape, OpenShape):
        return shape
    if shape.__class__ is Symbol:
        known = shape.operation.value
        return of_length(shape) if known is None else tuple(map(int, known))
    return tuple(map(entry, shape if hasattr(shape, "__iter__") else (shape,)))


@rule("shape")
def shape(x: Any, /) -> Any:
    """A vector with an entry for each axis."""
    return (None,) if is_any(x) else (len(shape_of(x)),)


@rule("expand_dims", same=True)
def expand_dims(x: Symbol, /, *, axis: Any) -> Any:
    """Axes of length 1 put in."""
    if is_any(x):
        return None
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    rank = len(x.shape) + len(places)
    new = axes_of(places, rank, "expand_dims")
    own = iter(x.shape)
    return tuple([1 if i in new else next(own) for i in range(rank)])


@rule("squeeze", same=True)
def squeeze(x: Symbol, /, *, axis: Any) -> Any:
    """Axes taken out, which must be of length 1 where that is known."""
    if is_any(x):
        return None
    gone = axes_of(axis, len(x.shape), "squeeze")
    if any(x.shape[a] not in (1, None) for a in gone):
        raise ShapeError("`squeeze`", "axes of length 1", f"axis {axis} of shape {list(x.shape)}")
    return tuple([n for i, n in enumerate(x.shape) if i not in gone])


@rule("permute_dims", same=True)
def permute_dims(x: Symbol, /, *, axes: Any) -> Any:
    """The lengths in another order."""
    if is_any(x):
        return (None,) * len(axes)
    own = tuple(x.shape)
    order = axes_of(tuple(axes), len(own), "permute_dims")
    if len(order) != len(own):
        raise ShapeError("`permute_dims`", f"each of {len(own)} axes once", f"{tuple(axes)}")
    return tuple([own[a] for a in order])


@rule("matrix_transpose", same=True)
def matrix_transpose(x: Symbol, /) -> Any:
    """The last two lengths exchanged."""
    if is_any(x):
        return None
    own = tuple(x.shape)
    return TRY if len(own) < 2 else (*own[:-2], own[-1], own[-2])


@rule("tile", same=True)
def tile(x: Symbol, /, *, repetitions: Any) -> Any:
    """Each length so many times."""
    if is_any(x):
        return None
    own, times = tuple(x.shape), tuple(repetitions)
    rank = max(len(own), len(times))
    pairs = zip((1,) * (rank - len(own)) + own, (1,) * (rank - len(times)) + times, strict=True)
    return tuple([None if n is None else n * k for n, k in pairs])


@rule("repeat", same=True)
def repeat(x: Symbol, /, *, repeats: int, axis: Any = None) -> Any:
    """One length so many times."""
    from .spaces import size_of

    if axis is None:
        total = size_of(x.shape)
        return (None if total is None else total * repeats,)
    if is_any(x):
        return None
    own = list(x.shape)
    (axis,) = axes_of(axis, len(own), "repeat")
    own[axis] = None if own[axis] is None else own[axis] * repeats
    return tuple(own)


@rule("concat")
def concat(*arrays: Symbol, axis: int, **attrs: Any) -> Any:
    """The sum of the lengths along an axis."""
    if all(map(is_any, arrays)):
        return None
    shapes = [shape_of(a) for a in arrays if not is_any(a)]
    parts = [s[axis] for s in shapes]
    known = [n for n in parts if n is not None]
    whole = None if len(known) < len(arrays) else sum(known)
    return merged([(*s[:axis], whole, *s[axis + 1 :]) for s in shapes], "concat")


@rule("stack")
def stack(*arrays: Symbol, axis: int) -> Any:
    """A new axis as long as there are arrays."""
    if all(map(is_any, arrays)):
        return None
    own = merged([shape_of(a) for a in arrays if not is_any(a)], "stack")
    return (*own[:axis], len(arrays), *own[axis:])


@rule("pad", same=True)
def pad(x: Symbol, /, *, widths: Any, **attrs: Any) -> Any:
    """Each length and what is put around it."""
    if is_any(x):
        return (None,) * len(widths)
    return tuple([
        None if n is None else n + before + after
        for n, (before, after) in zip(x.shape, widths, strict=True)
    ])
