"""Examples of other array libraries, and tensors of the doors: bugs are found, right rules pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.tf as tf
import pullback.torch as door
from pullback.core.tensor import raw
from pullback.tools.check import check
from pullback.tools.check.laws import LAWS
from tests.tools.check.entries import normal
from tests.tools.check.planted import square
from tests.tools.check.planted_hazards import square_rule
from tests.tools.check.spellings import as_custom_gradient, as_function

X = normal(2, 3, seed=4)


MAKERS: dict[str, Callable[[Any], Any]] = {
    "PyTorch": lambda x: pytest.importorskip("torch").tensor(x),
    "pullback.torch": lambda x: door.tensor(x.tolist(), dtype=door.float64),
    "pullback.tf": tf.constant,
}

RIGHT: dict[str, Any] = {
    "custom_gradient": as_custom_gradient(square, square_rule),
    "Function": as_function(square, square_rule),
    "two outputs": lambda x: (pb.tanh(x), pb.sum(x * x)),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("library", MAKERS)
def test_a_right_function_passes(library: str, name: str) -> None:
    report = check(RIGHT[name], MAKERS[library](X))
    assert report.ok, str(report)


def test_a_right_function_passes_with_jax() -> None:
    jax = pytest.importorskip("jax")
    tried = {"vjp", "leaks", "paths", "writes", "captured"}  # few: each kernel is compiled
    with jax.enable_x64(True):
        report = check(RIGHT["custom_gradient"], jax.numpy.asarray(X), skip=set(LAWS) - tried)
    assert report.ok, str(report)
    assert report.tried["leaks"]["passed"]


def over_cotangent(saved: Any, g: Any) -> Any:
    array = raw(g)
    array *= 2 * raw(saved[0])
    return pb.Tensor(array.clone())


def by_strides(saved: Any, g: Any) -> Any:
    array = raw(g)
    flat = array.as_strided((array.untyped_storage().nbytes() // 8,), (1,), 0)
    return pb.Tensor(flat.repeat(6)[:6].reshape(2, 3) * 2 * raw(saved[0]))


def into_input(x: Any) -> Any:
    raw(x).clamp_(min=0)
    return x * x, (x,)


def keeping() -> Any:
    kept: list[Any] = []

    def forward(x: Any) -> Any:
        kept.append(x * 1.0)
        return x * x, (x,)

    return as_custom_gradient(forward, square_rule)


WRONG: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "writes": (lambda: as_custom_gradient(square, over_cotangent), {"order": 1}),
    "writes (into the input)": (lambda: as_custom_gradient(into_input, square_rule), {}),
    "layouts": (lambda: as_custom_gradient(square, by_strides), {"order": 1}),
    "leaks": (keeping, {}),
    "cotangent": (lambda: as_custom_gradient(square, lambda saved, g: 2 * saved[0]), {}),
    "precision": (lambda: as_custom_gradient(square, lambda saved, g: pb.astype(
        pb.astype(g * 2 * saved[0], pb.float32), pb.float64)), {}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_bug_with_pytorchs_arrays_is_found_by_its_law(name: str) -> None:
    law = name.partition(" (")[0]
    make, options = WRONG[name]
    example = MAKERS["PyTorch"](X)
    before = example.clone()
    report = check(make(), example, skip=[other for other in LAWS if other != law], **options)
    assert [f.law for f in report.failures], str(report)
    assert bool((example == before).all()), "the example itself was written to"
    assert not any("answer" in f.expected for f in report.failures), str(report)


def test_a_captured_tensor_of_pytorchs_arrays() -> None:
    weight = pb.Tensor(MAKERS["PyTorch"](X), requires_grad=True)
    report = check(lambda x: x * pb.Tensor(weight.data), MAKERS["PyTorch"](X))
    assert {f.law for f in report.failures} == {"captured"}
    assert check(lambda x: x * weight, MAKERS["PyTorch"](X))


def test_a_wrong_rule_of_a_door() -> None:
    @tf.custom_gradient
    def planted(x: Any) -> Any:
        return tf.sin(x), lambda dy: dy * tf.cos(x) * 0.9

    class Planted(door.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            g[ctx.saved_tensors[0] < 0] = 0
            return g

    report = check(planted, tf.constant(X))
    assert report.failures[0].law == "vjp"
    report = check(Planted.apply, MAKERS["pullback.torch"](X))
    assert "writes" in {f.law for f in report.failures}


def test_what_a_function_refuses_is_no_bug_of_its_gradient() -> None:
    """A view wants an array in order, and says so; a QR wants a matrix that is not singular."""
    assert check(lambda x: x.view(6), MAKERS["pullback.torch"](X))
    assert check(lambda x: pb.linalg.qr(x)[1], normal(3, 3))


def test_a_constant_that_is_handed_out_is_no_leak() -> None:
    table = np.arange(3.0)
    assert check(lambda x: (2 * x, table), X)


def test_a_function_of_one_triangle_is_told() -> None:
    matrix = np.array([[2.0, 0.3], [0.3, 1.5]])
    report = check(pb.linalg.eigvalsh, matrix)
    assert "symmetric matrices only" in report.failures[0].fix
    assert check(lambda x: pb.linalg.eigvalsh((x + x.mT) / 2), matrix)
