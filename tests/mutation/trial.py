"""One mutant before the tests: the order in which they are run, and what comes of it."""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tests.mutation.acting import HELPERS, refresh
from tests.mutation.crew import Job, Say
from tests.mutation.impact import Impact
from tests.mutation.live import Live
from tests.mutation.mutants import Mutant
from tests.mutation.suite import Suite


@dataclass
class Outcome:
    """What became of a mutant.

    how      "quick", "full": killed by that tier; "survived"; "unreached": no test enters its
             block, or its expression has the same value in all; "inapplicable": the code cannot
             be replaced, or is the same
    test     which test killed it; why: the error's first line
    cut      the budget ended before the tests did
    """

    id: str
    how: str
    test: str = ""
    why: str = ""
    cut: bool = False
    seconds: float = 0.0

    def record(self) -> dict[str, Any]:
        """As a dictionary, for the file of outcomes."""
        return asdict(self)


@dataclass
class Bench:
    """What all trials share: the tests, the map, and which tests have killed before.

    quick_budget, full_budget   seconds of computing for the tests of a tier, after which a mutant
                                has survived it
    """

    suite: Suite
    impact: Impact
    live: Live
    quick_budget: float = 8.0
    full_budget: float = 12.0
    quick_only: bool = False
    left_out: dict[int, str] = field(default_factory=dict)
    verified: dict[int, float] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    killers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_file: Counter[tuple[str, int]] = field(default_factory=Counter)
    by_group: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        names = [name.partition("[")[0] for name in self.suite.ids]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        self.group = np.array([numbers[name] for name in names], np.int64)
        self.is_quick = np.zeros(len(names), bool)
        self.is_quick[list(self.suite.quick)] = True

    def limit(self, number: int) -> float:
        """Seconds after which a test hangs."""
        return max(20.0, 20 * float(self.impact.seconds[number]))

    def order(self, mutant: Mutant, numbers: Any, budget: float) -> list[int]:
        """Tests, the most telling first, up to a few times the budget.

        First those that killed another mutant of the function; then those of the operation's own
        rows and the quick ones, one of each test function before a second of any.
        """
        if not len(numbers):
            return []
        seconds = np.maximum(self.impact.seconds[numbers], 1e-3)
        group = self.group[numbers]
        by_group = np.lexsort((seconds, group))
        starts = np.r_[True, np.diff(group[by_group]) != 0]
        first = np.maximum.accumulate(np.where(starts, np.arange(len(numbers)), 0))
        rank = np.empty(len(numbers))
        rank[by_group] = np.arange(len(numbers)) - first
        known = np.array([
            1 + 3 * self.by_file[mutant.source.path, g] + 0.2 * self.by_group[g]
            for g in group.tolist()
        ])
        cost = seconds * (1 + rank) / known
        if mutant.names:
            own = re.compile(r"\[(\w+: )?(" + "|".join(map(re.escape, mutant.names)) + r")\b")
            cost[[bool(own.search(self.suite.ids[n])) for n in numbers.tolist()]] /= 50
        before = self.killers[f"{mutant.source.path}:{mutant.function}"]
        for place, number in enumerate(reversed(before)):
            cost[numbers == number] = -1.0 / (1 + place)
        ordered = np.argsort(cost, kind="stable")
        enough = np.searchsorted(np.cumsum(seconds[ordered]), 4 * budget + 1) + 1
        return numbers[ordered[:enough]].tolist()

    def killed(self, mutant: Mutant, number: int) -> None:
        """Remember a killer, for the mutants to come."""
        mine = self.killers[f"{mutant.source.path}:{mutant.function}"]
        if number in mine:
            mine.remove(number)
        mine.append(number)
        group = int(self.group[number])
        self.by_file[mutant.source.path, group] += 1
        self.by_group[group] += 1


def act(mutant: Mutant, live: Live) -> str:
    """Put a mutant into effect, in a child; empty, or why it cannot be."""
    vars(mutant.source.module).update(HELPERS)
    mutant.edit.apply()
    try:
        changed = mutant.source.replace(live)
    except (ValueError, SyntaxError) as error:
        return str(error)
    if not changed:
        return "no function has other code"
    if mutant.part == "rules":
        refresh()
    return ""


