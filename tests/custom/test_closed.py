"""What custom_vjp may not close over, and what runs inside its rules all the same."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state
from tests.custom.test_vjp import cube, made


def closing_over(w):
    def fun(x):
        return x * w

    f = pb.custom_vjp(fun)
    f.defvjp(lambda x: (x * w, None), lambda _, g: (g,))
    return f


@pytest.mark.parametrize("outer", [
    lambda use: pb.grad(lambda w: use(w, 2.0))(3.0),
    lambda use: pb.jvp(lambda w: use(w, 2.0), (3.0,), (1.0,)),
    lambda use: pb.grad(lambda w: pb.grad(lambda x: use(w, x))(2.0))(3.0),
    lambda use: pb.jvp(lambda w: pb.grad(lambda x: use(w, x))(2.0), (3.0,), (1.0,)),
    lambda use: pb.grad(lambda w: pb.jvp(lambda x: use(w, x), (2.0,), (1.0,))[1])(3.0),
])
def test_tracked_tensors_from_outside_are_refused(outer):
    before = state()
    with pytest.raises(RuntimeError, match="operation `multiply` on a tracked tensor from outside"):
        outer(lambda w, x: closing_over(w)(x))
    assert state() == before


def test_what_is_refused_and_what_is_not():
    w = pb.tensor(3.0, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"custom_vjp `fun`(.|\n)*stop_gradient.*"):
        closing_over(w)(pb.tensor(2.0))
    with pb.no_grad():
        assert float(closing_over(w)(pb.tensor(2.0))) == 6.0
    f = made(
        lambda x: x * pb.stop_gradient(w), lambda x: (x * pb.stop_gradient(w), None),
        lambda _, g: (g * 7.0,),
    )
    assert float(pb.grad(f)(2.0)) == 7.0
    for out, res in ((lambda x: w, lambda x: x), (lambda x: x * 2, lambda x: (w, x))):
        g = made(out, lambda x, o=out, r=res: (o(x), r(x)), lambda _, g: (g,))
        with pytest.raises(RuntimeError, match=r"from outside among its (outputs|residuals)"):
            pb.grad(g)(2.0)
    x = pb.tensor(2.0, requires_grad=True)
    itself = made(lambda _: x * x, lambda _: (x * x, None), lambda _, g: (g,))
    with pytest.raises(RuntimeError, match="from outside"):
        itself(x)


def test_variables_are_refused_while_a_tape_watches_them():
    w = pb.Variable(3.0)
    f = closing_over(w)
    assert float(f(pb.tensor(2.0))) == 6.0
    with pb.GradientTape(), pytest.raises(RuntimeError, match="from outside"):
        f(pb.tensor(2.0))
    given = made(lambda x, w: x * w, lambda x, w: (x * w, (x, w)), lambda r, g: (g * r[1], g * 9))
    with pb.GradientTape() as tape:
        y = given(pb.tensor(2.0), w)
    assert float(tape.gradient(y, w)) == 9.0


def test_other_hand_written_gradients_and_checkpoints_inside_are_watched_too():
    square = pb.custom_gradient(lambda x: (x * x, lambda g: g * 2 * x))
    inner = cube()
    for use in (square, inner):
        def around(w, use=use):
            f = made(lambda x: x * use(w), lambda x: (x * use(w), None), lambda _, g: (g,))
            return f(2.0)

        with pytest.raises(RuntimeError, match="from outside"):
            pb.grad(around)(3.0)


def test_fwd_may_differentiate_on_its_own():
    def fwd(x):
        slope = pb.grad(lambda z: pb.sin(z) * z)(x)
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = pb.sin(x) * x
        assert float(tape.gradient(y, x)) == float(slope)
        own = pb.tensor(2.0, requires_grad=True)
        (own * own).backward()
        assert float(own.grad) == 4.0
        return y, slope

    f = made(lambda x: pb.sin(x) * x, fwd, lambda slope, g: (g * slope,))
    np.testing.assert_allclose(pb.grad(f)(0.3).numpy(), np.cos(0.3) * 0.3 + np.sin(0.3))
    np.testing.assert_allclose(
        pb.grad(pb.grad(f))(0.3).numpy(), 2 * np.cos(0.3) - 0.3 * np.sin(0.3)
    )
    np.testing.assert_allclose(
        pb.jvp(pb.grad(f), (0.3,), (1.0,))[1].numpy(), 2 * np.cos(0.3) - 0.3 * np.sin(0.3)
    )
