"""NumPy's functions that its oldest supported version, 2.0, does not have yet.

The whole library calls them as NumPy 2.1 and later name them; only this file knows of versions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy


def _running(name: str, ufunc: Any) -> Callable[..., Any]:
    """`numpy.cumulative_sum` or `cumulative_prod`, as NumPy 2.1 defines them."""

    def cumulative(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        x = numpy.atleast_1d(x)
        if axis is None:
            if x.ndim > 1:
                raise ValueError("`axis` is required for arrays of more than one dimension")
            axis = 0
        found = ufunc.accumulate(x, axis=axis, dtype=dtype)
        if not include_initial:
            return found
        shape = list(found.shape)
        shape[axis] = 1
        first = numpy.full_like(found, ufunc.identity, shape=shape)
        return numpy.concatenate([first, found], axis=axis)

    cumulative.__name__ = name
    return cumulative


MISSING: dict[str, Callable[..., Any]] = {
    name: _running(name, ufunc)
    for name, ufunc in (("cumulative_sum", numpy.add), ("cumulative_prod", numpy.multiply))
    if not hasattr(numpy, name)
}
"""Name in NumPy's newer versions -> function; empty from NumPy 2.1 on."""


def _completed() -> ModuleType:
    """NumPy's namespace with the missing functions in it; `numpy` itself where none is missing."""
    if not MISSING:
        return numpy
    made = ModuleType(numpy.__name__, numpy.__doc__)
    vars(made).update(vars(numpy), **MISSING)
    return made


NAMESPACE: Any = _completed()
