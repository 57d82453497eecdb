"""What programs from TensorFlow's guides lean on; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.tf as door
import pullback.tf.v1 as graphs


def test_tensors_are_printed_while_a_function_is_traced(tf: Any, capsys: Any) -> None:
    @tf.function
    def halve(height: Any, *more: Any) -> Any:
        print("tracing", height, f"{height}", repr(height), more)
        return height / 2.0

    halve(tf.constant([3.0, 5.0]), tf.constant(1))
    halve(tf.constant([7.0, 9.0]), tf.constant(2))
    text = 'Tensor("height:0", shape=(2,), dtype=float32)'
    name = "<tf.Tensor 'height:0' shape=(2,) dtype=float32>"
    out = capsys.readouterr().out
    assert out.startswith(f"tracing {text} {text} {name} (<tf.Tensor 'more")
    assert out.count("tracing") == 1


def test_a_tensor_that_is_traced_has_no_numpy(tf: Any) -> None:
    found = []

    @tf.function
    def look(x: Any) -> Any:
        found.append(hasattr(x, "numpy"))
        found.append(x * 2.0)
        return x

    assert look(tf.constant(1.5)).numpy() == 1.5
    assert found[0] is False
    with pytest.raises(AttributeError, match="numpy"):
        _ = found[1].numpy
    assert hasattr(tf.constant(1.0), "numpy")


@pytest.mark.parametrize("value", [[1, 2], [[1, 2], [3, 4]], [[[0.5]]], 4.0])
def test_printed_tensors_begin_a_line(tf: Any, peer: Any, value: Any) -> None:
    assert str(tf.constant(value)) == str(peer.constant(value))
    assert str(tf.range(60)) == str(peer.range(60))


def affine(tf: Any) -> Any:
    @tf.function
    def scaled(x: Any, a: Any, k: int = 2) -> Any:
        return x * 10.0 + a * float(k)

    return scaled


def test_a_concrete_function_takes_its_arguments_by_name(tf: Any) -> None:
    scaled = affine(tf)
    x, a = tf.constant(3.0), tf.constant(4.0)
    made = scaled.get_concrete_function(x, a)
    for answer in (made(x, a), made(x=x, a=a), made(a=a, x=x), made(x, a=a), made(x, a, k=2)):
        assert answer.numpy() == 38.0
    signed = tf.function(
        lambda z, b: z - b,
        input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)],
    ).get_concrete_function()
    assert signed(b=tf.constant(1.0), z=tf.constant([5.0])).numpy().tolist() == [4.0]
    assert signed([5.0, 6.0], 2.0).numpy().tolist() == [3.0, 4.0]


def test_a_concrete_function_refuses_another_value_than_it_was_traced_for(tf: Any) -> None:
    scaled = affine(tf)
    x, a = tf.constant(3.0), tf.constant(4.0)
    made = scaled.get_concrete_function(x, a, k=5)
    assert made(x, a, k=5).numpy() == 50.0
    for wrong in (lambda: made(x, a, k=2), lambda: made(x, a, 3), lambda: made(x),
                  lambda: made(x, a, b=a)):
        with pytest.raises(TypeError, match=r"5|missing|unexpected|tensors"):
            wrong()
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        scaled.get_concrete_function(tf.TensorSpec([], tf.float32), a)(tf.constant(3), a)


def test_python_functions_by_decorator(tf: Any) -> None:
    @tf.py_function(Tout=tf.float32)
    def product(x: Any, y: Any) -> Any:
        return x * y

    @tf.numpy_function(Tout=tf.float32)
    def largest(x: Any) -> Any:
        return np.max(x)

    @tf.function
    def both(x: Any) -> Any:
        return product(x, x) + largest(x)

    x = tf.constant([1.0, -2.0, 0.5])
    assert both(x).numpy().tolist() == [2.0, 5.0, 1.25]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = both(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * x.numpy())


@pytest.mark.parametrize(("name", "instead"), [
    ("keras", "tf.Module"), ("saved_model", "tf.train.Checkpoint"),
])
def test_what_is_not_here_says_what_is(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"{name}.*{instead}"):
        getattr(door, name)
    with pytest.raises(AttributeError, match=r"pullback\.tf' has no attribute 'gradent'$"):
        _ = door.gradent
    with pytest.raises(AttributeError, match=r"tf\.v1. has no attribute .flags.; use argparse"):
        _ = graphs.flags
    assert isinstance(door.constant(1.0), pb.Tensor)


def test_a_forgotten_return_is_an_error(tf: Any) -> None:
    v = tf.Variable(2.0)

    def loss() -> None:
        v * v  # the `return` is what is forgotten

    for structure in (lambda y: y, lambda y: [v * v, y]):
        with tf.GradientTape() as tape:
            target = structure(loss())
        with pytest.raises(TypeError, match="None"):
            tape.gradient(target, v)


def test_gradients_in_what_is_a_constant_of_the_graph_are_refused() -> None:
    """TensorFlow has them; here the value is in the graph, and a None would go unnoticed."""
    c, v = door.constant([1.0, 2.0]), door.Variable([4.0, 5.0])

    @door.function
    def by_variable(x: Any) -> Any:
        y = c * x * v
        return door.gradients(y, [x, v]), door.gradients(door.constant(1.0), x)[0]

    (dx, dv), nothing = by_variable(door.constant([3.0, 7.0]))
    assert (dx.numpy().tolist(), dv.numpy().tolist()) == ([4.0, 10.0], [3.0, 14.0])
    assert nothing is None
    for function in (lambda: door.gradients(c * v, c), lambda: door.gradients(c * c, [c])):
        with pytest.raises(ValueError, match="make it an argument"):
            door.function(function)()


def test_the_gradient_of_identity_by_its_name() -> None:
    """`"Identity"`, as in TensorFlow 1's maps, wherever this door takes names."""
    x = door.constant([0.3, -2.0])
    with door.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with door.override_gradient({"Round": "Identity"}):
            y = door.round(x) * 3.0
        z = door.sign(x) * 2.0
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 3.0]
    assert tape.gradient(z, x).numpy().tolist() == [0.0, 0.0]
    assert tape.gradient(z, x, overrides={"Sign": "Identity"}).numpy().tolist() == [2.0, 2.0]
    rows = tape.jacobian(z, x, overrides={"Sign": "Identity"})
    assert rows.numpy().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    with pytest.raises(LookupError, match="Identiti"):
        tape.gradient(z, x, overrides={"Sign": "Identiti"})


def test_what_programs_ask_first(tf: Any) -> None:
    assert int(tf.__version__.split(".")[0]) >= 2
    assert tf.config.list_physical_devices("GPU") == []
    (only,) = tf.config.list_physical_devices("CPU")
    assert (only.device_type, only.name) == ("CPU", "/physical_device:CPU:0")


def test_errors_have_the_names_that_are_caught(tf: Any) -> None:
    for wrong in (lambda: tf.reshape(tf.ones([3]), [2, 2]),
                  lambda: tf.constant(1.0) + tf.constant(1), lambda: tf.gather([1.0], [4])):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            wrong()
        assert caught.type.__name__ == "InvalidArgumentError"
