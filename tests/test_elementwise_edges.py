"""Elementwise operations at kinks, poles and ends of domains, where differences say nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

INF, NAN = np.inf, np.nan
ENDS = {
    "log": 0, "log1p": -1, "log2": 0, "log10": 0, "sqrt": 0, "rsqrt": 0, "cbrt": 0,
    "reciprocal": 0, "asin": 1, "acos": -1, "acosh": 1, "atanh": 1,
}
"""Where the derivative is infinite."""


def slopes(
    f: Callable[..., Any], *arrays: Any, g: Any = None, dtype: str = "float64"
) -> list[np.ndarray]:
    """The gradients of f in arrays, with a cotangent of 3 unless one is given.

    The values themselves may be infinite, of which NumPy warns; gradients must not warn.
    """
    leaves = [pb.Tensor(np.array(a, dtype), requires_grad=True) for a in arrays]
    with np.errstate(all="ignore"):
        out = f(*leaves)
    g = np.full(out.shape, 3.0) if g is None else np.array(g)
    found = pb.autograd.grad(out, leaves, pb.Tensor(g.astype(out.data.dtype)))
    return [s.numpy() for s in found]


def slopes_of(y: Any, x: Any) -> np.ndarray:
    return pb.autograd.grad(y, x, pb.Tensor(np.ones(y.shape)))[0].numpy()


FINITE: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "abs at 0": (pb.abs, ([0.0, -0.0, -2.0],), ([0, 0, -3],)),
    "x ** 0": (lambda x: x**0, ([0.0, 2.0],), ([0, 0],)),
    "x ** 0.0": (lambda x: x**0.0, ([0.0, 2.0],), ([0, 0],)),
    "x ** 1 at 0": (lambda x: x**1, ([0.0],), ([3],)),
    "x ** 2 at 0": (lambda x: x**2, ([0.0],), ([0],)),
    "x ** y": (
        pb.pow, ([0.0, 0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 3.0, 0.0]),
        ([0, 3, 0, 0, 0], [0, 0, 0, 0, 3 * np.log(2)]),
    ),
    "0.0 ** y": (lambda y: 0.0**y, ([0.0, 2.0],), ([0, 0],)),
    "negative x ** n": (
        lambda x: x ** np.array([3.0, -1.0, 2.0]), ([-2.0, -2.0, -2.0],), ([36, -0.75, -12],),
    ),
    "negative x ** -1": (lambda x: x**-1, ([-2.0],), ([-0.75],)),
    "hypot at 0": (pb.hypot, ([0.0], [0.0]), ([0], [0])),
    "atan2 at 0": (pb.atan2, ([0.0], [0.0]), ([0], [0])),
    "logaddexp at ∞": (
        pb.logaddexp, ([-INF, -INF, INF, 0.0, INF, 1e4], [-INF, 0.0, 0.0, -INF, INF, -1e4]),
        ([1.5, 0, 3, 3, 1.5, 3], [1.5, 3, 0, 0, 1.5, 0]),
    ),
    "angle of real numbers": (pb.angle, ([-1.0, 0.0, 1.0],), ([0, 0, 0],)),
    "copysign": (
        pb.copysign, ([0.0, 1.0, -1.0, 2.0], [-1.0, -0.0, 1.0, -3.0]),
        ([0, -3, -3, -3], [0, 0, 0, 0]),
    ),
    "sign at 0": (pb.sign, ([0.0],), ([0],)),
    "round at a half": (pb.round, ([0.5],), ([0],)),
    "remainder at a jump": (pb.remainder, ([4.0], [2.0]), ([3], [-6])),
}


@pytest.mark.parametrize("case", FINITE)
def test_a_derivative_that_can_be_finite_is(case: str) -> None:
    f, arrays, wanted = FINITE[case]
    for got, want in zip(slopes(f, *arrays), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize("name", ["abs", "angle", "sign"])
def test_of_complex_0_is_0(name: str) -> None:
    np.testing.assert_array_equal(slopes(getattr(pb, name), [0j], dtype="complex128")[0], [0])


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("size", [1, 2000])
def test_an_infinite_derivative_is_infinite(name: str, size: int) -> None:
    (got,) = slopes(getattr(pb, name), np.full(size, float(ENDS[name])))
    assert np.isinf(got).all()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [1, 2000])
@pytest.mark.parametrize("name", ENDS)
def test_a_zero_cotangent_stays_zero(name: str, size: int, dtype: str) -> None:
    if name == "cbrt":  # of real numbers only
        dtype = "float64"
    x = np.full(size, ENDS[name])
    assert not slopes(getattr(pb, name), x, g=np.zeros(size), dtype=dtype)[0].any()


@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        (pb.divide, ([1.0], [0.0])),
        (lambda x: x / 0.0, ([1.0],)),
        (lambda x: 1 / x, ([0.0],)),
        (pb.pow, ([0.0, 0.0], [0.5, -1.0])),
        (lambda x: x**0.5, ([0.0],)),
        (lambda x: x**-1, ([0.0],)),
    ],
    ids=["divide", "by 0.0", "1 / 0", "pow", "x ** 0.5", "x ** -1"],
)
def test_a_zero_cotangent_stays_zero_in_quotients_and_powers(f: Any, arrays: Any) -> None:
    for got in slopes(f, *arrays, g=np.zeros(len(arrays[0]))):
        assert not got.any()


POWERS = {f"x ** {e}": e for e in (-1.0, 0, 0.5, 1, 1.5, 2, 3)}


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", [*ENDS, *POWERS])
def test_an_entry_that_where_leaves_out_is_zero_to_any_order(name: str, order: int) -> None:
    end = float(ENDS.get(name, 0))
    x = pb.Tensor(np.array([end, 0.4 + 1.2 * (name == "acosh")]), requires_grad=True)
    with np.errstate(all="ignore"):
        y = x ** POWERS[name] if name in POWERS else getattr(pb, name)(x)
    y = pb.where(np.array([False, True]), 3.0 * y, 0.0)
    for _ in range(order):
        if y.node is not None:
            (y,) = pb.autograd.grad(y, x, pb.Tensor(np.ones(2)), create_graph=True)
    assert y.numpy()[0] == 0
    assert np.isfinite(y.numpy()).all()


@pytest.mark.parametrize(
    ("power", "want"), [(0, 0.0), (1, 0.0), (2, 2.0), (2.0, 2.0), (2.5, 0.0), (3, 0.0)]
)
@pytest.mark.parametrize("as_array", [False, True])
def test_second_derivatives_of_powers_at_0(power: float, want: float, as_array: bool) -> None:
    x = pb.Tensor(np.zeros(1), requires_grad=True)
    y = x ** (np.array([power]) if as_array else power)
    for _ in range(2):
        if y.node is not None:
            (y,) = pb.autograd.grad(y, x, pb.Tensor(np.ones(1)), create_graph=True)
    np.testing.assert_array_equal(y.numpy(), [want])


def test_what_overflowed_is_not_hidden() -> None:
    def softplus(x: Any) -> Any:
        return pb.log(1 + pb.exp(x))

    with np.errstate(invalid="ignore"):
        assert np.isnan(slopes(softplus, [100.0], dtype="float32")[0]).all()
        assert np.isnan(slopes(pb.divide, [INF], [2.0], g=[0.0])[1]).all()
        assert np.isnan(slopes(pb.divide, [0.0], [0.0])[1]).all()


def test_a_quotient_of_tiny_numbers_has_its_slope() -> None:
    tiny = np.float32(1e-25)  # whose square is 0
    x1, x2 = slopes(pb.divide, [tiny], [tiny], g=[1.0], dtype="float32")
    np.testing.assert_allclose([x1, x2], [[1e25], [-1e25]], rtol=1e-6)


def test_ties_of_logaddexp_have_a_second_derivative() -> None:
    x = pb.Tensor(np.zeros(1), requires_grad=True)
    (y,) = pb.autograd.grad(pb.logaddexp(x, 0.0), x, pb.Tensor(np.ones(1)), create_graph=True)
    np.testing.assert_allclose(slopes_of(y, x), [0.25], rtol=1e-14)


def test_real_and_conj_of_real_numbers_are_the_same_object() -> None:
    for x in (pb.Tensor([1.0]), np.ones(2), pb.Tensor([1])):
        assert pb.real(x) is x
        assert pb.conj(x) is x
    np.testing.assert_array_equal(pb.imag(np.ones(2)), [0, 0])


def test_make_complex_keeps_infinities_apart() -> None:
    made = pb.make_complex(np.array([INF, 1.0]), np.array([2.0, INF]))
    np.testing.assert_array_equal(made.real, [INF, 1])
    np.testing.assert_array_equal(made.imag, [2, INF])


def test_parts_share_memory_and_identity_does_not() -> None:
    z = np.array([1 + 2j])
    for view in (pb.real(z), pb.imag(z)):
        assert np.shares_memory(view, z)
    for copied in (pb.identity(z), pb.positive(z)):
        assert not np.shares_memory(copied, z)


def test_flat_operations_keep_their_input_for_a_gradient_put_in_later() -> None:
    x = pb.Tensor(np.array([0.3]), requires_grad=True)
    for f in (pb.sign, pb.floor, pb.ceil, pb.round, pb.trunc):
        assert f(x).node.saved[0] is x.data


def test_stop_gradient_has_no_history_and_identity_has() -> None:
    x = pb.Tensor(np.array([2.0]), requires_grad=True)
    assert pb.stop_gradient(x).node is None
    assert pb.stop_gradient(x).data is x.data
    assert pb.stop_gradient(2.0) == 2.0
    assert pb.identity(x).node.name() == "identity"
    np.testing.assert_array_equal(slopes_of(pb.stop_gradient(x) * x, x), [2])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "pow"])
@pytest.mark.parametrize("real", [
    2.5, -2.5, -1, 0.75, np.array([-1.0, 2.0]), np.array([-1.5, -2.0], np.float32),
])
def test_a_real_operand_beside_complex_numbers(name: str, real: Any) -> None:
    """A negative real base has a complex logarithm; it was NaN for a Python number."""
    z, g = np.array([0.3 + 0.2j, 1.1 - 0.7j]), np.array([0.7 - 0.4j, -1.2 + 0.5j])
    for f in (lambda z: getattr(pb, name)(real, z), lambda z: getattr(pb, name)(z, real)):
        found = pb.grad(lambda z, f=f: pb.sum(pb.real(f(z) * g)))(pb.tensor(z)).numpy()
        h = 1e-6
        along = [(f(z + d) - f(z - d)) / (2 * h) * g for d in (h, 1j * h)]
        expected = along[0].real + 1j * along[1].real
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
