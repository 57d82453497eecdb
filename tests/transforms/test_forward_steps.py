"""Forward mode in the plain case: few steps per operation, and what the general path computes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.compiled import compiled
from pullback.core.observe import Observer, observing
from pullback.passes.accumulator import Accumulator, Dual
from tests.loops import each


def python_calls(run: Callable[[], Any]) -> int:
    """How many functions in Python a call calls, for operations and their rules.

    Not where a pull looks for hooks or large arrays, if there are any somewhere.
    """
    seen = 0
    whole = ("reverse.py", "regions.py", "_weakrefset.py")

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal seen
        seen += event == "call" and not frame.f_code.co_filename.endswith(whole)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen


def chain(ops: int) -> Callable[[Any], Any]:
    a, b = pb.tensor([0.999, 1.0]), pb.tensor([0.001, 0.5])

    def run(y: Any) -> Any:
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return y

    return run


def test_an_operation_with_its_tangent_takes_few_steps() -> None:
    """None in Python with the compiled core; else the operation, and its tangent in one go."""
    x, t = np.array([0.5, 2.0]), np.array([1.0, -1.0])

    def calls(ops: int) -> int:
        pb.jvp(chain(ops), (x,), (t,))
        return python_calls(lambda: pb.jvp(chain(ops), (x,), (t,)))

    per_op = (calls(200) - calls(100)) / 100
    assert per_op == 0 if compiled is not None else per_op <= 10


def test_no_table_is_written_in_the_plain_case() -> None:
    made = []

    def f(x: Any) -> Any:
        made.append(pb.sum(pb.exp(pb.sin(x) * x), axis=0))
        return made[0]

    with pb.ForwardAccumulator(x := pb.tensor([0.3, 0.7]), np.ones(2)) as acc:
        f(x)
    assert made[0].node.__class__ is Dual
    assert made[0].node.token is acc._sweep.token
    assert not [n for n in acc._sweep.tangents._others if isinstance(n, Dual)]


# The plain path and the general one ---------------------------------------------------------------


def programs() -> dict[str, Callable[..., Any]]:
    constant = np.array([[1.5], [-0.5]])
    return {
        "broadcast": lambda x, y: (x + constant) * y - constant / (2.0 + x * x),
        "both": lambda x, y: x * x + y * x - x / (y * y + 1.0),
        "one is a number": lambda x, y: 2.0 * x + 1.0 / (x * x + 1.0) - x**3 + pb.exp(y) ** x,
        "elementwise": lambda x, y: pb.tanh(pb.exp(pb.sin(x))) * pb.sqrt(pb.abs(y) + 1.0),
        "choices": lambda x, y: pb.where(x > y, x * y, pb.maximum(x, 0.3) - pb.minimum(y, x)),
        "attributes": lambda x, y: pb.sum(x * y, axis=0) + pb.mean(y, axis=1, keepdims=True)[0],
        "views": lambda x, y: pb.reshape(x, (-1,))[1:] * pb.permute_dims(y, (1, 0)).ravel()[:-1],
        "products": lambda x, y: (x @ y.T) @ y + pb.tensordot(x, y, axes=[[0], [0]])[:2],
        "scalars": lambda x, y: pb.sum(x) * pb.max(y) - pb.sum(x * y) / pb.prod(pb.cos(y)),
        "several arrays": lambda x, y: pb.concat([x, y, x * y]) + pb.stack([x, y])[0, 0],
        "several outputs": lambda x, y: sum(pb.linalg.eigh(x @ x.T + y @ y.T)[0]) * y,
        "kinds": lambda x, y: pb.real((x + 2j * y) ** 2) + pb.astype(x, pb.float32),
        "in place": lambda x, y: written(x * y, x),
        "a flat one": lambda x, y: pb.floor(x) + pb.sign(y) * y + pb.round(x) * x,
        "transposed": lambda x, y: by_vjp(x) * y + by_vjp(y),
        "a hand-written gradient": lambda x, y: squared(x) * squared(y * x),
        "constants": lambda x, y: pb.stop_gradient(x) * y + pb.tensor(constant) * constant,
        "integers": lambda x, y: x * pb.astype(pb.round(y), "int64") + pb.argmax(y),
        "a cumulative one": lambda x, y: pb.cumulative_sum(x, axis=1) * pb.softmax(y, axis=0),
    }


@pb.custom_vjp
def by_vjp(x: Any) -> Any:
    return x * x


by_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
squared = pb.custom_gradient(lambda x: (x * x, lambda g: 2 * x * g))


def written(y: Any, x: Any) -> Any:
    y[0] = x[1] * 3.0
    y *= x
    return y


POINT = (
    np.array([[0.3, -1.2, 0.7], [2.1, 0.4, -0.6]]), np.array([[1.1, 0.2, -0.9], [0.5, -1.7, 0.8]]),
)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`jvp` with an observer, which sends all operations on the general path."""
    class Watching(Observer):
        def recorded(self, node: Any, outputs: Any, inputs: Any) -> None:
            pass

    def run(f: Any, xs: Any, ts: Any) -> Any:
        with observing(Watching()):
            return pb.jvp(f, xs, ts)

    return run