class Trial(Job):
    """One mutant, in a child: the tests of the quick tier, then those of the full one.

    rest   only the tests of the quick tier are left to be run, and all of them
    """

    def __init__(self, bench: Bench, mutant: Mutant, rest: Outcome | None = None) -> None:
        self.bench, self.mutant, self.rest = bench, mutant, rest
        self.cut = {"quick": False, "full": False}
        self.found: Outcome | None = None
        self.running: tuple[str, int] | None = None
        self.start = time.monotonic()

    # In the child -------------------------------------------------------------------------------

    def work(self, say: Say) -> None:
        bench = self.bench
        refused = act(self.mutant, bench.live)
        if refused:
            say(["inapplicable", refused])
            return
        bench.suite.ready()
        entering = bench.impact.entering(self.mutant.block)
        usable = entering[~np.isin(entering, list(bench.left_out))]
        if not len(usable):
            say(["unreached"])
            return
        quick = bench.is_quick[usable]
        budget = 600.0 if self.rest else bench.quick_budget
        if self._run("quick", usable[quick], budget, say):
            return
        if not self.rest and not bench.quick_only:
            more = ~quick | np.isin(usable, list(bench.suite.deeper))
            self._run("full", usable[more], bench.full_budget, say)

    def _run(self, tier: str, numbers: Any, budget: float, say: Say) -> bool:
        """Run tests until one fails; whether one did."""
        suite, end = self.bench.suite, time.process_time() + budget
        order = self.bench.order(self.mutant, numbers, budget)
        for number, following in itertools.zip_longest(order, order[1:]):
            if time.process_time() > end:
                say(["cut", tier])
                return False
            say(["run", tier, number])
            outcome, _ = suite.run(number, following, full=tier == "full")
            if outcome not in ("passed", "skipped"):
                say(["killed", tier, number, outcome])
                return True
        if len(order) < len(numbers):
            say(["cut", tier])
        return False

    # In the parent ------------------------------------------------------------------------------

    def heard(self, message: Any) -> float:
        what = message[0]
        if what == "run":
            self.running = message[1], message[2]
            return self.bench.limit(message[2])
        if what == "cut":
            self.cut[message[1]] = True
        elif what == "killed":
            self._die(message[1], message[2], message[3])
        else:
            self.found = Outcome(self.mutant.id, what, why="".join(message[1:]))
        return 120.0

    def _die(self, tier: str, number: int, why: str) -> None:
        self.found = Outcome(self.mutant.id, tier, self.bench.suite.ids[number], why)
        self.running = tier, number

    def ended(self, how: str) -> list[Job]:
        if how == "error":
            self.found = Outcome(self.mutant.id, "inapplicable", why="an error of this tool")
        elif how != "done" and self.found is None and self.running is not None:
            self._die(*self.running, how)
        found = self.found or Outcome(
            self.mutant.id, "survived", cut=self.cut["quick"] or self.cut["full"]
        )
        if found.how in ("quick", "full") and self.running is not None:
            number = self.running[1]
            if number not in self.bench.verified:
                return [Check(self, found, number)]
            self.bench.killed(self.mutant, number)
        return self.settle(found)

    def settle(self, found: Outcome) -> list[Job]:
        """Note the outcome; a mutant that only the full tier kills meets all quick tests first."""
        found.seconds = round(time.monotonic() - self.start, 2)
        if self.rest is not None and found.how != "quick":
            found = self.rest
        elif found.how == "full" and self.cut["quick"]:
            return [Trial(self.bench, self.mutant, rest=found)]
        self.bench.outcomes[self.mutant.id] = found
        return []


class Check(Job):
    """A test that killed a mutant, run without one: if it fails, it counts for nothing."""

    def __init__(self, trial: Trial, found: Outcome, number: int) -> None:
        self.trial, self.found, self.number = trial, found, number
        self.outcome, self.seconds = "it does not end", 0.0

    def work(self, say: Say) -> None:
        suite = self.trial.bench.suite
        suite.ready()
        say(["outcome", *suite.run(self.number, None, full=self.found.how == "full")])

    def heard(self, message: Any) -> float:
        self.outcome, self.seconds = message[1:]
        return 60.0

    def ended(self, how: str) -> list[Job]:
        bench = self.trial.bench
        if self.found.why == "timed out" and 4 * self.seconds > bench.limit(self.number):
            self.outcome = "it takes too long by itself to tell whether it hangs"
        if self.outcome == "passed":
            bench.verified[self.number] = self.seconds
            bench.killed(self.trial.mutant, self.number)
            return self.trial.settle(self.found)
        bench.left_out[self.number] = self.outcome
        return [Trial(bench, self.trial.mutant, self.trial.rest)]


def trials(bench: Bench, mutants: Sequence[Mutant]) -> Any:
    """The jobs of all mutants that have no outcome yet."""
    return (Trial(bench, m) for m in mutants if m.id not in bench.outcomes)
