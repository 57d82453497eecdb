"""What a module has, what it saves, what it prints."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest

import pullback as pb
from pullback import nn, optim
from pullback.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError


class Net(nn.Module):
    def __init__(self):
        self.scale = pb.Variable(2.0, name="scale")
        self.frozen = pb.Variable(1.0, trainable=False)
        self.shift = pb.tensor([0.5], requires_grad=True)
        self.table = pb.tensor([1, 2, 3])
        self.blocks = [nn.Linear(3, 3), {"last": nn.Linear(3, 2, bias=False)}]
        self.also = self.blocks[0]
        self.tied = self.blocks[0].weight
        self._cache = pb.ones(3)
        self.latest = self.shift * 2.0
        self.size = 3

    def forward(self, x):
        return self.blocks[1]["last"](self.blocks[0](x)) * self.scale + self.shift


PARAMETERS = ["scale", "shift", "tied", "blocks.0.bias", "blocks.1.last.weight"]


def test_what_belongs_to_it():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == PARAMETERS
    assert [n for n, _ in net.named_buffers()] == ["frozen", "table"]
    assert [n for n, _ in net.named_modules()] == ["", "blocks.0", "blocks.1.last"]
    assert list(net.state_dict()) == [
        "scale", "frozen", "shift", "table", "tied", "blocks.0.weight", "blocks.0.bias",
        "blocks.1.last.weight",
    ]
    assert len(net.children()) == 3  # `also` is another name of one
    assert len(net.modules()) == 3


def test_a_module_that_knows_its_parent():
    net = Net()
    net.blocks[0].parent = net
    assert [n for n, _ in net.named_parameters()] == PARAMETERS


def test_its_parts_by_name():
    net = Net()
    assert [n for n, _ in net.named_children()] == ["blocks.0", "blocks.1.last", "also"]
    assert [n for n, _ in net.named_parameters("m", recurse=False)] == ["m.scale", "m.shift",
                                                                        "m.tied"]
    assert net.get_submodule("") is net
    assert net.get_submodule("blocks.1.last") is net.blocks[1]["last"]
    assert net.get_parameter("blocks.0.bias") is net.blocks[0].bias
    assert net.get_buffer("table") is net.table
    seen = []
    assert net.apply(seen.append) is net
    assert seen[-1] is net
    assert {*map(id, seen)} == {*map(id, net.modules())}
    for call in (net.get_submodule, net.get_parameter, net.get_buffer):
        with pytest.raises(AttributeError, match=r"blocks\.7"):
            call("blocks.7")


def test_its_hooks():
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.load_state_dict({"weight": np.array([[3.0, 5.0]])})
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 2.0,))
    layer.register_full_backward_hook(lambda module, ins, outs: seen.append((ins, outs)))
    x = pb.tensor(np.ones((1, 2), "float32"), requires_grad=True)
    with layer.register_forward_hook(lambda module, args, out: out + 1.0):
        out = layer(x)
        assert out.tolist() == [[17.0]]
    pb.sum(out).backward()
    assert x.grad.tolist() == [[6.0, 10.0]]
    ((ins, outs),) = seen
    assert (ins[0].tolist(), outs[0].tolist()) == ([[3.0, 5.0]], [[1.0]])
    assert layer(x).tolist() == [[16.0]]
    assert not nn.Linear(2, 1)._hooks


def test_both_lives_train_it(rng):
    net, x = Net(), pb.tensor(rng.normal(size=(4, 3)).astype("float32"))
    with pb.GradientTape() as tape:
        loss = pb.sum(net(x))
    assert all(g is not None for g in tape.gradient(loss, net.parameters()))
    net.scale.requires_grad_()
    pb.sum(net(x)).backward()
    assert all(p.grad is not None for p in net.parameters())
    before = net.state_dict()
    optim.SGD(net.parameters(), lr=0.1).step()
    changed = [n for n, v in net.state_dict().items() if not np.array_equal(v.data, before[n].data)]
    assert set(changed) == {*PARAMETERS, "blocks.0.weight"}
    net.zero_grad(set_to_none=False)
    assert not any(np.any(p.grad.numpy()) for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_freezing():
    layer = nn.Linear(2, 2)
    layer.requires_grad_(False)
    assert not layer(pb.ones((1, 2), dtype="float32")).requires_grad
    assert len(layer.parameters()) == 2
    layer.requires_grad_()
    assert layer(pb.ones((1, 2), dtype="float32")).requires_grad


def test_train_and_eval():
    net = nn.Sequential(nn.Dropout(), nn.Sequential(nn.BatchNorm(2)))
    assert {m.training for m in net.modules()} == {True}
    assert net.eval() is net
    assert {m.training for m in net.modules()} == {False}
    net.train()
    assert {m.training for m in net.modules()} == {True}


def test_a_parameter():
    array = np.ones(2)
    p = nn.Parameter(array)
    optim.SGD([p], lr=1.0).step([[1.0, 1.0]])
    assert array.tolist() == [1.0, 1.0]
    assert type(p * 2.0) is pb.Tensor
    with pb.GradientTape() as tape:
        y = pb.sum(p * 3.0)
    assert tape.gradient(y, p).tolist() == [3.0, 3.0]
    other = copy.deepcopy(p)
    assert isinstance(other, nn.Parameter)
    with pb.GradientTape() as tape:
        y = pb.sum(other * 3.0)
    assert tape.gradient(y, other).tolist() == [3.0, 3.0]
    assert not nn.Parameter([1, 2], requires_grad=False).requires_grad
    with pytest.raises(DtypeError):
        nn.Parameter([1, 2])


def test_a_deep_copy_is_independent():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm(2))
    other = copy.deepcopy(net)
    optim.SGD(other.parameters(), lr=1.0).step([np.ones(p.shape) for p in other.parameters()])
    assert all(
        not np.array_equal(p.numpy(), q.numpy())
        for p, q in zip(net.parameters(), other.parameters(), strict=True)
    )


def test_a_snapshot_stays_and_comes_back(rng):
    net, other = Net(), Net()
    saved = net.state_dict()
    params = net.parameters()
    optim.SGD(params, lr=1.0).step([rng.normal(size=p.shape) for p in params])
    assert saved["shift"].tolist() == [0.5]
    assert other.load_state_dict(saved) == ([], [])
    for name, value in other.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), saved[name].numpy())
    assert other.shift.requires_grad
    assert other.tied is other.blocks[0].weight


def test_loading_errors_change_nothing():
    net = nn.Linear(2, 3)
    good = net.state_dict()
    with pytest.raises(ArgumentError, match=r"missing bias; unexpected biass[^?]*'bias'\?"):
        net.load_state_dict({"weight": good["weight"], "biass": good["bias"]})
    with pytest.raises(ShapeError, match="'weight'"):
        net.load_state_dict({**good, "bias": good["bias"] + 1.0, "weight": np.ones((3, 3))})
    with pytest.raises(DtypeError, match="complex"):
        net.load_state_dict({**good, "weight": np.ones((3, 2)) * 1j})
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), good[name].numpy())
    found = net.load_state_dict({"weight": np.ones((3, 2)), "other": 1.0}, strict=False)
    assert found == (["bias"], ["other"])
    assert net.weight.numpy().sum() == 6.0
    assert net.weight.dtype == np.float32


def test_repr():
    net = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Dropout(0.1)))
    assert repr(net).splitlines() == [
        "Sequential(",
        "  (0): Linear(3, 4, bias=True)",
        "  (1): Sequential(",
        "    (0): ReLU()",
        "    (1): Dropout(p=0.1)",
        "  )",
        ")",
    ]
    assert repr(nn.Conv2d(3, 4, 5, stride=2)) == "Conv2d(3, 4, size=(5, 5), stride=2)"


def test_a_module_without_forward():
    class Empty(nn.Module):
        pass

    with pytest.raises(ArgumentTypeError, match="forward"):
        Empty()(1.0)


@pytest.mark.parametrize("make", [nn.init.glorot_uniform, nn.init.kaiming_uniform])
def test_uniform_first_values(make):
    shape = (40, 30, 3, 3)
    bound = np.sqrt(6 / (270 + 360 if make is nn.init.glorot_uniform else 270))
    values = make(shape, generator=pb.random.Generator(0)).numpy()
    assert values.dtype == np.float32
    assert abs(values).max() <= bound
    np.testing.assert_allclose(values.std(), bound / np.sqrt(3), rtol=0.02)


@pytest.mark.parametrize(("make", "fan"), [(nn.init.glorot_normal, 630), (nn.init.he_normal, 270)])
def test_normal_first_values(make, fan):
    values = make((40, 30, 3, 3), generator=pb.random.Generator(0), dtype="float64").numpy()
    assert values.dtype == np.float64
    np.testing.assert_allclose([values.mean(), values.std() * np.sqrt(fan)], [0, np.sqrt(2)],
                               rtol=0.02, atol=0.01)


def test_first_values_are_repeatable_and_checked():
    one, two = (nn.Linear(3, 2, generator=pb.random.Generator(1)) for _ in range(2))
    np.testing.assert_array_equal(one.weight.numpy(), two.weight.numpy())
    assert nn.init.constant((2,), 0.5).tolist() == [0.5, 0.5]
    out = nn.init.kaiming_uniform((40, 30), mode="fan_out", generator=pb.random.Generator(0))
    assert abs(out.numpy()).max() <= np.sqrt(6 / 40)
    with pytest.raises(ShapeError, match="2 axes"):
        nn.init.he_normal((3,))
    with pytest.raises(ArgumentError, match="fan_in"):
        nn.init.he_normal((3, 2), mode="both")


def test_saving(tmp_path, rng):
    net, other, path = Net(), Net(), tmp_path / "net.safetensors"
    nn.save(net, path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    other.load_state_dict(nn.load(path))
    for name, value in other.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), net.state_dict()[name].numpy())
    columns = np.asfortranarray(rng.normal(size=(3, 4)))
    nn.save({"columns": columns, "stepped": columns[::2], "point": pb.tensor(1.5)}, path)
    found = nn.load(path)
    np.testing.assert_array_equal(found["columns"].numpy(), columns)
    np.testing.assert_array_equal(found["stepped"].numpy(), columns[::2])
    assert found["point"].shape == ()


def test_saving_errors(tmp_path):
    path = tmp_path / "net.safetensors"
    nn.save({"x": np.ones(2)}, path)
    with pytest.raises(DtypeError, match="str128"):
        nn.save({"x": np.array(["text"])}, path)
    assert nn.load(path)["x"].tolist() == [1.0, 1.0]
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ArgumentTypeError, match="a module or a dictionary"):
        nn.save([1.0], path)
    with pytest.raises(ArgumentTypeError, match="strings"):
        nn.save({1: np.ones(2)}, path)
    with pytest.raises(FileNotFoundError):
        nn.load(tmp_path / "none")


def test_pickles_are_refused(tmp_path):
    import pickle

    path = tmp_path / "net.pkl"
    path.write_bytes(pickle.dumps({"x": np.ones(2)}))
    with pytest.raises(ArgumentError, match="pickles are not read"):
        nn.load(path)


def test_without_safetensors(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install pullback\[save\]"):
        nn.save({}, tmp_path / "x")
