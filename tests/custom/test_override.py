"""Overrides: by name and by rule, in a scope and after the fact."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.core.state import state


@pb.register_gradient("Test.Window")
def window(op, g):
    x = op.inputs[0]
    return pb.where(pb.abs(x) <= 1, g, pb.zeros_like(g))


def straight(op, g):
    return g


def guided(op, g):
    (x,) = op.inputs
    return pb.where((x > 0) & (g > 0), g, pb.zeros_like(g))


WEIGHTS = np.array([1.0, -2.0, 3.0, -4.0])


def leaf():
    return pb.tensor([-2.0, -0.5, 0.5, 2.0], requires_grad=True)


def test_in_a_scope_by_name():
    x = leaf()
    with pb.override_gradient({"sign": "Test.Window"}):
        y = pb.sign(x)
    plain = pb.sign(x)
    pb.sum(y * pb.tensor(WEIGHTS)).backward()
    assert x.grad.tolist() == [0.0, -2.0, 3.0, 0.0]
    x.grad = None
    pb.sum(plain * pb.tensor(WEIGHTS)).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("key", ["sign", pb.sign], ids=["name", "function"])
def test_after_the_fact(key):
    x = leaf()
    y = pb.sum(pb.sign(x) * pb.tensor(WEIGHTS))
    y.backward(overrides={key: "Test.Window"}, retain_graph=True)
    assert x.grad.tolist() == [0.0, -2.0, 3.0, 0.0]
    (g,) = pb.autograd.grad(y, x, overrides={key: straight}, retain_graph=True)
    assert g.tolist() == WEIGHTS.tolist()
    (g,) = pb.autograd.grad(y, x)
    assert not g.numpy().any()


def test_after_the_fact_with_a_tape():
    x = pb.tensor(leaf().numpy())
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = pb.round(x) * pb.tensor(WEIGHTS)
    assert tape.gradient(y, x, overrides={"round": straight}).tolist() == WEIGHTS.tolist()
    assert not tape.gradient(y, x).numpy().any()


def test_after_the_fact_in_a_jacobian():
    x = pb.tensor([[0.3, 2.0], [-0.6, 0.1]])
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = pb.sign(x) * 3
    full = tape.jacobian(y, x, overrides={"sign": straight}).numpy()
    np.testing.assert_array_equal(full.reshape(4, 4), 3 * np.eye(4))
    batch = tape.batch_jacobian(y, x, overrides={"sign": straight}).numpy()
    np.testing.assert_array_equal(batch, np.stack([3 * np.eye(2)] * 2))


def network(x, w1, b1, w2):
    return pb.sum(pb.relu(pb.relu(x @ w1 + b1) @ w2))


@pytest.mark.parametrize("kind", ["variables", "constants"])
def test_guided_backpropagation_on_a_finished_model(kind):
    """ReLU saves its output only: its input is found with others, or computed again."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in ((5, 4), (4,), (4, 3))]
    params = [pb.Variable(a) if kind == "variables" else pb.tensor(a) for a in arrays]
    x = pb.tensor(rng.normal(size=(2, 5)))
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = network(x, *params)
    got = tape.gradient(y, x, overrides={"relu": guided}).numpy()
    w1, b1, w2 = arrays
    h = x.numpy() @ w1 + b1
    z = np.maximum(h, 0) @ w2
    gz = np.where(z > 0, 1.0, 0.0)
    gh = gz @ w2.T
    gh = np.where((h > 0) & (gh > 0), gh, 0)
    np.testing.assert_allclose(got, gh @ w1.T)
    with pb.override_gradient({"relu": guided}), pb.GradientTape() as inside:
        inside.watch(x)
        y = network(x, *params)
    np.testing.assert_allclose(inside.gradient(y, x).numpy(), got)


