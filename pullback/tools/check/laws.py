"""The registry of laws: what `check` tests about every function, each with name and sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from .finding import Finding

if TYPE_CHECKING:
    from .subject import Subject

Test = Callable[["Subject"], Iterator[Finding]]


class Law(NamedTuple):
    """A law: its name, one sentence on the mistakes that it catches, and the test."""

    name: str
    catches: str
    test: Test


LAWS: dict[str, Law] = {}
"""name -> law, in the order in which `check` runs them."""


def law(name: str, catches: str) -> Callable[[Test], Test]:
    """Register a test as a law.

    name     short, in plain words; appears in reports and in `skip`
    catches  one sentence: the mistake in a function that breaks the law
    """

    def register(test: Test) -> Test:
        LAWS[name] = Law(name, catches, test)
        return test

    return register
