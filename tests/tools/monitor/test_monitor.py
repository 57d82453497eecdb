"""The numbers of a monitor against ones computed by hand, in every way of training."""

from __future__ import annotations

import csv
import gc
import struct
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback import tf
from pullback import torch as door
from pullback.arrays import dressed
from pullback.departures import follow, unfollow
from pullback.errors import AnomalyError, ArgumentError
from pullback.tools.monitor import monitor
from pullback.tools.monitor.curves import LIMIT, Curve


class Net(pb.nn.Module):
    def __init__(self, generator):
        self.first = pb.nn.Linear(3, 4, generator=generator)
        self.act = pb.nn.ReLU()
        self.last = pb.nn.Linear(4, 1, generator=generator)

    def forward(self, x):
        return self.last(self.act(self.first(x)))


def by_hand(seen, name, before, after, g, step=-1):
    size = np.linalg.norm(np.asarray(before, np.float64))
    moved = np.linalg.norm(np.asarray(after, np.float64) - np.asarray(before, np.float64))
    assert seen.history[f"gradient/{name}"][step] == pytest.approx(np.linalg.norm(g), rel=1e-5)
    assert seen.history[f"update/{name}"][step] == pytest.approx(moved / size, rel=1e-4)


@pytest.mark.parametrize("every", [1, 3])
def test_modules_and_optimizers(rng, every):
    net = Net(pb.random.Generator(0))
    optimizer = pb.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x = pb.tensor(rng.normal(size=(5, 3)).astype("float32"))
    with monitor(net, optimizer=optimizer, live=False, every=every) as seen:
        for step in range(7):
            optimizer.zero_grad()
            loss = pb.mean(net(x) ** 2)
            loss.backward()
            before = {n: p.detach().numpy().copy() for n, p in net.named_parameters()}
            optimizer.step()
            seen.step(loss=loss, accuracy=step / 2)
            if step % every == 0:
                for n, p in net.named_parameters():
                    by_hand(seen, n, before[n], p.detach().numpy(), p.grad.numpy())
    assert seen.history["loss"].steps == list(range(1, 8))
    assert seen.history["loss"][-1] == loss.item()
    assert list(seen.history["accuracy"]) == [i / 2 for i in range(7)]
    assert list(seen.history["lr"]) == [0.1] * 7
    norms = [np.linalg.norm(p.grad.numpy()) for p in net.parameters()]
    assert seen.history["gradient"][-1] == pytest.approx(np.linalg.norm(norms), rel=1e-5)
    assert all(rate > 0 for rate in seen.history["steps/s"])
    assert "dead/act" in seen.history


def test_a_copy_only_every_so_many_steps():
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    with monitor([w], live=False, every=10) as seen:
        for _ in range(25):
            pb.sum(w * w).backward()
            seen.step()
    assert seen.copies == 3
    assert seen.history["update/0"].steps == [1, 11, 21]
    assert "never changes" in str(seen.table())


def test_variables_and_a_tape():
    v, b = pb.Variable([3.0, 4.0], name="v"), pb.Variable(1.0, name="b")
    optimizer = pb.optim.SGD([v, b], lr=0.5)
    with monitor([v, b], live=False, every=1) as seen:
        with pb.GradientTape() as tape:
            loss = pb.sum(v * v) + b * 0
        gradients = tape.gradient(loss, [v, b])
        optimizer.step(gradients)
        seen.step(loss, gradients=gradients)
    assert (seen.history["gradient/v"][0], seen.history["update/v"][0]) == (10.0, 1.0)
    assert seen.history["zero/b"][0] == 1.0
    assert "gradient is zero everywhere" in str(seen.table())


def test_functions_of_nested_parameters(rng):
    params = {"layers": [{"w": rng.normal(size=(2, 3)), "b": np.zeros(3)}], "scale": 2.0}

    def loss(p, x):
        return pb.sum(pb.relu(x @ p["layers"][0]["w"] + p["layers"][0]["b"]) * p["scale"])

    x = rng.normal(size=(4, 2))
    slopes = pb.value_and_grad(loss)
    with monitor(params, live=False, every=1) as seen:
        for _ in range(3):
            value, g = slopes(params, x)
            w, s = params["layers"][0], params["scale"]
            new = {"w": w["w"] - 0.1 * np.asarray(g["layers"][0]["w"]), "b": w["b"] - 1.0}
            params = {"layers": [new], "scale": s}
            seen.step(value, params=params, gradients=g)
            by_hand(seen, "layers.0.w", w["w"], new["w"], np.asarray(g["layers"][0]["w"]))
    assert seen.history["update/scale"].steps == [1, 2, 3]
    assert any(name.startswith("dead/relu at test_monitor.py:") for name in seen.history)


