"""Further hazards, planted: each in the function of the law that is there to catch it."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.arrays.batched import Batched
from pullback.core.tensor import raw
from tests.tools.check.planted import (
    PAIR,
    Planted,
    each,
    one,
    product,
    square,
)
from tests.tools.check.spellings import SPELLINGS, as_custom_gradient, as_function


def square_rule(saved: Any, g: Any) -> Any:
    return g * 2 * saved[0]


def lost_outside_backward(spelling: str) -> Any:
    ruled = SPELLINGS[spelling](square, square_rule)
    return lambda x: ruled(x) if x.requires_grad else x * x


def lost_in_batches(spelling: str) -> Any:
    ruled = SPELLINGS[spelling](square, square_rule)
    return lambda x: x * x if raw(x).__class__ is Batched else ruled(x)


def three_axes_only(saved: Any, g: Any) -> Any:
    answer = g * 2 * saved[0]
    return answer * 0.0 if answer.ndim > 3 else answer


def never_empty(saved: Any, g: Any) -> Any:
    return g * 2 * saved[0] + 0.0 * pb.max(saved[0])


def saved_by_identity() -> Any:
    @pb.custom_gradient
    def planted(x: Any, y: Any) -> Any:
        table = {id(raw(x)): y, id(raw(y)): x + 0.0 * y}
        if raw(x) is raw(y):
            table[id(raw(x))] = 2 * x

        return x * y, lambda g: (g * table[id(raw(x))], g * table[id(raw(y))])

    return planted


def every_call_counts() -> Any:
    calls: list[int] = []

    def rule(saved: Any, g: Any) -> Any:
        calls.append(1)
        return g * 2 * saved[0] * len(calls)

    return as_function(square, rule)


def captured_by_function() -> Any:
    weight = pb.tensor([1.5, -0.5, 2.0], requires_grad=True)

    class Scaled(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * weight

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * weight

    return Scaled.apply


def over_saved() -> Any:
    @pb.custom_gradient
    def planted(x: Any) -> Any:
        kept = np.array(raw(x))

        def grad(g: Any) -> Any:
            kept[...] *= 2
            return g * pb.Tensor(kept.copy())

        return x * x, grad

    return planted


def twice_at_ties(saved: Any, g: Any) -> Any:
    x, y = saved
    return pb.where(x >= y, 2 * g, 0.0), pb.where(y > x, g, 0.0)


def underflowing(saved: Any, g: Any) -> Any:
    (x,) = saved
    return g * (x * pb.reciprocal(pb.sqrt(x * x)))


HAZARDS: list[Planted] = [
    *[one("rule lost outside backward()", s, ["paths"], lambda s=s: lost_outside_backward(s))
      for s in SPELLINGS],
    *[one("rule lost in vmap", s, ["paths"], lambda s=s: lost_in_batches(s)) for s in SPELLINGS],
    *each("three axes only", ["ranks"], square, three_axes_only),
    *each("never empty", ["ranks"], square, never_empty, order=1),
    one("saved by identity", "custom_gradient", ["repeatable"], saved_by_identity, PAIR),
    one("changes with each backward", "Function", ["repeatable"], every_call_counts),
    one("captured tensor", "Function", ["captured"], captured_by_function,
        (np.array([0.5, 1.0, -2.0]),)),
    one("saved value written", "custom_gradient", ["writes"], over_saved),
    *each("both at ties", ["edges"], lambda x, y: (pb.maximum(x, y), (x, y)), twice_at_ties, PAIR),
    *each("underflow near 0", ["edges"], lambda x: (pb.abs(x), (x,)), underflowing),
]
"""Wrong, each in its way."""

RIGHT: list[Planted] = [
    *each("square", [], square, square_rule),
    *each("product", [], product, lambda saved, g: (g * saved[1], g * saved[0]), PAIR),
    one("magnitude", "custom_gradient", [], lambda: as_custom_gradient(
        lambda x: (pb.abs(x), (x,)), lambda saved, g: g * pb.sign(saved[0]))),
    one("maximum", "pullback", [], lambda: pb.maximum, PAIR),
    one("sum", "pullback", [], lambda: pb.sum),
]
"""Right, in several spellings."""
