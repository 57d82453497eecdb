"""NumPy: its main namespace is the standard's, so almost nothing is to be said."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

_SCALAR_KERNELS: dict[str, Callable[..., Any]] = {
    # On NumPy's scalars the operators are 10 x quicker than the ufuncs.
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
}


class NumPy:
    """The adapter of `numpy.ndarray`, NumPy's scalars and Python's numbers."""

    name = "numpy"
    namespace = numpy

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """NumPy's own functions serve, but for scalars."""
        return _SCALAR_KERNELS.get(name) if issubclass(cls, numpy.generic) else None

    def rank(self, cls: type) -> int:
        """Arrays before scalars before Python's numbers."""
        return 2 if issubclass(cls, numpy.ndarray) else 1 if issubclass(cls, numpy.generic) else 0

    def owner(self, array: Any) -> Any:
        """The array at the end of the chain of bases."""
        if not isinstance(array, numpy.ndarray):
            return None
        while isinstance(array.base, numpy.ndarray):
            array = array.base
        return array

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        """An ndarray (never a scalar)."""
        return numpy.asarray(value, dtype=dtype)

    def own(self, array: Any) -> Any:
        """The array, unless it is a view (which broadcasting makes read-only) or a scalar."""
        if isinstance(array, numpy.ndarray) and array.base is None:
            return array
        return numpy.array(array)

    def copy(self, array: Any) -> Any:
        """A contiguous copy."""
        return numpy.array(array)

    def write(self, array: Any, value: Any) -> Any:
        """`array[...] = value`."""
        array[...] = value
        return array


ADAPTER = NumPy()


def _register() -> None:
    from . import SCALARS, adapters

    for cls in (*SCALARS, numpy.ndarray, numpy.generic):
        adapters[cls] = ADAPTER


_register()
