"""Every way to write a gradient: forward mode, all orders, batches, and their compositions.

Hand-written derivatives here are not those of the values, so that a rule that was passed by shows.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state

FACTOR = 3.0


class Way:
    """A function of one number, and its first three derivatives as they were written."""

    def __init__(self, function, *derivatives):
        self.function, self.derivatives = function, derivatives


def of_input(function):
    """The value is sin; the rule reads the input: FACTOR cos x."""
    return Way(
        function, lambda x: FACTOR * np.cos(x), lambda x: -FACTOR * np.sin(x),
        lambda x: -FACTOR * np.cos(x),
    )


def of_output(function):
    """The value is exp; the rule reads the output y, whose derivative is again FACTOR y."""
    return Way(function, *(lambda x, k=k: FACTOR**k * np.exp(x) for k in (1, 2, 3)))


@pb.custom_gradient
def by_custom_gradient(x):
    c = pb.cos(x)  # its derivative counts in the second order
    return pb.sin(x), lambda g: g * FACTOR * c


@pb.custom_gradient
def nested(tree, unused):
    x = tree["x"]
    c, s = pb.cos(x), pb.sin(x)
    return [s, {"c": c}], lambda g_s, g_c: (
        {"x": g_s * FACTOR * c - g_c * FACTOR * s}, None
    )


class ByFunction(pb.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * FACTOR * pb.cos(x)


class OfOutput(pb.Function):
    @staticmethod
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * FACTOR * y


class TwoOutputs(pb.Function):
    @staticmethod
    def forward(ctx, x, text):
        y, z = pb.exp(x), pb.sin(x)
        ctx.save_for_backward(y)
        ctx.mark_non_differentiable(z)
        return y, text, z

    @staticmethod
    def backward(ctx, g, *unused):
        (y,) = ctx.saved_tensors
        return g * FACTOR * y, None


class OnlyJvp(pb.Function):
    @staticmethod
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_forward(y)
        return y

    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return t * FACTOR * y


class BothRules(OfOutput):
    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return FACTOR * (t * y)


class WithVmap(pb.Function):
    @staticmethod
    def forward(x):
        return pb.tensor(np.exp(x.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * FACTOR * y

    @staticmethod
    def vmap(info, in_dims, x):
        assert in_dims == (0,)
        return pb.moveaxis(WithVmap.apply(x), 0, -1), -1


@pb.custom_vjp
def by_custom_vjp(x):
    return pb.sin(x)


by_custom_vjp.defvjp(lambda x: (pb.sin(x), pb.cos(x)), lambda c, g: (g * FACTOR * c,))


@pb.custom_vjp
def vjp_of_structures(kind, tree):
    return {"value": pb.sin(tree[0]), "text": None}


vjp_of_structures.defvjp(
    lambda kind, tree: (vjp_of_structures(kind, tree), {"x": tree[0], "kind": kind}),
    lambda res, g: (None, [g["value"] * FACTOR * pb.cos(res["x"])]),
)


@pb.custom_jvp
def by_custom_jvp(x):
    return pb.sin(x)


@by_custom_jvp.defjvp
def by_custom_jvp_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return by_custom_jvp(x), t * FACTOR * pb.cos(x)


@pb.custom_jvp
def by_defjvps(x, y):
    return pb.exp(x) * y


by_defjvps.defjvps(lambda t, ans, x, y: t * FACTOR * ans, None)


def overridden(x):
    with pb.override_gradient({"sin": lambda op, g: g * FACTOR * pb.cos(op.inputs[0])}):
        return pb.sin(x)


def overridden_function(x):
    rule = lambda op, g: g * FACTOR * pb.cos(op.inputs[0])  # noqa: E731
    with pb.override_gradient({plain_sine: rule}):
        return plain_sine(x)


@pb.custom_gradient
def plain_sine(x):
    return pb.sin(x), lambda g: g * 1000.0


WAYS = {
    "custom_gradient": of_input(by_custom_gradient),
    "custom_gradient, several outputs": of_input(lambda x: nested({"x": x}, 1.0)[0]),
    "custom_gradient, second output": Way(
        lambda x: nested({"x": x}, 1.0)[1]["c"], lambda x: -FACTOR * np.sin(x),
        lambda x: -FACTOR * np.cos(x), lambda x: FACTOR * np.sin(x),
    ),
    "Function": of_input(ByFunction.apply),
    "Function, saved output": of_output(OfOutput.apply),
    "Function, several outputs": of_output(lambda x: TwoOutputs.apply(x, "text")[0]),
    "Function, only jvp": of_output(OnlyJvp.apply),
    "Function, jvp and backward": of_output(BothRules.apply),
    "Function, vmap": of_output(WithVmap.apply),
    "custom_vjp": of_input(by_custom_vjp),
    "custom_vjp, structures": of_input(lambda x: vjp_of_structures(2, [x])["value"]),
    "custom_jvp": of_input(by_custom_jvp),
    "defjvps": of_output(lambda x: by_defjvps(x, 1.0)),
    "override": of_input(overridden),
    "override of a custom gradient": of_input(overridden_function),
    "straight_through": of_input(pb.straight_through(pb.round, lambda x: FACTOR * pb.sin(x))),
    "scale_gradient": of_input(lambda x: pb.scale_gradient(pb.sin(x), 1.0) * FACTOR),
}

POINT = 0.4
MANY = np.array([0.4, -1.1, 0.9])


def pushed(f):
    return lambda x: pb.jvp(f, (x,), (1.0,))[1]


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def test_first_order_in_both_modes(way):
    f, (d, *_) = way.function, way.derivatives
    value, tangent = pb.jvp(f, (POINT,), (-0.7,))
    np.testing.assert_allclose(tangent.numpy(), -0.7 * d(POINT), rtol=1e-12)
    np.testing.assert_allclose(value.numpy(), f(pb.tensor(POINT)).numpy())
    np.testing.assert_allclose(pb.grad(f)(POINT).numpy(), d(POINT), rtol=1e-12)
    value, push = pb.linearize(f, POINT)
    np.testing.assert_allclose(push(-0.7).numpy(), -0.7 * d(POINT), rtol=1e-12)
    np.testing.assert_allclose(push(0.2).numpy(), 0.2 * d(POINT), rtol=1e-12)


@pytest.mark.parametrize("outer", [pushed, pb.grad])
@pytest.mark.parametrize("inner", [pushed, pb.grad])
def test_second_order_in_all_nestings(way, outer, inner):
    found = outer(inner(way.function))(POINT)
    np.testing.assert_allclose(found.numpy(), way.derivatives[1](POINT), rtol=1e-11)


@pytest.mark.parametrize("nest", [
    (pushed, pushed, pushed), (pb.grad, pb.grad, pb.grad), (pushed, pb.grad, pushed),
    (pb.grad, pushed, pb.grad),
])
def test_third_order(way, nest):
    f = way.function
    for transform in nest:
        f = transform(f)
    np.testing.assert_allclose(f(POINT).numpy(), way.derivatives[2](POINT), rtol=1e-10)


def test_batches_inside_and_outside(way):
    f, (d, dd, _) = way.function, way.derivatives
    weights = np.array([0.3, -2.0, 1.7])
    values = pb.vmap(f)(MANY).numpy()
    np.testing.assert_allclose(values, [f(pb.tensor(x)).numpy() for x in MANY])
    for mapped in (pb.vmap(pb.grad(f)), pb.vmap(pushed(f))):
        np.testing.assert_allclose(mapped(MANY).numpy(), d(MANY), rtol=1e-12)
    for mapped in (pb.vmap(pushed(pb.grad(f))), pb.vmap(pb.grad(pushed(f)))):
        np.testing.assert_allclose(mapped(MANY).numpy(), dd(MANY), rtol=1e-11)
    weighed = pb.grad(lambda x: pb.sum(weights * pb.vmap(f)(x)))
    np.testing.assert_allclose(weighed(MANY).numpy(), weights * d(MANY), rtol=1e-12)
    _, tangent = pb.jvp(pb.vmap(f), (MANY,), (weights,))
    np.testing.assert_allclose(tangent.numpy(), weights * d(MANY), rtol=1e-12)
    _, push = pb.linearize(pb.vmap(f), MANY)  # pushed when the vmap has ended
    np.testing.assert_allclose(push(weights).numpy(), weights * d(MANY), rtol=1e-12)
    _, pull = pb.vjp(pb.vmap(f), MANY)
    np.testing.assert_allclose(pull(weights)[0].numpy(), weights * d(MANY), rtol=1e-12)
    twice = pb.vmap(pb.vmap(pb.grad(f)))(np.stack([MANY, 2 * MANY]))
    np.testing.assert_allclose(twice.numpy(), d(np.stack([MANY, 2 * MANY])), rtol=1e-12)


def test_tangents_of_two_sweeps_are_told_apart(way):
    """d/dx (x · d/dy (x f(y)) at y = x): the inner derivative sees x as a constant."""
    f, (d, dd, _) = way.function, way.derivatives

    def outer(x):
        return x * pb.jvp(lambda y: x * f(y), (x,), (1.0,))[1]

    _, tangent = pb.jvp(outer, (POINT,), (1.0,))
    expected = 2 * POINT * d(POINT) + POINT * POINT * dd(POINT)
    np.testing.assert_allclose(tangent.numpy(), expected, rtol=1e-11)


def test_nothing_is_left_behind(way):
    before = state()
    pb.jvp(way.function, (POINT,), (1.0,))
    pb.vmap(pb.grad(way.function))(MANY)
    assert state() == before
    x = pb.tensor(POINT, requires_grad=True)
    with pb.no_grad():
        assert not way.function(x).requires_grad
