"""Function: `jvp`, `vmap`, what each is handed, and both beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state


class Product(pb.Function):
    """x y and x + y, of two tensors and a number; every rule notes what it is handed."""

    seen: list

    @staticmethod
    def forward(ctx, x, y, power):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x, y)
        ctx.power = power
        return x * y, x + y

    @staticmethod
    def jvp(ctx, *tangents):
        x, y = ctx.saved_tensors
        Product.seen.append(tangents)
        tx, ty, _ = tangents
        zero = pb.zeros_like(x)
        tx, ty = zero if tx is None else tx, zero if ty is None else ty
        return ctx.power * (tx * y + x * ty), ctx.power * (tx + ty)

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return None, g * x * 1000, None


@pytest.fixture(autouse=True)
def unseen():
    Product.seen = []


def test_jvp_is_handed_zeros_where_there_is_no_tangent_and_none_for_no_tensor():
    y = pb.tensor([3.0, 4.0])
    outs, ts = pb.jvp(lambda x: Product.apply(x, y, 10), (np.ones(2),), (np.array([1.0, 2.0]),))
    assert [o.tolist() for o in outs] == [[3.0, 4.0], [4.0, 5.0]]
    assert [t.tolist() for t in ts] == [[30.0, 80.0], [10.0, 20.0]]
    ((tx, ty, none),) = Product.seen
    assert (tx.tolist(), ty.tolist(), none) == ([1.0, 2.0], [0.0, 0.0], None)


def test_without_materialised_grads_it_is_handed_none():
    class Bare(Product):
        @staticmethod
        def forward(ctx, x, y, power):
            ctx.set_materialize_grads(False)
            return Product.forward(ctx, x, y, power)

    pb.jvp(lambda x: Bare.apply(x, pb.tensor(1.0), 10), (2.0,), (1.0,))
    assert Product.seen[0][1:] == (None, None)


def test_jvp_serves_forward_mode_and_backward_reverse_mode():
    g = pb.grad(lambda y: Product.apply(2.0 * y, y, 10)[0])(3.0)
    assert float(g) == 6000.0
    assert Product.seen == []
    x = pb.tensor(1.0)
    Product.apply(x, pb.tensor(2.0, requires_grad=True), 1)[0].backward()
    assert Product.seen == []


def test_saved_tensors_are_those_for_each_rule():
    lengths = []

    class Two(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x, x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def jvp(ctx, t):
            lengths.append(len(ctx.saved_tensors))
            return 2 * t * ctx.saved_tensors[0]

        @staticmethod
        def backward(ctx, g):
            lengths.append(len(ctx.saved_tensors))
            return 2 * g * ctx.saved_tensors[0]

    pb.jvp(Two.apply, (1.0,), (1.0,))
    pb.grad(Two.apply)(1.0)
    assert lengths == [1, 3]
    assert float(pb.jvp(pb.grad(Two.apply), (1.0,), (1.0,))[1]) == 2.0


def test_only_a_jvp_of_several_arguments_and_outputs_is_pulled_by_transposing_it():
    class Polar(pb.Function):
        @staticmethod
        def forward(ctx, r, a):
            ctx.save_for_forward(r, a)
            return r * pb.cos(a), r * pb.sin(a), 5

        @staticmethod
        def jvp(ctx, tr, ta):
            r, a = ctx.saved_tensors
            c, s = pb.cos(a), pb.sin(a)
            return tr * c - r * s * ta, tr * s + r * c * ta

    def loss(r, a):
        x, y, five = Polar.apply(r, a)
        assert five == 5
        return pb.sum(x * x * y)

    def plain(r, a):
        return pb.sum((r * pb.cos(a)) ** 2 * r * pb.sin(a))

    r, a = np.array([1.5, 2.0]), np.array([0.3, -0.8])
    for mine, theirs in zip(
        pb.grad(loss, (0, 1))(r, a), pb.grad(plain, (0, 1))(r, a), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-12)
    mine, theirs = (pb.hessian(f, (0, 1))(r, a) for f in (loss, plain))
    for i in range(2):
        for j in range(2):
            np.testing.assert_allclose(mine[i][j].numpy(), theirs[i][j].numpy(), atol=1e-12)
    leaf = pb.tensor(r, requires_grad=True)
    pb.sum(Polar.apply(leaf, pb.tensor(a))[1]).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), np.sin(a))


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (lambda t: t, ValueError, "2 tangents, one for each output tensor"),
        (lambda t: (t, t, t), ValueError, "2 tangents"),
        (lambda t: (t, "text"), TypeError, "tangent 1 returned by"),
        (lambda t: (pb.sum(t), t), ValueError, r"tangent 0 (.|\n)*shape \(2,\)(.|\n)*shape \(\)"),
        (lambda t: (t, 1j * t), ValueError, "complex"),
    ],
)
def test_wrong_tangents_are_refused(answer, error, words):
    class Wrong(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def jvp(ctx, t):
            return answer(t)

    for transform in (
        lambda f, x: pb.jvp(f, (x,), (x,)), lambda f, x: pb.vjp(f, x)[1]((x, x))
    ):
        before = state()
        with pytest.raises(error, match=words):
            transform(Wrong.apply, np.ones(2))
        assert state() == before


def test_a_tangent_may_be_none_and_is_cast_to_the_dtype_of_the_output():
    class Half(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return pb.astype(x, pb.float32), x * 3

        @staticmethod
        def jvp(ctx, t):
            return t, None

    _, (t, u) = pb.jvp(Half.apply, (np.ones(2),), (np.ones(2),))
    assert t.dtype == np.float32
    assert u.tolist() == [0.0, 0.0]


def test_save_for_forward_takes_tensors_only():
    class Wrong(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(3)
            return x

    with pytest.raises(TypeError, match=r"ctx\.save_for_forward"):
        Wrong.apply(pb.tensor(1.0))


def test_inputs_changed_in_place_have_tangents():
    class Double(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def f(x):
        y = x * 1
        assert Double.apply(y) is y
        return y * y

    value, tangent = pb.jvp(f, (np.array([1.0, 3.0]),), (np.ones(2),))
    assert value.tolist() == [4.0, 36.0]
    assert tangent.tolist() == [8.0, 24.0]


# vmap -----------------------------------------------------------------------------------------


class Norm(pb.Function):
    """The sum of squares of x, times y; its forward is NumPy's."""

    infos: list

    @staticmethod
    def forward(x, y):
        return pb.tensor(np.sum(x.numpy() ** 2) * y.numpy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.shape = output.shape

    @staticmethod
    def backward(ctx, g):
        assert ctx.shape == g.shape == ()
        x, y = ctx.saved_tensors
        return 2 * x * y * g, g * pb.sum(x * x)

    @staticmethod
    def vmap(info, in_dims, x, y):
        Norm.infos.append((info, in_dims))
        xs = x.numpy() if in_dims[0] == 0 else x.numpy()[None]
        return pb.tensor(np.sum(xs**2, axis=1) * y.numpy()), 0


@pytest.fixture
def infos():
    Norm.infos = []
    return Norm.infos


def test_vmap_is_handed_arguments_with_the_axis_shown(infos):
    x, y = np.arange(6.0).reshape(3, 2), np.array([1.0, 10.0, 100.0])
    out = pb.vmap(lambda x, y: Norm.apply(x, y), in_axes=(0, 0))(x, y)
    np.testing.assert_allclose(out.numpy(), np.sum(x**2, 1) * y)
    out = pb.vmap(lambda x: Norm.apply(x, pb.tensor(2.0)), in_axes=1)(x.T)
    np.testing.assert_allclose(out.numpy(), 2 * np.sum(x**2, 1))
    pb.vmap(lambda y: Norm.apply(pb.tensor(x[0]), y), randomness="same")(y)
    assert [(info.batch_size, dims) for info, dims in infos] == [
        (3, (0, 0)), (3, (0, None)), (3, (None, 0)),
    ]
    assert infos[0][0].randomness == "different"
    assert infos[2][0].randomness == "same"


def test_gradients_through_vmap(infos):
    x, y = np.arange(6.0).reshape(3, 2), np.array([1.0, 10.0, 100.0])

    def f(x, y):
        return Norm.apply(x, y)

    gx, gy = pb.vmap(pb.grad(f, (0, 1)))(x, y)
    np.testing.assert_allclose(gx.numpy(), 2 * x * y[:, None])
    np.testing.assert_allclose(gy.numpy(), np.sum(x**2, 1))
    shared = pb.grad(lambda y: pb.sum(pb.vmap(f, in_axes=(0, None))(x, y)))(2.0)
    np.testing.assert_allclose(shared.numpy(), np.sum(x**2))
    tangents = pb.vmap(lambda x, y: pb.jvp(f, (x, y), (x, y))[1])(x, y)
    np.testing.assert_allclose(tangents.numpy(), 3 * np.sum(x**2, 1) * y)
    leaf = pb.tensor(y, requires_grad=True)
    pb.sum(pb.vmap(f)(x, leaf)).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), np.sum(x**2, 1))


