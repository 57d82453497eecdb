"""For each law a wrong rule that this law finds alone, with all others left out."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from tests.tools.check.entries import Planted, normal
from tests.tools.check.planted import BUGS, PAIR, product, square
from tests.tools.check.planted_hazards import HAZARDS, lost_in_batches
from tests.tools.check.spellings import as_custom_gradient, as_custom_vjp, as_function


def raising() -> Any:
    def planted(x: Any) -> Any:
        raise ValueError("no value")

    return planted


def product_with(backward: Any) -> Any:
    """x · y as a `Function` whose backward has ctx."""

    class Product(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

    Product.backward = staticmethod(backward)  # type: ignore[method-assign]
    return Product.apply


def swapped_where_one_is_needed(ctx: Any, g: Any) -> Any:
    x, y = ctx.saved_tensors
    return (g * y, g * x) if all(ctx.needs_input_grad) else (g * x, g * y)


def saved_where_needed(ctx: Any, g: Any) -> Any:
    x, y = ctx.saved_tensors
    if not ctx.needs_input_grad[0]:
        raise AttributeError("y was saved for x only")
    return g * y, g * x


def with_jvp(rule: Any) -> Any:
    """x² as a `Function` that is right but for its tangent."""

    class Squared(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return rule(ctx.saved_tensors[0], t)

    return Squared.apply


def detached_rule(saved: Any, g: Any) -> Any:
    return g * 2 * pb.stop_gradient(saved[0])


def wider_only(saved: Any, g: Any) -> Any:
    (x,) = saved
    return g * 2 * x if x.dtype == np.float64 else g * 2.1 * x


def by_dtype_of_the_cotangent(saved: Any, g: Any) -> Any:
    x, y = saved
    return g * y if g.dtype == x.dtype else 2 * g * y, g * x


def clipped(saved: Any, g: Any) -> Any:
    return pb.clip(g, -10.0, 10.0) * 2 * saved[0]


def strict_ties(saved: Any, g: Any) -> Any:
    x, y = saved
    return pb.where(x > y, g, 0.0), pb.where(y > x, g, 0.0)


def generous_ties(saved: Any, g: Any) -> Any:
    x, y = saved
    return pb.where(x >= y, g, 0.0), pb.where(y >= x, g, 0.0)


def cut_off_above(saved: Any, g: Any) -> Any:
    (x,) = saved
    return pb.where(x > 10, 0.0, g / (1 + pb.exp(-x)))


def averaged_where_broadcast(saved: Any, g: Any) -> Any:
    x, y = saved
    gx = g * y
    return (gx if x.shape == g.shape else pb.mean(gx, axis=-1, keepdims=True)), g * x


def first_example_only() -> Any:
    class Squared(pb.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return pb.Tensor(np.square(x.numpy()))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Squared.apply(pb.broadcast_to(x[:1], x.shape)), 0

    return Squared.apply


def blind_to_zeros() -> Any:
    @pb.custom_vjp
    def planted(x: Any) -> Any:
        return pb.sin(x), pb.cos(x)

    def backward(x: Any, gs: Any) -> Any:
        of_sin, of_cos = gs
        return (of_sin * pb.cos(x) - of_cos * pb.sin(x) if pb.any(of_sin) and pb.any(of_cos)
                else of_sin * pb.cos(x),)

    planted.defvjp(lambda x: (planted(x), x), backward)
    return planted


def by_three(saved: Any, g: Any) -> Any:
    (x,) = saved
    return pb.broadcast_to(g / 3, x.shape)


def rows_of_four(saved: Any, g: Any) -> Any:
    (x,) = saved
    return pb.reshape(pb.stack([g] * 4, axis=-1), (3, 4)) * 2 * x


def softplus(x: Any) -> Any:
    return pb.logaddexp(x, pb.zeros_like(x)), (x,)


def maximum(x: Any, y: Any) -> Any:
    return pb.maximum(x, y), (x, y)


def _mutant(law: str, make: Any, *examples: Any, **options: Any) -> Planted:
    return Planted(law, make.__name__, frozenset([law]), make, examples or (normal(3, 4),), options)


def _named(name: str, make: Any) -> Any:
    make.__name__ = name
    return make


_OWN = [
    _mutant("call", raising),
    _mutant("call", _named("out of its domain", lambda: pb.log), -np.ones(3)),
    _mutant("call", _named("surrogate of another shape", lambda: pb.sign), surrogate=pb.sum),
    _mutant("vjp", _named("half", lambda: as_custom_gradient(square, lambda s, g: g * s[0]))),
    _mutant("jvp", _named("half", lambda: with_jvp(lambda x, t: x * t))),
    _mutant("dot product", _named("half", lambda: with_jvp(lambda x, t: x * t))),
    _mutant("linearity", _named("clipped", lambda: as_custom_vjp(square, clipped))),
    _mutant("second order", _named("detached", lambda: as_function(square, detached_rule))),
    _mutant("dtypes", _named("in float32 only", lambda: as_custom_vjp(square, wider_only))),
    _mutant("mixed dtypes", _named("by the cotangent's dtype", lambda: as_function(
        product, by_dtype_of_the_cotangent)), *PAIR),
    _mutant("needed inputs", _named("swapped", lambda: product_with(
        swapped_where_one_is_needed)), *PAIR),
    _mutant("needed inputs", _named("raises", lambda: product_with(saved_where_needed)), *PAIR),
    _mutant("edges", _named("nothing at ties", lambda: as_custom_gradient(
        maximum, strict_ties)), *PAIR),
    _mutant("edges", _named("twice at ties", lambda: as_custom_gradient(
        maximum, generous_ties)), *PAIR),
    _mutant("edges", _named("far from the examples", lambda: as_custom_gradient(
        softplus, cut_off_above))),
    _mutant("edges", _named("a surrogate, far from the examples", lambda: as_custom_gradient(
        lambda x: (pb.round(x), (x,)), lambda s, g: pb.where(pb.abs(s[0]) > 9, 0.0, g))),
        surrogate=lambda x: 1.0 * x),
    _mutant("untracked", _named("a surrogate", lambda: as_custom_gradient(
        lambda x: (pb.round(x), (x,)), detached_rule)), surrogate=lambda x: x * x),
    _mutant("conjugate", _named("a surrogate", lambda: as_custom_gradient(
        lambda x: (x, (x,)), lambda s, g: g * 2 * s[0])), normal(3, dtype="complex128"),
        surrogate=lambda x: x * x),
    _mutant("ranks", _named("averaged where it is broadcast", lambda: as_custom_gradient(
        product, averaged_where_broadcast)), *PAIR),
    _mutant("lengths", _named("a mean of three", lambda: as_custom_gradient(
        lambda x: (pb.mean(x, axis=0), (x,)), by_three))),
    _mutant("lengths", _named("rows of four", lambda: as_custom_gradient(
        lambda x: (pb.sum(x * x, axis=1), (x,)), rows_of_four))),
    _mutant("unused outputs", blind_to_zeros),
    _mutant("paths", first_example_only),
    _mutant("paths", _named("lost in vmap", lambda: lost_in_batches("Function"))),
]

MUTANTS: list[Planted] = [
    *_OWN, *(planted for planted in [*BUGS, *HAZARDS] if len(planted.laws) == 1),
]
"""Wrong rules, each with the one law that it breaks."""
