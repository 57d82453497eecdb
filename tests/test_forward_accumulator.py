"""ForwardAccumulator: tangents beside values; with tapes, with each other, without a graph."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import pullback as pb
from pullback.core.node import Node
from pullback.core.state import state


def arrays(rng, *shape, count=3):
    return [rng.normal(size=shape) for _ in range(count)]


def test_the_tangent_of_a_result_is_the_jacobian_times_that_of_the_primal(rng):
    a, b, ta = arrays(rng, 3, 3)
    x, y = pb.tensor(a), pb.tensor(b)
    with pb.ForwardAccumulator(x, ta) as acc:
        z = pb.tanh(x @ y) * 2.0
    np.testing.assert_allclose(acc.jvp(z).numpy(), 2 * (1 - np.tanh(a @ b) ** 2) * (ta @ b))
    np.testing.assert_array_equal(acc.jvp(x).numpy(), ta)
    assert acc.jvp(y) is None
    np.testing.assert_array_equal(acc.jvp(y, "zero").numpy(), np.zeros((3, 3)))


def test_primals_are_tensors_and_variables_in_any_nesting(rng):
    a, b, c = arrays(rng, 4)
    x, v = pb.tensor(a), pb.Variable(b)
    with pb.ForwardAccumulator({"x": x, "rest": [v]}, {"x": c, "rest": [pb.tensor(2 * c)]}) as acc:
        y = pb.sum(x * v)
    found = acc.jvp((y, {"v": v}))
    np.testing.assert_allclose(float(found[0]), c @ b + 2 * a @ c)
    np.testing.assert_array_equal(found[1]["v"].numpy(), 2 * c)


def test_only_the_block_is_followed():
    x = pb.tensor([1.0, 2.0])
    early = x * x
    acc = pb.ForwardAccumulator(x, pb.tensor([1.0, 1.0]))
    before = x * x
    with acc:
        inside = x * x
        assert acc.jvp(inside).tolist() == [2.0, 4.0]
    after = inside * x
    assert acc.jvp([early, before, after]) == [None, None, None]
    assert acc.jvp(inside).tolist() == [2.0, 4.0]
    with acc:  # again, but not twice at once
        again = inside * x
        with pytest.raises(ValueError, match="not recording"), acc:
            raise AssertionError("entered")
    assert acc.jvp(again).tolist() == [3.0, 12.0]
    assert state().accumulators == ()


def test_an_exception_leaves_forward_mode():
    acc = pb.ForwardAccumulator(pb.tensor(1.0), 1.0)
    with pytest.raises(KeyError), acc:
        raise KeyError
    assert state().accumulators == ()


def test_what_is_asked_is_not_the_memory_of_what_was_given():
    x, t = pb.tensor([1.0, 2.0]), np.array([1.0, 1.0])
    with pb.ForwardAccumulator(x, t) as acc:
        y = x + 1.0
    found = acc.jvp(y)
    found += 5.0
    assert t.tolist() == [1.0, 1.0]
    assert acc.jvp(y).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("order", ["watch first", "watch last", "watch inside"])
def test_forward_over_reverse_is_a_hessian_times_a_vector(rng, order):
    a, t, _ = arrays(rng, 4)
    x = pb.tensor(a)
    tape = pb.GradientTape()
    if order == "watch first":
        tape.watch(x)
    acc = pb.ForwardAccumulator(x, t)
    if order == "watch last":
        tape.watch(x)
    with acc:
        with tape:
            tape.watch(x)
            y = pb.sum(pb.sin(x) * x)
        g = tape.gradient(y, x)
    np.testing.assert_allclose(acc.jvp(y).numpy(), t @ (np.sin(a) + a * np.cos(a)))
    np.testing.assert_allclose(acc.jvp(g).numpy(), t * (2 * np.cos(a) - a * np.sin(a)))
    assert g.node is None or not g.node.parents  # tangents were wanted, and no history


def test_reverse_over_forward_is_the_same(rng):
    a, t, _ = arrays(rng, 4)
    x, tangent = pb.tensor(a), pb.tensor(t)
    with pb.GradientTape(persistent=True) as tape:
        tape.watch([x, tangent])
        with pb.ForwardAccumulator(x, tangent) as acc:
            y = pb.sum(pb.sin(x) * x)
        j = acc.jvp(y)
    np.testing.assert_allclose(tape.gradient(j, x).numpy(), t * (2 * np.cos(a) - a * np.sin(a)))
    np.testing.assert_allclose(tape.gradient(j, tangent).numpy(), np.sin(a) + a * np.cos(a))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.sin(a) + a * np.cos(a))


def test_forward_over_forward_keeps_perturbations_apart(rng):
    a, t, s = arrays(rng, 4)
    x = pb.tensor(a)
    with pb.ForwardAccumulator(x, t) as outer:
        with pb.ForwardAccumulator(x, s) as inner:
            y = x * x * x
            first = inner.jvp(y)
        second = outer.jvp(first)
        assert inner.jvp(outer.jvp(y)) is None  # the outer one's is no business of the inner
    np.testing.assert_allclose(first.numpy(), 3 * a * a * s)
    np.testing.assert_allclose(outer.jvp(y).numpy(), 3 * a * a * t)
    np.testing.assert_allclose(second.numpy(), 6 * a * s * t)


def test_third_order_in_mixed_directions(rng):
    a, t, _ = arrays(rng, 3)
    x = pb.tensor(a)
    with pb.ForwardAccumulator(x, t) as acc:
        with pb.GradientTape() as outer:
            outer.watch(x)
            with pb.GradientTape() as inner:
                inner.watch(x)
                y = pb.sum(pb.exp(x) * x)
            g = inner.gradient(y, x)
        h = outer.gradient(g, x)
    np.testing.assert_allclose(acc.jvp(g).numpy(), np.exp(a) * (a + 2) * t)
    np.testing.assert_allclose(acc.jvp(h).numpy(), np.exp(a) * (a + 3) * t)


def test_backward_and_grad_inside_have_tangents(rng):
    a, t, _ = arrays(rng, 4)
    x = pb.tensor(a)
    with pb.ForwardAccumulator(x, t) as acc:
        x.requires_grad_()
        pb.sum(x * x * x).backward()
        (g,) = pb.autograd.grad(pb.sum(pb.exp(x)), x)
    np.testing.assert_allclose(x.grad.numpy(), 3 * a * a)
    np.testing.assert_allclose(acc.jvp(x.grad).numpy(), 6 * a * t)
    np.testing.assert_allclose(acc.jvp(g).numpy(), np.exp(a) * t)
    assert not g.requires_grad


def test_a_primal_that_requires_a_gradient_keeps_its_history(rng):
    a, t, _ = arrays(rng, 4)
    leaf = pb.tensor(a, requires_grad=True)
    x = pb.sin(leaf)
    with pb.ForwardAccumulator(x, t) as acc:
        y = pb.sum(x * x)
    j = acc.jvp(y)
    np.testing.assert_allclose(float(j), 2 * np.sin(a) @ t)
    (g,) = pb.autograd.grad(j, leaf)
    np.testing.assert_allclose(g.numpy(), 2 * t * np.cos(a))


def test_a_result_may_be_watched_and_differentiated(rng):
    a, t, _ = arrays(rng, 4)
    x = pb.tensor(a)
    with pb.ForwardAccumulator(x, t) as acc:
        y = x * x
        with pb.GradientTape() as tape:
            tape.watch(y)
            z = pb.sum(y * y)
        g = tape.gradient(z, y)
    np.testing.assert_allclose(acc.jvp(g).numpy(), 4 * a * t)
    np.testing.assert_allclose(acc.jvp(y).numpy(), 2 * a * t)


def test_writes_in_place_are_followed():
    x = pb.tensor([1.0, 2.0, 3.0])
    with pb.ForwardAccumulator(x, pb.tensor([1.0, 10.0, 100.0])) as acc:
        y = x * x
        y[1:] *= 3.0
        y += x
        z = y * 1.0
        y[0] = 5.0
    assert acc.jvp(y).tolist() == [0.0, 130.0, 1900.0]
    assert acc.jvp(z).tolist() == [3.0, 130.0, 1900.0]


def test_no_grad_does_not_end_forward_mode_and_detach_does():
    x = pb.tensor([1.0, 2.0])
    with pb.ForwardAccumulator(x, pb.tensor([1.0, 1.0])) as acc, pb.no_grad():
        y, z = x * x, x.detach() * x
    assert acc.jvp(y).tolist() == [2.0, 4.0]
    assert acc.jvp(z).tolist() == [1.0, 2.0]


def test_a_custom_gradient_is_transposed():
    @pb.custom_gradient
    def half(x):
        return x * x, lambda g: g * x  # half of the true gradient, to be told from it

    x = pb.tensor([1.0, 2.0])
    with pb.ForwardAccumulator(x, pb.tensor([1.0, 10.0])) as acc:
        y = half(x)
    assert acc.jvp(y).tolist() == [1.0, 20.0]


def test_a_jacobian_has_a_tangent_and_a_mapped_function_too(rng):
    a, t, _ = arrays(rng, 3)
    x = pb.tensor(a)
    with pb.ForwardAccumulator(x, t) as acc:
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
        j = tape.jacobian(y, x)
        m = pb.vmap(pb.exp)(x)
    np.testing.assert_allclose(acc.jvp(j).numpy(), np.diag(6 * a * t))
    np.testing.assert_allclose(acc.jvp(m).numpy(), np.exp(a) * t)


@pytest.mark.full
def test_a_long_loop_keeps_no_graph():
    """Without the garbage collector: nothing waits for it either."""
    x, t = pb.tensor(np.linspace(0.0, 1.0, 100)), np.ones(100)
    steps = 20_000
    enabled = gc.isenabled()
    gc.disable()
    try:
        with pb.ForwardAccumulator(x, t) as acc:
            y = pb.sin(x) * 0.5
            tracemalloc.start()
            for _ in range(steps):
                y = pb.sin(y) + x
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        if enabled:
            gc.enable()
    assert peak < 1e6, "each step holds 800 bytes"
    slope = 1.0 / (1.0 - np.cos(y.numpy()[1:]))  # of the fixed point y = sin(y) + x
    np.testing.assert_allclose(acc.jvp(y).numpy()[1:], slope)


def test_a_training_loop_inside_frees_its_tangents():
    v = pb.Variable(np.ones(1000))
    gc.disable()
    try:
        with pb.ForwardAccumulator(v, np.ones(1000)) as acc:
            for _ in range(50):
                pb.sum(v * v)
            tangents = acc._sweep.tangents
            assert sum(issubclass(type(o), Node) and o in tangents for o in gc.get_objects()) < 5
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("primals", "tangents", "family", "word"),
    [
        (lambda x: [x, x], lambda x: [x, x], ValueError, "twice"),
        (lambda x: [x], lambda x: [x, x], ValueError, "structure"),
        (lambda x: 1.0, lambda x: 1.0, TypeError, "tensor"),
        (lambda x: x, lambda x: pb.ones(3), ValueError, "shape"),
        (lambda x: x, lambda x: pb.ones(2, dtype=pb.complex128), TypeError, "real"),
        (lambda x: pb.tensor([1, 2]), lambda x: x, TypeError, "floating"),
    ],
)
def test_misuse(primals, tangents, family, word):
    x = pb.tensor([1.0, 2.0])
    with pytest.raises(family, match=word):
        pb.ForwardAccumulator(primals(x), tangents(x))


def test_targets_are_tensors():
    acc = pb.ForwardAccumulator(pb.tensor(1.0), 1.0)
    with pytest.raises(TypeError, match="Tensor"):
        acc.jvp(2.0)
    with pytest.raises(ValueError, match="'none' or 'zero'"):
        acc.jvp(pb.tensor(1.0), "zeros")
