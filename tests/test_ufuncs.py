"""NumPy's ufuncs on Tensors: values, gradients, keywords, methods, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import overrides
from scipy import special

import pullback as pb
from pullback import Tensor, errors
from pullback.protocols.ufuncs import REFUSED_UFUNCS, rule_of

UFUNCS = {f.__name__: f for f in overrides.get_overridable_numpy_ufuncs()}
TEXT = {"count", "endswith", "find", "index", "isalnum", "isalpha", "isdecimal", "isdigit",
        "islower", "isnumeric", "isspace", "istitle", "isupper", "rfind", "rindex", "startswith",
        "str_len"}
MAPPED = sorted(n for n, f in UFUNCS.items() if rule_of(f) is not None)
BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"}
PRODUCTS = {"matmul", "vecdot", "matvec", "vecmat"}


def test_every_ufunc_of_numpy_s_has_a_rule_or_a_reason() -> None:
    public = {n for n in UFUNCS if not n.startswith("_")} - TEXT
    assert public == set(MAPPED) | set(REFUSED_UFUNCS)
    assert not set(MAPPED) & set(REFUSED_UFUNCS)


def drawn(name: str, rng: np.random.Generator) -> list[np.ndarray]:
    f = UFUNCS[name]
    if name in BITS:
        return [rng.integers(0, 5, (2, 3)) for _ in range(f.nin)]
    if name == "clip":
        return [rng.uniform(0, 3, (2, 3)), np.full(3, 1.0), np.full(3, 2.0)]
    low, high = {"arccosh": (1.1, 2.0), "arcsin": (-0.9, 0.9), "arccos": (-0.9, 0.9),
                 "arctanh": (-0.9, 0.9)}.get(name, (0.3, 2.7))
    if name in PRODUCTS:
        shapes = {"matmul": [(2, 3), (3, 2)], "vecdot": [(2, 3), (3,)], "matvec": [(2, 3), (3,)],
                  "vecmat": [(3,), (3, 2)]}[name]
        return [rng.uniform(low, high, s) for s in shapes]
    made = [rng.uniform(low, high, (2, 3)) for _ in range(f.nin)]
    if name in ("imag", "real"):  # these ufuncs are of complex numbers only
        return [made[0] + 1j * rng.uniform(low, high, (2, 3))]
    if name == "ldexp":
        made[1] = rng.integers(-2, 3, (2, 3))
    return made


def parts(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", MAPPED)
def test_values_with_tensors_in_any_place(name: str, rng: np.random.Generator) -> None:
    f, arrays = UFUNCS[name], drawn(name, rng)
    wanted = parts(f(*arrays))
    for i in range(1, 2**f.nin):
        mixed = [Tensor(a) if i >> k & 1 else a for k, a in enumerate(arrays)]
        for found, value in zip(parts(f(*mixed)), wanted, strict=True):
            assert type(found) is Tensor
            assert found.dtype == value.dtype
            np.testing.assert_allclose(found.data, value, rtol=2e-15, atol=1e-15)


@pytest.mark.parametrize("name", [n for n in MAPPED if n not in BITS])
def test_gradients_are_those_of_the_ufunc(name: str, rng: np.random.Generator) -> None:
    f, arrays = UFUNCS[name], drawn(name, rng)
    results = parts(f(*arrays))
    if results[0].dtype.kind != "f":
        assert all(x.node is None for x in parts(f(*[pb.tensor(a) for a in arrays])))
        return
    weights = [rng.normal(size=r.shape) for r in results]
    xs = [pb.tensor(a, requires_grad=a.dtype.kind in "fc") for a in arrays]
    total = sum(pb.sum(w * r) for w, r in zip(weights, parts(f(*xs)), strict=True))
    grads = pb.autograd.grad(total, [x for x in xs if x.requires_grad], allow_unused=True)
    tracked = [i for i, x in enumerate(xs) if x.requires_grad]
    for i, g in zip(tracked, grads, strict=True):
        along, h = rng.normal(size=arrays[i].shape), 1e-6
        if arrays[i].dtype.kind == "c":
            along = along + 1j * rng.normal(size=along.shape)
        ends = []
        for s in (1, -1):
            moved = [a + s * h * along if k == i else a for k, a in enumerate(arrays)]
            ends.append(sum(np.sum(w * r) for w, r in zip(weights, parts(f(*moved)), strict=True)))
        got = 0.0 if g is None else np.sum(np.real(np.conj(g.data) * along))
        np.testing.assert_allclose(got, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7)


EDGES: dict[str, tuple[Any, ...]] = {
    "fmod": (np.array([-5.0, 5.0, -0.5, 0.0]), np.array([3.0, -3.0, 2.0, 2.0])),
    "fmax": (np.array([np.nan, 1.0, np.nan]), np.array([2.0, np.nan, np.nan])),
    "fmin": (np.array([np.nan, 1.0, np.nan]), np.array([2.0, np.nan, np.nan])),
    "heaviside": (np.array([-1.0, 0.0, 2.0, np.nan]), 0.25),
    "modf": (np.array([-1.5, np.inf, -np.inf, np.nan]),),
    "fabs": (np.array([-1.5, np.inf]),),
    "divmod": (np.array([-5.0, 5.0]), 3.0),
}


@pytest.mark.parametrize("name", EDGES)
def test_values_at_the_edges(name: str) -> None:
    f = UFUNCS[name]
    found = f(*[Tensor(a) for a in EDGES[name]])
    for x, y in zip(parts(found), parts(f(*EDGES[name])), strict=True):
        np.testing.assert_array_equal(x.data, y)


def test_ufuncs_of_scipy_s() -> None:
    x = pb.tensor([0.3, 1.2], requires_grad=True)
    assert special.erf(x).node.name() == "erf"
    (g,) = pb.autograd.grad(special.gammaln(x), x, np.array([1.0, 2.0]))
    np.testing.assert_allclose(g.data, special.digamma(x.data) * [1.0, 2.0], rtol=1e-13)
    with pytest.raises(errors.ArgumentTypeError, match=r"scipy\.special\.wofz"):
        special.wofz(x)


# Keywords -----------------------------------------------------------------------------------


def test_a_tensor_as_out_receives_values_and_history() -> None:
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = pb.zeros(3)
    view = out[1:]
    assert np.multiply(x, x, out=out) is out
    np.testing.assert_array_equal(out.data, [1, 4, 9])
    (g,) = pb.autograd.grad(view, x, np.array([10.0, 100.0]))
    np.testing.assert_array_equal(g.data, [0, 40, 600])


def test_out_may_be_an_input() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    np.multiply(y, y, out=y)
    np.exp(y, out=y)
    (g,) = pb.autograd.grad(y, x, np.array([1.0, 1.0]))
    np.testing.assert_allclose(g.data, 2 * x.data * np.exp(x.data**2), rtol=1e-15)


def test_out_of_a_variable_is_an_assignment() -> None:
    v = pb.Variable([1.0, 2.0])
    assert np.add(v, 1.0, out=v) is v
    np.testing.assert_array_equal(v.numpy(), [2, 3])


def test_what_out_can_not_be() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(errors.InplaceError, match="leaf"):
        np.add(x, 1.0, out=x)
    with pytest.raises(errors.DtypeError, match="float64"):
        np.add(x, 1.0, out=Tensor(np.zeros(2, dtype=int)))
    with pytest.raises(errors.ArgumentError, match="shape"):
        np.add(x, 1.0, out=pb.zeros(3))
    with pytest.raises(errors.ArgumentTypeError, match="lose the history"):
        np.add(x, 1.0, out=np.zeros(2))


def test_in_place_on_an_array() -> None:
    a = np.ones(2)
    with pytest.raises(TypeError, match="write a \\+ t instead of a \\+= t"):
        a += pb.tensor([1.0, 2.0], requires_grad=True)
    np.testing.assert_array_equal(a, [1, 1])
    same = a
    a += Tensor(np.array([1.0, 2.0]))
    assert a is same
    np.testing.assert_array_equal(a, [2, 3])
    with pb.no_grad():
        a *= pb.tensor([2.0, 2.0], requires_grad=True)
    np.testing.assert_array_equal(a, [4, 6])


def test_a_gradient_that_needs_what_was_in_the_array_says_so() -> None:
    a, x = np.ones(2), pb.tensor([1.0, 2.0], requires_grad=True)
    y = a * x
    a += pb.ones(2)
    with pytest.raises(errors.InplaceError, match=r"numpy\.add"):
        pb.sum(y).backward()


@pytest.mark.parametrize("f", [np.log, np.sqrt, np.reciprocal, np.arctanh])
def test_where_never_computes_what_is_left_out(f: np.ufunc) -> None:
    """Neither warnings nor infinite derivatives come from there."""
    x = pb.tensor([0.0, 0.5, 1.0 if f is np.arctanh else 0.0], requires_grad=True)
    mask = np.array([False, True, False])
    out = pb.zeros_like(x)
    f(x, where=mask, out=out)
    np.testing.assert_allclose(out.data, f(x.data, where=mask, out=np.zeros(3)))
    (g,) = pb.autograd.grad(out, x, np.array([1.0, 1.0, 1.0]))
    h = 1e-6
    slope = (f(0.5 + h) - f(0.5 - h)) / (2 * h)
    np.testing.assert_allclose(g.data, [0, slope, 0], rtol=1e-6)


def test_where_keeps_the_history_of_out() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    out = x * 3
    np.divide(1.0, x, where=[True, False], out=out)
    (g,) = pb.autograd.grad(out, x, np.array([1.0, 1.0]))
    np.testing.assert_array_equal(g.data, [-1, 3])


def test_where_needs_an_out() -> None:
    with pytest.raises(errors.ArgumentError, match=r"out=numpy\.zeros_like"):
        np.exp(Tensor(np.ones(2)), where=[True, False])


def test_the_dtype_a_ufunc_is_computed_in() -> None:
    x = pb.tensor([1, 2])
    assert np.add(x, 1, dtype=np.float32).dtype == np.float32
    y = pb.tensor([1.5, 2.5], requires_grad=True)
    found = np.multiply(y, y, dtype="f4")
    assert found.dtype == np.float32
    (g,) = pb.autograd.grad(found, y, np.array([1, 2], "f4"))
    assert g.dtype == np.float64
    np.testing.assert_array_equal(g.data, [3, 10])
    assert np.less(y, 2, dtype=bool).data.tolist() == [True, False]
    with pytest.raises(errors.DtypeError, match="dtype"):
        np.add(y, 1, dtype=int)


def test_results_of_several_outputs_go_into_several() -> None:
    x = pb.tensor([1.5, -2.25], requires_grad=True)
    whole, out = pb.zeros(2), (pb.zeros(2), None)
    found = np.modf(x, out=(None, whole))
    assert found[1] is whole
    np.testing.assert_array_equal(whole.data, [1, -2])
    assert np.divmod(x, 2.0, out=out)[0] is out[0]


# Methods ------------------------------------------------------------------------------------

METHODS: dict[str, Callable[[Any], Any]] = {
    "add.reduce": lambda x: np.add.reduce(x),
    "add.reduce of all": lambda x: np.add.reduce(x, axis=None, keepdims=True, initial=2.0),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=1),
    "maximum.reduce": lambda x: np.maximum.reduce(x, -1, initial=1.0),
    "minimum.reduce": lambda x: np.minimum.reduce(x, where=[True, False, True], initial=9.0),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=(0, 1)),
    "add.accumulate": lambda x: np.add.accumulate(x),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "subtract.outer": lambda x: np.subtract.outer(x, x[0]),
    "power.outer": lambda x: np.power.outer([1.5, 2.0], x),
    "maximum.outer": lambda x: np.maximum.outer(x[0], 1.1),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str, rng: np.random.Generator) -> None:
    f, a = METHODS[name], rng.uniform(0.5, 1.9, (2, 3))
    x, wanted = pb.tensor(a, requires_grad=True), f(a)
    found = f(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.data, wanted, rtol=1e-14)
    w, along, h = rng.normal(size=wanted.shape), rng.normal(size=a.shape), 1e-6
    (g,) = pb.autograd.grad(found, x, w)
    slope = np.sum(w * (f(a + h * along) - f(a - h * along))) / (2 * h)
    np.testing.assert_allclose(np.sum(g.data * along), slope, rtol=1e-6)


def test_methods_of_truth_and_into_an_out() -> None:
    x = Tensor(np.array([[True, False], [True, True]]))
    np.testing.assert_array_equal(np.logical_and.reduce(x).data, [True, False])
    np.testing.assert_array_equal(np.logical_or.reduce(x, axis=None).data, True)
    y, out = pb.tensor([1.0, 2.0], requires_grad=True), pb.zeros(())
    assert np.add.reduce(y, out=out) is out
    np.testing.assert_array_equal(pb.autograd.grad(out, y)[0].data, np.array([1, 1]))


@pytest.mark.parametrize("call", [
    lambda x: np.add.at(x, [0], 1.0),
    lambda x: np.add.reduceat(x, [0, 1]),
    lambda x: np.subtract.reduce(x),
    lambda x: np.maximum.accumulate(x),
    lambda x: np.spacing(x),
    lambda x: np.frexp(x),
    lambda x: np.matmul(x, x, axes=[0, 0, ()]),
    lambda x: np.frompyfunc(lambda v: v, 1, 1)(x),
])
def test_what_has_no_rule_is_one_error(call: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.ArgumentTypeError, match=r"detach\(\)\.numpy\(\)") as caught:
        call(pb.tensor([1.0, 2.0], requires_grad=True))
    assert caught.value.subject.endswith("of a Tensor")


def test_untracked_tensors_in_what_has_no_rule() -> None:
    """NumPy's own results, as it gives them; but nobody writes into a Tensor unseen."""
    x = Tensor(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(np.maximum.accumulate(x), [1, 2])
    assert type(np.spacing(x)) is np.ndarray
    assert type(np.gcd(Tensor(np.array([4])), 6)) is np.ndarray
    with pytest.raises(errors.ArgumentTypeError, match="add_at"):
        np.add.at(x, [0], 1.0)
    a = np.zeros(2)
    np.add.at(a, [0, 0], x)
    np.testing.assert_array_equal(a, [3, 0])


def test_objects_are_refused() -> None:
    odd = np.array([1.0, None], dtype=object)
    x = Tensor(np.ones(2))
    for call in (lambda: odd * x, lambda: np.add(odd, x, dtype=float)):
        with pytest.raises(errors.DtypeError, match="object"):
            call()


def test_numpy_s_scalars_on_either_side() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = np.float64(2) * x + x * np.float64(3) - np.int8(1)
    assert type(y) is Tensor
    np.testing.assert_array_equal(pb.autograd.grad(y, x, np.array([1.0, 2.0]))[0].data, [5, 10])
