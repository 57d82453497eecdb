"""Decompositions where the rows do not reach: repeated eigenvalues, lost rank, errors, gauges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from tests.laws.checks import central, inner, random_like

linalg = pb.linalg
DTYPES = ("float64", "complex128")


def random(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> np.ndarray:
    return random_like(np.empty(shape, dtype), rng)


def unitary(rng: np.random.Generator, n: int, dtype: str) -> np.ndarray:
    return np.linalg.qr(random(rng, n, n, dtype=dtype))[0]


def with_eigenvalues(rng: np.random.Generator, w: list[float], dtype: str) -> np.ndarray:
    v = unitary(rng, len(w), dtype)
    return (v * np.array(w)) @ np.conj(v.T)


def gradient(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Of a real function, in PyTorch's convention."""
    return pb.grad(f)(x).numpy()


def assert_along(
    f: Callable[[Any], Any], x: np.ndarray, got: np.ndarray, t: np.ndarray, tolerance: float = 1e-7
) -> None:
    """The gradient is right in a direction."""
    measured = central(lambda h: float(f(x + h * t)))
    assert abs(inner([got], [t]) - measured) < tolerance * max(1, abs(measured))


def projector(v: Any) -> Any:
    return v @ pb.conj(v).mT


# Repeated eigenvalues ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_projector_on_the_space_of_a_repeated_eigenvalue(
    dtype: str, rng: np.random.Generator
) -> None:
    weights = random(rng, 4, 4, dtype=dtype)

    def f(x: Any) -> Any:
        return pb.sum(pb.real(weights * projector(linalg.eigh(x).eigenvectors[:, :2])))

    x = with_eigenvalues(rng, [1, 1, 3, 3], dtype)
    got = gradient(f, x)
    np.testing.assert_allclose(got, np.conj(got.T), atol=1e-13)
    for _ in range(3):
        t = random(rng, 4, 4, dtype=dtype)
        assert_along(f, x, got, t + np.conj(t.T))
        ahead = pb.jvp(f, (x,), (t,))[1].item()
        assert abs(ahead - inner([got], [t])) < 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
def test_a_sum_over_repeated_eigenvalues(name: str, dtype: str, rng: np.random.Generator) -> None:
    """Of exp: its gradient is exp(x)."""
    w = [0.5, 0.5, 0.5, -1.0]
    x = with_eigenvalues(rng, w, dtype)
    values = getattr(linalg, name)
    got = gradient(lambda x: pb.sum(pb.exp(values(x)[0] if name == "eigh" else values(x))), x)
    u, v = np.linalg.eigh(x)
    np.testing.assert_allclose(got, (v * np.exp(u)) @ np.conj(v.T), atol=1e-12)


def test_the_documented_answer_where_eigenvalues_and_vectors_are_used_apart() -> None:
    """Of V diag(w) Vᴴ = x at the identity, only the diagonal in the basis chosen is seen."""
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(x: Any) -> Any:
        w, v = linalg.eigh(x)
        return pb.sum(weights * ((v * w) @ v.mT))

    np.testing.assert_allclose(gradient(f, np.eye(2)), np.diag([1.0, 4.0]), atol=1e-15)
    for gap, error in ((1e-3, 1e-11), (1e-13, 1e-2)):
        apart = gradient(f, np.diag([1.0, 1 + gap]))
        np.testing.assert_allclose(apart, [[1.0, 2.5], [2.5, 4.0]], atol=error)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigenvalues_that_rounding_errors_tell_apart_are_repeated(dtype: str) -> None:
    eps = np.finfo(dtype).eps
    x = np.diag([1.0, 1 + eps, 1 + 2 * eps]).astype(dtype)

    def f(x: Any) -> Any:
        w, v = linalg.eigh(x)
        return pb.sum(v**3) + pb.sum(w)

    got = gradient(f, x)
    assert np.abs(got).max() < 2
    assert got.dtype == dtype


