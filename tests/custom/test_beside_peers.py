"""The same program in the spelling's own library and here: rules called alike, equal numbers."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import pullback as pb


def test_custom_vjp_means_what_it_does_in_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def of(library, np_, grad):
        @functools.partial(library.custom_vjp, nondiff_argnums=(0,))
        def f(kind, tree, y=2.0):
            return {"a": np_.sin(tree["u"]) * y, "b": tree["v"] * y}

        def fwd(kind, tree, y):
            return f(kind, tree, y), (tree, y, kind)

        def bwd(kind, res, g):
            tree, y, again = res
            assert kind == again == 5
            part = g["a"] * 10 * np_.cos(tree["u"]) * y
            return {"u": part, "v": None}, np_.sum(g["b"] * tree["v"])

        f.defvjp(fwd, bwd)

        def loss(tree, y):
            out = f(5, tree=tree, y=y)
            return np_.sum(out["a"] * out["a"]) + np_.sum(out["b"])

        tree = {"u": np.array([0.1, 0.2], np.float32), "v": np.array([1.0, 3.0], np.float32)}
        y = np.float32(1.5)
        first = grad(loss, (0, 1))(tree, y)
        second = grad(lambda t, y: np_.sum(grad(loss)(t, y)["u"]), (0, 1))(tree, y)
        return [np.asarray(v) for g, h in (first, second) for v in (g["u"], g["v"], h)]

    mine, theirs = of(pb, pb, pb.grad), of(jax, jnp, jax.grad)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_custom_jvp_means_what_it_does_in_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def of(library, np_):
        @functools.partial(library.custom_jvp, nondiff_argnums=(0,))
        def f(kind, tree, y=2.0):
            return {"a": np_.sin(tree["u"]) * y, "b": tree["v"] * y}

        @f.defjvp
        def rule(kind, primals, tangents):
            assert kind == 5
            (tree, y), (t, ty) = primals, tangents
            part = 10 * t["u"] * np_.cos(tree["u"]) * y + ty * np_.sin(tree["u"])
            return f(kind, tree, y), {"a": part, "b": t["v"] * y * y}

        def loss(tree, y):
            out = f(5, tree=tree, y=y)
            return np_.sum(out["a"] * out["a"]) + np_.sum(out["b"])

        tree = {"u": np.array([0.1, 0.2], np.float32), "v": np.array([1.0, 3.0], np.float32)}
        y = np.float32(1.5)
        along = {"u": np.float32([1.0, -2.0]), "v": np.float32([0.5, 4.0])}
        grads = [
            library.grad(loss, (0, 1))(tree, y),
            library.grad(lambda t, y: np_.sum(library.grad(loss)(t, y)["u"]), (0, 1))(tree, y),
            library.jvp(library.grad(loss, (0, 1)), (tree, y), (along, np.float32(3.0)))[1],
        ]
        flat = [v for g, h in grads for v in (g["u"], g["v"], h)]
        flat.append(library.jvp(loss, (tree, y), (along, np.float32(3.0)))[1])
        return [np.asarray(v) for v in flat]

    for a, b in zip(of(pb, pb), of(jax, jnp), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*jit:DeprecationWarning")  # PyTorch's, of itself
def test_jvp_and_vmap_of_a_function_mean_what_they_do_in_pytorch():
    torch = pytest.importorskip("torch")
    forward_ad = torch.autograd.forward_ad

    def of(library, base, tensor):
        log = []

        class F(base):
            @staticmethod
            def forward(x, y, n):
                return x * y, x + n

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(inputs[0])
                ctx.save_for_forward(*inputs[:2])

            @staticmethod
            def backward(ctx, g, h):
                (x,) = ctx.saved_tensors
                return h, g * x, None

            @staticmethod
            def jvp(ctx, tx, ty, tn):
                x, y = ctx.saved_tensors
                log.append((np.asarray(ty).tolist(), tn))
                return tx * y + ty * x, tx

            @staticmethod
            def vmap(info, in_dims, x, y, n):
                log.append((info.batch_size, in_dims))
                return (x * y, x + n), (0, 0)

        return F, log

    theirs, log = of(torch, torch.autograd.Function, torch.tensor)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    with forward_ad.dual_level():
        outs = theirs.apply(
            forward_ad.make_dual(torch.tensor(x), torch.ones(2, dtype=torch.float64)),
            torch.tensor(y), 3,
        )
        expected = [forward_ad.unpack_dual(o).tangent.numpy() for o in outs]
    expected_map = torch.vmap(lambda x: theirs.apply(x, torch.tensor(3.0), 3)[0])(torch.tensor(x))

    mine, my_log = of(pb, pb.Function, pb.tensor)
    _, ts = pb.jvp(lambda x: mine.apply(x, pb.tensor(y), 3), (x,), (np.ones(2),))
    for t, e in zip(ts, expected, strict=True):
        np.testing.assert_allclose(t.numpy(), e)
    out = pb.vmap(lambda x: mine.apply(x, pb.tensor(3.0), 3)[0])(x)
    np.testing.assert_allclose(out.numpy(), expected_map.numpy())
    assert my_log == log
