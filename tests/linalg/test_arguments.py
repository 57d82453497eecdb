"""Arguments of linear algebra and Fourier transforms: what is refused, and what is taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors

linalg = pb.linalg
V, M, Q = np.ones(3), np.ones((2, 3)), np.eye(3)

# Under vmap -------------------------------------------------------------------------------------

OF_MATRICES: dict[str, Callable[..., Any]] = {
    **{name: getattr(linalg, name) for name in (
        "cholesky", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "lu",
        "matrix_norm", "matrix_rank", "pinv", "qr", "slogdet", "svd", "svdvals", "trace",
    )},
    "matrix_power": lambda x: linalg.matrix_power(x, 2),
    "solve": lambda x: linalg.solve(x, x),
    "lstsq": lambda x: linalg.lstsq(x, x),
    "triangular_solve": lambda x: linalg.triangular_solve(x, x),
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_vectors_side_by_side_are_not_taken_for_a_matrix(name: str) -> None:
    """Three vectors of three entries have the shape of a square matrix."""
    examples = np.random.default_rng(0).standard_normal((3, 3)) + 3 * Q
    with pytest.raises(errors.ShapeError, match="matrices"):
        pb.vmap(OF_MATRICES[name])(examples)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_solve_has_matrices_and_vectors_of_each_example(axes: tuple[Any, Any]) -> None:
    wrong = {(0, None): (Q, Q), (None, 0): (Q, V), (0, 0): (Q, Q)}[axes]
    with pytest.raises(errors.ShapeError, match="`solve`"):
        pb.vmap(linalg.solve, in_axes=axes)(*wrong)


# The axis of two arrays -------------------------------------------------------------------------


@pytest.mark.parametrize("call", [pb.vecdot, linalg.vecdot, linalg.cross, np.vecdot])
def test_an_axis_from_the_front_is_two_axes_of_different_ranks(call: Any) -> None:
    """NumPy's vecdot takes it, and moves another axis of each."""
    x, y = (pb.tensor(np.ones(shape), requires_grad=True) for shape in ((3, 3), (3, 3, 3)))
    with pytest.raises(errors.ArgumentError, match="axis=-1 counts from the end"):
        call(x, y, axis=1)


def test_an_axis_from_the_front_of_equal_ranks(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 3, 4)), rng.standard_normal((3, 1))
    g = rng.standard_normal((4,))
    for axis in (0, -2):
        value, pull = pb.vjp(lambda a, b, axis=axis: pb.vecdot(a, b, axis=axis), x[0], y)
        np.testing.assert_allclose(value, np.sum(x[0] * y, axis=0), rtol=1e-14)
        left, right = pull(g)
        np.testing.assert_allclose(left, g * y, rtol=1e-14)
        np.testing.assert_allclose(right, (x[0] @ g)[:, None], rtol=1e-14)
        mapped = pb.vmap(lambda a, axis=axis: pb.vecdot(a, y, axis=axis))(x)
        np.testing.assert_allclose(mapped, np.sum(x * y, axis=1), rtol=1e-14)


# Refused ----------------------------------------------------------------------------------------

