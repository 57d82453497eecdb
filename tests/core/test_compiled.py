"""The compiled core computes, records and refuses exactly what the core in Python does."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback._registry import OPS
from pullback.core.observe import Calls, observing
from tests.tier import turn

ROOT = Path(__file__).parents[2]
both = pytest.mark.needs("compiled")
RNG = np.random.default_rng(5)
HARD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, 2.5, -7.5, 1e-40]


def run_in(pure: bool, *arguments: str) -> list[str]:
    """What a module prints in a process with one of the two cores."""
    env = {**os.environ, "PULLBACK_PURE": "1" if pure else "0"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@both
@pytest.mark.parametrize("count", [40, pytest.param(600, marks=pytest.mark.full)])
def test_random_programs_are_the_same(count: int) -> None:
    first = 10**6 * turn()
    lines = ("-m", "tests.core.in_both", str(first), str(first + count))
    ours, theirs = run_in(False, *lines), run_in(True, *lines)
    assert (ours[0], theirs[0]) == ("compiled", "python")
    assert len(ours) == 1 + 3 * count
    assert ours[1:] == theirs[1:]


def arrays(count: int, dtype: str) -> Iterator[list[np.ndarray]]:
    """Arguments of an operation: of each length around the width of a vector, and hard values."""
    for n in (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64, 70, 1024, 1025):
        yield [RNG.normal(size=n).astype(dtype) * 3 for _ in range(count)]
        yield [np.abs(RNG.normal(size=n)).astype(dtype) for _ in range(count)]
    with np.errstate(all="ignore"):
        hard = np.array(HARD).astype(dtype)
        yield [np.repeat(hard, len(HARD)), np.tile(hard, len(HARD))][:count]


def same(found: Any, wanted: Any) -> bool:
    """Whether two results have the same class, dtype, shape and bits."""
    alike = type(found) is type(wanted) and found.dtype == wanted.dtype
    return alike and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


PLAIN = [
    name for name in sorted(OPS)
    if hasattr(OPS[name], "general") and len(OPS[name].op.arguments) <= 2
    and not OPS[name].op.required and isinstance(OPS[name].op.kernels[np.ndarray], np.ufunc)
]


@both
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_have_the_bits_of_numpys(dtype: str) -> None:
    assert len(PLAIN) > 40
    seen = 0
    for name in PLAIN:
        function = OPS[name]
        kernel = function.op.kernels[np.ndarray]
        for given in arrays(len(function.op.arguments), dtype):
            with np.errstate(all="ignore"):
                try:
                    wanted = kernel(*given)
                except TypeError:  # an operation of integers
                    break
                found = function(*[pb.tensor(a) for a in given]).data
                assert same(found, wanted), (name, given)
                if len(given) == 2:
                    wanted = kernel(given[0], 1.7)
                    assert same(function(pb.tensor(given[0]), 1.7).data, wanted), (name, given)
                seen += 1
    assert seen > 1000


@both
@pytest.mark.parametrize("value", [3, -1, 0, 2**60, 1e-50, 1e39, float("inf"), float("nan"), True])
def test_numbers_are_converted_as_numpy_converts_them(value: Any) -> None:
    for dtype in ("float32", "float64"):
        x = pb.tensor(np.array([0.5, 2.0], dtype))
        for function in (pb.multiply, pb.add, pb.less, pb.maximum):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                wanted = function.general(x, value)
                found = function(x, value)
            assert same(found.data, wanted.data), (function, dtype)


@pytest.mark.parametrize(("run", "flag"), [
    (lambda x: pb.log(x * 0), "divide"), (lambda x: pb.exp(x * 1e6), "over"),
    (lambda x: x * 1e-300 * 1e-300, "under"), (lambda x: pb.sqrt(-x), "invalid"),
])
def test_flags_are_numpys(run: Any, flag: str) -> None:
    x = pb.tensor([1.0, 2.0])
    with np.errstate(**{flag: "raise"}), pytest.raises(FloatingPointError):
        run(x)
    with np.errstate(**{flag: "warn"}), pytest.warns(RuntimeWarning):
        run(x)
    with np.errstate(all="ignore"):
        run(x)
    with np.errstate(all="raise"):  # nothing is left of a flag
        assert (x + x).data[0] == 2.0


def test_a_flag_from_elsewhere_is_not_reported() -> None:
    x = pb.tensor([1.0, 2.0])
    with np.errstate(all="ignore"):
        np.log(np.zeros(3))
    with np.errstate(all="raise"):
        assert pb.exp(x * 0).data[0] == 1.0


def test_operations_are_functions_to_python() -> None:
    assert pickle.loads(pickle.dumps(pb.exp)) is pb.exp
    assert list(inspect.signature(pb.exp).parameters) == ["x"]
    assert pb.exp.__name__ == "exp"
    assert "exp" in repr(pb.exp)
    assert pb.exp.__doc__
    assert weakref.ref(pb.multiply)() is pb.multiply
    assert all(map(inspect.isroutine, (pb.exp, pb.sum, pb.multiply)))
    with pytest.raises(TypeError):
        pb.exp()
    with pytest.raises(TypeError):
        pb.exp(pb.tensor(1.0), wrong=1)


def test_classes_of_tensors_are_not_kept() -> None:
    class Mine(pb.Tensor):
        __slots__ = ()

    Mine._out = Mine
    x = Mine([1.0, 2.0], requires_grad=True)
    assert [type(x * x), type(pb.exp(x))] == [Mine, Mine]
    Mine._out = pb.Tensor
    assert type(x * x) is pb.Tensor
    gone = weakref.ref(Mine)
    del Mine, x
    gc.collect()
    assert gone() is None


def test_nothing_is_kept_alive() -> None:
    class Twice(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: Any) -> Any:
            ctx.save_for_backward(x)
            return x * k

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0, None

    @pb.custom_gradient
    def halved(x: Any) -> Any:
        return x * 0.5, lambda g: g * 0.5

    def everything() -> None:
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        y = pb.sum(halved(Twice.apply(pb.exp(x) * x + 1.0, 2.0)))
        y.backward()
        with pytest.raises(pb.errors.ShapeError):
            x * pb.tensor([1.0, 2.0, 3.0])
        with pytest.raises(ZeroDivisionError):
            pb.custom_gradient(lambda x: 1 / 0)(x)

    for _ in range(3):
        everything()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        everything()
    gc.collect()
    assert len(gc.get_objects()) - before < 20


def test_arrays_end_with_their_tensors() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = pb.exp(x * 3.0)
    watched = [weakref.ref(y.data), weakref.ref(y.node), weakref.ref(y)]
    del y
    assert [w() for w in watched] == [None] * 3


def test_a_long_chain_ends_without_recursion() -> None:
    x = y = pb.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(200_000):
        y = y + 1.0
    del y
    y = x * 2.0
    for _ in range(20_000):
        y = y * 1.0
    pb.sum(y).backward()
    np.testing.assert_array_equal(x.grad.data, [2.0, 2.0])


def test_threads_do_not_disturb_each_other() -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        for n in range(150):
            x = pb.tensor(np.full(3, 1.0 + k), requires_grad=True)
            y = x
            for _ in range(10):
                y = y * 1.0 + x
            pb.sum(y).backward()
            if not np.array_equal(x.grad.data, np.full(3, 11.0)):
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_two_threads_pull_the_same_graph() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(300):
        y = pb.tanh(y * 1.01)  # whose rule is in Python
    total = pb.sum(y)
    wanted = pb.autograd.grad(total, x, retain_graph=True)[0].data.tobytes()
    found: list[bytes] = []

    def work() -> None:
        found.extend(
            pb.autograd.grad(total, x, retain_graph=True)[0].data.tobytes() for _ in range(20)
        )

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 60


def test_kernels_are_observed() -> None:
    seen: list[str] = []

    def kernel(op: Any, run: Any, args: Any, attrs: Any) -> Any:
        seen.append(op.name)
        return run(*args, **attrs)

    x = pb.tensor([1.0, 2.0])
    with observing(Calls(kernel=kernel)):
        pb.sum(pb.exp(x * 2.0))
    x * 2.0
    assert seen == ["multiply", "exp", "sum"]


def test_the_core_in_python_takes_its_place() -> None:
    assert run_in(True, "-c", "import pullback; print(pullback.core.compiled.compiled)") == ["None"]
    assert "Python" in " ".join(run_in(True, "-m", "pullback", "--version"))


def pulled(name: str, given: list[np.ndarray], g: np.ndarray, *, python: bool) -> list[Any]:
    """The gradients of an operation's arguments, from one of the two pulls."""
    leaves = [pb.tensor(a, requires_grad=True) for a in given]
    with np.errstate(all="ignore"):
        out = OPS[name](*leaves)
        if not python:
            return [x.data for x in pb.autograd.grad(out, leaves, pb.tensor(g))]
        cotangents: dict[Any, Any] = {}
        out.node.op.pull(out.node, g, cotangents)
    return [cotangents[x.node] for x in leaves]


