"""Backward passes and pushforwards touch at most a constant times the entries of their operation.

Entries that kernels fill are counted, not time. A pull that is recorded computes with operations
only, so that its count is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.observe import Calls, observing
from pullback.errors import PullbackError
from tests.laws.cases import rows
from tests.laws.checks import grads, is_inexact, outputs, random_like
from tests.table import Row

SMALL, LARGE = 3, 12


OTHERS = {
    **dict.fromkeys(("eigvalsh", "lstsq", "lu", "pinv"), "compute with square matrices"),
    "sum_pool_adjoint": "an attribute has the shape of its result",
    "view_as_complex": "the last axis has two entries",
}
"""Operations that do not grow with their arguments in every direction. (Convolutions read an entry
once for each entry of their kernel, which grows too.)"""


class Count:
    """The number of entries that kernels filled while it was entered."""

    def __init__(self) -> None:
        self.entries = 0
        self._scope = observing(Calls(kernel=self._kernel))

    def _kernel(self, op: Any, run: Any, args: Any, attrs: Any) -> Any:
        made = run(*args, **attrs)
        self.entries += sum(np.size(m) for m in outputs(made))
        return made

    def __enter__(self) -> Count:
        self._scope.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._scope.__exit__(*error)


def _tiled(array: np.ndarray, times: int, axes: Callable[[int], Sequence[int]]) -> np.ndarray:
    """An array repeated along some of its axes."""
    repetitions = [1] * array.ndim
    for axis in axes(array.ndim) if array.ndim else ():
        repetitions[axis] = times
    return np.tile(array, repetitions)


WAYS: list[Callable[[int], Sequence[int]]] = [range, lambda n: (n - 1,), lambda n: (0,)]
"""The axes along which the arguments of a row may grow."""


def _enlarged(row: Row) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Arguments of a row of two sizes, for each way in which it accepts larger ones."""
    drawn = row.draw()
    if any(a.size == 0 for a in drawn):
        return
    for axes in WAYS:
        pair = [[_tiled(a, times, axes) for a in drawn] for times in (SMALL, LARGE)]
        try:
            for arrays in pair:
                row.call(*arrays)
        except (PullbackError, ValueError, TypeError, IndexError, np.linalg.LinAlgError):
            continue
        yield pair[0], pair[1]


def _touched(row: Row, arrays: Sequence[np.ndarray]) -> tuple[int, int]:
    """The entries of arguments and results, and those touched by a recorded pull."""
    rng = np.random.default_rng(1)
    leaves = [pb.tensor(a, requires_grad=is_inexact(a)) for a in arrays]
    results = outputs(row.call(*leaves))
    cotangents = [random_like(r.data, rng) if is_inexact(r.data) else None for r in results]
    with Count() as count:
        grads(results, [x for x in leaves if x.requires_grad], cotangents, create=True)
    return sum(np.size(v.data) for v in (*leaves, *results)), count.entries


def _pushed(row: Row, arrays: Sequence[np.ndarray]) -> int:
    """The entries touched by a call with tangents."""
    rng = np.random.default_rng(2)
    tangents = [random_like(a, rng) for a in arrays if is_inexact(a)]
    places = [i for i, a in enumerate(arrays) if is_inexact(a)]

    def call(*some: Any) -> Any:
        args: list[Any] = list(arrays)
        for i, x in zip(places, some, strict=True):
            args[i] = x
        return row.call(*args)

    with Count() as count:
        pb.jvp(call, tuple(arrays[i] for i in places), tuple(tangents))
    return count.entries


def _is_counted(row: Row) -> bool:
    return row.differentiable and row.name not in OTHERS and "conv" not in row.name


@rows(_is_counted)
def test_pulls_and_pushes_grow_as_their_arguments_and_results(row: Row) -> None:
    for small, large in _enlarged(row):
        (size, few), (larger, many) = _touched(row, small), _touched(row, large)
        growth = larger / size
        assert many <= 2 * growth * max(few, size), f"pull: {few} of {size}, {many} of {larger}"
        few, many = _pushed(row, small), _pushed(row, large)
        assert many <= 2 * growth * max(few, size), f"push: {few} of {size}, {many} of {larger}"


@rows(lambda row: row.differentiable and len(row.args[0].shape) > 0)
def test_of_n_uses_on_n_pieces_grow_as_n(row: Row) -> None:
    counts = []
    for n in (6, 12):
        drawn = row.draw()
        first = pb.tensor(np.stack([drawn[0]] * n), requires_grad=is_inexact(drawn[0]))
        rest = [pb.tensor(a, requires_grad=is_inexact(a)) for a in drawn[1:]]
        total: Any = 0.0
        for i in range(n):
            for result in outputs(row.call(first[i], *rest)):
                if is_inexact(result.data):
                    total = total + pb.sum(abs(result))
        if not isinstance(total, pb.Tensor) or not total.requires_grad:
            return
        with Count() as count:
            total.backward()
        counts.append(count.entries)
    assert counts[1] <= 2.2 * counts[0]


PIECES: dict[str, Callable[[Any, int], Any]] = {
    "unstack": lambda x, n: pb.unstack(x),
    "unstack along axis 1": lambda x, n: pb.unstack(pb.permute_dims(x, (1, 0)), axis=1),
    "split": lambda x, n: pb.split(x, n),
    "split in parts of two lengths": lambda x, n: pb.split(x, (2, *[1] * (n - 2))),
    "iteration": lambda x, n: x,
    "unpacking": lambda x, n: [*x],
}
"""Ways of taking a matrix of n rows apart."""


def _summed(pieces: Any) -> Any:
    total: Any = 0.0
    for i, piece in enumerate(pieces):
        total = total + pb.sum(piece * piece * (1.0 + i))
    return total


@pytest.mark.parametrize("name", PIECES)
def test_taking_apart_is_linear_in_both_orders(name: str) -> None:
    counts = []
    for n in (20, 40):
        x = pb.tensor(np.linspace(0.5, 1.5, 2 * n).reshape(n, 2), requires_grad=True)
        with Count() as first:
            (g,) = pb.autograd.gradients(
                [_summed(PIECES[name](x * 1.0, n))], [x], create_graph=True
            )
        with Count() as second:
            (h,) = pb.autograd.gradients([pb.sum(g * g)], [x])
        slope = g.data / x.data
        np.testing.assert_allclose(h.data, 2 * slope * slope * x.data)
        counts.append((first.entries, second.entries))
    (first_few, second_few), (first_many, second_many) = counts
    assert first_many <= 2.2 * first_few
    assert second_many <= 2.2 * second_few


@pytest.mark.parametrize("n", [4097, 8192, 8193, 16387])
def test_the_pull_of_a_long_cumulative_product_is_linear(n: int) -> None:
    """Solved by halving; the reference is the recurrence itself, entry by entry."""
    rng = np.random.default_rng(n)
    values, g = 1 + rng.normal(size=n) / np.sqrt(n), rng.normal(size=n)
    x = pb.tensor(values, requires_grad=True)
    y = pb.cumulative_prod(x)
    with Count() as count:
        (found,) = pb.autograd.gradients([y], [x], [g], create_graph=True)
    expected, s = np.empty(n), 0.0
    before = np.concatenate([[1.0], np.cumprod(values)[:-1]])
    for j in reversed(range(n)):
        s = g[j] + (values[j + 1] * s if j + 1 < n else 0.0)
        expected[j] = before[j] * s
    np.testing.assert_allclose(found.data, expected, rtol=1e-10, atol=1e-10)
    assert count.entries < 2 * n * 30
