"""An entry of the table of planted bugs, and how entries are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.tools.check.spellings import SPELLINGS


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    """Random numbers, none of them near a kink at 0."""
    rng = np.random.default_rng(seed)
    made = rng.uniform(0.3, 2.0, shape) * rng.choice([-1.0, 1.0], shape)
    return (made + 1j * rng.permuted(made) if dtype.startswith("complex") else made).astype(dtype)


class Planted(NamedTuple):
    """A function with a bug in it.

    kind      which bug
    spelling  how it is written
    laws      those that are right to find it; empty where there is nothing to find
    make      makes the function anew
    examples  its arguments
    options   further ones for `check`
    """

    kind: str
    spelling: str
    laws: frozenset[str]
    make: Callable[[], Any]
    examples: tuple[Any, ...] = (normal(3, 4),)
    options: dict[str, Any] = {}  # noqa: RUF012 # nobody writes to it

    @property
    def id(self) -> str:
        return f"{self.kind} ({self.spelling})"


def each(
    kind: str, laws: Sequence[str], forward: Callable[..., Any], backward: Callable[..., Any],
    examples: tuple[Any, ...] = (normal(3, 4),), spellings: Sequence[str] = tuple(SPELLINGS),
    **options: Any,
) -> list[Planted]:
    """The same bug in several spellings."""
    return [
        Planted(kind, s, frozenset(laws), lambda s=s: SPELLINGS[s](forward, backward), examples,
                options)
        for s in spellings
    ]


def one(
    kind: str, spelling: str, laws: Sequence[str], make: Callable[[], Any],
    examples: tuple[Any, ...] = (normal(3, 4),), **options: Any,
) -> Planted:
    """A bug in one spelling."""
    return Planted(kind, spelling, frozenset(laws), make, examples, options)