@both
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rules_that_run_as_steps_have_the_same_bits(dtype: str) -> None:
    from pullback.core.compiled import steps

    class Told:
        def __init__(self) -> None:
            self.rules: list[int] = []

        def table(self, index: int, *rest: Any) -> None:
            self.rules.append(index)

    seen: dict[str, int] = {}
    for name in sorted(n for n in OPS if len(OPS[n].op.arguments) <= 2 and not OPS[n].op.required):
        told = Told()
        for index in OPS[name].op.rules:
            steps.find_steps(OPS[name].op, told, index)
        if not told.rules or len(OPS[name].op.rules) < len(OPS[name].op.arguments):
            continue
        for given in arrays(len(OPS[name].op.arguments), dtype):
            g = RNG.normal(size=given[0].shape).astype(dtype)
            g[::5] = 0
            try:
                theirs = pulled(name, given, g, python=True)
            except pb.errors.NotDifferentiableError:  # in one argument
                break
            ours = pulled(name, given, g, python=False)
            assert all(map(same, ours, theirs)), (name, given)
            seen[name] = seen.get(name, 0) + 1
    assert {"divide", "log", "sigmoid", "sin", "sqrt", "square", "subtract", "tanh"} <= set(seen)


def test_operators_that_are_bound_later_are_the_ones_that_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert (x * x).node.name() == "multiply"
    monkeypatch.setattr(pb.Tensor, "__mul__", lambda a, b: a + b)
    monkeypatch.setattr(pb.Tensor, "twice", lambda a: a + a, raising=False)
    assert (x * x).node.name() == (x.twice()).node.name() == "add"  # type: ignore[attr-defined]


