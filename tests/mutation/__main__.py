"""`python -m tests.mutation`: mutate rules, laws and core, run the two tiers, write the report."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mutation import report
from tests.mutation.crew import Crew, Job
from tests.mutation.impact import Plan, prepared
from tests.mutation.live import ROOT, Live
from tests.mutation.mutants import PARTS, Mutant, all_mutants, all_sources, chosen
from tests.mutation.suite import QuickIds, Suite, collected, import_frameworks, settle
from tests.mutation.trial import Bench, Outcome, trials

OUT = ROOT / "out" / "mutation"

ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3", "PULLBACK_TESTS_TURN": "0",
    "PULLBACK_PURE": "1",  # mutants are of Python
    "JAX_COMPILATION_CACHE_DIR": str(OUT / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
"""No threads that a fork would lose; the same share of the rotating cases in every run; and what
JAX compiles in one child is there for the next."""


def options(argv: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts")
    parser.add_argument("--files", nargs="+", default=[], help="words in the paths of files")
    parser.add_argument("--functions", nargs="+", default=[], help="names of functions in them")
    parser.add_argument("--folders", nargs="+", default=["tests"], help="the tests to be run")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="keep the outcomes of the last run")
    parser.add_argument("--quick-only", action="store_true", help="run the quick tier only")
    parser.add_argument("--map-only", action="store_true", help="make the impact map, and stop")
    parser.add_argument("--budget", type=float, nargs=2, default=(8.0, 12.0),
                        metavar=("QUICK", "FULL"), help="seconds of tests of each tier")
    parser.add_argument("--report", action="store_true", help="write it into tests/mutation")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder of the map and outcomes")
    parser.add_argument("-j", dest="workers", type=int, default=2, help="children at a time")
    return parser.parse_args(argv)


class Progress:
    """Writes each outcome down as it comes, and now and then how far the run is."""

    def __init__(self, bench: Bench, total: int, path: Path, mark: str, *, resume: bool) -> None:
        self.bench, self.total, self.path, self.start = bench, total, path, time.monotonic()
        path.parent.mkdir(parents=True, exist_ok=True)
        if resume and path.exists():
            first, *lines = path.read_text(encoding="utf-8").splitlines()
            if json.loads(first) != mark:
                raise SystemExit("--resume: the files have changed since the last run")
            for line in lines:
                outcome = Outcome(**json.loads(line))
                bench.outcomes[outcome.id] = outcome
        else:
            path.write_text(json.dumps(mark) + "\n", encoding="utf-8")
        self.written = self.before = len(bench.outcomes)

    def watch(self, jobs: Iterator[Job]) -> Iterator[Job]:
        """The jobs; before each, what is new is written down."""
        for job in jobs:
            self.write()
            yield job
        self.write()

    def write(self) -> None:
        """Append the new outcomes to the file."""
        new = list(self.bench.outcomes.values())[self.written :]
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(outcome.record()) + "\n" for outcome in new)
        if self.written // 50 != (self.written + len(new)) // 50:
            done = self.written + len(new)
            took = time.monotonic() - self.start
            left = took / (done - self.before) * (self.total - done)
            print(f"{done} of {self.total} mutants, {took:.0f} s, {left:.0f} s to go", flush=True)
        self.written += len(new)


def measure(items: list[Any], given: argparse.Namespace, quick: QuickIds) -> None:
    """All of it, with the collected tests."""
    import_frameworks(items)
    suite = Suite(items, quick.result())
    sources = all_sources()
    plan = Plan(sources, all_mutants(sources))
    mutants = chosen(
        plan.mutants, parts=given.only, files=given.files, functions=given.functions,
        sample=given.sample, seed=given.seed,
    )
    for source in sources:
        source.remember()
    live = Live()
    settle()
    print(f"{len(items)} tests, {len(suite.quick)} in the quick tier; {len(mutants)} mutants of "
          f"{len(plan.mutants)}", flush=True)
    impact = prepared(suite, plan, live, given.out / "impact.npz", given.workers)
    if given.map_only:
        return
    bench = Bench(suite, impact, live, *given.budget, quick_only=given.quick_only)
    try_out(bench, mutants, plan.mark, given)


def try_out(
    bench: Bench, mutants: list[Mutant], mark: str, given: argparse.Namespace
) -> None:
    """Try every mutant, and write the report."""
    path = given.out / "outcomes.jsonl"
    progress = Progress(bench, len(mutants), path, mark, resume=given.resume)
    crew = Crew(given.workers)
    start = time.monotonic()
    crew.run(progress.watch(trials(bench, mutants)))
    progress.write()
    for error in crew.errors[:5]:
        print(error, file=sys.stderr)
    folder = ROOT / "tests" / "mutation" if given.report else given.out
    report.write(folder, bench, mutants, time.monotonic() - start)
    print(report.summary(bench, mutants))


def main() -> None:
    """Parse the options, collect the tests, measure."""
    given = options(sys.argv[1:])
    if any(name not in os.environ for name in ENVIRONMENT):  # libraries read it at their import
        command = [sys.executable, "-m", "tests.mutation", *sys.argv[1:]]
        os.execve(sys.executable, command, {**ENVIRONMENT, **os.environ})
    quick = QuickIds(given.folders)
    collected(given.folders, lambda items: measure(items, given, quick))


if __name__ == "__main__":
    main()