REAL = ("choices", "one is a number", "a flat one", "scalars", "kinds", "integers",
        "several outputs", "attributes")  # they compare numbers, or have no derivative elsewhere
CASES = [(n, d) for n in programs() for d in ("float64", "float32", "complex128")
         if d != "complex128" or n not in REAL]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_both_paths_give_the_same(
    name: str, dtype: str, general: Callable[..., Any], rng: np.random.Generator
) -> None:
    f = programs()[name]
    x, y = (a.astype(dtype) for a in POINT)
    if dtype == "complex128":
        x, y = x + 0.3j, y - 0.2j
    t = rng.normal(size=x.shape).astype(dtype)
    for tangents in ((t, 2 * t), (t, None), (None, t)):
        value, slope = pb.jvp(f, (x, y), tangents)
        wanted_value, wanted = general(f, (x, y), tangents)
        np.testing.assert_array_equal(value.numpy(), wanted_value.numpy())
        np.testing.assert_array_equal(slope.numpy(), wanted.numpy())
        assert slope.dtype == wanted.dtype
        assert slope.shape == value.shape


def test_sweeps_in_each_other_keep_their_tangents_apart() -> None:
    f = lambda x, y: pb.sin(x * y) * y  # noqa: E731

    def inner(x: Any) -> Any:
        return pb.jvp(lambda y: f(x, y), (0.7,), (1.0,))[1]

    wanted = pb.grad(lambda x: pb.grad(f, 1)(x, 0.7))(0.4)
    np.testing.assert_allclose(pb.jvp(inner, (0.4,), (1.0,))[1], wanted, rtol=1e-13)
    np.testing.assert_allclose(pb.grad(inner)(0.4), wanted, rtol=1e-13)
    # A tangent of an ended sweep is a constant of the next one.
    kept: list[Any] = []
    pb.jvp(lambda x: kept.append(x * x) or x, (2.0,), (1.0,))
    assert float(pb.jvp(lambda x: kept[0] * x, (3.0,), (1.0,))[1]) == 4.0


def test_an_error_in_a_rule_names_the_operation() -> None:
    @pb.op(elementwise=True)
    def crooked(xp: Any, x: Any, /) -> Any:
        return x * x

    @crooked.pullback("x")
    def pullback_crooked(g: Any, x: Any) -> Any:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong") as caught:
        pb.jvp(crooked, (1.0,), (1.0,))
    assert any("crooked" in note for note in caught.value.__notes__)


def test_a_tangent_that_is_replaced_moves_between_node_and_table() -> None:
    table = Accumulator().tangents
    x = Accumulator().watch(pb.tensor([1.0]), np.ones(1)).detach()
    other = Accumulator()
    node = other.watch(x, np.ones(1)).node
    assert node in other.tangents
    assert node not in table

    def replaced(value: Any) -> None:
        other.tangents[node] = value
        assert other.tangents[node] is value
        assert other.tangents.get(node) is value

    each([pb.tensor([2.0]), np.ones(1), pb.tensor([3.0])], replaced)
    table[node] = np.zeros(1)
    assert table[node][0] == 0.0
    assert float(other.tangents[node][0]) == 3.0
