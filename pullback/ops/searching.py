"""Sorting, searching, counting, and sets of values.

Cotangents of sorted values go back to the entries that they came from; those of the distinct values
of the `unique` family go to the first occurrence. Indices and counts have no derivatives. `sort`
is stable, and NaN counts as larger than all numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..arrays import namespace
from ..arrays.batched import Batched, spread
from ..arrays.symbol import Symbol
from ..core.op import OPS
from ..core.tensor import Tensor, raw, to_array, wrap
from ..errors import ArgumentError, BatchedValueError, ShapeError, SymbolError
from ..kinds.batching import seen_axes
from ..kinds.symbols import whole
from .creation import zeros_like
from .declaring import face_of, known_as, op
from .indexing import getitem, scatter
from .operands import stacked
from .selecting import minimum, where
from .shaping import reshape
from .taking import along, positive_axis, take, take_along_axis

__all__ = [
    "argmax", "argmin", "argsort", "isin", "nonzero", "searchsorted", "sort", "top_k",
    "unique_all", "unique_counts", "unique_inverse", "unique_values",
]


@known_as(numpy="argmax", torch="argmax(input,dim,keepdim)")
@op(differentiable=False, reduction=True)
def argmax(xp: Any, x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the largest entry along an axis, or of all; the first of equal ones.

    >>> import numpy as np
    >>> argmax(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1)
    array([1, 0])
    """
    return xp.argmax(x, axis=axis, keepdims=keepdims)


@argmax.batching
def batch_argmax(x: Any, *, axis: int | None, keepdims: bool) -> Any:
    return _position(argmax, x, axis, keepdims)


