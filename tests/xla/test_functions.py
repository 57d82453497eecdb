"""Compiled functions: their gradients from outside, random numbers, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import nn
from tests.loops import each
from tests.tier import share
from tests.xla.steps import X, on_jax

pytestmark = pytest.mark.needs("jax")
jax = pytest.importorskip("jax")

V = np.array([0.3, -1.2, 2.0, 0.7], "float32")
W = np.array([1.0, -0.5, 0.25, 2.0], "float32")


def curve(x: Any) -> Any:
    return pb.sum(pb.sin(x) * pb.exp(0.3 * x))


def close(one: Any, other: Any, tolerance: float = 2e-6) -> None:
    one, other = (np.asarray(pb.asarray(v).numpy()) for v in (one, other))
    np.testing.assert_allclose(one, other, atol=tolerance, rtol=tolerance)


TRANSFORMED: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda f, x: f(x),
    "grad": lambda f, x: pb.grad(f)(x),
    "value_and_grad": lambda f, x: pb.value_and_grad(f)(x)[1],
    "jvp": lambda f, x: pb.jvp(f, (x,), (x * 0.5,))[1],
    "hessian": lambda f, x: pb.hessian(f)(x),
    "grad of grad": lambda f, x: pb.grad(lambda x: pb.sum(pb.grad(f)(x) ** 2))(x),
    "vmap": lambda f, x: pb.vmap(f)(x),
    "vmap of grad": lambda f, x: pb.vmap(pb.grad(f))(x),
}


@pytest.mark.parametrize("name", share([*TRANSFORMED], 4))
def test_transformations_from_outside(name: str) -> None:
    compiled = pb.jit(curve)
    for x in (pb.tensor(on_jax(V)), pb.tensor(V)):
        close(TRANSFORMED[name](compiled, x), TRANSFORMED[name](curve, x), 1e-5)


@pytest.mark.full
def test_transformations_inside() -> None:
    x = pb.tensor(on_jax(V))
    for transform in TRANSFORMED.values():
        compiled = pb.jit(lambda x, t=transform: t(curve, x))
        close(compiled(x), transform(curve, x), 1e-5)


def test_tapes_backward_and_parameters_from_outside() -> None:
    net = nn.Linear(4, 3).to(like=on_jax(0.0))
    predict = pb.jit(lambda x: pb.tanh(net(x)))
    x = pb.tensor(on_jax(X), requires_grad=True)
    found = []
    for f in (predict, lambda x: pb.tanh(net(x))):
        x.grad = net.weight.grad = None
        pb.sum(f(x) ** 3).backward()
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = pb.sum(f(x) ** 3)
        found.append((x.grad, net.weight.grad, tape.gradient(y, x)))
    for one, other in zip(*found, strict=True):
        close(one, other, 1e-5)
    v = pb.Variable(on_jax(V))
    scaled = pb.jit(lambda x: v * x * x)
    with pb.GradientTape() as tape:
        y = pb.sum(scaled(x[0]))
    close(tape.gradient(y, v), x[0].detach() ** 2)
    with pb.no_grad():
        assert not predict(x).requires_grad


def test_nested_in_itself_and_in_jax() -> None:
    inner = pb.jit(pb.sin)
    outer = pb.jit(lambda x: inner(x) * 2)
    x = on_jax(V)
    close(outer(x), np.sin(V) * 2)
    assert (inner.traces, outer.traces) == (0, 1)
    close(jax.jit(lambda x: outer(pb.tensor(x)).data)(x), np.sin(V) * 2)
    traced = pb.function(lambda x: outer(x) + 1)
    close(traced(pb.tensor(x)), np.sin(V) * 2 + 1)
    close(pb.jit(lambda x: traced(x))(pb.tensor(x)), np.sin(V) * 2 + 1)


def test_overrides_around_a_compiled_function() -> None:
    """The rules are part of the key: equal rules share a form, others do not."""
    compiled = pb.jit(lambda x: pb.sum(pb.sign(x) * on_jax(W)))
    x = pb.tensor(on_jax(V))
    assert pb.grad(compiled)(x).tolist() == [0.0] * 4
    for scale in (1.0, 2.0):
        for _ in range(2):
            with pb.override_gradient({"sign": lambda op, g, scale=scale: g * scale}):
                close(pb.grad(compiled)(x), W * scale)
    assert pb.grad(compiled)(x).tolist() == [0.0] * 4
    assert compiled.traces == 3


@pytest.mark.full
def test_dropout() -> None:
    """A new mask in each call, one in forward and backward, the same from the same seed."""
    generator = pb.random.Generator(5)
    drop = nn.Dropout(0.25, generator=generator)
    x = pb.tensor(on_jax(np.ones(4000, "float32")), requires_grad=True)
    compiled = pb.jit(lambda x: drop(x))
    first, second = compiled(x).tolist(), compiled(x).tolist()
    assert first != second
    assert set(first) == {0.0, np.float32(1 / 0.75).item()}
    assert abs(np.mean(np.array(first) == 0) - 0.25) < 0.03
    generator.seed(5)
    assert compiled(x).tolist() == first
    assert compiled.traces == 1
    y = compiled(x)
    pb.sum(y).backward()
    assert x.grad.tolist() == y.tolist()  # from outside too, where it is computed again

    w = pb.tensor(on_jax(np.ones(50, "float32")), requires_grad=True)

    @pb.jit
    def replayed() -> Any:
        w.grad = None
        y = pb.checkpoint(lambda v: drop(v) * v)(w)
        pb.sum(y).backward()
        return y, w.grad

    y, grad = replayed()
    assert (y * 2).tolist() == grad.tolist()
    assert replayed()[0].tolist() != y.tolist()


@pytest.mark.full
def test_random_numbers() -> None:
    generator = pb.random.Generator(0)
    draws: dict[str, Callable[[], Any]] = {
        "normal": lambda: generator.normal((2000,), dtype="float32"),
        "uniform": lambda: generator.uniform((2000,), low=-1.0, high=1.0, dtype="float32"),
        "exponential": lambda: generator.exponential((2000,), dtype="float32"),
        "bernoulli": lambda: generator.bernoulli(0.3, (2000,)),
        "integers": lambda: generator.integers(0, 5, (2000,), dtype="int32"),
        "permutation": lambda: generator.permutation(2000),
        "choice": lambda: generator.choice(2000, (2000,)),
    }
    means = {"normal": 0.0, "uniform": 0.0, "exponential": 1.0, "bernoulli": 0.3, "integers": 2.0,
             "permutation": 999.5, "choice": 999.5}
    for name, draw in draws.items():
        compiled = pb.jit(draw)
        one, other = compiled().numpy(), compiled().numpy()
        assert (one != other).any(), name
        spread = one.std() or 1
        assert abs(one.mean() - means[name]) < 0.1 * spread, name
    with pytest.raises(pb.errors.GraphError, match="seed it outside"):
        pb.jit(lambda: generator.seed(0))()


NEEDS_A_VALUE: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(pb.sum(x)),
    "item": lambda x: pb.sum(x).item(),
    "if": lambda x: x if pb.sum(x) > 0 else -x,
    "while": lambda x: [1 for _ in iter(lambda: bool(pb.all(x)), False)],
    "mask": lambda x: x[x > 0],
    "nonzero": lambda x: pb.nonzero(x),
    "numpy": lambda x: x.numpy(),
    "asarray": lambda x: np.asarray(x),
    "tolist": lambda x: x.tolist(),
    "range": lambda x: range(int(pb.sum(x))),
}


def test_code_that_needs_a_value_is_an_error_at_its_line() -> None:
    """Inside pullback.jit; the message has the line, the value and what to write."""

    def refused(name: str) -> None:
        with pytest.raises(pb.errors.SymbolError) as caught:
            pb.jit(NEEDS_A_VALUE[name])(pb.tensor(V))
        text = str(caught.value)
        line = NEEDS_A_VALUE[name].__code__.co_firstlineno
        assert f"{__file__}:{line}" in text, text
        assert "[" in caught.value.got
        assert caught.value.fix

    each(list(NEEDS_A_VALUE), refused)


def test_numbers_of_tensors_in_plain_jax_jit() -> None:
    def refused(name: str) -> None:
        with pytest.raises(pb.errors.SymbolError, match=r"test_functions\.py"):
            jax.jit(lambda x: NEEDS_A_VALUE[name](pb.tensor(x)))(V)

    each(["float", "item", "mask", "numpy", "tolist"], refused)


def test_the_compiled_code_names_the_users_lines() -> None:
    compiled = pb.jit(curve)
    compiled(on_jax(V))
    (entry,) = [e for found in compiled._calls._entries.values() for e in found]
    text = entry.inner.lower(*entry.given.arrays(), *entry.blank(), entry.arguments.inputs).as_text(
        debug_info=True)
    assert "test_functions.py" in text
    assert "dispatch.py" not in text
