"""Symbol: an array of a graph, which has a shape and a dtype and no numbers yet.

It is an array type like any other: a `Tensor` may hold one, and rules run on it. Its kernels
compute nothing; they append an operation to the graph (`core/symbols.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import SymbolError


class OpenShape(tuple[int | None, ...]):
    """A shape of which some lengths (None) are known only when the graph runs.

    It equals no shape but that of the same symbol, so that what compares shapes and finds them
    equal may rely on it, whatever is fed.
    """

    symbol: Symbol
    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenShape) and other.symbol is self.symbol

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class AnyShape(OpenShape):
    """The shape of which not even the number of axes is known."""

    def _refuse(self) -> SymbolError:
        return SymbolError(
            f"shape of {self.symbol.name!r}", "a number of axes", "a tensor of unknown rank",
            "give the placeholder a shape, or use set_shape",
        )

    def __len__(self) -> int:
        raise self._refuse()

    def __iter__(self) -> Iterator[int | None]:
        raise self._refuse()

    def __getitem__(self, key: Any) -> Any:
        raise self._refuse()

    def __repr__(self) -> str:
        return "<unknown>"

    __hash__ = OpenShape.__hash__


class Symbol:
    """One output of an operation of a graph.

    operation   what computes it, and `index`: which of its outputs it is
    kind        the class of arrays that it will be computed on
    shape       lengths of the axes; an `OpenShape` where one of them is not known
    dtype       as the library of `kind` names it
    face        the Tensor that people know it by, once there is one
    """

    __slots__ = ("__weakref__", "dtype", "face", "index", "kind", "operation", "shape")
    __array_ufunc__ = None  # NumPy's operators leave the work to ours
    made = False
    """Whether there has been one: a program without graphs need not look for them."""

    def __init__(
        self, operation: Any, index: int, kind: type, shape: Any, dtype: Any
    ) -> None:
        self.operation, self.index, self.kind, self.dtype = operation, index, kind, dtype
        self.shape = self._shape(shape)
        self.face: Any = None
        if not Symbol.made:
            Symbol.made = True

    def _shape(self, shape: Any) -> Any:
        if isinstance(shape, OpenShape) and hasattr(shape, "symbol"):
            return shape
        if shape is None:
            made: OpenShape = AnyShape()
        elif None in tuple(shape):
            made = OpenShape(shape)
        else:
            return tuple(shape)
        made.symbol = self
        return made

    def narrow(self, shape: Any) -> None:
        """Take note of a shape that says more than the one known."""
        self.shape = self._shape(shape)

    @property
    def name(self) -> str:
        """The operation's name and the output's number."""
        return f"{self.operation.name}:{self.index}"

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        total = 1
        for length in self.shape:
            if length is None:
                raise SymbolError(
                    f"number of entries of {self.name!r}", "a shape that is known",
                    f"shape {self.shape!r}", "use pullback.shape(x), which the graph computes",
                )
            total *= length
        return total

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{self.name} {self.dtype} {self.shape!r}>"

    def __len__(self) -> int:
        length = self.shape[0]
        if length is None:
            raise SymbolError(
                f"len() of {self.name!r}", "a length that is known", f"shape {self.shape!r}",
                "use pullback.shape(x)[0], which the graph computes",
            )
        return int(length)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise SymbolError(
            f"a value of {self.name!r}", "operations of pullback",
            "a conversion to numbers (by float, bool, `if`, .item() or .numpy()) while a graph is "
            "built, where nothing is computed yet",
            "use where or cond for choices, while_loop for loops, and for a value run the graph",
        )

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __array__


def is_open(shape: Any) -> bool:
    """Whether some length of a shape is known only when a graph runs.

    >>> is_open((2, 3))
    False
    """
    return isinstance(shape, OpenShape)


def may_be(shape: Any, other: Any) -> bool:
    """Whether two shapes may turn out to be the same: no known length is against it.

    >>> may_be((None, 3), (2, None)), may_be((None, 3), (2, 4))
    (True, False)
    """
    if isinstance(shape, AnyShape) or isinstance(other, AnyShape):
        return True
    return len(shape) == len(other) and all(
        None in (n, m) or n == m for n, m in zip(shape, other, strict=True)
    )