MISUSE: dict[str, tuple[type[errors.PullbackError], Callable[[], Any]]] = {
    "vecdot, a number": (errors.ShapeError, lambda: pb.vecdot(1.0, V)),
    "vecdot, no such axis": (errors.PositionError, lambda: pb.vecdot(V, V, axis=1)),
    "cross, no such axis": (errors.PositionError, lambda: linalg.cross(V, V, axis=3)),
    "cross, half an axis": (errors.ArgumentTypeError, lambda: linalg.cross(V, V, axis=1.5)),
    "outer, a number": (errors.ShapeError, lambda: pb.outer(1.0, V)),
    "tensordot, an axis twice": (
        errors.ArgumentError, lambda: pb.tensordot(M, M, axes=([0, 0], [0, 0])),
    ),
    "tensordot, half": (errors.ArgumentTypeError, lambda: pb.tensordot(M, M, axes=1.5)),
    "tensordot, none": (errors.ArgumentTypeError, lambda: pb.tensordot(M, M, axes=None)),
    "tensordot, letters": (errors.ArgumentTypeError, lambda: pb.tensordot(M, M, axes="ab")),
    "tensordot, three lists": (
        errors.ArgumentError, lambda: pb.tensordot(M, M, axes=([0], [0], [0])),
    ),
    "einsum, numbers": (errors.ArgumentTypeError, lambda: pb.einsum(1, M)),
    "diagonal, half": (errors.ArgumentTypeError, lambda: linalg.diagonal(M, offset=0.5)),
    "solve, another length": (errors.ShapeError, lambda: linalg.solve(Q, np.ones(2))),
    "solve, a number": (errors.ShapeError, lambda: linalg.solve(Q, 1.0)),
    "expm, a number": (errors.ShapeError, lambda: linalg.expm(2.0)),
    "lu, a number": (errors.ShapeError, lambda: linalg.lu(2.0)),
    "pinv, a vector": (errors.ShapeError, lambda: linalg.pinv(V)),
    "pinv, NaN": (errors.ConvergenceError, lambda: linalg.pinv(M * math.nan)),
    "svdvals, of NaN by matrix_rank": (
        errors.ConvergenceError, lambda: linalg.matrix_rank(M * math.nan),
    ),
    "pinv, rtol": (errors.ShapeError, lambda: linalg.pinv(M, rtol=np.ones(4))),
    "matrix_rank, rtol": (errors.ShapeError, lambda: linalg.matrix_rank(M, rtol=np.ones(4))),
    "matrix_norm, ord": (errors.ArgumentError, lambda: linalg.matrix_norm(M, ord=np.ones(2))),
    "vector_norm, a name": (errors.ArgumentTypeError, lambda: pb.vector_norm(V, ord="fro")),
    "vector_norm, NaN": (errors.ArgumentTypeError, lambda: pb.vector_norm(V, ord=math.nan)),
    "vector_norm, tracked": (
        errors.ArgumentTypeError,
        lambda: pb.vector_norm(V, ord=pb.tensor(2.0, requires_grad=True)),
    ),
    "fft, norm": (errors.ArgumentError, lambda: pb.fft.fft(V, norm=["ortho"])),
    "fftn, lengths": (errors.ArgumentTypeError, lambda: pb.fft.fftn(M, s=2)),
    "fftfreq, no distance": (errors.ArgumentError, lambda: pb.fft.fftfreq(4, d=0)),
    "rfftfreq, a word": (errors.ArgumentError, lambda: pb.fft.rfftfreq(4, d="x")),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_named(name: str) -> None:
    error, call = MISUSE[name]
    with pytest.raises(error, match=name.partition(",")[0]):
        call()


# Taken ------------------------------------------------------------------------------------------


def test_integers_are_taken_as_floats() -> None:
    x = np.array([[2, 1], [1, 2]])
    np.testing.assert_allclose(linalg.pinv(x) @ x, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(linalg.lstsq(x, np.array([3, 3])), [1, 1])
    assert linalg.matrix_rank(x) == 2
    for order in (1, math.inf, "fro", "nuc", 2):
        assert linalg.matrix_norm(x, ord=order).dtype == np.float64


def test_norms_of_integers_on_other_libraries_are_floats_of_their_own() -> None:
    for module in ("torch", "jax.numpy"):
        xp = pytest.importorskip(module)
        found = linalg.matrix_norm(xp.asarray([[1, -2], [3, 4]]), ord=1)
        assert found.item() == 6
        assert str(found.dtype).endswith("float32")


def test_sequences_are_taken_as_arrays_of_the_library_of_the_other() -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(pb.outer([1.0, 2.0], [3.0]), [[3.0], [6.0]])
    ones = pb.tensor(torch.ones(2, dtype=torch.float64))
    assert pb.vecdot([1.0, 2.0], ones).item() == 3.0
    assert pb.outer(ones, [1.0, 2.0]).tolist() == [[1.0, 2.0]] * 2
    assert pb.einsum("i,->i", ones, 2.0).tolist() == [2.0, 2.0]


def test_the_largest_of_nothing_has_a_norm_of_zero_and_no_slope() -> None:
    libraries = [np.asarray, pytest.importorskip("torch").from_numpy]
    for make in libraries:
        for shape, axis in (((0,), None), ((0, 3), 0), ((2, 0), (0, 1))):
            x = pb.tensor(make(np.zeros(shape)), requires_grad=True)
            norm = pb.vector_norm(x, ord=math.inf, axis=axis)
            assert not np.any(norm.numpy())
            pb.sum(norm).backward()
            assert x.grad is not None
            assert x.grad.shape == shape


# PyTorch's kernels ------------------------------------------------------------------------------


def test_pytorch_takes_what_numpy_takes() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([[2, 1], [0, 4]])
    b = torch.tensor([4, 4])
    assert linalg.det(x).item() == 8
    assert linalg.slogdet(x).sign.item() == 1
    assert linalg.triangular_solve(x, b).tolist() == [1.5, 1.0]
    stack = torch.stack([torch.diag(torch.tensor([1.0, s])) for s in (0.1, 0.5)])
    limits = np.array([0.2, 0.05])
    assert linalg.matrix_rank(stack, rtol=limits).tolist() == [1, 2]
    assert linalg.pinv(stack, rtol=limits)[0].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    with pytest.raises(errors.ConvergenceError, match="`pinv`"):
        linalg.pinv(torch.full((2, 2), math.nan))
    with pytest.raises(errors.ShapeError, match="`solve`"):
        linalg.solve(torch.eye(3), torch.ones(2))


def test_reductions_over_no_axes_on_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal((2, 3))
    for reduce in (pb.logsumexp, pb.sum, pb.max, pb.mean, pb.vector_norm):
        for keepdims in (False, True):
            got = reduce(torch.from_numpy(x), axis=(), keepdims=keepdims)
            np.testing.assert_allclose(got, reduce(x, axis=(), keepdims=keepdims), rtol=1e-15)


def test_an_axis_put_in_twice_is_refused_on_pytorch() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(errors.ShapeError, match="`expand_dims`"):
        pb.expand_dims(torch.ones(2), axis=(0, 0))
    assert tuple(pb.expand_dims(torch.ones(2), axis=(0, -1)).shape) == (1, 2, 1)
