"""The laws of batching: what runs on all examples at once is what a loop over them finds.

An example is a draw of a row's arguments. Some arguments are mapped, the others are the first
example's for all. The hidden axis stands at other places in each check. Nothing may loop: the
tests that use these laws forget which operations warned, and warnings are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import pullback as pb
from tests.laws.checks import Arrays, is_inexact, outputs, plain, random_like, sealed
from tests.laws.forward_checks import assert_near

Call = Callable[..., Any]
Mapped = Sequence[bool]


def vmap(call: Call, in_axes: Any = 0, out_axes: Any = 0) -> Call:
    """With the random numbers that a call draws the same for all, as in a loop of calls."""
    return pb.vmap(call, in_axes, out_axes, randomness="same")


def choices(count: int) -> Iterator[Mapped]:
    """Which arguments are mapped: each alone, then all together."""
    if count > 1:
        for i in range(count):
            yield [j == i for j in range(count)]
    yield [True] * count


def name_of(mapped: Mapped) -> str:
    """Which arguments are mapped, for messages."""
    return f"mapped arguments {[i for i, m in enumerate(mapped) if m]}"


def place(array: np.ndarray, turn: int) -> int:
    """Where the mapped axis stands, by turns: in front, last, between where there is a between."""
    return (0, -1, min(1, array.ndim))[turn % 3]


class Batch:
    """Examples, and their arguments put together for `vmap(call, axes)(*arrays)`."""

    def __init__(
        self, examples: Sequence[Arrays], mapped: Mapped, turn: int = 0, count: int | None = None
    ) -> None:
        first = examples[0]
        self.examples = [
            [a if m else b for a, b, m in zip(own, first, mapped, strict=True)]
            for own in examples[:count]
        ]
        self.axes = tuple(
            place(a, turn) if m else None for a, m in zip(first, mapped, strict=True)
        )
        self.arrays = [
            a if axis is None else stacked([e[i] for e in self.examples], axis, a)
            for i, (a, axis) in enumerate(zip(first, self.axes, strict=True))
        ]


def stacked(arrays: Sequence[Any], axis: int, like: Any) -> np.ndarray:
    """The arrays along a new axis; of no arrays, what they would be like."""
    arrays = [plain(a) for a in arrays]
    if not arrays:
        like = plain(like)
        return np.moveaxis(np.zeros((0, *like.shape), like.dtype), 0, axis)
    return sealed(np.array(np.stack(arrays, axis=axis)))


def called(call: Call, examples: Iterable[Arrays]) -> list[list[np.ndarray]]:
    """The results of a call on each example, one after the other."""
    return [[plain(o) for o in outputs(call(*e))] for e in examples]


def assert_stacked(
    got: Any, wanted: Sequence[Sequence[Any]], axis: int | Sequence[int], what: str,
    tolerance: float = 1e-12,
) -> None:
    """Mapped results are the examples' results, along an axis: in shape, dtype and value."""
    columns = list(zip(*wanted, strict=True))
    axes = [axis] * len(columns) if isinstance(axis, int) else axis
    together = [stacked(c, a, c[0]) for c, a in zip(columns, axes, strict=True)]
    got = [plain(g) for g in outputs(got)]
    assert_near(got, together, tolerance, what)
    for k, (g, w) in enumerate(zip(got, together, strict=True)):
        assert g.dtype == w.dtype, f"{what}, output {k}: {g.dtype}, not {w.dtype}"


# Values ----------------------------------------------------------------------------------------


def check_batched(
    call: Call, examples: Sequence[Arrays], tolerance: float = 1e-12
) -> None:
    """Each argument mapped alone, and all, over every axis, against a loop."""
    for mapped in choices(len(examples[0])):
        for turn in range(3):
            batch = Batch(examples, mapped, turn)
            out = -1 if turn == 1 else 0
            got = vmap(call, batch.axes, out)(*batch.arrays)
            what = f"{name_of(mapped)}, in_axes {batch.axes}, out_axes {out}"
            assert_stacked(got, called(call, batch.examples), out, what, tolerance)


