"""Times by operation and line: counts, sums within the wall time, traces, state put back."""

from __future__ import annotations

import json
import subprocess
import threading
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.dressed import bare
from pullback.core.observe import Calls, Run, observing
from pullback.core.op import OPS
from pullback.core.state import state
from pullback.graphs import Graph, Session, placeholder
from pullback.graphs.observed import run_program
from pullback.tools.profile import Profile, profile


def tracked(*shape: int) -> Any:
    return pb.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)


def named(seen: Profile) -> dict[str, Any]:
    return {row.name: row for row in seen.rows()}


def test_counts_are_those_of_the_operations() -> None:
    x = tracked(10)
    with profile() as seen:
        y = x
        for _ in range(7):
            y = pb.sin(y)
        for _ in range(3):
            y = pb.exp(y)
        y.backward(np.ones(10))
    rows = named(seen)
    assert (rows["sin"].calls, rows["sin"].steps) == (7, 7)
    assert (rows["exp"].calls, rows["exp"].steps) == (3, 3)
    assert rows["sin"].bytes == 2 * 7 * 80
    assert sum(e.kind == "kernel" and e.outer is None for e in seen.events) == 10


def test_times_add_up_within_the_wall_time() -> None:
    x = tracked(50, 50)
    with profile() as seen:
        pb.sum(pb.tanh(x @ x) * x).backward()
        pb.vmap(pb.grad(lambda r: pb.sum(pb.sin(r) * r)))(np.ones((5, 3)))
    rows = seen.rows()
    assert 0 < seen.forward + seen.backward <= seen.wall
    assert sum(r.forward for r in rows) == pytest.approx(seen.forward)
    assert sum(r.backward for r in rows) == pytest.approx(seen.backward)
    assert sum(r.own for r in rows) == pytest.approx(seen.forward + seen.backward)
    assert sum(r.forward for r in seen.rows("line")) == pytest.approx(seen.forward)
    assert all(e.taken >= e.inner >= 0 and e.begin <= e.end for e in seen.events)
    assert seen.outside >= 0
    assert seen.cost > 0
    totals = [r.forward + r.backward for r in rows]
    assert totals == sorted(totals, reverse=True)


def test_kernels_of_batched_arrays_nest() -> None:
    with profile() as seen:
        pb.vmap(pb.sin)(np.ones((5, 3)))
    row = named(seen)["sin"]
    assert (row.calls, row.nested) == (1, 1)
    inner = [e for e in seen.events if e.name == "sin" and e.outer is not None]
    assert inner[0].outer is not None
    assert inner[0].outer.name == "sin"
    assert inner[0].outer.inner >= inner[0].taken


def test_hand_written_gradients_and_second_runs_have_names() -> None:
    @pb.custom_gradient
    def doubled(x: Any) -> Any:
        return x * 2, lambda g: pb.sin(g)

    def block(x: Any) -> Any:
        return pb.exp(x)

    with profile() as seen:
        pb.sum(doubled(pb.checkpoint(block)(tracked(4)))).backward()
    rows = named(seen)
    assert (rows["doubled"].steps, rows["checkpoint(block)"].steps) == (1, 1)
    assert rows["exp"].calls == 1
    assert rows["exp"].nested >= 2  # the second run, and its step
    assert rows["sin"].nested == 1
    assert "custom gradients: doubled" in str(seen)


def test_second_derivatives() -> None:
    with profile() as seen:
        pb.grad(pb.grad(lambda x: pb.sin(x) * x))(0.3)
    assert named(seen)["sin"].steps == 2
    assert seen.forward + seen.backward <= seen.wall


def test_by_line_names_this_file() -> None:
    x = tracked(3)
    with profile() as seen:
        y = pb.exp(x)
        pb.sum(y).backward()
    lines = [r.name for r in seen.rows("line") if r.steps]
    assert len(lines) == 2
    assert all(name.startswith(__file__) for name in lines)
    with pytest.raises(pb.errors.ArgumentError, match="operation"):
        seen.by("file")


def test_a_graph_recorded_before() -> None:
    y = pb.sum(pb.exp(tracked(3)))
    with profile() as seen:
        y.backward()
    assert sum(r.steps for r in seen.rows("line") if r.name == "(recorded before)") == 2


