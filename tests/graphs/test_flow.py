"""`pb.cond`, `scan`, `while_loop`, `fori_loop`, `map`: one meaning in all places.

Each program runs on arrays, in a graph, on JAX's arrays, and on JAX's tracers; its value and its
derivatives are compared with those on NumPy's arrays, and these with JAX's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from tests.parts import need
from tests.tier import chosen, share

W = np.random.default_rng(0).normal(size=(3, 3)) * 0.5
X = np.random.default_rng(1).normal(size=(5, 3))
V = np.random.default_rng(2).normal(size=(3, 3))


def cond_of_value(w: Any, x: Any) -> Any:
    return pb.cond(pb.sum(w) > pb.sum(x), lambda a: pb.sum(pb.sin(a) * w),
                   lambda a: a[0, 0] ** 2, w)


def cond_other(w: Any, x: Any) -> Any:
    return pb.cond(pb.sum(w) <= pb.sum(x), lambda: pb.sum(w * w), lambda: pb.sum(w[0] * x[0]) ** 2)


def scan_rnn(w: Any, x: Any) -> Any:
    def turn(h: Any, row: Any) -> Any:
        h = pb.tanh(h @ w + row)
        return h, pb.sum(h * h)

    h, ys = pb.scan(turn, x[0] * 0.0, x)
    return pb.sum(h) + pb.mean(ys * ys)


def scan_reversed_tree(w: Any, x: Any) -> Any:
    def turn(carry: Any, row: Any) -> Any:
        total, (count, none) = carry["total"], carry["rest"]
        total = total * 0.5 + pb.sin(row["x"] @ w)
        return {"total": total, "rest": (count + 1, none)}, (total, None)

    carry, (ys, none) = pb.scan(
        turn, {"total": x[0] * 1.0, "rest": (0, None)}, {"x": x}, reverse=True, unroll=2
    )
    assert none is None
    return pb.sum(carry["total"] ** 2) + pb.sum(ys[0] * carry["rest"][0])


def scan_by_length(w: Any, x: Any) -> Any:
    out, ys = pb.scan(lambda c, _: (pb.sin(c @ w), c[0]), x[0], length=4)
    return pb.sum(out) + pb.sum(ys**2)


def scan_number(w: Any, x: Any) -> Any:
    return pb.scan(lambda c, row: (c * 0.5 + pb.sum(row @ w) ** 2, None), 0.0, x)[0]


def bounded_while(w: Any, x: Any) -> Any:
    start = pb.sum(w * w) + 1.0
    end, _ = pb.while_loop(
        lambda s: s[0] < 50.0, lambda s: (s[0] * 1.7 + pb.sin(s[0] * w[0, 0]), s[1] + 1),
        (start, 0), max_steps=20,
    )
    return end * end


def while_cut_off(w: Any, x: Any) -> Any:
    return pb.while_loop(lambda s: s < 1e9, lambda s: s * s * 0.5 + w[0, 0], pb.sum(w * w),
                         max_steps=3)


def fori(w: Any, x: Any) -> Any:
    return pb.sum(pb.fori_loop(1, 4, lambda i, v: pb.sin(v @ w) * i, x[0]) ** 2)


def mapped(w: Any, x: Any) -> Any:
    def one(row: Any) -> Any:
        return pb.cond(row[0] > 0, lambda: row @ w, lambda: row * w[0])

    return pb.sum(pb.map(one, x) ** 3)


def nested(w: Any, x: Any) -> Any:
    def turn(c: Any, row: Any) -> Any:
        c = pb.fori_loop(0, 2, lambda i, v: pb.tanh(v @ w + row), c)
        return c, pb.cond(c[0] > 0, lambda: pb.sum(c * w[0]), lambda: pb.sum(c**2))

    c, ys = pb.scan(turn, x[0], x)
    return pb.sum(c) + pb.sum(ys * ys)


ste = pb.straight_through(pb.sign, lambda v: pb.clip(v, -1, 1))


@pb.custom_vjp
def doubled(v: Any) -> Any:
    return v * 1.0


doubled.defvjp(lambda v: (v * 1.0, v), lambda v, g: (2 * g * pb.cos(v),))


def by_hand(w: Any, x: Any) -> Any:
    """Hand-written gradients in a body."""
    def turn(c: Any, row: Any) -> Any:
        c = ste(c @ w) * row + doubled(c)
        return c, pb.sum(c)

    c, ys = pb.scan(turn, x[0], x)
    return pb.sum(c**2) + pb.sum(ys)


def inner_gradient(w: Any, x: Any) -> Any:
    """Gradient descent in a loop: the body differentiates."""
    def turn(v: Any, row: Any) -> Any:
        return v - 0.1 * pb.grad(lambda v: pb.sum((row @ v) ** 2))(v), None

    return pb.sum(pb.scan(turn, w, x)[0] ** 2)


PROGRAMS = [
    cond_of_value, cond_other, scan_rnn, scan_reversed_tree, scan_by_length, scan_number,
    bounded_while, while_cut_off, fori, mapped, nested, by_hand, inner_gradient,
]
FIRST_ONLY = {by_hand}  # the gradient of a gradient by hand is that of another function



def numbers(value: Any) -> Any:
    return np.asarray(value.numpy() if isinstance(value, pb.Tensor) else value)


def derivatives(program: Any, once: bool = False) -> dict[str, Callable[..., Any]]:
    """Functions of (w, x, v): the value, and derivatives of both modes and orders."""
    def second(w: Any, x: Any, v: Any) -> Any:
        return pb.grad(lambda w: pb.sum(pb.grad(program)(w, x) * v))(w)

    def forward(w: Any, x: Any, v: Any) -> Any:
        return pb.jvp(lambda w: program(w, x), (w,), (v,))[1]

    def forward_over_reverse(w: Any, x: Any, v: Any) -> Any:
        return pb.jvp(lambda w: pb.grad(program)(w, x), (w,), (v,))[1]

    def examples(w: Any, x: Any, v: Any) -> Any:
        return pb.vmap(pb.grad(program), in_axes=(0, None))(pb.stack([w, w * 0.5 + v, -w]), x)

    def examples_of_x(w: Any, x: Any, v: Any) -> Any:
        return pb.vmap(pb.grad(program), in_axes=(None, 0))(w, pb.stack([x, x * 0.5, -x]))

    found = {
        "value": lambda w, x, v: program(w, x),
        "of w": lambda w, x, v: pb.grad(program)(w, x),
        "of x": lambda w, x, v: pb.grad(program, 1)(w, x),
        "vmap": examples, "vmap of x": examples_of_x,
    }
    if not once and program not in FIRST_ONLY:
        found |= {"second": second, "jvp": forward, "jvp of grad": forward_over_reverse}
    return found


def on_arrays(function: Any) -> Any:
    return numbers(function(pb.tensor(W), pb.tensor(X), pb.tensor(V)))


def in_graph(function: Any) -> Any:
    return numbers(pb.function(function)(pb.tensor(W), pb.tensor(X), pb.tensor(V)))


def around_graph(program: Any, kind: str) -> Any:
    """The derivative of a call of a graph."""
    return on_arrays(derivatives(pb.function(program), program in FIRST_ONLY)[kind])


def compiled(function: Any) -> Any:
    jax = need("jax")
    with jax.enable_x64(True):
        run = jax.jit(lambda *args: function(*map(pb.Tensor, args)).data)
        return np.asarray(run(W, X, V))


CASES = [(p, kind) for p in PROGRAMS for kind in derivatives(p)]


def named(case: Any) -> str:
    return f"{case[0].__name__}, {case[1]}"


@pytest.mark.parametrize("case", chosen(CASES, lambda case: case[0]), ids=named)
def test_one_meaning_in_graphs(case: Any) -> None:
    function = derivatives(case[0])[case[1]]
    wanted = on_arrays(function)
    np.testing.assert_allclose(in_graph(function), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", chosen(CASES, lambda case: case[0]), ids=named)
def test_one_meaning_around_graphs(case: Any) -> None:
    wanted = on_arrays(derivatives(case[0])[case[1]])
    np.testing.assert_allclose(around_graph(*case), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.needs("jax")
@pytest.mark.parametrize("case", chosen(CASES, lambda case: case[0]), ids=named)
def test_one_meaning_under_jax(case: Any) -> None:
    function = derivatives(case[0])[case[1]]
    np.testing.assert_allclose(compiled(function), on_arrays(function), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_arrays_of_other_libraries(library: str) -> None:
    need(library)
    like = pb.asarray(np.ones(1, np.float32), like=_some(library))
    w, x = (pb.asarray(a.astype(np.float32), like=like) for a in (W, X))
    for program in share(PROGRAMS, 6):
        found = pb.grad(program)(w, x)
        assert type(found.data) is type(w.data)
        np.testing.assert_allclose(np.asarray(found.data), numbers(pb.grad(program)(W, X)),
                                   rtol=2e-3, atol=2e-4)


def _some(library: str) -> Any:
    if library == "torch":
        import torch

        return torch.ones(1)
    import jax.numpy as jnp

    return jnp.ones(1)