def test_a_value_that_nobody_kept_is_an_error_that_says_how_to_keep_it():
    def product(op, g):
        return g * op.inputs[1], None

    x = pb.tensor([1.0, 2.0])

    def computed(**how):
        with pb.GradientTape(persistent=True, **how) as tape:
            tape.watch(x)
            y = x + pb.tensor([3.0, 4.0])  # the constant dies with this line
        return tape.gradient(y, x, overrides={"add": product})

    with pytest.raises(RuntimeError, match="keep_values=True"):
        computed()
    assert computed(keep_values=True).tolist() == [3.0, 4.0]


def test_outputs_attributes_and_names():
    seen = {}

    def rule(op, g):
        seen.update(type=op.type, name=op.name, axis=op.get_attr("axis"), out=op.outputs[0])
        with pytest.raises(LookupError, match="axes"):
            op.get_attr("axes")
        return pb.broadcast_to(g, op.inputs[0].shape) * 2

    x = pb.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    with pb.override_gradient({"sum": rule}):
        y = pb.sum(x, axis=0)
    y.backward(pb.tensor([1.0, 2.0, 3.0]))
    assert seen["type"] == "sum"
    assert seen["name"].startswith("sum_")
    assert seen["axis"] == 0
    assert seen["out"].tolist() == [3.0, 5.0, 7.0]
    assert x.grad.tolist() == [[2.0, 4.0, 6.0], [2.0, 4.0, 6.0]]


def test_every_operation_can_be_overridden_with_two_inputs():
    def swapped(op, g):
        a, b = op.inputs
        return g * a, g * b

    a = pb.tensor(2.0, requires_grad=True)
    b = pb.tensor(5.0, requires_grad=True)
    with pb.override_gradient({"multiply": swapped}):
        y = a * b
    y.backward()
    assert (float(a.grad), float(b.grad)) == (2.0, 5.0)
    a.grad = b.grad = None
    (a * b).backward(overrides={"multiply": swapped})
    assert (float(a.grad), float(b.grad)) == (2.0, 5.0)


def test_second_order_through_an_override():
    def square_slope(op, g):
        return g * op.inputs[0] ** 2

    x = pb.tensor([0.5, 3.0], requires_grad=True)
    for how in ("scope", "later"):
        if how == "scope":
            with pb.override_gradient({"sign": square_slope}):
                y = pb.sum(pb.sign(x))
            (g,) = pb.autograd.grad(y, x, create_graph=True)
        else:
            y = pb.sum(pb.sign(x))
            (g,) = pb.autograd.grad(y, x, create_graph=True, overrides={"sign": square_slope})
        np.testing.assert_allclose(g.numpy(), x.numpy() ** 2)
        (gg,) = pb.autograd.grad(pb.sum(g), x)
        np.testing.assert_allclose(gg.numpy(), 2 * x.numpy())


