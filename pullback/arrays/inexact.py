"""Dtypes that have derivatives: real and complex floating dtypes."""

from __future__ import annotations

from typing import Any


class _Inexact(dict[Any, bool]):
    """dtype of any library -> whether it is a real or complex floating dtype."""

    def __missing__(self, dtype: Any) -> bool:
        kind = getattr(dtype, "kind", None)
        if kind is None:  # PyTorch's dtypes have other attributes
            found = bool(getattr(dtype, "is_floating_point", False) or dtype.is_complex)
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
    if kind is None:  # PyTorch's dtypes have other attributes
        if inexact_dtypes[dtype]:
            return "c" if dtype.is_complex else "f"
        return "b" if str(dtype).endswith("bool") else "i" if dtype.is_signed else "u"
    return "f" if kind == "V" and inexact_dtypes[dtype] else kind
