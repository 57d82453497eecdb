"""The registry of laws: what is checked about every function, a name and a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from .finding import Finding

if TYPE_CHECKING:
    from .subject import Subject

Test = Callable[["Subject"], Iterator[Finding]]


class Law(NamedTuple):
    """A law: its name, one sentence on what it catches, and the test."""

    name: str
    catches: str
    test: Test


LAWS: dict[str, Law] = {}
"""name -> law, in the order in which they are run."""


def law(name: str, catches: str) -> Callable[[Test], Test]:
    """Register a test as a law.

    name     short, in plain words: it stands in reports, and in `skip`
    catches  one sentence: what is wrong with a function that breaks it
    """

    def register(test: Test) -> Test:
        LAWS[name] = Law(name, catches, test)
        return test

    return register
