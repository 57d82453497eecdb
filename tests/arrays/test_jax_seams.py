"""Where JAX's engine and this library meet: right, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays import tracing
from pullback.errors import InplaceError, NotDifferentiableError, SymbolError
from tests.loops import each

pytestmark = pytest.mark.needs("jax")
jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.array([0.3, 1.7, -2.2], "float32")


def is_tracer(tensor: Any) -> bool:
    return isinstance(tensor.data, jax.core.Tracer)


def test_tracing_is_what_jit_does() -> None:
    seen = []

    def note(x: Any) -> Any:
        seen.append(tracing())
        return (x * x).sum()

    x = jnp.asarray(X)
    assert not tracing()
    for run in (note, jax.grad(note), jax.vmap(note), lambda x: jax.jvp(note, (x,), (x,))):
        run(x)
    assert seen == [False] * 4
    for run in (note, jax.grad(note), jax.vmap(note)):
        jax.jit(run)(x)
    assert seen[4:] == [True] * 3
    assert not tracing()


# State ---------------------------------------------------------------------------------------


def gradient_of(p: Any, x: Any) -> Any:
    with pb.GradientTape() as tape:
        tape.watch(p)
        y = pb.sum((p - pb.tensor(x)) ** 2)
    return tape.gradient(y, p)


def variable(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    v = pb.Variable(x)
    return v, v.assign


def added(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    v = pb.Variable(x)
    ones = jnp.ones(3)
    return v, lambda x: v.assign_add(ones)  # in every call, not only when it is traced


def in_place(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    t = pb.tensor(x)

    def write(x: Any) -> None:
        nonlocal t
        t += pb.tensor(x)

    return t, write


def entry(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    t = pb.tensor(x)
    return t, lambda x: t.__setitem__(0, pb.tensor(x)[0])


def of_a_view(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    t = pb.tensor(x)
    view = t[1:]
    return t, lambda x: view.__setitem__(0, pb.tensor(x)[0])


def grad(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    p = pb.tensor(x, requires_grad=True)
    return p, lambda x: pb.sum(p * pb.tensor(x)).backward()


def set_grad(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    p = pb.tensor(x, requires_grad=True)

    def put(x: Any) -> None:
        p.grad = pb.tensor(x)

    return p, put


def optimizer(kind: Any, variable: bool) -> Callable[[Any], tuple[Any, Callable[[Any], Any]]]:
    def made(x: Any) -> tuple[Any, Callable[[Any], Any]]:
        p = pb.Variable(x) if variable else pb.tensor(x, requires_grad=True)
        own = kind([p], lr=0.1)

        def step(x: Any) -> None:
            own.step([gradient_of(p, x)])

        made.optimizer = own  # type: ignore[attr-defined]
        return p, step

    return made


def running_statistics(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    layer = pb.nn.BatchNorm(3).to(like=x)
    return layer.running_mean, lambda x: layer(pb.tensor(jnp.stack([x, x + 1])))


WRITERS = [
    variable, added, in_place, entry, of_a_view, grad, set_grad, running_statistics,
    *[optimizer(kind, is_variable) for kind in (pb.optim.SGD, pb.optim.Adam, pb.optim.RMSprop)
      for is_variable in (False, True)],
]


def test_state_takes_no_tracer_under_jit() -> None:
    def law(writer: Any) -> None:
        x = jnp.asarray(X)
        state, write = writer(x)
        before = state.numpy().copy()

        def step(x: Any) -> Any:
            write(x)
            return x

        for run in (jax.jit(step), jax.jit(jax.vmap(step, in_axes=None, axis_size=2))):
            with pytest.raises(InplaceError, match=r"pass the array into the compiled function"):
                run(x)
            assert not is_tracer(state)
            assert state.grad is None
            np.testing.assert_array_equal(state.numpy(), before)
            assert not getattr(getattr(writer, "optimizer", None), "state", None)
        write(x)  # outside of jit it goes on

    each(WRITERS, law)


def test_a_variable_takes_no_tracer_of_jax_grad() -> None:
    v = pb.Variable(jnp.asarray(X))
    with pytest.raises(InplaceError, match=r"assignment to"):
        jax.grad(lambda x: v.assign(x).value().data.sum())(jnp.asarray(X))
    assert v.numpy().tolist() == X.tolist()


def test_what_is_made_in_the_trace_may_be_written_there() -> None:
    def run(x: Any) -> Any:
        t, v = pb.tensor(x) * 1, pb.Variable(x)
        t[0] = 5.0
        t += pb.tensor(x)
        v.assign_add(t)
        p = pb.tensor(x, requires_grad=True)
        pb.sum(p * p * t).backward()
        optimizer = pb.optim.Adam([p], lr=0.1)
        optimizer.step()
        return t.data, v.data, p.data

    for got, wanted in zip(jax.jit(run)(jnp.asarray(X)), run(X.copy()), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
    buffer = jax.grad(lambda x: local(x).data)(jnp.asarray(X))
    np.testing.assert_allclose(buffer, [2 * X[0], 0, 0], rtol=1e-6)


def local(x: Any) -> Any:
    t = pb.tensor(jnp.zeros(3))
    t[1] = pb.tensor(x)[0]
    return pb.sum(t * t)


# Random numbers ------------------------------------------------------------------------------


def test_the_hosts_random_numbers_are_not_drawn_while_jax_traces() -> None:
    generator = pb.random.Generator(0)
    draws: list[Callable[[Any], Any]] = [
        lambda x: pb.random.normal((3,)), lambda x: generator.uniform((3,)),
        lambda x: pb.random.integers(3), lambda x: pb.random.permutation(pb.tensor(x)),
        lambda x: pb.dropout(pb.tensor(x), 0.5), lambda x: pb.random.choice(3),
        lambda x: pb.random.bernoulli(0.5), lambda x: pb.nn.Linear(3, 2)(pb.tensor(x)),
        lambda x: pb.grad(pb.checkpoint(lambda x: pb.sum(pb.dropout(x, 0.5))))(pb.tensor(x)),
    ]

    def law(draw: Callable[[Any], Any]) -> None:
        before = generator.get_state()
        with pytest.raises(SymbolError, match=r"jax\.random and a key"):
            jax.jit(lambda x: (draw(x), x)[1])(jnp.asarray(X))
        assert generator.get_state() == before

    each(draws, law)
    one, two = (jax.grad(lambda x: pb.dropout(pb.tensor(x), 0.5).data.sum())(jnp.ones(64))
                for _ in range(2))
    assert one.tolist() != two.tolist()


# Overrides -----------------------------------------------------------------------------------


def test_an_override_around_a_compiled_function_is_followed() -> None:
    traces = []

    @jax.jit
    def slope(x: Any) -> Any:
        traces.append(x)
        return pb.grad(lambda x: pb.sum(pb.round(x)))(pb.tensor(x)).data

    def tenfold(op: Any, g: Any) -> Any:
        return g * 10

    x = jnp.asarray(X)
    assert slope(x).tolist() == [0, 0, 0]
    for _ in range(2):
        with pb.override_gradient({"round": tenfold}):
            assert slope(x).tolist() == [10] * 3
            with pb.override_gradient({"round": lambda op, g: g}):
                assert slope(x).tolist() == [1] * 3
            assert slope(x).tolist() == [10] * 3
        assert slope(x).tolist() == [0, 0, 0]
    with pytest.raises(ZeroDivisionError), pb.override_gradient({"round": tenfold}):
        _ = 1 / 0
    assert slope(x).tolist() == [0, 0, 0]
    count = len(traces)
    with pb.override_gradient({"round": tenfold}):
        slope(x)
    assert len(traces) == count  # compiled once for the same rules


# Checkpoints ---------------------------------------------------------------------------------


def test_xla_does_not_undo_a_checkpoint() -> None:
    def run(x: Any, around: Any = pb.checkpoint) -> Any:
        f = around(lambda x: pb.sum(pb.sin(pb.exp(x))))
        value, slope = pb.value_and_grad(f)(pb.tensor(x))
        return value.data, slope.data

    x = jnp.asarray(X)
    compiled = jax.jit(run).lower(x)
    assert "optimization_barrier" in compiled.as_text()
    plain = jax.jit(lambda x: run(x, lambda f: f)).lower(x)
    counts = [lowered.compile().as_text().count(" exponential(") for lowered in (compiled, plain)]
    assert counts == [2, 1]
    for transform in (jax.jit, lambda f: jax.jit(jax.vmap(f)), lambda f: f):
        rows = jnp.stack([x, x]) if transform is not jax.jit else x
        wanted = transform(lambda x: run(x, lambda f: f))(rows)
        for got, value in zip(transform(run)(rows), wanted, strict=True):
            np.testing.assert_allclose(got, value, rtol=1e-6)


# Rules ---------------------------------------------------------------------------------------


@pb.custom_gradient
def tripled(x: Any) -> Any:
    return x * 1, lambda g: g * 3


class Tripled(pb.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


by_vjp = pb.custom_vjp(lambda x: x * 1)
by_vjp.defvjp(lambda x: (x * 1, None), lambda _, g: (g * 3,))
by_jvp = pb.custom_jvp(lambda x: x * 1)
by_jvp.defjvp(lambda primals, tangents: (primals[0] * 1, tangents[0] * 3))
RULES: list[Callable[[Any], Any]] = [
    tripled, Tripled.apply, by_vjp, by_jvp,
    lambda x: pb.scale_gradient(x, 3.0), lambda x: pb.clip_gradient(x, 0.1),
]


def test_jax_does_not_differentiate_a_hand_written_rule() -> None:
    x = jnp.asarray(X)

    def law(rule: Callable[[Any], Any]) -> None:
        def f(x: Any) -> Any:
            return pb.sum(rule(pb.tensor(x))).data

        def inner(x: Any) -> Any:
            return pb.grad(lambda z: pb.sum(rule(z) ** 2))(pb.tensor(x)).data

        rows = jnp.stack([x, x])
        derivatives: list[Callable[[], Any]] = [
            lambda: jax.grad(f)(x), lambda: jax.jvp(f, (x,), (x,)), lambda: jax.vjp(f, x),
            lambda: jax.jit(jax.grad(f))(x), lambda: jax.vmap(jax.grad(f))(rows),
            lambda: jax.grad(lambda rows: jax.vmap(f)(rows).sum())(rows),
            lambda: jax.grad(lambda x: inner(x).sum())(x),
        ]
        for derive in derivatives:
            with pytest.raises(NotDifferentiableError, match=r"use pullback\.grad"):
                derive()
        for run in (f, jax.jit(f), jax.jit(inner), jax.vmap(inner)):
            run(rows)

    each(RULES, law)
    outer = jax.jit(lambda x: pb.grad(lambda x: pb.sum(tripled(x)))(pb.tensor(x)).data)
    assert outer(x).tolist() == [3] * 3


def test_jax_stops_where_gradients_are_stopped() -> None:
    x = jnp.asarray(X)
    for stop in (pb.stop_gradient, lambda t: t.detach()):
        got = jax.grad(lambda x, stop=stop: pb.sum(pb.tensor(x) * stop(pb.tensor(x))).data)(x)
        np.testing.assert_allclose(got, X)
    rounded = pb.straight_through(pb.round)
    assert jax.grad(lambda x: pb.sum(rounded(pb.tensor(x)) * 2).data)(x).tolist() == [2] * 3
