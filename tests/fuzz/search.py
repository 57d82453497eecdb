"""The search for programs that give another number than they should."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.fuzz import functional, programs
from tests.fuzz.programs import Program


@dataclass
class Found:
    """What a search found.

    number   of programs
    counts   of programs per kind: "same", "different", "refused" (an error where PyTorch has none),
             "allowed" (none where PyTorch has one)
    reports  the first words of a difference -> the difference, and the shortest program with it
    """

    number: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    reports: dict[str, str] = field(default_factory=dict)

    def different(self) -> list[str]:
        """The reports of other numbers."""
        return [r for r in self.reports.values() if r.startswith("different")]


def search(
    asked: str, seed: int, seconds: float = math.inf, count: float = math.inf, most: int = 20
) -> Found:
    """Run programs for a time, or so many, and shorten those with a difference.

    asked   a key of `ASKED`
    most    the number of refusals that are shortened; other numbers always are
    """
    import torch

    torch.set_num_threads(1)
    found = Found()
    until = time.monotonic() + seconds
    while time.monotonic() < until and found.number < count:
        program = functional.written(seed + found.number) if asked == "jax" else programs.written(
            seed + found.number, torch
        )
        found.number += 1
        for differs in ASKED[asked]():
            wrong = differs(program)
            kind = programs.kind_of(wrong)
            if wrong:
                break
        found.counts[kind] += 1
        if kind == "different" or (kind == "refused" and len(found.reports) < most):
            short = programs.shortened(program, differs)
            why = differs(short)
            found.reports.setdefault(why[:50], f"{why}\n{short}\n")
    return found


Differs = Callable[[Program], str]


def against_pytorch(*ways: str) -> list[Differs]:
    """How the outcome differs from that of PyTorch, in some of `programs.WAYS`."""
    import torch

    import pullback.torch as ours

    def differs(way: Any, program: Program) -> str:
        return programs.difference(
            programs.run(ours, program, way), programs.run(torch, program, way)
        )

    return [partial(differs, programs.WAYS[way]) for way in ways]


def in_every_mode() -> list[Differs]:
    """How the modes of the library differ from each other."""
    import pullback.torch as ours
    from tests.fuzz.modes import wrong_modes

    def differs(program: Program) -> str:
        outcome = programs.run(ours, program, programs.by_backward)
        return "" if outcome.error else wrong_modes(program, outcome.gradients)

    return [differs]


ASKED: dict[str, Callable[[], list[Differs]]] = {
    "backward": lambda: against_pytorch("backward"),
    "twice": lambda: against_pytorch("grad", "twice"),
    "modes": in_every_mode,
    "jax": lambda: [functional.differences],
}
"""What is asked of each program."""