def test_without_vmap_forward_runs_on_all_examples_at_once():
    runs = []

    class Square(pb.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx, x):
            runs.append(x.shape)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 20 * g * x

    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(pb.vmap(Square.apply)(x).numpy(), x * x)
    g = pb.vmap(pb.grad(lambda x: pb.sum(Square.apply(x))))(x)
    np.testing.assert_allclose(g.numpy(), 20 * x)
    assert runs == [(2,), (2,)]


def mapping(answer, **fields):
    """A Function whose `vmap` answers this."""

    class Mapped(pb.Function):
        generate_vmap_rule = fields.get("generate", False)

        @staticmethod
        def forward(x):
            return x * 1

        @staticmethod
        def vmap(info, in_dims, x):
            return answer(x)

    if fields.get("separate", True):
        class Whole(Mapped):
            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

        return Whole
    return Mapped


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (mapping(lambda x: (x, 0), generate=True), "generate_vmap_rule"),
        (mapping(lambda x: (x, 0), separate=False), "setup_context"),
        (mapping(lambda x: x), "return output, 0"),
        (mapping(lambda x: (x, 1)), "an axis 1 of the 3 examples"),
        (mapping(lambda x: (pb.sum(x), 0)), r"shape \(\)"),
        (mapping(lambda x: (pb.concat([x, x]), 0)), r"shape \(6,\)"),
    ],
)
def test_what_cannot_be_mapped_is_refused(cls, words):
    before = state()
    with pytest.raises(TypeError, match=words):
        pb.vmap(cls.apply)(np.ones(3))
    assert state() == before


def test_outputs_that_are_the_same_for_all_or_no_tensors():
    cls = mapping(lambda x: ((pb.tensor(7.0), "text", 2 * x), (None, None, 0)))

    def f(x):
        same, text, other = cls.apply(x)
        assert text == "text"
        return same, other

    same, other = pb.vmap(f, out_axes=(None, 0))(np.ones(3))
    assert float(same) == 7.0
    assert other.tolist() == [2.0, 2.0, 2.0]
