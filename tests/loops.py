"""Loops inside one test: cheaper than one case per step, and the error still names the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def noted(step: object) -> Iterator[None]:
    """Name the step of a loop (a dtype, shape, layout, file) in the error that it raises."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case of {step}")
        raise


def each(steps: Iterable[T], law: Callable[[T], None]) -> None:
    """Run a law for every step. A loop without a step is an error: it would assert nothing."""
    steps = list(steps)
    assert steps, "no step to run"
    for step in steps:
        with noted(step):
            law(step)


def none_of(cases: Iterable[T], faults: Callable[[T], object], name: Callable[[T], str]) -> None:
    """Fail with all the cases in which something was found."""
    found = {name(case): faults(case) for case in cases}
    assert found
    wrong = {key: fault for key, fault in found.items() if fault}
    assert not wrong, "\n".join(f"{key}: {fault}" for key, fault in wrong.items())
