"""Values that leave the library: an error in a transformation, and no matter where they are only
looked at, by all exits and all ways of differentiating."""

from __future__ import annotations

import io
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.sparse
import scipy.special
import scipy.stats

import pullback as pb
from pullback.core.state import state
from pullback.errors import LostGradientError, LostGradientWarning

X = np.array([1.5, 2.5])


def into_an_array(x: Any) -> Any:
    y = np.zeros(2)
    y[0] = x[0] ** 3
    return y


EXITS: dict[str, Callable[[Any], Any]] = {
    "float()": lambda x: float(x[0]),
    "int()": lambda x: int(x[0]),
    "complex()": lambda x: complex(x[0]).real,
    "math": lambda x: math.exp(x[0]),
    "floor": lambda x: math.floor(x[0]),
    "percent": lambda x: float("%.3f" % x[0]),  # noqa: UP031
    ".item()": lambda x: x[0].item(),
    ".tolist()": lambda x: x.tolist()[0],
    ".numpy()": lambda x: x.numpy() ** 2,
    "np.asarray": lambda x: np.asarray(x) ** 2,
    "np.array of scalars": lambda x: np.array([x[0] ** 3, x[1]]),
    "np.sum of a list": lambda x: np.sum([x[0] ** 2, x[1] ** 2]),
    "np.linalg.norm of a list": lambda x: np.linalg.norm([x[0], x[1]]),
    "np.from_dlpack": lambda x: np.from_dlpack(x) ** 2,
    "np.ma": lambda x: np.ma.array(x).filled(0.0),
    "logsumexp": scipy.special.logsumexp,
    "expm": lambda x: scipy.linalg.expm(pb.reshape(x[:1], (1, 1))),
    "sparse": lambda x: scipy.sparse.csr_matrix(np.eye(2)) @ x,
    "spline": lambda x: scipy.interpolate.CubicSpline(np.arange(2.0), x)(0.3),
    "density": scipy.stats.norm.logpdf,
}
LOOKS: dict[str, Callable[[Any], Any]] = {
    "print": lambda x: print(x, x[0], file=io.StringIO()),
    "format": lambda x: f"{x[0]:.3f} {x} {x[0]!r}",
    "if": lambda x: 1 if x[0] > 0 and not x[1] < 0 else 2,
    "max": max,
    "np.isclose": lambda x: (np.isclose(x, 1.0), np.allclose(x, 1.0), np.array2string(x)),
    "detach": lambda x: (float(x.detach()[0]), x.detach().numpy()),
    "stop_gradient": lambda x: pb.stop_gradient(x).tolist(),
    "shape": lambda x: (x.shape, len(x), x.dtype, np.shape(x)),
}


WAYS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "grad": lambda f: pb.grad(f)(X),
    "value_and_grad": lambda f: pb.value_and_grad(f)(X),
    "vjp": lambda f: pb.vjp(f, X)[1](1.0),
    "jvp": lambda f: pb.jvp(f, (X,), (np.ones(2),)),
    "linearize": lambda f: pb.linearize(f, X)[1](np.ones(2)),
    "jacrev": lambda f: pb.jacrev(f)(X),
    "hessian": lambda f: pb.hessian(f)(X),
    "hvp": lambda f: pb.hvp(f, (X,), (np.ones(2),)),
    "grad of grad": lambda f: pb.grad(lambda x: pb.sum(pb.grad(f)(x)))(X),
}


def by_backward(f: Callable[[Any], Any]) -> Any:
    x = pb.tensor(X, requires_grad=True)
    f(x).backward()
    return x.grad


def by_tape(f: Callable[[Any], Any]) -> Any:
    x = pb.tensor(X)
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


RECORDED = {"backward": by_backward, "tape": by_tape}


