"""Gradients of graphs, registered and overridden; each test runs on TensorFlow too."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

NUMBERS = itertools.count()
"""A number for each registered name: names last as long as the process."""


@pytest.fixture
def register(tf: Any) -> Any:
    """Register a gradient under a name that no other test has."""
    def call(function: Any) -> str:
        name = f"Test{next(NUMBERS)}.{tf.__name__}"
        tf.RegisterGradient(name)(function)
        return name

    return call


def run(tf: Any, fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feed)


def test_gradients_in_several(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    v, unused = tf.Variable(2.0), tf.Variable(1.0)
    y = v * tf.reduce_sum(x * x)
    dx, dv, none = tf.gradients(y, [x, v, unused])
    (zero,) = tf.gradients(y, unused, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    (weighted,) = tf.gradients([y, x], [x], grad_ys=[10.0, [1.0, 2.0]])
    assert none is None
    assert dx.shape.as_list() == [None]
    got = run(tf, [dx, dv, zero, weighted], {x: [1.0, 2.0]})
    assert np.array_equal(got[0], [4.0, 8.0])
    assert got[1:3] == [5.0, 0.0]
    assert np.array_equal(got[3], [41.0, 82.0])


def test_gradients_in_computed_tensors(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    h = tf.exp(x)
    y = h * h + x
    (dh,) = tf.gradients(y, h)
    (through,) = tf.gradients(y, x, stop_gradients=[h])
    (own,) = tf.gradients(h, h)
    got = run(tf, [dh, through, own], {x: 0.0})
    assert got == [2.0, 1.0, 1.0]


def test_second_derivatives(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [3])
    y = tf.reduce_sum(x ** 3) * x[0]
    (g,) = tf.gradients(y, x)
    (gg,) = tf.gradients(g, x, grad_ys=tf.constant([1.0, -2.0, 0.5]))
    (h,) = tf.hessians(y, x)
    a = np.array([1.0, 2.0, 3.0], np.float32)
    got, whole = run(tf, [gg, h], {x: a})
    assert whole.shape == (3, 3)
    np.testing.assert_allclose(whole @ np.array([1.0, -2.0, 0.5]), got, rtol=1e-5)
    np.testing.assert_allclose(whole, [[12.0, 12.0, 27.0], [12.0, 12.0, 0.0], [27.0, 0.0, 18.0]])


def test_what_cannot_be_differentiated(tf: Any, ours: bool) -> None:
    x = tf.placeholder(tf.float32, [2])
    assert tf.gradients(tf.cast(tf.argmax(x), tf.float32), x) == [None]
    assert tf.gradients(tf.stop_gradient(x), x) == [None]
    if ours:  # TensorFlow makes a constant of it, and answers None
        with pytest.raises(TypeError, match="xs"):
            tf.gradients(x, [3.0])
    with pytest.raises((TypeError, ValueError)):
        tf.gradients([x], [x], grad_ys=[x, x])


def test_override_by_type(tf: Any, register: Any) -> None:
    seen: list[Any] = []

    def back(op: Any, g: Any) -> Any:
        seen.append(op)
        return g * tf.constant([3.0, 5.0]) * op.inputs[0]

    name = register(back)
    x = tf.placeholder(tf.float32, [2])
    with tf.get_default_graph().gradient_override_map({"Sign": name}):
        y = tf.sign(x)
        z = tf.exp(x)
    w = tf.sign(x)
    total = tf.reduce_sum(y) + tf.reduce_sum(w) + tf.reduce_sum(z)
    (dx,) = tf.gradients(total, x)
    assert seen == [y.op]
    assert seen[0].type == "Sign"
    assert seen[0].inputs[0] is x
    got = run(tf, dx, {x: [2.0, -1.0]})
    np.testing.assert_allclose(got, [6.0 + np.exp(2.0), -5.0 + np.exp(-1.0)], rtol=1e-6)


def test_override_of_several_types_and_nesting(tf: Any, register: Any) -> None:
    twice, thrice = register(lambda op, g: 2.0 * g), register(lambda op, g: 3.0 * g)
    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [])
    with graph.gradient_override_map({"Exp": twice, "Identity": twice}):
        a = tf.exp(x)
        with graph.gradient_override_map({"Identity": thrice}):
            b = tf.identity(x)
        c = tf.identity(x)
    grads = [tf.gradients(t, x)[0] for t in (a, b, c)]
    assert run(tf, grads, {x: 1.0}) == [2.0, 3.0, 2.0]


def test_override_of_two_arguments(tf: Any, register: Any) -> None:
    name = register(lambda op, g: [g * op.inputs[1] * 10.0, None])
    x, y = (tf.placeholder(tf.float32, []) for _ in range(2))
    with tf.get_default_graph().gradient_override_map({"Mul": name}):
        z = x * y
    dx, dy = tf.gradients(z, [x, y])
    assert dy is None
    assert run(tf, dx, {x: 2.0, y: 3.0}) == 30.0


def test_override_differentiates_itself(tf: Any, register: Any) -> None:
    name = register(lambda op, g: g * op.inputs[0] ** 2)
    x = tf.placeholder(tf.float32, [])
    with tf.get_default_graph().gradient_override_map({"Identity": name}):
        y = tf.identity(x)
    (g,) = tf.gradients(y, x)
    (gg,) = tf.gradients(g, x)
    assert run(tf, [g, gg], {x: 3.0}) == [9.0, 6.0]


def test_an_unknown_gradient_is_met_when_it_is_built(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.get_default_graph().gradient_override_map({"Identity": "NobodyRegistered"}):
        y = tf.identity(x, name="here")
    with pytest.raises(LookupError, match="here"):
        tf.gradients(y, x)


def test_names_are_taken_once(tf: Any, register: Any) -> None:
    name = register(lambda op, g: g)
    with pytest.raises(KeyError):
        tf.RegisterGradient(name)(lambda op, g: g)
    with pytest.raises(KeyError):
        tf.RegisterGradient("Relu")(lambda op, g: g)
    with pytest.raises(KeyError):
        tf.NotDifferentiable("Relu")


def test_not_differentiable(tf: Any) -> None:
    name = f"Flat.{tf.__name__}.{id(tf.get_default_graph())}"
    tf.NotDifferentiable(name)
    x = tf.placeholder(tf.float32, [])
    with tf.get_default_graph().gradient_override_map({"Exp": name}):
        y = tf.exp(x)
    assert tf.gradients(y, x) == [None]
    (dx,) = tf.gradients(y + x, x)
    assert run(tf, dx, {x: 2.0}) == 1.0


def test_a_wrong_number_of_gradients(tf: Any, register: Any) -> None:
    name = register(lambda op, g: [g])
    x = tf.placeholder(tf.float32, [])
    with tf.get_default_graph().gradient_override_map({"Mul": name}):
        y = x * (x + 1.0)
    with pytest.raises(ValueError, match=r"\d"):
        tf.gradients(y, x)


def test_custom_gradients(tf: Any) -> None:
    @tf.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = tf.exp(x)

        def grad(dy: Any) -> Any:
            return dy * (1.0 - 1.0 / (1.0 + e))

        return tf.log(1.0 + e), grad

    x = tf.placeholder(tf.float32, [None])
    y = log1pexp(x)
    (dx,) = tf.gradients(tf.reduce_sum(y), x)
    with np.errstate(over="ignore"):
        got = run(tf, [y, dx], {x: [0.0, 100.0]})
    np.testing.assert_allclose(got[1], [0.5, 1.0])
    assert np.isinf(got[0][1])


def test_stop_gradient_forward_of_one_and_backward_of_another(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [3])
    y = x + tf.stop_gradient(tf.round(x) - x)
    (dx,) = tf.gradients(tf.reduce_sum(y * y), x)
    got = run(tf, [y, dx], {x: [0.2, 0.7, 1.6]})
    np.testing.assert_allclose(got[0], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(got[1], [0.0, 2.0, 4.0])


def test_gradients_through_reads_of_variables(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    before = tf.reduce_sum(v * v)
    with tf.control_dependencies([v.assign([5.0, 6.0])]):
        after = tf.reduce_sum(v.read_value() ** 2)
    (g,) = tf.gradients(before, v)
    (h,) = tf.gradients(after, v)
    (part,) = tf.gradients(before, v.value()) if tf.__name__.startswith("pullback") else (g,)
    assert np.array_equal(run(tf, g), [2.0, 4.0])
    assert np.array_equal(run(tf, h), [10.0, 12.0])
    assert np.array_equal(run(tf, part), [2.0, 4.0])


def test_checked_against_differences(tf: Any) -> None:
    x = tf.placeholder(tf.float64, [2, 3])
    y = tf.reduce_sum(tf.tanh(x) * x, axis=1)
    start = np.random.default_rng(0).normal(size=(2, 3))
    with tf.Session():
        error = tf.test.compute_gradient_error(x, [2, 3], y, [2], x_init_value=start)
        exact, near = tf.test.compute_gradient(x, [2, 3], y, [2], x_init_value=start)
    assert 0 < error < 1e-5
    assert exact.shape == near.shape == (6, 2)


def test_random_numbers(tf: Any) -> None:
    tf.set_random_seed(5)
    x, u = tf.random_normal([1000], 2.0, 3.0), tf.random_uniform([1000], -1.0, 1.0, seed=3)
    n = tf.random_uniform([1000], 2, 5, dtype=tf.int32)
    t = tf.truncated_normal([1000])
    scale = tf.placeholder(tf.float32, [])
    (ds,) = tf.gradients(tf.reduce_sum(tf.random_normal([4], stddev=scale, seed=1)), scale)
    y = x + x
    with tf.Session() as sess:
        first, second = sess.run([x, u, n, t]), sess.run([x, u, n, t])
        a, b = sess.run([x, y])
        assert sess.run(ds, {scale: 2.0}) != 0.0
    with tf.Session() as sess:
        again = sess.run([x, u, n, t])
    for one, two, three in zip(first, second, again, strict=True):
        assert not np.array_equal(one, two)
        assert np.array_equal(one, three)
    np.testing.assert_allclose(b, 2 * a)  # drawn once a run
    assert abs(first[0].mean() - 2.0) < 0.5
    assert abs(first[0].std() - 3.0) < 0.3
    assert first[1].min() < -0.9
    assert first[1].max() > 0.9
    assert set(first[2]) == {2, 3, 4}
    assert np.abs(first[3]).max() <= 2.0


def test_dropout_is_drawn_each_run(tf: Any) -> None:
    x = tf.ones([1000])
    y = tf.nn.dropout(x, keep_prob=0.8)
    z = tf.nn.dropout(x, rate=0.25, seed=1)
    (dz,) = tf.gradients(z, x)
    with tf.Session() as sess:
        a, b = sess.run(y), sess.run(y)
        value, slope = sess.run([z, dz])
    assert set(np.unique(a)) == {np.float32(0.0), np.float32(1.25)}
    assert not np.array_equal(a, b)
    assert 0.7 < (a > 0).mean() < 0.9
    np.testing.assert_allclose(value, slope)


def test_a_custom_gradient_is_told_of_the_variables_it_reads(tf: Any) -> None:
    w = tf.get_variable("w", [3], initializer=tf.constant_initializer([2.0, 3.0, 5.0]),
                        use_resource=True)
    idle = tf.get_variable("idle", [3], trainable=False, use_resource=True)
    told = []

    def layer(grad: Any) -> Any:
        @tf.custom_gradient
        def call(x: Any) -> Any:
            return x * w + tf.stop_gradient(idle) * 0.0, grad(x)

        return call

    def knows(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            told.append(variables)
            return dy * w, [dy * x * 10.0]

        return grad

    x = tf.placeholder(tf.float32, [3])
    y = layer(knows)(x) * x
    answers = run(tf, [*tf.gradients(y, [x, w])], {x: [1.0, -1.0, 2.0]})
    (only,) = told[0]
    assert only is w
    np.testing.assert_allclose(answers[0], [4.0, -6.0, 20.0])
    np.testing.assert_allclose(answers[1], [10.0, 10.0, 40.0])
    with pytest.raises(TypeError, match="variables"):
        layer(lambda x: lambda dy: dy * w)(x)


@pytest.mark.parametrize(("type_name", "function"), [
    ("Sign", "sign"), ("Round", "round"), ("Floor", "floor"), ("Ceil", "ceil"),
    ("Relu6", "nn.relu6"),
])
def test_the_gradient_of_identity_in_the_place_of_another(
    tf: Any, type_name: str, function: str
) -> None:
    """What straight-through estimators, binary networks and quantisers of TensorFlow 1 do."""
    call = tf.nn.relu6 if function == "nn.relu6" else getattr(tf, function)
    x = tf.placeholder(tf.float32, [4])
    with tf.get_default_graph().gradient_override_map({type_name: "Identity"}):
        y = call(x * 2.0)
    plain = call(x)
    dx, dplain = tf.gradients(y * [1.0, 2.0, 3.0, 4.0], x)[0], tf.gradients(plain, x)[0]
    point = {x: [-1.3, 0.2, 7.5, 0.8]}
    np.testing.assert_allclose(run(tf, dx, point), [2.0, 4.0, 6.0, 8.0])
    if dplain is not None:
        assert not np.allclose(run(tf, dplain, point), 1.0)


def test_a_python_function_with_a_gradient_by_both_of_its_types(tf: Any, register: Any) -> None:
    def call(function: Any, x: Any, stateful: bool) -> Any:
        name = register(lambda op, g: g * op.inputs[0] * 10.0)
        types = {"PyFunc": name, "PyFuncStateless": name}
        with tf.get_default_graph().gradient_override_map(types):
            return tf.py_func(function, [x], tf.float32, stateful=stateful)

    x = tf.placeholder(tf.float32, [2])
    for stateful in (True, False):
        y = call(lambda a: np.floor(a), x, stateful)
        got = run(tf, [y, tf.gradients(y, x)[0]], {x: [1.5, -0.5]})
        np.testing.assert_allclose(got, [[1.0, -1.0], [15.0, -5.0]])


def test_average_gradients_asks_for_slices(tf: Any) -> None:
    v = tf.get_variable("v", [4], use_resource=True)
    (g,) = tf.gradients(v * v, v)
    assert not isinstance(g, tf.IndexedSlices)


def test_the_path_that_programs_of_tensorflow_2_have_for_it() -> None:
    import pullback.tf as tf2
    import pullback.tf.compat.v1 as compat
    import pullback.tf.v1 as v1

    assert compat is v1
    assert tf2.compat.v1 is v1
    assert tf2.v1 is v1
    with pytest.raises(AttributeError, match="no attribute 'v2'"):
        _ = tf2.compat.v2
