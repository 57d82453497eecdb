"""Indices inside vmap that differ from example to example, against a loop over the examples."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import pullback as pb
from pullback import Tensor, errors
from tests.tier import chosen

# Random indices -----------------------------------------------------------------------------


class Case(NamedTuple):
    """An array and an index; `each` marks what is another one for each of `size` examples."""

    size: int
    x: np.ndarray
    each_x: bool
    parts: list[tuple[bool, Any]]

    def xs(self) -> list[np.ndarray]:
        return [self.x[k] if self.each_x else self.x for k in range(self.size)]

    def at(self, k: int) -> tuple[Any, ...]:
        """The index of one example."""
        return tuple(part[k] if each else part for each, part in self.parts)

    def arrays(self) -> list[np.ndarray]:
        return [part for each, part in self.parts if each]

    def index(self, arrays: Any) -> tuple[Any, ...]:
        """The index with tensors in the places of `arrays`."""
        rest = iter(arrays)
        return tuple(next(rest) if each else part for each, part in self.parts)

    def axes(self, *before: int | None) -> tuple[int | None, ...]:
        return (0 if self.each_x else None, *before, *(0 for _ in self.arrays()))


def parts_for(r: np.random.Generator, shape: tuple[int, ...], size: int) -> Iterator[Any]:
    """Parts of an index: whether it is one for each example, and what."""
    broadcast = tuple(r.integers(1, 4, size=r.integers(0, 3)))
    ellipsis, axis = False, 0
    while axis < len(shape):
        length, u = shape[axis], r.random()
        if u < 0.1:
            yield False, None
        elif u < 0.13:
            yield False, True
        elif u < 0.22 and not ellipsis:
            yield False, Ellipsis
            ellipsis, axis = True, axis + int(r.integers(0, len(shape) - axis + 1))
        elif u < 0.3:
            return
        else:
            yield part_for(r, length, size, broadcast)
            axis += 1


def part_for(r: np.random.Generator, length: int, size: int, broadcast: tuple[int, ...]) -> Any:
    kind = r.choice(["slice", "all", "int", "array", "mask", "each"], p=[.15, .1, .1, .15, .1, .4])
    if kind == "slice":
        first, last = sorted(int(v) for v in r.integers(-length, length + 1, size=2))
        return False, slice(first, last, int(r.choice([1, 2, -1])))
    if kind == "all":
        return False, slice(None)
    if kind == "int":
        return False, int(r.integers(-length, length))
    if kind == "mask" and len(broadcast) == 1 and broadcast[0] <= length:
        return False, r.permutation(np.arange(length) < broadcast[0])
    shape = broadcast[int(r.integers(0, len(broadcast) + 1)) :]
    shape = tuple(1 if r.random() < 0.2 else n for n in shape)
    each = bool(kind == "each")
    return each, r.integers(-length, length, size=(size,) * each + shape)


def cases(count: int) -> list[Case]:
    found: list[Case] = []
    seed = 0
    while len(found) < count:
        r = np.random.default_rng(seed)
        seed += 1
        size = int(r.integers(1, 4))
        shape = tuple(int(n) for n in r.integers(1, 5, size=r.integers(1, 4)))
        each_x = bool(r.random() < 0.6)
        case = Case(size, r.normal(size=(size,) * each_x + shape), each_x,
                    list(parts_for(r, shape, size)))
        if not (each_x or case.arrays()):
            continue
        try:
            case.xs()[0][case.at(0)]
        except IndexError:  # arrays that do not broadcast
            continue
        found.append(case)
    return found


CASES = cases(160)
HELD = chosen(range(len(CASES)), group=lambda n: n % 30)
each_case = pytest.mark.parametrize("case", [CASES[n] for n in HELD], ids=HELD)


def test_the_cases_are_of_all_kinds() -> None:
    assert sum(bool(c.arrays()) for c in CASES) > 60
    assert sum(bool(c.arrays()) and c.each_x for c in CASES) > 30
    assert sum(bool(c.arrays()) and not c.each_x for c in CASES) > 20
    assert sum(len(c.arrays()) > 1 for c in CASES) > 15
    assert sum(any(p is None or p is ... for _, p in c.parts) and bool(c.arrays())
               for c in CASES) > 20


def close(got: Any, wanted: Any) -> None:
    got = got.numpy()
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@each_case
def test_reading(case: Case) -> None:
    r = np.random.default_rng(0)
    wanted = np.stack([x[case.at(k)] for k, x in enumerate(case.xs())])
    g = r.normal(size=wanted.shape)

    def read(x: Any, *arrays: Any) -> Any:
        return pb.vmap(lambda x, *a: pb.getitem(x, case.index(a)), case.axes())(x, *arrays)

    x, arrays = Tensor(case.x), case.arrays()
    close(read(x, *arrays), wanted)

    single = np.zeros((case.size, *case.xs()[0].shape))
    for k in range(case.size):
        np.add.at(single[k], case.at(k), g[k])
    whole = single if case.each_x else single.sum(0)
    close(pb.grad(lambda x: pb.sum(read(x, *arrays) * g))(x), whole)
    each = pb.vmap(
        pb.grad(lambda x, g, *a: pb.sum(pb.getitem(x, case.index(a)) * g)), case.axes(0)
    )
    close(each(x, g, *arrays), single)

    t = r.normal(size=case.x.shape)
    pushed = np.stack([(t[k] if case.each_x else t)[case.at(k)] for k in range(case.size)])
    close(pb.jvp(lambda x: read(x, *arrays), (x,), (t,))[1], pushed)
    close(pb.linearize(lambda x: read(x, *arrays), x)[1](t), pushed)


@pytest.mark.parametrize("each_value", [False, True])
@pytest.mark.parametrize("write", [pb.set_at, pb.add_at])
@each_case
def test_writing(case: Case, write: Callable[..., Any], each_value: bool) -> None:
    r = np.random.default_rng(1)
    region = case.xs()[0][case.at(0)].shape
    shape = tuple(1 if r.random() < 0.2 else n for n in region[int(r.integers(0, 2)) :])
    value = r.normal(size=(case.size,) * each_value + shape)
    g = r.normal(size=(case.size, *case.xs()[0].shape))
    x, v, arrays = Tensor(case.x), Tensor(value), case.arrays()

    def written(x: Any, v: Any) -> Any:
        axes = case.axes(0 if each_value else None)
        at_once = pb.vmap(lambda x, v, *a: write(x, v, case.index(a)), axes)
        return at_once(x, v, *arrays)

    def by_loop(x: Any, v: Any) -> Any:
        return pb.stack([
            write(x[k] if case.each_x else x, v[k] if each_value else v, case.at(k))
            for k in range(case.size)
        ])

    close(written(x, v), by_loop(x, v).numpy())
    tangents = (r.normal(size=x.shape), r.normal(size=v.shape))
    for given in (tangents, (tangents[0], None), (None, tangents[1])):
        close(pb.jvp(written, (x, v), given)[1], pb.jvp(by_loop, (x, v), given)[1].numpy())

    def slopes(program: Callable[..., Any]) -> Callable[..., Any]:
        return pb.grad(lambda x, v: pb.sum(program(x * x, v * v) * g), (0, 1))

    for got, wanted in zip(slopes(written)(x, v), slopes(by_loop)(x, v), strict=True):
        close(got, wanted.numpy())
    second = [pb.jvp(slopes(p), (x, v), tangents)[1] for p in (written, by_loop)]
    for got, wanted in zip(*second, strict=True):
        close(got, wanted.numpy())


WIDE = np.array([[True, False, True], [False, True, True]])


@pytest.mark.parametrize("index", [
    (WIDE,), (..., WIDE), (WIDE, ...), (slice(None), WIDE), (WIDE, slice(1, 3)),
    (0, ..., WIDE), (WIDE, None, [0, 1, 1, 0]), (WIDE, [0, 1, 1, 0]),
], ids=str)
@pytest.mark.parametrize("each", [False, True])
def test_masks_of_several_axes(index: tuple[Any, ...], each: bool) -> None:
    """The same for all, of what is another array for each; beside positions for each."""
    shape = (2, 2, 3) if index[0] is not WIDE else (2, 3, 4)
    x = np.random.default_rng(0).normal(size=(3, *shape))
    ids = [i for i, p in enumerate(index) if isinstance(p, list)]
    given = np.random.default_rng(1).integers(0, 4, size=(3, 4))

    def at(own: Any) -> tuple[Any, ...]:
        return tuple(own if each and i in ids else p for i, p in enumerate(index))

    wanted = np.stack([x[k][at(given[k])] for k in range(3)])
    close(pb.vmap(lambda x, own: pb.getitem(x, at(own)))(x, given), wanted)
    value = np.random.default_rng(2).normal(size=wanted.shape)
    filled = x.copy()
    for k in range(3):
        filled[k][at(given[k])] = value[k]
    close(pb.vmap(lambda x, v, own: pb.set_at(x, v, at(own)))(x, value, given), filled)
    back = pb.vmap(pb.grad(lambda x, v, own: pb.sum(pb.getitem(x, at(own)) * v)))(x, value, given)
    sums = np.zeros_like(x)
    for k in range(3):
        np.add.at(sums[k], at(given[k]), value[k])
    close(back, sums)


@pytest.mark.parametrize("each", [False, True])
def test_what_is_written_twice_counts_once_for_each_example(each: bool) -> None:
    """The gradient of a written value goes to the last position that names an entry."""
    last = pb.core.op.OPS["take_last"]
    x = np.random.default_rng(0).normal(size=(3, 4) if each else (4,))
    at = np.random.default_rng(1).integers(0, 4, size=(3, 6))
    wanted = np.stack([last(x[k] if each else x, index=at[k]) for k in range(3)])
    close(pb.vmap(lambda x, i: last(x, index=i._data), (0 if each else None, 0))(Tensor(x), at),
          wanted)


# vmaps in vmaps -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_indices_of_two_vmaps(seed: int) -> None:
    """Each array is mapped by either vmap, both or none."""
    r = np.random.default_rng(seed)
    sizes, shape = (2, 3), (3, 4, 2)
    given: list[tuple[tuple[bool, bool], np.ndarray]] = []

    def array(make: Callable[[tuple[int, ...]], Any]) -> None:
        which = (bool(r.integers(0, 2)), bool(r.integers(0, 2)))
        given.append((which, make(tuple(n for n, w in zip(sizes, which, strict=True) if w))))

    array(lambda lead: r.normal(size=(*lead, *shape)))
    parts: list[Any] = []
    for n in shape:
        if r.random() < 0.3:
            parts.append(slice(None))
        else:
            parts.append(len(given))
            inner = () if r.random() < 0.4 else (2,)
            array(lambda lead, n=n, inner=inner: r.integers(-n, n, size=(*lead, *inner)))
    given.append(((True, True), r.normal(size=sizes)))

    def total(*values: Any) -> Any:
        index = tuple(p if isinstance(p, slice) else values[p] for p in parts)
        return pb.sum(pb.sin(pb.getitem(values[0], index))) * values[-1]

    def at(i: int, j: int) -> list[Any]:
        return [v[tuple(k for k, w in zip((i, j), which, strict=True) if w)] if any(which) else v
                for which, v in given]

    def mapped(f: Callable[..., Any]) -> Callable[..., Any]:
        inner = pb.vmap(f, tuple(0 if w[1] else None for w, _ in given))
        return pb.vmap(inner, tuple(0 if w[0] else None for w, _ in given))

    arrays = [Tensor(v) for _, v in given]

    def by_loop(x: Any) -> Any:
        which = given[0][0]
        rows = []
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                own = tuple(k for k, w in zip((i, j), which, strict=True) if w)
                rows.append(total(x[own] if own else x, *at(i, j)[1:]))
        return pb.reshape(pb.stack(rows), sizes)

    close(mapped(total)(*arrays), by_loop(arrays[0]).numpy())
    outside = pb.grad(lambda x: pb.sum(mapped(total)(x, *arrays[1:])))(arrays[0])
    close(outside, pb.grad(lambda x: pb.sum(by_loop(x)))(arrays[0]).numpy())
    inside = mapped(pb.grad(total))(*arrays)
    wanted = [[pb.grad(total)(*map(Tensor, at(i, j))).numpy() for j in range(3)] for i in range(2)]
    close(inside, np.array(wanted))


# What an index may be -----------------------------------------------------------------------

X = np.arange(12.0).reshape(3, 4) ** 2
WHICH = np.array([3, 0, 2])

FORMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, int], Any]]] = {
    "an integer": (lambda x, i: x[i], lambda x, i: x[i]),
    "one in a list": (lambda x, i: x[[i, 1, 0]], lambda x, i: x[[i, 1, 0]]),
    "nested lists": (lambda x, i: x[[[i, 0], [1, i]]], lambda x, i: x[[[i, 0], [1, i]]]),
    "a sum": (lambda x, i: x[i + pb.arange(2) - 1], lambda x, i: x[i + np.arange(2) - 1]),
    "of a closed-over array": (lambda x, i: pb.asarray(X)[1, i], lambda x, i: X[1, i]),
    "take": (lambda x, i: pb.take(x, pb.stack([i, i]), axis=0), lambda x, i: x[[i, i]]),
    "take of a second axis": (
        lambda x, i: pb.take(pb.asarray(X), pb.stack([i, i]), axis=1), lambda x, i: X[:, [i, i]]
    ),
    "take_along_axis": (
        lambda x, i: pb.take_along_axis(x, pb.stack([i, i])), lambda x, i: x[[i, i]]
    ),
    "embedding": (
        lambda x, i: pb.embedding(pb.asarray(X.T), pb.stack([i, i])), lambda x, i: X.T[[i, i]]
    ),
    "a mask for all": (
        lambda x, i: x[np.array([True, False, True, False])][i // 2],
        lambda x, i: x[[0, 2]][i // 2],
    ),
    "a raw array": (lambda x, i: x[np.array([1, 1])] + x[i], lambda x, i: x[[1, 1]] + x[i]),
}


@pytest.mark.parametrize(("form", "one"), FORMS.values(), ids=FORMS)
def test_forms_of_an_index(form: Callable[..., Any], one: Callable[..., Any]) -> None:
    got = pb.vmap(form)(X, WHICH)
    close(got, np.stack([one(x, int(i)) for x, i in zip(X, WHICH, strict=True)]))


def test_a_cross_entropy_by_labels() -> None:
    def loss(logits: Any, label: Any) -> Any:
        return pb.logsumexp(logits) - logits[label]

    logits = X / 50
    slopes = pb.vmap(pb.grad(loss))(logits, WHICH)
    odds = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    close(slopes, odds - np.eye(4)[WHICH])


@pytest.mark.parametrize(
    ("form", "error", "words"),
    [
        (lambda x, i: x[x > 3], errors.BatchedValueError, r"mask.*where"),
        (lambda x, i: pb.set_at(x, x[:2], x > 3), errors.BatchedValueError, r"mask.*where"),
        (lambda x, i: pb.set_at(x, 0.0, (x > 3)[:2]), errors.PositionError, r"a mask of.*2"),
        (lambda x, i: pb.zeros(4).__setitem__(x > 3, 1.0), errors.BatchedValueError, "for each"),
        (lambda x, i: X[i], errors.BatchedValueError, r"asarray\(a\)\[i\] for a NumPy"),
        (lambda x, i: X[0, i], errors.BatchedValueError, r"asarray\(a\)\[i\] for a NumPy"),
        (lambda x, i: x[i:], errors.BatchedValueError, r"bound.*arange"),
        (lambda x, i: x[x], errors.PositionError, "integer"),
        (lambda x, i: x[i + 4], errors.PositionError, "out of bounds"),
        (lambda x, i: x[i, i], errors.PositionError, "too many"),
        (lambda x, i: pb.set_at(x, pb.ones(3), [i, i]), errors.ShapeError, "broadcast"),
    ],
)
def test_misuse_is_one_error(form: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=f"(?s){words}"):
        pb.vmap(form)(X, WHICH)


def written(x: Any, value: Any, mask: Any) -> Any:
    """What is written in place, times a view of it that was taken before."""
    y = x * 2.0
    view = y[1:]
    y[mask] = value
    return y * 3.0, view * y[1:]


def put(x: Any, value: Any, mask: Any) -> Any:
    """The same, out of place."""
    y = pb.set_at(x * 2.0, value, mask)
    return y * 3.0, y[1:] * y[1:]


@pytest.mark.parametrize("form", [written, put])
@pytest.mark.parametrize("axes", [1, 2])
def test_a_mask_for_each_example_is_written_by(form: Callable[..., Any], axes: int) -> None:
    rng = np.random.default_rng(axes)
    x, value = rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 3)[: 3 - axes])
    mask = rng.random((5, 4, 3)[: 1 + axes]) < 0.5
    seeds = [rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 3, 3))]

    def run(function: Callable[..., Any]) -> list[Any]:
        leaves = [pb.tensor(a, requires_grad=True) for a in (x, value)]
        outs = function(*leaves, mask)
        grads = pb.autograd.grad(outs, leaves, [pb.tensor(s) for s in seeds])
        return [*outs, *grads]

    def looped(x: Any, value: Any, mask: Any) -> Any:
        outs = [form(x[i], value[i], mask[i]) for i in range(5)]
        return [pb.stack(list(parts)) for parts in zip(*outs, strict=True)]

    for got, want in zip(run(pb.vmap(form)), run(looped), strict=True):
        close(got, want)


def test_a_mask_for_each_example_keeps_the_dtype_that_is_written_to() -> None:
    table = np.arange(8, dtype="float32").reshape(2, 4)
    got = pb.vmap(lambda t: pb.set_at(t, np.float64(0.5), (t > 3,)))(table)
    assert got.dtype == "float32"
    close(got, np.where(table > 3, 0.5, table))
    whole = pb.vmap(lambda m: pb.set_at(np.arange(4), 7.9, m))(table > 3)
    assert whole.dtype == "int64"
    close(whole, np.where(table > 3, 7, np.arange(4)))


# Memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [
    lambda table, i: table[i], lambda table, i: pb.take(table, i, axis=0), pb.embedding,
    lambda table, i: table[i, 1:], lambda table, i: table[i[0]],
])
def test_the_gradient_of_a_table_is_one_table(form: Callable[..., Any]) -> None:
    table = Tensor(np.random.default_rng(0).normal(size=(5000, 16)))
    ids = np.random.default_rng(1).integers(0, 5000, size=(64, 5))

    def loss(table: Any) -> Any:
        return pb.sum(pb.vmap(lambda i: pb.sum(form(table, i) ** 2))(ids))

    slope = pb.grad(loss)
    wanted = pb.grad(lambda t: pb.sum(pb.stack([pb.sum(form(t, i) ** 2) for i in ids])))(table)
    close(slope(table), wanted.numpy())
    tracemalloc.start()
    try:
        slope(table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * table.numpy().nbytes  # and not 64
