"""Rows of `pullback/ops/scattering.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.batched import bare
from pullback.core.tensor import raw
from pullback.ops import scattering
from tests.table import Row, real


def there_and_back(x: Any) -> Any:
    """To where it is: the operation is asked for all the same."""
    here = (type(bare(raw(x))), None)
    return scattering._place(x, here, here)


ROWS = [Row("to_device", there_and_back, np.array, (real(2, 3),), complex=True)]
