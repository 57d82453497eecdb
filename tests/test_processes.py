"""Forks, signal handlers, `__del__` and threads, around large arrays and their second thread."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import warnings
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy_ import second_thread
from pullback.arrays.numpy_.large import POOL, blockwise

ENTRIES = 1 << 19  # of float64: computed on two threads


def run(program: str, tmp_path: Path, seconds: float = 60) -> None:
    """Run a program by itself; it hangs if it takes longer than so many seconds."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program), "utf-8")
    subprocess.run([sys.executable, path], timeout=seconds, check=True)


def test_a_child_of_a_fork_computes_while_other_threads_do(tmp_path: Path) -> None:
    run("""
        import os, threading, time, numpy as np, pullback as pb
        large = np.ones(1 << 19)
        over = []
        def work():
            while not over:
                pb.tensor(large) * 2.0 + 1.0
        pb.tensor(large) * 2.0
        threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
        [t.start() for t in threads]
        for _ in range(30):
            pid = os.fork()
            if not pid:
                assert float(pb.sum(pb.tensor(large) * 2.0)) == 2.0 * large.size
                os._exit(0)
            end = time.time() + 10
            while not (done := os.waitpid(pid, os.WNOHANG))[0]:
                if time.time() > end:
                    os.kill(pid, 9)
                    raise SystemExit("the child hangs")
                time.sleep(0.001)
            assert done[1] == 0
        over.append(1)
        """, tmp_path)


@pytest.mark.parametrize("entries", [1 << 17, pytest.param(1 << 18, marks=pytest.mark.full)])
def test_a_signal_handler_computes_inside_a_computation(tmp_path: Path, entries: int) -> None:
    # The timer has to end before the process does: at its exit, Python puts back the action of
    # SIGALRM that ends a process, as a program without this library shows just as well.
    run(f"""
        import signal, time, numpy as np, pullback as pb
        large = np.ones({entries})
        x, seen, over = pb.tensor(large), [], []
        float(pb.sum(x * 3.0))  # what is imported on first use must not be interrupted
        def handler(*_):
            seen.append(float(pb.sum(x * 3.0)))
            if not over:
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        end = time.time() + 1
        while time.time() < end:
            assert float(pb.sum(x * 2.0)) == 2.0 * large.size
        over.append(1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert seen and set(seen) == {{3.0 * large.size}}
        """, tmp_path)


def test_the_pool_does_not_wait_for_its_lock() -> None:
    with POOL._held[0]:  # as while a signal handler or `__del__` interrupts it
        x = pb.tensor(np.ones(ENTRIES)) * 2.0
    assert x[0] == x[-1] == 2.0


def test_the_second_thread_does_not_wait_for_itself(rng: np.random.Generator) -> None:
    a = rng.standard_normal(ENTRIES)
    threads = set()

    def twice(x: np.ndarray) -> np.ndarray:
        threads.add(threading.get_ident())
        inner = second_thread.begin(lambda: x * 2.0)
        return inner()

    np.testing.assert_array_equal(np.asarray(blockwise(twice, a)), a * 2.0)
    assert len(threads) == 2 or (os.cpu_count() or 1) < 2


def test_a_computation_without_a_second_thread(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(second_thread, "start_new_thread", refuse)
    monkeypatch.setattr(second_thread, "_started", [])
    a = rng.standard_normal(ENTRIES)
    np.testing.assert_array_equal((pb.tensor(a) * 2.0).numpy(), a * 2.0)


def test_errstate_holds_for_both_halves() -> None:
    for place in (0, -1):
        a = np.ones(ENTRIES)
        a[place] = -1.0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            pb.sqrt(pb.tensor(a))
        with pytest.raises(FloatingPointError), np.errstate(all="raise"):
            pb.sqrt(pb.tensor(a))


def test_context_variables_hold_on_the_second_thread() -> None:
    setting: ContextVar[int] = ContextVar("setting", default=0)
    seen = set()

    def noting(x: np.ndarray) -> np.ndarray:
        seen.add(setting.get())
        return x

    token = setting.set(7)
    try:
        blockwise(noting, np.ones(ENTRIES))
    finally:
        setting.reset(token)
    assert seen == {7}


def test_an_error_of_the_second_half_reaches_the_caller() -> None:
    def refusing(x: np.ndarray) -> np.ndarray:
        if x[-1] == 5.0:
            raise ArithmeticError("refused")
        return x

    a = np.ones(ENTRIES)
    a[-1] = 5.0
    with pytest.raises(ArithmeticError, match="refused"):
        blockwise(refusing, a)
    assert float(pb.sum(pb.tensor(a))) == ENTRIES + 4.0  # and the thread still works
