"""NumPy's functions on Tensors: values, gradients, errors, and that none is forgotten."""

from __future__ import annotations

import inspect
import subprocess
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.fft  # whose functions are counted when they are loaded
import numpy.lib.recfunctions
import numpy.lib.scimath
import numpy.polynomial.polynomial
import numpy.strings
import pytest
import scipy
from numpy.testing import overrides
from scipy import optimize

import pullback as pb
from pullback import Tensor, errors
from pullback._aliases import aliases
from pullback.protocols.functions import answer_of, key_of, rule_of
from pullback.protocols.refused import MAKES, PLAIN, REFUSED, WRITES
from pullback.protocols.table import RULES
from tests.parts import release
from tests.protocols_table import CASES, EVERY, HERE, SINCE, UNTIL, Case, is_there

NAMES = [f"{i}-{c.name}" for i, c in enumerate(CASES)]


def drawn(case: Case) -> list[np.ndarray]:
    rng = np.random.default_rng(zlib.crc32(repr(case[:1] + case[2:]).encode()))
    if case.kind == "int":
        return [rng.integers(0, 9, shape) for shape in case.shapes]
    made = [rng.uniform(0.5, 1.5, shape) for shape in case.shapes]
    if case.kind == "complex":
        made = [a + 1j * rng.uniform(0.5, 1.5, a.shape) for a in made]
    return made


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def inner(results: list[Any], weights: list[Any]) -> Any:
    """Σ Re(conj(w) r): one number of all results that are not whole numbers."""
    total: Any = 0.0
    for r, w in zip(results, weights, strict=True):
        if r.dtype.kind in "fc":
            total = total + pb.sum(pb.real(pb.conj(w) * r) if r.dtype.kind == "c" else w * r)
    return total


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_values_are_numpy_s(case: Case) -> None:
    arrays = drawn(case)
    wanted = parts(case.call(*arrays))
    found = parts(case.call(*map(Tensor, arrays)))
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        assert f.shape == w.shape
        assert f.dtype == w.dtype
        tolerance = 1e-5 if w.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(np.asarray(f), w, rtol=tolerance, atol=tolerance)


FLOATING = [i for i, c in enumerate(CASES) if c.kind != "int"]


def random_like(rng: np.random.Generator, a: Any) -> Any:
    """Random numbers of the shape of an array, complex ones for a complex one."""
    real = rng.normal(size=a.shape)
    return real + 1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else real


@pytest.mark.parametrize("number", FLOATING, ids=[NAMES[i] for i in FLOATING])
def test_the_gradients_are_those_of_numpy_s_function(number: int) -> None:
    """Along a random direction, from a random cotangent, against differences."""
    case, rng = CASES[number], np.random.default_rng(7)
    arrays = drawn(case)
    wanted = parts(case.call(*arrays))
    weights = [random_like(rng, w) for w in wanted]
    along = [random_like(rng, a) for a in arrays]
    single = any(w.dtype == np.float32 for w in wanted)
    h = 1e-3 if single else 1e-6
    ends = [
        inner(parts(case.call(*[a + s * h * d for a, d in zip(arrays, along, strict=True)])),
              weights)
        for s in (1, -1)
    ]
    slope = float((ends[0] - ends[1]) / (2 * h))
    xs = [pb.tensor(a, requires_grad=True) for a in arrays]
    value = inner(parts(case.call(*xs)), weights)
    got = 0.0
    if isinstance(value, Tensor) and value.requires_grad:
        value.backward()
        got = sum(
            np.sum(np.real(np.conj(x.grad.numpy()) * d))
            for x, d in zip(xs, along, strict=True) if x.grad is not None
        )
    tolerance = {"rtol": 2e-3, "atol": 1e-3} if single else {"rtol": 2e-6, "atol": 1e-7}
    np.testing.assert_allclose(got, slope, **tolerance)


# None is forgotten --------------------------------------------------------------------------

