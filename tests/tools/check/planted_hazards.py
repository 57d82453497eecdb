"""Further hazards, planted: each in the function of the law that is there to catch it."""

from __future__ import annotations

import threading
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


def first_answer_kept() -> Any:
    """A cache of the gradient by the identity of the cotangent: right for one call at a time."""
    kept: dict[str, Any] = {}

    @pb.custom_gradient
    def planted(x: Any) -> Any:
        def grad(g: Any) -> Any:
            if kept.get("cotangent") is not raw(g):
                kept.update(cotangent=raw(g), answer=g * 2 * x)
            return kept["answer"]

        return x * x, grad

    return planted


def told_apart_by_identity() -> Any:
    @pb.custom_gradient
    def planted(x: Any, y: Any) -> Any:
        slopes = {id(x): y * y, id(y): 2 * x * y}
        return x * y * y, lambda g: (g * slopes[id(x)], g * slopes[id(y)])

    return planted


def lost_if_unbatched(first: bool) -> Any:
    """x · y with a wrong gradient where one argument is unbatched in vmap."""
    ruled = as_custom_gradient(product, lambda saved, g: (g * saved[1], g * saved[0]))

    def planted(x: Any, y: Any) -> Any:
        batched = [raw(v).__class__ is Batched for v in (x, y)]
        if batched == [not first, first]:
            return ruled(pb.stop_gradient(x), y) if first else ruled(x, pb.stop_gradient(y))
        return ruled(x, y)

    return planted


def lost_in_a_batch_of(length: int) -> Any:
    ruled = as_function(square, square_rule)

    def planted(x: Any) -> Any:
        array = raw(x)
        wrong = array.__class__ is Batched and array.value.shape[0] == length
        return x * pb.stop_gradient(x) if wrong else ruled(x)

    return planted


def softplus(x: Any) -> Any:
    return pb.logaddexp(x, pb.zeros_like(x)), (x,)


def careful_in_the_first_entry(saved: Any, g: Any) -> Any:
    """The sigmoid; the quotient of two infinities in all entries but the first."""
    (x,) = saved
    first = np.arange(int(np.prod(x.shape))).reshape(x.shape) == 0
    return g * pb.where(first, pb.sigmoid(x), pb.exp(x) / (1 + pb.exp(x)))


def root_of_one_more(x: Any) -> Any:
    return pb.hypot(x, pb.ones_like(x)), (x,)


def overflowing(saved: Any, g: Any) -> Any:
    (x,) = saved
    return g * x / pb.sqrt(x * x + 1)


def shared_by_threads() -> Any:
    shared: dict[str, Any] = {}

    class Shared(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            shared["x"] = x
            y = x * x
            ctx.save_for_backward(shared["x"])
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    return Shared.apply


def kept_in_its_thread() -> Any:
    """Backward passes may run in other threads than forward passes."""
    mine = threading.local()

    class Mine(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mine.two = 2
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * mine.two * ctx.saved_tensors[0]

    return Mine.apply


def one_at_a_time() -> Any:
    """A shared buffer behind a lock."""
    lock, shared = threading.Lock(), {}

    class Locked(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with lock:
                shared["x"] = x
                y = x * x
                ctx.save_for_backward(shared["x"])
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    return Locked.apply


def calling_itself() -> Any:
    """A `fwd` that calls the function itself, also inside a traced function."""
    planted = pb.custom_vjp(pb.exp)

    def fwd(x: Any) -> Any:
        y = planted(x)
        return y, y

    planted.defvjp(fwd, lambda y, g: (g * y,))
    return planted


def scaled_by_a_constant() -> Any:
    @pb.custom_gradient
    def planted(x: Any, factor: Any) -> Any:
        return x * factor, lambda g: (g * factor, None)

    return planted


HAZARDS: list[Planted] = [
    one("first answer kept", "custom_gradient", ["repeatable"], first_answer_kept),
    one("told apart by identity", "custom_gradient", ["repeatable"], told_apart_by_identity, PAIR),
    one("lost if x is unbatched", "custom_gradient", ["batches"],
        lambda: lost_if_unbatched(True), PAIR),
    one("lost if y is unbatched", "custom_gradient", ["batches"],
        lambda: lost_if_unbatched(False), PAIR),
    one("lost in a batch of one", "Function", ["batches"], lambda: lost_in_a_batch_of(1)),
    one("lost in a batch of three", "Function", ["batches"], lambda: lost_in_a_batch_of(3)),
    *each("careful in the first entry", ["edges"], softplus, careful_in_the_first_entry, order=1),
    *each("overflow far out", ["edges"], root_of_one_more, overflowing),
    one("shared by threads", "Function", ["threads"], shared_by_threads),
    one("kept in its thread", "Function", ["threads"], kept_in_its_thread),
    *each("one where the value is constant", ["vjp"], lambda x: (0.0 * x + 1e10, ()),
          lambda saved, g: g, order=1),
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
    one("behind a lock", "Function", [], one_at_a_time),
    one("calls itself", "custom_vjp", [], calling_itself),
    one("a constant number", "custom_gradient", [], scaled_by_a_constant, (np.arange(3.0), 3.0)),
    *[one("far out", name, [], lambda f=f: f) for name, f in {
        "sin": pb.sin, "x + sin": lambda x: x + pb.sin(x), "x sin": lambda x: x * pb.sin(x),
        "softmax": lambda x: pb.softmax(x, axis=-1), "atan": pb.atan, "cube": lambda x: x**3,
        "reciprocal": lambda x: 1 / x, "norm": pb.linalg.vector_norm,
        "hypot": lambda x: pb.hypot(x, 1.0), "teeth": lambda x: pb.remainder(x, 1.0),
        "logistic": pb.sigmoid, "softplus": lambda x: pb.logaddexp(x, 0.0),
    }.items()],
    one("dropout of an overridden operation", "pullback", [],
        lambda: lambda x: pb.dropout(x, 0.5) * pb.tanh(x)),
]
"""Right, in several spellings."""