def test_custom_gradients_and_functions_can_be_overridden():
    @pb.custom_gradient
    def f(x):
        return x * 1, lambda g: g * 10

    class F(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 10

    for key, call in ((f, f), (F, F.apply)):
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        with pb.override_gradient({key: lambda op, g: g * op.inputs[0]}):
            y = call(x)
        pb.sum(y).backward(retain_graph=True)
        assert x.grad.tolist() == [1.0, 2.0]
        x.grad = None
        pb.sum(call(x)).backward(overrides={key: lambda op, g: g * 3})
        assert x.grad.tolist() == [3.0, 3.0]


def test_scopes_nest_and_the_innermost_wins():
    x = leaf()
    with pb.override_gradient({"sign": lambda op, g: g * 2, "round": straight}):
        with pb.override_gradient({"sign": lambda op, g: g * 3}):
            inner = pb.sign(x) + pb.round(x)
        outer = pb.sign(x) + pb.round(x)
    pb.sum(inner).backward()
    assert x.grad.tolist() == [4.0] * 4
    x.grad = None
    pb.sum(outer).backward()
    assert x.grad.tolist() == [3.0] * 4


def test_an_override_after_the_fact_wins_over_the_scope():
    x = leaf()
    with pb.override_gradient({"sign": lambda op, g: g * 2}):
        y = pb.sum(pb.sign(x))
    y.backward(overrides={"sign": lambda op, g: g * 5})
    assert x.grad.tolist() == [5.0] * 4


def test_as_a_decorator():
    @pb.override_gradient({"sign": straight})
    def binarise(x):
        return pb.sign(x)

    for _ in range(2):
        x = leaf()
        pb.sum(binarise(x)).backward()
        assert x.grad.tolist() == [1.0] * 4


def test_names_that_nobody_knows():
    with pytest.raises(LookupError, match="did you mean 'sign'"):
        pb.override_gradient({"Sign": straight})
    with pytest.raises(LookupError, match=r"did you mean 'Test\.Window'"):
        pb.override_gradient({"sign": "Test.Windw"})
    with pytest.raises(KeyError, match="registered already"):
        pb.register_gradient("Test.Window")(straight)
    with pytest.raises(TypeError, match="rule"):
        pb.override_gradient({"sign": 3})
    x = leaf()
    with pytest.raises(LookupError, match="sign"):
        pb.sum(pb.sign(x)).backward(overrides={"sigm": straight})


def test_an_override_that_meets_nothing_is_loud():
    x = leaf()
    y = pb.sum(pb.exp(x))
    with pytest.raises(LookupError, match=r"the operations there: exp, sum"):
        y.backward(overrides={"sign": straight})
    with (
        pytest.warns(errors.OverrideWarning, match=r"`sign`; recorded were `exp`"),
        pb.override_gradient({"sign": straight}),
    ):
        pb.exp(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pb.override_gradient({"sign": straight}):
            pb.exp(pb.tensor(1.0))  # nothing was recorded: nothing was lost


def test_wrong_answers_name_the_rule_and_the_operation():
    x = leaf()
    with pytest.raises(ValueError, match="1 gradients") as caught:
        pb.sum(pb.sign(x)).backward(overrides={"sign": lambda op, g: (g, g)})
    assert "sign" in str(caught.value)
    with pytest.raises(TypeError, match="zeros_like"):
        pb.sum(pb.sign(x)).backward(overrides={"sign": lambda op, g: 0})


def test_state_is_restored_and_threads_are_apart():
    before = state()
    with pytest.raises(ZeroDivisionError), pb.override_gradient({"sign": straight}):
        1 / 0  # noqa: B018
    assert state() == before
    seen = []

    def other():
        x = leaf()
        pb.sum(pb.sign(x)).backward()
        seen.append(x.grad.numpy().any())

    with pb.override_gradient({"sign": straight}):
        pb.sign(leaf())
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [False]


def test_what_a_step_saves_is_freed():
    gc.disable()
    try:
        x = leaf()
        h = x * 1
        array = weakref.ref(h.data)
        y = pb.sign(h)
        del h
        assert array() is not None, "a step keeps its input for overrides"
        del y
        assert array() is None
    finally:
        gc.enable()


def test_ready_made_gradients():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    weights = pb.tensor([0.1, 7.0])
    cases = [
        (lambda x: pb.reverse_gradient(x), [-0.1, -7.0]),
        (lambda x: pb.reverse_gradient(x, 2.0), [-0.2, -14.0]),
        (lambda x: pb.scale_gradient(x, 3.0), [0.3, 21.0]),
        (lambda x: pb.clip_gradient(x, 0.5), [0.1, 0.5]),
        (lambda x: pb.clip_gradient(x, -1.0, 0.05), [0.05, 0.05]),
        (lambda x: pb.clip_gradient(x, norm=1.0), (np.array([0.1, 7.0]) / np.hypot(0.1, 7.0))),
        (lambda x: pb.stop_gradient(x) + x, [0.1, 7.0]),
        (pb.straight_through(pb.round), [0.1, 7.0]),
        (pb.straight_through(pb.sign, lambda v: v * v), [0.2, 28.0]),
    ]
    for f, expected in cases:
        x.grad = None
        pb.sum(f(x) * weights).backward()
        np.testing.assert_allclose(x.grad.numpy(), expected)
        value = f(x)
        assert value.shape == x.shape
    assert pb.straight_through(pb.sign)(x).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="clip_gradient"):
        pb.clip_gradient(x)
