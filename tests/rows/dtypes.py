"""Rows of `pullback/ops/dtypes.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, Sample, ints, real


def cast(dtype: str, sample: Sample, *, tracked: bool = True, **keywords: Any) -> Row:
    """A row of `astype` to a dtype."""

    def reference(x: np.ndarray) -> np.ndarray:
        narrow = x.dtype.kind == "c" and not dtype.startswith(("complex", "bool"))
        return (x.real if narrow else x).astype(dtype)

    return Row("astype", lambda x: pb.astype(x, getattr(pb, dtype)), reference, (sample,),
               f"{dtype} from {sample.dtype}", differentiable=tracked, **keywords)


ROWS = [
    cast("float64", real(2, 3), complex=True),
    cast("complex128", real(2, 3), complex=True),
    cast("float32", real(2, 3), tracked=False),
    cast("complex64", real(2, 3), tracked=False),
    cast("int64", real(2, 3), tracked=False, complex=True),
    cast("bool", real(2, 3), tracked=False, complex=True),
    cast("float64", ints(2, 3), tracked=False),
    Row("astype", lambda x: pb.astype(x, x.dtype, copy=False), lambda x: x, (real(2, 3),),
        "no copy", complex=True),
]
