"""What a module has, what is done with it, and its hooks."""

from __future__ import annotations

import copy
from collections import OrderedDict

import numpy as np
import pytest


def net_of(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
            self.head = torch.nn.Linear(4, 2)
            self.scale = torch.nn.Parameter(torch.ones(1))
            self.plain = torch.ones(2)
            self.hidden = [torch.nn.Linear(1, 1)]
            self.register_buffer("seen", torch.zeros(1))
            self.register_buffer("volatile", torch.zeros(1), persistent=False)
            self.register_parameter("none", None)

        def forward(self, x, times=1):
            return self.head(self.body(x)) * self.scale * times

        def extra_repr(self):
            return "mine"

    return Net()


def test_what_it_has(torch):
    net = net_of(torch)
    names = ["scale", "body.0.weight", "body.0.bias", "head.weight", "head.bias"]
    assert [n for n, _ in net.named_parameters()] == names
    assert [n for n, _ in net.named_parameters(prefix="m", recurse=False)] == ["m.scale"]
    assert [n for n, _ in net.named_buffers()] == ["seen", "volatile"]
    assert [n for n, _ in net.named_children()] == ["body", "head"]
    assert [n for n, _ in net.named_modules()] == ["", "body", "body.0", "body.1", "head"]
    assert len(list(net.parameters())) == 5
    assert next(iter(net.children())) is net.body
    assert net.none is None
    assert list(net.state_dict()) == ["scale", "seen", *names[1:]]
    assert net.get_submodule("body.0") is net.body[0]
    assert net.get_parameter("body.0.bias") is net.body[0].bias
    assert net.get_buffer("seen") is net.seen
    assert "scale" in dir(net)
    net.tied = net.head
    assert len(list(net.parameters())) == 5
    assert len(list(net.named_modules(remove_duplicate=False))) == 6
    assert "tied.weight" in net.state_dict()
    with pytest.raises(AttributeError):
        _ = net.absent
    with pytest.raises(AttributeError):
        net.get_submodule("body.9")
    assert repr(net_of(torch)) == (
        "Net(\n  mine\n  (body): Sequential(\n    (0): Linear(in_features=3, out_features=4, "
        "bias=True)\n    (1): Tanh()\n  )\n  (head): Linear(in_features=4, out_features=2, "
        "bias=True)\n)"
    )


def test_attributes(torch):
    nn = torch.nn
    module = nn.Module()
    module.p = nn.Parameter(torch.ones(1))
    with pytest.raises(TypeError):
        module.p = torch.ones(1)
    module.p = None
    assert [*module.parameters()] == []
    module.p = nn.Parameter(torch.zeros(2))
    assert len([*module.parameters()]) == 1
    with pytest.raises(TypeError):
        module.p = nn.Linear(1, 1)
    del module.p
    module.p = nn.Linear(1, 1)
    assert [n for n, _ in module.named_parameters()] == ["p.weight", "p.bias"]
    del module.p
    assert not hasattr(module, "p")
    module.b = nn.Buffer(torch.ones(2), persistent=False)
    module.b = torch.zeros(3)
    assert [b.shape[0] for b in module.buffers()] == [3]
    assert module.state_dict() == {}
    module.add_module("inner", nn.Identity())
    module.register_module("other", None)
    for call in (
        lambda: module.register_buffer("a.b", torch.ones(1)),
        lambda: module.register_buffer("inner", torch.ones(1)),
        lambda: module.add_module("", nn.Identity()),
    ):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(TypeError):
        module.register_parameter("q", torch.ones(1))
    with pytest.raises(NotImplementedError):
        module(1)

    class Early(nn.Module):
        def __init__(self):
            self.p = nn.Parameter(torch.ones(1))

    with pytest.raises(AttributeError, match="before Module"):
        Early()


def test_modes_dtypes_gradients(torch):
    net = net_of(torch)
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    net.train()
    assert net.body.training
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Tanh", "Sequential", "Linear", "Net"]
    weight = net.head.weight
    net(torch.ones(2, 3)).sum().backward()
    assert net.double() is net
    assert net.head.weight is weight
    assert weight.dtype == weight.grad.dtype == net.seen.dtype == torch.float64
    net.to(torch.float32).to("cpu")
    assert net.to(torch.ones(1, dtype=torch.float64)).scale.dtype == torch.float64
    assert net.half().scale.dtype == torch.float16
    assert net.float().scale.dtype == torch.float32
    with pytest.raises(TypeError):
        net.to(torch.int64)
    net.zero_grad(set_to_none=False)
    assert float(weight.grad.abs().sum()) == 0
    net.zero_grad()
    assert weight.grad is None
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    assert len(list(net.parameters())) == 5
    norm = torch.nn.BatchNorm1d(2).double()
    assert norm.num_batches_tracked.dtype == torch.int64


def test_states(torch):
    net, other = net_of(torch), net_of(torch)
    answer = other.load_state_dict(net.state_dict())
    assert (answer.missing_keys, answer.unexpected_keys) == ([], [])
    assert repr(answer) == "<All keys matched successfully>"
    assert torch.equal(net.head.weight, other.head.weight)
    state = net.state_dict()
    state["head.weight"].fill_(7.0)
    assert float(net.head.weight[0, 0].detach()) == 7.0
    assert not state["head.weight"].requires_grad
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert next(iter(net.head.state_dict(prefix="h."))) == "h.weight"
    part = {k: v for k, v in state.items() if k != "head.bias"} | {"extra": torch.ones(1)}
    with pytest.raises(RuntimeError, match=r"head\.bias"):
        other.load_state_dict(part)
    answer = other.load_state_dict(part, strict=False)
    assert (answer.missing_keys, answer.unexpected_keys) == (["head.bias"], ["extra"])
    assert float(other.head.weight[0, 0].detach()) == 7.0
    with pytest.raises(RuntimeError):
        other.load_state_dict({**state, "scale": torch.ones(5)}, strict=False)
    other.load_state_dict(copy.deepcopy(state), assign=True)
    assert isinstance(other.head.weight, torch.nn.Parameter)
    double = net_of(torch).double()
    double.load_state_dict(state)
    assert double.scale.dtype == torch.float64


def test_states_with_something_else(torch):
    class Counted(torch.nn.Linear):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    one, other = Counted(1, 1), Counted(1, 1)
    one.count = 5
    calls = []
    one.register_state_dict_post_hook(lambda m, s, prefix, meta: calls.append(prefix))
    other.register_load_state_dict_post_hook(lambda m, keys: calls.append(keys.missing_keys))
    other.load_state_dict(one.state_dict())
    assert other.count == 5
    assert calls == ["", []]


def test_copies(torch):
    net = net_of(torch)
    other = copy.deepcopy(net)
    assert other.head.weight is not net.head.weight
    assert torch.equal(other.head.weight, net.head.weight)
    assert [n for n, _ in other.named_parameters()] == [n for n, _ in net.named_parameters()]
    other(torch.ones(1, 3)).sum().backward()
    assert other.scale.grad is not None
    assert net.scale.grad is None


def test_forward_hooks(torch):
    net, seen = net_of(torch), []
    before = net.register_forward_pre_hook(lambda m, args: seen.append("pre") or (args[0] * 0,))
    after = net.register_forward_hook(lambda m, args, out: seen.append("post") or out + 1)
    net.register_forward_pre_hook(lambda m, args, kwargs: (args, {"times": 0}), with_kwargs=True)
    net.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True,
                              prepend=True)
    out = net(torch.ones(1, 3), times=5)
    assert seen == ["pre", {"times": 0}, "post"]
    assert out.tolist() == [[1.0, 1.0]]
    before.remove()
    after.remove()
    assert net(torch.ones(1, 3)).tolist() == [[0.0, 0.0]]
    failed = torch.nn.Module()
    failed.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(NotImplementedError):
        failed(1)
    assert seen[-1] is None


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_full_backward_hooks(torch):
    layer, seen = torch.nn.Linear(2, 1, bias=False), []
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[2.0, 3.0]]))

    def hook(module, grad_input, grad_output):
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    pre = layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))
    layer.register_full_backward_hook(hook)
    x = torch.tensor([[1.0, 1.0]], requires_grad=True)
    layer(x).sum().backward()
    assert seen == [([[4.0, 6.0]], [[2.0]])]
    assert x.grad.tolist() == [[40.0, 60.0]]
    assert layer.weight.grad.tolist() == [[2.0, 2.0]]
    pre.remove()
    watched = torch.nn.Linear(2, 1)
    watched.register_full_backward_hook(lambda m, i, o: seen.append((i, o[0].tolist())))
    watched(torch.ones(1, 2)).sum().backward()
    assert seen[-1] == ((None,), [[1.0]])