def test_repeated_eigenvalues_of_no_symmetric_matrix() -> None:
    """Their sum has the identity for its gradient, and nothing is infinite."""
    for x in (np.eye(3), np.zeros((2, 2)), np.diag([2.0, 2.0, -1.0])):
        got = gradient(lambda x: pb.sum(pb.real(linalg.eigvals(x))), x)
        np.testing.assert_allclose(got, np.eye(len(x)), atol=1e-15)
        vectors = gradient(lambda x: pb.sum(pb.abs(linalg.eig(x).eigenvectors) ** 2), x)
        np.testing.assert_allclose(vectors, 0, atol=1e-15)


def test_second_order_at_repeated_eigenvalues_is_finite(rng: np.random.Generator) -> None:
    x = with_eigenvalues(rng, [1, 1, 2], "float64")
    t = random(rng, 3, 3)
    for f in (linalg.eigvalsh, linalg.svdvals, lambda x: linalg.eigh(x).eigenvectors ** 2):
        found = pb.hvp(lambda x, f=f: pb.sum(f(x) ** 2), (x,), (t,))
        assert np.isfinite(np.asarray(found[1] if isinstance(found, tuple) else found)).all()


# Singular values --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
@pytest.mark.parametrize("full", [True, False])
def test_vectors_of_a_matrix_without_full_rank(
    shape: tuple[int, int], full: bool, dtype: str, rng: np.random.Generator
) -> None:
    """What belongs to the rank has its derivative; the rest neither warns nor is infinite."""
    m, n = shape
    x = random(rng, m, 1, dtype=dtype) @ random(rng, 1, n, dtype=dtype)
    weights = random(rng, m, n, dtype=dtype)

    def best(x: Any) -> Any:
        u, s, vh = linalg.svd(x, full_matrices=full)
        return pb.sum(pb.real(weights * (u[:, :1] * s[:1] @ vh[:1])))

    assert_along(best, x, gradient(best, x), random(rng, m, n, dtype=dtype))

    def everything(x: Any) -> Any:
        return sum(pb.sum(pb.abs(part) ** 3) for part in linalg.svd(x, full_matrices=full))

    assert np.isfinite(gradient(everything, x)).all()
    assert np.isfinite(gradient(everything, 0 * x)).all()


def test_the_polar_factor_where_singular_values_are_equal(rng: np.random.Generator) -> None:
    """U Vᴴ is smooth there: only sums of singular values divide it."""
    weights, x, t = random(rng, 3, 3), 2 * unitary(rng, 3, "float64"), random(rng, 3, 3)

    def f(x: Any) -> Any:
        u, _, vh = linalg.svd(x)
        return pb.sum(weights * (u @ vh))

    assert_along(f, x, gradient(f, x), t)


def test_the_nuclear_norm_of_zeros_has_a_slope_of_at_most_one() -> None:
    got = gradient(lambda x: pb.sum(linalg.svdvals(x)), np.zeros((3, 2)))
    assert np.linalg.norm(got, 2) <= 1 + 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 2), (2, 5)])
def test_the_null_space(shape: tuple[int, int], dtype: str, rng: np.random.Generator) -> None:
    """Columns that only complete a basis: the projector on their space is differentiated."""
    m, n = shape
    x = random(rng, m, n, dtype=dtype)
    weights = random(rng, max(shape), max(shape), dtype=dtype)

    def by_svd(x: Any) -> Any:
        u, _, vh = linalg.svd(x)
        rest = u[:, 2:] if m > n else pb.conj(vh[2:]).mT
        return pb.sum(pb.real(weights * projector(rest)))

    def by_qr(x: Any) -> Any:
        tall = x if m > n else pb.conj(x).mT
        return pb.sum(pb.real(weights * projector(linalg.qr(tall, mode="complete").Q[:, 2:])))

    t = random(rng, m, n, dtype=dtype)
    for f in (by_svd, by_qr):
        assert_along(f, x, gradient(f, x), t)
    np.testing.assert_allclose(gradient(by_svd, x), gradient(by_qr, x), atol=1e-12)