FUNCTIONS = sorted({key_of(f) for f in overrides.get_overridable_numpy_array_functions()})
TWICE = {"amax", "amin"}
SAME = {
    key: alias for key, alias in aliases("numpy").items()
    if not isinstance(getattr(np, key, None), np.ufunc)
}
"""Functions that are this library's own under NumPy's names."""
RULED = {*RULES, *SAME}


def numpy_function(key: str) -> Any:
    found: Any = np
    for part in key.split("."):
        found = getattr(found, part)
    return found


def test_every_function_of_numpy_s_has_a_rule_or_a_reason() -> None:
    """Those in `numpy` that take arrays; a function is in one table only."""
    known = {f for f in FUNCTIONS if not f.startswith(("strings.", "char."))} - TWICE
    if HERE < (2, 2):  # NumPy lists them from then on
        known |= MAKES | {"array", "asanyarray", "asarray"}
    tables = RULED | PLAIN | set(REFUSED) | MAKES
    assert set(SINCE) | set(UNTIL) <= tables
    there = {name for name in tables if is_there(name)}
    assert known == there
    assert not RULED & (PLAIN | set(REFUSED))
    assert not PLAIN & (set(REFUSED) | MAKES)
    assert set(REFUSED) >= WRITES
    assert all(REFUSED.values())


def test_every_rule_is_called_by_a_case() -> None:
    assert {c.name for c in EVERY} == RULED


SAID_SINCE = {
    **dict.fromkeys(
        ("array", "asanyarray", "asarray", "bincount", "concatenate", "dot", "empty_like", "inner",
         "vdot", "where"), "2.4"
    ),
    "reshape": "2.4", "take_along_axis": "2.3",
}
"""Function -> the first version of NumPy that says its parameters, if all are as they are now."""
SAID = [k for k in sorted(filter(is_there, RULED)) if release(SAID_SINCE.get(k, "2.0")) <= HERE]


@pytest.mark.parametrize("key", SAID)
def test_the_parameters_of_a_rule_are_numpy_s(key: str) -> None:
    """Those it has: it may lack some, and has none of its own."""
    ours = inspect.signature(rule_of(key, numpy_function(key))).parameters
    theirs = list(inspect.signature(numpy_function(key)).parameters)
    if key in ("pad", "clip"):  # whose others are behind `**kwargs`
        theirs += ["constant_values", "min", "max"]
    renamed = {"args": "*", "arys": "*", "xi": "*", "operands": "*"}
    assert [k for k in ours if k not in theirs and k not in renamed] == []
    for name, parameter in ours.items():
        default = inspect.signature(numpy_function(key)).parameters.get(name, parameter).default
        assert parameter.default in (default, None) or default is np._NoValue  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", sorted(filter(is_there, SAME)))
def test_a_function_under_another_name_has_numpy_s_defaults(key: str) -> None:
    """Arguments equal to NumPy's defaults are left out of the call."""
    ours = inspect.signature(SAME[key].function()).parameters
    for name, parameter in inspect.signature(numpy_function(key)).parameters.items():
        if name in ours and name not in ("keepdims", *"xyab"):
            assert ours[name].default in (parameter.default, parameter.empty), name


def test_no_function_has_both_a_rule_and_another_name() -> None:
    assert not set(RULES) & set(aliases("numpy"))


def test_functions_behind_numpy_s_names_are_found() -> None:
    assert answer_of(np.amax).args[0] == "numpy.amax"  # type: ignore[attr-defined]
    assert key_of(np.linalg.det) == "linalg.det"
    assert key_of(np.concat) == "concatenate"


# Without a rule -----------------------------------------------------------------------------

