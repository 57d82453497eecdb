"""Random numbers inside vmap, another draw for each example; and draws that are repeated."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors, torch
from pullback.random import Draws, Generator

MANY = 4000
WEIGHTS = np.array([0.1, 0.0, 0.6, 0.3])
CHANCES = np.array([[0.1, 0.0, 0.6, 0.3], [0.5, 0.5, 0.0, 0.0], [0.0, 0.2, 0.2, 0.6]])

DRAWS: dict[str, Callable[[Any], Any]] = {
    "normal": lambda g: g.normal((3,), loc=1.0, scale=2.0),
    "uniform": lambda g: g.uniform((3,), low=-1.0, high=2.0),
    "exponential": lambda g: g.exponential((3,), scale=2.0, dtype="float32"),
    "bernoulli": lambda g: g.bernoulli(0.3, (60,), dtype="float32"),
    "integers": lambda g: g.integers(0, 1000, (3,)),
    "permutation": lambda g: g.permutation(20),
    "permutation of an array": lambda g: g.permutation(np.arange(40.0).reshape(2, 20), axis=1),
    "choice": lambda g: g.choice(1000, (3,)),
    "choice of entries": lambda g: g.choice(np.arange(50.0), (2, 3)),
    "choice without replacement": lambda g: g.choice(1000, (2, 3), replace=False),
    "weighted choice": lambda g: g.choice(200, (20,), p=np.full(200, 1 / 200)),
    "weighted, without replacement": lambda g: g.choice(
        200, (5,), replace=False, p=np.full(200, 1 / 200)
    ),
    "dropout": lambda g: pb.dropout(pb.ones(60), 0.5, generator=g),
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def mapped(draw: Callable[[Any], Any], seed: int = 0, **how: Any) -> np.ndarray:
    generator = Generator(seed)
    return pb.vmap(lambda x: draw(generator), **how)(np.zeros(4)).numpy()


@draws
def test_each_example_draws_its_own_numbers(draw: Callable[[Any], Any]) -> None:
    found = mapped(draw)
    single = draw(Generator(0))
    assert found.shape == (4, *single.shape)
    assert found.dtype == single.dtype
    assert len({row.tobytes() for row in found}) == 4
    np.testing.assert_array_equal(found, mapped(draw))
    assert (found != mapped(draw, 1)).any()


@draws
def test_all_draw_the_same_where_that_is_asked_for(draw: Callable[[Any], Any]) -> None:
    found = mapped(draw, randomness="same")
    single = draw(Generator(0)).numpy()
    np.testing.assert_array_equal(found, np.stack([single] * 4))


@draws
def test_a_draw_is_an_error_where_that_is_asked_for(draw: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.BatchedValueError, match=r"randomness=.error."):
        mapped(draw, randomness="error")


@draws
@pytest.mark.parametrize("outer", ["same", "different"])
@pytest.mark.parametrize("inner", ["same", "different"])
def test_vmaps_in_vmaps(draw: Callable[[Any], Any], outer: str, inner: str) -> None:
    generator = Generator(0)

    def row(x: Any) -> Any:
        return pb.vmap(lambda y: draw(generator), randomness=inner)(x)

    found = pb.vmap(row, randomness=outer)(np.zeros((3, 2))).numpy()
    assert found.shape[:2] == (3, 2)
    across = {found[i, 0].tobytes() for i in range(3)}
    along = {found[0, j].tobytes() for j in range(2)}
    assert len(across) == (3 if outer == "different" else 1)
    assert len(along) == (2 if inner == "different" else 1)


def test_the_stream_outside_is_what_it_was() -> None:
    one, other = Generator(5), np.random.Generator(np.random.PCG64(5))
    np.testing.assert_array_equal(one.normal((3,)).numpy(), other.standard_normal(3))
    np.testing.assert_array_equal(one.permutation(7).numpy(), other.permutation(7))
    np.testing.assert_array_equal(one.choice(9, (4,)).numpy(), other.choice(9, 4))
    np.testing.assert_array_equal(
        one.choice(4, (2,), replace=False, p=WEIGHTS).numpy(),
        other.choice(4, 2, replace=False, p=WEIGHTS),
    )
    np.testing.assert_array_equal(one.bernoulli(0.4, (5,)).numpy(), other.random(5) < 0.4)
    np.testing.assert_array_equal(one.integers(3, 90, (5,)).numpy(), other.integers(3, 90, 5))


# Of the right distribution, with parameters for each example -------------------------------------


def test_parameters_of_each_example() -> None:
    loc, scale = np.array([-5.0, 0.0, 7.0]), np.array([1.0, 0.5, 2.0])
    g = Generator(2)
    samples = {
        "normal": pb.vmap(lambda m, s: g.normal((MANY,), loc=m, scale=s))(loc, scale),
        "uniform": pb.vmap(lambda m, s: g.uniform((MANY,), low=m - s, high=m + s))(loc, scale),
        "exponential": pb.vmap(lambda m, s: g.exponential((MANY,), scale=s) + m)(loc, scale),
    }
    moments = {"normal": (loc, scale), "uniform": (loc, scale / 3**0.5),
               "exponential": (loc + scale, scale)}
    for name, (mean, deviation) in moments.items():
        found = samples[name].numpy()
        np.testing.assert_allclose(found.mean(1), mean, atol=0.2, err_msg=name)
        np.testing.assert_allclose(found.std(1), deviation, rtol=0.1, err_msg=name)


def test_gradients_reach_the_parameters_of_each_example() -> None:
    g = Generator(0)
    state = g.get_state()
    scale = np.array([1.0, 2.0, 3.0])

    def total(s: Any) -> Any:
        return pb.sum(g.normal((5,), scale=s) ** 2)

    slopes = pb.vmap(pb.grad(total))(scale).numpy()
    g.set_state(state)
    values = pb.vmap(total)(scale).numpy()
    np.testing.assert_allclose(slopes, 2 * values / scale)


def test_a_probability_for_each_example() -> None:
    p = np.array([0.0, 0.3, 1.0])
    hit = pb.vmap(lambda q: Generator(0).bernoulli(q, (MANY,)))(p).numpy()
    assert hit.dtype == bool
    np.testing.assert_allclose(hit.mean(1), p, atol=0.03)
    with pytest.raises(errors.ArgumentError, match=r"\[0, 1\]"):
        pb.vmap(lambda q: Generator(0).bernoulli(q))(p * 2)


@pytest.mark.parametrize("each", [False, True])
def test_weighted_choice_is_as_likely_as_its_weights(each: bool) -> None:
    g = Generator(1)
    weights = CHANCES if each else np.stack([WEIGHTS] * 3)
    found = pb.vmap(lambda x, p: g.choice(4, (MANY,), p=p), (0, 0 if each else None))(
        np.zeros(3), CHANCES if each else WEIGHTS
    ).numpy()
    frequencies = np.stack([np.bincount(row, minlength=4) / MANY for row in found])
    np.testing.assert_allclose(frequencies, weights, atol=0.03)
    assert not frequencies[weights == 0].any()


def test_weighted_choice_without_replacement_is_as_likely_as_one_by_one() -> None:
    g = Generator(1)
    found = pb.vmap(lambda x: g.choice(4, (2,), replace=False, p=WEIGHTS))(np.zeros(MANY)).numpy()
    assert (found[:, 0] != found[:, 1]).all()
    for a in range(4):
        for b in range(4):
            wanted = WEIGHTS[a] * WEIGHTS[b] / (1 - WEIGHTS[a]) if a != b else 0.0
            seen = np.mean((found[:, 0] == a) & (found[:, 1] == b))
            assert abs(seen - wanted) < 0.03, (a, b)


def test_weights_of_each_example_without_replacement_even_where_all_draw_the_same() -> None:
    for randomness in ("different", "same"):
        found = pb.vmap(
            lambda p: Generator(0).choice(4, (2,), replace=False, p=p), randomness=randomness
        )(CHANCES).numpy()
        for row, p in zip(found, CHANCES, strict=True):
            assert row[0] != row[1]
            assert (p[row] > 0).all()


def test_orders_are_equally_likely_and_complete() -> None:
    g = Generator(0)
    found = pb.vmap(lambda x: g.permutation(3))(np.zeros(6 * MANY)).numpy()
    orders, counts = np.unique(found, axis=0, return_counts=True)
    assert len(orders) == 6
    np.testing.assert_allclose(counts / MANY, 1.0, atol=0.1)
    picked = pb.vmap(lambda x: g.choice(3, (3,), replace=False))(np.zeros(50)).numpy()
    assert (np.sort(picked, axis=1) == np.arange(3)).all()


def test_permutation_and_choice_of_mapped_entries_differentiate() -> None:
    x = np.arange(12.0).reshape(3, 4)
    w = pb.tensor([1.0, 10.0, 100.0, 1000.0])

    def total(row: Any) -> Any:
        return pb.sum(Generator(3).permutation(row) * w)

    slopes = pb.vmap(pb.grad(total))(x).numpy()
    np.testing.assert_array_equal(np.sort(slopes, axis=1), np.stack([w.numpy()] * 3))
    np.testing.assert_allclose((slopes * x).sum(1), pb.vmap(total)(x).numpy())
    taken = pb.vmap(lambda row: Generator(3).choice(row, (2,)))(x).numpy()
    assert all(set(t) <= set(row) for t, row in zip(taken, x, strict=True))


def test_shuffle_inside_vmap() -> None:
    x = np.arange(60.0).reshape(3, 20)

    def shuffled(row: Any) -> Any:
        y = row * 1.0
        pb.random.shuffle(y)
        return y

    found = pb.vmap(shuffled)(x).numpy()
    np.testing.assert_array_equal(np.sort(found, axis=1), x)
    assert len({(row - row.min()).tobytes() for row in found}) == 3
    cards = [1, 2, 3]
    with pytest.raises(errors.BatchedValueError, match="permutation"):
        pb.vmap(lambda row: pb.random.shuffle(cards))(x)
    assert cards == [1, 2, 3]
    pb.vmap(lambda row: (Generator(0).shuffle(cards), row)[1], randomness="same")(x)
    assert sorted(cards) == [1, 2, 3]


@pytest.mark.parametrize("closed", [False, True])
def test_dropout_has_a_mask_for_each_example(closed: bool) -> None:
    x = np.full((4, 200), 3.0)
    layer = pb.nn.Dropout(0.25)
    row = pb.tensor(x[0])
    found = pb.vmap(lambda r: layer(row if closed else r))(x).numpy()
    assert set(np.unique(found)) == {0.0, 4.0}
    assert len({r.tobytes() for r in found}) == 4
    assert abs((found == 0).mean() - 0.25) < 0.06


@pytest.mark.parametrize("draw", [
    lambda x: torch.randn(5), lambda x: torch.rand_like(x), lambda x: torch.randint(999, (5,)),
    lambda x: torch.randperm(9), lambda x: torch.randn(3, dtype=torch.complex64),
    lambda x: torch.bernoulli(x), lambda x: torch.nn.functional.dropout(x),
], ids=["randn", "rand_like", "randint", "randperm", "complex", "bernoulli", "dropout"])
def test_each_example_draws_through_the_torch_door(draw: Callable[[Any], Any]) -> None:
    torch.manual_seed(0)
    found = pb.vmap(draw)(torch.full((4, 60), 0.5))
    assert isinstance(found, torch.Tensor)
    assert len({row.tobytes() for row in found.numpy()}) == 4


# Draws that are repeated -------------------------------------------------------------------------


def several(g: Any) -> list[Any]:
    return [draw(g).tolist() for draw in DRAWS.values()] + [
        pb.random.normal((2,)).tolist(), [c.normal().item() for c in g.spawn(2)]
    ]


def test_draws_repeat_any_number_of_times_and_leave_generators_alone() -> None:
    g, record = Generator(0), Draws()
    g.normal((3,))
    with record.record():
        first = several(g)
    after = g.get_state(), pb.random.get_state()
    for _ in range(2):
        g.normal()  # wherever the generator is by now
        with record.replay():
            assert several(g) == first
    assert pb.random.get_state() == after[1]
    g.set_state(after[0])
    with record.replay():
        assert several(g) == first
    assert g.get_state() == after[0]


def test_draws_repeat_where_the_block_seeds() -> None:
    g, record = Generator(0), Draws()

    def block() -> list[Any]:
        fresh = Generator(9)
        found = [g.normal().item(), fresh.normal().item()]
        g.seed(4)
        fresh.seed(5)
        found += [g.normal().item(), fresh.normal().item()]
        g.set_state(Generator(1).get_state())
        return [*found, g.normal().item()]

    with record.record():
        first = block()
    state = g.get_state()
    with record.replay():
        assert block() == first
    assert g.get_state() == state


def test_draws_inside_draws() -> None:
    g, outer = Generator(0), Draws()

    def block() -> list[Any]:
        inner = Draws()
        found = [g.normal().item()]
        with inner.record():
            found.append(g.normal().item())
        found.append(g.normal().item())
        with inner.replay():
            found.append(g.normal().item())
        return [*found, g.normal().item()]

    with outer.record():
        first = block()
    assert first[1] == first[3]
    assert len(set(first)) == 4
    state = g.get_state()
    with outer.replay():
        assert block() == first
    assert g.get_state() == state


def test_other_threads_see_nothing_of_a_replay() -> None:
    g, record = Generator(0), Draws()
    with record.record():
        g.normal()
    following = Generator(0)
    following.normal()
    seen: list[float] = []
    with record.replay():
        thread = threading.Thread(target=lambda: seen.append(g.normal().item()))
        thread.start()
        thread.join()
    assert seen == [following.normal().item()]


def test_an_error_ends_the_block() -> None:
    g, record = Generator(0), Draws()

    def block() -> None:
        g.normal()
        raise RuntimeError

    with pytest.raises(RuntimeError), record.record():
        block()
    with pytest.raises(RuntimeError), record.replay():
        block()
    following = Generator(0)
    following.normal()
    assert g.normal().item() == following.normal().item()
