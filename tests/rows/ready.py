"""Rows of the operations in `pullback/custom/ready.py`, where they change nothing.

Their gradients differ from their values' on purpose; that is in tests/custom/test_override.py.
"""

import pullback as pb
from tests.table import Row, real

ROWS = [
    Row("scale_gradient", lambda x: pb.scale_gradient(x, 1.0), lambda x: x * 1, (real(2, 3),),
        complex=True),
    Row("clip_gradient", lambda x: pb.clip_gradient(x, 1e6, norm=1e9), lambda x: x * 1,
        (real(2, 3),)),
]
