"""`tf.TensorShape`: a tuple of lengths with TensorFlow's methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import ShapeError

__all__ = ["TensorShape"]


class TensorShape(tuple[int, ...]):
    """The lengths of a tensor's axes; a tuple that lists are equal to as well.

    >>> shape = TensorShape([2, 3])
    >>> shape, shape.rank, shape.as_list(), shape == [2, 3]
    (TensorShape([2, 3]), 2, [2, 3], True)
    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[int]) -> TensorShape:
        """A shape of anything that can be counted through."""
        return super().__new__(cls, (int(n) for n in dims))

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self)

    ndims = rank

    @property
    def dims(self) -> list[int]:
        """The lengths."""
        return list(self)

    def as_list(self) -> list[int]:
        """The lengths as a list."""
        return list(self)

    def num_elements(self) -> int:
        """The number of entries."""
        total = 1
        for n in self:
            total *= n
        return total

    def is_fully_defined(self) -> bool:
        """True: every length is known."""
        return True

    def is_compatible_with(self, other: Iterable[int | None]) -> bool:
        """Whether another shape has these lengths, or None where it does not say."""
        given = tuple(other)
        return len(given) == len(self) and all(
            n is None or n == m for n, m in zip(given, self, strict=True)
        )

    def assert_is_compatible_with(self, other: Iterable[int | None]) -> None:
        """Raise a `ShapeError` (a `ValueError`) unless `is_compatible_with`."""
        given = tuple(other)
        if not self.is_compatible_with(given):
            raise ShapeError("shape", f"one that {given} describes", str(tuple(self)))

    def concatenate(self, other: Iterable[int]) -> TensorShape:
        """These lengths and then the other's."""
        return TensorShape((*self, *other))

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return TensorShape(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return TensorShape((*self, *other))

    def __radd__(self, other: Any) -> Any:
        return TensorShape((*other, *self))

    def __eq__(self, other: Any) -> Any:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: Any) -> Any:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"

    def __str__(self) -> str:
        return str(tuple(self))
