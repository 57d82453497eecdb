"""Ctrl-C at each place where Python can deliver it, inside entering and leaving each block.

CPython delivers a signal when a function starts and after a call of a C function. A trace function
raises `KeyboardInterrupt` at each such place in turn; afterwards nothing is left open.
"""

from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback._registry import OPS
from pullback.arrays import Kernels
from pullback.arrays.dressed import bare
from pullback.core import observe, outside, state
from tests.tier import turn

HERE = str(Path(pb.__file__).parent)


@cache
def after_calls(code: CodeType) -> dict[int, str]:
    """The offsets of the instructions after a call, and how it calls."""
    found = list(dis.get_instructions(code))
    return {
        b.offset: a.opname
        for a, b in pairwise(found) if a.opname.startswith("CALL")
    }


class Interrupting:
    """Raises at one place: the count-th of those that the block passes through."""

    def __init__(self, at: int) -> None:
        self.at, self.seen, self.place = at, 0, ""
        self.returned = False  # the last event was that a Python function returned

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(HERE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        leaving = event == "call" and code.co_name == "__exit__"  # no code of ours has run yet
        generator = code.co_flags & 0x20 and frame.f_lasti > 0
        how = after_calls(code).get(frame.f_lasti) if event == "opcode" else None
        # A Python function that was called plainly returns without a look at signals.
        called = how is not None and not (how == "CALL" and self.returned)
        self.returned = event == "return"
        if called or (event == "call" and not leaving and not generator):
            self.seen += 1
            if self.seen == self.at:
                self.place = f"{code.co_qualname}:{frame.f_lineno} {event}"
                raise KeyboardInterrupt
        return self


def interrupted(run: Callable[[], None], at: int) -> Interrupting:
    """Run with an interrupt at a place; `seen` is smaller where it has fewer places."""
    tracer, before = Interrupting(at), sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 tells of them only if it was asked before
    sys.settrace(tracer)
    try:
        run()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return tracer


X = pb.tensor(np.array([1.0, 2.0]))

MANAGERS: dict[str, Callable[[], Any]] = {
    "no_grad": pb.no_grad, "enable_grad": pb.enable_grad, "inference_mode": pb.inference_mode,
    "keep_values": pb.keep_values,
    "override_gradient": lambda: pb.override_gradient({"round": lambda op, g: g}),
    "tape": pb.GradientTape, "persistent tape": lambda: pb.GradientTape(persistent=True),
    "accumulator": lambda: pb.ForwardAccumulator(X, X),
    "debug": pb.debug,
}


def traced() -> None:
    """Trace a function, and call it."""
    pb.function(lambda x: pb.sin(x) * x)(X)


def transformed() -> None:
    """Differentiate in each way."""
    pb.grad(lambda x: pb.sum(x * x))(X)
    pb.jvp(lambda x: x * x, (X,), (X,))
    pb.vmap(lambda x: x * x)(X)


def observed_kernels() -> list[str]:
    """The operations whose kernels still have the wrapper that observers need."""
    return [
        name for name, function in OPS.items()
        if any(bare(kernel) is not kernel for kernel in function.op.kernels.values())
    ]


def check(run: Callable[[], None], parts: int = 1) -> None:
    """Interrupt a run at every `parts`-th of its places; each time the state comes back.

    The table of kernels comes back when the next block of an observer ends.
    """
    run()  # what is imported on first use
    before = state.state()
    places = interrupted(run, 0).seen
    assert places
    for at in range(1 + turn() % parts, places + 1, parts):
        tracer = interrupted(run, at)
        if state.state() != before or outside.traces:
            gc.collect()  # a generator that was not run to its end is closed
        found = state.state()
        state.set_state(before)
        assert found == before, (tracer.place, found)
        assert not outside.traces, tracer.place
        outside.traces.clear()
        if Kernels.dress is not None or observed_kernels():
            with observe.observing(observe.Calls(kernel=lambda op, run, args, attrs: run(*args))):
                pass
        assert Kernels.dress is None, tracer.place
        assert not observed_kernels(), tracer.place


@pytest.mark.parametrize("name", MANAGERS)
def test_entering_and_leaving_a_block(name: str) -> None:
    def run() -> None:
        with MANAGERS[name]():
            pass

    check(run, 500 if name == "debug" else 1)  # it passes by each kernel of each operation


def test_a_tape_that_was_interrupted_is_closed() -> None:
    places = 0
    while True:
        places += 1
        tape = pb.GradientTape()

        def run(tape: pb.GradientTape = tape) -> None:
            with tape:
                pass

        if interrupted(run, places).seen < places:
            break
        with tape:  # an open tape would refuse
            tape.watch(X)
            y = X * X
        np.testing.assert_array_equal(tape.gradient(y, X).data, 2 * X.data)
    assert places > 3


@pytest.mark.full
@pytest.mark.parametrize("run", [traced, transformed], ids=["traced", "transformed"])
def test_running(run: Callable[[], None]) -> None:
    check(run, 10)