def test_containers(torch):
    nn = torch.nn
    body = nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.ReLU()))
    assert [n for n, _ in body.named_children()] == ["a", "b"]
    body.append(nn.Linear(3, 1))
    assert len(body) == 3
    assert isinstance(body[-1], nn.Linear)
    assert len(body[:2]) == 2
    del body[1]
    body[0] = nn.Linear(2, 3)
    assert body(torch.ones(4, 2)).shape == (4, 1)
    listed = nn.ModuleList([nn.Linear(1, 1)])
    listed.extend([nn.ReLU(), nn.Tanh()]).insert(0, nn.Identity())
    listed += [nn.GELU()]
    assert [type(m).__name__ for m in listed] == ["Identity", "Linear", "ReLU", "Tanh", "GELU"]
    assert isinstance(listed.pop(1), nn.Linear)
    assert len(listed[1:3]) == 2
    with pytest.raises(IndexError):
        listed[9]
    named = nn.ModuleDict({"x": nn.Linear(1, 1)})
    named["y"] = nn.ReLU()
    named.update([("z", nn.Tanh())])
    assert list(named) == list(named.keys()) == ["x", "y", "z"]
    assert "y" in named
    assert isinstance(named.pop("x"), nn.Linear)
    assert len(named) == 2
    weights = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1))])
    weights.append(torch.ones(3))
    assert [tuple(p.shape) for p in weights] == [(2,), (1,), (3,)]
    assert len(list(weights.parameters())) == 3
    assert list(weights.state_dict()) == ["0", "1", "2"]
    table = nn.ParameterDict({"left": torch.ones(2)})
    table["right"] = torch.zeros(1)
    assert [n for n, _ in table.named_parameters()] == ["left", "right"]
    assert isinstance(table["left"], nn.Parameter)
    assert "right" in table
    assert table.pop("left").shape == (2,)
    assert table.get("left") is None


