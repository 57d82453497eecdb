"""Steps of traced functions in blocks: the same bits, errors and memory as step by step."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy_ import blocks
from pullback.arrays.numpy_.large import POOL
from pullback.graphs import fusing
from tests.core.test_regions import N, chain, plain, program
from tests.tier import FULL


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of steps of each group that ran in blocks."""
    found: list[int] = []

    class Noted(fusing.Group):
        def __call__(self, *values: Any) -> Any:
            made = super().__call__(*values)
            if made is not None:
                found.append(len(self._calls))
            return made

    monkeypatch.setattr("pullback.graphs.program.Group", Noted)
    return found


def both(f: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """What a traced function gives, in its third call, with blocks and without."""
    traced = pb.function(f)
    for _ in range(2):
        traced(*args)
    got = traced(*args)
    with plain():
        return got, traced(*args)


def bits(found: Any) -> list[tuple[str, bytes]]:
    found = found if isinstance(found, (tuple, list)) else [found]
    arrays = [np.asarray(getattr(v, "data", v)) for v in found]
    return [(str(a.dtype), a.tobytes()) for a in arrays]


@pytest.mark.parametrize("seed", range(12 if FULL else 4))
def test_random_programs_have_the_same_bits(seed: int, ran: list[int]) -> None:
    f, arrays = program(seed, ("float32", "float64")[seed % 2])
    weights = np.random.default_rng(7).standard_normal(arrays[0].shape).astype(arrays[0].dtype)

    def loss(*leaves: Any) -> Any:
        return pb.sum(f(*leaves) * weights)

    places = tuple(range(len(arrays)))
    got, expected = both(pb.grad(loss, argnums=places), *arrays)
    assert bits(got) == bits(expected)
    got, expected = both(f, *map(pb.tensor, arrays))
    assert bits(got) == bits(expected)
    assert sum(ran) > 10


def test_a_backward_pass_joins_its_forward_pass(ran: list[int]) -> None:
    x = np.linspace(-1, 1, N)
    got, expected = both(pb.grad(lambda x: pb.sum(chain(x))), x)
    assert bits(got) == bits(expected)
    assert len(ran) == 2  # the second call and the third
    assert min(ran) > 12
    value, slope = both(pb.value_and_grad(lambda x: pb.sum(chain(x))), x)[0]
    np.testing.assert_array_equal(slope, got)
    np.testing.assert_allclose(float(value), float(np.sum(chain(x))), rtol=1e-12)


def test_a_call_that_is_pulled_is_in_blocks_both_ways(ran: list[int]) -> None:
    x = pb.tensor(np.linspace(-1, 1, N), requires_grad=True)
    f = pb.function(lambda x: pb.sum(chain(x)))
    for _ in range(4):
        x.grad = None
        f(x).backward()
    got = x.grad.numpy().copy()
    x.grad = None
    with plain():
        pb.sum(chain(x)).backward()
    np.testing.assert_array_equal(got, x.grad.numpy())
    assert len(ran) >= 4


@pytest.mark.parametrize("how", ["raise", "warn", "ignore"])
def test_errors_and_warnings_are_those_of_single_steps(how: Any) -> None:
    data = np.linspace(0.5, 1, N).astype(np.float32)
    data[N // 2 + 9] = 0
    traced = pb.function(lambda x: pb.tanh(1 / (x * 2.0)) * 3.0)
    for _ in range(2):
        traced(data + 1)

    def outcome() -> Any:
        try:
            with np.errstate(all=how), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = traced(data)
        except FloatingPointError as error:
            return str(error), error.__notes__
        return bits(found), [str(w.message) for w in caught]

    got = outcome()
    with plain():
        assert got == outcome()


def test_small_arrays_and_other_lengths_run_step_by_step(ran: list[int]) -> None:
    f = pb.function(chain)
    for n in (3, 5, 7, 9):
        np.testing.assert_allclose(f(np.ones(n)), chain(np.ones(n)))
    assert not ran


def test_memory_is_at_most_that_of_single_steps() -> None:
    data = np.linspace(-1, 1, 8 * N)
    h = pb.function(pb.grad(lambda x: pb.sum(chain(x))))
    for _ in range(2):
        h(data)

    def peak() -> int:
        POOL.clear()
        tracemalloc.start()
        h(data)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    got = peak()
    with plain():
        assert got <= peak() + 32 * blocks._BLOCK


def test_a_value_that_is_written_to_is_not_shared() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        z = pb.exp(-y * y)
        y[0] = 5.0
        return y, z + y

    got, expected = both(f, np.linspace(-1, 1, N))
    assert bits(got) == bits(expected)
