"""`tf.TensorShape`: a tuple of lengths with TensorFlow's methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from ..arrays.symbol import AnyShape
from ..errors import ShapeError

__all__ = ["TensorShape"]


class TensorShape(tuple[Any, ...]):
    """The lengths of a tensor's axes: a tuple that also compares equal to lists.

    A length that is unknown while tracing is None; TensorShape(None) has unknown rank.

    >>> shape = TensorShape([2, 3])
    >>> shape, shape.rank, shape.as_list(), shape == [2, 3]
    (TensorShape([2, 3]), 2, [2, 3], True)
    >>> TensorShape([None, 3]), TensorShape(None)
    (TensorShape([None, 3]), TensorShape(None))
    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[Any] | int | None) -> TensorShape:
        """A shape from any iterable; an int gives the shape of a vector."""
        if dims is None or isinstance(dims, (AnyShape, _Unknown)):
            return tuple.__new__(_Unknown)
        if isinstance(dims, int):
            dims = (dims,)
        return tuple.__new__(cls, [_length(n) for n in dims])

    @property
    def rank(self) -> int | None:
        """The number of axes; None if it is unknown."""
        return len(self)

    @property
    def ndims(self) -> int | None:
        """The number of axes; None if it is unknown."""
        return self.rank

    @property
    def dims(self) -> list[Any] | None:
        """The lengths; None if the rank is unknown."""
        return list(self)

    def as_list(self) -> list[Any]:
        """The lengths as a list, with None for an unknown length.

        Raises `ShapeError` (a `ValueError`) if the rank is unknown.
        """
        return list(self)

    def num_elements(self) -> int | None:
        """The number of entries; None if it is unknown."""
        total = 1
        for n in self:
            if n is None:
                return None
            total *= n
        return total

    def is_fully_defined(self) -> bool:
        """Whether every length is known."""
        return None not in self

    def is_compatible_with(self, other: Any) -> bool:
        """True if a tensor could have both shapes: None in either matches any length."""
        given = TensorShape(other)
        if given.rank is None:
            return True
        return len(given) == len(self) and all(
            n is None or m is None or n == m for n, m in zip(given, self, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise a `ShapeError` (a `ValueError`) unless `is_compatible_with`."""
        if not self.is_compatible_with(other):
            raise ShapeError("shape", f"a shape compatible with {TensorShape(other)}", str(self))

    def assert_has_rank(self, rank: int) -> None:
        """Raise a `ShapeError` (a `ValueError`) if the number of axes differs."""
        if self.rank not in (None, rank):
            raise ShapeError("shape", f"{rank} axes", str(self))

    def assert_is_fully_defined(self) -> None:
        """Raise a `ShapeError` (a `ValueError`) unless every length is known."""
        if not self.is_fully_defined():
            raise ShapeError("shape", "a fully defined shape", str(self))

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, which must have `rank` axes; an unknown shape gets `rank` unknown lengths."""
        self.assert_has_rank(rank)
        return TensorShape([None] * rank) if self.rank is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape; raises a `ShapeError` (a `ValueError`) if it has fewer axes."""
        if self.rank is not None and self.rank < rank:
            raise ShapeError("shape", f"{rank} axes or more", str(self))
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape; raises a `ShapeError` (a `ValueError`) if it has more axes."""
        if self.rank is not None and self.rank > rank:
            raise ShapeError("shape", f"at most {rank} axes", str(self))
        return self

    def assert_same_rank(self, other: Any) -> None:
        """Raise a `ShapeError` (a `ValueError`) unless both shapes have the same number of axes."""
        if None not in (self.rank, TensorShape(other).rank):
            self.assert_has_rank(len(TensorShape(other)))

    def merge_with(self, other: Any) -> TensorShape:
        """The shape that combines the known lengths of both.

        Raises `ShapeError` (a `ValueError`) if they contradict each other.
        """
        given = TensorShape(other)
        self.assert_is_compatible_with(given)
        if given.rank is None or self.rank is None:
            return self if given.rank is None else given
        return TensorShape([m if n is None else n for n, m in zip(self, given, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """These lengths followed by the other's."""
        given = TensorShape(other)
        return given if given.rank is None else TensorShape((*self, *given))

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return TensorShape(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> Any:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: Any) -> Any:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: Any) -> Any:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"

    def __str__(self) -> str:
        return f"({self[0]},)" if len(self) == 1 else f"({', '.join(map(str, self))})"


def _length(n: Any) -> int | None:
    n = getattr(n, "value", n)  # a Dimension
    return None if n is None else int(n)


class _Unknown(TensorShape):
    """A shape of unknown rank."""

    __slots__ = ()

    rank = None

    @property
    def dims(self) -> None:
        """None."""
        return None

    def _refuse(self) -> NoReturn:
        raise ShapeError("the lengths of a shape", "a known rank",
                         "TensorShape(None)", "give the placeholder a shape, or use set_shape")

    def as_list(self) -> Any:
        """Raises an error: the rank is unknown."""
        self._refuse()

    def num_elements(self) -> None:
        """None: the rank is unknown."""
        return None

    def is_fully_defined(self) -> bool:
        """False."""
        return False

    def is_compatible_with(self, other: Any) -> bool:
        """True: it may be any shape."""
        return True

    def concatenate(self, other: Any) -> TensorShape:
        """An unknown shape."""
        return self

    def __len__(self) -> int:
        self._refuse()

    def __iter__(self) -> Iterator[Any]:
        self._refuse()

    def __getitem__(self, key: Any) -> Any:
        return TensorShape(None) if isinstance(key, slice) else None

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, _Unknown) or other is None

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return "TensorShape(None)"

    def __str__(self) -> str:
        return "<unknown>"


def shape_known(shape: Any) -> TensorShape:
    """The shape of an array or a symbol, unchanged."""
    if isinstance(shape, AnyShape):
        return tuple.__new__(_Unknown)
    return tuple.__new__(TensorShape, shape)
