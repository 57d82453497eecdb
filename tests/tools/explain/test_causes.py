"""Each cause has a program, and `explain` names it, its operation and its line."""

from __future__ import annotations

import contextlib
import inspect
import math
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy
import pytest

import pullback as pb
from pullback import lost_paths
from pullback.errors import GraphFreedError
from pullback.tools.explain import CAUSES, Explanation, explain
from pullback.tools.explain.causes import CURES

Program = Callable[[], Explanation]
PROGRAMS: dict[str, tuple[Program, str]] = {}

NOT_KEPT = {"argmax", "no_grad", "replaced"}
"""Programs of whose causes nothing is kept outside `debug()`: operations cost nothing there."""


def is_left_open(found: Explanation) -> bool:
    """Whether an explanation outside `debug()` states what is known, and says how to know more."""
    known = found.cause in {"unused", "unwatched"}
    return known and not found.operation and "with pullback.debug():" in found.text


def program(cause: str, operation: str = "") -> Callable[[Program], Program]:
    def take(function: Program) -> Program:
        PROGRAMS[function.__name__] = function, operation
        function.cause = cause  # type: ignore[attr-defined]
        return function

    return take


def two(*values: float) -> Any:
    return pb.tensor(list(values) or [1.0, 2.0], requires_grad=True)


@program("fine")
def ordinary() -> Explanation:
    x = two()
    return explain(pb.sum(x * x), x)


@program("stopped", "detach")
def detached() -> Explanation:
    x = two()
    y = pb.sum(x.detach() * 2.0)  # HERE
    return explain(y, x)


@program("no derivative", "argmax")
def argmax() -> Explanation:
    x = two()
    best = pb.argmax(x)  # HERE
    return explain(pb.astype(best, pb.float64) * 2.0, x)


@program("left", "float()")
def left() -> Explanation:
    x = two()
    number = math.sin(float(pb.sum(x)))  # HERE
    return explain(pb.tensor(number) * 2.0, x)


@program("recording off", "multiply")
def no_grad() -> Explanation:
    x = two()
    with pb.no_grad():
        y = x * 3.0  # HERE
    return explain(pb.sum(y), x)


@program("replaced", "subtract")
def replaced() -> Explanation:
    w: Any = pb.Variable([1.0, 2.0])
    with pb.GradientTape() as tape:
        y = pb.sum(w * w)
    w = w - 0.1 * tape.gradient(y, w)  # HERE
    with pb.GradientTape() as tape:
        y = pb.sum(w * w)
    assert tape.gradient(y, w) is None
    return tape.explain(y, w)


@program("unwatched")
def unwatched() -> Explanation:
    x = pb.tensor([1.0, 2.0])
    with pb.GradientTape() as tape:
        y = pb.sum(x * x)
    return tape.explain(y, x)


@program("integer")
def integer() -> Explanation:
    x = pb.tensor([1, 2])
    return explain(pb.sum(x * 2), x)


@program("unused")
def unused() -> Explanation:
    x = two()
    return explain(pb.sum(two(3.0, 4.0) * 2.0), x)


@program("outside", "multiply")
def outside() -> Explanation:
    x = two()
    y = x * x  # HERE
    with pb.GradientTape() as tape:
        tape.watch(x)
        z = pb.sum(y + 1.0)
    return tape.explain(z, x)


@program("freed")
def freed() -> Explanation:
    x = two()
    y = pb.sum(x * x)
    y.backward()
    with pytest.raises(GraphFreedError):
        y.backward()
    return explain(y, x)


@program("overwritten", "assignment")
def overwritten() -> Explanation:
    x = two()
    y = x * x
    numpy.add(pb.ones(2), 1.0, out=y)  # HERE
    return explain(y, x)


@program("flat", "round")
def flat() -> Explanation:
    x = two()
    y = pb.round(x)  # HERE
    return explain(pb.sum(y * 2.0), x)


@program("dead", "relu")
def dead() -> Explanation:
    x = two()
    y = pb.relu(-x)  # HERE
    return explain(pb.sum(y * 2.0), x)


@program("saturated", "sigmoid")
def saturated() -> Explanation:
    x = two(-2000.0, 2000.0)
    y = pb.sigmoid(x)  # HERE
    return explain(pb.sum(y), x)


