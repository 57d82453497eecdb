"""custom_vjp: rules, structures, arguments that are no tensors, closures, orders, errors."""

from __future__ import annotations

import functools
import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state


def made(fun, fwd, bwd, **keywords):
    f = pb.custom_vjp(fun, **keywords)
    f.defvjp(fwd, bwd)
    return f


def cube(factor=1.0, runs=None):
    """x³ with the gradient `factor` 3 x² g; `runs` counts who ran."""
    runs = {} if runs is None else runs

    def count(what):
        runs[what] = runs.get(what, 0) + 1

    def fun(x):
        count("fun")
        return x * x * x

    def fwd(x):
        count("fwd")
        return x * x * x, x

    def bwd(x, g):
        count("bwd")
        return (factor * 3 * x * x * g,)

    return made(fun, fwd, bwd)


def test_which_function_runs_when():
    runs = {}
    f = cube(runs=runs)
    assert float(f(pb.tensor(2.0))) == 8.0
    assert runs == {"fun": 1}
    x = pb.tensor(2.0, requires_grad=True)
    with pb.no_grad():
        f(x)
    assert runs == {"fun": 2}
    y = f(x)
    assert runs == {"fun": 2, "fwd": 1}
    y.backward()
    assert runs == {"fun": 2, "fwd": 1, "bwd": 1}, "fwd is run again for a first derivative"
    (g,) = pb.autograd.grad(f(x), x, create_graph=True)
    assert runs == {"fun": 2, "fwd": 3, "bwd": 2}
    assert float(pb.autograd.grad(g, x)[0]) == 12.0


def test_inside_fwd_nobody_follows():
    seen = []

    def fwd(x):
        seen.append((x.requires_grad, (x * x).requires_grad))
        return x * x, None

    f = made(lambda x: x * x, fwd, lambda _, g: (g,))
    f(pb.tensor(2.0, requires_grad=True)).backward()
    assert seen == [(False, False)]


def test_a_function_may_be_called_inside_its_own_rules():
    @pb.custom_vjp
    def f(x):
        return pb.sin(x)

    def bwd(x, g):
        return (g * f(x + np.pi / 2),)  # cos

    f.defvjp(lambda x: (f(x), x), bwd)
    derivatives = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]
    transformed = f
    for d in derivatives:
        np.testing.assert_allclose(transformed(0.3).numpy(), d(0.3), rtol=1e-10)
        transformed = pb.grad(transformed)


@pytest.mark.parametrize("inside", ["as given", "stopped", "twice"])
def test_fwd_may_call_the_function_itself_in_a_graph(inside):
    """While a graph is built, every tensor seems to be differentiated, also those of `fwd`."""
    calls = {
        "as given": lambda f, x: f(x), "stopped": lambda f, x: f(pb.stop_gradient(x)),
        "twice": lambda f, x: f(0 * f(x) + x),
    }

    def fwd(x):
        y = calls[inside](f, x)
        return y, y

    f = made(pb.exp, fwd, lambda y, g: (1.5 * y * g,))
    x = pb.tensor(np.random.default_rng(0).normal(size=3))
    rng = np.random.default_rng(1)
    g = pb.tensor(rng.normal(size=3))
    for whole in (f, pb.function(f), pb.function(lambda x: f(x) * 1.0)):
        assert np.allclose(whole(x).numpy(), np.exp(x.numpy()))
        _, pull = pb.vjp(whole, x)
        assert np.allclose(pull(g)[0].numpy(), 1.5 * np.exp(x.numpy()) * g.numpy())
    inner = pb.function(pb.grad(lambda x: pb.sum(f(x))))
    assert np.allclose(inner(x).numpy(), 1.5 * np.exp(x.numpy()))


def test_residuals_of_any_structure_get_their_history_for_second_orders():
    class Bag:
        def __init__(self, sine):
            self.sine = sine

    def fwd(x, y):
        return pb.sin(x) * y, {"pair": (pb.cos(x), y), "bag": Bag(pb.sin(x)), "f": len, "n": None}

    def bwd(res, g):
        assert res["f"] is len
        cosine, y = res["pair"]
        return g * cosine * y, g * res["bag"].sine

    f = made(lambda x, y: pb.sin(x) * y, fwd, bwd)
    hessian = pb.hessian(f, argnums=(0, 1))(0.3, 2.0)
    expected = [[-np.sin(0.3) * 2, np.cos(0.3)], [np.cos(0.3), 0.0]]
    np.testing.assert_allclose([[float(h) for h in row] for row in hessian], expected, atol=1e-15)