def test_the_door_of_pytorch():
    door.manual_seed(0)
    net = door.nn.Sequential(door.nn.Linear(2, 3), door.nn.ReLU(), door.nn.Linear(3, 1))
    optimizer = door.optim.Adam(net.parameters(), lr=0.25)
    x = door.ones(4, 2)
    with monitor(net, optimizer=optimizer, live=False) as seen:
        net(x).sum().backward()
        before = net[2].weight.detach().numpy().copy()
        optimizer.step()
        seen.step()
    by_hand(seen, "2.weight", before, net[2].weight.detach().numpy(), net[2].weight.grad.numpy())
    assert seen.history["lr"][0] == 0.25
    assert "dead/1" in seen.history


def test_the_door_of_tensorflow_with_slices():
    class Table(tf.Module):
        def __init__(self):
            super().__init__()
            self.rows = tf.Variable([[3.0], [4.0], [0.0], [0.0]])

    table, optimizer = Table(), tf.optimizers.SGD(0.5)
    with monitor(table, optimizer=optimizer, live=False) as seen:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table.rows, [0, 0, 1]))
        gradients = tape.gradient(loss, table.trainable_variables)
        optimizer.apply_gradients(zip(gradients, table.trainable_variables, strict=True))
        seen.step(loss, gradients=gradients)
    assert seen.history["gradient/rows"][0] == pytest.approx(5**0.5)
    assert seen.history["zero/rows"][0] == 0.5
    assert seen.history["update/rows"][0] == pytest.approx(1.25**0.5 / 5)
    assert seen.history["lr"][0] == 0.5


def test_dead_units_are_found_over_batches():
    net = Net(pb.random.Generator(0))
    with pb.no_grad():
        net.first.bias[...] = pb.tensor([-1e3, -1e3, 1e3, 0.0], dtype="float32")
    with monitor(net, live=False, every=1) as seen:
        for sign in (1.0, -1.0):
            pb.sum(net(pb.ones((2, 3), dtype="float32") * sign)).backward()
            with pb.no_grad():
                net(pb.ones((2, 3), dtype="float32") * 1e6)  # does not count
            seen.step()
    assert list(seen.history["dead/act"])[-1] == 0.5  # the last unit lives in one of the two
    assert "dying: 50% of the units" in str(seen.table())


def test_missing_gradients_are_named():
    net, extra = Net(pb.random.Generator(0)), pb.tensor([1.0], requires_grad=True)
    with monitor({"net": net, "extra": extra}, live=False) as seen:
        pb.sum(net(pb.ones((2, 3), dtype="float32"))).backward()
        seen.step()
    row = next(line for line in str(seen.table()).splitlines() if line.startswith("extra"))
    assert "no gradient: pb.explain" in row
    with monitor(net, live=False) as seen:
        net.zero_grad()
        seen.step()
    assert "before zero_grad" in str(seen.table())
    assert "pb.explain" not in str(seen.table())


def test_what_is_not_finite_is_said_at_once_and_once(capsys):
    w = pb.tensor([1.0], requires_grad=True)
    with monitor({"w": w}, live=False) as seen:
        for value in (1.0, float("nan"), float("nan"), 1.0, float("inf")):
            seen.step(loss=value, gradients={"w": pb.tensor([value])})
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "step 2: loss is nan; gradient is nan; gradient/w is nan",
        "step 5: loss is inf; gradient is inf; gradient/w is inf",
    ] == seen.alarms
    with pytest.raises(AnomalyError, match="step 1: loss is nan"), monitor(stop=True) as seen:
        seen.step(float("nan"))