@program("clipped", "clip")
def clipped() -> Explanation:
    x = two(5.0, 6.0)
    y = pb.clip(x, -1.0, 1.0)  # HERE
    return explain(pb.sum(y), x)


@program("zero factor", "multiply")
def zero_factor() -> Explanation:
    x = two()
    y = x * pb.tensor([0.0, 0.0])  # HERE
    return explain(pb.sum(y), x)


@program("masked", "where")
def masked() -> Explanation:
    x = two()
    y = pb.where(x > 9.0, x * x, pb.ones(2))  # HERE
    return explain(pb.sum(y), x)


@program("cancelled", "subtract")
def cancelled() -> Explanation:
    x = two()
    return explain(pb.sum(x - x), x)  # HERE


@program("rule", "nothing")
def rule() -> Explanation:
    @pb.custom_gradient
    def nothing(x: Any) -> Any:
        return x * 2.0, lambda g: None

    x = two()
    y = nothing(x)  # HERE
    return explain(pb.sum(y), x)


@program("overflow", "exp")
def overflow() -> Explanation:
    x = two(1.0, 1000.0)
    with silent():
        y = pb.exp(x)  # HERE
    return explain(pb.sum(y), x)


@program("domain", "sqrt")
def root_of_a_negative_number() -> Explanation:
    x = two(-1.0, 1.0)
    with silent():
        y = pb.sqrt(x)  # HERE
        return explain(pb.sum(y), x)


@program("overflow", "pow")
def power() -> Explanation:
    x = two(1e200, 1.0)
    with silent():
        y = x**4  # HERE
        return explain(pb.sum(y), x)


@program("log(0)", "log")
def inside_a_product() -> Explanation:
    x = two(0.0, 1.0)
    with silent():
        y = x * pb.log(x)  # HERE
        return explain(pb.sum(y), x)


@program("log(0)", "log")
def log_of_zero() -> Explanation:
    x = two(0.0, 1.0)
    with silent():
        y = pb.log(x)  # HERE
        return explain(pb.sum(y), x)


@program("sqrt(0)", "sqrt")
def root_of_zero() -> Explanation:
    x = two(0.0, 1.0)
    y = pb.sqrt(x)  # HERE
    with silent():
        return explain(pb.sum(y), x)


@program("0/0", "divide")
def division() -> Explanation:
    x = two(0.0, 1.0)
    with silent():
        y = 1.0 / x  # HERE
        return explain(pb.sum(y), x)


def silent() -> Any:
    return numpy.errstate(all="ignore")


def marked_line(function: Program) -> int:
    """The line of the program with the mark, 0 without one."""
    lines, start = inspect.getsourcelines(function)
    return next((start + i for i, text in enumerate(lines) if "# HERE" in text), 0)


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cause_and_its_line_are_named(name: str, debug: bool) -> None:
    function, operation = PROGRAMS[name]
    lost_paths.forget()
    with pb.debug() if debug else contextlib.nullcontext():
        found = function()
    if name in NOT_KEPT and not debug:
        assert is_left_open(found), str(found)
        return
    assert found.cause == function.cause, str(found)  # type: ignore[attr-defined]
    assert found.cause in CAUSES
    assert found.operation == operation, str(found)
    if found.line or debug:
        assert found.line == marked_line(function), str(found)
    assert all(place.operation for place in found.path)


def test_a_function_is_explained_for_each_argument() -> None:
    first, second = explain(lambda a, b: pb.sum(a * pb.sign(b)), two(), two())
    assert (first.cause, second.cause) == ("fine", "flat")
    assert second.line


def test_nothing_changes_and_hooks_do_not_run() -> None:
    x, ran = two(), []
    y = pb.sum(x * x)
    x.register_hook(ran.append)
    assert explain(y, x).cause == "fine"
    assert ran == []
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert len(ran) == 1


def test_names_in_the_cures_exist() -> None:
    names = {name for cure in CURES.values() for name in re.findall(r"\bpb\.([\w.]+)", cure)}
    assert "leaky_relu" in names
    for name in names:
        attrgetter(name)(pb)