def test_the_trace_is_one(tmp_path: Path) -> None:
    with profile() as seen:
        pb.sum(pb.exp(tracked(2, 3))).backward()
    path = tmp_path / "trace.json"
    seen.save(path)
    written = json.loads(path.read_text(encoding="utf-8"))
    events = written["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    assert len(complete) == len(seen.events)
    for e in complete:
        assert set(e) == {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"}
        assert e["ts"] >= 0
        assert e["dur"] >= 0
        assert e["cat"] in ("forward", "backward")
        assert 0 < e["tid"] < 2**32  # what Perfetto reads as a thread's number
        assert 0 < e["pid"] < 2**32
    assert all(set(e) >= {"pid", "tid", "args"} for e in events)
    assert written["displayTimeUnit"] in ("ms", "ns")
    assert {e["name"] for e in events if e["ph"] == "M"} == {"process_name", "thread_name"}
    first = next(e for e in complete if e["name"] == "exp")
    assert first["args"]["shapes"] == ["[2, 3]"]
    assert first["args"]["out"] == "float64[2, 3]"
    ends = [(e["ts"], e["ts"] + e["dur"]) for e in complete]
    for a in ends:  # within each other or apart, as a viewer stacks them
        for b in ends:
            assert not a[0] < b[0] < a[1] < b[1]
    seen.save(tmp_path / "profile.html")
    assert "exp" in (tmp_path / "profile.html").read_text(encoding="utf-8")
    seen.save(tmp_path / "profile.txt")
    with pytest.raises(pb.errors.ArgumentError, match=r"\.json"):
        seen.save(tmp_path / "profile.png")


def test_a_traced_function_is_one_call_and_one_step() -> None:
    @pb.function
    def f(x: Any) -> Any:
        return pb.sum(pb.exp(x) * x)

    x = tracked(4)
    f(x)
    for _ in range(3):  # step by step, compiled, and run
        with profile() as seen:
            f(x).backward()
        calls = [e for e in seen.events if e.outer is None and not e.is_step]
        assert [e.name for e in calls if e.kind == "program"] == ["function f"]
        assert {e.name for e in calls} <= {"function f", "ones_like"}
        row = named(seen)["function f"]
        assert (row.calls, row.steps) == (1, 1)
        assert row.forward > 0
        assert row.backward > 0
        assert seen.forward + seen.backward <= seen.wall
    (line,) = [e.line for e in calls if e.kind == "program"]
    assert line.startswith(__file__)
    assert "one call" in str(seen)
    assert "custom gradients" not in str(seen)
    with profile() as plain:
        f(pb.ones(4))
    assert named(plain)["function f"].bytes == 8
    with profile() as without:
        pb.exp(x)
    assert "one call" not in str(without)


def test_a_run_of_a_session_is_one_call() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [None])
        y = pb.sum(pb.exp(x))
    with Session(graph) as session, profile() as seen:
        session.run([y, y.op], {x: [1.0, 2.0]})
        session.run(y, {x: [1.0, 2.0]})
    row = named(seen)["Session.run"]
    assert (row.calls, row.bytes) == (2, 16)
    assert [tuple(s) for e in seen.events for s in e.shapes] == [(2,), (2,)]


def test_runs_go_to_those_who_asked_and_a_failing_one_is_noted() -> None:
    def twice(values: Any, store: Any) -> list[Any]:
        return [2 * v for v in values]

    def fails(values: Any, store: Any) -> list[Any]:
        raise KeyError("meant")

    names: list[tuple[str, str]] = []

    def witness(which: str) -> Any:
        def seen(op: Any, kernel: Any, args: Any, attrs: Any) -> Any:
            assert isinstance(op, Run)
            names.append((which, op.name))
            return kernel(*args, **attrs)

        return seen

    with observing(Calls(kernel=witness("outer"), runs=True)):
        with observing(
            Calls(kernel=witness("deaf")), Calls(kernel=witness("inner"), runs=True)
        ):
            assert run_program("one", twice, [3.0], {}) == [6.0]
        assert run_program("two", twice, [3.0], {}) == [6.0]
        with pytest.raises(KeyError), profile() as seen:
            run_program("three", fails, [3.0], {})
    assert names == [("inner", "one"), ("outer", "one"), ("outer", "two"), ("outer", "three")]
    assert [(e.name, e.failed) for e in seen.events] == [("three", True)]
    assert run_program("four", twice, [3.0], {}) == [6.0]
    assert len(names) == 4


@pytest.mark.full
@pytest.mark.needs("chromium")
def test_the_page_has_the_tables_in_a_browser(tmp_path: Path) -> None:
    with profile() as seen:
        pb.sum(pb.exp(tracked(2, 3))).backward()
    path = tmp_path / "profile.html"
    seen.save(path)
    script = ("<script>document.title = [...document.querySelectorAll('table')].map(t => "
              "t.tBodies[0].rows.length + t.offsetHeight * 0).join(' ') + '|' + "
              "document.querySelector('tbody').innerText</script></body>")
    path.write_text(path.read_text("utf-8").replace("</body>", script), "utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
         f"--user-data-dir={tmp_path / 'user'}", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=90, check=True,
    )
    title = done.stdout.partition("<title>")[2].partition("</title>")[0]
    counts, _, text = title.partition("|")
    assert counts == f"{len(seen.rows())} {len(seen.rows('line'))}"
    assert "exp" in text
    assert "sum" in text


def is_bare() -> bool:
    return all(bare(k) is k for f in OPS.values() for k in f.op.kernels.values())


def test_exceptions_put_everything_back() -> None:
    before = state()
    x = tracked(3)
    with pytest.raises(pb.errors.ShapeError), profile() as seen:
        pb.exp(x) @ tracked(4)

    @pb.custom_gradient
    def bad(x: Any) -> Any:
        def grad(g: Any) -> Any:
            raise KeyError("meant")

        return x * 1, grad

    with pytest.raises(KeyError), profile() as other:
        bad(x).backward(np.ones(3))
    assert state() == before
    assert not state().observers
    assert is_bare()
    assert named(seen)["exp"].calls == 1
    failed = [e for e in seen.events if e.failed]
    assert [e.name for e in failed] == ["matmul"]
    assert any(e.failed and e.is_step for e in other.events)
    wall = seen.wall
    assert wall == seen.wall


def test_other_threads_are_not_seen() -> None:
    with profile() as seen:
        pb.exp(pb.ones(3))
        context = copy_context()
        thread = threading.Thread(target=lambda: context.run(pb.sin, pb.ones(3)))
        thread.start()
        thread.join()
    assert set(named(seen)) == {"exp"}


def test_profiles_nest_and_hold_no_arrays() -> None:
    with profile() as outer:
        x = pb.exp(pb.ones(3))
        with profile() as inner:
            pb.sin(x)
    assert named(inner)["sin"].calls == 1
    assert {n for n, r in named(outer).items() if r.calls} == {"exp", "sin"}
    assert not any(isinstance(getattr(e, s, None), (np.ndarray, pb.Tensor))
                   for e in outer.events for s in e.__slots__)
