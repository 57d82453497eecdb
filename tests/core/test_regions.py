"""Backward passes in blocks: the same bits, errors, warnings and memory as the plain sweep's."""

from __future__ import annotations

import contextvars
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays import splitters
from pullback.arrays.numpy_ import blocks
from pullback.arrays.numpy_.large import POOL, Large
from pullback.core.observe import Calls, observing
from pullback.passes import regions
from tests.tier import FULL

N = 1 << 18
SHAPES: list[tuple[int, ...]] = [(N,), (513, 512), (8, N // 8 + 1), (N // 8, 2, 4)]


@contextmanager
def plain() -> Iterator[None]:
    """Backward passes node by node, on whole arrays."""
    kept = dict(splitters)
    splitters.clear()
    try:
        yield
    finally:
        splitters.update(kept)


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each region found, whether it was pulled in blocks."""
    found: list[bool] = []

    def noted(nodes: Any, cotangents: Any) -> bool:
        found.append(one(nodes, cotangents))
        return found[-1]

    one = regions._pulled
    monkeypatch.setattr(regions, "_pulled", noted)
    return found


UNARY: list[Callable[[Any], Any]] = [
    pb.tanh, pb.sin, pb.relu, pb.sigmoid, pb.abs, pb.negative, pb.square,
    lambda v: pb.exp(-v * v), lambda v: pb.sqrt(v * v + 1), lambda v: pb.maximum(v, 0.25),
    lambda v: pb.minimum(0.5, v), lambda v: pb.clip(v, -0.5, 0.5), lambda v: 1 / (2 + v * v),
    lambda v: pb.where(v > 0, v, v * 0.125), lambda v: pb.log1p(v * v), lambda v: v**3,
    lambda v: pb.astype(pb.astype(v, "float64") * 3, v.dtype), pb.softplus,
]
BINARY: list[Callable[[Any, Any], Any]] = [
    pb.add, pb.multiply, pb.subtract, pb.maximum, pb.minimum, pb.hypot,
    lambda a, b: a / (b * b + 1), lambda a, b: pb.where(a > b, a, b * 0.5),
]


def program(seed: int, dtype: str) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A random elementwise function, and arrays to call it on."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    arrays = [rng.standard_normal(shape).astype(dtype) for _ in range(1 + seed % 2)]
    row = rng.standard_normal(shape[-1:]).astype(dtype)
    turned = seed % 5 == 4 and len(shape) == 2
    choices = rng.integers(0, 1 << 30, size=24).tolist()

    def f(*leaves: Any) -> Any:
        values = [v.T.T if turned else v for v in leaves]
        for pick in choices[:12]:
            a, b = values[pick % len(values)], values[(pick >> 8) % len(values)]
            if pick % 3:
                values.append(UNARY[(pick >> 4) % len(UNARY)](a))
            else:
                values.append(BINARY[(pick >> 4) % len(BINARY)](a, b))
            if pick % 7 == 0:
                values.append(values[-1] * row)
        return sum(values[-3:])

    return f, arrays


def gradients_of(f: Any, arrays: Any, upstream: Any, **how: Any) -> list[np.ndarray]:
    leaves = [pb.tensor(a.copy(), requires_grad=True) for a in arrays]
    out = f(*leaves)
    out.backward(pb.tensor(upstream), **how)
    if how:
        out.backward(pb.tensor(upstream))
    return [x.grad.numpy().copy() for x in leaves if x.grad is not None]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(24 if FULL else 6))
def test_random_programs_have_the_same_bits(seed: int, dtype: str, pulled: list[bool]) -> None:
    f, arrays = program(seed, dtype)
    upstream = np.random.default_rng(99).standard_normal(arrays[0].shape).astype(dtype)
    if seed % 2:
        upstream = np.broadcast_to(upstream[(0,) * upstream.ndim], upstream.shape)
    how = {"retain_graph": True} if seed % 3 == 0 else {}
    got = gradients_of(f, arrays, upstream, **how)
    with plain():
        expected = gradients_of(f, arrays, upstream, **how)
    assert True in pulled
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def chain(x: Any) -> Any:
    return pb.tanh(x) * pb.exp(-(x * x)) + pb.relu(x)


def test_a_region_is_pulled_in_blocks(pulled: list[bool]) -> None:
    x = pb.tensor(np.linspace(-1, 1, N), requires_grad=True)
    pb.sum(chain(x)).backward()
    assert pulled == [True]


@pytest.mark.parametrize("name", ["hook", "observer", "create_graph", "override", "retained"])
def test_what_watches_a_pass_gets_the_usual_one(name: str, pulled: list[bool]) -> None:
    data = np.linspace(-1, 1, N)
    x = pb.tensor(data, requires_grad=True)
    seen: list[Any] = []
    y = x * x
    if name == "hook":
        y.register_hook(lambda g: seen.append(g.data[5].item()))
    if name == "retained":
        y.retain_grad()
    z = pb.sum(pb.tanh(y) * y)
    if name == "create_graph":
        (g,) = pb.autograd.gradients([z], [x], create_graph=True)
        assert g.requires_grad
    elif name == "override":
        with pb.override_gradient({"tanh": lambda op, g: g * 0}):
            z = pb.sum(pb.tanh(y) * y)
        z.backward()
    elif name == "observer":
        with observing(Calls(kernel=lambda op, run, args, attrs: run(*args, **attrs))):
            z.backward()
    else:
        z.backward()
    assert len(seen) == (name == "hook")
    assert (y.grad is not None) == (name == "retained")
    assert True not in pulled or name == "override"  # other nodes make a region


@pytest.mark.parametrize("how", ["raise", "warn", "ignore", "call"])
@pytest.mark.parametrize("at", [3, N // 2 + 5, N - 1])
def test_errors_and_warnings_are_those_of_the_plain_sweep(how: Any, at: int) -> None:
    data = np.linspace(0.5, 1, N).astype(np.float32)
    data[at] = 1e-30

    def outcome() -> Any:
        x = pb.tensor(data.copy(), requires_grad=True)
        calls: list[Any] = []
        y = x * 3.0
        z = 1 / (y * 2.0)
        before = np.seterrcall(lambda *call: calls.append(call))
        try:
            with np.errstate(all=how), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                z.backward(pb.tensor(np.ones(N, np.float32)))
        except FloatingPointError as error:
            return str(error), error.__notes__[-1].partition("recorded")[0]
        finally:
            np.seterrcall(before)
        return x.grad.numpy().tobytes(), [str(w.message) for w in caught], calls

    got = outcome()
    with plain():
        assert got == outcome()


def test_freed_and_overwritten_values_are_the_usual_errors() -> None:
    x = pb.tensor(np.linspace(0, 1, N), requires_grad=True)
    y = pb.sum(chain(x))
    y.backward()
    with pytest.raises(pb.errors.GraphFreedError):
        y.backward()
    a = x * 1.0
    z = pb.sum(pb.tanh(a * a) * a)
    with pb.no_grad():
        a *= 2.0
    with pytest.raises(pb.errors.InplaceError):
        z.backward()


def test_memory_is_at_most_that_of_the_plain_sweep() -> None:
    data = np.linspace(-1, 1, 16 * N)

    def two(x: Any, y: Any) -> Any:
        return chain(x * y) * pb.sin(y)

    def peak(f: Any, count: int) -> int:
        leaves = [pb.tensor(data.copy(), requires_grad=True) for _ in range(count)]
        POOL.clear()
        tracemalloc.start()
        out = pb.sum(f(*leaves))
        tracemalloc.reset_peak()
        out.backward()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    for f, count in ((chain, 1), (two, 2)):
        got = peak(f, count)
        with plain():
            assert got <= peak(f, count) + 32 * blocks._BLOCK  # of two threads


def test_contextvars_and_errstate_reach_the_threads() -> None:
    mark: contextvars.ContextVar[int] = contextvars.ContextVar("mark", default=0)
    seen = set()

    def make() -> Any:
        def step(parts: Any, shape: Any) -> Any:
            seen.add((mark.get(), np.geterr()["over"]))
            return [parts[0] * 2]

        return step

    token = mark.set(7)
    with np.errstate(over="ignore"):
        made = splitters[Large].in_blocks([np.ones(N)], (N,), make)
    mark.reset(token)
    assert seen == {(7, "ignore")}
    assert np.all(made[0] == 2)
