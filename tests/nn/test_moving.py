"""Modules on other libraries, devices and dtypes, and as functions of their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import nn, optim
from pullback.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError


def mlp(seed: int = 0) -> nn.Sequential:
    generator = pb.random.Generator(seed)
    return nn.Sequential(
        nn.Linear(3, 8, dtype="float64", generator=generator), nn.Tanh(),
        nn.Linear(8, 2, dtype="float64", generator=generator),
    )


def task(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((32, 3))
    return x, (x[:, 0] * x[:, 1] > 0).astype("int64")


def trained(net: nn.Module, x: Any, y: Any, steps: int = 20) -> list[float]:
    optimizer = optim.Adam(net.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = pb.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_an_mlp_on_torch_data_learns_what_it_learns_on_numpys(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    x, y = task(rng)
    plain, net = mlp(), mlp().to(like=torch.ones(1))
    assert all(isinstance(p.data, torch.Tensor) for p in net.parameters())
    wanted = trained(plain, x, y)
    found = trained(net, torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert found[-1] < 0.7 * found[0]
    net.to(like=np.ones(1))
    for p, q in zip(net.parameters(), plain.parameters(), strict=True):
        assert isinstance(p.data, np.ndarray)
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=0, atol=1e-9)


def test_an_mlp_inside_jit_learns_what_it_learns_outside(rng: np.random.Generator) -> None:
    """Its parameters are an argument, a dictionary of arrays."""
    jax = pytest.importorskip("jax")
    x, y = task(rng)
    net = mlp()

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return pb.cross_entropy(nn.functional_call(net, parameters, x), y)

    def step(parameters: Any, x: Any, y: Any) -> Any:
        value, slopes = pb.value_and_grad(loss)(parameters, x, y)
        return value.data, {k: p - 0.5 * slopes[k].data for k, p in parameters.items()}

    state = {name: p.numpy().copy() for name, p in net.named_parameters()}
    own = {name: value.copy() for name, value in state.items()}
    with jax.enable_x64(True):
        compiled, theirs = jax.jit(step), jax.tree.map(jax.numpy.asarray, state)
        for _ in range(10):
            first, state = step(state, x, y)
            found, theirs = compiled(theirs, jax.numpy.asarray(x), jax.numpy.asarray(y))
            np.testing.assert_allclose(found, first, rtol=1e-10)
        assert all(isinstance(p, jax.Array) for p in theirs.values())
    assert all(np.array_equal(p.numpy(), own[n]) for n, p in net.named_parameters())
    assert float(found) < float(loss(own, x, y).item())


class Net(nn.Module):
    """Everything that a module may have."""

    def __init__(self) -> None:
        self.weight = nn.Parameter(np.ones(2))
        self.also = self.weight
        self.scale = pb.Variable(np.ones(2), name="scale")
        self.table = pb.tensor([1, 2])
        self.phase = nn.Parameter(np.ones(2) * 1j)

    def forward(self, x: Any) -> Any:
        return x * self.weight * self.scale + pb.real(self.phase)


def test_a_dtype() -> None:
    net = Net()
    assert net.to(dtype="float32") is net
    assert net.weight is net.also
    assert [str(t.dtype) for _, t in net._tensors()] == [
        "float32", "float32", "float32", "int64", "complex128",
    ]
    net.to(dtype="complex64")
    assert [str(t.dtype) for t in (net.weight, net.table, net.phase)] == [
        "complex64", "int64", "complex64",
    ]
    with pytest.raises(DtypeError, match=r"argument `dtype` of Net\.to"):
        net.to(dtype="int64")
    assert net.weight.dtype == pb.complex64


def test_gradients_come_along_and_go_on_adding_up() -> None:
    torch = pytest.importorskip("torch")
    net = Net()
    x = np.array([2.0, 3.0])
    pb.sum(net(x)).backward()
    net.to(like=torch.ones(1))
    assert isinstance(net.weight.grad.data, torch.Tensor)
    pb.sum(net(torch.from_numpy(x))).backward()
    assert net.weight.grad.tolist() == [4.0, 6.0]
    with pb.GradientTape() as tape:
        y = pb.sum(net(torch.from_numpy(x)))
    assert tape.gradient(y, net.scale).tolist() == [2.0, 3.0]
    net.scale.assign_add(torch.ones(2, dtype=torch.float64))
    assert net.scale.tolist() == [2.0, 2.0]


def test_another_dtype_in_the_middle_of_a_step() -> None:
    """A graph that was recorded before gives gradients of the dtype that the parameter has now."""
    net = Net()
    loss = pb.sum(net(np.array([2.0, 3.0])))
    net.to(dtype="float32")
    loss.backward()
    assert net.weight.grad.dtype == pb.float32
    assert net.weight.grad.tolist() == [2.0, 3.0]


def test_the_memory_is_its_own() -> None:
    """Or steps of an optimizer would write to somebody else's."""
    torch = pytest.importorskip("torch")
    first, net = mlp(), mlp()
    before = [p.numpy() for p in net.parameters()]
    kept = [a.copy() for a in before]
    net.to(like=torch.ones(1))
    trained(net, torch.ones(4, 3, dtype=torch.float64), torch.tensor([0, 1, 1, 0]), steps=2)
    for a, b, p, q in zip(before, kept, first.parameters(), net.parameters(), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(p.numpy(), q.numpy())


def test_nothing_is_changed_by_an_error() -> None:
    net = mlp()
    data = [p.data for p in net.parameters()]
    with pytest.raises(ArgumentError, match="cpu"):
        net.to("cuda")
    assert all(p.data is d for p, d in zip(net.parameters(), data, strict=True))
    assert net.to("cpu") is net.to() is net


# functional_call ----------------------------------------------------------------------------


def test_the_module_stays_as_it_is_also_after_an_error() -> None:
    net = mlp()
    own = [p.data for p in net.parameters()]
    other = {name: p.numpy() * 2 for name, p in net.named_parameters()}
    x = np.ones((1, 3))
    assert not np.allclose(nn.functional_call(net, other, x).numpy(), net(x).numpy())
    with pytest.raises(ShapeError):
        nn.functional_call(net, other, np.ones((1, 4)))
    assert all(p.data is d for p, d in zip(net.parameters(), own, strict=True))


def test_gradients_of_gradients_in_parameters(rng: np.random.Generator) -> None:
    net = nn.Sequential(nn.Linear(2, 1, bias=False, dtype="float64"), pb.exp)
    x, w = rng.standard_normal((1, 2)), rng.standard_normal((1, 2))

    def out(w: Any) -> Any:
        return pb.sum(nn.functional_call(net, {"0.weight": w}, x))

    value = np.exp(w @ x.T).item()
    np.testing.assert_allclose(pb.grad(out)(w).numpy(), value * x)
    found = pb.jacrev(pb.grad(out))(w).numpy().reshape(2, 2)
    np.testing.assert_allclose(found, value * x.T @ x)


@pytest.mark.parametrize(("values", "family", "words"), [
    ({"wait": np.ones(2)}, ArgumentError, r"(?s)'wait' of functional_call.*weight"),
    ({"weight": np.ones(3)}, ShapeError, r"shape \(2,\)"),
    ({"weight": [1.0, 2.0]}, ArgumentTypeError, "a list"),
    ({"scale": np.ones(2)}, ArgumentError, "a Variable"),
])
def test_values_that_do_not_fit(values: Any, family: type[Exception], words: str) -> None:
    with pytest.raises(family, match=words):
        nn.functional_call(Net(), values, np.ones(2))