@known_as(numpy="argmin", torch="argmin(input,dim,keepdim)")
@op(differentiable=False, reduction=True)
def argmin(xp: Any, x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the smallest entry along an axis, or of all; the first of equal ones.

    >>> import numpy as np
    >>> argmin(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1)
    array([0, 1])
    """
    return xp.argmin(x, axis=axis, keepdims=keepdims)


@argmin.batching
def batch_argmin(x: Any, *, axis: int | None, keepdims: bool) -> Any:
    return _position(argmin, x, axis, keepdims)


def _position(search: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
    """`argmax` or `argmin` of each example, with the batch axis in front."""
    shape = tuple(x.shape)
    axes = seen_axes(x, axis, search.__name__)
    if len(axes) == 1:
        return search(x, axis=axes[0], keepdims=keepdims)
    found = search(reshape(x, (shape[0], math.prod(shape[1:]))), axis=1)
    return reshape(found, (shape[0], *(1 for _ in shape[1:]))) if keepdims else found


def _backwards(ndim: int, axis: int) -> tuple[Any, ...]:
    """An index that reverses an axis."""
    return (slice(None),) * positive_axis(axis, ndim, "sort") + (slice(None, None, -1),)


@op(shape="x", dtype="x")
def sort(
    xp: Any, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """The entries sorted along an axis, in ascending (or descending) order; stable.

    >>> import numpy as np
    >>> sort(np.array([2.0, 3.0, 1.0]), descending=True)
    array([3., 2., 1.])
    """
    rising = xp.sort(x, axis=axis, stable=stable)
    return rising[_backwards(x.ndim, axis)] if descending else rising


@sort.pullback("x")
def pullback_sort(
    g: Any, x: Any, shape: Any, *, axis: int, descending: bool, stable: bool
) -> Any:
    order = raw(argsort(x, axis=axis, descending=descending, stable=stable))
    return scatter(g, index=along(order, shape, axis), shape=shape)


@sort.pushforward("x")
def pushforward_sort(t: Any, x: Any, *, axis: int, descending: bool, stable: bool) -> Any:
    order = argsort(x, axis=axis, descending=descending, stable=stable)
    return take_along_axis(t, order, axis=axis)


@sort.batching
def batch_sort(x: Any, *, axis: int, **how: Any) -> Any:
    return sort(x, axis=positive_axis(axis, len(x.shape) - 1, "sort") + 1, **how)


@op(differentiable=False, shape="x")
def argsort(
    xp: Any, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """The indices that sort the entries along an axis in ascending (or descending) order.

    Equal entries keep their order, also in descending order.

    >>> import numpy as np
    >>> argsort(np.array([2.0, 3.0, 1.0, 3.0]), descending=True)
    array([1, 3, 0, 2])
    """
    if not descending:
        return xp.argsort(x, axis=axis, stable=stable)
    back = _backwards(x.ndim, axis)
    return x.shape[axis] - 1 - xp.argsort(x[back], axis=axis, stable=stable)[back]


@argsort.batching
def batch_argsort(x: Any, *, axis: int, **how: Any) -> Any:
    return argsort(x, axis=positive_axis(axis, len(x.shape) - 1, "argsort") + 1, **how)


@whole
def top_k(
    x: Any, k: int, /, *, axis: int = -1, mode: str = "largest"
) -> tuple[Any, Any]:
    """The k largest (or smallest) entries along an axis, best first, and their indices.

    Raises `ArgumentError` for another mode, and for k outside [0, length].

    >>> import numpy as np
    >>> values, positions = top_k(np.array([2.0, 3.0, 1.0]), 2)
    >>> values
    array([3., 2.])
    >>> positions
    array([1, 0])
    """
    if mode not in ("largest", "smallest"):
        raise ArgumentError("argument `mode` of `top_k`", "'largest' or 'smallest'", repr(mode))
    ndim = len(x.shape)
    axis = positive_axis(axis, ndim, "top_k")
    if not 0 <= k <= x.shape[axis]:
        raise ArgumentError(
            "argument `k` of `top_k`", f"an integer in [0, {x.shape[axis]}]", str(k)
        )
    order = argsort(x, axis=axis, descending=mode == "largest")
    first = getitem(order, (slice(None),) * axis + (slice(0, k),))
    return take_along_axis(x, first, axis=axis), first


# Looking up values --------------------------------------------------------------------------


@op(name="searchsorted", differentiable=False, shape="x2")
def _searchsorted(xp: Any, x1: Any, x2: Any, /, *, side: str) -> Any:
    return xp.searchsorted(x1, x2, side=side)


@_searchsorted.batching
def batch_searchsorted(x1: Any, x2: Any, *, side: str, hidden: tuple[bool, ...]) -> Any:
    if not hidden[0]:
        return _searchsorted(x1, x2, side=side)
    x2 = x2 if hidden[1] else spread(x2, x1.shape[0])
    rows = reshape(x2, (x2.shape[0], math.prod(x2.shape[1:])))
    return reshape(_bisected(x1, rows, side), x2.shape)


def _bisected(x1: Any, x2: Any, side: str) -> Any:
    """`searchsorted` of each row of x2 in the same row of x1, all at once, in log n steps.

    Binary search for the number of entries of x1 that go before an entry of x2: each step is half
    the previous one, and is taken only if it passes such entries alone. NaN is the largest number.
    """
    n = x1.shape[1]
    found = zeros_like(x2, dtype=int)
    step = 1 << n.bit_length() >> 1
    while step:
        at = found + step
        entry = take_along_axis(x1, minimum(at, n) - 1, axis=1)
        before = _less(entry, x2) if side == "left" else ~_less(x2, entry)
        found = where((at <= n) & before, at, found)
        step >>= 1
    return found


def _less(x1: Any, x2: Any) -> Any:
    return (x1 < x2) | ((x1 == x1) & (x2 != x2))


@face_of(_searchsorted)
def searchsorted(
    x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None
) -> Any:
    """The indices at which to insert the entries of x2 into sorted x1 so that it stays sorted.

    side    insert before ("left") or after ("right") equal entries
    sorter  indices that sort x1, if it is not sorted itself
    Raises `ArgumentError` for another side.

    >>> import numpy as np
    >>> searchsorted(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.5]))
    array([1, 2])
    """
    if side not in ("left", "right"):
        raise ArgumentError(
            "argument `side` of `searchsorted`", "'left' or 'right'", repr(side)
        )
    return _searchsorted(x1 if sorter is None else take(x1, sorter), x2, side=side)


@known_as(numpy="nonzero")
@whole
def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The indices of the nonzero entries: a tuple with one index array per axis.

    Raises `ShapeError` for a number (an array without axes).

    >>> import numpy as np
    >>> nonzero(np.array([0.0, 3.0, 4.0]))
    (array([1, 2]),)
    """
    x = stacked(x)
    data = _alone(x, "nonzero")
    if not getattr(data, "shape", ()):
        raise ShapeError("`nonzero`", "at least one axis", "a number", "use pullback.reshape(x, 1)")
    return tuple(_like(x, found) for found in namespace(data).nonzero(data))