SHAPES = {"eye_": (3, 4), "dirac_": (4, 2, 3), "ones_": (2, 3), "zeros_": (2, 3)}


@pytest.mark.parametrize("name", SHAPES)
def test_first_values_that_are_certain(name):
    import pullback.torch as ours

    theirs = pytest.importorskip("torch")
    one, other = (getattr(t.nn.init, name)(t.empty(SHAPES[name])) for t in (ours, theirs))
    np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert ours.nn.init.calculate_gain("leaky_relu", 0.3) == theirs.nn.init.calculate_gain(
        "leaky_relu", 0.3)


def test_first_values_that_are_drawn(torch):
    init, big = torch.nn.init, (200, 300)

    def spread(fill, **how):
        return float(fill(torch.empty(*big), **how).std())

    assert spread(init.xavier_uniform_, gain=2.0) == pytest.approx(2 * (2 / 500) ** 0.5, rel=0.03)
    assert spread(init.xavier_normal_) == pytest.approx((2 / 500) ** 0.5, rel=0.03)
    assert spread(init.kaiming_uniform_, a=5**0.5) == pytest.approx(1 / 30, rel=0.03)
    assert spread(init.kaiming_normal_, mode="fan_out", nonlinearity="relu") == pytest.approx(
        0.1, rel=0.03)
    assert spread(init.trunc_normal_, std=1.0, a=-1.0, b=1.0) == pytest.approx(0.54, rel=0.03)
    assert spread(init.normal_, mean=3.0, std=0.5) == pytest.approx(0.5, rel=0.03)
    assert spread(init.uniform_, a=-1.0, b=1.0) == pytest.approx(3**-0.5, rel=0.03)
    q = init.orthogonal_(torch.empty(3, 5, dtype=torch.float64), gain=2.0)
    np.testing.assert_allclose((q @ q.T).numpy(), 4 * np.eye(3), atol=1e-12)
    sparse = init.sparse_(torch.empty(10, 4), sparsity=0.25)
    assert ((sparse == 0).sum(0) == 3).all()
    p = torch.nn.Parameter(torch.empty(2))
    assert init.constant_(p, 3.0) is p
    assert p.tolist() == [3.0, 3.0]


def test_gradients_kept_small(torch):
    u = torch.nn.utils
    x, y = (torch.tensor([v], requires_grad=True) for v in (3.0, 4.0))
    ((x * x + y * y) / 2).sum().backward()
    g = x.grad
    assert u.get_total_norm([x.grad, y.grad]).item() == 5.0
    assert u.clip_grad_norm_([x, y], 1.0).item() == 5.0
    assert x.grad is g
    assert g.item() == pytest.approx(0.6, rel=1e-5)
    u.clip_grad_value_([x, y], 0.7)
    assert y.grad.item() == pytest.approx(0.7)
    assert u.clip_grad_norm_([x, y], 9.0, norm_type=float("inf")).item() == pytest.approx(0.7)
    x.grad[0] = float("nan")
    with pytest.raises(RuntimeError):
        u.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)


def test_vectors_and_sequences(torch):
    u, net = torch.nn.utils, torch.nn.Linear(2, 1)
    vector = u.parameters_to_vector(net.parameters())
    assert vector.shape == (3,)
    assert vector.requires_grad
    u.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), net.parameters())
    assert (net.weight.tolist(), net.bias.tolist()) == ([[1.0, 2.0]], [3.0])
    padded = u.rnn.pad_sequence([torch.ones(2), torch.ones(3)], padding_value=7.0)
    assert padded.tolist() == [[1, 1], [1, 1], [7, 1]]
    back = u.rnn.unpad_sequence(padded, torch.tensor([2, 3]))
    assert [len(s) for s in back] == [2, 3]


def test_weights_that_are_computed(torch):
    nn, p = torch.nn, torch.nn.utils.parametrizations
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().clone()
    p.weight_norm(layer)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before.numpy(), rtol=1e-6)
    layer(torch.ones(1, 3)).sum().backward()
    names = [n for n, _ in layer.named_parameters()]
    assert names == ["bias", "parametrizations.weight.original0",
                     "parametrizations.weight.original1"]
    assert layer.parametrizations.weight.original0.grad is not None
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert not nn.utils.parametrize.is_parametrized(layer)
    assert [n for n, _ in layer.named_parameters()] == ["bias", "weight"]
    bounded = p.spectral_norm(nn.Linear(4, 3), n_power_iterations=30)
    largest = np.linalg.svd(bounded.weight.detach().numpy())[1][0]
    assert largest == pytest.approx(1.0, rel=1e-3)
