"""A function that solves something against one that needs no solver: every derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb

Function = Callable[..., Any]


def rng(salt: int = 0) -> np.random.Generator:
    return np.random.default_rng([7, salt])


def close(found: Any, wanted: Any, tolerance: float) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def weighed(f: Function, shape: tuple[int, ...]) -> Function:
    """The sum of a function's entries with random weights: one number."""
    weights = rng(1).normal(size=shape)
    return lambda x: pb.sum(weights * pb.sin(f(x)))


def first_order(f: Function, reference: Function, x: np.ndarray, tolerance: float) -> None:
    value = np.asarray(reference(pb.tensor(x)))
    close(f(pb.tensor(x)), value, tolerance)
    wanted = pb.jacrev(reference)(x)
    u, t = rng(2).normal(size=value.shape), rng(3).normal(size=x.shape)
    close(pb.vjp(f, x)[1](u)[0], np.tensordot(u, wanted.numpy(), value.ndim), tolerance)
    along = np.tensordot(wanted.numpy(), t, x.ndim)
    close(pb.jvp(f, (x,), (t,))[1], along, tolerance)
    close(pb.linearize(f, x)[1](t), along, tolerance)
    close(pb.jacrev(f)(x), wanted, tolerance)
    close(pb.jacfwd(f)(x), wanted, tolerance)


def second_order(f: Function, reference: Function, x: np.ndarray, tolerance: float) -> None:
    """Each direction over each, along a random tangent."""
    shape = np.asarray(reference(pb.tensor(x))).shape
    g, t = weighed(f, shape), rng(4).normal(size=x.shape)
    hessian = pb.hessian(weighed(reference, shape))(x).numpy()
    wanted = np.tensordot(hessian, t, x.ndim)
    close(pb.hvp(g, (x,), (t,)), wanted, tolerance)
    close(pb.grad(lambda x: pb.sum(pb.grad(g)(x) * t))(x), wanted, tolerance)
    close(pb.grad(lambda x: pb.jvp(g, (x,), (t,))[1])(x), wanted, tolerance)
    twice = pb.jvp(lambda x: pb.jvp(g, (x,), (t,))[1], (x,), (t,))[1]
    close(twice, np.sum(wanted * t), tolerance)


def batched(f: Function, reference: Function, x: np.ndarray, tolerance: float) -> None:
    """vmap outside and inside of everything, on three examples."""
    xs = np.stack([x, 1.1 * x, 0.8 * x], axis=-1)
    shape = np.asarray(reference(pb.tensor(x))).shape

    def both(transformed: Callable[[Function], Any]) -> None:
        close(transformed(f), transformed(reference), tolerance)

    def g(h: Function) -> Function:
        return weighed(h, shape)

    both(lambda h: pb.vmap(h, -1)(xs))
    both(lambda h: pb.vmap(pb.grad(g(h)), -1)(xs))
    both(lambda h: pb.grad(lambda xs: pb.sum(pb.vmap(g(h), -1)(xs)))(xs))
    both(lambda h: pb.vmap(lambda x: pb.jvp(g(h), (x,), (pb.cos(x),))[1], -1)(xs))
    both(lambda h: pb.jvp(pb.vmap(h, -1), (xs,), (np.cos(xs),))[1])
    both(lambda h: pb.vmap(pb.jacfwd(pb.grad(g(h))), -1)(xs))


def same(f: Function, reference: Function, x: Any, tolerance: float = 1e-8) -> None:
    """All of it."""
    x = np.asarray(x, dtype=np.float64)
    first_order(f, reference, x, tolerance)
    second_order(f, reference, x, tolerance)
    batched(f, reference, x, tolerance)
