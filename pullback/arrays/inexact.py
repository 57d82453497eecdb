"""Dtypes that have derivatives: real and complex floating dtypes."""

from __future__ import annotations

from typing import Any


class _Inexact(dict[Any, bool]):
    """dtype of any library -> whether it is a real or complex floating dtype."""

    def __missing__(self, dtype: Any) -> bool:
        kind = getattr(dtype, "kind", None)
        if kind is None:  # PyTorch's dtypes have other attributes, and others only a name
            name = str(dtype).rpartition(".")[2]
            found = name.startswith(("float", "complex", "bfloat"))
        else:
            found = kind in "fc" or (kind == "V" and "float" in str(dtype))
        self[dtype] = found
        return found


inexact_dtypes = _Inexact()


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
