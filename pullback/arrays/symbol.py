"""Symbol: an array of a graph, with a shape and a dtype but no numbers yet.

It is an array type like any other: a `Tensor` can hold one, and rules run on it. Its kernels
compute nothing; they append an operation to the graph (`kinds/symbols.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import SymbolError


class OpenShape(tuple[int | None, ...]):
    """A shape with lengths (None) that are known only when the graph runs.

    It equals only the shape of the same symbol, so that code that finds two shapes equal can rely
    on it for any fed values.
    """

    symbol: Symbol
    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenShape) and other.symbol is self.symbol

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class UnknownRankError(SymbolError):
    """Code asked for the axes of a shape whose rank is unknown."""


class AnyShape(OpenShape):
    """A shape with an unknown number of axes."""

    def _refuse(self) -> SymbolError:
        return UnknownRankError(
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

    operation   the operation, and `index`: the index of the output
    kind        the class of arrays that the graph will compute it with
    shape       lengths of the axes; an `OpenShape` if some are unknown
    dtype       the dtype, as the library of `kind` names it
    face        the Tensor that users see, once it exists
    layout      of memory, where it was looked for; see `graphs/layouts.py`
    """

    __slots__ = ("__weakref__", "dtype", "face", "index", "kind", "layout", "operation", "shape")
    layout: Any
    __array_ufunc__ = None  # NumPy's operators defer to this class
    made = False
    """Whether any symbol was created: programs without graphs skip the checks for symbols."""

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
        """Stores a more specific shape."""
        self.shape = self._shape(shape)

    @property
    def name(self) -> str:
        """The name of the operation with the output's index."""
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
            "built, before anything is computed",
            "use where or cond for choices, while_loop for loops; to get a value, run the graph",
        )

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __array__


def is_open(shape: Any) -> bool:
    """Whether some length of a shape is known only when a graph runs.

    >>> is_open((2, 3))
    False
    """
    return isinstance(shape, OpenShape)


def may_be(shape: Any, other: Any) -> bool:
    """Whether two shapes can be equal at run time: no known lengths differ.

    >>> may_be((None, 3), (2, None)), may_be((None, 3), (2, 4))
    (True, False)
    """
    if isinstance(shape, AnyShape) or isinstance(other, AnyShape):
        return True
    return len(shape) == len(other) and all(
        None in (n, m) or n == m for n, m in zip(shape, other, strict=True)
    )
