"""`save_state` and `load_state`: a run goes on as if it had not been stopped."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import nn, optim
from pullback.errors import ArgumentError, FileFormatError
from tests.parts import need

OPTIMIZERS = {
    name: cls for name, cls in vars(optim).items()
    if isinstance(cls, type) and issubclass(cls, optim.Optimizer) and cls is not optim.Optimizer
}


class Run:
    """A small training run with something of each kind."""

    def __init__(self, cls: Any = optim.Adam) -> None:
        self.generator = pb.random.Generator(3)
        self.numpy = np.random.default_rng(4)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4), nn.Tanh(), nn.Linear(4, 1))
        for p in self.net.parameters():
            p._data[...] = self.generator.normal(p.shape).numpy()
        self.scale = pb.Variable(np.float64(1.5))
        self.optimizer = cls(self.net.parameters(), lr=0.01)
        self.scheduler = optim.schedulers.StepLR(self.optimizer, 2, 0.5)

    def parts(self) -> dict[str, Any]:
        return dict(vars(self))

    def step(self) -> float:
        x = self.generator.normal((8, 3)).numpy() + self.numpy.normal(size=(8, 3))

        losses = []

        def closure() -> Any:
            self.optimizer.zero_grad()
            loss = pb.mean((self.net(pb.tensor(x)) * self.scale.numpy()) ** 2)
            loss.backward()
            losses.append(float(loss.detach()))
            return loss

        if isinstance(self.optimizer, optim.LBFGS):
            self.optimizer.step(closure)
        else:
            closure()
            self.optimizer.step()
        self.scheduler.step()
        self.scale.assign_add(0.1)
        return losses[0]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    run = Run(OPTIMIZERS[name])
    for _ in range(3):
        run.step()
    pb.save_state(tmp_path / "run", **run.parts(), step=3, history=[0.5, {"best": 0.25}])
    unbroken = [run.step() for _ in range(4)]
    other = Run(OPTIMIZERS[name])
    other.step()
    told = pb.load_state(tmp_path / "run", **other.parts())
    assert told == {"step": 3, "history": [0.5, {"best": 0.25}]}
    assert [other.step() for _ in range(4)] == unbroken


def test_the_default_generator(tmp_path: Path) -> None:
    pb.save_state(tmp_path / "run", random=pb.random)
    first = pb.random.normal((3,)).numpy()
    pb.load_state(tmp_path / "run", random=pb.random)
    assert (pb.random.normal((3,)).numpy() == first).all()


def test_a_tensor_is_restored_in_place(tmp_path: Path) -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.save_state(tmp_path / "run", x=x)
    with pb.no_grad():
        x *= 5.0
    pb.load_state(tmp_path / "run", x=x)
    assert x.requires_grad
    assert list(x.numpy()) == [1.0, 2.0]


def test_parts_may_be_left_out(tmp_path: Path) -> None:
    run, net = Run(), nn.Linear(3, 2)
    pb.save_state(tmp_path / "run", net=net, optimizer=run.optimizer, step=1)
    assert pb.load_state(tmp_path / "run", net=nn.Linear(3, 2)) == {"step": 1}


@pytest.mark.parametrize(("given", "words"), [
    (lambda: {"model": nn.Linear(3, 2)}, "a part of the checkpoint: net, step"),
    (lambda: {"net": pb.random.Generator()}, "an object with `state_dict`   got:      a generator"),
    (lambda: {"step": 3}, "leave it out"),
    (lambda: {"nets": nn.Linear(3, 2)}, "net"),
])
def test_wrong_parts(given: Any, words: str, tmp_path: Path) -> None:
    pb.save_state(tmp_path / "run", net=nn.Linear(3, 2), step=1)
    with pytest.raises(ArgumentError) as caught:
        pb.load_state(tmp_path / "run", **given())
    assert words in str(caught.value).replace("\n", " ")


def test_after_an_error_all_is_as_it_was(tmp_path: Path) -> None:
    net, x = nn.Linear(3, 2), pb.Variable(np.ones(2))
    pb.save_state(tmp_path / "run", net=net, x=x)
    other, y = nn.Linear(3, 2), pb.Variable(np.zeros(3))
    before = {k: v.numpy().copy() for k, v in other.state_dict().items()}
    with pytest.raises(pb.errors.ShapeError):
        pb.load_state(tmp_path / "run", net=other, x=y)
    assert all((other.state_dict()[k].numpy() == v).all() for k, v in before.items())


def test_another_file(tmp_path: Path) -> None:
    nn.save(nn.Linear(3, 2), tmp_path / "net")
    with pytest.raises(FileFormatError, match=r"nn\.load"):
        pb.load_state(tmp_path / "net")
    (tmp_path / "run").write_bytes(b"x" * 40)
    with pytest.raises(FileFormatError):
        pb.load_state(tmp_path / "run")
    with pytest.raises(FileNotFoundError):
        pb.load_state(tmp_path / "none")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileFormatError):
        pb.load_state(tmp_path / "folder")


@pytest.mark.full
def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    text = f"""
        import numpy as np, pullback as pb
        i = 0
        while True:
            pb.save_state({str(tmp_path / "run")!r}, x=pb.tensor(np.full(50_000, float(i))), i=i)
            i += 1
            print(i, flush=True)
    """
    for saves in range(1, 8):
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE
        ) as process:
            for _ in range(saves):
                process.stdout.readline()
            process.kill()
        x = pb.tensor(np.zeros(50_000))
        i = pb.load_state(tmp_path / "run", x=x)["i"]
        assert i >= saves - 1
        assert (x.numpy() == i).all()


# Arrays on several devices -----------------------------------------------------------------------

SHARDED = """
    import os, sys
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    import jax, numpy as np, pullback as pb
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    from pullback import nn, optim

    path, form = sys.argv[1:]

    def made(devices, spec):
        place = NamedSharding(Mesh(np.array(jax.devices()[:devices]), ("d",)), spec)
        net = nn.Linear(8, 4)
        net.weight = nn.Parameter(jax.device_put(np.ones((4, 8), np.float32), place))
        net.bias = nn.Parameter(jax.device_put(np.ones(4, np.float32)))
        return net, optim.Adam(net.parameters(), lr=0.1), place

    def step(net, optimizer):
        optimizer.zero_grad()
        x = jax.numpy.linspace(0.0, 1.0, 16).reshape(2, 8)
        pb.sum(net(pb.tensor(x)) ** 2).backward()
        optimizer.step()

    net, optimizer, _ = made(4, P("d"))
    step(net, optimizer)
    pb.save_state(path, format=form, net=net, optimizer=optimizer, step=1)
    step(net, optimizer)
    for devices, spec in [(4, P("d")), (2, P(None, "d")), (4, P())]:
        other, adam, place = made(devices, spec)
        assert pb.load_state(path, net=other, optimizer=adam) == {"step": 1}
        weight = other.weight._data
        assert weight.sharding.is_equivalent_to(place, 2), weight.sharding
        slot = adam.state[other.weight]["exp_avg"]
        assert slot.sharding.is_equivalent_to(place, 2), slot.sharding
        step(other, adam)
        np.testing.assert_allclose(other.weight.numpy(), net.weight.numpy(), rtol=1e-6)
    net, optimizer, _ = made(1, P())
    pb.save_state(path, net=net)  # the format stays, with arrays on one device too
    assert pb.load_state(path, net=net) == {} and os.path.isdir(path) == (form == "orbax")
    print("the same")
"""


@pytest.mark.needs("jax")
@pytest.mark.parametrize("form", ["safetensors", pytest.param("orbax", marks=pytest.mark.full)])
def test_sharded_parameters_keep_their_devices(form: str, tmp_path: Path) -> None:
    if form == "orbax":
        need("orbax")
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SHARDED), str(tmp_path / "run"), form],
        capture_output=True, text=True, check=False,
    )
    assert told.stdout == "the same\n", told.stderr
