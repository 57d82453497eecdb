"""Curves: numbers by step; drops old points evenly so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Curve", "History"]

LIMIT = 4096
"""The maximum number of points of a curve; beyond it, every second point is dropped."""


class Curve(Sequence[float]):
    """The values of one number; `steps` holds the step of each value.

    >>> curve = Curve()
    >>> for step in range(1, 4):
    ...     curve.add(step, step / 2)
    >>> curve[-1], list(curve), curve.steps
    (1.5, [0.5, 1.0, 1.5], [1, 2, 3])
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self._distance, self._count = 1, 0

    def add(self, step: int, value: float) -> None:
        """Appends a value; keeps the last value, and earlier ones at even distances."""
        if self.steps and (self._count - 1) % self._distance:
            self.steps.pop()
            self.values.pop()
        self._count += 1
        self.steps.append(step)
        self.values.append(value)
        if len(self.steps) > LIMIT:
            self.steps, self.values = self.steps[::2], self.values[::2]
            self._distance *= 2

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        last = f", last {self.values[-1]:.6g} at step {self.steps[-1]}" if self.values else ""
        return f"Curve({len(self)} points{last})"


class History(dict[str, Curve]):
    """Name -> curve, in the order of their first values.

    >>> history = History()
    >>> history.add(1, {"loss": 0.5})
    >>> history["loss"][-1]
    0.5
    """

    def add(self, step: int, record: Mapping[str, float]) -> None:
        """Appends the numbers of a step."""
        for name, value in record.items():
            self.setdefault(name, Curve()).add(step, value)

    def group(self, kind: str) -> dict[str, Curve]:
        """Returns the curves `kind/name`, by name."""
        start = f"{kind}/"
        return {k.removeprefix(start): c for k, c in self.items() if k.startswith(start)}
