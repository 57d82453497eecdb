"""The program of a graph, as observers of kernels see it: one call of all that it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.observe import Run, observers_of, through


def run_program(
    name: str, program: Callable[..., list[Any]], values: Sequence[Any], store: Any
) -> list[Any]:
    """Run the program of a graph, as one kernel for the observers that want to see it.

    >>> run_program("function f", lambda values, store: [2 * v for v in values], [3.0], {})
    [6.0]
    """
    seeing = [o for o in observers_of("kernel") if o.runs]
    if not seeing:
        return program(values, store)
    run = through(seeing, Run(name), lambda *now: program(now, store))
    results: list[Any] = run(*values)
    return results
