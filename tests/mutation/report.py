"""The report: how many mutants each tier kills, and which ones live."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant
from tests.mutation.trial import Bench, Outcome

HOWS = ("quick", "full", "survived", "unreached", "inapplicable")
_LARGEST = 300_000

_HEAD = """# What the two tiers of the tests kill

Written by `make mutants` (`python -m tests.mutation --report`); see README.md in this folder.
"""


def ratio(count: Counter[str]) -> str:
    """The share of the quick tier in the mutants that the full tier kills."""
    killed = count["quick"] + count["full"]
    return f"{100 * count['quick'] / killed:.1f} %" if killed else "–"


def counted(outcomes: Iterable[Outcome]) -> Counter[str]:
    """How many mutants came to each end."""
    return Counter(outcome.how for outcome in outcomes)


def summary(bench: Bench, mutants: list[Mutant]) -> str:
    """One line."""
    count = counted(bench.outcomes[m.id] for m in mutants if m.id in bench.outcomes)
    ends = ", ".join(f"{how} {count[how]}" for how in HOWS)
    return f"{count.total()} mutants: {ends}; the quick tier kills {ratio(count)}"


def _table(
    title: str, mutants: list[Mutant], found: dict[str, Outcome], key: Callable[[Mutant], str]
) -> list[str]:
    """Rows of mutants put together by a key."""
    groups: dict[str, list[Outcome]] = {}
    for mutant in mutants:
        groups.setdefault(key(mutant), []).append(found[mutant.id])
    groups["all"] = [found[m.id] for m in mutants]
    lines = [
        f"| {title} | mutants | killed by quick | by full only | survived | not reached "
        "| not applicable | quick / full |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, outcomes in groups.items():
        count = counted(outcomes)
        cells = " | ".join(str(count[how]) for how in HOWS)
        lines.append(f"| {name} | {count.total()} | {cells} | {ratio(count)} |")
    return [*lines, ""]


def _line(mutant: Mutant, outcome: Outcome) -> str:
    changed = f"`{_code(mutant.text[0])}` → `{_code(mutant.text[1])}`"
    killer = f"; killed by `{_code(outcome.test)}`" if outcome.test else ""
    cut = "; some tests were not run" if outcome.cut else ""
    return f"- `{mutant.id}` in `{mutant.function}`: {changed}{killer}{cut}"


def _code(text: str) -> str:
    return text.replace("`", "'").replace("\n", " ")


def _list(
    title: str, how: str, mutants: list[Mutant], found: dict[str, Outcome]
) -> list[str]:
    lines = [_line(m, found[m.id]) for m in mutants if found[m.id].how == how]
    return [f"## {title} ({len(lines)})", "", *(lines or ["None."]), ""]


def text(bench: Bench, mutants: list[Mutant], seconds: float) -> str:
    """The whole report."""
    found = bench.outcomes
    mutants = [m for m in mutants if m.id in found]
    lines = [
        _HEAD, summary(bench, mutants) + ".", "",
        f"Of {len(bench.suite.ids)} tests {len(bench.suite.quick)} are in the quick tier. "
        f"A mutant counts as a survivor of a tier when {bench.quick_budget:.0f} s of quick tests "
        f"and {bench.full_budget:.0f} s of others, those that reach it, found nothing; one that a "
        "test of the full tier kills has met every quick test that reaches it. "
        f"The run took {seconds / 60:.0f} minutes.", "",
        *_table("kind", mutants, found, lambda m: f"{m.part}: {m.kind}"),
        *_table("file", mutants, found, lambda m: m.source.path.removeprefix("pullback/")),
        *_list("Killed by the full tier only", "full", mutants, found),
        *_list("Survivors of both", "survived", mutants, found),
        *_list("Entered by no test, or of the same value in all", "unreached", mutants, found),
        f"## Tests that fail without a mutant, left out ({len(bench.left_out)})", "",
        *(f"- `{bench.suite.ids[n]}`: {_code(why)}" for n, why in sorted(bench.left_out.items())),
        "",
    ]
    return "\n".join(lines)


def _results(bench: Bench, mutants: list[Mutant]) -> dict[str, Any]:
    """How each mutant ended; with the test, where only the full tier has one."""
    found = [bench.outcomes[m.id] for m in mutants if m.id in bench.outcomes]
    made: dict[str, Any] = {how: [o.id for o in found if o.how == how] for how in HOWS}
    made["full"] = {o.id: o.test for o in found if o.how == "full"}
    return made


def write(folder: Path, bench: Bench, mutants: list[Mutant], seconds: float) -> None:
    """Write `survivors.md`, and `results.json` if it is small."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "survivors.md").write_text(text(bench, mutants, seconds), encoding="utf-8")
    results = json.dumps(_results(bench, mutants), indent=0)
    path = folder / "results.json"
    path.unlink(missing_ok=True)
    if len(results) < _LARGEST:
        path.write_text(results + "\n", encoding="utf-8")
