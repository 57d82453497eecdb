"""Each event of `core.observe`, that it comes from this thread only, and that it costs nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.arrays import Kernels
from pullback.core.observe import Calls, Observer, observing
from pullback.core.op import OPS
from pullback.core.state import state
from tests.loops import each


def tensor() -> Any:
    return pb.tensor([1.0, 2.0], requires_grad=True)


def kernel(x: Any) -> Any:
    return pb.exp(x)


def step(x: Any) -> Any:
    pb.sum(pb.exp(x)).backward()


def lost(x: Any) -> Any:
    return x.detach()


def written(x: Any) -> Any:
    y = x * 1.0
    y += 1.0


def copied(x: Any) -> Any:
    return pb.tensor([x[0], 2.0])


def gradient(x: Any) -> Any:
    return pb.grad(pb.sum)(x)


EVENTS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "kernel": (kernel, lambda op, run, args, attrs: (op.name, run(*args, **attrs))[1]),
    "recorded": (kernel, lambda node, outputs, inputs: None),
    "step": (step, lambda node, g, run: run()),
    "lost": (lost, lambda kind, operation, parents, result, replaces: None),
    "written": (written, lambda array, by: None),
    "copied": (copied, lambda by, arrays, made: None),
    "gradient": (gradient, lambda how, targets, sources, gradients, tape: None),
}
"""event -> a program in which it happens, and what an observer does there."""


def test_every_event_is_listed() -> None:
    own = {name for name, value in vars(Observer).items() if callable(value)}
    assert {name for name in own if not name.startswith("_")} == set(EVENTS)


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_seen_inside_the_block_and_by_this_thread_only(event: str) -> None:
    program, answer = EVENTS[event]
    seen: list[tuple[Any, ...]] = []

    def note(*about: Any) -> Any:
        seen.append(about)
        return answer(*about)

    with observing(Calls(**{event: note})):
        program(tensor())
        assert seen
        count = len(seen)
        thread = threading.Thread(target=program, args=(tensor(),))
        thread.start()
        thread.join()
    program(tensor())
    assert len(seen) == count


def test_the_last_observer_wraps_the_others() -> None:
    order: list[str] = []

    def named(name: str) -> Calls:
        def see(op: Any, run: Any, args: Any, attrs: Any) -> Any:
            order.append(f"{name} begins")
            result = run(*args, **attrs)
            order.append(f"{name} ends")
            return result

        return Calls(kernel=see)

    with observing(named("outer")), observing(named("inner")):
        pb.exp(tensor())
    assert order == ["inner begins", "outer begins", "outer ends", "inner ends"]


def test_nothing_is_left_behind_after_an_error() -> None:
    def fail(*about: Any) -> Any:
        raise ZeroDivisionError

    before = state()
    kernels = dict(OPS["exp"].op.kernels)

    def fails(event: str) -> None:
        with pytest.raises(ZeroDivisionError), observing(Calls(**{event: fail})):
            step(tensor())

    each(["kernel", "recorded", "step"], fails)
    assert state() == before
    assert Kernels.dress is None
    assert {k: v for k, v in OPS["exp"].op.kernels.items() if k in kernels} == kernels


def test_lost_paths_and_recorded_nodes_need_the_general_path_only_when_observed() -> None:
    plain = state().mode
    with observing(Calls(kernel=EVENTS["kernel"][1], step=EVENTS["step"][1])):
        assert state().mode == plain
    with observing(Calls(lost=EVENTS["lost"][1])):
        assert state().mode != plain


def test_an_observer_sees_no_gradients_of_its_own() -> None:
    seen: list[str] = []

    def ask(how: str, *about: Any) -> None:
        seen.append(how)
        pb.grad(pb.sum)(tensor())

    with observing(Calls(gradient=ask)):
        pb.grad(pb.sum)(tensor())
    assert seen == ["grad of `sum`"]


def instructions(run: Callable[[], Any]) -> int:
    """How many instructions of Python a call takes: a measure of its time without a clock."""
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    run()  # what is made once is made
    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 tells of them only if it was asked before
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def test_an_operation_without_recording_takes_less_than_a_recorded_one() -> None:
    x, w = tensor(), pb.Variable([1.0, 2.0])
    # In C the plain case takes no instruction of Python; there, too, this is the general case.
    multiply, greater = (getattr(f, "general", f) for f in (pb.multiply, pb.greater))
    recorded = instructions(lambda: multiply(x, 2.0))
    assert recorded > 50
    with pb.no_grad():
        assert instructions(lambda: multiply(x, 2.0)) < recorded
    assert instructions(lambda: multiply(w, 2.0)) < 1.3 * recorded  # outside tapes; read by a call
    assert instructions(lambda: greater(x, 0.0)) < recorded