def check_few(call: Call, examples: Sequence[Arrays]) -> None:
    """One example, and none at all."""
    mapped = [True] * len(examples[0])
    one = Batch(examples, mapped, count=1)
    got = vmap(call, one.axes)(*one.arrays)
    assert_stacked(got, called(call, one.examples), 0, "one example")
    none = Batch(examples, mapped, count=0)
    empty = outputs(vmap(call, none.axes)(*none.arrays))
    for got, like in zip(empty, outputs(call(*examples[0])), strict=True):
        wanted = (0, *plain(like).shape), plain(like).dtype
        assert (got.shape, got.dtype) == wanted, f"no examples: {got.dtype}{list(got.shape)}"


def check_nested(call: Call, examples: Sequence[Arrays]) -> None:
    """A vmap in a vmap: both over all arguments, and each over some that the other is not."""
    count = len(examples[0])
    every = [True] * count
    first = [i == 0 for i in range(count)]
    rest = [not m for m in first]
    for outer, inner in ((every, every), (first, rest), (rest, first))[: 3 if count > 1 else 1]:
        grid = [
            [
                [
                    examples[2 * p * o + q * i][k]
                    for k, (o, i) in enumerate(zip(outer, inner, strict=True))
                ]
                for q in (0, 1)
            ]
            for p in (0, 1)
        ]
        arguments = []
        for k in range(count):
            lines = [
                stacked([cell[k] for cell in line], 0, line[0][k]) if inner[k] else line[0][k]
                for line in grid
            ]
            arguments.append(stacked(lines, 0, lines[0]) if outer[k] else lines[0])
        within = vmap(call, tuple(0 if m else None for m in inner), -1)
        got = vmap(within, tuple(0 if m else None for m in outer))(*arguments)
        wanted = [
            [np.stack(column, axis=-1) for column in zip(*called(call, line), strict=True)]
            for line in grid
        ]
        assert_stacked(got, wanted, 0, f"outside {name_of(outer)}, inside {name_of(inner)}")


# Derivatives -----------------------------------------------------------------------------------


class Differentiated:
    """The part of a call that has derivatives: its inexact arguments and outputs.

    f       the call, with a list of its inexact outputs only
    spaces  arrays in the spaces of those outputs
    where   positions of inexact arguments
    """

    def __init__(self, call: Call, arrays: Arrays) -> None:
        found = [plain(o) for o in outputs(call(*arrays))]
        self.call, self.live = call, [k for k, o in enumerate(found) if is_inexact(o)]
        self.spaces = [found[k] for k in self.live]
        self.where = [i for i, a in enumerate(arrays) if is_inexact(a)]

    def f(self, *xs: Any) -> list[Any]:
        found = outputs(self.call(*xs))
        return [found[k] for k in self.live]

    def at(self, xs: Sequence[Any]) -> Call:
        """f of the inexact arguments, the others as given."""

        def of(*ys: Any) -> list[Any]:
            seen = list(xs)
            for i, y in zip(self.where, ys, strict=True):
                seen[i] = y
            return self.f(*seen)

        return of

    def pullback(self, cs: Sequence[Any], *xs: Any) -> list[Any]:
        """Cotangents of the inexact arguments."""
        return list(pb.vjp(self.at(xs), *[xs[i] for i in self.where])[1](list(cs)))

    def pushforward(self, ts: Sequence[Any], *xs: Any) -> list[Any]:
        """Tangents of the inexact outputs."""
        return list(pb.jvp(self.at(xs), [xs[i] for i in self.where], ts)[1])


def many_like(arrays: Arrays, count: int, rng: np.random.Generator) -> list[list[np.ndarray]]:
    """For each example, random arrays in the spaces of some."""
    return [[random_like(a, rng) for a in arrays] for _ in range(count)]