# Which basis, and which triangle ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_tangents_of_vectors_have_no_part_along_themselves(
    dtype: str, rng: np.random.Generator
) -> None:
    x, t = random(rng, 4, 4, dtype=dtype), random(rng, 4, 4, dtype=dtype)

    def along(vectors: Any, tangents: Any) -> np.ndarray:
        return np.sum(np.conj(np.asarray(vectors)) * np.asarray(tangents), axis=-2)

    for f in (linalg.eigh, linalg.eig):
        (_, v), (_, dv) = pb.jvp(f, (x,), (t,))
        np.testing.assert_allclose(along(v, dv), 0, atol=1e-12)
    (u, _, vh), (du, _, dvh) = pb.jvp(linalg.svd, (x,), (t,))
    both = along(u, du) + along(pb.conj(vh).mT, pb.conj(dvh).mT)
    np.testing.assert_allclose(both, 0, atol=1e-12)
    _, (_, dr) = pb.jvp(linalg.qr, (x,), (t,))
    np.testing.assert_allclose(np.imag(np.diagonal(np.asarray(dr))), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["eigvalsh", "cholesky"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_triangle_is_read_and_the_gradient_is_hermitian(
    name: str, dtype: str, rng: np.random.Generator
) -> None:
    function = getattr(linalg, name)
    x = with_eigenvalues(rng, [1, 2, 4], dtype)
    other = np.tril(x) + 9 * np.triu(np.ones((3, 3)), 1)
    np.testing.assert_allclose(function(other), function(x), atol=1e-13)
    f = lambda x: pb.sum(pb.abs(function(x)) ** 3)  # noqa: E731
    got, t = gradient(f, x), random(rng, 3, 3, dtype=dtype)
    np.testing.assert_allclose(got, np.conj(got.T), atol=1e-13)
    assert abs(pb.jvp(f, (x,), (t,))[1].item() - inner([got], [t])) < 1e-11
    if name == "cholesky":
        np.testing.assert_allclose(
            function(np.conj(other.T), upper=True), np.conj(function(x).T), atol=1e-13
        )


def test_eig_of_a_real_matrix_is_complex_and_its_gradient_real(rng: np.random.Generator) -> None:
    x = np.array([[1.0, 2.0, 0.3], [-3.0, 1.5, 0.1], [0.2, -0.4, 5.0]], np.float32)
    w, v = linalg.eig(x)
    assert (w.dtype, v.dtype) == (np.complex64, np.complex64)
    assert np.abs(w.imag).max() > 1
    assert linalg.eig(np.eye(2))[0].dtype == np.complex128
    f = lambda x: pb.sum(pb.imag(linalg.eigvals(x)) ** 2)  # noqa: E731
    assert gradient(f, x).dtype == np.float32
    wide = x.astype(float)
    assert_along(f, wide, gradient(f, wide), random(rng, 3, 3))


# Beside other libraries -------------------------------------------------------------------------


def invariants(xp: Any, linalg: Any, name: str) -> Callable[[Any], Any]:
    """A decomposition's results without phases, in a library's words."""
    def adjoint(x: Any) -> Any:
        return xp.conj(xp.swapaxes(x, -1, -2))

    def f(x: Any) -> Any:
        if name == "eigh":
            w, v = linalg.eigh((x + adjoint(x)) / 2)
            return w, (v * w[..., None, :] ** 2) @ adjoint(v)
        if name == "svd":
            u, s, vh = linalg.svd(x, full_matrices=False)
            row = s[..., None, :]
            return s, (u * row**3) @ vh, (u * row) @ adjoint(u), (adjoint(vh) * row) @ vh
        if name == "cholesky":
            return (linalg.cholesky(x @ adjoint(x)),)
        return tuple(getattr(linalg, name)(x)) if name == "qr" else (getattr(linalg, name)(x),)

    return f


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cholesky", "qr", "eigh", "eigvals", "svd", "svdvals"])
def test_the_inner_convention_is_that_of_jax(
    name: str, dtype: str, rng: np.random.Generator
) -> None:
    """What users see is conjugated where it enters and where it leaves."""
    jax = pytest.importorskip("jax")
    x = random(rng, 2, 3, 3, dtype=dtype)
    out, mine = pb.vjp(invariants(pb, linalg, name), x)
    with jax.enable_x64(True):
        theirs_out, theirs = jax.vjp(invariants(jax.numpy, jax.numpy.linalg, name), x)
        theirs_out = [np.asarray(o) for o in theirs_out]
        for a, b in zip(out, theirs_out, strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-11, atol=1e-11)
        c = [random_like(o, rng) for o in theirs_out]
        wanted = np.asarray(theirs(tuple(c))[0])
    (got,) = mine(tuple(np.conj(k) for k in c))
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(np.conj(np.asarray(got)), wanted, atol=1e-10 * scale)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_beside_jax(dtype: str, rng: np.random.Generator) -> None:
    jax = pytest.importorskip("jax")
    for shape in ((3, 3), (4, 2), (2, 4)):
        x = random(rng, *shape, dtype=dtype)
        out, mine = pb.vjp(linalg.lu, x)
        c = [random_like(np.asarray(o), rng) for o in out]
        with jax.enable_x64(True):
            wanted = np.asarray(jax.vjp(jax.scipy.linalg.lu, x)[1](tuple(c))[0])
        (got,) = mine(type(out)(*[np.conj(k) for k in c]))
        np.testing.assert_allclose(np.conj(np.asarray(got)), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("name", ["qr", "eig", "svd"])
def test_beside_torch(
    name: str, shape: tuple[int, int], dtype: str, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    if name == "eig":
        shape = (3, 3)
    x = random(rng, *shape, dtype=dtype)

    def f(xp: Any, linalg: Any, x: Any) -> Any:
        if name == "eig":
            w, v = linalg.eig(x)
            return xp.sum(xp.abs((v * w) @ xp.conj(v).mT) ** 3)
        if name == "qr":
            q, r = linalg.qr(x)
            return xp.sum(xp.abs(q) ** 3) + xp.sum(xp.abs(r) ** 3)
        u, s, vh = linalg.svd(x, full_matrices=False)
        return xp.sum(xp.abs((u * s**2) @ vh) ** 3) + xp.sum(xp.abs(u) ** 4)

    given = torch.tensor(x, requires_grad=True)
    f(torch, torch.linalg, given).backward()
    got = gradient(lambda x: f(pb, linalg, x), x)
    np.testing.assert_allclose(got, given.grad.numpy(), rtol=1e-9, atol=1e-9)


# Programs ---------------------------------------------------------------------------------------


def test_the_hessian_of_a_log_determinant(rng: np.random.Generator) -> None:
    """-x⁻¹ t x⁻¹, for Hermitian t, by three decompositions."""
    x = with_eigenvalues(rng, [1, 2, 5], "float64")
    t = random(rng, 3, 3)
    t = t + t.T
    inverse = np.linalg.inv(x)
    for f in (
        lambda x: 2 * pb.sum(pb.log(pb.einsum("ii->i", linalg.cholesky(x)))),
        lambda x: pb.sum(pb.log(linalg.eigvalsh(x))),
        lambda x: pb.sum(pb.log(linalg.svdvals(x))),
        lambda x: pb.sum(pb.log(pb.abs(pb.einsum("ii->i", linalg.lu(x).U)))),
        lambda x: pb.sum(pb.log(pb.abs(pb.einsum("ii->i", linalg.qr(x).R)))),
    ):
        forward = pb.jvp(pb.grad(f), (x,), (t,))[1].numpy()
        reverse = pb.grad(lambda x, f=f: pb.sum(pb.grad(f)(x) * t))(x).numpy()
        np.testing.assert_allclose(forward, -inverse @ t @ inverse, atol=1e-12)
        np.testing.assert_allclose(reverse, -inverse @ t @ inverse, atol=1e-12)


@pytest.mark.parametrize("name", ["qr", "eigh", "eig", "svd", "lu"])
def test_results_have_names_also_of_each_example(name: str, rng: np.random.Generator) -> None:
    names = {
        "qr": ("Q", "R"), "eigh": ("eigenvalues", "eigenvectors"), "svd": ("U", "S", "Vh"),
        "eig": ("eigenvalues", "eigenvectors"), "lu": ("P", "L", "U"),
    }[name]
    x = random(rng, 2, 3, 3)
    function = getattr(linalg, name)
    for found in (function(x), function(pb.tensor(x)), pb.vmap(function)(x)):
        assert found._fields == names
        for part, wanted in zip(found, function(x), strict=True):
            np.testing.assert_allclose(np.asarray(part), wanted, atol=1e-13)


def test_gradients_per_example(rng: np.random.Generator) -> None:
    x = random(rng, 5, 3, 2)
    for name, part in (("qr", 0), ("qr", 1), ("svd", 1), ("lu", 1), ("lu", 2)):

        def f(x: Any, name: str = name, part: int = part) -> Any:
            return pb.sum(getattr(linalg, name)(x)[part] ** 3)

        one = pb.grad(f)
        looped = np.stack([one(example).numpy() for example in x])
        np.testing.assert_allclose(pb.vmap(one)(x).numpy(), looped, atol=1e-13)


def test_one_result_alone(rng: np.random.Generator) -> None:
    """The cotangents of the others are zeros."""
    x, t = random(rng, 4, 3), random(rng, 4, 3)
    for name, count in (("qr", 2), ("svd", 3), ("lu", 3)):
        for i in range(count):
            attrs = {"full_matrices": False} if name == "svd" else {}

            def f(x: Any, name: str = name, i: int = i, attrs: Any = attrs) -> Any:
                return pb.sum(getattr(linalg, name)(x, **attrs)[i] ** 4)

            assert_along(f, x, gradient(f, x), t)
    assert not gradient(lambda x: pb.sum(linalg.lu(x).P), x).any()


# Errors -----------------------------------------------------------------------------------------


def test_no_positive_definite_matrix() -> None:
    for x in (np.diag([1.0, -1.0]), pb.tensor(np.zeros((2, 2)), requires_grad=True)):
        with pytest.raises(errors.SingularMatrixError, match="positive definite"):
            linalg.cholesky(x)
    with pytest.raises(errors.SingularMatrixError, match="`cholesky`"):
        pb.vmap(linalg.cholesky)(np.stack([np.eye(2), -np.eye(2)]))


@pytest.mark.parametrize("name", ["qr", "lu"])
def test_factors_of_a_singular_matrix_have_no_derivative(name: str) -> None:
    x = pb.tensor(np.array([[1.0, 0.0], [2.0, 0.0]]), requires_grad=True)
    found = getattr(linalg, name)(x)
    with pytest.raises(errors.SingularMatrixError) as caught:
        pb.sum(found[-1]).backward()
    assert f"in the gradient of `{name}`" in caught.value.__notes__[0]


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh", "eig", "eigvals"])
def test_matrices_that_are_not_square(name: str) -> None:
    for x in (np.ones((2, 3)), pb.tensor(np.ones((2, 3)))):
        with pytest.raises(errors.ShapeError, match="square matrices"):
            getattr(linalg, name)(x)


NAMES = ("cholesky", "qr", "lu", "eigh", "eigvalsh", "eig", "svd", "svdvals")


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_no_matrices(name: str) -> None:
    function = getattr(linalg, name)
    with pytest.raises(errors.ShapeError, match=name):
        function(np.ones(3))
    with pytest.raises(errors.ShapeError, match=name):
        pb.vmap(function)(np.ones((3, 3)))


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "eig", "svd", "svdvals"])
def test_nan_is_told(name: str) -> None:
    x = np.full((3, 3), np.nan)
    with pytest.raises(errors.ConvergenceError, match="NaN or infinite"):
        getattr(linalg, name)(x)


def test_another_mode_of_qr() -> None:
    with pytest.raises(errors.ArgumentError, match="'reduced' or 'complete'"):
        linalg.qr(np.eye(2), mode="full")


def test_integers_are_taken_as_floats() -> None:
    x = np.array([[2, 1], [1, 2]])
    for name in NAMES:
        found = getattr(linalg, name)(x)
        for part in found if isinstance(found, tuple) else (found,):
            assert part.dtype in (np.float64, np.complex128)
