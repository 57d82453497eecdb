"""Numbers that are not finite are followed back to the operation that made them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import pullback as pb
from pullback.tools.explain import Explanation, explain
from pullback.tools.explain.script import explain_script, shown
from tests.tools.explain.test_causes import silent, two


def of(f: Callable[[Any], Any], *values: float) -> Explanation:
    """The explanation of the sum of a function's outputs."""
    x = two(*values)
    with silent():
        return explain(pb.sum(f(x)), x)


OVERFLOWS: dict[str, tuple[Callable[[Any], Any], tuple[float, ...], str]] = {
    "a quotient of zero": (lambda x: 1 / (1 + pb.exp(x)), (800.0, 1.0), "exp"),
    "two steps before a sigmoid": (lambda x: pb.sigmoid(pb.exp(pb.exp(x))), (9.0, 8.0), "exp"),
    "saturated at infinity": (lambda x: pb.tanh(x * x), (1e200, 2e200), "multiply"),
    "divided by infinity": (lambda x: x / (x * x), (1e200, 2e200), "multiply"),
    "infinity minus infinity": (lambda x: pb.exp(x) - pb.exp(x), (1000.0, 1.0), "exp"),
    "infinity times zero": (lambda x: pb.exp(x) * 0.0, (1000.0, 1.0), "exp"),
}


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("name", OVERFLOWS)
def test_an_overflow_is_found_on_the_way_to_a_finite_target(name: str, debug: bool) -> None:
    f, values, operation = OVERFLOWS[name]
    with pb.debug() if debug else contextlib.nullcontext():
        found = of(f, *values)
    assert (found.cause, found.operation) == ("overflow", operation), str(found)
    assert "The forward pass was finite" not in found.text


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_a_nan_that_where_did_not_select_is_not_blamed(debug: bool) -> None:
    with pb.debug() if debug else contextlib.nullcontext():
        def masked(x: Any) -> Any:
            harmless = pb.sum(pb.where(x > 0, pb.log(pb.stop_gradient(x)), 0.0))
            return harmless * pb.sqrt(pb.sum(x - 3.0))

        found = of(masked, -1.0, 4.0)
    assert (found.cause, found.operation) == ("domain", "sqrt"), str(found)


@pytest.mark.parametrize("name", ["acos", "asin", "atanh", "acosh"])
def test_a_slope_is_infinite_at_the_end_of_the_domain(name: str) -> None:
    found = of(getattr(pb, name), 1.0, 1.0)
    assert (found.gradient, found.cause, found.operation) == ("inf", "bound", name), str(found)


@pytest.mark.parametrize("wrap", [pb.function, pb.checkpoint], ids=["function", "checkpoint"])
@pytest.mark.parametrize("f", [
    lambda x: pb.relu(-x * x), lambda x: pb.round(x) * 2.0, lambda x: pb.sqrt(x - x),
    lambda x: pb.where(x > 0, pb.stop_gradient(x), 0.0 * x),
])
def test_a_traced_function_is_not_called_a_custom_gradient(wrap: Any, f: Any) -> None:
    found = of(wrap(f), 1.0, 2.0)
    assert found.cause == "inside", str(found)
    assert "custom gradient" not in str(found)


def test_a_target_that_is_not_finite_is_stated_also_if_the_gradient_is() -> None:
    found = of(lambda x: x * 2.0 + float("nan"), 1.0, 2.0)
    assert (found.gradient, found.cause) == ("fine", "not finite"), str(found)
    assert "The target is not finite" in found.text


def of_nan() -> Explanation:
    f = pb.custom_gradient(lambda a: (a * 1.0, lambda g: g * float("nan")))
    return of(lambda x: pb.sin(f(x)), 1.0, 2.0)


def of_overridden() -> Explanation:
    with pb.override_gradient({"exp": lambda op, g: g * float("nan")}):
        return of(lambda x: pb.exp(x) * 2.0, 1.0, 2.0)


