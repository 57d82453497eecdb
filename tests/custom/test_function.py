"""Function: the context, several outputs, double backward, errors."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state


class Exp(pb.Function):
    @staticmethod
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Product(pb.Function):
    @staticmethod
    def forward(ctx, x, y, scale=2.0):
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return x * y * scale

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (
            g * y * ctx.scale if needs[0] else None, g * x * ctx.scale if needs[1] else None, None,
        )


def leaf(*values):
    return pb.tensor(np.array(values), requires_grad=True)


def test_saved_tensors_attributes_and_needs_input_grad():
    x, y = leaf(1.0, 2.0), pb.tensor([3.0, 4.0])
    z = Product.apply(x, y, 5.0)
    assert "Product" in type(z.grad_fn).__name__
    assert z.grad_fn.needs_input_grad == (True, False, False)
    pb.sum(z * pb.tensor([1.0, 10.0])).backward()
    assert x.grad.tolist() == [15.0, 200.0]


def test_keywords_are_put_in_their_positions():
    x, y = leaf(2.0), leaf(3.0)
    Product.apply(y=y, x=x).backward()
    assert x.grad.tolist() == [6.0]
    assert y.grad.tolist() == [4.0]


def test_double_and_triple_backward_through_a_saved_output():
    x = leaf(0.3, -0.7)
    y = pb.sum(Exp.apply(x))
    for _ in range(3):
        (y,) = pb.autograd.grad(y, x, create_graph=True)
        np.testing.assert_allclose(y.numpy(), np.exp(x.numpy()))
        y = pb.sum(y)


def test_double_backward_through_saved_inputs():
    x, y = leaf(2.0), leaf(3.0)
    gx, gy = pb.autograd.grad(Product.apply(x, y), [x, y], create_graph=True)
    (gxy,) = pb.autograd.grad(gx, y, retain_graph=True)
    assert float(gx) == 6.0
    assert float(gy) == 4.0
    assert float(gxy) == 2.0


@pytest.mark.parametrize("how", ["save", "attribute"])
def test_a_tensor_made_in_forward_never_drops_out_in_silence(how):
    class Trap(pb.Function):
        @staticmethod
        def forward(ctx, x):
            e = pb.exp(x)
            if how == "save":
                ctx.save_for_backward(x, e)
            else:
                ctx.save_for_backward(x)
                ctx.e = e
            return x * e

        @staticmethod
        def backward(ctx, g):
            x, *rest = ctx.saved_tensors
            e = rest[0] if rest else ctx.e
            return g * (e + x * e)

    x = leaf(1.0)
    (first,) = pb.autograd.grad(Trap.apply(x), x, create_graph=True)
    np.testing.assert_allclose(first.numpy(), 2 * np.e)
    with pytest.raises(RuntimeError, match="made inside forward"):
        first.backward()
    Trap.apply(x).backward()  # the first order is untouched
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.e)


def test_attributes_may_have_any_name():
    class Sum(pb.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.shape, ctx.dtype, ctx.level, ctx.op = x.shape, x.dtype, level, "sum"
            ctx.saved, ctx.parents, ctx.seq, ctx.attrs, ctx.spaces = 1, 2, 3, 4, 5
            return pb.sum(x)

        @staticmethod
        def backward(ctx, g):
            assert (ctx.saved, ctx.parents, ctx.seq, ctx.attrs, ctx.spaces) == (1, 2, 3, 4, 5)
            assert (ctx.level, ctx.op) == (9, "sum")
            return g * pb.ones(ctx.shape, dtype=ctx.dtype), None

    x = leaf(1.0, 2.0)
    y = Sum.apply(x, 9)
    y.backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert pb.jvp(lambda x: Sum.apply(x, 9), (x,), (x,))[1].tolist() == 3.0


def test_a_saved_output_among_several_has_its_history():
    class Both(pb.Function):
        @staticmethod
        def forward(ctx, x):
            e, s = pb.exp(x), x * x
            ctx.save_for_backward(x, e)
            return e, s

        @staticmethod
        def backward(ctx, ge, gs):
            x, e = ctx.saved_tensors
            return ge * e + gs * 2 * x

    x = leaf(0.3, -0.7)
    e, s = Both.apply(x)
    (g,) = pb.autograd.grad(pb.sum(e * s), x, create_graph=True)
    (h,) = pb.autograd.grad(pb.sum(g), x)
    v = x.numpy()
    np.testing.assert_allclose(g.numpy(), np.exp(v) * (v * v + 2 * v))
    np.testing.assert_allclose(h.numpy(), np.exp(v) * (v * v + 4 * v + 2))


def test_several_outputs_and_materialised_zeros():
    class Both(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3, "text"

        @staticmethod
        def backward(ctx, g1, g2, text):
            assert text is None  # in the place of what is no tensor
            assert not g2.numpy().any()
            return g1 * 2 + g2 * 3

    class Bare(Both):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g1, g2):
            assert g2 is None
            return g1 * 2

    for cls in (Both, Bare):
        x = leaf(1.0, 2.0)
        pb.sum(cls.apply(x)[0]).backward()
        assert x.grad.tolist() == [2.0, 2.0]
    assert Both.apply(x)[2] == "text"


def test_mark_non_differentiable_and_integer_outputs():
    class Sorted(pb.Function):
        @staticmethod
        def forward(ctx, x):
            order = pb.argsort(x)
            flat = x * 0
            ctx.mark_non_differentiable(flat)
            ctx.order = order
            return x[order], order, flat

        @staticmethod
        def backward(ctx, g, *unused):
            back = pb.argsort(ctx.order)
            return g[back]

    x = leaf(3.0, 1.0, 2.0)
    y, order, flat = Sorted.apply(x)
    assert not order.requires_grad
    assert not flat.requires_grad
    pb.sum(y * pb.tensor([1.0, 2.0, 3.0])).backward()
    assert x.grad.tolist() == [3.0, 1.0, 2.0]


def test_mark_dirty_rewrites_the_history_of_the_input():
    class Double(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0, 2.0)
    y = x * 1
    z = Double.apply(y)
    assert z is y
    pb.sum(y * y).backward()
    np.testing.assert_allclose(x.grad.numpy(), 8 * x.numpy())
    with pytest.raises(RuntimeError, match="leaf"):
        Double.apply(leaf(1.0))


def test_setup_context_apart_from_forward():
    class Cube(pb.Function):
        @staticmethod
        def forward(x):
            return x * x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    x = leaf(2.0)
    (first,) = pb.autograd.grad(Cube.apply(x), x, create_graph=True)
    assert float(first) == 12.0
    assert float(pb.autograd.grad(first, x)[0]) == 12.0


def test_optional_arguments_and_none():
    class Affine(pb.Function):
        @staticmethod
        def forward(ctx, x, w, b=None):
            ctx.save_for_backward(x, w, b)
            y = x @ w
            if b is not None:
                y += b
            return y

        @staticmethod
        def backward(ctx, g):
            x, w, b = ctx.saved_tensors
            return g @ w.mT, x.mT @ g, None if b is None else pb.sum(g, axis=0)

    rng = np.random.default_rng(0)
    x, w, b = (pb.tensor(rng.normal(size=s), requires_grad=True) for s in ((4, 3), (3, 2), (2,)))
    seed = pb.tensor(rng.normal(size=(4, 2)))
    Affine.apply(x, w, None).backward(seed)
    np.testing.assert_allclose(w.grad.numpy(), x.numpy().T @ seed.numpy())
    Affine.apply(x, w, b).backward(seed)
    np.testing.assert_allclose(b.grad.numpy(), seed.numpy().sum(0))


def test_once_differentiable():
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

    x = leaf(3.0)
    Once.apply(x).backward()
    assert float(x.grad) == 6.0
    (first,) = pb.autograd.grad(Once.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.backward()


def test_a_function_that_returns_its_input():
    class Reverse(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return -g

    x = leaf(3.0)
    y = Reverse.apply(x)
    assert y is not x
    (y * 5).backward()
    assert float(x.grad) == -5.0


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (lambda g: g, ValueError, "3 gradients"),
        (lambda g: (g, g, g, g), ValueError, "3 gradients"),
        (lambda g: (g, None, "x"), TypeError, "gradient 2"),
        (lambda g: (pb.tensor(np.ones(7)), None, None), ValueError, r"shape \(2,\)"),
    ],
)
def test_wrong_answers_are_refused(answer, error, words):
    class Wrong(Product):
        @staticmethod
        def backward(ctx, g):
            return answer(g)

    with pytest.raises(error, match=words):
        Wrong.apply(leaf(1.0, 2.0), leaf(2.0), leaf(3.0)).backward(pb.tensor([1.0, 5.0]))


def test_trailing_none_for_arguments_with_defaults_is_taken():
    class Longer(Product):
        @staticmethod
        def backward(ctx, g):
            return g, g, None, None

    x = leaf(1.0)
    Longer.apply(x, leaf(2.0), 1.0).backward()
    assert float(x.grad) == 1.0


def test_misuse_is_refused():
    with pytest.raises(TypeError, match="apply"):
        Exp()
    with pytest.raises(ValueError, match="arguments of their own"):
        Exp.apply([leaf(1.0)])

    class SavesText(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward("text")
            return x

    with pytest.raises(TypeError, match="save_for_backward"):
        SavesText.apply(leaf(1.0))


def test_a_saved_value_that_was_written_in_place_is_an_error():
    x = leaf(1.0, 2.0)
    y = Exp.apply(x)
    y += 1
    with pytest.raises(RuntimeError, match="ExpBackward") as caught:
        pb.sum(y).backward()
    assert "in place" in str(caught.value)
    assert "test_function.py" in str(caught.value), "the line that wrote is named"


def test_backward_twice_needs_retain_graph():
    x = leaf(1.0)
    y = Exp.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.e)
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_no_cycles_even_when_the_output_is_kept_on_the_context():
    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = pb.exp(x)
            ctx.y = y
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y

    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = Keeps.apply(x)
        alive = weakref.ref(y)
        node = weakref.ref(y.node)
        del y
        assert alive() is None
        assert node() is None
    finally:
        gc.enable()


def test_state_comes_back_after_an_exception():
    class Fails(pb.Function):
        @staticmethod
        def forward(ctx, x):
            if ctx.needs_input_grad[0]:
                assert not pb.is_grad_enabled()
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyboardInterrupt

    before = state()
    with pytest.raises(KeyboardInterrupt):
        Fails.apply(leaf(1.0)).backward()
    assert state() == before

    class FailsForward(Fails):
        @staticmethod
        def forward(ctx, x):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        FailsForward.apply(leaf(1.0))
    assert state() == before


def test_under_a_tape():
    v = pb.Variable([1.0, 2.0])
    with pb.GradientTape() as tape:
        y = pb.sum(Exp.apply(v) * 3)
    np.testing.assert_allclose(tape.gradient(y, v).numpy(), 3 * np.exp([1.0, 2.0]))


def test_a_variable_assigned_later_keeps_its_saved_value():
    v = pb.Variable(3.0)
    with pb.GradientTape() as tape:
        y = Product.apply(v, v, 1.0)
        v.assign(100.0)
    assert float(tape.gradient(y, v)) == 6.0
