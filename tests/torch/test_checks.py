"""The options of `gradcheck`, and `strict` of `autograd.functional`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _no_notices():
    """PyTorch's forward mode, on first use, says of its own parts that they will go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def double(torch, rng, *shape, kind="float64"):
    values = rng.normal(size=shape)
    if kind == "complex128":
        values = values + 1j * rng.normal(size=shape)
    return torch.tensor(values, requires_grad=True)


def product_of(torch, **wrong):
    """x · y with rules of both directions, either of which may be wrong by a factor."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y * wrong.get("backward", 1), g * x

        @staticmethod
        def jvp(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y * wrong.get("jvp", 1) + x * b

        @staticmethod
        def vmap(info, in_dims, x, y):
            x, y = (t if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims,
                                                                     strict=True))
            return Product.apply(x, y) * wrong.get("vmap", 1), 0

    return Product.apply


def check(torch, function, inputs, **options):
    return torch.autograd.gradcheck(function, inputs, raise_exception=False, **options)


@pytest.mark.parametrize("options", [
    {"check_forward_ad": True}, {"fast_mode": True}, {"check_batched_grad": True},
    {"fast_mode": True, "check_forward_ad": True}, {"check_undefined_grad": True},
    {"check_grad_dtypes": True}, {"nondet_tol": 1e-10},
    {"check_forward_ad": True, "check_batched_forward_grad": True},
    {"check_forward_ad": True, "check_backward_ad": False}, {"masked": False},
], ids=str)
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_what_is_right_passes(torch, rng, options, kind):
    x, y = (double(torch, rng, 2, 3, kind=kind) for _ in "xy")
    assert torch.autograd.gradcheck(lambda a, b: (a * b, (a + 1).sin()), (x, y), **options)


@pytest.mark.parametrize("fast", [False, True])
def test_each_direction_is_looked_at(torch, rng, fast):
    x, y = double(torch, rng, 3), double(torch, rng, 3)
    wrong_back, wrong_jvp = product_of(torch, backward=2.0), product_of(torch, jvp=2.0)
    how = {"fast_mode": fast}
    assert not check(torch, wrong_back, (x, y), **how)
    assert check(torch, wrong_back, (x, y), check_forward_ad=True, check_backward_ad=False, **how)
    assert check(torch, wrong_jvp, (x, y), **how)
    assert not check(torch, wrong_jvp, (x, y), check_forward_ad=True, **how)


def test_gradients_that_change_are_found(torch, rng):
    class Restless(torch.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            Restless.calls += 1
            return g * (2 + 1e-7 * (Restless.calls % 5))

    x = double(torch, rng, 3)
    assert not check(torch, Restless.apply, x)
    assert check(torch, Restless.apply, x, nondet_tol=1e-5)


def test_second_order_by_either_mode(torch, rng):
    x, y = double(torch, rng, 3), double(torch, rng, 3)

    def function(a, b):
        return (a * a * b).sin()

    for options in (
        {"check_fwd_over_rev": True}, {"fast_mode": True}, {"check_batched_grad": True},
        {"gen_non_contig_grad_outputs": True},
        {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False},
    ):
        assert torch.autograd.gradgradcheck(function, (x, y), **options)


# Strictness -----------------------------------------------------------------------------------


def functional(torch):
    return torch.autograd.functional


def test_strict_refuses_what_does_not_depend(torch, rng):
    x, y = double(torch, rng, 2), double(torch, rng, 2)
    for name in ("jacobian", "vjp", "jvp"):
        call = getattr(functional(torch), name)
        for function in (lambda a, b: a.sum(), lambda a, b: (a * b).detach().sum()):
            more = ((torch.ones_like(x), torch.ones_like(y)),) if name == "jvp" else ()
            with pytest.raises(RuntimeError, match=r"independent|not require grad"):
                call(function, (x, y), *more, strict=True)
            call(function, (x, y), *more)


def test_strict_accepts_what_depends(torch, rng):
    x, y = double(torch, rng, 2), double(torch, rng, 2)

    def function(a, b):
        return (a * a * b * b).sum()

    for name in ("jacobian", "hessian"):
        strict, loose = (getattr(functional(torch), name)(function, (x, y), strict=s)
                         for s in (True, False))
        for one, other in zip(strict, loose, strict=True):
            one, other = (p if isinstance(p, tuple) else (p,) for p in (one, other))
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy())
    for name in ("hvp", "vhp"):
        vectors = (torch.ones_like(x), torch.ones_like(y))
        getattr(functional(torch), name)(function, (x, y), vectors, strict=True)


def test_strict_looks_at_second_derivatives(torch, rng):
    x, y = double(torch, rng, 2), double(torch, rng, 2)

    def linear(a, b):
        return (a * a + b).sum()

    for name in ("hessian", "hvp", "vhp"):
        vectors = () if name == "hessian" else ((torch.ones_like(x), torch.ones_like(y)),)
        call = getattr(functional(torch), name)
        call(linear, (x, y), *vectors)
        with pytest.raises(RuntimeError):
            call(linear, (x, y), *vectors, strict=True)


def test_strict_and_vectorized_do_not_go_together(torch, rng):
    with pytest.raises(RuntimeError):
        functional(torch).jacobian(torch.sin, double(torch, rng, 2), strict=True, vectorize=True)
