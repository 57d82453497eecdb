"""`pb.cond` and the loops: errors, edges, and what a compiler gets to see."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    NotDifferentiableError,
    ShapeError,
    SymbolError,
)
from tests.parts import need

X = np.random.default_rng(3).normal(size=(6, 3))


def everywhere(function: Any, *args: Any) -> list[Any]:
    """A function called on arrays, in a graph, and while JAX traces: runs without arguments."""
    def traced() -> Any:
        jax = need("jax")
        with jax.enable_x64(True):
            return jax.jit(lambda *a: function(*map(pb.Tensor, a)).data)(*args)

    given = [pb.tensor(a) for a in args]
    return [lambda: function(*given), lambda: pb.function(function)(*given), traced]


BAD = {
    "another structure": (
        lambda x: pb.scan(lambda c, r: ((c, c), r), x[0], x)[1], ArgumentError, "carry of `scan`"),
    "another dtype": (
        lambda x: pb.scan(lambda c, r: (c + r[0], r), pb.sum(x) > 0, x)[1], DtypeError,
        "carry 0 of `scan`"),
    "another shape": (
        lambda x: pb.scan(lambda c, r: (pb.concat([c, r]), r), x[0], x)[1], ShapeError,
        "carry 0 of `scan`"),
    "no pair": (lambda x: pb.scan(lambda c, r: c, x[0], x)[1], ArgumentTypeError, "a pair"),
    "no length": (lambda x: pb.scan(lambda c, r: (c, c), x)[1], ArgumentError, "length"),
    "two lengths": (lambda x: pb.scan(lambda c, r: (c, c), x[0], (x, x[1:]))[1], ShapeError,
                    "5 and 6"),
    "a length that is not theirs": (
        lambda x: pb.scan(lambda c, r: (c, c), x[0], x, 7)[1], ShapeError, "6 and 7"),
    "no axis": (lambda x: pb.map(lambda r: r, pb.sum(x)), ShapeError, "argument `xs` of map"),
    "no function": (lambda x: pb.scan(x, x[0], x)[1], ArgumentTypeError, "argument `f` of scan"),
    "a condition of another shape": (
        lambda x: pb.while_loop(lambda v: v < 1, lambda v: v, x), ShapeError, "one truth value"),
    "a pred of another shape": (
        lambda x: pb.cond(x > 0, lambda: x, lambda: x), ShapeError, "one value, of shape"),
    "no integer": (lambda x: pb.fori_loop(0, 2.5, lambda i, v: v, x), ArgumentTypeError,
                   "argument `upper` of fori_loop"),
    "no steps": (lambda x: pb.while_loop(lambda v: True, lambda v: v, x, max_steps=-1),
                 ArgumentTypeError, "max_steps"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_the_same_everywhere(name: str) -> None:
    function, error, text = BAD[name]
    for run in everywhere(function, X):
        with pytest.raises(error, match=re.escape(text)):
            run()


def test_branches_that_differ_are_an_error_where_both_are_traced() -> None:
    for other, error in ((lambda x: (x, x), ArgumentError), (lambda x: x > 0, DtypeError)):
        def choice(x: Any, other: Any = other) -> Any:
            return pb.cond(pb.sum(x) > 0, lambda x: x * 2, other, x)

        for run in everywhere(choice, X)[1:]:
            with pytest.raises(error, match="cond"):
                run()


def test_a_value_asked_for_in_a_body_is_an_error() -> None:
    def body(x: Any) -> Any:
        return pb.scan(lambda c, r: (c + r if r[0] > 0 else c, None), x[0], x)[0]

    for run in everywhere(body, X)[1:]:
        with pytest.raises(SymbolError):
            run()


def test_an_unknown_number_of_turns_has_no_reverse_mode_under_jax() -> None:
    jax = need("jax")

    def f(x: Any, **how: Any) -> Any:
        return pb.while_loop(lambda y: y < 50.0, lambda y: y * pb.sin(x) * 2, x, **how)

    value, slope = pb.value_and_grad(f)(2.0)
    with jax.enable_x64(True):
        for order in (lambda x: pb.grad(f)(x).data,
                      lambda x: pb.grad(lambda x: pb.jvp(f, (x,), (x,))[1])(x).data,
                      lambda x: pb.grad(lambda x: pb.fori_loop(
                          0, pb.astype(x, int), lambda i, y: y * x, x))(x).data):
            with pytest.raises(NotDifferentiableError, match="max_steps=, use scan, or use fori"):
                jax.jit(order)(2.0)
        forward = jax.jit(lambda x: [v.data for v in pb.jvp(f, (x,), (x / x,))])(2.0)
        np.testing.assert_allclose(forward, [value, slope], rtol=1e-12)
        twice = pb.jvp(lambda x: pb.jvp(f, (x,), (1.0,))[1], (2.0,), (1.0,))[1]
        found = jax.jit(lambda x: pb.jvp(lambda x: pb.jvp(f, (x,), (x / x,))[1], (x,),
                                         (x / x,))[1].data)(2.0)
        np.testing.assert_allclose(found, twice, rtol=1e-12)
        bounded = jax.jit(lambda x: pb.grad(lambda x: f(x, max_steps=30))(x).data)(2.0)
        np.testing.assert_allclose(bounded, slope, rtol=1e-12)
        stopped = jax.jit(lambda x: pb.grad(lambda x: pb.stop_gradient(f(x)) * x)(x).data)(2.0)
        np.testing.assert_allclose(stopped, value, rtol=1e-12)


def test_a_bound_that_is_traced() -> None:
    def total(x: Any, n: Any) -> Any:
        return pb.fori_loop(0, n, lambda i, c: c + pb.sin(x[i]) * x[i], pb.sum(x) * 0, max_steps=5)

    wanted = pb.grad(total)(X[:, 0], 4).numpy()
    assert (wanted[4:] == 0).all()
    for run in everywhere(lambda x, n: pb.grad(total)(x, n), X[:, 0], np.array(4))[1:]:
        np.testing.assert_allclose(np.asarray(run()), wanted, rtol=1e-12)


def test_numbers_take_on_the_precision_of_the_arrays() -> None:
    x = X.astype(np.float32)

    def f(x: Any) -> Any:
        c, ys = pb.scan(lambda c, r: (c + pb.sum(r), c), 0.0, x)
        return c + pb.sum(ys)

    for run in everywhere(f, x):
        assert np.asarray(run()).dtype == np.float32


def test_no_entries() -> None:
    def f(x: Any) -> Any:
        return pb.scan(lambda c, r: (c + r, c[:2] * r[:2]), x[0], x[:0])[1]

    for run in everywhere(f, X):
        assert np.asarray(run()).shape == (0, 2)
    carry, ys = pb.scan(lambda c, r: (c + 1, None), 1.0, X[:0])
    assert (float(carry), ys) == (1.0, None)


def test_overrides_reach_into_a_compiled_body() -> None:
    jax = need("jax")

    def f(x: Any) -> Any:
        with pb.override_gradient({"sign": lambda op, g: g * 3}):
            return pb.scan(lambda h, r: (h + pb.sign(r), None), pb.sum(x) * 0.0, x)[0]

    for run in (pb.grad(f), jax.jit(lambda x: pb.grad(f)(x).data)):
        np.testing.assert_allclose(np.asarray(run(X[0])), [3.0, 3.0, 3.0])


def test_what_a_compiler_sees_does_not_grow_with_the_number_of_turns() -> None:
    """One loop forward and one backward, and room for what is carried, as JAX has for its own."""
    jax = need("jax")
    from jax import numpy as jnp

    def own(w: Any, x: Any) -> Any:
        return pb.grad(lambda w: pb.sum(pb.scan(
            lambda h, r: (pb.tanh(h @ w + r), None), x[0] * 0, x)[0]))(w).data

    def jaxs(w: Any, x: Any) -> Any:
        return jax.grad(lambda w: jnp.sum(jax.lax.scan(
            lambda h, r: (jnp.tanh(h @ w + r), None), x[0] * 0, x)[0]))(w)

    def sizes(f: Any, turns: int) -> tuple[int, int, int]:
        w, x = jnp.ones((16, 16)), jnp.ones((turns, 32, 16))
        lowered = jax.jit(f).lower(w, x)
        text = lowered.as_text()
        memory = lowered.compile().memory_analysis().temp_size_in_bytes
        return text.count("stablehlo.while"), text.count("dot_general"), memory

    loops, products, memory = sizes(own, 200)
    assert (loops, products) == sizes(own, 7)[:2]
    assert loops == 2
    row = 32 * 16 * 4
    assert memory < 200 * row * 1.25  # the carry of each turn
    assert memory < 1.1 * sizes(jaxs, 200)[2]


def test_one_branch_of_a_compiled_choice_runs() -> None:
    jax = need("jax")
    def f(x: Any) -> Any:
        return pb.cond(pb.sum(x) > 0, lambda: pb.sin(x), lambda: x * 2)

    text = jax.jit(lambda x: pb.grad(lambda x: pb.sum(f(x)))(x).data).lower(X).as_text()
    assert text.count("stablehlo.case") + text.count("stablehlo.if") >= 1


def test_random_numbers_in_a_compiled_body_are_refused() -> None:
    jax = need("jax")

    def f(x: Any) -> Any:
        return pb.scan(lambda c, r: (pb.dropout(c + r, 0.5), None), x[0], x)[0]

    assert pb.function(f)(pb.tensor(X)).shape == (3,)
    with pytest.raises(SymbolError, match="random numbers inside"):
        jax.jit(lambda x: f(pb.Tensor(x)).data)(X)
