"""Special functions where rows do not reach: poles, ends of domains, far out, other libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import pullback as pb
from pullback import errors
from pullback.ops.special_incomplete import betainc_by_a, betainc_by_b, gammainc_by_a

s = pb.special
INF, NAN = np.inf, np.nan


def slopes(f: Callable[..., Any], *arrays: Any, g: Any = 3.0, dtype: str = "float64") -> list[Any]:
    """The gradients of f in arrays, of a cotangent of 3 unless one is given."""
    leaves = [pb.Tensor(np.array(a, dtype), requires_grad=True) for a in arrays]
    out = f(*leaves)
    cotangent = pb.Tensor(np.full(out.shape, g, out.dtype))
    return [x.numpy() for x in pb.autograd.grad(out, leaves, cotangent)]


EDGES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    # Poles and infinity.
    "gamma": (s.gamma, ([0.0, INF, 200.0],), ([-INF, INF, INF],)),
    "gammaln": (s.gammaln, ([0.0, INF],), ([-INF, INF],)),
    "digamma": (s.digamma, ([0.0, -1.0, INF],), ([INF, INF, 0],)),
    "polygamma": (lambda x: s.polygamma(1, x), ([0.0, INF],), ([-INF, 0],)),
    "zeta": (lambda q: s.zeta(2.0, q), ([0.0, INF],), ([-INF, 0],)),
    "beta": (
        s.beta, ([0.0, INF, 1.0, 0.0], [1.0, 1.0, INF, 0.0]),
        ([-INF, 0, 0, -INF], [0, 0, 0, -INF]),
    ),
    "betaln": (
        s.betaln, ([0.0, INF, 1.0], [1.0, 1.0, 2.0]),
        ([-INF, 0, -4.5], [0, -INF, -1.5]),
    ),
    # Ends of domains.
    "erfinv": (s.erfinv, ([-1.0, 1.0],), ([INF, INF],)),
    "erfcinv": (s.erfcinv, ([0.0, 2.0],), ([-INF, -INF],)),
    "ndtri": (s.ndtri, ([0.0, 1.0],), ([INF, INF],)),
    "logit": (s.logit, ([0.0, 1.0],), ([INF, INF],)),
    "gammainc in x": (
        lambda x: s.gammainc(np.array([0.5, 1.0, 2.0, 2.0, 0.5]), x), ([0.0, 0, 0, INF, INF],),
        ([INF, 3, 0, 0, 0],),
    ),
    "gammainc in a": (lambda a: s.gammainc(a, np.array([0.0, INF])), ([2.0, 2.0],), ([0, 0],)),
    "gammainc at a = 0": (lambda a: s.gammainc(a, 1.0), ([0.0],), ([-3 * sp.exp1(1.0)],)),
    "betainc in x": (
        lambda x: s.betainc(np.array([0.5, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0, 0.5]), x),
        ([0.0, 0.0, 0.0, 1.0],), ([INF, 6, 0, INF],),
    ),
    "betainc in a, b": (
        lambda a, b: s.betainc(a, b, np.array([0.0, 1.0])), ([2.0, 2.0], [3.0, 3.0]),
        ([0, 0], [0, 0]),
    ),
    # Nothing, times the logarithm of nothing.
    "xlogy": (
        s.xlogy, ([0.0, 0.0, 0.0, 2.0], [0.0, -1.0, 2.0, 0.0]),
        ([0, 0, 3 * np.log(2.0), -INF], [0, 0, 0, INF]),
    ),
    "xlog1py": (
        s.xlog1py, ([0.0, 0.0, 2.0], [-1.0, 0.0, -1.0]), ([0, 0, -INF], [0, 0, INF]),
    ),
    "entr": (s.entr, ([0.0, 1.0],), ([INF, -3],)),
    "rel_entr": (
        s.rel_entr, ([0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 0.0, 2.0]),
        ([0, -INF, INF, 3], [0, 0, -INF, -3]),
    ),
    "kl_div": (
        s.kl_div, ([0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 0.0, 2.0]),
        ([0, -INF, INF, 0], [3, 3, -INF, 0]),
    ),
    # Points that look singular, and are not.
    "i1": (s.i1, ([0.0, 1e-9],), ([1.5, 1.5],)),
    "i0e": (s.i0e, ([0.0],), ([0],)),
    "i1e": (s.i1e, ([0.0],), ([1.5],)),
    "j1": (s.j1, ([0.0, 1e-9],), ([1.5, 1.5],)),
    "jv": (lambda x: s.jv(np.array([0, 1, 2]), x), ([0.0, 0.0, 0.0],), ([0, 1.5, 0],)),
    "y0": (s.y0, ([0.0],), ([INF],)),
    "y1": (s.y1, ([0.0],), ([INF],)),
    "yv": (
        lambda x: s.yv(np.array([-2.0, -1.0, 0.0, 1.0, 1.5, 2.0]), x), ([0.0] * 6,),
        ([INF, -INF, INF, INF, INF, INF],),
    ),
    "k0": (s.k0, ([0.0, INF],), ([-INF, 0],)),
    "k1": (s.k1, ([0.0, INF],), ([-INF, 0],)),
    "k0e": (s.k0e, ([0.0],), ([-INF],)),
    "k1e": (s.k1e, ([0.0],), ([-INF],)),
    "kv": (
        lambda x: s.kv(np.array([-2.0, 0.0, 0.5, 2.0]), x), ([0.0, 0.0, 0.0, INF],),
        ([-INF, -INF, -INF, 0],),
    ),
    "kve": (lambda x: s.kve(np.array([-2.0, 0.0, 0.5]), x), ([0.0] * 3,), ([-INF] * 3,)),
    "sinc": (s.sinc, ([0.0, 1e-9, -1e-9],), ([0, -np.pi**2 * 1e-9, np.pi**2 * 1e-9],)),
    # Far out.
    "ndtr": (s.ndtr, ([-INF, -1e200, 50.0, INF],), ([0, 0, 0, 0],)),
    "log_ndtr": (s.log_ndtr, ([-1e8, 50.0, INF],), ([3e8, 0, 0],)),
    "expit": (s.expit, ([-1e4, 1e4],), ([0, 0],)),
    "log_expit": (s.log_expit, ([-1e4, 1e4],), ([3, 0],)),
    "logsumexp": (lambda a: s.logsumexp(a, b=np.array([2.0, 0.0])), ([1.0, INF],), ([3, 0],)),
    "logsumexp in a weight of 0": (  # the slope exp(a - out); 0 where it is no number
        lambda b: s.logsumexp([0.0, np.log(1.5), INF, 2e3, NAN], b=b), ([2.0, 0, 0, 0, 0],),
        ([1.5, 2.25, 0, 0, 0],),
    ),
    "logsumexp of nothing": (
        lambda a, b: s.logsumexp(a, b=b), ([-INF, 1.0], [2.0, 0.0]), ([0, 0], [0, 0]),
    ),
    "softmax": (lambda x: s.softmax(x)[0, 0], ([[0.0, -INF], [0.0, -INF]],),
                ([[0.75, 0], [-0.75, 0]],)),
}


@pytest.mark.parametrize("name", EDGES)
def test_the_chosen_answer(name: str) -> None:
    f, arrays, wanted = EDGES[name]
    for got, want in zip(slopes(f, *arrays), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", EDGES)
def test_a_zero_cotangent_stays_zero(name: str) -> None:
    f, arrays, _ = EDGES[name]
    for got in slopes(f, *arrays, g=0.0):
        np.testing.assert_array_equal(got, np.zeros_like(got))


@pytest.mark.parametrize("name", [n for n in EDGES if "sum" not in n and "softmax" not in n])
def test_forward_mode_gives_the_same(name: str) -> None:
    """Of the elementwise ones, in one argument after the other: infinite slopes are not added."""
    f, arrays, wanted = EDGES[name]
    for i, want in enumerate(wanted):
        x = [np.array(a) for a in arrays]

        def call(t: Any, x: list[Any] = x, i: int = i) -> Any:
            return f(*(t if j == i else a for j, a in enumerate(x)))

        got = pb.jvp(call, (x[i],), (np.full(x[i].shape, 3.0),))[1]
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-15)


def test_at_a_pole_without_sign_there_is_no_slope_but_zero_stays() -> None:
    for f in (s.gamma, s.gammaln):
        assert np.isnan(slopes(f, [-1.0])[0]).all()
        assert not slopes(f, [-1.0], g=0.0)[0].any()


def test_the_second_derivative_of_log_ndtr_far_out() -> None:
    second = pb.vmap(pb.grad(pb.grad(s.log_ndtr)))
    found = second(pb.tensor([-INF, -1e9, -1e3, -30.0, 0.0, 50.0, INF])).numpy()
    wanted = [-1, -1, -1 + 1e-6 - 6e-12, -0.99889622848810991, -2 / np.pi, 0, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


# Derivatives in parameters ---------------------------------------------------------------------


GAMMA = np.array([
    (0.001, 1e-30, -63.96662757973106),
    (0.001, 2.0, -0.04905334583936488),
    (0.05, 1e-08, -7.329407463738193),
    (0.05, 0.3, -0.9177141215072517),
    (0.5, 0.01, -0.522514337797483),
    (0.5, 10.0, -3.371984739628729e-5),
    (1.0, 1.0, -0.4317297106348987),
    (3.0, 0.3, -0.00892482420172306),
    (3.0, 40.0, -9.974330300089282e-15),
    (30.0, 2.0, -1.596648359620126e-24),
    (30.0, 29.0, -0.07302883978315522),
    (30.0, 60.0, -5.086422279260005e-6),
    (300.0, 290.0, -0.01975962427698402),
    (300.0, 330.0, -0.005377499752459247),
    (100000.0, 100100.0, -0.001199480280250191),
])
"""a, x and the derivative of gammainc in a, computed in a hundred digits."""

BETA = np.array([
    (0.05, 0.05, 1e-30, -1.253952505809617, 0.1598971744416784),
    (0.05, 0.05, 0.5, -5.018194629321642, 5.018194629321642),
    (0.05, 2.5, 0.3, -0.371583901254022, 0.01168468890646335),
    (0.05, 300.0, 1e-08, -6.646220290015522, 9.078603090709854e-5),
    (0.5, 0.5, 0.9999, -0.008825358883801085, 0.06254272028346161),
    (0.5, 300.0, 0.01, -0.04653897400902409, 0.0001606140704619844),
    (3.0, 0.05, 0.9, -0.0143626169758813, 0.9889856387512913),
    (3.0, 2.5, 0.3, -0.1073251830767695, 0.07978786290661959),
    (3.0, 2.5, 0.8, -0.05580708803324112, 0.1183280644180399),
    (40.0, 1.0, 0.9, -0.001557321448587518, 0.03194338697584093),
    (40.0, 300.0, 0.1, -0.03678073432167115, 0.004465722346080076),
    (40.0, 300.0, 0.15, -0.01184684790286148, 0.001814907536525692),
    (1000.0, 800.0, 0.55, -0.007556327551251071, 0.009340248974997148),
])
"""a, b, x and the derivatives of betainc in a and b, computed in eighty digits."""


def test_gammainc_in_a_against_many_digits() -> None:
    a, x, wanted = GAMMA.T
    np.testing.assert_allclose(gammainc_by_a(a, x), wanted, rtol=2e-13)
    np.testing.assert_allclose(slopes(s.gammainc, a, x)[0], 3 * wanted, rtol=2e-13)
    np.testing.assert_allclose(slopes(s.gammaincc, a, x)[0], -3 * wanted, rtol=2e-13)


def test_betainc_in_a_and_b_against_many_digits() -> None:
    a, b, x, by_a, by_b = BETA.T
    got = slopes(s.betainc, a, b, x, g=1.0)
    np.testing.assert_allclose(got[0], by_a, rtol=5e-12)
    np.testing.assert_allclose(got[1], by_b, rtol=5e-12)


def test_the_slopes_of_betaln_against_many_digits() -> None:
    for a in (0.3, 29.9, 30.1, 2e3, 1e8, 1e30, 1e200):
        for b in (0.4, 25.0, 4e4, 1e30, 1e250, -0.3):
            if a + b <= 0:
                continue
            with mpmath.workdps(400):
                right = float(mpmath.digamma(a) - mpmath.digamma(mpmath.mpf(a) + b))
            found = pb.grad(lambda a, b=b: pb.special.betaln(a, b))(a)
            np.testing.assert_allclose(found.numpy(), right, rtol=1e-12)
            found = pb.grad(lambda a, b=b: pb.special.betaln(b, a))(a)
            np.testing.assert_allclose(found.numpy(), right, rtol=1e-12)


def test_outside_the_domain_derivatives_in_parameters_are_nan() -> None:
    assert np.isnan(gammainc_by_a(np.array([-1.0, 1.0, NAN]), np.array([1.0, -1.0, 1.0]))).all()
    assert np.isnan(betainc_by_a(np.array([-1.0, 1.0, 1.0]), 1.0, np.array([0.5, 2, NAN]))).all()
    assert np.isnan(betainc_by_b(1.0, np.array([-1.0, 1.0]), np.array([0.5, -0.5]))).all()


NO_RULE = {
    "polygamma": (s.polygamma, 2.0, "n"), "jv": (s.jv, 0.5, "v"), "iv": (s.iv, 0.5, "v"),
    "ive": (s.ive, 0.5, "v"), "spherical_jn": (s.spherical_jn, 1.0, "n"),
    "zeta": (s.zeta, 2.0, "x"), "yv": (s.yv, 0.5, "v"), "kv": (s.kv, 0.5, "v"),
    "kve": (s.kve, 0.5, "v"),
}


@pytest.mark.parametrize("name", NO_RULE)
def test_a_derivative_that_is_not_known_is_an_error(name: str) -> None:
    function, order, argument = NO_RULE[name]
    message = f"`{name}` in `{argument}`"
    with pytest.raises(errors.NotDifferentiableError, match=message):
        pb.grad(lambda v: function(v, 1.5))(pb.tensor(order))
    with pytest.raises(errors.NotDifferentiableError, match=message):
        pb.jvp(lambda v: function(v, 1.5), (np.array(order),), (np.array(1.0),))
    assert pb.grad(lambda x: function(pb.tensor(order), x))(pb.tensor(1.5)).dtype == "float64"


def test_a_second_derivative_in_a_parameter_is_an_error() -> None:
    second = pb.grad(pb.grad(lambda a: s.gammainc(a, 1.0)))
    with pytest.raises(errors.NotDifferentiableError, match="`gammainc_by_a` in `a`"):
        second(pb.tensor(2.0))
    for i, name in enumerate("ab"):
        f = pb.grad(lambda *p: pb.grad(s.betainc, argnums=1)(*p, 0.5), argnums=i)
        with pytest.raises(errors.NotDifferentiableError, match=f"`betainc_by_b` in `{name}`"):
            f(pb.tensor(2.0), pb.tensor(3.0))


def test_mixed_second_derivatives_are_there() -> None:
    for a, x in ((0.5, 0.2), (3.0, 4.0)):
        mixed = pb.grad(pb.grad(s.gammainc, argnums=1), argnums=0)(pb.tensor(a), pb.tensor(x))
        other = pb.grad(pb.grad(s.gammainc, argnums=0), argnums=1)(pb.tensor(a), pb.tensor(x))
        np.testing.assert_allclose(mixed.numpy(), other.numpy(), rtol=1e-12)


# float32, JAX, importing -----------------------------------------------------------------------

UNARY = [
    "digamma", "entr", "erf", "erfc", "erfcinv", "erfinv", "expit", "gamma", "gammaln", "i0",
    "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "log_expit", "log_ndtr", "logit",
    "ndtr", "ndtri", "sinc", "y0", "y1",
]
CALLS: dict[str, Callable[..., Any]] = {
    **{n: getattr(s, n) for n in UNARY},
    "gammainc": lambda x: s.gammainc(x, 2.0), "betainc": lambda x: s.betainc(x, 2.0, x),
    "polygamma": lambda x: s.polygamma(1, x), "jv": lambda x: s.jv(2, x),
    "yv": lambda x: s.yv(2, x), "kv": lambda x: s.kv(2, x), "kve": lambda x: s.kve(2, x),
    "iv": lambda x: s.iv(2, x), "spherical_jn": lambda x: s.spherical_jn(2, x),
    "zeta": lambda x: s.zeta(2.0, x), "xlogy": lambda x: s.xlogy(x, x),
    "logsumexp": lambda x: s.logsumexp(x, b=x), "softmax": s.softmax,
}


@pytest.mark.parametrize("name", CALLS)
def test_float32_stays_float32(name: str) -> None:
    x = pb.tensor(np.array([0.2, 0.7], "float32"), requires_grad=True)
    y = CALLS[name](x)
    assert y.dtype == "float32"
    (g,) = pb.autograd.grad(y, x, pb.Tensor(np.ones(y.shape, "float32")), create_graph=True)
    assert g.dtype == "float32"
    wide = slopes(CALLS[name], [np.float32(0.2), np.float32(0.7)], g=1.0)[0]
    np.testing.assert_allclose(g.numpy(), wide, rtol=2e-5)


NOT_IN_JAX = {
    "erfcinv", "j0", "j1", "k0", "k0e", "k1", "k1e", "log_expit", "sinc", "y0", "y1",
}
JAX = {
    **{n: (n, 1) for n in UNARY if n not in NOT_IN_JAX},
    **dict.fromkeys(("betaln", "xlogy", "xlog1py", "rel_entr", "kl_div"), ("", 2)),
    **dict.fromkeys(("gammainc", "gammaincc"), ("", 2)),
}


@pytest.mark.parametrize("name", JAX)
def test_gradients_are_jax_s(name: str) -> None:
    jax = pytest.importorskip("jax")
    theirs = getattr(jax.scipy.special, name, None)
    if theirs is None:
        theirs = getattr(jax.lax, "erf_inv" if name == "erfinv" else name)
    arguments = [np.array([0.2, 0.45, 0.9]), np.array([0.7, 0.3, 0.6])][: JAX[name][1]]
    with jax.enable_x64(True):
        wanted = jax.grad(
            lambda *a: theirs(*a).sum(), argnums=tuple(range(len(arguments)))
        )(*arguments)
    for got, want in zip(slopes(getattr(s, name), *arguments, g=1.0), wanted, strict=True):
        np.testing.assert_allclose(got, np.asarray(want), rtol=1e-8)


@pytest.mark.parametrize("keepdims", [False, True])
def test_the_sign_of_a_weighted_sum(keepdims: bool) -> None:
    a, b = np.array([[1.0, 2.0], [3.0, 3.0]]), np.array([[1.0, -1.0], [1.0, -1.0]])
    value, sign = s.logsumexp(a, axis=1, b=b, keepdims=keepdims, return_sign=True)
    wanted = sp.logsumexp(a, axis=1, b=b, keepdims=keepdims, return_sign=True)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-14)
    np.testing.assert_array_equal(sign, wanted[1])
    assert np.isnan(s.logsumexp(a, axis=1, b=b)[0])


def test_scipy_is_loaded_on_use() -> None:
    code = (
        "import sys, pullback as pb; s = pb.special; assert 'scipy' not in sys.modules;"
        "s.gamma(2.0); assert 'scipy.special' in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
