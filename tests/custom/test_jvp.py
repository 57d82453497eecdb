"""custom_jvp: rules of both kinds, structures, zeros, closures, orders, errors."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state


def made(fun, rule, **keywords):
    f = pb.custom_jvp(fun, **keywords)
    f.defjvp(rule)
    return f


def test_the_rule_is_what_both_modes_use():
    calls = []

    def rule(primals, tangents):
        calls.append("rule")
        (x, y), (tx, ty) = primals, tangents
        return x * y, 10 * tx * y + 100 * ty * x

    f = made(lambda x, y: x * y, rule)
    assert float(f(pb.tensor(2.0), 3.0)) == 6.0
    assert calls == []
    value, tangent = pb.jvp(f, (2.0, 3.0), (1.0, 0.5))
    assert (float(value), float(tangent)) == (6.0, 130.0)
    gx, gy = pb.grad(f, (0, 1))(2.0, 3.0)
    assert (float(gx), float(gy)) == (30.0, 200.0)
    x = pb.tensor(2.0, requires_grad=True)
    f(x, 3.0).backward()
    assert float(x.grad) == 30.0
    f(x, x).backward()  # the same tensor twice: both parts
    assert float(x.grad) == 30.0 + 20.0 + 200.0


def test_tangents_that_are_not_there_are_zeros():
    seen = []

    def rule(primals, tangents):
        seen.append([None if t is None else (t.shape, t.dtype.kind) for t in tangents])
        x, _, _, _ = primals
        return x * 2, tangents[0] * 2 + tangents[1] + pb.sum(tangents[2])

    f = made(lambda x, y, i, c: x * 2, rule)
    pb.jvp(lambda x: f(x, 1.5, pb.tensor([1, 2]), "text"), (2.0,), (1.0,))
    assert seen == [[((), "f"), ((), "f"), ((2,), "i"), None]]


def test_structures_in_and_out():
    def fun(tree):
        a, (b,) = tree["a"], tree["b"]
        return {"s": a + b, "p": [a * b, None], "n": pb.tensor(3)}

    def rule(primals, tangents):
        (tree,), (t,) = primals, tangents
        a, b, ta, tb = tree["a"], tree["b"][0], t["a"], t["b"][0]
        return fun(tree), {"s": 7 * (ta + tb), "p": [7 * (ta * b + a * tb), None], "n": None}

    f = made(fun, rule)
    tree = {"a": np.array([1.0, 2.0]), "b": (np.array([3.0, 5.0]),)}
    assert f(tree)["p"][1] is None
    assert f(tree)["n"].dtype == np.int64

    def some(tree):
        out = f(tree)
        return out["s"], out["p"][0], out["n"]

    _, (s, p, n) = pb.jvp(some, (tree,), ({"a": np.ones(2), "b": (np.zeros(2),)},))
    assert s.tolist() == [7.0, 7.0]
    assert p.tolist() == [21.0, 35.0]
    assert float(n) == 0.0
    g = pb.grad(lambda tree: pb.sum(f(tree)["p"][0]))(tree)
    assert g["a"].tolist() == [21.0, 35.0]
    assert g["b"][0].tolist() == [7.0, 14.0]


def test_a_part_of_the_tangent_may_be_none():
    f = made(lambda x: (x * 2, {"z": x * 3}), lambda p, t: (None, (5 * t[0], None)))
    (a, b), (ta, tb) = pb.jvp(f, (1.0,), (2.0,))
    assert (float(a), float(b["z"]), float(ta), float(tb["z"])) == (2.0, 3.0, 10.0, 0.0)
    assert float(pb.grad(lambda x: f(x)[0] + f(x)[1]["z"])(1.0)) == 5.0


def test_rules_one_an_argument():
    f = pb.custom_jvp(lambda x, y, z: pb.sin(x) * y * z)
    f.defjvps(lambda t, ans, x, y, z: t * pb.cos(x) * y * z, None, lambda t, ans, x, y, z: t * 50)
    _, tangent = pb.jvp(f, (0.3, 2.0, 4.0), (1.0, 1.0, 1.0))
    np.testing.assert_allclose(tangent.numpy(), np.cos(0.3) * 8 + 50)
    found = pb.grad(f, (0, 1, 2))(0.3, 2.0, 4.0)
    np.testing.assert_allclose([float(g) for g in found], [np.cos(0.3) * 8, 0, 50])
    assert float(pb.jvp(lambda y: f(0.3, y, 4.0), (2.0,), (1.0,))[1]) == 0.0
    second = pb.grad(pb.grad(f))(0.3, 2.0, 4.0)
    np.testing.assert_allclose(second.numpy(), -np.sin(0.3) * 8)

    exp = pb.custom_jvp(pb.exp)
    exp.defjvps(lambda t, ans, x: 2 * ans * t)
    for order, d in enumerate((pb.grad(exp), pb.grad(pb.grad(exp))), 1):
        np.testing.assert_allclose(d(0.3).numpy(), 2**order * np.exp(0.3))

    structures = pb.custom_jvp(lambda x, y: {"a": x[0] * y, "b": y})
    structures.defjvps(
        lambda t, ans, x, y: {"a": t[0] * y, "b": 0 * y},
        lambda t, ans, x, y: {"a": x[0] * t, "b": t},
    )
    _, t = pb.jvp(structures, ([2.0], 3.0), ([1.0], 10.0))
    assert (float(t["a"]), float(t["b"])) == (23.0, 10.0)


def test_arguments_that_are_not_differentiated():
    @functools.partial(pb.custom_jvp, nondiff_argnums=(0,))
    def apply(f, x):
        return f(x)

    @apply.defjvp
    def rule(f, primals, tangents):
        assert f is pb.sin
        return f(*primals), 9 * tangents[0]

    assert float(pb.grad(lambda x: apply(pb.sin, x))(0.0)) == 9.0
    assert float(pb.jvp(lambda x: apply(x=x, f=pb.sin), (0.0,), (2.0,))[1]) == 18.0
    with pytest.raises(ValueError, match="nondiff_argnums"):
        apply.defjvps(None, None)
    with pytest.raises(ValueError, match="argument `f`"):
        pb.grad(lambda x: apply(x, 1.0))(0.0)


def test_methods_and_defaults():
    class Layer:
        @functools.partial(pb.custom_jvp, nondiff_argnums=0)
        def call(self, x, y=4.0):
            return x * y

        call.defjvp(lambda self, p, t: (p[0] * p[1], 3 * t[0] * p[1] + t[1]))

    assert float(pb.grad(Layer().call)(2.0)) == 12.0
    assert repr(Layer.call) == "<custom_jvp call>"


def test_the_rule_draws_the_numbers_that_the_value_was_made_of():
    @pb.custom_jvp
    def f(x):
        return x * pb.random.normal(x.shape)

    f.defjvps(lambda t, ans, x: ans * t)  # of x = 1, so that the value is the noise
    x = pb.tensor(np.ones(3), requires_grad=True)
    value, tangent = pb.jvp(f, (x,), (np.ones(3),))
    np.testing.assert_array_equal(value.numpy(), tangent.numpy())
    y = f(x)
    pb.sum(y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


@pytest.mark.parametrize("outer", [
    lambda use: pb.grad(lambda w: use(w, 2.0))(3.0),
    lambda use: pb.jvp(lambda w: use(w, 2.0), (3.0,), (1.0,)),
    lambda use: pb.jvp(lambda w: pb.grad(lambda x: use(w, x))(2.0), (3.0,), (1.0,)),
])
def test_tracked_tensors_from_outside_are_refused(outer):
    def use(w, x):
        return made(lambda x: x * w, lambda p, t: (p[0], t[0]))(x)

    before = state()
    with pytest.raises(RuntimeError, match="operation `multiply` on a tracked tensor from outside"):
        outer(use)
    assert state() == before


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (lambda x, t: t, TypeError, "return out, tangent"),
        (lambda x, t: (x, x, t), TypeError, "return out, tangent"),
        (lambda x, t: (x, [t]), ValueError, "structure of the value"),
        (lambda x, t: (x, t), ValueError, "structure of the value"),
        (lambda x, t: (x, {"b": t}), ValueError, "tangent returned by"),
        (lambda x, t: (x, {"a": pb.sum(t)}), ValueError, r"shape \(3,\)(.|\n)*shape \(\)"),
        (lambda x, t: (x, {"a": t * 1j}), ValueError, "complex128"),
        (lambda x, t: (x, {"a": "text"}), TypeError, "a str"),
    ],
)
def test_wrong_answers_are_refused(answer, error, words):
    def rule(primals, tangents):
        return answer(primals[0], tangents[0])

    f = made(lambda x: {"a": x * 2}, rule)
    for transform in (
        lambda f, x: pb.jvp(f, (x,), (x,)), lambda f, x: pb.grad(lambda x: pb.sum(f(x)["a"]))(x)
    ):
        before = state()
        with pytest.raises(error, match=words):
            transform(f, np.arange(3.0))
        assert state() == before


def test_other_misuse():
    f = pb.custom_jvp(lambda x: x * 2)
    assert float(f(1.0)) == 2.0
    with pytest.raises(ValueError, match=r"\.defjvp\(rule\)"):
        pb.grad(f)(1.0)
    with pytest.raises(ValueError, match="symbolic_zeros"):
        f.defjvp(lambda p, t: (p, t), symbolic_zeros=True)
    with pytest.raises(TypeError, match="defjvp"):
        f.defjvp(None)
    f.defjvps(None, None)
    with pytest.raises(ValueError, match="1 rules, one for each argument"):
        pb.grad(f)(1.0)


def test_overwritten_arguments_are_noticed_and_freed_ones_too():
    f = made(lambda x: x * x, lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]))
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    y = pb.sum(f(z))
    with pb.no_grad():
        z += 1
    with pytest.raises(RuntimeError, match="argument"):
        y.backward()
    y = pb.sum(f(x))
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_overrides_stand_in_for_it():
    f = made(lambda x: x * x, lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]))
    with pb.override_gradient({f: lambda op, g: g * 100.0 * op.inputs[0]}):
        assert float(pb.grad(f)(2.0)) == 200.0
        assert float(pb.jvp(f, (2.0,), (1.0,))[1]) == 200.0


def test_a_rule_whose_tape_records_nothing_is_an_error() -> None:
    """Its tangent was taken for zero."""

    def slope(x):
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = pb.sum(x * x * x)
        return tape.gradient(y, x)

    f = pb.custom_jvp(slope)
    f.defjvp(lambda xs, ts: pb.jvp(slope, xs, ts))
    for _ in range(2):
        with pytest.raises(pb.errors.RuleTypeError, match="tape"):
            pb.grad(lambda x: pb.sum(f(x)))(pb.tensor([1.0, 2.0]))
    by_grad = pb.custom_jvp(lambda x: pb.grad(lambda x: pb.sum(x * x * x))(x))
    by_grad.defjvp(lambda xs, ts: pb.jvp(pb.grad(lambda x: pb.sum(x * x * x)), xs, ts))
    assert pb.grad(lambda x: pb.sum(by_grad(x)))(pb.tensor([1.0, 2.0])).tolist() == [6.0, 12.0]
