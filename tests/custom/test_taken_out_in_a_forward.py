"""A rule that reads what its forward took out of the library: right to first order, then an error.

Numbers by `float()` and `.item()`, arrays, and tensors made of NumPy's results have no history. So
have not those that a rule of `custom_jvp` takes out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import NotDifferentiableError
from tests.custom.test_numpy_in_a_rule import SECOND, X

TAKEN: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(pb.sum(x * x)),
    "item": lambda x: pb.sum(x * x).item(),
    "computed further": lambda x: 2.0 * float(pb.sum(x * x)) / 2.0,
    "in a list": lambda x: [v.item() ** 2 for v in x],
    "array": lambda x: np.sum(np.asarray(x) ** 2),
    "tensor": lambda x: pb.tensor(np.sum(x.numpy() ** 2)),
    "in a dictionary": lambda x: {"total": [pb.tensor(np.sum(np.asarray(x) ** 2))]},
    "by a helper": lambda x: helper(x),
}
"""|x|^2, in ways in which it has no history."""


def helper(x: Any) -> float:
    return float((x * x).sum())


def number(taken: Any) -> Any:
    if isinstance(taken, dict):
        return taken["total"][0]
    return sum(taken) if isinstance(taken, list) else taken


def slope(g: Any, x: Any, total: Any) -> Any:
    """The gradient of x |x|^2."""
    return g * number(total) + 2.0 * x * pb.sum(g * x)


def by_closure(take: Callable[[Any], Any]) -> Any:
    def cubed(x: Any) -> Any:
        total = take(x)
        return x * number(total), lambda g: slope(g, x, total)

    return pb.custom_gradient(cubed)


def by_parameter(take: Callable[[Any], Any]) -> Any:
    def cubed(x: Any, total: Any = None) -> Any:
        total = take(x)
        return x * number(total), lambda g: (slope(g, x, total))

    return pb.custom_gradient(cubed)


def by_partial(take: Callable[[Any], Any]) -> Any:
    def cubed(x: Any) -> Any:
        return x * pb.sum(x * x), partial(lambda total, g: slope(g, x, total), take(x))

    return pb.custom_gradient(cubed)


class Layer:
    """Keeps what its forward took out."""

    def __init__(self, take: Callable[[Any], Any]) -> None:
        self.take = take

    def __call__(self, x: Any) -> Any:
        @pb.custom_gradient
        def cubed(x: Any) -> Any:
            self.total = self.take(x)
            return x * number(self.total), lambda g: slope(g, x, self.total)

        return cubed(x)


def by_attribute(take: Callable[[Any], Any]) -> Any:
    class Cubed(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.total = take(x)
            ctx.save_for_backward(x)
            return x * number(ctx.total)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return slope(g, *ctx.saved_tensors, ctx.total)

    return Cubed.apply


def by_setup(take: Callable[[Any], Any]) -> Any:
    class Cubed(pb.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * number(take(x))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.total = take(inputs[0])
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return slope(g, *ctx.saved_tensors, ctx.total)

    return Cubed.apply


def by_residual(take: Callable[[Any], Any]) -> Any:
    cubed = pb.custom_vjp(lambda x: x * number(take(x)))
    cubed.defvjp(
        lambda x: (lambda total: (x * number(total), (x, total)))(take(x)),
        lambda res, g: (slope(g, *res),),
    )
    return cubed


def by_custom_jvp(take: Callable[[Any], Any]) -> Any:
    cubed = pb.custom_jvp(lambda x: x * number(take(x)))
    cubed.defjvp(lambda ps, ts: (ps[0] * number(take(ps[0])), slope(ts[0], ps[0], take(ps[0]))))
    return cubed


def by_custom_jvps(take: Callable[[Any], Any]) -> Any:
    cubed = pb.custom_jvp(lambda x: x * number(take(x)))
    cubed.defjvps(lambda t, ans, x: slope(t, x, take(x)))
    return cubed


STYLES = {
    "closure": by_closure, "parameter": by_parameter, "partial": by_partial, "object": Layer,
    "attribute": by_attribute, "setup_context": by_setup, "residual": by_residual,
    "custom_jvp": by_custom_jvp, "defjvps": by_custom_jvps,
}


@pytest.mark.parametrize("style", STYLES)
def test_first_order_is_right_and_second_order_an_error(style: str) -> None:
    first = pb.grad(lambda x: pb.sum((x * pb.sum(x * x)) ** 2))(X).numpy()
    for name, take in TAKEN.items():
        f = STYLES[style](take)
        loss = lambda x, f=f: pb.sum(f(x) ** 2)  # noqa: E731
        np.testing.assert_allclose(pb.grad(loss)(X).numpy(), first, err_msg=name)
        for way, run in SECOND.items():
            with pytest.raises(NotDifferentiableError) as caught:
                run(loss)
            message = str(caught.value)
            if "made inside forward" not in message:  # as of a saved tensor without history
                assert "test_taken_out" in message, (name, way)
                assert "once_differentiable" in message or "jvp" in style, (name, way)


def test_forward_over_forward_of_a_rule_that_takes_values_out_is_an_error() -> None:
    for style in ("custom_jvp", "defjvps"):
        f = STYLES[style](TAKEN["float"])
        with pytest.raises(NotDifferentiableError, match="leaves the library"):
            pb.jvp(lambda x, f=f: pb.jvp(f, (x,), (X,))[1], (X,), (X,))


def in_numpy(x: Any, scale: float) -> Any:
    return pb.tensor(np.tanh(x.numpy() * scale))


def constant_in_closure(scale: float) -> Any:
    weights = np.array([0.5, 2.0])

    @pb.custom_gradient
    def f(x: Any, gain: float = 3.0) -> Any:
        y = in_numpy(x, scale)
        return y * weights * gain, lambda g: (
            g * weights * gain * scale * (1 - pb.tanh(x * scale) ** 2), None)

    return lambda x: f(x, 3.0)


def constant_on_context(scale: float) -> Any:
    class Tanh(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, gain: float) -> Any:
            ctx.gain = gain
            ctx.scale, ctx.offset = scale, 0.5
            ctx.save_for_backward(x)
            return in_numpy(x, scale) * np.array([0.5, 2.0]) * gain

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            weights = pb.tensor([0.5, 2.0])
            inner = pb.tanh(x * ctx.scale)
            return g * weights * ctx.gain * ctx.scale * (1 - inner**2) + 0 * ctx.offset, None

    return lambda x: Tanh.apply(x, 3.0)


def constant_in_residuals(scale: float) -> Any:
    f = pb.custom_vjp(lambda x, gain: in_numpy(x, scale) * gain, nondiff_argnums=(1,))
    f.defvjp(
        lambda x, gain: (in_numpy(x, scale) * np.array([0.5, 2.0]) * gain, (x, gain)),
        lambda gain, res, g: (
            g * pb.tensor([0.5, 2.0]) * res[1] * scale * (1 - pb.tanh(res[0] * scale) ** 2),
        ),
    )
    return lambda x: f(x, 3.0)


@pytest.mark.parametrize(
    "make", [constant_in_closure, constant_on_context, constant_in_residuals],
    ids=lambda make: make.__name__,
)
def test_constants_beside_a_forward_in_numpy_are_no_part_of_it(make: Callable[..., Any]) -> None:
    def plain(x: Any) -> Any:
        return pb.sum(pb.tanh(x * 1.5) * np.array([0.5, 2.0]) * 3.0)

    f = make(1.5)
    found = pb.hessian(lambda x: pb.sum(f(x)))(X)
    np.testing.assert_allclose(found.numpy(), pb.hessian(plain)(X).numpy())


def test_what_was_logged_outside_the_forward_is_no_part_of_it() -> None:
    class Scaled(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.scale = 1.0 / x.shape[0] ** 0.5
            ctx.save_for_backward(x)
            return x**3 * ctx.scale

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2 * ctx.scale

    x = pb.tensor(X, requires_grad=True)
    assert x.tolist() == X.tolist()
    (g,) = pb.autograd.grad(pb.sum(Scaled.apply(x)), x, create_graph=True)
    second = pb.autograd.grad(pb.sum(g), x)[0]
    np.testing.assert_allclose(second.numpy(), 6 * X / np.sqrt(2))
