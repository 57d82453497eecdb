"""Matrices where the rows do not reach: singular ones, edges, errors; and beside JAX."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback import errors
from pullback.arrays import adjugates, namespace
from pullback.core.op import OPS
from pullback.ops.determinants import adjugate
from tests.laws.checks import random_like
from tests.laws.standard import LINALG
from tests.laws.test_registry import parameters
from tests.rows.matrices import EDGES, minors

linalg = pb.linalg
DTYPES = ("float64", "complex128")
ORDERS: list[Any] = ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]


def random(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> np.ndarray:
    return random_like(np.empty(shape, dtype), rng)


def gradient(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Of a real function, in PyTorch's convention."""
    return pb.grad(f)(x).numpy()


@pytest.mark.parametrize("name", sorted(LINALG))
def test_the_standard_is_there_with_its_signatures(name: str) -> None:
    wanted, got = LINALG[name], parameters(getattr(linalg, name))
    assert name in linalg.__all__
    missing = [p for p in wanted.split(", ") if p not in ("/", "*") and p not in got.split(", ")]
    assert not missing, f"{name}({got}) lacks {missing} of {name}({wanted})"
    assert got.startswith(wanted.partition(", /")[0])


# Beside JAX --------------------------------------------------------------------------------------


def norm_of_jax(ord: Any) -> Callable[[Any], Callable[..., Any]]:
    return lambda jax: partial(jax.numpy.linalg.matrix_norm, ord=ord)


BESIDE: dict[str, tuple[Callable[..., Any], Callable[[Any], Callable[..., Any]], list[Any]]] = {
    "cross": (linalg.cross, lambda j: j.numpy.linalg.cross, [(2, 3), (3,)]),
    "det": (linalg.det, lambda j: j.numpy.linalg.det, [(2, 4, 4)]),
    "diagonal": (
        lambda x: linalg.diagonal(x, offset=1),
        lambda j: lambda x: j.numpy.linalg.diagonal(x, offset=1), [(2, 3, 4)],
    ),
    "expm": (linalg.expm, lambda j: j.scipy.linalg.expm, [(4, 4)]),
    "inv": (linalg.inv, lambda j: j.numpy.linalg.inv, [(2, 3, 3)]),
    "lstsq": (
        linalg.lstsq, lambda j: lambda a, b: j.numpy.linalg.lstsq(a, b)[0], [(4, 2), (4, 3)],
    ),
    "matrix_power": (
        lambda x: linalg.matrix_power(x, -3),
        lambda j: lambda x: j.numpy.linalg.matrix_power(x, -3), [(3, 3)],
    ),
    "pinv": (linalg.pinv, lambda j: j.numpy.linalg.pinv, [(2, 4)]),
    "slogdet": (linalg.slogdet, lambda j: lambda x: tuple(j.numpy.linalg.slogdet(x)), [(2, 3, 3)]),
    "trace": (linalg.trace, lambda j: j.numpy.linalg.trace, [(2, 3, 4)]),
    "triangular_solve": (
        lambda a, b: linalg.triangular_solve(a, b, lower=True),
        lambda j: lambda a, b: j.scipy.linalg.solve_triangular(a, b, lower=True), [(3, 3), (3, 2)],
    ),
    **{
        f"matrix_norm {p}": (partial(linalg.matrix_norm, ord=p), norm_of_jax(p), [(3, 4)])
        for p in ORDERS
    },
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(BESIDE))
def test_vjp_of_jax(name: str, dtype: str, rng: np.random.Generator) -> None:
    """The cotangents of the two are conjugates of each other."""
    jax = pytest.importorskip("jax")
    own, theirs, shapes = BESIDE[name]
    arrays = [random(rng, *shape, dtype=dtype) for shape in shapes]
    value, pullback = pb.vjp(own, *arrays)
    several = isinstance(value, tuple)
    values = list(value) if several else [value]
    cs = [random_like(v.numpy(), rng) for v in values]
    got = pullback(type(value)(*cs) if several else cs[0])
    with jax.enable_x64(True):
        wanted_value, back = jax.vjp(theirs(jax), *arrays)
        turned = [jax.numpy.asarray(np.conj(c)) for c in cs]
        wanted = back(tuple(turned) if several else turned[0])
        found = list(wanted_value) if several else [wanted_value]
        for v, w in zip(values, found, strict=True):
            np.testing.assert_allclose(v.numpy(), np.asarray(w), atol=1e-11)
        for g, w in zip(got, wanted, strict=True):
            scale = np.max(np.abs(w))
            np.testing.assert_allclose(
                g.numpy(), np.conj(np.asarray(w)), rtol=0, atol=1e-11 * max(1, scale)
            )


