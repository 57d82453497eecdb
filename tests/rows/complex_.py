"""Rows of `pullback/ops/complex_.py`."""

import numpy as np

import pullback as pb
from pullback.ops.complex_ import view_as_complex, view_as_real
from tests.table import Row, real

ROWS = [
    Row("real", pb.real, np.real, (real(2, 3),), complex=True),
    Row("imag", pb.imag, np.imag, (real(2, 3),), complex=True),
    Row("conj", pb.conj, np.conj, (real(2, 3),), complex=True),
    Row("angle", pb.angle, np.angle, (real(2, 3, away=(0.0,)),), complex=True),
    Row("make_complex", pb.make_complex, lambda re, im: re + np.complex64(1j) * im,
        (real(2, 3), real(2, 3)), broadcast=True),
    Row("view_as_real", lambda x: view_as_complex(view_as_real(pb.make_complex(x, x * x))),
        lambda x: x + np.complex64(1j) * x * x, (real(2, 3),)),
    Row("view_as_complex", view_as_complex, lambda x: x[..., 0] + np.complex64(1j) * x[..., 1],
        (real(3, 2),), empty=False),
]
