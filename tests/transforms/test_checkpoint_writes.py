"""checkpoint and solvers: their second run must find what the first one found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb


def test_a_captured_tensor_that_was_written_since_the_call_is_named_so() -> None:
    x = pb.tensor([1.0, -2.0], requires_grad=True)
    kept = x * 2.0
    y = pb.checkpoint(lambda z: pb.sin(z) * kept)(x * 1.0)
    kept += 1.0
    with pytest.raises(pb.errors.CaptureError, match="written in place") as caught:
        pb.sum(y).backward()
    assert "argument" in caught.value.fix


@pytest.mark.parametrize("write", ["itself", "detached", "a view"])
def test_an_argument_without_a_gradient_must_not_be_written_since_the_call(write: str) -> None:
    x, constant = pb.tensor([1.0, -2.0], requires_grad=True), pb.tensor([0.5, 3.0]) * 1.0
    y = pb.checkpoint(lambda x, c: pb.sin(c) * x)(x, constant)
    view = {"itself": constant, "detached": constant.detach(), "a view": constant[:1]}[write]
    view += 1.0
    with pytest.raises(pb.errors.InplaceError, match="argument"):
        pb.sum(y).backward()


MODES: dict[str, Callable[..., Any]] = {
    "backward": lambda x, y: pb.sum(y).backward(),
    "create_graph": lambda x, y: pb.autograd.grad(pb.sum(y), x, create_graph=True),
    "overrides": lambda x, y: pb.sum(y).backward(overrides={"sin": lambda op, g: g}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("write", ["itself", "a view", "optimiser"])
@pytest.mark.parametrize("point", [0.0, 0.7])
def test_a_captured_constant_must_not_be_written_since_the_call(
    mode: str, write: str, point: float
) -> None:
    # At 0 the result is the same whatever the constant is, and the gradient is not.
    x = pb.tensor([point, point], requires_grad=True)
    constant = pb.tensor([3.0, -4.0], requires_grad=write == "optimiser")
    y = pb.checkpoint(lambda z: pb.sin(z) * constant.detach())(x)
    if write == "optimiser":
        constant.grad = pb.ones(2)
        pb.optim.SGD([constant], lr=0.1).step()
    else:
        view = {"itself": constant, "a view": constant[:1]}[write]
        view += 1.0
    with pytest.raises(pb.errors.InplaceError, match="captured tensor"):
        MODES[mode](x, y)


def changed_by_numpy() -> tuple[Any, Any]:
    array = np.array([3.0, -4.0])
    return lambda: array, lambda: array.__iadd__(1.0)


def changed_binding() -> tuple[Any, Any]:
    scale = 3.0

    def change() -> None:
        nonlocal scale
        scale = 4.0

    return lambda: scale, change


def changed_attribute() -> tuple[Any, Any]:
    class Layer:
        scale = pb.tensor([3.0, -4.0])

    layer = Layer()
    return lambda: layer.scale, lambda: setattr(layer, "scale", pb.tensor([1.0, 2.0]))


def drawn() -> tuple[Any, Any]:
    generator = np.random.default_rng(7)
    return lambda: generator.random(2), lambda: None


def derived() -> tuple[Any, Any]:
    constant = pb.tensor([3.0, -4.0])
    return lambda: constant * 2.0, lambda: constant.__iadd__(1.0)


OUTSIDE = [changed_by_numpy, changed_binding, changed_attribute, drawn, derived]


def checkpointed(x: Any, value: Any) -> Any:
    return pb.checkpoint(lambda z: pb.sin(z) * value() + 1.0)(x)


def rooted(x: Any, value: Any) -> Any:
    return pb.root(lambda z: z**3 + 10.0 * z - x * value(), pb.ones(2))


def integrated(x: Any, value: Any) -> Any:
    return pb.odeint(lambda y, t: -y * value(), x, np.array([0.0, 0.2]))


@pytest.mark.parametrize("change", OUTSIDE)
@pytest.mark.parametrize("call", [checkpointed, rooted, integrated])
def test_a_second_run_with_other_numbers_is_an_error(call: Any, change: Any) -> None:
    value, happen = change()
    if change in (drawn, derived) and call is not checkpointed:
        return  # a solver finds no solution of an equation that changes; a derived one below
    x = pb.tensor([0.7, -0.4], requires_grad=True)
    y = call(x, value)
    happen()
    with pytest.raises(pb.errors.CaptureError, match="the results of the first run"):
        pb.sum(y).backward()


@pytest.mark.parametrize("call", [rooted, integrated])
def test_a_solver_whose_equation_was_written_since_is_an_error(call: Any) -> None:
    x, constant = pb.tensor([0.7, -0.4], requires_grad=True), pb.tensor([3.0, -4.0])
    y = call(x, lambda: constant)
    constant += 1.0
    with pytest.raises(pb.errors.InplaceError, match="captured tensor"):
        pb.sum(y).backward()


def test_a_second_run_in_forward_mode_is_compared_too() -> None:
    generator = np.random.default_rng(7)
    f = pb.checkpoint(lambda z: pb.sin(z) * generator.random(2))
    with pytest.raises(pb.errors.CaptureError, match="the results of the first run"):
        pb.jvp(f, (pb.ones(2),), (pb.ones(2),))


def test_what_the_function_writes_itself_in_both_runs_is_no_error() -> None:
    scratch, running = pb.zeros(2), pb.zeros(2)

    def f(z: Any) -> Any:
        nonlocal running
        scratch[:] = pb.tensor([1.0, 2.0])
        running *= 0.9
        running += pb.stop_gradient(z)  # as batch normalisation keeps it: no result reads it
        return pb.sin(z) * scratch + pb.random.normal((2,))

    x = pb.tensor([0.7, -0.4], requires_grad=True)
    pb.sum(pb.checkpoint(f)(pb.checkpoint(f)(x))).backward()
    assert np.all(np.isfinite(x.grad.numpy()))


@pytest.mark.parametrize("values", [[np.nan, 1.0], [np.inf, 1.0], [1e200, -1e200], [0.0, -0.0]])
def test_results_that_are_not_finite_are_the_same_in_both_runs(values: list[float]) -> None:
    x = pb.tensor(values, requires_grad=True)
    with np.errstate(all="raise", invalid="ignore"):
        pb.sum(pb.checkpoint(lambda z: z * 3.0)(x)).backward()
    assert x.grad.tolist() == [3.0, 3.0]
