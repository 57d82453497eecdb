"""Complex gradients: PyTorch's convention, and JAX's behind one keyword, beside JAX itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

REAL_VALUED: dict[str, Callable[[Any, Any], Any]] = {
    "squares of moduli": lambda xp, z: xp.sum(xp.abs(z) ** 2),
    "imaginary parts": lambda xp, z: xp.sum(xp.imag(z * z) ** 3),
    "of an exponential": lambda xp, z: xp.sum(xp.real(xp.exp(z)) * xp.imag(z)),
    "of a product": lambda xp, z: xp.sum(xp.abs(z @ xp.conj(z).T)),
    "of a quotient": lambda xp, z: xp.real(xp.sum(z / (1 + xp.abs(z)))),
    "angles": lambda xp, z: xp.sum(xp.real(xp.log(z)) * xp.abs(xp.sqrt(z))),
}
HOLOMORPHIC: dict[str, Callable[[Any, Any], Any]] = {
    "a cube": lambda xp, z: xp.sum(z * z * z),
    "an exponential": lambda xp, z: xp.sum(xp.exp(z) * (1 + 2j)),
    "a rational function": lambda xp, z: xp.sum((z - 1j) / (z + 3)),
    "of matrices": lambda xp, z: xp.sum(z @ z @ z),
}


def named(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("f", table.values(), ids=list(table))


@pytest.fixture
def z(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))


def of_jax(f: Callable[..., Any], *args: Any) -> Any:
    """What a function gives for arrays of JAX's in 64 bits, as NumPy's."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, f(jax, *args))


def close(got: Any, wanted: Any) -> None:
    got, wanted = np.asarray(pb.asarray(got).data), np.asarray(wanted)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-11 * max(1, np.max(np.abs(wanted))))


@named(REAL_VALUED)
def test_a_loss(f: Callable[..., Any], z: np.ndarray) -> None:
    wanted = of_jax(lambda jax, z: jax.grad(lambda z: f(jax.numpy, z))(jax.numpy.asarray(z)), z)
    assert np.max(np.abs(wanted.imag)) > 1e-3
    close(pb.grad(lambda z: f(pb, z), conjugate=False)(z), wanted)
    close(pb.grad(lambda z: f(pb, z))(z), np.conj(wanted))
    value, gradient = pb.value_and_grad(lambda z: f(pb, z), conjugate=False)(z)
    close(gradient, wanted)
    close(value, f(np, z))


@named(REAL_VALUED)
def test_descent_goes_down(f: Callable[..., Any], z: np.ndarray) -> None:
    """Along the gradient of the first convention, by as much as its square says."""
    g = np.asarray(pb.grad(lambda z: f(pb, z))(z))
    step = 1e-6
    change = (f(np, z - step * g) - f(np, z + step * g)) / (2 * step)
    np.testing.assert_allclose(change, -np.sum(np.abs(g) ** 2), rtol=1e-6)


@named(HOLOMORPHIC)
@pytest.mark.parametrize("conjugate", [True, False])
def test_a_complex_derivative(f: Callable[..., Any], z: np.ndarray, conjugate: bool) -> None:
    """It is what it is in either convention."""
    wanted = of_jax(
        lambda jax, z: jax.grad(lambda z: f(jax.numpy, z), holomorphic=True)(z), z
    )
    close(pb.grad(lambda z: f(pb, z), holomorphic=True, conjugate=conjugate)(z), wanted)


@named({**REAL_VALUED, **HOLOMORPHIC})
def test_pulls(f: Callable[..., Any], z: np.ndarray, rng: np.random.Generator) -> None:
    """Of a random cotangent, complex where the value is."""
    seed = rng.standard_normal() + 0j
    if np.iscomplexobj(f(np, z)):
        seed += 1j * rng.standard_normal()
    seed = np.asarray(seed if np.iscomplexobj(f(np, z)) else seed.real)
    wanted = of_jax(
        lambda jax, z, c: jax.vjp(lambda z: f(jax.numpy, z), jax.numpy.asarray(z))[1](
            jax.numpy.asarray(c)
        )[0], z, seed,
    )
    close(pb.vjp(lambda z: f(pb, z), z, conjugate=False)[1](seed)[0], wanted)
    close(pb.vjp(lambda z: f(pb, z), z)[1](np.conj(seed))[0], np.conj(wanted))


