"""Converts per-example indices to indices of arrays with a leading batch axis.

The array x, the index, or both can be batched: `plan` computes the index to read from the array
with its batch axis in front, and the resulting order of axes. NumPy puts the axes from index arrays
(the broadcast axes) where the arrays are if these are adjacent, and in front otherwise; an integer
counts as an array if there are arrays.
"""

from __future__ import annotations

from typing import Any

from . import adapters
from .batched import Batched, permuted, reshaped, show, tags_of


class Each:
    """A part of an index that differs per example: `value` has a leading batch axis."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def parts_of(index: Any) -> tuple[Any, ...]:
    """An index as a tuple."""
    return index if index.__class__ is tuple else (index,)


def is_batched(index: Any) -> bool:
    """Whether an index has batched arrays (hot path)."""
    if index.__class__ is tuple:
        return Batched in map(type, index)
    return index.__class__ is Batched


def index_tags(index: Any) -> list[int]:
    """The tags of the vmaps over which parts of an index are batched."""
    batched = [p for p in parts_of(index) if p.__class__ is Batched]
    return list(dict.fromkeys(t for p in batched for t in tags_of(p.shape)))


def opened(index: Any, tag: int) -> tuple[Any, ...]:
    """An index whose parts batched under a tag become `Each`."""
    return tuple([
        Each(show(p, 0, tag, 0)) if p.__class__ is Batched and tag in tags_of(p.shape) else p
        for p in parts_of(index)
    ])


def count_of(index: tuple[Any, ...]) -> int:
    """The number of examples, from the first `Each` of an index."""
    return next(int(p.value.shape[0]) for p in index if p.__class__ is Each)


class Plan:
    """How to index an array with a leading batch axis, or with a batched index.

    parts   the index for the array
    order   the permutation of the result that puts the batch axis in front; None if not needed
    rank    the number of axes of the result
    """

    __slots__ = ("order", "parts", "rank")

    def __init__(
        self, parts: tuple[Any, ...], order: tuple[int, ...] | None, rank: int
    ) -> None:
        self.parts, self.order, self.rank = parts, order, rank

    def arranged(self, taken: Any) -> Any:
        """The result of reading at `parts`, with the batch axis in front."""
        return taken if self.order is None else permuted(taken, self.order)

    def inverse(self) -> tuple[int, ...] | None:
        """The inverse permutation: from a leading batch axis to the order of `parts`."""
        order = self.order
        return None if order is None else tuple(order.index(i) for i in range(self.rank))

    def placed(self, value: Any, hidden: bool) -> Any:
        """A value to write at `parts`; it has a leading batch axis if `hidden`."""
        shape = getattr(value, "shape", None)
        if shape is None:
            return value
        count, seen = (shape[0], tuple(shape[1:])) if hidden else (1, tuple(shape))
        extra = self.rank - 1 - len(seen)
        seen = (1,) * extra + seen if extra >= 0 else seen[-extra:]
        value = reshaped(value, (count, *seen))
        order = self.inverse()
        return value if order is None else permuted(value, order)


def plan(index: Any, rank: int, hidden: bool, size: int) -> Plan:
    """The plan for reading, per example, at an index.

    index   the index of one example; parts of type `Each` differ per example
    rank    the number of axes of one example's array
    hidden  the array has a leading batch axis (else only the index is batched)
    size    the number of examples
    """
    parts = parts_of(index)
    each = any(p.__class__ is Each for p in parts)
    if each:
        parts = _with_positions(parts)
    covered = max(rank - sum(map(_used, parts)), 0)
    lengths = [covered if p is Ellipsis else int(p is None or p.__class__ is slice) for p in parts]
    rest = sum(lengths) + (0 if any(p is Ellipsis for p in parts) else covered)
    many = max(map(_broadcast_rank, parts), default=-1)
    if many < 0:  # integers and slices only
        return Plan((slice(None), *parts), None, 1 + rest)
    at = [i for i, p in enumerate(parts) if _is_advanced(p)]
    apart = at[-1] - at[0] >= len(at)
    before = 0 if apart else sum(lengths[: at[0]])
    whole = 1 + many + rest
    if not each:
        return Plan((slice(None), *parts), _moved(many, 0, whole) if apart else None, whole)
    parts = tuple([_aligned(p.value, many) if p.__class__ is Each else p for p in parts])
    if not hidden:  # the broadcast axes, batch axis first, follow `before` axes
        return Plan(parts, _moved(before, 0, whole), whole)
    counted = adapters[float].namespace.arange(size)
    order = None
    if before and many:  # the broadcast axes moved to the front
        order = (0, *range(1 + many, 1 + many + before), *range(1, 1 + many),
                 *range(1 + many + before, whole))
    return Plan((_aligned(counted, many), *parts), order, whole)


def _is_advanced(part: Any) -> bool:
    return part is not None and part is not Ellipsis and part.__class__ is not slice


def _is_mask(part: Any) -> bool:
    return "bool" in str(getattr(part, "dtype", ""))


def _used(part: Any) -> int:
    """The number of the array's axes that a part uses."""
    if part is None or part is Ellipsis or part.__class__ is bool:
        return 0
    return len(part.shape) if _is_mask(part) else 1


def _broadcast_rank(part: Any) -> int:
    """The number of broadcast axes of a part; -1 if it is not an array."""
    if part.__class__ is Each:
        return len(part.value.shape) - 1
    if part.__class__ is bool or _is_mask(part):
        return 1
    return len(part.shape) if hasattr(part, "shape") else -1


def _with_positions(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with masks replaced by positions, so that they broadcast with other arrays."""
    found: list[Any] = []
    for p in parts:
        if _is_mask(p) and p.shape:
            found += adapters[p.__class__].namespace.nonzero(p)
        else:
            found.append(p)
    return tuple(found)


def _aligned(array: Any, many: int) -> Any:
    """A batched array of positions with `many` broadcast axes after the batch axis."""
    seen = tuple(array.shape[1:])
    return reshaped(array, (array.shape[0], *(1,) * (many - len(seen)), *seen))


def _moved(source: int, destination: int, rank: int) -> tuple[int, ...] | None:
    """The permutation that moves one axis; None if it stays in place."""
    if source == destination:
        return None
    order = [i for i in range(rank) if i != source]
    order.insert(destination, source)
    return tuple(order)
