"""What looks like a bug in a hand-written gradient and is none: a check must raise no alarm."""

from __future__ import annotations

from typing import Any

import pullback as pb
from tests.checking.entries import Planted, each, normal, one
from tests.checking.planted import cube, multiplying, product
from tests.checking.spellings import as_custom_gradient, as_op


def rounding_rule(saved: Any, g: Any) -> Any:
    return g


def identity(x: Any) -> Any:
    return x


HARMLESS: list[Planted] = [
    *each("unsummed broadcast", [], product, lambda saved, g: (g * saved[1], g * saved[0]),
          (normal(3), normal(2, 3, seed=1)), spellings=("Function", "custom_gradient")),
    one("unsummed broadcast", "op", [], lambda: as_op(
        multiplying, x=lambda g, y: g * y, y=lambda g, x: g * x),
        (normal(3), normal(2, 3, seed=1))),
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
