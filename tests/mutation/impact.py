"""The impact map: which blocks of the package each test enters, and how long it takes."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.mutation.blocks import count_of, instrument, numbered
from tests.mutation.crew import Crew, Job, Say
from tests.mutation.live import Live, Source
from tests.mutation.mutants import Mutant
from tests.mutation.probes import probes_of
from tests.mutation.suite import Suite

NOT_RUN, PASSED, SKIPPED, FAILED, HUNG = range(5)
_OUTCOMES = {"passed": PASSED, "skipped": SKIPPED}
CHUNK = 200
"""Tests to a child: few enough that one that hangs costs little."""
LIMIT = 60.0
"""Seconds after which a test without any mutant counts as hanging."""


@dataclass
class Plan:
    """What the run for the map notes: the blocks of files, and the probes of mutants.

    columns  how many numbers there are
    mark     a fingerprint: a map of other texts, or of other mutants, is of no use
    """

    sources: list[Source]
    mutants: list[Mutant]

    def __post_init__(self) -> None:
        self.numbers = numbered(self.sources)
        first = count_of(self.numbers)
        for mutant in self.mutants:
            mutant.block = self.numbers[id(mutant.edit.place.statement)]
        self.probes = probes_of(self.mutants, first)
        self.columns = first + sum(len(probe.edits) for probe in self.probes)
        parts = [s.path + s.text for s in self.sources] + [m.id for m in self.mutants]
        self.mark = hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Impact:
    """For each test its outcome without mutants, its seconds, and what it enters.

    bits   a row for each test: a bit for each block and probe
    """

    def __init__(self, ids: Sequence[str], stamps: Sequence[int], columns: int) -> None:
        self.ids, self.stamps = list(ids), np.array(stamps, np.int64)
        self.outcome = np.zeros(len(ids), np.uint8)
        self.seconds = np.zeros(len(ids), np.float32)
        self.bits = np.zeros((len(ids), (columns + 7) // 8), np.uint8)

    def entering(self, block: int) -> Any:
        """The numbers of the tests that pass and enter a block, or differ at a probe."""
        column = self.bits[:, block // 8] & (128 >> block % 8)
        return np.flatnonzero((column != 0) & (self.outcome == PASSED))

    def note(self, number: int, outcome: str, seconds: float, packed: str) -> None:
        """Take in what one test did."""
        self.outcome[number] = _OUTCOMES.get(outcome, FAILED)
        self.seconds[number] = seconds
        row = np.frombuffer(base64.b64decode(packed), np.uint8)
        self.bits[number, : len(row)] = row

    def save(self, path: Path, mark: str) -> None:
        """Write the map, under the fingerprint of the files."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new.npz")
        np.savez_compressed(
            new, ids="\n".join(i.encode("unicode_escape").decode() for i in self.ids), mark=mark,
            stamps=self.stamps, outcome=self.outcome, seconds=self.seconds, bits=self.bits,
        )
        os.replace(new, path)

    def take(self, path: Path, mark: str) -> None:
        """Take over what an earlier map says of tests whose files are the same."""
        if not path.exists():
            return
        with np.load(path) as old:
            if str(old["mark"]) != mark:
                return
            ids = [i.encode().decode("unicode_escape") for i in str(old["ids"]).split("\n")]
            number = {name: i for i, name in enumerate(self.ids)}
            stamps = old["stamps"]
            pairs = [
                (number[name], i) for i, name in enumerate(ids)
                if name in number and self.stamps[number[name]] == stamps[i]
            ]
            if pairs:
                here, there = (np.array(column) for column in zip(*pairs, strict=True))
                for name in ("outcome", "seconds", "bits"):
                    getattr(self, name)[here] = old[name][there]


class Chunk(Job):
    """Some tests, run one after the other in one child."""

    def __init__(self, run: MapRun, numbers: Sequence[int]) -> None:
        self.run, self.numbers, self.at = run, list(numbers), -1

    def work(self, say: Say) -> None:
        suite, hits = self.run.suite, self.run.hits
        suite.ready()
        size = self.run.impact.bits.shape[1] * 8
        for at, number in enumerate(self.numbers):
            say(["start", at])
            following = self.numbers[at + 1] if at + 1 < len(self.numbers) else None
            hits.clear()
            outcome, seconds = suite.run(number, following, full=True)
            entered = np.zeros(size, bool)
            entered[list(hits)] = True
            packed = base64.b64encode(np.packbits(entered).tobytes().rstrip(b"\0")).decode()
            say(["test", number, outcome, seconds, packed])

    def heard(self, message: Any) -> float:
        if message[0] == "start":
            self.at = message[1]
        else:
            self.run.noted(*message[1:])
        return LIMIT

    def ended(self, how: str) -> list[Job]:
        if how == "done":
            return []
        hung = self.numbers[self.at]
        self.run.impact.outcome[hung] = HUNG
        self.run.failed[self.run.suite.ids[hung]] = how
        rest = self.numbers[self.at + 1 :]
        return [Chunk(self.run, rest)] if rest else []


class MapRun:
    """One instrumented run of the tests of which the map knows nothing yet."""

    def __init__(self, suite: Suite, impact: Impact, path: Path, plan: Plan) -> None:
        self.suite, self.impact, self.path, self.plan = suite, impact, path, plan
        self.hits: set[int] = set()
        self.failed: dict[str, str] = {}
        self.done, self.total, self.start = 0, 0, time.monotonic()
        self.saved = self.start

    def noted(self, number: int, outcome: str, seconds: float, packed: str) -> None:
        """Take in what one test did; say how far the run is, and save what there is."""
        self.impact.note(number, outcome, seconds, packed)
        self.done += 1
        if outcome not in _OUTCOMES:
            self.failed[self.suite.ids[number]] = outcome
        now = time.monotonic()
        if now - self.saved > 120:
            self.saved = now
            self.impact.save(self.path, self.plan.mark)
            print(f"map: {self.done} of {self.total} tests, {now - self.start:.0f} s", flush=True)

    def go(self, live: Live, workers: int) -> None:
        """Run them in a child of this process, which alone has the instrumented code."""
        plan, todo = self.plan, np.flatnonzero(self.impact.outcome == NOT_RUN).tolist()
        if not todo:
            return
        self.total = len(todo)
        print(f"map: {self.total} tests are run once", flush=True)
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                instrument(plan.sources, plan.numbers, plan.probes, live, self.hits)
                crew = Crew(workers, LIMIT)
                crew.run(self._chunks(todo))
                self.impact.save(self.path, self.plan.mark)
                self._report(crew)
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        if os.waitpid(pid, 0)[1]:
            raise SystemExit("the map could not be made")
        self.impact.take(self.path, self.plan.mark)

    def _chunks(self, todo: list[int]) -> Iterator[Job]:
        return (Chunk(self, todo[i : i + CHUNK]) for i in range(0, len(todo), CHUNK))

    def _report(self, crew: Crew) -> None:
        print(f"map: {self.done} tests in {time.monotonic() - self.start:.0f} s; "
              f"{len(self.failed)} did not pass", flush=True)
        for name, why in list(self.failed.items())[:20]:
            print(f"  {name}: {why}")
        for error in crew.errors[:3]:
            print(error)


def prepared(suite: Suite, plan: Plan, live: Live, path: Path, workers: int) -> Impact:
    """The map of a suite: what is on disk, and a run of the tests that are not in it."""
    impact = Impact(suite.ids, suite.stamps, plan.columns)
    impact.take(path, plan.mark)
    MapRun(suite, impact, path, plan).go(live, workers)
    return impact