def columns_of(lists: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    """The examples' lists as one list of arrays with the examples in front."""
    return [stacked(c, 0, c[0]) for c in zip(*lists, strict=True)]


def check_derivatives_per_example(
    call: Call, examples: Sequence[Arrays], rng: np.random.Generator
) -> None:
    """vmap of a pullback and of a pushforward, of arguments that are mapped and that are not."""
    part = Differentiated(call, examples[0])
    for turn, mapped in enumerate(choices(len(examples[0]))):
        batch = Batch(examples, mapped, turn)
        n = len(batch.examples)
        cs = many_like(part.spaces, n, rng)
        got = vmap(part.pullback, (0, *batch.axes))(columns_of(cs), *batch.arrays)
        wanted = [part.pullback(c, *e) for c, e in zip(cs, batch.examples, strict=True)]
        assert_stacked(got, wanted, 0, f"vmap of a pullback, {name_of(mapped)}")
        ts = many_like([examples[0][i] for i in part.where], n, rng)
        got = vmap(part.pushforward, (0, *batch.axes))(columns_of(ts), *batch.arrays)
        wanted = [part.pushforward(t, *e) for t, e in zip(ts, batch.examples, strict=True)]
        assert_stacked(got, wanted, 0, f"vmap of a pushforward, {name_of(mapped)}")


def check_derivatives_of_batched(
    call: Call, examples: Sequence[Arrays], rng: np.random.Generator
) -> None:
    """Pullback and pushforward of a vmap; where an argument is not mapped its parts are summed."""
    part = Differentiated(call, examples[0])
    for turn, mapped in enumerate(choices(len(examples[0]))):
        batch = Batch(examples, mapped, turn)
        n, axes = len(batch.examples), [batch.axes[i] for i in part.where]
        whole = Differentiated(vmap(part.f, batch.axes), batch.arrays)
        cs = many_like(part.spaces, n, rng)
        got = whole.pullback(columns_of(cs), *batch.arrays)
        parts = [part.pullback(c, *e) for c, e in zip(cs, batch.examples, strict=True)]
        wanted = [
            np.sum([plain(g) for g in c], axis=0) if axis is None else stacked(c, axis, c[0])
            for c, axis in zip(zip(*parts, strict=True), axes, strict=True)
        ]
        assert_near(got, wanted, 1e-12, f"pullback of a vmap, {name_of(mapped)}")
        ts = [random_like(batch.arrays[i], rng) for i in part.where]
        got = whole.pushforward(ts, *batch.arrays)
        wanted = [
            part.pushforward(
                [t if a is None else np.take(t, k, a) for t, a in zip(ts, axes, strict=True)], *e
            )
            for k, e in enumerate(batch.examples)
        ]
        assert_stacked(got, wanted, 0, f"pushforward of a vmap, {name_of(mapped)}")


def check_second_per_example(
    call: Call, examples: Sequence[Arrays], rng: np.random.Generator
) -> None:
    """vmap of forward over reverse, in arguments and cotangents, all of them mapped."""
    part = Differentiated(call, examples[0])

    def second(cs: Any, ts: Any, *xs: Any) -> list[Any]:
        point = [xs[i] for i in part.where]

        def first(*ys: Any) -> list[Any]:
            return list(pb.vjp(part.at(xs), *ys)[1](list(cs)))

        return list(pb.jvp(first, point, ts)[1])

    batch = Batch(examples, [True] * len(examples[0]), turn=1)
    n = len(batch.examples)
    cs = many_like(part.spaces, n, rng)
    ts = many_like([examples[0][i] for i in part.where], n, rng)
    got = vmap(second, (0, 0, *batch.axes))(columns_of(cs), columns_of(ts), *batch.arrays)
    wanted = [second(*v[:2], *v[2]) for v in zip(cs, ts, batch.examples, strict=True)]
    assert_stacked(got, wanted, 0, "vmap of forward over reverse")
