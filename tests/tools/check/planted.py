"""The bugs that people really have in hand-written gradients, planted.

Thirteen kinds of bug, each in as many spellings as it can be written in. Each entry says which
laws are right to find it; a check must name at least one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.tensor import raw
from tests.tools.check.entries import Planted, each, normal, one
from tests.tools.check.spellings import (
    SPELLINGS,
    as_custom_vjp,
    as_function,
    as_op,
    memory,
)

# 1. A kernel that takes its cotangent for contiguous --------------------------------------------


def square(x: Any) -> Any:
    return x * x, (x,)


def square_by_pointer(saved: Any, g: Any) -> Any:
    (x,) = saved
    return pb.Tensor(memory(g) * 2 * np.asarray(raw(x)))


def square_in_memory_order(saved: Any, g: Any) -> Any:
    (x,) = saved
    flat = np.ravel(raw(g), order="K")
    return pb.Tensor(flat.reshape(g.shape) * 2 * np.asarray(raw(x)))


def squaring(xp: Any, x: Any, /) -> Any:
    return x * x


CONTIGUOUS_ONLY = [
    one("contiguous-only kernel", "Function", ["layouts"],
        lambda: as_function(square, square_by_pointer, once=True), order=1),
    one("contiguous-only kernel", "Function, memory order", ["layouts"],
        lambda: as_function(square, square_in_memory_order, once=True), order=1),
    *each("contiguous-only kernel", ["layouts"], square, square_by_pointer,
          spellings=("custom_gradient", "custom_vjp"), order=1),
    one("contiguous-only kernel", "op", ["layouts"], lambda: as_op(
        squaring, x=lambda g, x: pb.Tensor(memory(g)) * 2 * x if isinstance(g, pb.Tensor)
        else memory(g) * 2 * x), order=1),
]

# 2. The cotangent is written to ------------------------------------------------------------------


def square_over_cotangent(saved: Any, g: Any) -> Any:
    (x,) = saved
    array = raw(g)
    array *= 2 * np.asarray(raw(x))
    return g


def over_cotangent(g: Any, x: Any) -> Any:
    array = raw(g)
    array *= 2 * np.asarray(raw(x))
    return g


OVER_COTANGENT = [
    one("cotangent overwritten", "Function", ["writes"],
        lambda: as_function(square, square_over_cotangent, once=True), order=1),
    *each("cotangent overwritten", ["writes"], square, square_over_cotangent,
          spellings=("custom_gradient", "custom_vjp"), order=1),
    one("cotangent overwritten", "op", ["writes"], lambda: as_op(squaring, x=over_cotangent),
        order=1),
]

# 3. A raw write into the input -------------------------------------------------------------------


def relu_in_place(x: Any) -> Any:
    array = raw(x)
    np.maximum(array, 0, out=array)
    return x * 1.0, (x,)


def relu_rule(saved: Any, g: Any) -> Any:
    (x,) = saved
    return pb.where(x > 0, g, 0.0)


def relu_over_input(xp: Any, x: Any, /) -> Any:
    np.maximum(x, 0, out=x)
    return x * 1.0


INTO_INPUT = [
    *each("raw write into the input", ["writes"], relu_in_place, relu_rule),
    one("raw write into the input", "op", ["writes"], lambda: as_op(
        relu_over_input, x=lambda g, out: pb.where(out > 0, g, 0.0))),
]

# 4. A saved intermediate that breaks the second derivative ---------------------------------------


def detached_exp(x: Any) -> Any:
    e = pb.Tensor(np.exp(np.asarray(raw(x))))
    return x * e, (x, e)


def x_exp_rule(saved: Any, g: Any) -> Any:
    x, e = saved
    return g * (e + x * e)


def _exp_on_ctx() -> Any:
    class ExpOnCtx(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.e = np.exp(np.asarray(raw(x)))
            return x * pb.Tensor(ctx.e)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (pb.Tensor(ctx.e) + x * pb.Tensor(ctx.e))

    return ExpOnCtx.apply


def x_exp(xp: Any, x: Any, /) -> Any:
    return x * xp.exp(x)


def x_exp_detached(g: Any, x: Any) -> Any:
    e = pb.Tensor(np.exp(np.asarray(raw(x)))) if isinstance(x, pb.Tensor) else np.exp(x)
    return g * (e + x * e)


ELEMENTS = (normal(3),)
INTERMEDIATE = [
    *each("saved intermediate", ["untracked"], detached_exp, x_exp_rule, ELEMENTS),
    one("saved intermediate", "Function, attribute", ["untracked"], _exp_on_ctx,
        ELEMENTS),
    one("saved intermediate", "op", ["untracked"],
        lambda: as_op(x_exp, x=x_exp_detached), ELEMENTS),
]

# 5. The output is kept on ctx: a leak ------------------------------------------------------------


def _output_on_ctx() -> Any:
    class OutputOnCtx(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = pb.exp(x)
            ctx.save_for_backward(y)
            ctx.outputs = [y]
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y

    return OutputOnCtx.apply


def _gradient_in_itself() -> Any:
    @pb.custom_gradient
    def planted(x: Any) -> Any:
        y = pb.exp(x)

        def grad(g: Any) -> Any:
            grad.calls = getattr(grad, "calls", 0) + 1  # type: ignore[attr-defined]
            return g * y

        return y, grad

    return planted


def _kept_in_a_table() -> Any:
    kept: dict[int, Any] = {}

    def forward(x: Any) -> Any:
        y = pb.exp(x)
        kept[len(kept)] = y
        return y, (y,)

    return as_custom_vjp(forward, lambda saved, g: g * saved[0])


OUTPUT_KEPT = [
    one("output kept on ctx", "Function", ["leaks"], _output_on_ctx),
    one("output kept on ctx", "custom_gradient, a closure that holds itself", ["leaks"],
        _gradient_in_itself),
    one("output kept on ctx", "custom_vjp, a table outside", ["leaks"], _kept_in_a_table),
]

# 6. NaN at zero ----------------------------------------------------------------------------------


def magnitude(x: Any) -> Any:
    y = pb.abs(x)
    return y, (x,)


def magnitude_rule(saved: Any, g: Any) -> Any:
    (x,) = saved
    return g * (x * pb.reciprocal(pb.abs(x)))


def length(x: Any) -> Any:
    return pb.sqrt(pb.sum(x * x)), (x,)


def length_rule(saved: Any, g: Any) -> Any:
    (x,) = saved
    return g * (x * pb.reciprocal(pb.sqrt(pb.sum(x * x))))


def magnitudes(xp: Any, x: Any, /) -> Any:
    return xp.abs(x)


NAN_AT_ZERO = [
    *each("NaN at zero", ["edges"], magnitude, magnitude_rule),
    *each("NaN at zero, of a norm", ["edges"], length, length_rule),
    one("NaN at zero", "op", ["edges"], lambda: as_op(
        magnitudes, x=lambda g, x: g * (x * pb.reciprocal(pb.abs(x))))),
]

# 7. The cotangent is ignored ---------------------------------------------------------------------


def squared_error(x: Any, y: Any) -> Any:
    return (x - y) ** 2, (x, y)


def squared_error_unasked(saved: Any, g: Any) -> Any:
    x, y = saved
    return 2 * (x - y), -2 * (x - y)


PAIR = (normal(2, 3), normal(2, 3, seed=1))
IGNORED = [
    *each("ignored cotangent", ["cotangent"], squared_error, squared_error_unasked, PAIR),
    *each("ignored cotangent, of a loss", ["cotangent"],
          lambda x: (pb.sum(x * x), (x,)), lambda saved, g: 2 * saved[0]),
    one("ignored cotangent", "op", ["cotangent"],
        lambda: as_op(squaring, x=lambda g, x: 2 * x)),
]

# 8. The mask is drawn again ----------------------------------------------------------------------


def _redrawn(spelling: str, draw: Callable[[Any], Any]) -> Callable[[], Any]:
    def make() -> Any:
        return SPELLINGS[spelling](
            lambda x: (x * draw(x), (x,)), lambda saved, g: g * draw(saved[0])
        )

    return make


def numpy_mask(x: Any) -> Any:
    return pb.Tensor((np.random.random(x.shape) < 0.5) * 2.0)


def library_mask(x: Any) -> Any:
    return pb.astype(pb.random.uniform(x.shape) < 0.5, pb.float64) * 2.0


REDRAWN = [
    one("redrawn mask", f"{spelling}, {name}", ["repeatable"], _redrawn(spelling, draw))
    for spelling in SPELLINGS
    for name, draw in (("numpy.random", numpy_mask), ("pullback.random", library_mask))
    if (spelling, name) != ("custom_vjp", "pullback.random")
] + [one("redrawn mask", "custom_vjp, pullback.random", ["repeatable"],
         _redrawn("custom_vjp", library_mask))]

# 9. A cache that the first backward frees --------------------------------------------------------


def _freed_ctx() -> Any:
    class FreedCtx(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.cache = {"x": x}
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.cache.pop("x")

    return FreedCtx.apply


def _freed_closure() -> Any:
    @pb.custom_gradient
    def planted(x: Any) -> Any:
        cache = [x]
        return x * x, lambda g: g * 2 * cache.pop()

    return planted


def _freed_residual() -> Any:
    @pb.custom_vjp
    def planted(x: Any) -> Any:
        return x * x

    kept: dict[int, Any] = {}

    def fwd(x: Any) -> Any:
        kept[len(kept)] = np.asarray(raw(x))
        return x * x, len(kept) - 1

    planted.defvjp(fwd, lambda key, g: (g * 2 * pb.Tensor(kept.pop(key)),))
    return planted


FREED = [
    one("freed cache", "Function", ["repeatable"], _freed_ctx),
    one("freed cache", "custom_gradient", ["repeatable"], _freed_closure),
    one("freed cache", "custom_vjp", ["repeatable"], _freed_residual),
]

# 10. The cotangent of an output that nobody uses is None -----------------------------------------


def _two_outputs() -> Any:
    class TwoOutputs(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.set_materialize_grads(False)
            return pb.sin(x), pb.cos(x)

        @staticmethod
        def backward(ctx: Any, g_sin: Any, g_cos: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g_sin * pb.cos(x) - g_cos * pb.sin(x)

    return TwoOutputs.apply


def _silent_two_outputs() -> Any:
    class SilentTwoOutputs(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.set_materialize_grads(False)
            return pb.sin(x), pb.cos(x)

        @staticmethod
        def backward(ctx: Any, g_sin: Any, g_cos: Any) -> Any:
            (x,) = ctx.saved_tensors
            if g_sin is None or g_cos is None:
                return None
            return g_sin * pb.cos(x) - g_cos * pb.sin(x)

    return SilentTwoOutputs.apply


UNUSED = [
    one("None cotangent", "Function", ["unused outputs"], _two_outputs),
    one("None cotangent", "Function, in silence", ["unused outputs"], _silent_two_outputs),
]

# 11. float32 inside ------------------------------------------------------------------------------


def narrow(x: Any) -> Any:
    return pb.astype(pb.astype(x, pb.float32), pb.float64)


def cube(x: Any) -> Any:
    return x * x * x, (x,)


def narrow_cube_rule(saved: Any, g: Any) -> Any:
    (x,) = saved
    return narrow(g * 3 * x * x)


def cubing(xp: Any, x: Any, /) -> Any:
    return x * x * x


NARROW = [
    *each("float32 inside", ["precision"], cube, narrow_cube_rule),
    *each("float32 inside, a factor", ["precision"], cube,
          lambda saved, g: g * narrow(3 * saved[0] * saved[0])),
    *each("float32 inside, both ways", ["precision"], lambda x: (narrow(cube(x)[0]), (x,)),
          narrow_cube_rule, order=1),
    one("float32 inside", "op", ["precision"],
        lambda: as_op(cubing, x=lambda g, x: pb.astype(
            pb.astype(g * 3 * x * x, pb.float32), pb.float64))),
]

# 12. The conjugate is missing --------------------------------------------------------------------

COMPLEX = (normal(3, dtype="complex128"),)
UNCONJUGATED = [
    *each("missing conj", ["conjugate"], square, lambda saved, g: g * 2 * saved[0], COMPLEX),
    one("missing conj", "op, one too many", ["conjugate"],
        lambda: as_op(squaring, x=lambda g, x: g * 2 * pb.conj(x)), COMPLEX),
]

# 13. None for one of the inputs ------------------------------------------------------------------


def product(x: Any, y: Any) -> Any:
    return x * y, (x, y)


def multiplying(xp: Any, x: Any, y: Any, /) -> Any:
    return x * y


NONE_FOR_ONE = [
    *each("None for one input", ["lost input"], product,
          lambda saved, g: (g * saved[1], None), PAIR),
    one("None for one input", "op, zeros", ["lost input"], lambda: as_op(
        multiplying, x=lambda g, y: g * y, y=lambda g, x: g * 0.0 * x), PAIR),
]

BUGS: list[Planted] = [
    *CONTIGUOUS_ONLY, *OVER_COTANGENT, *INTO_INPUT, *INTERMEDIATE, *OUTPUT_KEPT, *NAN_AT_ZERO,
    *IGNORED, *REDRAWN, *FREED, *UNUSED, *NARROW, *UNCONJUGATED, *NONE_FOR_ONE,
]
"""The thirteen, in their spellings."""

KINDS = sorted({planted.kind.partition(",")[0] for planted in BUGS})
"""The thirteen kinds."""
