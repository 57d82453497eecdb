"""custom_gradient: structures, variables, keywords, orders, errors."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state


def both_ways(f, *values):
    """The gradients of sum(f) by a tape and by backward, which must agree."""
    rng = np.random.default_rng(3)
    tensors = [pb.tensor(v) for v in values]
    with pb.GradientTape() as tape:
        tape.watch(tensors)
        y = f(*tensors)
    weights = pb.tensor(rng.normal(size=y.shape))
    taped = tape.gradient(y, tensors, output_gradients=weights)
    leaves = [pb.tensor(v, requires_grad=True) for v in values]
    f(*leaves).backward(weights)
    for g, leaf in zip(taped, leaves, strict=True):
        if g is None:
            assert leaf.grad is None
        else:
            np.testing.assert_array_equal(g.numpy(), leaf.grad.numpy())
    return weights.numpy(), [None if g is None else g.numpy() for g in taped]


def test_one_gradient_for_each_argument_and_none():
    @pb.custom_gradient
    def f(x, y, z):
        return x * y + z, lambda g: (g * 10, None, g * 30)

    w, (gx, gy, gz) = both_ways(f, np.ones(3), np.ones(3), np.ones(3))
    np.testing.assert_allclose(gx, 10 * w)
    assert gy is None
    np.testing.assert_allclose(gz, 30 * w)


def test_nested_inputs_and_outputs():
    @pb.custom_gradient
    def f(pair, scale):
        a, b = pair["a"], pair["b"]

        def grad(g_sum, g_product):
            return {"a": g_sum * 2, "b": g_product * 3}, None

        return {"sum": a + b, "product": a * b}, grad

    a, b = pb.tensor(2.0, requires_grad=True), pb.tensor(5.0, requires_grad=True)
    out = f({"a": a, "b": b}, 7.0)
    # keys of a dictionary come in sorted order: product before sum
    (out["product"] * 10 + out["sum"]).backward()
    assert float(a.grad) == 20.0
    assert float(b.grad) == 3.0


def test_an_unused_output_has_a_zero_cotangent():
    seen = []

    @pb.custom_gradient
    def f(x):
        def grad(g1, g2):
            seen.append((g1.numpy().copy(), g2.numpy().copy()))
            return g1 + g2

        return (x * 2, pb.reshape(x, (3, 1))), grad

    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    pb.sum(f(x)[0]).backward()
    np.testing.assert_array_equal(seen[0][0], np.ones(3))
    assert seen[0][1].shape == (3, 1)
    assert not seen[0][1].any()


def test_second_order_through_what_the_gradient_reads():
    @pb.custom_gradient
    def log1pexp(x):
        e = pb.exp(x)  # made inside: its dependence on x counts in the second derivative
        return pb.log(1 + e), lambda g: g * (1 - 1 / (1 + e))

    x = pb.tensor([-1.0, 0.5], requires_grad=True)
    (first,) = pb.autograd.grad(pb.sum(log1pexp(x)), x, create_graph=True)
    (second,) = pb.autograd.grad(pb.sum(first), x, create_graph=True)
    (third,) = pb.autograd.grad(pb.sum(second), x)
    s = 1 / (1 + np.exp(-x.numpy()))
    np.testing.assert_allclose(first.numpy(), s)
    np.testing.assert_allclose(second.numpy(), s * (1 - s))
    np.testing.assert_allclose(third.numpy(), s * (1 - s) * (1 - 2 * s), rtol=1e-12)


def test_a_second_derivative_of_ones_own():
    @pb.custom_gradient
    def f(x):
        def grad(g):
            @pb.custom_gradient
            def slope(x):
                return 3 * x * x, lambda gg: gg * 1000.0

            return g * slope(x)

        return x * x * x, grad

    x = pb.tensor(2.0, requires_grad=True)
    (first,) = pb.autograd.grad(f(x), x, create_graph=True)
    assert float(first) == 12.0
    assert float(pb.autograd.grad(first, x)[0]) == 1000.0


def test_methods_and_keywords():
    class Layer:
        def __init__(self, factor):
            self.factor = factor

        @pb.custom_gradient
        def call(self, x, y, *, shift=0.0):
            return x * y + shift, lambda g: (g * self.factor, g * 2)

    layer = Layer(5.0)
    x, y = pb.tensor(1.0, requires_grad=True), pb.tensor(1.0, requires_grad=True)
    layer.call(y=y, x=x, shift=1.0).backward()
    assert float(x.grad) == 5.0
    assert float(y.grad) == 2.0
    with pytest.raises(ValueError, match="keyword argument `shift`"):
        layer.call(x, y, shift=x)


def test_variables_that_are_read_get_gradients():
    w = pb.Variable([2.0, 3.0])
    u = pb.Variable(1.0, trainable=False)

    @pb.custom_gradient
    def f(x):
        def grad(g, variables=None):
            assert [v is w for v in variables] == [True]
            return g * w, [g * x * 100]

        return x * w * u, grad

    x = pb.tensor([1.0, 4.0])
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    gx, gw = tape.gradient(y, [x, w])
    assert gx.tolist() == [2.0, 3.0]
    assert gw.tolist() == [100.0, 400.0]


def test_variables_need_a_parameter_and_an_answer_each():
    w = pb.Variable(2.0)
    x = pb.tensor(3.0)

    @pb.custom_gradient
    def no_parameter(x):
        return x * w, lambda g: g * w

    with pb.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(TypeError, match="variables"):
            no_parameter(x)

    @pb.custom_gradient
    def no_answer(x):
        return x * w, lambda g, variables=None: (g, [])

    with pb.GradientTape() as tape:
        tape.watch(x)
        y = no_answer(x)
    with pytest.raises(ValueError, match="1 gradients for `variables`"):
        tape.gradient(y, x)


def test_a_variable_that_is_an_argument_is_no_variable_read():
    w = pb.Variable(2.0)

    @pb.custom_gradient
    def f(v):
        return v * v, lambda g: g * 7.0

    with pb.GradientTape() as tape:
        y = f(w)
    assert float(tape.gradient(y, w)) == 7.0


@pytest.mark.parametrize(
    ("gradients", "error", "words"),
    [
        (lambda g: g, ValueError, "2 gradients"),
        (lambda g: (g, g, g), ValueError, "2 gradients"),
        (lambda g: (g, "text"), TypeError, "gradient 1"),
        (lambda g: (g, 0), TypeError, "zeros_like"),
        (lambda g: (g, pb.tensor(np.ones(5))), ValueError, r"shape \(3,\)"),
    ],
)
def test_wrong_answers_are_refused(gradients, error, words):
    @pb.custom_gradient
    def f(x, y):
        return x * y, gradients

    x = pb.tensor(np.ones(3), requires_grad=True)
    y = pb.tensor(np.ones(3), requires_grad=True)
    before = state()
    with pytest.raises(error, match=words) as caught:
        f(x, y).backward(pb.tensor(np.arange(3.0)))
    assert "`f`" in str(caught.value)
    assert state() == before


@pytest.mark.parametrize("result", [1.0, (1.0, 2.0), (1.0,)])
def test_a_function_must_return_a_pair(result):
    f = pb.custom_gradient(lambda x: result)
    with pytest.raises(TypeError, match="return y, grad"):
        f(pb.tensor(1.0, requires_grad=True))


def test_gradients_are_cast_and_summed_into_the_argument():
    @pb.custom_gradient
    def f(x):
        return x * 1, lambda g: pb.tensor(np.full((2, 3), 0.5))

    x = pb.tensor(np.ones(3, np.float32), requires_grad=True)
    f(x).backward(pb.tensor(np.ones(3, np.float32)))
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_complex_cotangents_come_in_the_adjoint_convention():
    @pb.custom_gradient
    def f(z):
        return z * (2 + 3j), lambda g: g * (2 - 3j)

    z = pb.tensor(np.array([1.0 - 1.0j]), requires_grad=True)
    pb.sum(pb.real(f(z))).backward()
    plain = pb.tensor(np.array([1.0 - 1.0j]), requires_grad=True)
    pb.sum(pb.real(plain * (2 + 3j))).backward()
    np.testing.assert_allclose(z.grad.numpy(), plain.grad.numpy())


def test_recording_is_as_before_after_an_exception_in_the_forward_or_the_gradient():
    @pb.custom_gradient
    def f(x):
        def grad(g):
            raise KeyboardInterrupt

        return x * 1, grad

    x = pb.tensor(1.0, requires_grad=True)
    before = state()
    with pytest.raises(KeyboardInterrupt):
        f(x).backward()
    assert state() == before
    with pytest.raises(ZeroDivisionError), pb.GradientTape():
        pb.custom_gradient(lambda x: 1 / 0)(x)
    assert state() == before


def test_a_gradient_function_may_open_a_tape_of_its_own():
    @pb.custom_gradient
    def recompute(x):
        def grad(g):
            with pb.GradientTape() as tape:
                tape.watch(x)
                y = pb.exp(x)
            return tape.gradient(y, x, output_gradients=g)

        return pb.exp(pb.stop_gradient(x)), grad

    w, (g,) = both_ways(recompute, np.array([0.1, 0.7]))
    np.testing.assert_allclose(g, w * np.exp([0.1, 0.7]))


def test_what_the_gradient_holds_is_freed_with_the_output():
    gc.disable()
    try:
        @pb.custom_gradient
        def f(x):
            held = pb.exp(x)
            alive.append(weakref.ref(held.data))
            return held * 2, lambda g: g * held

        alive: list = []
        x = pb.tensor(np.ones(10), requires_grad=True)
        y = f(x)
        assert alive[0]() is not None
        del y
        assert alive[0]() is None
        y = pb.sum(f(x))
        y.backward()
        assert alive[1]() is None, "backward keeps what the gradient function held"
    finally:
        gc.enable()
