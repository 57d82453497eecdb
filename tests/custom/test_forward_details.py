"""Forward mode of hand-written gradients: shapes, shared arguments, complex numbers, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb

FACTOR = 3.0


def pushed(f):
    return lambda x: pb.jvp(f, (x,), (1.0,))[1]


def matrix(shape):
    return np.random.default_rng(4).normal(size=shape)


A = matrix((3, 2))


@pb.custom_gradient
def linear(x):
    return pb.matmul(A, x), lambda g: 2 * pb.matmul(A.T, g)


@pb.custom_vjp
def linear_vjp(x):
    return pb.matmul(A, x)


linear_vjp.defvjp(lambda x: (pb.matmul(A, x), None), lambda _, g: (2 * pb.matmul(A.T, g),))


@pb.custom_jvp
def linear_jvp(x):
    return pb.matmul(A, x)


linear_jvp.defjvp(lambda primals, ts: (linear_jvp(*primals), 2 * pb.matmul(A, ts[0])))


@pytest.mark.parametrize("f", [linear, linear_vjp, linear_jvp], ids=["gradient", "vjp", "jvp"])
def test_jacobians_that_are_not_square(f):
    x, t, u = matrix(2), matrix(2)[::-1].copy(), matrix(3)
    np.testing.assert_allclose(pb.jvp(f, (x,), (t,))[1].numpy(), 2 * A @ t)
    np.testing.assert_allclose(pb.vjp(f, x)[1](u)[0].numpy(), 2 * A.T @ u)


def weighed():
    """x w, with a factor: of an argument that is one for each example and one that is shared."""

    class Function(pb.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_forward(x, w)
            return x * w

        @staticmethod
        def jvp(ctx, tx, tw):
            x, w = ctx.saved_tensors
            return FACTOR * (tx * w + x * tw)

    vjp = pb.custom_vjp(lambda x, w: x * w)
    vjp.defvjp(
        lambda x, w: (x * w, (x, w)), lambda r, g: (FACTOR * g * r[1], FACTOR * g * r[0])
    )
    jvp = pb.custom_jvp(lambda x, w: x * w)
    jvp.defjvps(lambda t, ans, x, w: FACTOR * t * w, lambda t, ans, x, w: x * FACTOR * t)
    gradient = pb.custom_gradient(
        lambda x, w: (x * w, lambda g: (FACTOR * g * w, x * (FACTOR * g)))
    )
    return {"gradient": gradient, "Function": Function.apply, "vjp": vjp, "jvp": jvp}


@pytest.mark.parametrize("kind", weighed())
def test_shared_arguments_of_a_batch(kind):
    f = weighed()[kind]
    x, w, t, u = matrix((4, 2)), matrix(2), matrix(2)[::-1].copy(), matrix((4, 2))[::-1].copy()

    def mapped(w):
        return pb.vmap(f, in_axes=(0, None))(x, w)

    expected = FACTOR * x * t
    np.testing.assert_allclose(pb.jvp(mapped, (w,), (t,))[1].numpy(), expected)
    np.testing.assert_allclose(pb.linearize(mapped, w)[1](t).numpy(), expected)
    np.testing.assert_allclose(pb.vjp(mapped, w)[1](u)[0].numpy(), FACTOR * np.sum(x * u, 0))
    per_example = pb.vmap(lambda x, u: pb.vjp(lambda w: f(x, w), w)[1](u)[0])(x, u)
    np.testing.assert_allclose(per_example.numpy(), FACTOR * x * u)
    hessian = pb.hessian(lambda w: pb.sum(mapped(w) * mapped(w)))(w)
    diagonal = np.diag(2 * FACTOR**2 * np.sum(x * x, 0))
    np.testing.assert_allclose(hessian.numpy(), diagonal, atol=1e-12)
    jacobian = pb.jacfwd(pb.jacrev(lambda w: pb.sum(mapped(w) * mapped(w))))(w)
    np.testing.assert_allclose(jacobian.numpy(), diagonal, atol=1e-12)


def holomorphic():
    """z ↦ z², with the adjoint rule where gradients are written, and the plain one of tangents."""

    class Square(pb.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return g * pb.conj(2 * z)

    @pb.custom_vjp
    def vjp(z):
        return z * z

    vjp.defvjp(lambda z: (z * z, z), lambda z, g: (g * pb.conj(2 * z),))

    @pb.custom_jvp
    def jvp(z):
        return z * z

    jvp.defjvp(lambda primals, ts: (jvp(*primals), 2 * primals[0] * ts[0]))
    return {
        "gradient": pb.custom_gradient(lambda z: (z * z, lambda g: g * pb.conj(2 * z))),
        "Function": Square.apply, "vjp": vjp, "jvp": jvp,
    }


@pytest.mark.parametrize("kind", holomorphic())
def test_complex_numbers(kind):
    f = holomorphic()[kind]
    z, t = np.array([1.0 - 2.0j]), np.array([0.3 + 0.1j])
    np.testing.assert_allclose(pb.jvp(f, (z,), (t,))[1].numpy(), 2 * z * t)
    np.testing.assert_allclose(pb.vjp(f, z)[1](t)[0].numpy(), np.conj(2 * z) * t)
    _, tangent = pb.jvp(lambda z: pb.jvp(f, (z,), (t,))[1], (z,), (t,))
    np.testing.assert_allclose(tangent.numpy(), 2 * t * t)


def test_variables_that_a_custom_gradient_reads():
    w = pb.Variable(2.0)

    @pb.custom_gradient
    def f(x):
        def grad(g, variables=None):
            return g * 10 * w, [g * 100 * x]

        return x * w, grad

    np.testing.assert_allclose(pb.jvp(f, (3.0,), (1.0,))[1].numpy(), 20.0)
    with pb.GradientTape() as tape:
        _, tangent = pb.jvp(f, (3.0,), (1.0,))
    assert float(tape.gradient(tangent, w)) == 10.0


def test_what_is_made_inside_forward_is_refused_and_not_left_out():
    class Trap(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.e = pb.exp(x)
            return x * ctx.e

        @staticmethod
        def backward(ctx, g):
            return g * ctx.e

    np.testing.assert_allclose(pb.jvp(Trap.apply, (1.0,), (2.0,))[1].numpy(), 2 * np.e)
    for second in (pushed(pushed(Trap.apply)), pushed(pb.grad(Trap.apply))):
        with pytest.raises(RuntimeError, match="made inside forward"):
            second(1.0)


def test_once_differentiable_names_forward_mode():
    class Once(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @pb.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    with pytest.raises(RuntimeError, match="forward mode through `OnceBackward`"):
        pb.jvp(Once.apply, (1.0,), (1.0,))
    with pytest.raises(RuntimeError, match="once_differentiable"):
        pushed(pb.grad(Once.apply))(1.0)
    assert float(pb.grad(Once.apply)(3.0)) == 6.0


def test_rules_that_leave_the_library_are_named_and_not_taken_for_zero():
    class ByNumPy(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return pb.tensor(2 * g.numpy())

    vjp = pb.custom_vjp(lambda x: x * 2)
    vjp.defvjp(lambda x: (x * 2, None), lambda _, g: (pb.tensor(2 * np.asarray(g * 1.0)),))
    for f in (ByNumPy.apply, vjp):
        assert float(pb.grad(f)(1.0)) == 2.0
        with pytest.raises(RuntimeError, match=r"forward mode(.|\n)*leaves the library(.|\n)*jvp"):
            pb.jvp(f, (1.0,), (1.0,))

    jvp = pb.custom_jvp(lambda x: x * 2)
    jvp.defjvp(lambda primals, ts: (primals[0] * 2, pb.tensor(2 * ts[0].numpy())))
    assert float(pb.jvp(jvp, (1.0,), (1.0,))[1]) == 2.0
    with pytest.raises(RuntimeError, match=r"gradient through `(.|\n)*leaves the library"):
        pb.grad(jvp)(1.0)


def test_ready_made_gradients_in_forward_mode():
    x, t = np.array([1.0, -2.0]), np.array([0.5, 3.0])

    def along(f):
        return pb.jvp(f, (x,), (t,))[1].numpy()

    np.testing.assert_allclose(along(lambda x: pb.reverse_gradient(x * x, 4.0)), -8 * x * t)
    np.testing.assert_allclose(along(lambda x: pb.scale_gradient(x * x, 0.5)), x * t)
    np.testing.assert_allclose(along(lambda x: pb.clip_gradient(x * x, 0.1)), 2 * x * t)
    np.testing.assert_allclose(along(pb.straight_through(pb.round)), t)
    hard = pb.straight_through(pb.sign, lambda x: pb.clip(x, -1.5, 1.5) * 2)
    np.testing.assert_allclose(along(hard), [2 * t[0], 0.0])


def test_overrides_after_the_fact_are_of_reverse_mode_only():
    x = pb.tensor(0.4, requires_grad=True)
    y = pb.sin(x)
    (g,) = pb.autograd.grad(y, x, overrides={"sin": lambda op, g: g * 7.0}, retain_graph=True)
    assert float(g) == 7.0
    np.testing.assert_allclose(pb.jvp(pb.sin, (0.4,), (1.0,))[1].numpy(), np.cos(0.4))


def test_an_inplace_write_elsewhere_does_not_disturb_a_custom_gradient():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = pb.custom_gradient(lambda x: (pb.sin(x), lambda g: g * FACTOR * pb.cos(x)))(x)
    z = pb.tensor([1.0])
    z += 1
    pb.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), FACTOR * np.cos([1.0, 2.0]))
