"""Checkpoints and modules; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import tf as door


def network(tf: Any, start: float) -> Any:
    class Dense(tf.Module):
        def __init__(self, n: int, m: int, name: str | None = None) -> None:
            super().__init__(name=name)
            with self.name_scope:
                self.w = tf.Variable(tf.ones([n, m]) * start, name="w")
                self.b = tf.Variable(tf.zeros([m]), trainable=False, name="b")

        @tf.Module.with_name_scope
        def __call__(self, x: Any) -> Any:
            return tf.tanh(tf.matmul(x, self.w) + self.b)

    class Net(tf.Module):
        def __init__(self) -> None:
            super().__init__(name="net")
            with self.name_scope:
                self.layers = [Dense(3, 2, "first"), Dense(2, 1, "second")]
            self.scale = tf.Variable(1.0, name="scale")
            self.table = {"k": tf.Variable([start])}

        def __call__(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x * self.scale * self.table["k"]

    return Net()


def step(tf: Any, net: Any, optimizer: Any) -> None:
    variables = net.trainable_variables
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net(tf.ones([4, 3])) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


def values(net: Any) -> list[np.ndarray]:
    return [v.numpy() for v in net.variables]


def test_modules_know_what_they_hold(tf: Any) -> None:
    net = network(tf, 0.5)
    assert net.name == "net"
    assert [v.name for v in net.variables] == [
        "scale:0", "Variable:0", "net/first/b:0", "net/first/w:0", "net/second/b:0",
        "net/second/w:0"]
    assert len(net.trainable_variables) == 4
    assert [v.name for v in net.non_trainable_variables] == ["net/first/b:0", "net/second/b:0"]
    assert [m.name for m in net.submodules] == ["first", "second"]
    with tf.name_scope("a"), tf.name_scope("b") as scope:
        assert scope == "a/b/"
        assert tf.Variable(0.0, name="v").name == "a/b/v:0"
        assert tf.get_current_name_scope() == "a/b"
        with tf.name_scope("c/"):
            assert tf.Variable(0.0).name == "c/Variable:0"
    with pytest.raises(ValueError):  # noqa: PT011
        tf.Module(name="no name")


def test_training_goes_on_where_it_was(tf: Any, tmp_path: Any) -> None:
    net, optimizer = network(tf, 0.5), tf.optimizers.Adam(0.1)
    checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer)
    step(tf, net, optimizer)
    path = checkpoint.save(str(tmp_path / "ckpt"))
    assert path.endswith("ckpt-1")
    kept = values(net)
    step(tf, net, optimizer)
    after = values(net)
    other, fresh = network(tf, 9.0), tf.optimizers.Adam(0.1)
    fresh.build(other.trainable_variables)
    tf.train.Checkpoint(net=other, optimizer=fresh).restore(path)
    assert all(map(np.array_equal, values(other), kept))
    assert int(fresh.iterations) == 1
    step(tf, other, fresh)
    for a, b in zip(values(other), after, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_slots_that_are_still_to_come(tmp_path: Any) -> None:
    net, optimizer = network(door, 0.5), door.optimizers.SGD(0.1, momentum=0.9)
    step(door, net, optimizer)
    path = door.train.Checkpoint(net=net, optimizer=optimizer).write(tmp_path / "at")
    step(door, net, optimizer)
    other, fresh = network(door, 9.0), door.optimizers.SGD(0.1, momentum=0.9)
    door.train.Checkpoint(net=other, optimizer=fresh).read(path)
    step(door, other, fresh)
    assert all(map(np.array_equal, values(other), values(net)))


def test_what_matches(tf: Any, tmp_path: Any) -> None:
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    path = tf.train.Checkpoint(v=v, rest=[w]).write(str(tmp_path / "a"))
    v.assign([0.0, 0.0])
    w.assign(0.0)
    tf.train.Checkpoint(v=v, rest=[w]).read(path).assert_consumed()
    assert v.numpy().tolist() == [1.0, 2.0]
    assert float(w) == 3.0
    new = tf.Variable(7.0)
    tf.train.Checkpoint(v=v).read(path).expect_partial()
    with pytest.raises(AssertionError):
        tf.train.Checkpoint(v=v).read(path).assert_consumed()
    with pytest.raises(AssertionError):
        tf.train.Checkpoint(v=v, new=new).read(path).assert_existing_objects_matched()
    with pytest.raises((tf.errors.NotFoundError, tf.errors.OpError)):
        tf.train.Checkpoint(v=v).restore(str(tmp_path / "none"))
    with pytest.raises(ValueError):  # noqa: PT011
        tf.train.Checkpoint(v=tf.Variable([1.0])).read(path)


def test_the_last_few(tf: Any, tmp_path: Any) -> None:
    v = tf.Variable(0.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(tmp_path), max_to_keep=2)
    assert manager.restore_or_initialize() is None
    for i in range(4):
        v.assign(float(i))
        manager.save()
    assert [p[-1] for p in manager.checkpoints] == ["3", "4"]
    assert tf.train.latest_checkpoint(str(tmp_path)) == manager.latest_checkpoint
    v.assign(9.0)
    assert manager.restore_or_initialize() == manager.latest_checkpoint
    assert float(v) == 3.0
    assert tf.train.latest_checkpoint(str(tmp_path / "none")) is None


def test_files_can_be_looked_into(tmp_path: Any) -> None:
    door.train.Checkpoint(v=door.Variable([1.0, 2.0])).save(tmp_path / "c")
    assert door.train.list_variables(tmp_path) == [("save_counter", []), ("v", [2])]
    assert door.train.load_variable(tmp_path, "v").tolist() == [1.0, 2.0]
    with pytest.raises(door.errors.NotFoundError, match="save_counter"):
        door.train.load_variable(tmp_path, "w")
    with pytest.raises(TypeError, match="Checkpoint"):
        door.train.Checkpoint(v=3.0)
