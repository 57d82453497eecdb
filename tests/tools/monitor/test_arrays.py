"""Parameters in arrays of other libraries, in other layouts, and a monitor without its extras."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback import tf
from pullback import torch as door
from pullback.tools.monitor import measures, monitor
from tests.house.sources import ROOT


@pytest.mark.parametrize("shape", [(300, 200), (7,), (), (4, 5, 6), (0, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128"])
def test_norms_in_every_layout(rng, shape, dtype):
    a = rng.normal(size=shape)
    a = (a + 1j * rng.normal(size=shape) if dtype.startswith("complex") else a).astype(dtype)
    wide = a.astype("complex128")
    for one in (a, a.T, np.asfortranarray(a), a[::-1] if shape else a):
        assert measures.norm(one) == pytest.approx(np.linalg.norm(wide), rel=1e-3)
        before = np.ascontiguousarray(one) * dtype_one(dtype, 0.5)
        assert measures.distance(one, before) == pytest.approx(
            np.linalg.norm(wide) / 2, rel=1e-3)


def dtype_one(dtype, value):
    return np.asarray(value, dtype)[()]


def test_the_norm_of_a_transposed_gradient_copies_nothing(rng):
    a = rng.normal(size=(30, 20)).T
    assert np.shares_memory(measures._flat(a), a)


def trained_by_hand(make):
    """Three steps of gradient descent on raw arrays: the monitor, and the last |g| and |w|."""
    w = make(np.arange(1.0, 7.0).reshape(2, 3))
    with monitor({"w": w}, live=False, every=1) as seen:
        for _ in range(3):
            loss, g = pb.value_and_grad(lambda v: pb.sum(pb.tanh(v) * v))(w)
            g, before = g.data, w
            w = w - 0.125 * g
            seen.step(loss, params={"w": w}, gradients={"w": g})
    moved = np.linalg.norm(np.asarray(w) - np.asarray(before)) / np.linalg.norm(np.asarray(before))
    return seen, float(np.linalg.norm(np.asarray(g))), float(moved)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_raw_arrays_of_other_libraries(library):
    if library == "torch":
        make = pytest.importorskip("torch").from_numpy
    else:
        make = pytest.importorskip("jax.numpy").asarray
    seen, g, moved = trained_by_hand(make)
    assert seen.history["gradient/w"][-1] == pytest.approx(g, rel=1e-5)
    assert seen.history["update/w"][-1] == pytest.approx(moved, rel=1e-4)
    assert seen.history["zero/w"][-1] == 0.0


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_tensors_of_other_arrays_and_an_optimizer(library):
    if library == "torch":
        make = pytest.importorskip("torch").from_numpy
    else:
        make = pytest.importorskip("jax.numpy").asarray
    w = pb.tensor(make(np.array([[3.0, -4.0]], "float32")), requires_grad=True)
    optimizer = pb.optim.SGD([w], lr=0.25)
    with monitor({"w": w}, optimizer=optimizer, live=False, every=1) as seen:
        for _ in range(2):
            optimizer.zero_grad()
            loss = pb.sum(pb.relu(w) ** 2)
            loss.backward()
            optimizer.step()
            seen.step(loss)
    assert list(seen.history["gradient/w"]) == pytest.approx([6.0, 3.0])
    assert seen.history["update/w"][0] == pytest.approx(1.5 / 5)
    assert seen.history["zero/w"][-1] == 0.5
    assert seen.history["dead"][-1] == 0.5


@pytest.mark.parametrize("last", [False, True])
def test_dead_channels_of_pictures(rng, last):
    x = rng.normal(size=(4, 3, 6, 6))
    x[:, 1] = -1.0
    x = np.moveaxis(x, 1, -1) if last else x
    w = pb.tensor([1.0], requires_grad=True)
    with monitor({"w": w}, live=False, channels_last=last) as seen:
        loss = pb.sum(pb.relu(pb.tensor(x) * w))
        loss.backward()
        seen.step(loss)
    assert seen.history["dead"][-1] == pytest.approx(1 / 3)
    assert "3 units" in str(seen.table())


def test_a_convolution_of_the_door_of_pytorch():
    door.manual_seed(0)
    net = door.nn.Sequential(
        door.nn.Conv2d(1, 4, 3), door.nn.ReLU(), door.nn.Flatten(), door.nn.Linear(144, 2))
    with door.no_grad():
        net[0].bias.copy_(door.tensor([-1e3, 0.0, 0.0, 0.0]))
    optimizer = door.optim.SGD(net.parameters(), lr=0.01)
    with monitor(net, optimizer=optimizer, live=False, every=1) as seen:
        for _ in range(2):
            optimizer.zero_grad()
            loss = door.nn.functional.cross_entropy(
                net(door.randn(4, 1, 8, 8)), door.tensor([0, 1, 0, 1]))
            loss.backward()
            optimizer.step()
            seen.step(loss=loss)
    assert seen.history["dead/1"][-1] == 0.25
    assert seen.history["zero/0.bias"][-1] == 0.25


def test_optimizers_of_the_door_of_tensorflow():
    for optimizer in (tf.optimizers.SGD(0.5), tf.optimizers.Adam(0.5)):
        v = tf.Variable(np.ones((3, 2), "float32"), name="v")
        before = v.numpy().copy()
        with monitor([v], optimizer=optimizer, live=False) as seen:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(v * v)
            gradients = tape.gradient(loss, [v])
            optimizer.apply_gradients(zip(gradients, [v], strict=True))
            seen.step(loss, gradients=gradients)
        moved = np.linalg.norm(v.numpy() - before) / np.linalg.norm(before)
        assert seen.history["update/v"][0] == pytest.approx(moved, rel=1e-5)
        assert seen.history["gradient/v"][0] == pytest.approx(2 * 6**0.5, rel=1e-5)
        assert seen.history["lr"][0] == 0.5


BARE = """
import sys

class Hidden:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("rich", "tensorboardX", "matplotlib"):
            raise ImportError(name)

sys.meta_path.insert(0, Hidden())
import pullback as pb

w = pb.tensor([3.0, 4.0], requires_grad=True)
with pb.monitor({"w": w}, live=True, csv=sys.argv[1] + "/run.csv") as seen:
    loss = pb.sum(w * w)
    loss.backward()
    seen.step(loss)
print(seen.table())
for wanted in (lambda: pb.monitor(tensorboard=sys.argv[1]).__enter__(),
               lambda: seen.save(sys.argv[1] + "/curves.png")):
    try:
        wanted()
    except pb.nn.saving.MissingPackageError as error:
        print(error)
"""


def test_without_the_packages_of_the_extra(tmp_path):
    ran = subprocess.run([sys.executable, "-c", BARE, str(tmp_path)], capture_output=True,
                         text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("step 1 · loss 25 ")
    assert "gradient" in ran.stdout
    assert ran.stdout.count("pip install 'pullback[monitor]'") == 2
    assert (tmp_path / "run.csv").read_text("utf-8").splitlines()[1].startswith("1,")
