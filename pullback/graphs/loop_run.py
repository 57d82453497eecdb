"""`Run`: the kernel of a loop of a graph, in Python, or handed to a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..arrays.batched import Batched
from ..core.op import OPS
from ..errors import ShapeError
from .compiled_flow import CompiledLoop, compiler_for
from .hidden_axes import going
from .tensor_list import Rows


class Run:
    """A loop, run: the kernel for the outputs that are asked for."""

    def __init__(self, loop: Any, total: int, asked: Sequence[int]) -> None:
        self.loop, self.total = loop, total
        own = loop.count + len(loop.made)
        starts = len(loop.starts)
        self.before = [i - own for i in asked if own <= i < own + starts]
        after = [i for i in asked if not own <= i < own + starts]
        self.places = [*[own + i for i in self.before], *after]
        symbols = [*loop._symbols, *loop.kept]
        self.program = loop.region.program(
            [*loop._symbols[: loop.count], *[symbols[i] for i in after]]
        )
        self.condition = None
        if loop.condition is not None:
            region, answer = loop.condition
            self.condition = region.program([answer])

    def __call__(self, store: Any, *values: Any) -> Any:
        """What is carried in the end, and the rows that are asked for."""
        loop = self.loop
        n, m = loop.count, len(loop._used)
        carried = list(values[:n])
        given = values[n : n + m]
        rest = list(values[n + m :])
        limit = rest.pop(0) if loop.limited else None
        split = len(loop.region.takes)
        taken, asked = rest[:split], rest[split:]
        flow = compiler_for(values)
        if flow is not None:
            return CompiledLoop(flow, self, store, taken, asked)(carried, given, limit)
        rows = [r.items for r in given]
        samples = [r.sample for r in given]
        masks = next((r.active for r in given if r.active is not None), None)
        del values, rest, given
        kept: list[list[Any]] = [[] for _ in self.places]
        active: list[Any] = []  # of the examples of a vmap, where these have not equally many turns
        turn, now = None, None
        for turn in self._turns(rows, None if limit is None else int(limit)):
            if self.condition is not None:
                now = self._more(carried, asked, store, now)
                if now is False:
                    break
            elif masks is not None:
                now = masks[turn]
            active.append(now)
            for items, i in zip(kept, self.before, strict=False):
                items.append(carried[i])
            entries = [items[turn] for items in rows]
            found = self.program([*carried, *entries, *taken], store)
            if now.__class__ is Batched:
                found = _where_active(now, found, carried)
            carried = found[:n]
            for items, value in zip(kept[len(self.before) :], found[n:], strict=False):
                items.append(value)
        masks = active if any(a.__class__ is Batched for a in active) else None
        if turn is None and self.places and rows:
            return self._answer(carried, kept, self._samples(carried, samples, taken, store))
        return self._answer(carried, kept, [None] * len(kept), masks)

    def _samples(
        self, carried: Sequence[Any], samples: Sequence[Any], taken: Sequence[Any], store: Any
    ) -> list[Any]:
        """The shapes of the rows' entries, by one trial turn, if that has no effects.
        """
        loop = self.loop
        found: list[Any] = [None] * (len(self.places) - len(self.before))
        if not (loop.effect or loop.stateful or any(s is None for s in samples)):
            with suppress(Exception):
                found = self.program([*carried, *samples, *taken], store)[loop.count :]
        return [*[carried[i] for i in self.before], *found]

    def _turns(self, rows: Sequence[Sequence[Any]], limit: int | None) -> Any:
        if self.condition is not None:
            return _endless() if limit is None else range(limit)
        counts = {len(items) for items in rows}
        if len(counts) > 1:
            raise ShapeError(f"`{self.loop.name}`", "tensors of one length along axis 0",
                             " and ".join(map(str, sorted(counts))))
        (count,) = counts
        return range(count - 1, -1, -1) if self.loop.backwards else range(count)

    def _more(
        self, carried: Sequence[Any], asked: Sequence[Any], store: Any, before: Any
    ) -> Any:
        """Whether there is another turn; where examples differ, for which of them.

        before  the same of the turn before, which some examples may not have had
        """
        assert self.condition is not None
        return going(self.condition([*carried, *asked], store)[0], before)

    def _answer(
        self, carried: Sequence[Any], kept: list[list[Any]], samples: Sequence[Any],
        masks: list[Any] | None = None,
    ) -> Any:
        answers: list[Any] = [*carried, *[None] * (self.total - self.loop.count)]
        turned = slice(None, None, -1 if self.loop.backwards else 1)
        active = None if masks is None else masks[turned]
        for place, items, sample in zip(self.places, kept, samples, strict=True):
            answers[place] = Rows(items[turned], sample, active)
        return answers[0] if len(answers) == 1 else tuple(answers)


def _where_active(
    active: Any, found: Sequence[Any], carried: Sequence[Any]
) -> list[Any]:
    """What a turn gives, for the examples that have it; the others keep what is carried."""
    where, zeros = OPS["where"], OPS["zeros_like"]
    n = len(carried)
    return [
        *[where(active, v, old) for v, old in zip(found[:n], carried, strict=True)],
        *[where(active, v, zeros(v)) if hasattr(v, "dtype") else v for v in found[n:]],
    ]


def _endless() -> Any:
    while True:
        yield 0