def test_an_interpreter_without_the_lock_is_refused() -> None:
    source = ROOT / "pullback" / "core" / "compiled" / "core.c"
    guarded = source.read_text(encoding="utf-8").partition("#ifdef Py_GIL_DISABLED\n")[2]
    assert guarded.startswith("#error")


@both
def test_what_is_no_array_with_axes_is_the_same() -> None:
    for value in (np.float64(0.7), np.array(0.7), np.array([[0.7]])[0:0]):
        x = pb.tensor(value, requires_grad=True)
        for function in (pb.tanh, pb.exp, pb.sqrt, lambda v: v / v, lambda v: 1.0 - v):
            ours = function(x)
            found = pb.autograd.grad(
                ours, x, pb.ones_like(ours), retain_graph=True
            )[0].data
            cotangents: dict[Any, Any] = {ours.node: np.ones_like(ours.data)}
            for node in sorted({ours.node, *ours.node.parents} - {None, x.node},
                               key=lambda n: -n.seq):
                node.op.pull(node, cotangents.pop(node), cotangents)
            assert same(np.asarray(found), np.asarray(cotangents[x.node]))


@pytest.mark.parametrize("late", [False, True])
def test_a_saved_constant_that_becomes_a_leaf_later_is_one_in_the_rule(late: bool) -> None:
    """The second derivative is that of the call: the constant had no history then."""

    class Product(pb.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b * b, g * a

    x, c = pb.tensor([2.0], requires_grad=True), pb.tensor([3.0], requires_grad=not late)
    y = Product.apply(x, c)
    if late:
        c.requires_grad_()
    (slope,) = pb.autograd.grad(y * y, x, pb.ones_like(y), create_graph=True)
    found = pb.autograd.grad(slope, c, pb.ones_like(y), allow_unused=True)[0]
    if late:
        assert found is None
    else:  # of 2 x c b^2, by the rules: 2 y b^2 with dy/dc = x
        assert found is not None


@both
def test_a_core_that_was_built_from_other_sources_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pullback.core import compiled as package

    monkeypatch.setattr(package.compiled, "interface", package.INTERFACE - 1)
    with pytest.warns(RuntimeWarning, match="build it again"):
        assert package._load() is None
