"""NumPy's functions that its oldest supported version, 2.0, does not have as NumPy 2.1 has them.

The whole library calls them as the newer versions define them; only this file knows of versions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy


def _running(ufunc: Any) -> Callable[..., Any]:
    """`numpy.cumulative_sum` or `cumulative_prod`."""

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

    return cumulative


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """`numpy.reshape`, with its `copy`."""
    x = numpy.asanyarray(x)
    found = x.reshape(shape)
    shares = not x.size or numpy.may_share_memory(found, x)
    if copy is False and not shares:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return found.copy() if copy and shares else found


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """`numpy.from_dlpack`, with its `device` and `copy`."""
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
    found = numpy.from_dlpack(x)
    return found.copy() if copy else found


NEWER: dict[str, Callable[..., Any]] = {
    "cumulative_sum": _running(numpy.add), "cumulative_prod": _running(numpy.multiply),
    "reshape": reshape, "from_dlpack": from_dlpack,
}
"""Name -> the function as NumPy 2.1 defines it."""


def _completed() -> Any:
    """NumPy's namespace as it is from 2.1 on: itself, or a copy with the functions above in it."""
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0":
        return numpy
    made = ModuleType(numpy.__name__, numpy.__doc__)
    vars(made).update(vars(numpy), **NEWER)
    return made


NAMESPACE: Any = _completed()