def test_rows(z: np.ndarray) -> None:
    def rows(xp: Any, z: Any) -> Any:
        return xp.real(z * z) * xp.imag(z)

    wanted = of_jax(lambda jax, z: jax.jacrev(lambda z: rows(jax.numpy, z))(z), z)
    close(pb.jacrev(lambda z: rows(pb, z), conjugate=False)(z), wanted)
    close(pb.jacrev(lambda z: rows(pb, z))(z), np.conj(wanted))


@named(REAL_VALUED)
def test_gradients_of_gradients(f: Callable[..., Any], z: np.ndarray) -> None:
    """Each call in its own convention."""

    def penalty(xp: Any, grad: Callable[..., Any]) -> Any:
        return lambda z: xp.sum(xp.imag(grad(lambda z: f(xp, z))(z) * (1 + 2j)))

    wanted = of_jax(
        lambda jax, z: jax.grad(penalty(jax.numpy, jax.grad))(jax.numpy.asarray(z)), z
    )

    def own(f: Callable[..., Any]) -> Callable[..., Any]:
        return pb.grad(f, conjugate=False)

    close(own(penalty(pb, own))(z), wanted)
    close(pb.grad(penalty(pb, own))(z), np.conj(wanted))
    close(own(penalty(pb, lambda f: lambda z: pb.conj(pb.grad(f)(z))))(z), wanted)


def test_a_hand_written_gradient_need_not_know(z: np.ndarray) -> None:
    """It is written in the one convention, whoever pulls through it."""
    seen = []

    @pb.custom_gradient
    def times(z: Any) -> Any:
        def gradient(g: Any) -> Any:
            seen.append(np.asarray(g))
            return g * (2 - 3j)

        return z * (2 + 3j), gradient

    def loss(z: Any) -> Any:
        return pb.sum(pb.real(times(z)) * pb.imag(z))

    def plain(z: Any) -> Any:
        return pb.sum(pb.real(z * (2 + 3j)) * pb.imag(z))

    for conjugate in (True, False):
        close(pb.grad(loss, conjugate=conjugate)(z), pb.grad(plain, conjugate=conjugate)(z).data)
    np.testing.assert_array_equal(seen[0], seen[1])


def test_grad_of_leaves_stays_as_it_is(z: np.ndarray) -> None:
    """The keyword is about what the call hands out: `.grad` adds up in the one convention."""
    w = pb.tensor(z, requires_grad=True)

    def loss(z: Any) -> Any:
        (inner := pb.sum(pb.abs(w) ** 2)).backward()
        return pb.sum(pb.imag(z) ** 2) + inner.item()

    found = pb.grad(loss, conjugate=False)(z)
    close(found, -2j * z.imag)
    close(w.grad, 2 * z)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_torch_agrees(dtype: str, z: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    for f in REAL_VALUED.values():
        theirs = torch.tensor(z.astype(dtype), requires_grad=True)

        class Names:
            sum, abs, imag, real, exp, conj = (
                torch.sum, torch.abs, torch.imag, torch.real, torch.exp, torch.conj
            )
            log, sqrt = torch.log, torch.sqrt

        f(Names, theirs).backward()
        ours = pb.grad(lambda z, f=f: f(pb, z))(z.astype(dtype))
        assert str(ours.dtype) == dtype
        wanted = theirs.grad.numpy()
        size = np.max(np.abs(wanted))
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(np.asarray(ours), wanted, rtol=0, atol=50 * eps * size)
