"""Optimizers and schedulers, twenty steps at a time, as PyTorch's go."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import pullback.torch as ours

theirs = pytest.importorskip("torch")

CASES = [
    ("SGD", {"lr": 0.05}), ("SGD", {"lr": 1e-3, "momentum": 0.9, "maximize": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.4, "foreach": False}),
    ("Adam", {"lr": 0.05}), ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "maximize": True}), ("AdamW", {"lr": 0.05, "weight_decay": 0.3}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.8, "maximize": True}),
    ("Adagrad", {"lr": 0.3}),
    ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.1, "maximize": True,
                 "initial_accumulator_value": 0.5}),
    ("Adadelta", {"lr": 0.7}), ("Adadelta", {"rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.05}), ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05}), ("NAdam", {"lr": 0.05, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.05}), ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.9)}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Rprop", {"lr": 0.05}), ("Rprop", {"lr": 0.05, "etas": (0.3, 1.5), "step_sizes": (0.01, 0.2)}),
]
IDS = [name + "".join(f" {k}={v}" for k, v in options.items()) for name, options in CASES]


def parameters(t, seed=0):
    rng = np.random.default_rng(seed)
    return [t.tensor(rng.normal(size=s), requires_grad=True) for s in ((3,), (2, 4), ())]


def loss_of(t, params):
    x, y, z = params
    return ((x - 1) ** 4).sum() + (t.sin(y) * z).sum() + (z - 2) ** 2


@pytest.fixture
def exact():
    """PyTorch keeps some numbers of its optimizers in the default dtype."""
    theirs.set_default_dtype(theirs.float64)
    yield
    theirs.set_default_dtype(theirs.float32)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_twenty_steps(name, options, exact):
    found = []
    for t in (ours, theirs):
        params = parameters(t)
        optimizer = getattr(t.optim, name)(params, **options)
        for step in range(20):
            optimizer.zero_grad()
            loss = loss_of(t, params)
            loss.backward()
            optimizer.step()
            if step == 9:  # go on in another one
                state = copy.deepcopy(optimizer.state_dict())
                optimizer = getattr(t.optim, name)(params, lr=7.0)
                optimizer.load_state_dict(state)
        found.append([p.detach().numpy() for p in params])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [
    {}, {"lr": 0.1, "max_iter": 4}, {"line_search_fn": "strong_wolfe"}, {"history_size": 2},
    {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 5, "lr": 0.5},
    {"line_search_fn": "strong_wolfe", "max_eval": 6, "tolerance_change": 1e-5},
], ids=str)
def test_lbfgs(options):
    found = []
    for t in (ours, theirs):
        params = [t.tensor(v, dtype=t.float64, requires_grad=True) for v in ([-1.2, 1.0], [0.3])]
        optimizer, calls, losses = t.optim.LBFGS(params, **options), [], []

        def closure(t=t, params=params, optimizer=optimizer, calls=calls):
            calls.append(1)
            optimizer.zero_grad()
            x, y = params
            loss = 20 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 + ((y - x[:1]) ** 4).sum()
            loss.backward()
            return loss

        for step in range(4):
            losses.append(optimizer.step(closure).item())
            if step == 1:
                state = copy.deepcopy(optimizer.state_dict())
                optimizer = t.optim.LBFGS(params, **options)
                optimizer.load_state_dict(state)
        found.append([*losses, len(calls), *params[0].tolist(), *params[1].tolist()])
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)


def scheduled(t, make, steps=25, groups=1, optimizer="SGD", **options):
    params = [t.tensor(1.0, requires_grad=True) for _ in range(groups)]
    given = [{"params": [p], "lr": 0.4 / (i + 1)} for i, p in enumerate(params)]
    made = getattr(t.optim, optimizer)(given, lr=0.4, **options)
    scheduler = make(t.optim.lr_scheduler, made)
    rates = [[g["lr"] for g in made.param_groups]]
    for n in range(steps):
        made.step()
        if "Plateau" in type(scheduler).__name__:
            scheduler.step(t.tensor([3.0, 2.0, 2.0, 1.99, 2.5, 2.5, 1.0][n % 7] + (n > 8)))
        else:
            scheduler.step()
        rates.append([g["lr"] for g in made.param_groups])
        assert list(scheduler.get_last_lr()) == rates[-1]
    momenta = [(g.get("momentum"), g.get("betas")) for g in made.param_groups]
    return rates, momenta


SCHEDULERS = {
    "StepLR": lambda s, o: s.StepLR(o, 4, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 7, 7, 20], gamma=0.3),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda n: 0.95**n),
    "LambdaLR list": lambda s, o: s.LambdaLR(o, [lambda n: 1 / (n + 1), lambda n: n]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda n: 0.9 if n % 2 else 1.0),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 6),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, 0.7, total_iters=9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 12, power=2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, T_max=8, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.9, total_steps=26),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, [0.9, 0.1], epochs=13, steps_per_epoch=2, anneal_strategy="linear", three_phase=True,
        pct_start=0.4),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 3)], [3, 11]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9)]),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, patience=2, factor=0.5, cooldown=1),
    "ReduceLROnPlateau max": lambda s, o: s.ReduceLROnPlateau(
        o, "max", 0.3, 1, threshold=0.5, threshold_mode="abs", min_lr=[0.05, 0.01]),
}


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates(name, optimizer):
    options = {"momentum": 0.5} if optimizer == "SGD" else {}
    found = [
        scheduled(t, SCHEDULERS[name], groups=2, optimizer=optimizer, **options)
        for t in (ours, theirs)
    ]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    for mine, other in zip(found[0][1], found[1][1], strict=True):
        assert (mine[0] or 0) == pytest.approx(other[0] or 0)
        assert (mine[1] or ()) == pytest.approx(other[1] or ())


@pytest.mark.parametrize("name", ["StepLR", "LambdaLR", "SequentialLR", "ReduceLROnPlateau"])
def test_a_schedule_goes_on_from_its_state(name, torch):
    def made():
        p = torch.tensor(1.0, requires_grad=True)
        optimizer = torch.optim.SGD([p], lr=0.4)
        return optimizer, SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)

    def go(optimizer, scheduler, steps):
        rates = []
        for n in range(steps):
            optimizer.step()
            scheduler.step(3.0 + n) if name.startswith("Reduce") else scheduler.step()
            rates.append(optimizer.param_groups[0]["lr"])
        return rates

    one, other = made(), made()
    go(*one, 5)
    other[0].load_state_dict(one[0].state_dict())
    other[1].load_state_dict(one[1].state_dict())
    assert go(*one, 9) == go(*other, 9)


def test_an_optimizer_of_ones_own(torch):
    class Heavy(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr, "drag": 0.5})

        @torch.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["speed"] = torch.zeros_like(p)
                    state["speed"].mul_(group["drag"]).add_(p.grad)
                    p.add_(state["speed"], alpha=-group["lr"])
            return loss

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = Heavy([{"params": [x], "label": "x"}])

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    assert [optimizer.step(closure).item() for _ in range(2)] == pytest.approx([5.0, 3.2])
    state = optimizer.state_dict()
    assert state["param_groups"][0]["label"] == "x"
    again = Heavy([x])
    again.load_state_dict(state)
    assert again.state[x]["speed"].tolist() == pytest.approx(optimizer.state[x]["speed"].tolist())


def test_groups_names_hooks_and_closures(torch):
    torch.manual_seed(0)  # a loss near 0 has no relative accuracy
    net = torch.nn.Linear(2, 1)
    assert len(torch.optim.SGD(net.named_parameters(), lr=0.1).param_groups[0]["params"]) == 2
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    assert [len(g["params"]) for g in optimizer.param_groups] == [2]
    optimizer.add_param_group({"params": torch.ones(1, requires_grad=True), "lr": 0.5})
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))

    def closure():
        optimizer.zero_grad(set_to_none=False)
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
        return loss

    before = closure().item()
    assert optimizer.step(closure).item() == pytest.approx(before)
    assert closure().item() == pytest.approx(before - 0.3)
    handle.remove()
    optimizer.step()
    assert seen == ["pre", "post", "pre"]
    assert net.weight.grad is not None
    optimizer.zero_grad()
    assert net.weight.grad is None
    with pytest.raises(ValueError, match=r"lr|learning rate"):
        torch.optim.SGD(net.parameters(), lr=-1.0)
    with pytest.raises(TypeError):
        torch.optim.SGD(net.weight, lr=0.1)
    with pytest.raises(ValueError, match=r"empty|some parameters"):
        torch.optim.Adam([], lr=0.1)
    with pytest.raises(ValueError, match="parameter"):
        torch.optim.Adam(list(net.parameters())).load_state_dict(
            torch.optim.Adam([net.weight]).state_dict()
        )