# Determinants ------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 1 + 2j])
def test_the_gradient_of_singular_determinants(factor: complex) -> None:
    """Of rank 2, 1 and 0, in one stack: the minors, in any dtype."""
    x = EDGES * factor
    c = np.array([2.0, -1.0, 3.0])
    got = pb.vjp(linalg.det, x)[1](c.astype(x.dtype))[0].numpy()
    wanted = c[:, None, None] * np.conj(np.swapaxes(minors(x), -1, -2))
    np.testing.assert_allclose(got, wanted, atol=1e-13)
    assert np.any(np.abs(wanted[0]) > 0.1)
    assert not np.any(wanted[1:])


def test_the_hessian_of_a_determinant_at_zero() -> None:
    zero = np.zeros((2, 2))
    wanted = np.zeros((2, 2, 2, 2))
    wanted[0, 0, 1, 1] = wanted[1, 1, 0, 0] = 1
    wanted[0, 1, 1, 0] = wanted[1, 0, 0, 1] = -1
    np.testing.assert_array_equal(pb.hessian(linalg.det)(zero).numpy(), wanted)
    assert not np.any(pb.hessian(linalg.det)(np.zeros((4, 4))).numpy())


def test_the_hessian_at_every_rank() -> None:
    for x in EDGES:
        got = pb.jacrev(pb.grad(linalg.det))(x).numpy()
        h = 1e-3
        for k in range(9):
            d = np.zeros(9)
            d[k] = h
            moved = d.reshape(3, 3)
            wanted = np.swapaxes(minors(x + moved) - minors(x - moved), -1, -2) / (2 * h)
            np.testing.assert_allclose(got[..., k // 3, k % 3], wanted, atol=1e-10)


def test_third_derivatives_of_a_determinant() -> None:
    x = EDGES[0] + np.diag([1.0, -2.0, 0.5])
    third = pb.jacfwd(pb.hessian(linalg.det))(x).numpy()
    assert third[0, 0, 1, 1, 2, 2] == pytest.approx(1, abs=1e-12)
    assert third[0, 1, 1, 0, 2, 2] == pytest.approx(-1, abs=1e-12)
    assert third[0, 1, 1, 2, 2, 0] == pytest.approx(1, abs=1e-12)
    assert np.sum(np.abs(third)) == pytest.approx(36, abs=1e-10)
    with pytest.raises(errors.SingularMatrixError):
        pb.jacfwd(pb.hessian(linalg.det))(EDGES[0])


def test_determinants_of_small_and_no_matrices() -> None:
    assert gradient(linalg.det, np.zeros((1, 1))).item() == 1
    assert linalg.det(np.zeros((0, 0))) == 1
    assert gradient(linalg.det, np.zeros((0, 0))).shape == (0, 0)
    assert gradient(lambda x: pb.sum(linalg.det(x)), np.zeros((0, 3, 3))).shape == (0, 3, 3)


def test_nearly_singular_determinants(rng: np.random.Generator) -> None:
    for size in (1e-8, 1e-13, 1e-15, 1e-16):
        x = EDGES[0] + size * random(rng, 3, 3)
        np.testing.assert_allclose(gradient(linalg.det, x), minors(x).T, atol=1e-13)
        np.testing.assert_allclose(adjugates.adjugate(namespace(x), x), minors(x), atol=1e-13)
    tiny = np.diag([1e-200, 1e-200, 1.0])
    np.testing.assert_allclose(adjugate(tiny), np.diag([1e-200, 1e-200, 0.0]), rtol=1e-12)


def test_determinants_of_what_is_not_finite() -> None:
    x = np.stack([EDGES[0], np.full((3, 3), np.nan), np.eye(3)])
    with np.errstate(invalid="ignore"):
        got = gradient(lambda x: pb.sum(linalg.det(x)), x)
    np.testing.assert_allclose(got[[0, 2]], [minors(EDGES[0]).T, np.eye(3)], atol=1e-13)
    assert np.all(np.isnan(got[1]))


def test_the_gradient_of_a_large_determinant(rng: np.random.Generator) -> None:
    x = random(rng, 40, 40) / 6
    wanted = np.linalg.det(x) * np.linalg.inv(x).T
    np.testing.assert_allclose(
        gradient(linalg.det, x), wanted, rtol=0, atol=1e-10 * np.max(np.abs(wanted))
    )


def test_slogdet_where_a_determinant_is_no_number(rng: np.random.Generator) -> None:
    x = random(rng, 30, 30) * 1e20
    with np.errstate(over="ignore"):
        assert math.isinf(linalg.det(x))
    got = gradient(lambda x: linalg.slogdet(x).logabsdet, x)
    np.testing.assert_allclose(got @ x.T, np.eye(30), atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slogdet_of_singular_matrices(dtype: str) -> None:
    x = np.stack([np.zeros((2, 2)), 2 * np.eye(2)]).astype(dtype)
    found = linalg.slogdet(x)
    assert (found.sign[0], found.logabsdet[0]) == (0, -math.inf)
    assert np.all(np.isnan(gradient(lambda x: pb.sum(linalg.slogdet(x)[1]), x)[0]))

    def masked(x: Any) -> Any:
        found = linalg.slogdet(x)
        return pb.sum(pb.where(found.sign == 0, 0.0, found.logabsdet))

    wanted = np.stack([np.zeros((2, 2)), 0.5 * np.eye(2)])
    np.testing.assert_allclose(gradient(masked, x), wanted)


def test_the_sign_of_a_real_determinant_is_flat(rng: np.random.Generator) -> None:
    assert not np.any(gradient(lambda x: linalg.slogdet(x).sign, random(rng, 3, 3)))


# Inverses and solvers ----------------------------------------------------------------------------


def test_singular_matrices_have_no_inverse() -> None:
    for call in (linalg.inv, lambda x: linalg.matrix_power(x, -2)):
        for x in (EDGES[2], EDGES):
            with pytest.raises(errors.SingularMatrixError, match="`inv`"):
                call(x)
    with pytest.raises(errors.SingularMatrixError, match="`triangular_solve`"):
        linalg.triangular_solve(np.array([[1.0, 2.0], [0.0, 0.0]]), np.ones(2))
    with pytest.raises(errors.SingularMatrixError, match="`triangular_solve`"):
        linalg.triangular_solve(np.tril(EDGES), np.ones(3), lower=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pinv_among_matrices_of_one_rank(dtype: str, rng: np.random.Generator) -> None:
    """Of rank 2 in 4 x 3: along a path that keeps it, in both modes."""
    left, right = random(rng, 4, 2, dtype=dtype), random(rng, 2, 3, dtype=dtype)
    u, v = random(rng, 4, 2, dtype=dtype), random(rng, 2, 3, dtype=dtype)
    weights = random(rng, 3, 4, dtype=dtype)

    def at(h: float) -> np.ndarray:
        return np.linalg.pinv((left + h * u) @ (right + h * v), rtol=1e-10)

    measured = (8 * (at(1e-3) - at(-1e-3)) - (at(2e-3) - at(-2e-3))) / 12e-3
    x, t = left @ right, u @ right + left @ v
    call = partial(linalg.pinv, rtol=1e-10)
    ahead = pb.jvp(call, (x,), (t,))[1].numpy()
    np.testing.assert_allclose(ahead, measured, atol=1e-7)
    (back,) = pb.vjp(call, x)[1](weights)
    wanted = np.sum(np.real(np.conj(weights) * ahead))
    assert np.sum(np.real(np.conj(back.numpy()) * t)) == pytest.approx(wanted, rel=1e-11)


def test_least_squares_of_lost_rank(rng: np.random.Generator) -> None:
    b = random(rng, 3, 2)
    for a in EDGES:
        wanted = np.linalg.lstsq(a, b, rcond=None)[0]
        np.testing.assert_allclose(linalg.lstsq(a, b), wanted, atol=1e-13)
        wanted = np.linalg.lstsq(a, b[:, 0], rcond=None)[0]
        np.testing.assert_allclose(linalg.lstsq(a, b[:, 0]), wanted, atol=1e-13)


def test_least_squares_follow_the_normal_equations(rng: np.random.Generator) -> None:
    a, b, c = random(rng, 6, 3), random(rng, 6), random(rng, 3)
    normal = pb.vjp(lambda a, b: linalg.solve(a.mT @ a, a.mT @ b), a, b)[1](c)
    for got, wanted in zip(pb.vjp(linalg.lstsq, a, b)[1](c), normal, strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), atol=1e-12)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangles_are_all_that_is_read(
    lower: bool, unit: bool, rng: np.random.Generator
) -> None:
    read = np.tril(np.ones((3, 3)), -unit) if lower else np.triu(np.ones((3, 3)), unit)
    whole = 3.0 + random(rng, 2, 3, 3)
    a = np.where(read == 1, whole, np.nan)
    b = random(rng, 3, 2)
    how = {"lower": lower, "unit_diagonal": unit}
    part = np.where(read == 1, whole, 0) + unit * np.eye(3)
    for x, full in ((a, part), (a[0], part[0])):
        np.testing.assert_allclose(
            linalg.triangular_solve(x, b, **how), np.linalg.solve(full, b), atol=1e-12
        )
        found = gradient(lambda x: pb.sum(linalg.triangular_solve(x, b, **how)), x)
        assert np.all(found[..., read == 0] == 0)
        assert np.all(found[..., read == 1] != 0)
    forward = OPS["triangular_solve"].op.kernels.forward  # type: ignore[attr-defined]
    np.testing.assert_allclose(forward(np, a, b, **how), np.linalg.solve(part, b), atol=1e-12)


# Norms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ord", ORDERS)
def test_norms_at_zero(ord: Any, dtype: str) -> None:
    x = np.zeros((2, 3), dtype)
    assert not np.any(gradient(lambda x: linalg.matrix_norm(x, ord=ord), x))


def test_norms_at_repeated_singular_values(rng: np.random.Generator) -> None:
    """Subgradients: ⟨G, x⟩ is the norm, and G is in the unit ball of the dual norm."""
    q = np.linalg.qr(random(rng, 4, 4))[0]
    for x in (2 * np.eye(4), q, q @ np.diag([3.0, 3.0, 1.0, 0.0])):
        pairs: list[tuple[Any, Any]] = [(2, "nuc"), ("nuc", 2)]
        for ord, dual in pairs:
            g = gradient(partial(linalg.matrix_norm, ord=ord), x)
            assert np.sum(g * x) == pytest.approx(np.linalg.matrix_norm(x, ord=ord), rel=1e-12)
            assert np.linalg.matrix_norm(g, ord=dual) <= 1 + 1e-12
    np.testing.assert_allclose(
        gradient(lambda x: linalg.matrix_norm(x, ord=2), 2 * np.eye(4)), np.eye(4) / 4
    )


def test_columns_and_rows_that_tie_share() -> None:
    x = np.array([[1.0, -1.0], [2.0, 2.0]])
    got = gradient(lambda x: linalg.matrix_norm(x, ord=1), x)
    np.testing.assert_array_equal(got, [[0.5, -0.5], [0.5, 0.5]])


def test_norms_of_nothing() -> None:
    for ord in ("fro", "nuc", 1, 2, math.inf):
        found = linalg.matrix_norm(np.zeros((3, 0, 2)), ord=ord, keepdims=True)
        np.testing.assert_array_equal(found, np.zeros((3, 1, 1)))
    for ord in (-2, -math.inf):
        with pytest.raises(errors.ShapeError):
            linalg.matrix_norm(np.zeros((0, 2)), ord=ord)


def test_ranks() -> None:
    np.testing.assert_array_equal(linalg.matrix_rank(EDGES), [2, 1, 0])
    assert linalg.matrix_rank(np.zeros((0, 3))) == 0
    assert linalg.matrix_rank(np.eye(3, dtype="complex64")) == 3
    x = np.stack([np.diag([1.0, 0.1])] * 2)
    np.testing.assert_array_equal(linalg.matrix_rank(x, rtol=np.array([0.01, 0.5])), [2, 1])
    found = linalg.matrix_rank(pb.tensor(x, requires_grad=True))
    assert not found.requires_grad


# Powers, exponentials, diagonals -----------------------------------------------------------------


def test_powers_at_the_edges() -> None:
    zero = np.zeros((2, 2))
    np.testing.assert_array_equal(linalg.matrix_power(zero, 0), np.eye(2))
    assert not np.any(gradient(lambda x: pb.sum(linalg.matrix_power(x, 0)), zero))
    unknown = np.full((2, 2), np.nan)
    np.testing.assert_array_equal(linalg.matrix_power(unknown, 0), np.eye(2))
    np.testing.assert_array_equal(
        gradient(lambda x: linalg.matrix_power(x, 1)[0, 1], zero), [[0, 1], [0, 0]]
    )
    half: Any = 0.5
    with pytest.raises(errors.ArgumentTypeError, match="an integer"):
        linalg.matrix_power(zero, half)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_the_exponential_along_any_length(size: float, rng: np.random.Generator) -> None:
    """The derivative is linear, to the last digits, however long the tangent is."""
    x, t = random(rng, 3, 3), random(rng, 3, 3)
    wanted = scipy.linalg.expm_frechet(x, t, compute_expm=False)
    got = pb.jvp(linalg.expm, (x,), (size * t,))[1].numpy() / size
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-13 * np.max(np.abs(wanted)))


def test_the_exponential_of_large_nilpotent_and_no_matrices() -> None:
    x = np.array([[0.0, 1e8], [0.0, 0.0]])
    np.testing.assert_allclose(linalg.expm(x), np.array([[1.0, 1e8], [0.0, 1.0]]))
    got = gradient(lambda x: linalg.expm(x)[0, 1], x)
    np.testing.assert_allclose(got, np.array([[5e7, 1.0], [1e16 / 6, 5e7]]), rtol=1e-12)
    assert gradient(lambda x: pb.sum(linalg.expm(x)), np.zeros((0, 0))).shape == (0, 0)


def test_the_exponential_of_a_trace(rng: np.random.Generator) -> None:
    """det exp x is exp tr x, in values and gradients."""
    x = random(rng, 4, 4)
    got = gradient(lambda x: linalg.det(linalg.expm(x)), x)
    np.testing.assert_allclose(got, np.exp(np.trace(x)) * np.eye(4), atol=1e-11)


def test_diagonals_share_memory() -> None:
    x = np.zeros((2, 3, 4))
    for offset in (-1, 0, 2):
        assert np.shares_memory(linalg.diagonal(x, offset=offset), x)
    t = pb.zeros((3, 3))
    linalg.diagonal(t)[...] = 2.0
    np.testing.assert_array_equal(t.numpy(), 2 * np.eye(3))


def test_traces_in_another_dtype() -> None:
    x = np.full((300, 300), 1000, "int16")
    assert linalg.trace(x) == 300_000
    assert linalg.trace(np.ones((2, 3), "float32"), dtype=np.float64).dtype == np.float64


# Mapped ------------------------------------------------------------------------------------------


def test_singular_matrices_among_examples() -> None:
    got = pb.vmap(pb.grad(linalg.det))(EDGES).numpy()
    np.testing.assert_allclose(got, np.swapaxes(minors(EDGES), -1, -2), atol=1e-13)
    np.testing.assert_array_equal(pb.vmap(linalg.matrix_rank)(EDGES).numpy(), [2, 1, 0])
