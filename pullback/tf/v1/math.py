"""`tf.math`: element-wise functions, reductions and cumulative sums, with v1's arguments."""

from __future__ import annotations

from .functions import FUNCTIONS as _FUNCTIONS
from .functions import MATH as _MATH
from .functions import REDUCTIONS as _REDUCTIONS
from .nn import in_top_k as in_top_k
from .nn import zero_fraction as zero_fraction

globals().update({**_MATH, **_REDUCTIONS})
l2_normalize = _FUNCTIONS["l2_normalize"]
__all__ = [*sorted({**_MATH, **_REDUCTIONS}), "in_top_k", "l2_normalize", "zero_fraction"]
