"""Values and slopes of every elementwise function at hard points, against exact arithmetic.

Both are at most 4 units in the last place off, in each dtype; what is further off stands in
`ALLOWED`, with the reason. The quick tier takes a rotating share of functions and points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from mpmath import mp

import pullback as pb
import pullback.special
from pullback.core.op import OPS
from tests import tier
from tests.laws.cases import NAMES
from tests.laws.exact import COMPLEX, ENTIRE, FUNCTIONS, Function, lift, plane, ulps

LIMIT = 4.0


class Allowed(NamedTuple):
    """How far a value ("value") or a slope ("0", "1": by its argument) may be off, and why."""

    reason: str
    ulps: float = LIMIT
    scale: float = 0.0  # the smallest size whose units are counted: an absolute error


_OUT = "reads the output, so that the argument can be freed, as PyTorch, TensorFlow and JAX do"
_SQUARE = "the exponential of a rounded square, as in PyTorch, TensorFlow and JAX"
_KERNEL = "SciPy's kernel"
_ZERO = "SciPy's kernel near a zero of the function"
_DIGAMMA = "a difference of digammas, as in TensorFlow and JAX"

ALLOWED: dict[tuple[str, str], Allowed] = {
    ("sigmoid", "0"): Allowed(_OUT, scale=1.0), ("tanh", "0"): Allowed(_OUT, scale=1.0),
    ("tan", "0"): Allowed(f"{_OUT}; far from the real axis", 6, 1.0),
    ("silu", "0"): Allowed("1 - sigmoid is rounded, as in PyTorch", 20),
    ("cbrt", "0"): Allowed("the error of the root counts twice", 6),
    ("pow", "0"): Allowed("x2 - 1 is rounded, as in PyTorch and JAX", 400),
    ("logaddexp", "value"): Allowed("NumPy's kernel", 6),
    **dict.fromkeys(
        (("logaddexp", "0"), ("logaddexp", "1")), Allowed("x1 - x2 is rounded, as in JAX", 40)
    ),
    ("logistic_loss", "0"): Allowed("a difference, as in PyTorch and TensorFlow", scale=1.0),
    ("rel_entr", "0"): Allowed("a sum of logarithms", 8),
    ("kl_div", "value"): Allowed("SciPy's kernel, near x = y", scale=1.0),
    ("erf", "0"): Allowed(_SQUARE, 120), ("erfc", "0"): Allowed(_SQUARE, 120),
    ("erfc", "value"): Allowed(_KERNEL, 50),
    ("gelu", "value"): Allowed("erfc of a rounded x / √2, as in PyTorch and JAX", 1000),
    ("gelu", "0"): Allowed("erfc of a rounded x / √2, as in PyTorch and JAX", 60),
    **dict.fromkeys((("gelu tanh", "value"), ("gelu tanh", "0")), Allowed(
        "the exponential of a rounded cube, as in PyTorch and JAX", 120)),
    ("ndtr", "value"): Allowed(_KERNEL, 1500), ("ndtr", "0"): Allowed(_SQUARE, 80),
    ("log_ndtr", "value"): Allowed(_KERNEL, 1500),
    ("log_ndtr", "0"): Allowed("erfcx of a rounded x / √2", 1000),
    ("hazard", "value"): Allowed("erfcx of a rounded x / √2", 1000),
    ("hazard", "0"): Allowed("as its value; a difference for x > -8", 1000),
    ("erfinv", "0"): Allowed(_SQUARE, 20), ("erfcinv", "0"): Allowed(_SQUARE, 400),
    ("ndtri", "0"): Allowed(_SQUARE, 400),
    ("gamma", "0"): Allowed(_ZERO, 60), ("gammaln", "0"): Allowed(_ZERO, scale=1.0),
    ("gammaln", "value"): Allowed(_ZERO, 20, 1.0),
    ("digamma", "value"): Allowed(_ZERO, scale=1.0),
    ("beta", "value"): Allowed(_KERNEL, 2000), ("betaln", "value"): Allowed(_KERNEL, 300, 1.0),
    **dict.fromkeys((("beta", "0"), ("beta", "1")), Allowed(_DIGAMMA, 2000, 1e7)),
    **dict.fromkeys((("betaln", "0"), ("betaln", "1")), Allowed(_DIGAMMA, 8, 1.0)),
    **{(name, part): Allowed(_ZERO, 20, 1.0)
       for name in ("j0", "j1", "y0", "y1", "jv", "yv") for part in ("value", "0")},
    **{(name, "0"): Allowed("a difference of neighbouring orders", 8, 1.0)
       for name in ("i0e", "k0e")},
    ("k0e", "value"): Allowed(_KERNEL, 8),
    ("zeta", "0"): Allowed("the kernel's error and a product", 6),
    ("gammainc", "value"): Allowed(_KERNEL, 40), ("gammaincc", "value"): Allowed(_KERNEL, 40),
    **dict.fromkeys((("gammainc", "0"), ("gammaincc", "0")), Allowed(
        "the exponential of a rounded logarithm of the density, as in JAX", 40)),
}

LEFT_OUT = {
    **dict.fromkeys(
        ("clip", "conj", "imag", "larger_share", "make_complex", "nextafter", "real",
         "where"), "no arithmetic"
    ),
    **dict.fromkeys(
        ("betainc", "betainc_by_a", "betainc_by_b", "gammainc_by_a"),
        "SciPy's kernel, or a series whose precision `tests/laws/test_values.py` tests",
    ),
    **dict.fromkeys(("i1e", "ive", "k1e", "kve"), "scaled as `i0e` and `k0e`, which are tested"),
    "spherical_jn": "of the Bessel functions `jv`, which is tested",
}


def parts(function: Function) -> Iterator[tuple[str, Any]]:
    """The value and the slopes, by their names in `ALLOWED`."""
    yield "value", function.value
    for i, slope in enumerate(function.slopes):
        if slope is not None:
            yield str(i), slope


def found_by(name: str, function: Function, columns: list[Any], g: Any) -> dict[str, Any]:
    """Values and products of slopes with a cotangent, by the library."""
    operation = OPS[name.split()[0]]

    def call(*xs: Any) -> Any:
        return operation(*function.lead, *xs, *function.attrs)

    with np.errstate(all="ignore"):
        found = {"value": np.asarray(call(*columns))}
        for part, _ in parts(function):
            if part == "value":
                continue
            xs = [pb.tensor(c) for c in columns]
            x = xs[int(part)] = pb.tensor(columns[int(part)], requires_grad=True)
            (slope,) = pb.autograd.grad(call(*xs), x, pb.tensor(g), materialize_grads=True)
            found[part] = np.asarray(slope.data)
    return found


def exact(formula: Any, point: tuple[Any, ...]) -> Any:
    """The true number, or None at a pole or where it is not real."""
    try:
        if not mp.isfinite(formula(*(mp.mpmathify(x) for x in point))):
            return None  # a pole or branch point
        true = mp.mpmathify(formula(*map(lift, point)))
    except (ValueError, ZeroDivisionError):
        return None
    if not isinstance(point[0], complex) and isinstance(true, mp.mpc):
        true = true.real if true.imag == 0 else None
    return true if true is not None and mp.isfinite(true) else None


def errors(name: str, dtype: str) -> dict[str, list[tuple[float, Any, Any, str]]]:
    """Per value and slope: errors with their points, the numbers found and the true ones."""
    function, info = FUNCTIONS[name], np.finfo(dtype)
    points = plane(info, name not in ENTIRE) if "complex" in dtype else function.points(info)
    rng = np.random.default_rng(len(points))
    points = tier.share(points, 8)
    columns = [np.array([p[i] for p in points], dtype) for i in range(len(points[0]))]
    g = (rng.choice([-2.0, -0.5, 0.5, 2.0], len(points))).astype(dtype)
    found = found_by(name, function, columns, g)
    result: dict[str, list[tuple[float, Any, Any, str]]] = {}
    with mp.workprec(function.bits):
        for part, formula in parts(function):
            result[part] = rows = []
            scale = ALLOWED.get((name, part), Allowed("")).scale
            for n, got in enumerate(found[part].tolist()):
                point = tuple(c[n].item() for c in columns)
                true = exact(formula, point)
                if true is None:
                    continue
                if part != "value":  # users see the conjugate of the derivative
                    true = (mp.conj(true) if dtype.startswith("complex") else true) * g[n].item()
                rows.append((ulps(got, true, info, scale), point, got, mp.nstr(true, 17)))
    return result


CASES = [
    (name, dtype) for name in FUNCTIONS
    for dtype in ("float32", "float64", *(("complex64", "complex128") if name in COMPLEX else ()))
]


@pytest.mark.parametrize(("name", "dtype"), tier.share(CASES))
def test_values_and_slopes(name: str, dtype: str) -> None:
    for part, rows in errors(name, dtype).items():
        limit = ALLOWED.get((name, part), Allowed("")).ulps
        wrong = [row for row in rows if not row[0] <= limit]
        assert not wrong, (part, sorted(wrong, key=lambda row: -row[0])[:3])


def test_every_elementwise_operation_is_tested_or_left_out() -> None:
    elementwise = {n for n in NAMES if OPS[n].op.elementwise and OPS[n].op.differentiable}
    tested = {name.split()[0] for name in FUNCTIONS}
    assert elementwise == tested | set(LEFT_OUT)
    assert not tested & set(LEFT_OUT)


@pytest.mark.full
@pytest.mark.parametrize("key", ALLOWED, ids=" ".join)
def test_an_allowance_is_needed(key: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    name, part = key
    dtypes = [dtype for n, dtype in CASES if n == name]
    monkeypatch.delitem(ALLOWED, key)
    assert max(row[0] for dtype in dtypes for row in errors(name, dtype)[part]) > LIMIT


# Beside the elementwise functions -------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_weights_of_a_logsumexp_far_out(dtype: str, rng: np.random.Generator) -> None:
    eps = np.finfo(dtype).eps
    for far in (0.0, 1e3, -1e4, 1e6):
        offsets = rng.integers(-20, 21, 9) / 8  # exact beside the largest shift
        x = pb.tensor((far + offsets).astype(dtype), requires_grad=True)
        g = rng.standard_normal()
        (weights,) = pb.autograd.grad(pb.logsumexp(x), x, pb.tensor(np.array(g, dtype)))
        true = np.exp(offsets) / np.exp(offsets).sum()
        np.testing.assert_allclose(weights.data, np.dtype(dtype).type(g) * true, rtol=8 * eps)


def test_digamma_beside_its_poles_in_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    points = [-0.9999999999999999, -1.0000000000000002, -2.9999999999, -5.001, -1.0, 0.5, -7.5]
    found = pb.special.digamma(pb.tensor(torch.tensor(points, dtype=torch.float64))).data.tolist()
    for x, value in zip(points, found, strict=True):
        if x == -1.0:
            assert not np.isfinite(value)
            continue
        assert ulps(value, mp.psi(0, mp.mpf(x)), np.finfo(float), 1.0) <= LIMIT


def test_the_front_ends_units_far_to_the_left() -> None:
    import pullback.torch as door

    functional = door.nn.functional
    points = [-10.0, -20.0, -1e-3, 0.5]
    for name, scale in (("elu", 1.0), ("celu", 1.0), ("selu", 1.7580993408473766)):
        above = 1.0507009873554805 if name == "selu" else 1.0
        wanted = [*(scale * np.exp(points[:3])), above]
        for inplace in (False, True):
            x = door.tensor(points, requires_grad=True)
            getattr(functional, name)(x * 1.0, inplace=inplace).sum().backward()
            np.testing.assert_allclose(x.grad.tolist(), wanted, rtol=1e-6)


def test_quantiles_are_placed_in_the_precision_of_the_data() -> None:
    import pullback.torch as door

    for dtype, tolerance in ((door.float64, 1e-15), (door.float32, 1e-7)):
        x = door.tensor([1.0, 2.0, 7.5], dtype=dtype)
        np.testing.assert_allclose(x.quantile(0.3).item(), 1.6, rtol=tolerance)
        for function in (door.quantile, door.nanquantile):
            found = function(x, door.tensor([0.3, 0.6], dtype=dtype))
            np.testing.assert_allclose(found.tolist(), [1.6, 3.1], rtol=tolerance * 4)
