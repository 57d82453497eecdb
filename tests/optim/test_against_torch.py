"""The formulas are PyTorch's: the same problem, twenty steps, equal to the last digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import optim

torch = pytest.importorskip("torch")

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.5, 0.7), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "betas": (0.5, 0.7), "amsgrad": True}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.05, "alpha": 0.6, "eps": 1e-3, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.05, "momentum": 0.8}),
    ("RMSprop", {"lr": 0.05, "alpha": 0.6, "momentum": 0.8, "centered": True}),
]
SHAPES = [(), (3,), (4, 5), (2, 0)]


def each(cases: Any) -> Any:
    names = [name + "".join(f" {k}={v}" for k, v in o.items()) for name, o in cases]
    return pytest.mark.parametrize(("name", "options"), cases, ids=names)


def twins(kind: str, rng: np.random.Generator, dtype: str) -> tuple[list[Any], list[Any]]:
    values = [rng.normal(size=s).astype(dtype) for s in SHAPES]
    if dtype.startswith("complex"):
        values = [v + 1j * rng.normal(size=v.shape) for v in values]
    theirs = [torch.tensor(v, requires_grad=True) for v in values]
    if kind == "variable":
        return [pb.Variable(v) for v in values], theirs
    return [pb.tensor(v.copy(), requires_grad=True) for v in values], theirs


@each(CASES)
@pytest.mark.parametrize("kind", ["tensor", "variable"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_twenty_steps(name, options, kind, dtype, rng):
    params, theirs = twins(kind, rng, dtype)
    ours = getattr(optim, name)(params, **options)
    reference = getattr(torch.optim, name)(theirs, **options)
    for step in range(20):
        grads = [rng.normal(size=s).astype(dtype) for s in SHAPES]
        if dtype == "complex128":
            grads = [g + 1j * rng.normal(size=g.shape) for g in grads]
        given: list[Any] = list(grads)
        if step % 7 == 3:
            given[1] = None  # a parameter without gradient is left alone
        ours.step(given)
        for p, g in zip(theirs, given, strict=True):
            p.grad = None if g is None else torch.tensor(g)
        reference.step()
    for p, q in zip(params, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-12, atol=1e-12)


@each(CASES[:1] + CASES[5:6])
def test_options_of_groups(name, options, rng):
    params, theirs = twins("tensor", rng, "float64")
    own = {"lr": 0.2, "weight_decay": 0.05}
    groups, their_groups = [
        [{"params": ps[:2]}, {"params": ps[2:], **own}] for ps in (params, theirs)
    ]
    ours = getattr(optim, name)(groups, **options)
    reference = getattr(torch.optim, name)(their_groups, **options)
    for _ in range(5):
        grads = [rng.normal(size=s) for s in SHAPES]
        ours.step(grads)
        for p, g in zip(theirs, grads, strict=True):
            p.grad = torch.tensor(g)
        reference.step()
        for optimizer in (ours, reference):
            optimizer.param_groups[0]["lr"] *= 0.9
    for p, q in zip(params, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, float("inf")])
@pytest.mark.parametrize("limit", [0.5, 1e3])
def test_clip_grad_norm(order, limit, rng):
    params, theirs = twins("tensor", rng, "float64")
    params, theirs = params[:3], theirs[:3]
    for p, q in zip(params, theirs, strict=True):
        g = rng.normal(size=p.shape)
        p.grad, q.grad = pb.tensor(g), torch.tensor(g)
    norm = optim.clip_grad_norm_(params, limit, order)
    expected = torch.nn.utils.clip_grad_norm_(theirs, limit, order)
    np.testing.assert_allclose(norm.numpy(), expected.numpy(), rtol=1e-13)
    for p, q in zip(params, theirs, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-13)
