"""The most memory: it grows with a chain, with checkpoints it does not, and nothing is touched."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state
from pullback.tools.profile import peak

N = 20_000
ARRAY = 8 * N


@pytest.mark.full
def test_a_chain_takes_an_array_a_step_and_with_checkpoints_does_not() -> None:
    short, long = [peak([pb.sin] * n, pb.ones(N), checkpoint=True, repeat=1) for n in (16, 64)]
    grown = long.plain.bytes - short.plain.bytes
    assert 46 * ARRAY < grown < 52 * ARRAY
    assert long.checkpointed.bytes - short.checkpointed.bytes < grown / 2.5
    assert long.ratio < 0.5 < long.plain.bytes / (64 * ARRAY)
    assert long.time_ratio > 0
    assert long.plain.counter == "tracemalloc"
    assert long.plain.bytes == max(long.plain.forward, long.plain.backward)


def test_what_is_kept_between_is_what_the_graph_keeps() -> None:
    def f(x: Any) -> Any:
        return pb.sum(pb.exp(pb.sin(x)))

    x = pb.tensor(np.ones(N), requires_grad=True)
    found = peak(f, x, repeat=1)
    assert found.kept == pytest.approx(pb.residuals(f(x)).total, rel=0.05)
    assert x.grad is None


@pytest.mark.full
@pytest.mark.parametrize("length", [N, 10 * N, 50 * N])
def test_memory_that_waits_to_be_used_again_is_not_kept(length: int) -> None:
    def f(x: Any) -> Any:
        return pb.sum(pb.exp(pb.sin(pb.exp(pb.sin(x)))))

    found = peak(f, pb.ones(length), checkpoint=True, repeat=1)
    size = 8 * length
    x = pb.tensor(np.ones(length), requires_grad=True)
    assert found.plain.kept == pytest.approx(pb.residuals(f(x)).total, rel=0.05)
    assert found.checkpointed.kept < 0.1 * size
    assert found.plain.forward < 3.1 * size


def test_the_pull_frees_on_its_way() -> None:
    @pb.custom_gradient
    def first(x: Any) -> Any:
        def grad(g: Any) -> Any:  # the last step, when all that came later may be gone
            return pb.sum(pb.ones((24, N)), axis=0) * g

        return x * 1, grad

    found = peak([first, *[pb.sin] * 24], pb.ones(N), repeat=1)
    assert found.kept > 23 * ARRAY
    assert found.backward < found.kept + 8 * ARRAY


def test_what_a_traced_function_gives_is_counted() -> None:
    torch = pytest.importorskip("torch")

    @pb.function
    def f(x: Any) -> Any:
        return pb.exp(pb.sin(x))

    found = peak(f, torch.ones(N, dtype=torch.float64), repeat=1)
    assert found.kept >= 2 * ARRAY  # the value and the cotangent: without runs, only the latter
    assert found.forward >= found.kept


@pytest.mark.full
def test_other_versions_segments_and_errors() -> None:
    def f(x: Any) -> Any:
        return pb.sin(pb.exp(x))

    def g(x: Any) -> Any:
        return pb.checkpoint(pb.sin)(pb.checkpoint(pb.exp)(x))

    found = peak(f, pb.ones(N), checkpoint=g, repeat=1)
    assert (found.plain.name, found.checkpointed.name) == ("f", "g")
    whole = peak(f, pb.ones(N), checkpoint=True, repeat=1)
    assert whole.checkpointed.kept < whole.plain.kept
    four = peak([pb.sin] * 16, pb.ones(N), checkpoint=4, repeat=1)
    assert four.checkpointed.kept < four.plain.kept / 2
    assert "×" in str(found)
    assert "peak" in str(found.plain)
    with pytest.raises(pb.errors.ArgumentError, match="version of f"):
        peak(f, pb.ones(3), checkpoint="g")


@pytest.mark.full
@pytest.mark.parametrize("made", [np.ones, pb.ones])
def test_what_is_handed_over_is_not_counted(made: Any) -> None:
    def f(x: Any) -> Any:
        return pb.sum(pb.exp(x))

    found = peak(f, made(N), checkpoint=True, repeat=1)
    assert ARRAY <= found.plain.kept < 1.2 * ARRAY  # the value of exp
    assert found.checkpointed.kept < 0.2 * ARRAY  # only what was handed over
    assert peak(f, made(N), checkpoint=False, repeat=1).kept == pytest.approx(
        found.plain.kept, rel=0.1)


@pytest.mark.full
def test_a_sequential_is_parted_in_segments() -> None:
    net = pb.nn.Sequential(*[pb.nn.Linear(60, 60) for _ in range(9)])
    x = np.ones((500, 60), "float32")
    found = peak(net, x, checkpoint=3, repeat=1)
    assert found.checkpointed.name == "chain of 9, 3 segments"
    assert found.checkpointed.kept < found.plain.kept / 2
    same = peak(pb.sin, x, checkpoint=pb.checkpoint(pb.sin), repeat=1)
    assert (same.plain.name, same.checkpointed.name) == ("sin", "sin, checkpointed")
    for wrong in (3, [pb.sin, 3]):
        with pytest.raises(pb.errors.ArgumentTypeError, match="a function"):
            peak(wrong, x)


def test_variables_and_parameters_are_differentiated_and_not_touched() -> None:
    w = pb.Variable(np.ones(N))
    p = pb.tensor(np.ones(N), requires_grad=True)
    found = peak(lambda x: pb.sum(x * w * p), pb.ones(N), repeat=1)
    assert found.backward >= 2 * ARRAY
    assert p.grad is None


def test_arrays_of_pytorch_are_counted_as_they_come_and_go() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(N, dtype=torch.float64)
    found = peak([pb.sin] * 32, x, checkpoint=True, repeat=1)
    assert found.plain.counter == "arrays"
    assert 31 * ARRAY <= found.plain.bytes <= 36 * ARRAY
    assert found.checkpointed.bytes < found.plain.bytes / 2
    assert not state().observers


def test_tracemalloc_is_left_as_it_was() -> None:
    def failing(x: Any) -> Any:
        if tracemalloc.is_tracing():
            raise KeyError("meant")
        return pb.exp(x)

    with pytest.raises(KeyError):
        peak(failing, pb.ones(3))
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        peak(pb.exp, pb.ones(3))
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