TRUTHS: dict[str, tuple[Callable[[], Explanation], tuple[str, str, str], str, str]] = {
    "a rule that returns NaN": (of_nan, ("nan", "rule not finite", "<lambda>"), "", "0 * inf"),
    "an override that returns NaN": (
        of_overridden, ("nan", "rule not finite", "exp"), "", "0 * inf"),
    "a root of a negative number": (
        lambda: of(lambda x: x**0.5, -1.0, 1.0), ("nan", "domain", "pow"),
        "The target is not finite.", "0 * inf"),
    "an overflow that was not selected": (
        lambda: of(lambda x: pb.where(x < 1, pb.exp(x * x), 1.0), 1e3, 0.5),
        ("nan", "where", "exp"), "The target is finite.", "forward pass was finite"),
    "the sum of a softmax": (
        lambda: of(pb.softmax, 1.0, 2.0), ("zero", "cancelled", "softmax"), "sum is constant",
        "saturated"),
    "a softmax that is saturated": (
        lambda: of(lambda x: pb.softmax(x)[0], 1.0, 2e3), ("zero", "saturated", "softmax"),
        "softmax", "constant"),
    "two paths": (
        lambda: of(lambda x: pb.sqrt(x) + 1 / x, 0.0, 3.0), ("nan", "0/0", "divide"),
        "On other paths, so do: `sqrt`.", "forward pass"),
    "two paths from one place": (
        lambda: of(lambda x: pb.sin(pb.sqrt(x)) + pb.sqrt(x), 0.0, 3.0), ("inf", "sqrt(0)", "sqrt"),
        "", "forward pass"),
    "two paths behind one place": (
        lambda: of(lambda x: (lambda h: pb.sin(h) + pb.cos(h))(pb.sqrt(x)), 0.0, 3.0),
        ("inf", "sqrt(0)", "sqrt"), "", "On other paths"),
    "a new tensor of a list": (
        lambda: of(lambda x: pb.tensor([x[0], 2.0 * x[1]]), 1.0, 2.0),
        ("None", "stopped", "tensor()"), "the new tensor has no history", "others that fit"),
    "a part that is detached": (
        lambda: of(lambda x: x * x.detach(), 1.0, 2.0), ("fine", "fine", ""),
        "lost its history by `detach` at", "NaN"),
    "a part that left": (
        lambda: of(lambda x: x * float(x[0]), 1.0, 2.0), ("fine", "fine", ""),
        "lost its history by `float()` at", "NaN"),
    "nothing that left": (
        lambda: of(lambda x: x * x, 1.0, 2.0), ("fine", "fine", ""), "norm", "history"),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_an_explanation_states_the_truth(name: str) -> None:
    ask, wanted, said, unsaid = TRUTHS[name]
    found = ask()
    assert (found.gradient, found.cause, found.operation) == wanted, str(found)
    assert said in found.text
    assert unsaid not in found.text


SCRIPTS: dict[str, tuple[str, str, str]] = {
    "a new tensor for a parameter of an optimizer": ("""
import pullback.torch as torch
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True), w], lr=0.1)
first, w = optimizer.param_groups[0]["params"][0], torch.ones(3, requires_grad=True)
for _ in range(2):
    (first.sum() * w).sum().backward()
    optimizer.step()
""", "unused", "Parameter 1 of the SGD, of shape (3,)"),
    "a target that is NaN": ("""
import pullback as pb
x = pb.tensor([1.0, 2.0], requires_grad=True)
y = pb.sum(x * 2) + pb.log(pb.tensor(-1.0))
y.backward()
""", "domain", "The target is not finite, although the gradient is."),
    "a gradient that a session fetched": ("""
import pullback.tf.compat.v1 as tf
tf.reset_default_graph()
x = tf.placeholder(tf.float32, [2])
gradient, fine = tf.gradients(tf.reduce_sum(tf.log(x)), x)[0], tf.gradients(x * x, x)[0]
with tf.Session() as session:
    for _ in range(2):
        session.run([gradient, fine], {x: [0.0, -1.0]})
""", "not finite", "Session.run computed it: 1 of 2 entries are NaN or infinite. The values are "
     "finite up to `gradients/Quotient` (Quotient) in the gradient, of `gradients/BroadcastTo` "
     "= 1; `Placeholder` from -1 to 0: the derivative of `Log` (Log)"),
    "a value that is NaN on the way to a fetched gradient": ("""
import pullback.tf.compat.v1 as tf
tf.reset_default_graph()
x = tf.placeholder(tf.float32, [2])
scaled = x * 3.0
root = tf.sqrt(scaled)
loss = tf.reduce_sum(root * root)
(gradient,) = tf.gradients(loss, x)
with tf.Session() as session:
    session.run(gradient, {x: [4.0, -1.0]})
""", "not finite", "`Sqrt` (Sqrt) is the first operation on the way whose result is not finite: "
     "of `mul` from -3 to 12."),
    "a gradient that is not fetched": ("""
import pullback.tf.compat.v1 as tf
tf.reset_default_graph()
w = tf.Variable([1.0, 0.0])
loss = tf.reduce_sum(tf.where([True, True], tf.sqrt(w), tf.log(w)))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(step)
""", "not finite", "(Sqrt) at"),
    "a fetched gradient that is zero": ("""
import pullback.tf.compat.v1 as tf
tf.reset_default_graph()
x = tf.placeholder(tf.float32, [2])
(gradient,) = tf.gradients(tf.reduce_sum(x * x), x)
with tf.Session() as session:
    session.run([gradient, gradient], {x: [0.0, 0.0]})
""", "inside", "Session.run computed it: all entries are zero."),
    "the gradient of a result": ("""
import pullback as pb
x = pb.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
pb.sum(h * h).backward()
print(h.grad * 2)
""", "result", "`h` is a result of `multiply`"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_explained_once(name: str, tmp_path: Path) -> None:
    text, cause, words = SCRIPTS[name]
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    with numpy.errstate(all="ignore"):
        found, ended = explain_script(str(path))
    assert [a.explanation.cause for a in found] == [cause], shown(found, ended)
    assert words in found[0].explanation.text