def beside(leave: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of which only a part is lost."""
    return lambda x: pb.sum(x * x) + pb.sum(pb.asarray(leave(x)))


def errors_of(error: BaseException | None) -> str:
    """The texts of an error and of those that it came from: NumPy replaces some."""
    texts = []
    while error is not None:
        texts.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


@pytest.mark.parametrize("way", WAYS)
def test_leaving_in_a_transformation_is_an_error_with_the_line(way: str) -> None:
    before = state()
    into = {"into an array": into_an_array, "fromiter": lambda x: np.fromiter(x, float)}
    for name, leave in {**EXITS, **into}.items():
        with pytest.raises((LostGradientError, ValueError, TypeError)) as caught:
            WAYS[way](beside(leave))
        text = errors_of(caught.value)
        assert "LostGradientError" in text, name
        assert "test_departures.py" in text, name
        assert "x.detach()" in text, name
        assert state() == before


@pytest.mark.parametrize("way", WAYS)
def test_leaving_in_a_checkpoint_is_the_same_error(way: str) -> None:
    before = state()
    exits = {**EXITS, "into an array": into_an_array}
    for name, leave in exits.items():
        part = beside(leave)
        for f in (
            pb.checkpoint(part),
            lambda x, part=part: pb.checkpoint(lambda: part(x))(),
            lambda x, part=part: pb.sin(pb.checkpoint(lambda y: pb.checkpoint(part)(y * x))(x)),
        ):
            with pytest.raises((LostGradientError, ValueError, TypeError)) as caught:
                WAYS[way](f)
            text = errors_of(caught.value)
            assert "LostGradientError" in text, name
            assert "test_departures.py" in text, name
            assert state() == before


@pytest.mark.parametrize("way", WAYS)
def test_looking_in_a_checkpoint_changes_nothing(way: str) -> None:
    wanted = WAYS[way](lambda x: pb.sum(x * x))
    for name, look in LOOKS.items():
        f = pb.checkpoint(lambda x, look=look: (look(x), pb.sum(x * x))[1])
        for g, w in zip(pb.trees.leaves(WAYS[way](f)), pb.trees.leaves(wanted), strict=True):
            np.testing.assert_array_equal(np.asarray(g), np.asarray(w), err_msg=name)


@pytest.mark.parametrize("way", RECORDED)
def test_leaving_in_a_checkpoint_is_told_once(way: str) -> None:
    for name, leave in EXITS.items():
        f = pb.checkpoint(beside(leave))
        with pb.debug(departures="error"), pytest.raises(LostGradientError) as caught:
            RECORDED[way](f)
        assert "test_departures.py" in str(caught.value), name
        with pb.debug(departures="warn"), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", LostGradientWarning)
            RECORDED[way](f)
            once = len(warned)
            RECORDED[way](beside(leave))
        assert once == len(warned) - once > 0, name


@pytest.mark.parametrize("way", WAYS)
def test_looking_changes_nothing(way: str) -> None:
    wanted = WAYS[way](lambda x: pb.sum(x * x))
    for name, look in LOOKS.items():
        def f(x: Any, look: Any = look) -> Any:
            look(x)
            return pb.sum(x * x)

        got = WAYS[way](f)
        for g, w in zip(pb.trees.leaves(got), pb.trees.leaves(wanted), strict=True):
            np.testing.assert_array_equal(np.asarray(g), np.asarray(w), err_msg=name)


@pytest.mark.parametrize("way", RECORDED)
def test_tapes_and_backward_tell_on_request(way: str) -> None:
    before = state()
    for name, leave in EXITS.items():
        with pb.debug(departures="error"), pytest.raises(LostGradientError) as caught:
            RECORDED[way](beside(leave))
        assert "test_departures.py" in str(caught.value), name
        with pb.debug(departures="warn"), pytest.warns(LostGradientWarning, match="detach"):
            RECORDED[way](beside(leave))
        assert state() == before
    for look in LOOKS.values():
        with pb.debug(departures="error"):
            RECORDED[way](lambda x, look=look: (look(x), pb.sum(x * x))[1])


def test_a_training_loop_may_log_its_loss() -> None:
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            loss = pb.sum(w * w)
            logged = [float(loss), loss.item(), f"{loss:.3f}", loss.numpy(), w.tolist()]
            loss.backward()
            logged += [float(loss), w.grad.numpy()]
            with pb.no_grad():
                w -= 0.1 * w.grad
            w.grad = None


def test_what_leaves_in_a_hand_written_gradient_has_its_rule() -> None:
    exp = pb.custom_gradient(lambda x: (pb.tensor(np.exp(x.numpy())), lambda g: g * pb.exp(x)))

    class Exp(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return pb.tensor(np.exp(x.numpy()))

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * pb.exp(*ctx.saved_tensors)

    by_vjp = pb.custom_vjp(lambda x: pb.tensor(np.exp(x.numpy())))
    by_vjp.defvjp(lambda x: (pb.tensor(np.exp(x.numpy())), x), lambda x, g: (g * pb.exp(x),))
    by_jvp = pb.custom_jvp(lambda x: pb.tensor(np.exp(x.numpy())))
    by_jvp.defjvp(lambda p, t: (pb.tensor(np.exp(p[0].numpy())), t[0] * pb.exp(p[0])))
    for f in (exp, Exp.apply, by_vjp, by_jvp):
        for way in ("grad", "hessian", "vjp"):
            got = WAYS[way](lambda x, f=f: pb.sum(f(x)))
            wanted = WAYS[way](lambda x: pb.sum(pb.exp(x)))
            for g, w in zip(pb.trees.leaves(got), pb.trees.leaves(wanted), strict=True):
                np.testing.assert_allclose(g.numpy(), w.numpy())
        np.testing.assert_allclose(WAYS["jvp"](f)[1].numpy(), np.exp(X))


def test_what_does_not_come_from_the_arguments_may_leave() -> None:
    w = pb.tensor(3.0, requires_grad=True)
    assert float(pb.grad(lambda x: x * float(w))(2.0)) == 3.0
    with pytest.raises(LostGradientError, match="grad of"):
        pb.grad(lambda v: pb.grad(lambda x: x * float(v))(2.0))(3.0)


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(pb.errors.ArgumentError, match="departures"), pb.debug(departures="raise"):
        pass


INSTEAD: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "logsumexp": ("pullback.special.logsumexp", scipy.special.logsumexp),
    "softmax": ("pullback.special.softmax", scipy.special.softmax),
    "expm": ("pullback.linalg.expm", lambda x: scipy.linalg.expm(pb.reshape(x[:1], (1, 1)))),
    "det": ("pullback.linalg.det", lambda x: scipy.linalg.det(pb.reshape(x[:1], (1, 1)))),
    "fft": ("pullback.fft.fft", lambda x: abs(scipy.fft.fft(x))),
    "solve_ivp": (
        "pullback.odeint", lambda x: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), x).y,
    ),
    "sum": ("pass numpy.sum one tensor (pullback.stack", lambda x: np.sum([x[0], x[1]])),
    "norm": ("pass numpy.linalg.norm one tensor", lambda x: np.linalg.norm([x[0], x[1]])),
    "array": ("pullback.stack for an array of tensors", lambda x: np.array([x[0], x[1]])),
    "float": ("leave out float(): a tensor", lambda x: float(np.linalg.norm(x)) * x),
    "tensor": ("use pullback.asarray, which keeps derivatives", pb.tensor),
    "tensor of a list": ("use pullback.asarray", lambda x: pb.tensor([x[0], x[1]])),
    "Tensor of a list": ("use pullback.asarray", lambda x: pb.Tensor([x[0], x[1]])),
}


# Earlier versions of SciPy ask a Tensor for the flags of an array.
OF_NEW_SCIPY = pytest.mark.needs("scipy_1_16")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=OF_NEW_SCIPY) if n == "fft" else n for n in INSTEAD]
)
def test_the_error_names_what_to_use(name: str) -> None:
    instead, leave = INSTEAD[name]
    with pytest.raises(LostGradientError) as caught:
        pb.grad(beside(leave))(X)
    assert instead in caught.value.fix
    assert "test_departures.py" in caught.value.got
    calls = {"solve_ivp": lambda x: pb.odeint(lambda y, t: -y, x, np.array([0.0, 1.0]))}
    if instead.startswith("pullback.") and name in ("logsumexp", "softmax"):
        calls[name] = getattr(pb.special, name)
    if name in calls:  # and that works
        assert np.isfinite(pb.grad(lambda x: pb.sum(calls[name](x)))(X).numpy()).all()


@pytest.mark.needs("scipy_1_16")
def test_scipy_computes_with_tensors_on_request() -> None:
    program = """
import numpy as np, scipy.special, scipy.fft, pullback as pb
x = np.array([1.5, 2.5])
for theirs, own in ((scipy.special.logsumexp, pb.special.logsumexp),
        (lambda x: scipy.special.softmax(x)[0], lambda x: pb.special.softmax(x)[0]),
        (lambda x: pb.sum(abs(scipy.fft.fft(x))), lambda x: pb.sum(abs(pb.fft.fft(x))))):
    np.testing.assert_allclose(pb.grad(theirs)(x).numpy(), pb.grad(own)(x).numpy())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100,
                   env={**os.environ, "SCIPY_ARRAY_API": "1"})
