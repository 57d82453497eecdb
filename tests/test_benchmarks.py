"""The benchmarks run, and their tables say what was measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.rounds import Results, has, measure
from benchmarks.targets import TARGETS, judged
from benchmarks.workloads import LIBRARIES, MODULES, WORKLOADS

ROOT = Path(__file__).parent.parent

THRICE = "(3\N{NO-BREAK SPACE}x)"


@pytest.mark.full
def test_a_quick_run_prints_every_workload_and_target():
    command = [
        sys.executable, "-m", "benchmarks", "--quick", "--systems", "pullback,numpy", "--rounds",
        "1",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    ours = [w.title for name, w in WORKLOADS.items() if has("pullback", name)]
    for title in ours + [t.title for t in TARGETS]:
        assert title in done.stdout


def test_every_workload_has_pullback_and_every_workload_but_its_own_a_peer():
    ours = {"pullback", *LIBRARIES}
    for name in WORKLOADS:
        assert any(has(s, name) for s in ours), name
        assert any(has(s, name) for s in MODULES.keys() - ours - {"numpy"}), name


def test_on_arrays_of_another_library_it_is_measured_beside_that_library():
    for system, own in LIBRARIES.items():
        there = [name for name in WORKLOADS if has(system, name)]
        assert there
        assert all(has(own, name) for name in there)


@pytest.mark.parametrize(
    ("system", "workload"), [("pullback_torch", "mlp"), ("pullback_jax", "jit-trace")]
)
def test_a_step_on_arrays_of_another_library_runs(system, workload):
    own = LIBRARIES[system]
    pytest.importorskip(own)
    results = measure([system, own], [workload], 1, True)
    head, rows = report.on_libraries(results)
    assert len(rows) == 1
    row = dict(zip(head, rows[0], strict=True))
    assert row["library"] == own
    assert all(float(row[column]) > 0 for column in ("pullback", "itself", "ratio"))
    assert not report.figures(results)[0].count(system)


@pytest.mark.full
def test_every_figure_is_positive_and_of_every_round():
    results = measure(["numpy"], ["small-1", "import"], 2, True)
    assert results.versions.keys() == {"numpy"}
    for name in ("small-1", "import"):
        values = results.values[name]["numpy"]
        assert len(values) == 2
        assert all(v > 0 for v in values)


def _results(pullback: list[float], torch: list[float]) -> Results:
    results = Results()
    for p, t in zip(pullback, torch, strict=True):
        results.add("small-1", "pullback", p)
        results.add("small-1", "torch", t)
    results.versions = {"pullback": "1", "torch": "2"}
    return results


def test_ratios_are_taken_within_a_round():
    results = _results([1.0, 2.0, 10.0], [3.0, 6.0, 20.0])
    assert results.median("small-1", "torch") == 6.0
    assert results.ratio(("small-1", "torch"), ("small-1", "pullback")) == 3.0
    title = WORKLOADS["small-1"].title
    assert report.figures(results)[1] == [[title, "µs", "2.00", f"6.00 {THRICE}"]]


@pytest.mark.parametrize(("torch", "answer"), [(2.0, "met"), (1.9, "not met")])
def test_a_target_is_met_or_not(torch, answer):
    rows = judged(_results([1.0], [torch]))
    assert rows[0][1:] == ["≥ 2", f"{torch:.2f}", answer]
    assert {row[3] for row in rows[1:]} == {"not measured"}


def test_writing_keeps_what_is_around_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    report.write(page, report.markdown(_results([1.0], [3.0]), 1))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert f"3.00 {THRICE}" in text
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="has no lines"):
        report.write(page, "text")


def test_the_page_has_the_marks():
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert text.count(report.BEGIN) == text.count(report.END) == 1
