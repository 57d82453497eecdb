"""What of `cupyx` the adapter uses."""

from __future__ import annotations

from typing import Any

import cupy
import numpy

_WITH_ADD, _WITH_MAX = "efdiIQ", "fdiIQ"


class errstate:
    def __init__(self, *, linalg: str) -> None:
        self.linalg = linalg

    def __enter__(self) -> None:
        cupy.linalg.STATE.append(self.linalg)

    def __exit__(self, *error: Any) -> None:
        cupy.linalg.STATE.pop()


def _scatter(ufunc: Any, kinds: str, a: Any, slices: Any, value: Any) -> None:
    if numpy.dtype(a.dtype) not in map(numpy.dtype, kinds):
        raise TypeError(f"scatter_{ufunc.__name__} does not support {a.dtype}")
    parts = slices if isinstance(slices, tuple) else (slices,)
    at = tuple(p._host if isinstance(p, cupy.ndarray) else p for p in parts)
    value = value.astype(a.dtype, copy=False)._host
    ufunc.at(a._host, at, numpy.broadcast_to(value, a._host[at].shape))


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    _scatter(numpy.add, _WITH_ADD, a, slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    _scatter(numpy.maximum, _WITH_MAX, a, slices, value)
