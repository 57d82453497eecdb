"""Random numbers: repeatable, of the distribution asked for, differentiable in their parameters."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.random import Generator

DRAWS: dict[str, Callable[[Any], Any]] = {
    "normal": lambda g: g.normal((3,), loc=1.0, scale=2.0),
    "uniform": lambda g: g.uniform((3,), low=-1.0, high=2.0),
    "exponential": lambda g: g.exponential((3,), scale=2.0),
    "bernoulli": lambda g: g.bernoulli(0.3, (20,)),
    "integers": lambda g: g.integers(0, 1000, (3,)),
    "permutation": lambda g: g.permutation(20),
    "choice": lambda g: g.choice(1000, (3,)),
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@draws
def test_the_same_seed_gives_the_same_numbers(draw: Callable[[Any], Any]) -> None:
    one, other = Generator(7), Generator(7)
    first = draw(one).tolist()
    assert first == draw(other).tolist()
    assert first != draw(one).tolist()
    assert first != draw(Generator(8)).tolist()


@draws
def test_a_saved_state_goes_back_there(draw: Callable[[Any], Any]) -> None:
    generator = Generator(1)
    draw(generator)
    state = generator.get_state()
    wanted = [draw(generator).tolist() for _ in range(3)]
    for _ in range(2):
        generator.set_state(state)
        assert [draw(generator).tolist() for _ in range(3)] == wanted
    fresh = Generator()
    fresh.set_state(state)
    assert draw(fresh).tolist() == wanted[0]


@draws
def test_module_functions_draw_from_the_default_generator(draw: Callable[[Any], Any]) -> None:
    pb.random.seed(3)
    first = draw(pb.random).tolist()
    assert first == draw(Generator(3)).tolist()
    state = pb.random.get_state()
    second = draw(pb.random).tolist()
    pb.random.set_state(state)
    assert draw(pb.random.default_generator()).tolist() == second
    pb.random.seed(3)
    assert draw(pb.random).tolist() == first


def test_dropout_draws_from_the_default_generator() -> None:
    x = np.ones(100)
    pb.random.seed(11)
    first = pb.dropout(x, 0.5)
    assert not np.array_equal(first, pb.dropout(x, 0.5))
    pb.random.seed(11)
    np.testing.assert_array_equal(pb.dropout(x, 0.5), first)


def test_without_a_seed_streams_differ() -> None:
    assert Generator().normal((4,)).tolist() != Generator().normal((4,)).tolist()


def test_spawned_generators_are_repeatable_and_differ() -> None:
    first = [g.normal((4,)).tolist() for g in Generator(5).spawn(3)]
    assert first == [g.normal((4,)).tolist() for g in Generator(5).spawn(3)]
    assert len({tuple(values) for values in first}) == 3


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda g, n: g.normal(n, loc=3.0, scale=2.0), 3.0, 4.0),
        (lambda g, n: g.uniform(n, low=-1.0, high=3.0), 1.0, 16 / 12),
        (lambda g, n: g.exponential(n, scale=2.0), 2.0, 4.0),
        (lambda g, n: g.bernoulli(0.3, n), 0.3, 0.21),
        (lambda g, n: g.integers(6, shape=n), 2.5, 35 / 12),
        (lambda g, n: g.integers(1, 6, n, endpoint=True), 3.5, 35 / 12),
        (lambda g, n: g.choice(pb.tensor([0.0, 1.0]), n, p=[0.25, 0.75]), 0.75, 0.1875),
    ],
)
def test_moments(draw: Callable[[Any, int], Any], mean: float, variance: float) -> None:
    n = 40_000
    sample = draw(Generator(0), n).numpy().astype(float)
    assert sample.shape == (n,)
    assert abs(sample.mean() - mean) < 5 * np.sqrt(variance / n)
    assert abs(sample.var() - variance) < 0.05 * variance


@pytest.mark.parametrize("name", ["normal", "uniform", "exponential"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtype_is_the_one_asked_for_or_that_of_the_parameters(name: str, dtype: str) -> None:
    draw = getattr(Generator(0), name)
    high = {"uniform": "high"}.get(name, "scale")
    assert draw((2,)).dtype == np.float64
    assert draw((2,), dtype=dtype).dtype == dtype
    assert draw((2,), **{high: np.ones(2, dtype)}).dtype == dtype
    assert draw((2,), **{high: pb.Tensor(np.ones(2, dtype))}).dtype == dtype


def test_shapes() -> None:
    generator = Generator(0)
    assert generator.normal().shape == ()
    assert generator.normal(4).shape == (4,)
    assert generator.normal((2, 0)).shape == (2, 0)
    assert generator.normal(loc=np.zeros(3), scale=np.ones((2, 1))).shape == (2, 3)
    assert generator.uniform((5, 3), low=np.zeros(3)).shape == (5, 3)
    assert generator.bernoulli(np.full((2, 3), 0.5)).shape == (2, 3)
    assert generator.integers(5).shape == ()
    assert generator.choice(np.zeros((4, 3)), (2, 5)).shape == (2, 5, 3)


@pytest.mark.parametrize("name", ["normal", "uniform", "exponential"])
def test_gradients_reach_the_parameters(name: str) -> None:
    """Sample = loc + scale · noise, so the noise can be had back and differentiated by hand."""
    rng = np.random.default_rng(2)
    names = {"normal": ("loc", "scale"), "uniform": ("low", "high"), "exponential": ("scale",)}
    values = [np.array([0.5, 1.5, 2.0]), np.array([[3.0], [4.0]])][-len(names[name]) :]
    leaves = [pb.Tensor(v, requires_grad=True) for v in values]
    sample = getattr(Generator(9), name)((2, 3), **dict(zip(names[name], leaves, strict=True)))
    noise = getattr(Generator(9), name)((2, 3)).numpy()
    c = rng.normal(size=(2, 3))
    found = [g.numpy() for g in pb.autograd.grad(sample, leaves, c)]
    if name == "exponential":
        wanted = [c * noise]
        np.testing.assert_allclose(sample.numpy(), values[0] * noise)
    elif name == "normal":
        wanted = [c, c * noise]
    else:
        wanted = [c * (1 - noise), c * noise]
    for g, w, v in zip(found, wanted, values, strict=True):
        axes = tuple(i for i, n in enumerate(np.broadcast_shapes(v.shape, (1, 1))) if n == 1)
        np.testing.assert_allclose(g, w.sum(axes, keepdims=True).reshape(v.shape))


def test_permutation_and_choice_differentiate_the_entries() -> None:
    x = pb.Tensor(np.arange(4.0), requires_grad=True)
    c = np.array([1.0, 10.0, 100.0, 1000.0])
    y = Generator(0).permutation(x)
    (g,) = pb.autograd.grad(y, x, c)
    np.testing.assert_array_equal(g.numpy()[y.numpy().astype(int)], c)
    rows = Generator(0).permutation(np.arange(6.0).reshape(2, 3), axis=1).numpy()
    np.testing.assert_array_equal(rows[1] - rows[0], 3)
    z = Generator(0).choice(x, (50,))
    (g,) = pb.autograd.grad(z, x, np.ones(50))
    np.testing.assert_array_equal(g.numpy(), np.bincount(z.numpy().astype(int), minlength=4))


def test_draws_without_derivative_are_not_recorded() -> None:
    p = pb.tensor([0.5, 0.5], requires_grad=True)
    assert Generator(0).bernoulli(p).node is None
    assert Generator(0).bernoulli(p, dtype="float32").dtype == np.float32
    assert Generator(0).integers(3, dtype="uint8").dtype == np.uint8


@pytest.mark.parametrize("kind", [list, np.array, pb.tensor])
def test_shuffle_rearranges_in_place(kind: Callable[[Any], Any]) -> None:
    x = kind([float(i) for i in range(20)])
    same = x
    assert Generator(0).shuffle(x) is None
    assert same is x
    values = list(map(float, x))
    assert sorted(values) == [float(i) for i in range(20)] != values


def test_permutations_of_three_are_equally_likely() -> None:
    generator = Generator(0)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(3000):
        order = tuple(generator.permutation(3).tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert all(400 < count < 600 for count in seen.values())


def test_choice_without_replacement_draws_each_once() -> None:
    assert sorted(Generator(0).choice(10, (10,), replace=False).tolist()) == list(range(10))


def test_threads_share_a_generator_without_losing_draws() -> None:
    """Together they draw just the numbers that one thread would."""
    shared, drawn = Generator(4), []
    threads = [
        threading.Thread(
            target=lambda: drawn.extend(shared.uniform().item() for _ in range(200))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == sorted(Generator(4).uniform((800,)).tolist())


MISUSES: dict[str, tuple[Callable[[], Any], str]] = {
    "seed": (lambda: Generator(-1), "seed"),
    "seed of another type": (lambda: Generator("a"), "seed"),  # type: ignore[arg-type]
    "state": (lambda: Generator(0).set_state({"x": 1}), "state"),
    "shape": (lambda: Generator(0).normal((2,), loc=np.zeros(3)), "shape"),
    "parameters": (lambda: Generator(0).normal(loc=np.zeros(3), scale=np.ones(2)), "shape"),
    "dtype": (lambda: Generator(0).normal(dtype="int64"), "floating"),
    "probability": (lambda: Generator(0).bernoulli(1.5), "probability"),
    "integers": (lambda: Generator(0).integers(3, 3), "low"),
    "choice": (lambda: Generator(0).choice(3, (4,), replace=False), "at most 3"),
    "choice p": (lambda: Generator(0).choice(2, p=[0.5, 0.6]), "probabilities"),
    "shuffle": (lambda: Generator(0).shuffle((1, 2)), "mutable"),
}


@pytest.mark.parametrize(("misuse", "word"), MISUSES.values(), ids=MISUSES)
def test_misuses_are_errors_that_say_what_was_wrong(misuse: Any, word: str) -> None:
    with pytest.raises(pb.PullbackError, match=word):
        misuse()
