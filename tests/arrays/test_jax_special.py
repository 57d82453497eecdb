"""Special functions that JAX has not, on its arrays: computed on the host, compiled or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import pullback as pb

jax = pytest.importorskip("jax")
jnp = jax.numpy
s = pb.special

ORDERS = np.array([0.0, 1.5, 4.0], "float32")
X = np.array([[0.3, 2.0], [7.0, 0.01], [1.0, 40.0]], "float32")
CALLS = {name: (getattr(s, name), getattr(sp, name)) for name in ("jv", "yv", "iv", "kv", "kve")}


def slope(function: Callable[..., Any], v: Any, x: Any) -> Any:
    """The derivative in x of the sum of a function of an order and x."""
    return pb.grad(lambda t: pb.sum(function(v, t)))(pb.tensor(x)).data


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 1)])
def test_orders_and_points_are_mapped_and_compiled(name: str, mapped: tuple[Any, Any]) -> None:
    ours, theirs = CALLS[name]
    v, x = ORDERS if mapped[0] == 0 else ORDERS[1], X if mapped[1] != 1 else X.T
    rows = [
        (v if mapped[0] is None else v[i], np.take(x, i, mapped[1]) if mapped[1] is not None else x)
        for i in range(3)
    ]
    values = np.stack([theirs(*row) for row in rows])
    slopes = np.stack([slope(ours, *row) for row in rows])
    for way in (jax.vmap, lambda *args: jax.jit(jax.vmap(*args))):
        got = way(lambda v, x: ours(v, x), mapped)(jnp.asarray(v), jnp.asarray(x))
        assert isinstance(got, jax.Array)
        assert got.dtype == "float32"
        np.testing.assert_allclose(got, values, rtol=2e-6)
        got = way(lambda v, x: slope(ours, v, x), mapped)(jnp.asarray(v), jnp.asarray(x))
        np.testing.assert_allclose(got, slopes, rtol=1e-5)


def test_a_large_array_comes_back_from_the_host() -> None:
    x = np.random.default_rng(0).uniform(0.5, 9.0, (400, 1000)).astype("float32")
    got = jax.jit(lambda x: slope(s.jv, 2.5, x) * s.y0(x))(x)
    np.testing.assert_allclose(got, sp.jvp(2.5, x) * sp.y0(x), atol=1e-6)


@pytest.mark.parametrize("order", range(12))
def test_spherical_functions_of_known_orders(order: int) -> None:
    """In JAX up to the eighth, on the host beyond; near 0, where both ways meet, and far out."""
    seam = order + 1 + np.linspace(-1e-6, 1e-6, 5)
    x = np.concatenate([np.linspace(-30, 30, 601), seam, [0, 1e-9, np.inf, np.nan]])
    wanted = sp.spherical_jn(order, x)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lambda x: s.spherical_jn(order, x))(x))
        assert got.dtype == "float64"
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-15)
    near = (abs(x) <= order) & (x != 0)
    np.testing.assert_allclose(got[near], wanted[near], rtol=1e-12)


def test_an_order_that_is_traced_is_computed_on_the_host() -> None:
    got = jax.jit(lambda n, x: s.spherical_jn(n, x))(np.array([[1], [3]]), X[0])
    np.testing.assert_allclose(got, sp.spherical_jn([[1], [3]], X[0]), rtol=2e-6)


def test_sinc_has_no_call_back_to_python() -> None:
    traced = jax.make_jaxpr(lambda x: pb.grad(pb.grad(s.sinc))(pb.tensor(x)).data)(1.0)
    assert "pure_callback" not in str(traced)
    assert "pure_callback" in str(jax.make_jaxpr(lambda x: s.jv(1, x))(1.0))


def test_complex_arguments_and_half_precision_keep_their_dtype() -> None:
    z = np.array([1 + 2j, -0.5j], "complex64")
    got = jax.jit(lambda z: s.jv(2, z))(z)
    assert got.dtype == "complex64"
    np.testing.assert_allclose(got, sp.jv(2, z), rtol=1e-6)
    half = s.j0(jnp.asarray(X, "float16"))
    assert half.dtype == "float16"
    np.testing.assert_allclose(half, sp.j0(X), atol=2e-3)


def test_the_parameters_of_the_incomplete_beta_function() -> None:
    def slopes(a: Any, b: Any, x: Any) -> list[Any]:
        given = [pb.tensor(a), pb.tensor(b)]
        total = pb.grad(lambda a, b: pb.sum(s.betainc(a, b, x)), argnums=(0, 1))
        return [g.data for g in total(*given)]

    a, b, x = X[:, 0], X[::-1, 0] * 2, np.array([0.1, 0.5, 0.9], "float32")
    got = jax.jit(jax.vmap(slopes, (0, 0, None)))(a, b, jnp.asarray(x))
    wide = [np.asarray(v, "float64") for v in (a, b, x)]
    wanted = np.array([slopes(*row) for row in zip(wide[0], wide[1], [wide[2]] * 3, strict=True)])
    np.testing.assert_allclose(np.stack(got, 1), wanted, rtol=2e-5)