TRACKED = pb.tensor([1.0, 2.0, 4.0], requires_grad=True)
REFUSALS: dict[str, Callable[[Any], Any]] = {
    "numpy.unwrap": lambda x: np.unwrap(x),
    "numpy.unique": lambda x: np.unique(x),
    "numpy.reshape": lambda x: np.reshape(x, (3, 1), order="F"),
    "numpy.pad": lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"),
    "numpy.quantile": lambda x: np.quantile(x, 0.5, method="weibull"),
    "numpy.cov": lambda x: np.cov(x, dtype="float32"),
    "numpy.zeros_like": lambda x: np.zeros_like(x, shape=(2,)),
    "numpy.putmask": lambda x: np.putmask(np.zeros(3), [True] * 3, x),
    "numpy.asarray": lambda x: np.asarray(x, copy=True, like=x),
    "numpy.gradient": lambda x: np.gradient(x, 1.0, 2.0),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_function_without_a_rule_is_one_error(name: str) -> None:
    with pytest.raises(errors.ArgumentTypeError) as caught:
        REFUSALS[name](TRACKED)
    assert caught.value.subject == f"{name} of a Tensor"
    assert caught.value.fix.endswith("x.detach().numpy() where no derivative is needed")


def test_parts_must_be_equal() -> None:
    with pytest.raises(errors.ArgumentError, match=r"use numpy\.array_split"):
        np.split(TRACKED, 2)


def test_an_error_names_what_to_use() -> None:
    with pytest.raises(TypeError, match=r"and pullback\.cumulative_sum, or x\.detach"):
        np.unwrap(TRACKED)
    with pytest.raises(TypeError, match="leave out `dtype`"):
        np.cov(TRACKED, dtype="float32")


def test_tangents_are_followed_too() -> None:
    with pytest.raises(errors.ArgumentTypeError, match="tangent"):
        pb.jvp(lambda x: pb.sum(x) * np.unwrap(x)[0], (np.ones(3),), (np.ones(3),))


def test_numpy_computes_what_nobody_follows() -> None:
    x = TRACKED.detach()
    assert type(np.unwrap(x)) is np.ndarray
    np.testing.assert_array_equal(np.unique(x), [1, 2, 4])
    with pb.no_grad():
        np.testing.assert_array_equal(np.unwrap(TRACKED), np.unwrap(x.data))


def test_nothing_is_written_into_a_tensor_unseen() -> None:
    with pytest.raises(errors.ArgumentTypeError, match="set_at"):
        np.copyto(pb.zeros(3), np.ones(3))
    with pytest.raises(errors.ArgumentTypeError, match="to write to"):
        np.quantile(np.ones(3), 0.5, method="weibull", out=pb.zeros(()))
    a = np.zeros(3)
    np.copyto(a, TRACKED.detach())
    np.testing.assert_array_equal(a, TRACKED.data)


def test_questions_are_answered_plainly() -> None:
    """Of tracked tensors too: there is no derivative to be lost."""
    assert np.allclose(TRACKED, [1, 2, 4])
    assert np.array_equal(TRACKED, TRACKED)
    assert np.isclose(TRACKED, 2.0).tolist() == [False, True, False]
    assert np.result_type(TRACKED, np.float32) == np.float64
    assert np.array2string(TRACKED) == "[1. 2. 4.]"
    assert (np.shape(TRACKED), np.ndim(TRACKED), np.size(TRACKED)) == ((3,), 1, 3)


def test_what_leaves_is_an_error() -> None:
    def lossy(x: Any) -> Any:
        return pb.asarray(np.asarray(x)[0] * float(x[1]))

    with pytest.raises(errors.LostGradientError, match=r"numpy\.asarray at .*test_protocols"):
        pb.grad(lossy)(np.ones(2))


# With everything else -----------------------------------------------------------------------


def test_the_transformations_go_through() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sort(np.concatenate([x, np.flip(x) * 2]))[2:] ** 2)

    x = np.array([1.0, 3.0, 2.5])
    rows = np.stack([x, x * 1.5])
    for i, row in enumerate(rows):
        np.testing.assert_allclose(pb.vmap(f)(rows)[i].data, f(row), rtol=1e-14)
        np.testing.assert_allclose(pb.vmap(pb.grad(f))(rows)[i].data, pb.grad(f)(row).data)
    value, slope = pb.jvp(f, (x,), (np.ones(3),))
    np.testing.assert_allclose(slope.data, np.sum(pb.grad(f)(x).data), rtol=1e-14)
    np.testing.assert_allclose(value.data, f(x), rtol=1e-14)


