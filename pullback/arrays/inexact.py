"""Dtypes that have derivatives: real and complex floating dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


class ByDtype(dict[Any, Any]):
    """dtype of any library -> a fact, found out once for the dtypes of NumPy and PyTorch.

    Others are not kept: those of array-api-strict have the hashes of NumPy's, and warn when a
    dictionary compares them.
    """

    def __init__(self, find: Callable[[Any], Any]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, dtype: Any) -> Any:
        found = self._find(dtype)
        if isinstance(dtype, numpy.dtype) or type(dtype).__module__.startswith("torch"):
            self[dtype] = found
        return found


def _is_inexact(dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)
    if kind is None:  # PyTorch's dtypes have other attributes, and others only a name
        name = str(dtype).rpartition(".")[2]
        return name.startswith(("float", "complex", "bfloat"))
    return kind in "fc" or (kind == "V" and "float" in str(dtype))


inexact_dtypes = ByDtype(_is_inexact)
"""dtype of any library -> whether it is a real or complex floating dtype."""


def kind_of(dtype: Any) -> str:
    """NumPy's letter for the kind of a dtype; "f" for bfloat16, which NumPy calls "V".

    >>> import numpy
    >>> kind_of(numpy.dtype("float32")), kind_of(numpy.dtype("uint8"))
    ('f', 'u')
    """
    kind: str | None = getattr(dtype, "kind", None)
    if kind is None:  # PyTorch's dtypes have other attributes, and others only a name
        name = str(dtype).rpartition(".")[2]
        return "f" if name.startswith("bfloat") else name[0]
    return "f" if kind == "V" and inexact_dtypes[dtype] else kind
