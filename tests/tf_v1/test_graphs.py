"""Graphs, names, scopes and what tensors say; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def test_types_and_names_of_operations(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    a = tf.constant([1.0, 2.0, 3.0], name="a")
    w = tf.constant(np.ones((3, 2), np.float32))
    named = {
        "x:0": ("Placeholder", x), "a:0": ("Const", a), "Const:0": ("Const", w),
        "add:0": ("AddV2", x + a), "sub:0": ("Sub", x - a), "mul:0": ("Mul", x * a),
        "truediv:0": ("RealDiv", x / a), "Neg:0": ("Neg", -x), "pow:0": ("Pow", x ** a),
        "MatMul:0": ("MatMul", tf.matmul(x, w)), "Sign:0": ("Sign", tf.sign(x)),
        "Identity:0": ("Identity", tf.identity(x)), "Sum:0": ("Sum", tf.reduce_sum(x)),
        "Mean:0": ("Mean", tf.reduce_mean(x, axis=0)), "Max:0": ("Max", tf.reduce_max(x)),
        "Relu:0": ("Relu", tf.nn.relu(x)), "Softmax:0": ("Softmax", tf.nn.softmax(x)),
        "Cast:0": ("Cast", tf.cast(x, tf.int32)), "Square:0": ("Square", tf.square(x)),
        "Add_1:0": ("AddV2", tf.add(x, a)), "Mul_1:0": ("Mul", tf.multiply(x, a)),
        "Shape:0": ("Shape", tf.shape(x)), "StopGradient:0": ("StopGradient", tf.stop_gradient(x)),
        "ArgMax:0": ("ArgMax", tf.argmax(x, 1)), "Reshape:0": ("Reshape", tf.reshape(x, [-1])),
        "transpose:0": ("Transpose", tf.transpose(x, [1, 0])),
        "concat:0": ("ConcatV2", tf.concat([x, x], 0)), "stack:0": ("Pack", tf.stack([x, x])),
        "Greater:0": ("Greater", x > a), "ExpandDims:0": ("ExpandDims", tf.expand_dims(x, 0)),
        "strided_slice:0": ("StridedSlice", x[0]), "Tanh:0": ("Tanh", tf.tanh(x)),
        "LogicalNot:0": ("LogicalNot", tf.logical_not(x > 1.0)), "Exp:0": ("Exp", tf.exp(x)),
        "Maximum:0": ("Maximum", tf.maximum(x, a)), "GatherV2:0": ("GatherV2", tf.gather(a, [0])),
    }
    for name, (kind, tensor) in named.items():
        assert (tensor.name, tensor.op.type) == (name, kind)
        assert tensor.op.name == name[:-2]
        assert tensor.op.outputs[0] is tensor
        assert tf.get_default_graph().get_tensor_by_name(name) is tensor
        assert tf.get_default_graph().get_operation_by_name(name[:-2]) is tensor.op


def test_inputs_are_the_tensors_themselves(tf: Any) -> None:
    x, v = tf.placeholder(tf.float32, []), tf.Variable(2.0)
    y = tf.multiply(x, x)
    z = tf.identity(v)
    assert y.op.inputs[0] is x
    assert y.op.inputs[1] is x
    assert x.op.type == "Placeholder"
    assert z.op.inputs[0].op.type == "ReadVariableOp"
    assert set(x.consumers()) == {y.op}
    assert x.graph is tf.get_default_graph()


def test_names_that_are_given(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    assert tf.add(x, 1.0, name="total").name == "total:0"
    assert tf.add(x, 1.0, "total").name == "total_1:0"
    assert tf.reduce_mean(x, name="loss").name == "loss:0"
    labels = tf.zeros([2])
    made = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x, name="entropy")
    assert made.name == "entropy:0"
    assert tf.zeros([1], name="z").name == "z:0"
    assert tf.reduce_sum(x, 0, False, "s").name == "s:0"
    assert tf.random_normal([1], name="noise").name == "noise:0"
    assert tf.clip_by_value(x, 0.0, 1.0, name="clip").name == "clip:0"


def test_name_scopes(tf: Any) -> None:
    with tf.name_scope("outer") as scope:
        assert scope == "outer/"
        a = tf.constant(1.0, name="a")
        with tf.name_scope("inner"):
            b = tf.add(a, a, name="b")
        with tf.name_scope(None):
            c = tf.constant(1.0, name="c")
    with tf.name_scope("outer"):
        d = tf.constant(1.0, name="a")
    with tf.name_scope("outer/"):
        e = tf.constant(1.0, name="a")
    with tf.name_scope(None, "default", [a]):
        f = tf.constant(1.0, name="f")
    assert [t.name for t in (a, b, c, d, e, f)] == [
        "outer/a:0", "outer/inner/b:0", "c:0", "outer_1/a:0", "outer/a_1:0", "default/f:0",
    ]


def test_shapes(tf: Any, older: bool) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    u = tf.placeholder(tf.float32)
    entries = "[Dimension(None), Dimension(3)]" if older else "[None, 3]"
    assert repr(x.shape) == f"TensorShape({entries})"
    assert str(x.shape) == ("(?, 3)" if older else "(None, 3)")
    assert repr(list(x.shape)) == entries
    assert repr(u.shape) == "TensorShape(None)"
    assert str(u.get_shape()) == "<unknown>"
    assert x.get_shape().as_list() == [None, 3]
    assert (x.shape[0].value if older else x.shape[0]) is None
    assert x.shape.ndims == 2
    assert u.shape.ndims is None
    assert not x.shape.is_fully_defined()
    assert x.shape == [None, 3]
    assert (x + 1.0).shape.as_list() == [None, 3]
    assert tf.matmul(x, tf.zeros([3, 5])).shape.as_list() == [None, 5]
    assert tf.reduce_sum(x, 0).shape.as_list() == [3]
    assert tf.transpose(x).shape.as_list() == [3, None]
    assert tf.reshape(x, [-1, 1]).shape.as_list() == [None, 1]
    assert tf.nn.softmax(x).shape.as_list() == [None, 3]
    assert x[0].shape.as_list() == [3]
    assert tf.concat([x, x], 1).shape.as_list() == [None, 6]
    assert tf.expand_dims(x, 0).shape.as_list() == [1, None, 3]
    u.set_shape([2, None])
    assert u.shape.as_list() == [2, None]
    u.set_shape([None, 4])
    assert u.shape.as_list() == [2, 4]
    with pytest.raises(ValueError, match="3"):
        u.set_shape([2, 3])
    with pytest.raises(ValueError, match=r"(?i)unknown|known"):
        tf.placeholder(tf.float32).shape.as_list()


def test_shapes_of_layers_are_static(tf: Any) -> None:
    """Whatever users see as entries of shapes, the library computes with lengths."""
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    w = tf.get_variable("w", [2, 2, x.shape[3], 5])
    y = tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME")
    pooled = tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(pooled, [-1, pooled.shape[1] * pooled.shape[2] * pooled.shape[3]])
    assert [t.shape.as_list() for t in (w, y, pooled, flat)] == [
        [2, 2, 3, 5], [None, 4, 4, 5], [None, 2, 2, 5], [None, 20],
    ]
    assert tf.split(flat, flat.shape[1], 1)[7].shape.as_list() == [None, 1]
    assert tf.tile(x, [1, x.shape[1], 1, 1]).shape.as_list() == [None, 64, 8, 3]
    assert tf.zeros(x.shape[1:]).shape.as_list() == [8, 8, 3]
    assert (flat * tf.cast(flat.shape[1], tf.float32)).shape.as_list() == [None, 20]
    assert tf.placeholder(tf.float32, x.shape).shape.as_list() == [None, 8, 8, 3]


def test_convolutions_have_their_type_and_its_gradient_is_overridden(tf: Any, older: bool) -> None:
    name = f"Graphs.Conv.{tf.__name__}{older}"

    @tf.RegisterGradient(name)
    def zeros(op: Any, g: Any) -> Any:
        return [tf.zeros_like(i) for i in op.inputs]

    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [None, 4, 4, 3])
    w = tf.constant(np.ones((2, 2, 3, 1), "float32"))
    with graph.gradient_override_map({"Conv2D": name}):
        y = tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME")
    assert "Conv2D" in {op.type for op in graph.get_operations()}
    assert y.shape.as_list() == [None, 4, 4, 1]
    (dx,) = tf.gradients(y, x)
    with tf.Session() as sess:
        assert not sess.run(dx, {x: np.ones((2, 4, 4, 3), "float32")}).any()


def test_dimensions(tf: Any, ours: bool) -> None:
    d = tf.Dimension(3)
    assert (d + 2).value == 5
    assert (2 * d).value == 6
    assert (d * None).value is None
    assert (d // 2).value == 1
    assert d == 3
    assert (tf.Dimension(None) == 3) is None
    assert str(tf.Dimension(None)) == "?"
    assert tf.dimension_value(d) == 3
    tf.disable_v2_tensorshape()
    try:
        x = tf.placeholder(tf.float32, [None, 3])
        assert x.shape[1].value == 3
        assert x.get_shape()[0].value is None
        assert x.get_shape().as_list() == [None, 3]
    finally:
        tf.enable_v2_tensorshape()


def test_tensors_are_told_apart_by_identity(tf: Any) -> None:
    x, y = tf.constant(1.0), tf.constant(1.0)
    assert x == x
    assert (x == y) is False
    assert (x != y) is True
    assert {x: 1, y: 2}[x] == 1
    assert x in [y, x]
    assert tf.equal(x, y).dtype == tf.bool


def test_what_a_tensor_of_a_graph_cannot_do(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises(TypeError, match=r"(?i)iterat"):
        list(x)
    with pytest.raises(TypeError, match=r"(?i)bool|truth"):
        bool(x > 0.0)
    with pytest.raises(TypeError):
        len(x)
    with pytest.raises(TypeError):
        float(x)
    with pytest.raises((TypeError, AttributeError, NotImplementedError)):
        np.asarray(x).astype(np.float32)
    with pytest.raises((TypeError, AttributeError)):
        x.numpy()
    with pytest.raises(ValueError if not tf.__name__.startswith("pullback") else RuntimeError,
                       match="session"):
        x.eval()


def test_two_graphs_do_not_mix(tf: Any) -> None:
    x = tf.constant(1.0)
    other = tf.Graph()
    with other.as_default():
        y = tf.constant(2.0)
        assert tf.get_default_graph() is other
        assert y.graph is other
    assert x.graph is tf.get_default_graph()
    with pytest.raises(ValueError, match="graph"):
        tf.add(x, y)
    with tf.Session() as sess, pytest.raises((ValueError, TypeError)):
        sess.run(y)


def test_control_dependencies_and_groups(tf: Any) -> None:
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        after = tf.identity(v.read_value())
        none = tf.no_op("nothing")
    both = tf.group(v.assign_add(10.0), none, name="both")
    a, b = tf.tuple([after * 2.0, after * 3.0])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(after) == 2.0
        assert sess.run(none) is None
        assert sess.run(v) == 3.0
        assert sess.run(both) is None
        assert sess.run(v) == 14.0
        assert sess.run([a, b]) == [30.0, 45.0]
    assert (both.type, both.name, none.name) == ("NoOp", "both", "nothing")


def test_collections(tf: Any) -> None:
    x, y = tf.constant(1.0, name="a/x"), tf.constant(2.0, name="b/y")
    tf.add_to_collection("mine", x)
    tf.add_to_collection("mine", y)
    assert tf.get_collection("mine") == [x, y]
    assert tf.get_collection("mine", scope="b") == [y]
    assert tf.get_collection("others") == []
    tf.get_collection_ref("mine").pop()
    assert tf.get_default_graph().get_collection("mine") == [x]
    tf.Variable(1.0)
    assert len(tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)) == 1


def test_a_finalized_graph_does_not_grow(tf: Any) -> None:
    x = tf.constant(1.0)
    tf.get_default_graph().finalize()
    with pytest.raises((RuntimeError, ValueError), match="final"):
        tf.add(x, x)


def test_the_default_graph_of_the_process(ours: bool, tf: Any) -> None:
    if ours:
        import threading

        found: list[Any] = []

        def run() -> None:  # another thread has no graph open
            x = tf.constant(3.0)
            with tf.Session() as sess:
                found.append(sess.run(x * 2.0))
            found.append(x.graph)
            tf.reset_default_graph()
            found.append(tf.get_default_graph())

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert found[0] == 6.0
        assert found[1] is not found[2]
    with pytest.raises((ValueError, AssertionError)):
        tf.reset_default_graph()


def test_values_and_session_members(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.reduce_sum(x * x, name="y")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        got = sess.run({"y": y, "all": (x, [y])}, {x: [1.0, 2.0]})
        assert got["y"] == 5.0
        assert np.array_equal(got["all"][0], [1.0, 2.0])
        assert got["all"][1] == [5.0]
        assert sess.run("y:0", {"x:0": [3.0]}) == 9.0
        assert y.eval({x: [2.0]}) == 4.0
        assert sess.run(y, {x: np.array([1, 2])}) == 5.0
        assert isinstance(sess.run(y, {x: [2.0]}), np.float32)
        assert tf.get_default_session() is sess
        assert sess.graph is tf.get_default_graph()
        call = sess.make_callable(y, [x])
        assert call([3.0]) == 9.0
        z = y * 2.0
        assert sess.run(z, {y: 10.0}) == 20.0  # any tensor may be fed
    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(y, {x: [1.0]})


def test_errors_of_running(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.Variable(1.0, name="v")
    u = tf.placeholder(tf.float32, name="u")
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="x"):
            sess.run(x * 2.0)
        with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
            sess.run(v)
        with pytest.raises(ValueError, match="shape"):
            sess.run(x * 2.0, {x: [1.0, 2.0, 3.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"MatMul|matmul"):
            sess.run(tf.matmul(tf.reshape(u, [2, -1]), tf.ones([3, 3])), {u: [[1.0, 2.0]] * 2})
        with pytest.raises((TypeError, ValueError)):
            sess.run(3.0)
        with pytest.raises((ValueError, LookupError), match="nobody"):
            sess.run("nobody:0")


def test_errors_of_building(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    with pytest.raises(ValueError, match=r"(?i)shape|dimension|length"):
        x + tf.zeros([4])
    with pytest.raises(ValueError, match=r"(?i)dimension|length"):
        tf.matmul(x, x)
    with pytest.raises((TypeError, ValueError), match="int32"):
        x + tf.constant([1, 2, 3])
    with pytest.raises((TypeError, ValueError)):
        tf.reshape(x, [4, 4])
    with pytest.raises((ValueError, TypeError), match=r"None|known|infer"):
        tf.unstack(tf.placeholder(tf.float32, [None]))


def test_print_and_assertions(tf: Any, capfd: Any, ours: bool) -> None:
    x = tf.placeholder(tf.float32, [2])
    shown = tf.Print(x, [x], "seen: ")
    held = tf.Assert(tf.reduce_all(x > 0.0), [x])
    with tf.control_dependencies([held]):
        y = tf.identity(x)
    checked = tf.check_numerics(x, "bad")
    with tf.Session() as sess:
        assert np.array_equal(sess.run(shown, {x: [1.0, 2.0]}), [1.0, 2.0])
        assert "seen: [1" in capfd.readouterr().err
        assert np.array_equal(sess.run(y, {x: [1.0, 2.0]}), [1.0, 2.0])
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(y, {x: [1.0, -2.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            sess.run(checked, {x: [1.0, np.nan]})
        sess.run(tf.assert_equal(x, x), {x: [1.0, 2.0]})
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(tf.assert_less(x, 0.0), {x: [1.0, 2.0]})


def test_interactive_sessions(tf: Any) -> None:
    sess = tf.InteractiveSession()
    assert tf.constant(2.0).eval() == 2.0
    v = tf.Variable(3.0)
    v.initializer.run()
    assert v.eval() == 3.0
    sess.close()
    assert tf.get_default_session() is None


def test_options_are_taken(tf: Any) -> None:
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    with tf.device("/cpu:0"), tf.Session(config=config) as sess:
        assert sess.run(tf.constant(1.0)) == 1.0
    assert not tf.executing_eagerly()


def test_choices_and_loops(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0.0, lambda: x * x, lambda: -x)
    (dx,) = tf.gradients(y, x)
    total, _ = tf.while_loop(lambda t, i: i < 3, lambda t, i: (t * x, i + 1), (1.0, 0))
    alone = tf.while_loop(lambda t: t < 100.0, lambda t: t * t, [x])
    (dt,) = tf.gradients(total, x)
    mapped = tf.map_fn(lambda r: r * x, tf.constant([1.0, 2.0]))
    case = tf.case([(x > 10.0, lambda: x), (x > 2.0, lambda: x * 2.0)], default=lambda: x * 3.0)
    with tf.Session() as sess:
        assert sess.run([y, dx], {x: 3.0}) == [9.0, 6.0]
        assert sess.run([y, dx], {x: -3.0}) == [3.0, -1.0]
        assert sess.run([total, dt], {x: 2.0}) == [8.0, 12.0]
        assert sess.run(alone, {x: 3.0}) == 6561.0
        assert np.array_equal(sess.run(mapped, {x: 3.0}), [3.0, 6.0])
        assert [sess.run(case, {x: v}) for v in (11.0, 3.0, 1.0)] == [11.0, 6.0, 3.0]


def test_functions_of_numpy(tf: Any, older: bool) -> None:
    x = tf.placeholder(tf.float32, [None])

    name = f"SortedBack.{tf.__name__}{older}"

    @tf.RegisterGradient(name)
    def back(op: Any, g: Any) -> Any:
        return g * 10.0

    with tf.get_default_graph().gradient_override_map({"PyFunc": name}):
        y = tf.py_func(np.sort, [x], tf.float32)
    (dx,) = tf.gradients(y, x)
    with tf.Session() as sess:
        got = sess.run([y, dx], {x: [3.0, 1.0]})
    assert np.array_equal(got[0], [1.0, 3.0])
    assert np.array_equal(got[1], [10.0, 10.0])


def test_loops_carry_tensor_arrays(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    steps = tf.shape(x)[0]
    states = tf.TensorArray(tf.float32, size=steps, element_shape=[2])
    given = tf.TensorArray(tf.float32, size=steps).unstack(x)

    def body(i: Any, h: Any, states: Any) -> Any:
        h = tf.tanh(0.5 * h + given.read(i))
        return i + 1, h, states.write(i, h)

    _, last, states = tf.while_loop(
        lambda i, h, states: i < steps, body, [0, tf.zeros([2]), states]
    )
    every = states.stack()
    (dx,) = tf.gradients(tf.reduce_sum(every * every), x)
    assert isinstance(every, tf.Tensor)
    points = np.array([[0.1, -0.4], [0.7, 0.2], [-0.3, 0.6]], np.float32)
    hidden, wanted = np.zeros(2), []
    for row in points:
        hidden = np.tanh(0.5 * hidden + row)
        wanted.append(hidden)
    with tf.Session() as sess:
        got, end, slope, count = sess.run([every, last, dx, states.size()], {x: points})
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    np.testing.assert_allclose(end, wanted[-1], rtol=1e-5)
    through = np.zeros(2)
    for i in reversed(range(3)):
        through = (2 * wanted[i] + 0.5 * through) * (1 - wanted[i] ** 2)
        np.testing.assert_allclose(slope[i], through, rtol=1e-4)
    assert count == 3