def test_structures_in_and_out_and_zeros_for_what_is_not_used():
    seen = []

    def bwd(res, g):
        seen.append({k: v.numpy().copy() for k, v in g.items()})
        a, b = res
        return {"a": g["sum"] + g["product"] * b, "b": (g["sum"] + g["product"] * a,)}, None

    def value(tree, scale):
        a, (b,) = tree["a"], tree["b"]
        return {"sum": a + b, "product": a * b, "count": pb.tensor([1, 2])}

    f = made(value, lambda tree, scale: (value(tree, scale), (tree["a"], tree["b"][0])), bwd)
    tree = {"a": pb.tensor([1.0, 2.0]), "b": (pb.tensor([3.0, 5.0]),)}
    g_tree, g_scale = pb.grad(lambda t, s: pb.sum(f(t, s)["product"]), (0, 1))(tree, 7.0)
    assert g_tree["a"].tolist() == [3.0, 5.0]
    assert g_tree["b"][0].tolist() == [1.0, 2.0]
    assert float(g_scale) == 0.0
    assert seen[0]["sum"].tolist() == [0.0, 0.0]
    assert seen[0]["count"].shape == (2,)
    out = f(tree, 7.0)
    assert set(out) == {"sum", "product", "count"}
    assert out["count"].dtype == np.int64


def test_an_output_may_be_missing_and_an_argument_may_be_answered_by_none():
    f = made(
        lambda x, tree: (x * 2, None), lambda x, tree: ((x * 2, None), None),
        lambda _, g: (g[0] * 2, None if g[1] is None else 1 / 0),
    )
    x = {"w": pb.tensor(1.0, requires_grad=True)}
    y, nothing = f(x["w"], x)
    assert nothing is None
    y.backward()
    assert float(x["w"].grad) == 2.0


def test_parts_of_a_structure_may_be_answered_by_none():
    f = made(
        lambda t: t[0] * t[1][0], lambda t: (t[0] * t[1][0], t), lambda t, g: ([g * 10, None],)
    )
    g = pb.grad(f)([2.0, (3.0, 4.0)])
    assert float(g[0]) == 10.0
    assert [float(v) for v in g[1]] == [0.0, 0.0]


def test_integers_may_be_answered_by_anything():
    for entry in (None, 0, np.zeros(3, np.int64), np.zeros(3)):
        f = made(lambda x, i: x[i], lambda x, i: (x[i], None), lambda _, g, e=entry: (g * 0 + 5, e))
        x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
        f(x, pb.tensor([0, 2, 1])).backward(pb.tensor([1.0, 1.0, 1.0]))
        assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_arguments_that_are_not_differentiated():
    seen = []

    def bwd(f, scale, x, g):
        seen.append((f, scale))
        return (g * scale * pb.cos(x),)

    @functools.partial(pb.custom_vjp, nondiff_argnums=(0, 2))
    def apply(f, x, scale="one"):
        return f(x)

    apply.defvjp(lambda f, x, scale: (f(x), x), bwd)
    assert float(pb.grad(lambda x: apply(pb.sin, x, 100))(0.0)) == 100.0
    assert seen == [(pb.sin, 100)]
    assert float(apply(scale=3, x=pb.tensor(0.0), f=pb.sin)) == 0.0
    by_name = made(
        lambda f, x: f(x), lambda f, x: (f(x), None), lambda f, _, g: (g * 7,),
        nondiff_argnames="f",
    )
    assert float(pb.grad(lambda x: by_name(pb.sin, x=x))(0.0)) == 7.0
    from_the_end = made(
        lambda x, n: x**n, lambda x, n: (x**n, None), lambda n, _, g: (g * n,), nondiff_argnums=-1
    )
    assert float(pb.grad(from_the_end)(2.0, 11)) == 11.0