def _alone(x: Any, subject: str) -> Any:
    """The raw array for a function whose result has a length that depends on values."""
    data = raw(to_array(x))
    if data.__class__ is Symbol:
        raise SymbolError(
            f"`{subject}`", "known values, because they decide the length of the result", "a symbol"
        )
    if data.__class__ is Batched:
        raise BatchedValueError(
            f"`{subject}` inside vmap", "a result of one shape for all examples",
            "one whose length depends on the values",
            "use where, or call it outside the function that vmap maps",
        )
    return data


@op(differentiable=False, shape="x1")
def isin(xp: Any, x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each entry of x1 is among those of x2 (or is not, with `invert`).

    >>> import numpy as np
    >>> isin(np.array([1, 2, 3]), np.array([3, 1]))
    array([ True, False,  True])
    """
    return xp.isin(x1, x2, invert=invert)


@isin.batching
def batch_isin(x1: Any, x2: Any, *, invert: bool, hidden: tuple[bool, ...]) -> Any:
    if not hidden[1]:
        return isin(x1, x2, invert=invert)
    x1 = x1 if hidden[0] else spread(x1, x2.shape[0])
    shape, size, n = x1.shape, x2.shape[0], math.prod(x2.shape[1:])
    if not n:
        return zeros_like(x1, dtype="bool") ^ invert
    x1 = reshape(x1, (size, math.prod(shape[1:])))
    x2 = sort(reshape(x2, (size, n)), axis=1)
    nearest = take_along_axis(x2, minimum(_bisected(x2, x1, "left"), n - 1), axis=1)
    return reshape(nearest != x1 if invert else nearest == x1, shape)


# Sets of values -----------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


@known_as(numpy="unique_all")
@whole
def unique_all(x: Any, /) -> UniqueAll:
    """The sorted distinct entries, their first indices, the inverse indices, and the counts.

    Every NaN is distinct from the others.

    >>> import numpy as np
    >>> unique_all(np.array([2.0, 1.0, 2.0])).counts
    array([1, 2])
    """
    x = stacked(x)
    data = _alone(x, "unique_all")
    found = namespace(data).unique_all(data)
    values = found.values
    if isinstance(x, Tensor):
        values = getitem(OPS["reshape"](x, (-1,)), found.indices)
    rest = (found.indices, found.inverse_indices, found.counts)
    return UniqueAll(values, *(_like(x, part) for part in rest))


@known_as(numpy="unique_counts")
def unique_counts(x: Any, /) -> UniqueCounts:
    """The sorted distinct entries, and how often each occurs.

    >>> import numpy as np
    >>> unique_counts(np.array([2.0, 1.0, 2.0])).values
    array([1., 2.])
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


@known_as(numpy="unique_inverse")
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The sorted distinct entries, and for each entry of x its index among them.

    >>> import numpy as np
    >>> unique_inverse(np.array([2.0, 1.0, 2.0])).inverse_indices
    array([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@known_as(numpy="unique_values")
def unique_values(x: Any, /) -> Any:
    """The sorted distinct entries.

    >>> import numpy as np
    >>> unique_values(np.array([2.0, 1.0, 2.0]))
    array([1., 2.])
    """
    return unique_all(x).values


def _like(x: Any, data: Any) -> Any:
    """A raw array; as a Tensor of x's class if x is a Tensor."""
    return wrap(x._out, data) if isinstance(x, Tensor) else data
