"""`tf.Dimension`, and whether shapes hold lengths as ints or as Dimensions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..shapes import TensorShape as PlainShape
from ..shapes import shape_known

__all__ = ["Dimension", "TensorShape", "dimension_at_index", "dimension_value"]


class Dimension:
    """The length of an axis, or an unknown length; arithmetic with it gives unknown lengths.

    >>> Dimension(3) + 2, Dimension(3) * None, Dimension(3).value
    (Dimension(5), Dimension(None), 3)
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        value = getattr(value, "value", value)
        self.value = None if value is None else int(value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def __int__(self) -> int:
        return int(self.value)  # type: ignore[arg-type]  # TypeError if it is unknown

    __index__ = __int__

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: Any) -> Any:
        return _compared(self, other, lambda a, b: a == b)

    def __ne__(self, other: Any) -> Any:
        return _compared(self, other, lambda a, b: a != b)

    def __lt__(self, other: Any) -> Any:
        return _compared(self, other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return _compared(self, other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return _compared(self, other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return _compared(self, other, lambda a, b: a >= b)

    def is_compatible_with(self, other: Any) -> bool:
        """True if both may be the same length."""
        return self.value is None or Dimension(other).value in (None, self.value)

    def merge_with(self, other: Any) -> Dimension:
        """The known one of the two."""
        return Dimension(other) if self.value is None else self


def _compared(x: Dimension, y: Any, holds: Callable[[Any, Any], bool]) -> Any:
    """A comparison; None if either is unknown."""
    try:
        other = Dimension(y).value
    except (TypeError, ValueError):
        return NotImplemented
    return None if x.value is None or other is None else holds(x.value, other)


def _arithmetic(name: str, operate: Callable[[int, int], int]) -> None:
    def method(self: Dimension, other: Any) -> Dimension:
        a, b = self.value, Dimension(other).value
        return Dimension(None if a is None or b is None else operate(a, b))

    def reflected(self: Dimension, other: Any) -> Dimension:
        return method(Dimension(other), self)

    setattr(Dimension, f"__{name}__", method)
    setattr(Dimension, f"__r{name}__", reflected)


for _name, _operate in {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
}.items():
    _arithmetic(_name, _operate)

_dimensions = [False]


def use_dimensions(wanted: bool) -> None:
    """Set whether entries of shapes are Dimensions, as in TensorFlow 1, or ints and None."""
    _dimensions[0] = wanted


def in_the_library() -> bool:
    """True if the caller's caller is a file of this library.

    Code of the library computes with ints and None, whatever shapes users see: TensorFlow 1's
    Dimensions answer None to comparisons, and are no ints.
    """
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith("pullback.")


class TensorShape(PlainShape):
    """A shape whose entries are Dimensions for users; `as_list` returns ints and None."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        if isinstance(key, slice):
            return tuple.__new__(TensorShape, found)
        return found if in_the_library() else Dimension(found)

    def __iter__(self) -> Iterator[Any]:
        entries = tuple.__iter__(self)
        return entries if in_the_library() else map(Dimension, entries)

    @property
    def dims(self) -> list[Any] | None:
        """The lengths as Dimensions."""
        return [Dimension(n) for n in self]

    def concatenate(self, other: Any) -> PlainShape:
        """These lengths followed by the other's."""
        joined = PlainShape.concatenate(self, other)
        return joined if joined.rank is None else tuple.__new__(TensorShape, joined)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        entries = [str(n) for n in self.dims or ()]
        return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


def shape_of_symbol(symbol: Any, *, dimensions: bool = True) -> PlainShape:
    """The shape of a graph tensor, in the current form of entries; False: ints and None."""
    shape = shape_known(symbol.shape)
    if not (dimensions and _dimensions[0]) or shape.rank is None:
        return shape
    return tuple.__new__(TensorShape, shape)


def dimension_value(dimension: Any) -> int | None:
    """The value of a Dimension; an int is returned unchanged.

    >>> dimension_value(Dimension(2)), dimension_value(2)
    (2, 2)
    """
    return getattr(dimension, "value", dimension)


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """One length of a shape as a Dimension; unknown if the shape is unknown."""
    return Dimension(None if shape.rank is None else shape[index])
