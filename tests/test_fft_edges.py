"""Fourier transforms: exact transposes, lengths odd and even, dtypes, frequencies, misuse."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors

NORMS = ("backward", "ortho", "forward")
RNG = np.random.default_rng(7)


def draw(*shape: int, kind: str = "c") -> np.ndarray:
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if kind == "c" else x


def gradient(function: Callable[[Any], Any], x: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    t = pb.tensor(x, requires_grad=True)
    (g,) = pb.autograd.grad(function(t), t, pb.tensor(cotangent))
    return g.numpy()


def units(x: np.ndarray) -> Iterator[np.ndarray]:
    """A one in each entry in turn, and an i in each of a complex array."""
    for position, unit in itertools.product(np.ndindex(x.shape), (1, 1j)):
        if unit == 1 or x.dtype.kind == "c":
            made = np.zeros_like(x)
            made[position] = unit
            yield made


def assert_adjoint(name: str, x: np.ndarray, **how: Any) -> np.ndarray:
    """The gradient of Σ Re(c* · f(x)), against NumPy's f on every unit: f is linear."""
    ours, theirs = getattr(pb.fft, name), getattr(np.fft, name)
    out = theirs(x, **how)
    c = draw(*out.shape, kind=out.dtype.kind)
    g = gradient(lambda t: ours(t, **how), x, c)
    wanted = [np.sum(np.real(np.conj(c) * theirs(unit, **how))) for unit in units(x)]
    got = [np.sum(np.real(np.conj(g) * unit)) for unit in units(x)]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-13 * max(1, *np.abs(wanted)))
    return g


# Transposes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft"])
def test_gradients_are_exact_at_every_length(name: str, n: int | None, norm: str) -> None:
    for length, kind in itertools.product((2, 3, 4, 5), "cf"):
        assert_adjoint(name, draw(length, kind=kind), n=n, norm=norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("name", ["rfft", "ihfft"])
def test_gradients_in_real_signals_are_exact(name: str, n: int | None, norm: str) -> None:
    for length in (1, 2, 3, 4, 5):
        assert_adjoint(name, draw(length, kind="f"), n=n, norm=norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("s", [(3, 4), (4, 3), (1, 2), (2, 1), (5, 6)])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-1, -2)])
def test_gradients_over_two_axes_are_exact(
    axes: tuple[int, int], s: tuple[int, int], norm: str
) -> None:
    x = draw(3, 3)
    for name in ("fftn", "ifftn", "irfftn"):
        assert_adjoint(name, x, s=s, axes=axes, norm=norm)
    assert_adjoint("rfftn", x.real.copy(), s=s, axes=axes, norm=norm)