def test_large_gradients_do_not_overflow_and_small_ones_vanish():
    a, b = (pb.tensor(np.ones(2, np.float32), requires_grad=True) for _ in range(2))
    big, small = (np.full(2, v, np.float32) for v in (3e30, 1e-30))
    with monitor({"a": a, "b": b}, live=False) as seen:
        seen.step(gradients=[big, small])
    assert seen.history["gradient/a"][0] == pytest.approx(3e30 * 2**0.5)
    assert seen.history["gradient/b"][0] == pytest.approx(1e-30 * 2**0.5)
    assert "vanishing" in str(seen.table())
    with monitor({"a": a}, live=False, every=1) as seen:
        for size in [1.0] * 12 + [1e3]:
            seen.step(gradients=[np.full(2, size, np.float32)])
    assert "exploding: 1000 times" in str(seen.table())


def test_nothing_is_kept_alive_and_nothing_departs():
    w = pb.tensor([1.0], requires_grad=True)
    departures, token = follow()
    gc.disable()
    try:
        with monitor([w], live=False) as seen:
            loss = pb.sum(w * w)
            node = weakref.ref(loss.node)
            loss.backward()
            seen.step(loss)
            del loss
            assert node() is None
    finally:
        gc.enable()
        unfollow(token)
    assert departures == []


def test_an_error_restores_and_keeps_what_was_seen(tmp_path):
    net, path = Net(pb.random.Generator(0)), tmp_path / "new" / "run.csv"
    attributes = dict(vars(net))
    seen = monitor(net, csv=path, live=False)

    def train():
        with seen:
            seen.step(1.5)
            assert "1.5" in path.read_text("utf-8")
            raise KeyError("oh")

    with pytest.raises(KeyError, match="oh"):
        train()
    assert dict(vars(net)) == attributes
    assert not dressed._open
    assert seen.history["loss"][0] == 1.5
    with pytest.raises(ArgumentError, match="block that is open"):
        seen.step(1.0)


def test_rows_and_events_are_read_back(tmp_path):
    from tensorboardX.crc32c import crc32c
    from tensorboardX.proto.event_pb2 import Event

    path, folder = tmp_path / "run.csv", tmp_path / "runs"
    with monitor(csv=path, tensorboard=folder, live=False, start=4) as seen:
        seen.step(0.5)
        seen.step(0.25, accuracy=0.75)
        (file,) = folder.iterdir()
        data, events = file.read_bytes(), []  # before it is closed
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        (check,) = struct.unpack("<I", data[12 + length : 16 + length])
        crc = crc32c(data[12 : 12 + length])
        assert check == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
        events.append(Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    told = [{v.tag: v.simple_value for v in e.summary.value} for e in events[1:]]
    assert [e.step for e in events[1:]] == [5, 6]
    assert told[1]["loss"] == 0.25
    assert told[1]["accuracy"] == 0.75
    with path.open(encoding="utf-8") as rows:
        read = list(csv.DictReader(rows))
    assert [(r["step"], r["loss"], r["accuracy"]) for r in read] == [
        ("5", "0.5", ""), ("6", "0.25", "0.75"),
    ]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    assert len(seen.history["loss"]) == 2


@pytest.mark.parametrize("wrong", [
    lambda seen: seen.step(gradient=1.0), lambda seen: seen.step(pb.ones(2)),
    lambda seen: seen.step(gradients=[None, None]), lambda seen: seen.step(gradients={"v": 1.0}),
])
def test_misuse_is_an_error(wrong):
    with monitor({"w": pb.ones(2)}, live=False) as seen, pytest.raises(ArgumentError):
        wrong(seen)


def test_a_curve_is_bounded():
    curve = Curve()
    for step in range(10 * LIMIT):
        curve.add(step, float(step))
    assert len(curve) <= LIMIT + 1
    assert (curve.steps[0], curve.steps[-1]) == (0, 10 * LIMIT - 1)
    assert list(curve) == curve.steps


def test_activations_of_one_module_are_told_apart():
    class Two(pb.nn.Module):
        def __init__(self):
            self.w = pb.nn.Parameter([1.0, -1.0])

        def forward(self, x):
            x = pb.relu(x * self.w)
            return pb.relu(x - 10.0)

    net = Two()
    with monitor(net, live=False) as seen:
        pb.sum(net(pb.ones((3, 2)))).backward()
        seen.step()
    assert seen.history["dead/relu"][0] == 0.5
    assert seen.history["dead/relu (2)"][0] == 1.0
    assert seen.history["dead"][0] == 0.75
    assert "dead: all units are zero" in str(seen.table())
