"""Rows of `matrices.py`, `determinants.py` and `solving.py` in `pullback/ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

import pullback as pb
from pullback.ops.determinants import adjugate, adjugate_along
from tests.table import Row, Sample, constant, real

Call = Callable[..., Any]
STACKS = [(3, 3), (2, 3, 3), (2, 1, 2, 2), (1, 1), (0, 0), (2, 0, 0), (0, 2, 2)]
SINGULAR = np.array([[1.0, 2.0, -1.0], [2.0, 4.0, -2.0], [0.5, -1.0, 1.5]])
EDGES = np.stack([SINGULAR, np.outer([1.0, -2.0, 0.5], [0.3, 1.0, 2.0]), np.zeros((3, 3))])
"""Matrices of three rows, of rank 2, 1 and 0."""


def regular(name: str, call: Call, reference: Call, *shapes: tuple[int, ...], **how: Any) -> Row:
    """A row on arrays of which the first is made regular."""
    return Row(
        name, lambda x, *rest: call(9.0 * _eye(x) + x, *rest),
        lambda x, *rest: reference(9.0 * _eye(x) + x, *rest), tuple(real(*s) for s in shapes),
        str(shapes) + "".join(f", {k}={v}" for k, v in how.items()), complex=True,
    )


def _eye(x: Any) -> Any:
    return pb.tril(pb.triu(pb.ones_like(x)))


def plain(name: str, call: Call, reference: Call, *shapes: tuple[int, ...], **how: Any) -> Row:
    """A row with its attributes given."""
    label = ", ".join([*map(str, shapes), *(f"{k}={v}" for k, v in how.items())])
    return Row(
        name, lambda *xs: call(*xs, **how), lambda *xs: reference(*xs, **how),
        tuple(real(*s) for s in shapes), label, complex=True,
    )


def at(name: str, call: Call, reference: Call, array: Any, label: str, **how: Any) -> Row:
    """A row at one place."""
    sample = Sample(array.shape, make=lambda rng: array)
    return Row(name, call, reference, (sample,), label, **how)


def minors(x: Any) -> Any:
    """The transposed cofactors, one by one."""
    n = x.shape[-1]
    out = np.zeros_like(x)
    for i in range(n):
        for j in range(n):
            rest = np.delete(np.delete(x, i, axis=-2), j, axis=-1)
            out[..., j, i] = (-1) ** (i + j) * leibniz(rest)
    return out


def leibniz(x: Any) -> Any:
    """The determinant by its first row: sums and products only."""
    n = x.shape[-1]
    if not n:
        return np.ones(x.shape[:-2], x.dtype)
    rests = [np.delete(x[..., 1:, :], j, axis=-1) for j in range(n)]
    return sum((-1) ** j * x[..., 0, j] * leibniz(rest) for j, rest in enumerate(rests))


def minors_along(x: Any, v: Any) -> Any:
    """The derivative of the minors, which are of second degree in each number, along v."""
    degree = x.shape[-1] - 1
    if degree < 1:
        return np.zeros_like(x)
    points = np.arange(-degree, degree + 1).astype(float)
    slopes = np.linalg.inv(np.vander(points, increasing=True))[1]
    values = [minors(x + float(t) * v) for t in points]
    return sum(float(c) * value for c, value in zip(slopes, values, strict=True))


def least_squares(a: Any, b: Any) -> Any:
    return np.linalg.pinv(a) @ b


def triangular(lower: bool, unit: bool, *shapes: tuple[int, ...]) -> Row:
    how = {"lower": lower, "unit_diagonal": unit}

    def call(a: Any, b: Any) -> Any:
        return pb.linalg.triangular_solve(a + 9.0 * _eye(a) * (not unit), b, **how)

    def reference(a: Any, b: Any) -> Any:
        part = np.tril(a, -unit) if lower else np.triu(a, unit)
        return np.linalg.solve(part + _eye(a) * (1.0 if unit else 9.0), b)

    samples = tuple(real(*s) for s in shapes)
    label = f"{shapes}, lower={lower}, unit_diagonal={unit}"
    return Row("triangular_solve", call, reference, samples, label, complex=True)


def norm(shape: tuple[int, ...], **how: Any) -> Row:
    """A norm of matrices whose rows and columns have sums that are far from a tie."""
    far = np.multiply.outer(np.arange(1, shape[-2] + 1), np.arange(2, shape[-1] + 2)) * 4.0

    def call(x: Any) -> Any:
        return pb.linalg.matrix_norm(x + constant(far, x), **how)

    def reference(x: Any) -> Any:
        return np.linalg.matrix_norm(x + far.astype(str(x.dtype)), **how)

    label = ", ".join([str(shape), *(f"{k}={v}" for k, v in how.items())])
    return Row("matrix_norm", call, reference, (real(*shape),), label, complex=True)


def norm_of_nothing(x: Any, ord: Any) -> Any:
    """0, as numpy.linalg.matrix_norm from NumPy 2.3 on; before, some orders are an error."""
    return np.zeros(x.shape[:-2], x.real.dtype)


DIAGONALS = [
    ((3, 3), 0), ((2, 4), 1), ((2, 4), 3), ((2, 4), 4), ((4, 2), -1), ((4, 2), -3), ((4, 2), 1),
    ((2, 3, 4), 2), ((2, 3, 4), -2), ((0, 3), 0), ((3, 0), 0), ((0, 2, 2), 1), ((2, 2), -5),
]

ROWS = [
    *[plain("diagonal", pb.linalg.diagonal, np.linalg.diagonal, s, offset=k) for s, k in DIAGONALS],
    *[plain("trace", pb.linalg.trace, np.linalg.trace, s, offset=k) for s, k in DIAGONALS],
    *[
        plain("cross", pb.linalg.cross, np.linalg.cross, s, t, axis=axis)
        for s, t, axis in [
            ((3,), (3,), -1), ((2, 3), (3,), -1), ((3,), (2, 3), -1), ((3, 2), (3, 2), 0),
            ((3, 1), (3, 4), -2), ((2, 1, 3), (4, 3), -1), ((0, 3), (3,), -1),
        ]
    ],
    *[plain("det", pb.linalg.det, np.linalg.det, s) for s in STACKS],
    at("det", pb.linalg.det, leibniz, EDGES, "singular", complex=True),
    at("det", lambda x: pb.linalg.det(x * (1 + 2j)), lambda x: leibniz(x * (1 + 2j)), EDGES,
       "complex singular"),
    *[plain("adjugate", adjugate, minors, s) for s in STACKS],
    at("adjugate", adjugate, minors, EDGES, "singular", second=False),
    *[regular("adjugate_along", adjugate_along, minors_along, s, s) for s in STACKS],
    *[regular("slogdet", pb.linalg.slogdet, np.linalg.slogdet, s) for s in STACKS],
    *[regular("inv", pb.linalg.inv, np.linalg.inv, s) for s in STACKS],
    *[
        plain("pinv", pb.linalg.pinv, np.linalg.pinv, s)
        for s in [(3, 2), (2, 3), (2, 3, 2), (1, 1), (0, 2), (2, 0), (0, 2, 3)]
    ],
    *[
        plain("lstsq", pb.linalg.lstsq, least_squares, s, t)
        for s, t in [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((2, 4, 2), (2, 4, 3))]
    ],
    *[triangular(lower, False, (3, 3), (3, 2)) for lower in (False, True)],
    *[triangular(lower, True, (3, 3), (3,)) for lower in (False, True)],
    triangular(True, False, (2, 3, 3), (3,)),
    triangular(False, True, (2, 3, 3), (2, 3, 2)),
    triangular(False, False, (3, 3), (2, 3, 2)),
    triangular(True, True, (2, 1, 3, 3), (4, 3, 2)),
    triangular(True, False, (1, 1), (1,)),
    triangular(True, False, (0, 0), (0, 2)),
    triangular(False, False, (2, 2), (2, 0)),
    *[
        plain("matrix_power", lambda x, n: pb.linalg.matrix_power(x, n),
              lambda x, n: np.linalg.matrix_power(x, n), s, n=n)
        for s in [(3, 3), (2, 2, 2)] for n in (0, 1, 2, 3, 6)
    ],
    *[
        regular("matrix_power", lambda x, n=n: pb.linalg.matrix_power(x, n),
                lambda x, n=n: np.linalg.matrix_power(x, n), (2, 3, 3), n=n)
        for n in (-1, -3)
    ],
    *[plain("expm", pb.linalg.expm, scipy.linalg.expm, s) for s in STACKS],
    *[norm((2, 3, 4), ord=p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    *[norm((4, 3), ord=p, keepdims=True) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    *[
        plain("matrix_norm", pb.linalg.matrix_norm, norm_of_nothing, s, ord=p)
        for s in [(0, 0), (2, 0), (3, 0, 2), (0, 2, 2)] for p in ("fro", "nuc", 1, 2, np.inf)
    ],
    Row("matrix_rank", pb.linalg.matrix_rank, np.linalg.matrix_rank, (real(2, 3, 4),), "random",
        complex=True, differentiable=False),
    at("matrix_rank", pb.linalg.matrix_rank, np.linalg.matrix_rank, EDGES, "singular",
       differentiable=False),
    Row("matrix_rank", lambda x: pb.linalg.matrix_rank(x, rtol=0.5),
        lambda x: np.linalg.matrix_rank(x, rtol=0.5), (real(5, 3, 3),), "rtol",
        differentiable=False),
]