def test_a_tracked_tensor_among_them_is_refused():
    f = made(lambda x, c: x * c, lambda x, c: (x * c, x), lambda c, x, g: (g,), nondiff_argnums=1)
    with pytest.raises(ValueError, match=r"argument `c` of custom_vjp(.|\n)*a tracked tensor"):
        pb.grad(lambda x: f(x, x))(1.0)
    with pytest.raises(ValueError, match="argument `c`"):
        pb.jvp(lambda x: f(1.0, {"c": x}), (1.0,), (1.0,))
    assert float(pb.grad(lambda x: f(x, pb.stop_gradient(x)))(2.0)) == 1.0


def test_keywords_defaults_and_methods():
    f = made(
        lambda x, y=3.0: x * y, lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1], g * r[0])
    )
    assert float(pb.grad(f)(2.0)) == 3.0
    assert float(pb.grad(lambda y: f(y=y, x=2.0))(5.0)) == 2.0

    class Layer:
        factor = 5.0

        @functools.partial(pb.custom_vjp, nondiff_argnums=0)
        def call(self, x):
            return x * self.factor

        call.defvjp(lambda self, x: (self.call(x), x), lambda self, x, g: (g * self.factor,))

    assert float(pb.grad(Layer().call)(2.0)) == 5.0
    assert repr(f) == "<custom_vjp <lambda>>"
    assert repr(Layer.call) == "<custom_vjp call>"
    with pytest.raises(ValueError, match="keyword-only b"):
        pb.custom_vjp(lambda a, *, b: a * b)(1.0, b=2.0)


# Random numbers ------------------------------------------------------------------------------


def noisy():
    def fwd(x):
        noise = pb.random.normal(x.shape)
        return x * x * noise, (x, noise)

    return made(lambda x: fwd(x)[0], fwd, lambda r, g: (g * 2 * r[0] * r[1],))


def test_the_second_run_draws_the_same_random_numbers():
    f = noisy()
    x = pb.tensor(np.arange(1.0, 4.0), requires_grad=True)
    y = f(x)
    noise = y.numpy() / x.numpy() ** 2
    after = pb.random.get_state()
    (g,) = pb.autograd.grad(pb.sum(y), x, create_graph=True)
    (h,) = pb.autograd.grad(pb.sum(g), x)
    np.testing.assert_allclose(g.numpy(), 2 * x.numpy() * noise)
    np.testing.assert_allclose(h.numpy(), 2 * noise)
    assert pb.random.get_state() == after
    hessian = np.diag(pb.hessian(lambda x: pb.sum(f(x)))(x).numpy())
    gradient = pb.grad(lambda x: pb.sum(f(x)))(x).numpy()
    assert not np.allclose(hessian, 2 * noise), "every call draws anew"
    assert not np.allclose(hessian * x.numpy(), gradient)


def test_the_second_run_draws_as_many_as_the_first_whatever_vmaps_run():
    f = noisy()
    x = pb.tensor(np.ones((3, 2)), requires_grad=True)
    y = pb.vmap(f)(x)  # six numbers; the pulls are outside
    (g,) = pb.autograd.grad(pb.sum(y), x, create_graph=True)
    (h,) = pb.autograd.grad(pb.sum(g), x)
    assert len(set(y.numpy().ravel())) == 6
    np.testing.assert_allclose(h.numpy(), 2 * y.numpy())
    z = pb.tensor(np.ones(2), requires_grad=True)
    value, pull = pb.vjp(f, z)
    rows = pb.vmap(lambda u: pull(u)[0])(np.eye(2))  # recorded, as z is tracked
    np.testing.assert_allclose(rows.numpy(), np.diag(2 * value.numpy()))
    (h,) = pb.autograd.grad(pb.sum(rows), z)
    np.testing.assert_allclose(h.numpy(), 2 * value.numpy())