def test_an_out_receives_values_and_history() -> None:
    out = pb.zeros(())
    assert np.sum(TRACKED, None, None, out) is out
    np.testing.assert_array_equal(pb.autograd.grad(out, TRACKED)[0].data, [1, 1, 1])
    with pytest.raises(errors.ArgumentTypeError, match="lose the history"):
        np.cumsum(TRACKED, out=np.zeros(3))
    a = np.zeros(3)
    assert np.cumsum(TRACKED.detach(), out=a) is a
    np.testing.assert_array_equal(a, [1, 3, 7])


def test_arguments_that_have_their_default_value_change_nothing() -> None:
    found = np.sum(TRACKED, axis=None, dtype=None, out=None, where=np._NoValue)  # type: ignore[call-overload, attr-defined]
    assert found.node.name() == "sum"
    assert np.zeros_like(TRACKED, shape=None).shape == (3,)


def test_arrays_for_those_who_ask_for_arrays() -> None:
    """`atleast_1d` is how libraries prepare what they pass to compiled code."""
    assert type(np.atleast_1d(TRACKED.detach())) is np.ndarray
    assert np.atleast_2d(TRACKED).requires_grad
    np.testing.assert_array_equal(pb.vmap(lambda x: np.atleast_1d(x) * 2)(np.ones(3)).data,
                                  np.full((3, 1), 2))


def test_arrays_like_a_tensor_are_tensors() -> None:
    assert type(np.zeros(2, like=TRACKED)) is Tensor
    np.testing.assert_array_equal(np.arange(3, like=TRACKED).data, [0, 1, 2])


def test_an_array_of_somebody_else_decides() -> None:
    class Other:
        def __array_function__(self, *args: Any) -> str:
            return "theirs"

    assert np.concatenate([TRACKED, Other()]) == "theirs"  # type: ignore[arg-type, list-item]


def test_scipy_with_functions_that_are_numpy_s() -> None:
    def f(x: Any) -> Any:
        return np.sum(100.0 * np.diff(x) ** 2) + np.linalg.norm(x - 1.0) ** 2

    x0 = np.array([0.5, -0.3, 1.7])
    gradient = pb.grad(f)
    assert optimize.check_grad(f, gradient, x0) < 1e-4
    seed: dict[str, Any] = {"rng" if release(scipy.__version__) >= (1, 15) else "seed": 0}
    assert optimize.check_grad(f, gradient, x0, direction="random", **seed) < 1e-3
    np.testing.assert_allclose(optimize.approx_fprime(x0, lambda x: f(Tensor(x))),
                               gradient(x0).data, rtol=1e-5)
    for method in ("BFGS", "L-BFGS-B", "Newton-CG", "trust-constr", "SLSQP", "Nelder-Mead"):
        jac = None if method == "Nelder-Mead" else gradient
        found = optimize.minimize(f, x0, jac=jac, method=method, tol=1e-10)
        np.testing.assert_allclose(found.x, np.ones(3), atol=2e-4)
    assert optimize.minimize(lambda x: f(Tensor(x)), x0).fun < 1e-8


def test_the_rules_are_loaded_by_the_first_call() -> None:
    code = (
        "import sys, numpy as np, pullback as pb\n"
        "x = np.ones(2) @ pb.tensor(np.eye(2)).T if False else pb.ones(2)\n"
        "lazy = {m for m in sys.modules if m.startswith('pullback.protocols.')}\n"
        "lazy -= {'pullback.protocols.methods', 'pullback.protocols.values'}\n"
        "assert not lazy, lazy\n"
        "assert np.sum(x).shape == ()\n"
        "assert 'pullback.protocols.reducing' in sys.modules\n"
        "assert 'scipy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
