"""`linalg.solve`: shapes, derivatives against those of the inverse, batching, errors."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ShapeError, SingularMatrixError
from tests.solvers.checks import close, rng, same

RIGHT = rng(0).normal(size=3)
MATRIX = rng(1).normal(size=(3, 3)) + 4 * np.eye(3)


def by_cofactors(a: pb.Tensor, b: np.ndarray) -> pb.Tensor:
    """The solution of two equations by Cramer's rule."""
    det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return pb.stack([a[1, 1] * b[0] - a[0, 1] * b[1], a[0, 0] * b[1] - a[1, 0] * b[0]]) / det


def test_every_derivative_in_the_matrix_is_that_of_cramers_rule() -> None:
    b = rng(2).normal(size=2)
    same(lambda a: pb.linalg.solve(a, b), lambda a: by_cofactors(a, b), MATRIX[:2, :2], 1e-9)


def test_every_derivative_in_the_right_side_is_that_of_the_inverse() -> None:
    inverse = np.linalg.inv(MATRIX)
    same(lambda b: pb.linalg.solve(MATRIX, b), lambda b: inverse @ b, RIGHT, 1e-10)


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        ((5, 3, 3), (5, 3), (0, 0)), ((3, 3), (5, 3), (None, 0)), ((5, 3, 3), (3,), (0, None)),
        ((5, 2, 3, 3), (5, 3), (0, 0)), ((2, 3, 3), (5, 3), (None, 0)),
        ((5, 3, 3), (5, 3, 2), (0, 0)), ((3, 3), (5, 3, 2), (None, 0)),
        ((5, 3, 3), (3, 2), (0, None)), ((5, 2, 3, 3), (5, 3, 2), (0, 0)),
        ((5, 3, 3), (5, 4, 3, 2), (0, 0)), ((2, 3, 3), (5, 3, 4), (None, 0)),
        ((3, 3), (5, 2, 3, 4), (None, 0)), ((5, 2, 3, 3), (3, 2), (0, None)),
    ],
)
def test_vmap_is_a_loop(a: tuple, b: tuple, axes: tuple) -> None:
    draw = rng(len(a) * 10 + len(b))
    left, right = draw.normal(size=a) + 4 * np.eye(3), draw.normal(size=b)
    wanted = []
    for i in range(5):
        given = [x if axis is None else x[i] for x, axis in zip((left, right), axes, strict=True)]
        wanted.append(np.linalg.solve(*given))
    close(pb.vmap(pb.linalg.solve, axes)(left, right), np.stack(wanted), 1e-12)


def test_vmap_in_vmap() -> None:
    left = rng(3).normal(size=(2, 4, 3, 3)) + 4 * np.eye(3)
    found = pb.vmap(pb.vmap(pb.linalg.solve, (0, None)), (0, None))(left, RIGHT)
    close(found, np.linalg.solve(left, RIGHT), 1e-12)


def test_a_singular_matrix_is_named() -> None:
    with pytest.raises(SingularMatrixError, match=r"singular one among shape \(2, 2\)"):
        pb.linalg.solve(pb.zeros((2, 2)), pb.ones(2))
    with pytest.raises(ValueError, match="inverse"):
        pb.linalg.solve(np.ones((2, 2)), np.ones(2))


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ShapeError, match="square"):
        pb.linalg.solve(pb.ones((2, 3)), pb.ones(2))
    with pytest.raises(ShapeError, match="solve"):
        pb.linalg.solve(pb.eye(2), pb.ones(3))


def test_the_room_has_what_the_standard_has_elsewhere_too() -> None:
    for name in ("matmul", "matrix_transpose", "outer", "tensordot", "vecdot", "vector_norm"):
        assert getattr(pb.linalg, name) is getattr(pb, name)