# Errors and memory ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (lambda g: g, ValueError, "a tuple of 2 gradients"),
        (lambda g: (g,), ValueError, "a tuple of 2 gradients"),
        (lambda g: (g, g, g), ValueError, "a tuple of 2 gradients"),
        (lambda g: (g, "text"), ValueError, "gradient of argument `tree`.*bwd.*\n.*structure"),
        (lambda g: (g, g), ValueError, "gradient of argument `tree`.*\n.*structure of argument"),
        (lambda g: (g, {"b": g}), ValueError, "gradient of argument `tree`"),
        (lambda g: (g, {"a": [g]}), ValueError, "gradient of argument `tree`"),
        (lambda g: ([g], None), ValueError, "gradient of argument `x`"),
        (lambda g: ("text", None), TypeError, "gradient of argument `x`"),
        (lambda g: (pb.sum(g), None), ValueError, r"argument `x`(.|\n)*shape \(3,\)(.|\n)*\(\)"),
        (lambda g: (None, {"a": pb.stack([g, g])}), ValueError, r"`tree`(.|\n)*\(2, 3\)"),
    ],
)
def test_wrong_answers_name_bwd_and_the_argument(answer, error, words):
    def value(x, tree):
        return x * tree["a"]

    def bwd(res, g):
        return answer(g)

    f = made(value, lambda x, tree: (value(x, tree), None), bwd)
    before = state()
    with pytest.raises(error, match=words) as caught:
        pb.vjp(f, np.ones(3), {"a": np.ones(3)})[1](np.arange(3.0))
    assert "bwd" in str(caught.value)
    assert state() == before


def test_other_misuse():
    f = pb.custom_vjp(lambda x: x * 2)
    assert float(f(1.0)) == 2.0
    with pytest.raises(ValueError, match=r"\.defvjp\(fwd, bwd\)"):
        pb.grad(f)(1.0)
    with pytest.raises(ValueError, match="symbolic_zeros"):
        f.defvjp(lambda x: (x, None), lambda _, g: (g,), symbolic_zeros=True)
    with pytest.raises(TypeError, match="fwd and bwd"):
        f.defvjp(lambda x: (x, None), None)
    f.defvjp(lambda x: x * 2, lambda _, g: (g,))
    with pytest.raises(TypeError, match="return out, res"):
        pb.grad(f)(1.0)
    with pytest.raises(IndexError, match="nondiff_argnums"):
        pb.custom_vjp(lambda x: x, nondiff_argnums=(1,))
    with pytest.raises(IndexError, match="positions from the front"):
        pb.custom_vjp(lambda *args: args[0], nondiff_argnums=-1)
    with pytest.raises(ValueError, match="did you mean 'scale'"):
        pb.custom_vjp(lambda x, scale: x, nondiff_argnames=("scala",))
    with pytest.raises(TypeError, match="custom_vjp"):
        pb.custom_vjp(3)


def test_overwritten_arguments_and_residuals_are_noticed():
    for residual in (True, False):
        kept = {}

        def fwd(x, residual=residual, kept=kept):
            kept["r"] = x * 1
            return x * x, kept["r"] if residual else None

        f = made(lambda x: x * x, fwd, lambda r, g: (g,))
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        z = x * 1
        y = pb.sum(f(z))
        with pb.no_grad():
            if residual:
                kept["r"] += 1
            else:
                z += 1
        with pytest.raises(RuntimeError, match="residual" if residual else "argument"):
            y.backward()


def test_what_is_kept_is_freed():
    gc.disable()
    try:
        alive = []

        def fwd(x):
            residual = pb.exp(x)
            alive.append(weakref.ref(residual.data))
            return residual * 2, residual

        f = made(lambda x: pb.exp(x) * 2, fwd, lambda r, g: (g * r,))
        x = pb.tensor(np.ones(10), requires_grad=True)
        y = f(x)
        assert alive[0]() is not None
        del y
        assert alive[0]() is None
        y = pb.sum(f(x))
        y.backward()
        assert alive[1]() is None
        with pytest.raises(RuntimeError, match="retain_graph"):
            y.backward()
        value, _ = pb.jvp(f, (np.ones(10),), (np.ones(10),))
        assert value.node is None
        assert all(r() is None for r in alive), "forward mode keeps residuals alive"
    finally:
        gc.enable()


def test_overrides_stand_in_for_it():
    f = cube()
    with pb.override_gradient({f: lambda op, g: g * 100.0 * op.inputs[0]}):
        assert float(pb.grad(f)(2.0)) == 200.0
        assert float(pb.jvp(f, (2.0,), (1.0,))[1]) == 200.0
