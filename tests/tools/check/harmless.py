"""What looks like a bug in a hand-written gradient and is none: a check must raise no alarm."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from tests.tools.check.entries import Planted, each, normal, one
from tests.tools.check.planted import cube, multiplying, product
from tests.tools.check.spellings import as_custom_gradient, as_op


def rounding_rule(saved: Any, g: Any) -> Any:
    return g


def identity(x: Any) -> Any:
    return x


def chosen(x: Any, mode: str, how: Any = None, which: Any = (), *, name: str | None = None) -> Any:
    """A function with a string, a function, integers and None among its arguments."""
    return how(x)[which] if mode == "by" else x


def where_needed() -> Any:
    class Product(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            of_x, of_y = ctx.needs_input_grad
            return g * y if of_x else None, g * x if of_y else None

    return Product.apply


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


def _plain(kind: str, f: Any, *examples: Any, **options: Any) -> Planted:
    return one(kind, "a plain function", [], lambda: f, examples or (normal(3, 4),), **options)


PLAIN: list[Planted] = [
    _plain("dropout", lambda x: pb.dropout(x, 0.5)),
    _plain("numpy.random", lambda x: x * pb.Tensor((np.random.random(x.shape) < 0.5) * 2.0)),
    _plain("other arguments", chosen, normal(4), "by", pb.sin, np.array([0, 2, 2]),
           kwargs={"name": None}),
    _plain("sorting", lambda x: pb.sort(x, axis=-1)),
    _plain("a maximum, as tied", lambda x: pb.max(x, axis=1), np.ones((2, 3))),
    _plain("a mask", lambda x: x[x > 0]),
    _plain("empty", lambda x: pb.sum(x * x), np.zeros((0, 3))),
    _plain("read-only", pb.tanh, read_only(normal(3, 4))),
    _plain("strides of 0", pb.exp, np.broadcast_to(normal(4), (3, 4))),
    _plain("numbers", lambda a, b: a**2 * b, 2.5, -0.3),
    _plain("the same at all inputs", lambda x: 0 * x + 3.0),
    _plain("no input used", lambda x: pb.ones(3)),
    _plain("jumps", lambda x: pb.floor(x) * x),
    _plain("eigenvalues that coincide", lambda x: pb.sum(pb.linalg.eigvalsh(x + x.mT)), np.eye(3)),
    _plain("QR", lambda x: pb.linalg.qr(x)[1], normal(3, 3)),
    _plain("structures come out", lambda x: {"a": (None, pb.argmax(x)), "b": [x * 2]}),
    _plain("float16", pb.tanh, normal(3, 4, dtype="float16")),
    _plain("a fixed point", lambda a: pb.fixed_point(
        lambda x, a: 0.3 * pb.cos(x) * a, a, pb.zeros_like(a)), normal(2)),
    _plain("a gradient", pb.grad(lambda x: pb.sum(x**3))),
    _plain("oscillating", lambda x: pb.sin(40 * x)),
]

HARMLESS: list[Planted] = [
    *PLAIN,
    one("where needed", "Function", [], where_needed, (normal(3), normal(3, seed=1))),
    *each("unsummed broadcast", [], product, lambda saved, g: (g * saved[1], g * saved[0]),
          (normal(3), normal(2, 3, seed=1)), spellings=("Function", "custom_gradient")),
    one("unsummed broadcast", "op", [], lambda: as_op(
        multiplying, x=lambda g, y: g * y, y=lambda g, x: g * x),
        (normal(1, 3), normal(2, 3, seed=1))),  # of one rank, which its batching takes for granted
    *each("straight through", [], lambda x: (pb.round(x), ()), rounding_rule, surrogate=identity),
    one("straight through", "straight_through", [],
        lambda: pb.straight_through(pb.sign, lambda x: pb.clip(x, -1.0, 1.0)),
        surrogate=lambda x: pb.clip(x, -1.0, 1.0)),
    one("straight through", "op", [], lambda: as_op(
        rounding_forward, x=lambda g: g), surrogate=identity),
    one("reversal", "reverse_gradient", [], lambda: pb.reverse_gradient,
        surrogate=lambda x: -x),
    one("right rule", "custom_gradient", [], lambda: as_custom_gradient(
        cube, lambda saved, g: g * 3 * saved[0] * saved[0])),
]
"""No bug: a check must raise no alarm."""


def rounding_forward(xp: Any, x: Any, /) -> Any:
    return xp.round(x)