@pytest.mark.parametrize("name", ["irfft", "hfft"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_parts_that_a_real_signal_does_not_have_get_nothing(name: str, n: int) -> None:
    length = n // 2 + 1
    g = assert_adjoint(name, draw(length + 2), n=n)
    assert g[0].imag == 0
    assert g[0].real != 0
    if n % 2 == 0:
        assert g[length - 1].imag == 0
        assert g[length - 1].real != 0
    inner = g[1 : (n + 1) // 2]
    assert (inner.imag != 0).all()  # and those that it has do
    assert not g[length:].any()  # what is cut off


def test_there_and_back_is_the_identity() -> None:
    x, c = draw(4, 5), draw(4, 5)
    for norm in NORMS:
        for there, back in (("fft", "ifft"), ("fftn", "ifftn"), ("ifft", "fft")):
            g = gradient(
                lambda t, a=there, b=back, m=norm:
                getattr(pb.fft, b)(getattr(pb.fft, a)(t, norm=m), norm=m), x, c,
            )
            np.testing.assert_allclose(g, c, atol=1e-14)
        for n in (4, 5):
            g = gradient(
                lambda t, n=n, m=norm: pb.fft.irfft(pb.fft.rfft(t, norm=m), n=n, norm=m),
                x.real[:, :n].copy(), c.real[:, :n].copy(),
            )
            np.testing.assert_allclose(g, c.real[:, :n], atol=1e-14)
            g = gradient(
                lambda t, n=n, m=norm: pb.fft.hfft(pb.fft.ihfft(t, norm=m), n=n, norm=m),
                x.real[:, :n].copy(), c.real[:, :n].copy(),
            )
            np.testing.assert_allclose(g, c.real[:, :n], atol=1e-14)


@pytest.mark.parametrize("n", [5, 6])
def test_energy_has_the_second_derivative_that_parseval_says(n: int) -> None:
    def energy(x: Any) -> Any:
        return pb.sum(pb.square(pb.abs(pb.fft.fft(x, norm="ortho"))))

    x = draw(n, kind="f")
    np.testing.assert_allclose(pb.grad(energy)(x), 2 * x, atol=1e-13)
    np.testing.assert_allclose(pb.hessian(energy)(x), 2 * np.eye(n), atol=1e-13)


def test_jacobians_forwards_and_backwards_agree() -> None:
    x = draw(5, kind="f")

    def spectrum(t: Any) -> Any:
        half = pb.fft.rfft(t, n=6)
        return pb.concat([pb.real(half), pb.imag(half)])

    wanted = np.fft.rfft(np.eye(5), n=6).T
    for jacobian in (pb.jacfwd, pb.jacrev):
        found = np.asarray(jacobian(spectrum)(x))
        np.testing.assert_allclose(found[:4] + 1j * found[4:], wanted, atol=1e-14)


# Under vmap ---------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_axes_count_within_an_example(axis: int) -> None:
    x = draw(2, 3, 4)
    for name in ("fft", "irfft", "hfft"):
        mapped = pb.vmap(lambda t, f=name: getattr(pb.fft, f)(t, n=5, axis=axis))(x)
        wanted = [getattr(np.fft, name)(part, n=5, axis=axis) for part in x]
        np.testing.assert_allclose(mapped, wanted, atol=1e-14)
    for shift in (pb.fft.fftshift, pb.fft.ifftshift):
        np.testing.assert_array_equal(
            pb.vmap(lambda t, f=shift: f(t, axes=axis))(x), [shift(part, axes=axis) for part in x]
        )


def test_all_axes_are_those_of_an_example() -> None:
    x = draw(2, 3, 4)
    mapped = pb.vmap(pb.fft.fftn)(x)
    np.testing.assert_allclose(mapped, [np.fft.fftn(part) for part in x], atol=1e-13)
    with pytest.raises(errors.PositionError):
        pb.vmap(lambda t: pb.fft.fft(t, axis=2))(x)
    with pytest.raises(errors.ArgumentError, match="at least one axis"):
        pb.vmap(pb.fft.fftn)(draw(3))


# Dtypes and kinds ---------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [32, 64])
def test_precision_is_kept_and_so_is_that_of_the_gradient(bits: int) -> None:
    real, complex_ = f"float{bits}", f"complex{2 * bits}"
    table = [
        ("fft", real, complex_), ("ifft", real, complex_), ("fft", complex_, complex_),
        ("fftn", complex_, complex_), ("ifftn", real, complex_), ("rfft", real, complex_),
        ("rfftn", real, complex_), ("irfft", complex_, real), ("irfftn", complex_, real),
        ("irfft", real, real), ("hfft", complex_, real), ("ihfft", real, complex_),
        ("fftshift", real, real), ("ifftshift", complex_, complex_),
    ]
    for name, given, wanted in table:
        t = pb.tensor(draw(4).real.astype(given), requires_grad=True)
        out = getattr(pb.fft, name)(t)
        assert out.dtype == wanted, name
        pb.sum(pb.square(pb.abs(out))).backward()
        assert t.grad.dtype == given, name


def test_integers_and_lists_are_transformed() -> None:
    counts = np.array([1, 2, 3])
    np.testing.assert_allclose(pb.fft.fft(counts), np.fft.fft(counts))
    np.testing.assert_allclose(pb.fft.rfft([1, 2, 3]), np.fft.rfft(counts))
    assert isinstance(pb.fft.rfft(counts), np.ndarray)
    assert isinstance(pb.fft.irfft(pb.tensor(counts)), pb.Tensor)
    np.testing.assert_array_equal(pb.fft.fftshift([0, 1, 2]), [2, 0, 1])


def test_a_fitting_length_adds_nothing_to_the_history() -> None:
    t = pb.tensor(draw(4), requires_grad=True)
    assert pb.fft.fft(t, n=4).node.parents == (t.node,)
    assert pb.fft.irfft(t, n=6).node.parents == (t.node,)
    assert pb.fft.fft(t, n=3).node.parents != (t.node,)


# Frequencies --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 10))
def test_frequencies_are_numpy_s(n: int) -> None:
    for d in (1.0, 0.1, 3):
        np.testing.assert_array_equal(pb.fft.fftfreq(n, d=d), np.fft.fftfreq(n, d))
        np.testing.assert_array_equal(pb.fft.rfftfreq(n, d=d), np.fft.rfftfreq(n, d))
    shifted = pb.fft.fftshift(pb.fft.fftfreq(n))
    assert (np.diff(shifted.numpy()) > 0).all()
    np.testing.assert_array_equal(pb.fft.ifftshift(shifted), np.fft.fftfreq(n))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_have_the_dtype_that_is_asked_for(name: str) -> None:
    function = getattr(pb.fft, name)
    assert isinstance(function(4), pb.Tensor)
    assert function(4).dtype == pb.float64
    assert function(4, dtype=pb.float32, device="cpu").dtype == pb.float32
    for dtype in (pb.int64, pb.complex64, pb.bool):
        with pytest.raises(errors.DtypeError, match=f"`dtype` of `{name}`"):
            function(4, dtype=dtype)


def test_frequencies_follow_a_tracked_distance() -> None:
    d = pb.tensor(0.5, requires_grad=True)
    c = draw(5, kind="f")
    (g,) = pb.autograd.grad(pb.fft.fftfreq(5, d=d), d, pb.tensor(c))
    np.testing.assert_allclose(g.item(), -np.sum(c * np.fft.fftfreq(5, 0.5)) / 0.5, rtol=1e-14)


# The standard and misuse --------------------------------------------------------------------


STANDARD = {
    **dict.fromkeys(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"], "x, /, *, n, axis, norm"),
    **dict.fromkeys(["fftn", "ifftn", "rfftn", "irfftn"], "x, /, *, s, axes, norm"),
    **dict.fromkeys(["fftfreq", "rfftfreq"], "n, /, *, d, dtype, device"),
    **dict.fromkeys(["fftshift", "ifftshift"], "x, /, *, axes"),
}


def test_the_standard_is_complete() -> None:
    assert set(pb.fft.__all__) == set(STANDARD)
    for name, wanted in STANDARD.items():
        found = inspect.signature(getattr(pb.fft, name))
        bare = [
            p.replace(annotation=p.empty, default=p.empty) for p in found.parameters.values()
        ]
        assert str(inspect.Signature(bare)) == f"({wanted})"


ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")


@pytest.mark.parametrize("name", ONE)
def test_wrong_lengths_axes_and_norms_are_named(name: str) -> None:
    function, x = getattr(pb.fft, name), np.ones((3, 4))
    for call, error, text in [
        (lambda: function(x, n=0), errors.ArgumentError, f"a length in `{name}`"),
        (lambda: function(x, n=-1), errors.ArgumentError, "got: +-1"),
        (lambda: function(x, n=2.0), errors.ArgumentTypeError, "an integer"),
        (lambda: function(x, axis=2), errors.PositionError, f"`axis` of `{name}`"),
        (lambda: function(np.float64(1.0)), errors.PositionError, name),
        (lambda: function(1.0), errors.PositionError, name),
        (lambda: function(np.ones((3, 0))), errors.ArgumentError, "1 or more"),
        (lambda: function(x, norm="orto"), errors.ArgumentError, f"`norm` of `{name}`"),
    ]:
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("name", MANY)
def test_wrong_lengths_and_axes_of_several_are_named(name: str) -> None:
    function, x = getattr(pb.fft, name), np.ones((3, 4))
    for call, error, text in [
        (lambda: function(x, axes=()), errors.ArgumentError, "at least one axis"),
        (lambda: function(np.float64(1.0)), errors.ArgumentError, "at least one axis"),
        (lambda: function(x, axes=(0, 0)), errors.ArgumentError, "each axis once"),
        (lambda: function(x, axes=(0, -2)), errors.ArgumentError, "each axis once"),
        (lambda: function(x, axes=(0, 2)), errors.PositionError, r"an axis in \[-2, 2\)"),
        (lambda: function(x, s=(3,), axes=(0, 1)), errors.ArgumentError, "2 lengths"),
        (lambda: function(x, s=(3, 0)), errors.ArgumentError, "1 or more"),
        (lambda: function(x, norm=None), errors.ArgumentError, f"`norm` of `{name}`"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_lengths_without_axes_are_those_of_the_last() -> None:
    x = draw(2, 3, 4)
    np.testing.assert_allclose(
        pb.fft.fftn(x, s=(2, -1)), np.fft.fftn(x, s=(2, 4), axes=(1, 2)), atol=1e-14
    )


@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfftn"])
def test_complex_signals_have_no_half_spectrum(name: str) -> None:
    for x in (draw(4), pb.tensor(draw(4)), [1j, 2.0]):
        with pytest.raises(errors.DtypeError, match=f"`{name}`"):
            getattr(pb.fft, name)(x)


@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_half_of_nothing_needs_a_length(name: str) -> None:
    with pytest.raises(errors.ArgumentError, match="1 or more"):
        getattr(pb.fft, name)(np.ones(1))
    np.testing.assert_allclose(getattr(pb.fft, name)(np.ones(1), n=1), [1])


def test_shifts_name_a_wrong_axis() -> None:
    for function in (pb.fft.fftshift, pb.fft.ifftshift):
        with pytest.raises(errors.PositionError, match=function.__name__):
            function(np.ones(3), axes=1)
        assert function(np.float64(2.0)).shape == ()
