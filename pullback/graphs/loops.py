"""`Loop`: a region that runs again and again, and its derivatives, which are such loops again.

A turn takes the values that are carried from turn to turn, and an entry of each of some rows; it
gives the values that are carried on, and entries of new rows. The pullback of a loop is a loop
through its turns from the last to the first: it carries cotangents, and computes a turn again from
what was carried into it, which the loop returns as further rows. Only rows in use are
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ..arrays.batched import Batched
from ..arrays.symbol import Symbol
from ..core.cotangent import accumulate
from ..core.custom_op import CustomOp, custom_node
from ..core.multi_output import end_of
from ..core.node import Node
from ..core.tensor import raw, wrap
from ..errors import BatchedValueError, ShapeError
from ..kinds import symbols as _symbols
from .operation import Kind
from .plan import needed
from .region_io import appended, followed_by, inside, seen, zeros
from .regions import Region
from .tensor_list import Rows


class Loop(Kind, CustomOp):
    """The operation that runs a region in turns.

    region     what a turn computes; its arguments are what is carried, then an entry of each row
    carried    for each value that is carried: the argument, and the tensor that is carried on
    rows       for each row that is given: the argument, and the node at which its derivative ends
    made       tensors of which the loop makes rows
    condition  a region that says from what is carried whether there is another turn; without one
               there is a turn for each entry of the rows
    backwards  from the last entry to the first
    """

    stored = unsteady = True

    def __init__(
        self, name: str, region: Region, carried: Sequence[tuple[Any, Any]],
        rows: Sequence[tuple[Any, Any]] = (), made: Sequence[Any] = (), *,
        condition: tuple[Region, Symbol] | None = None, backwards: bool = False,
        limited: bool = False,
    ) -> None:
        super().__init__(name)
        self.region, self.condition, self.backwards = region, condition, backwards
        self.limited = limited
        self.starts = [raw(a) for a, _ in carried]
        self.outs = [b for _, b in carried]
        self.rows, self.made = [(raw(a), end) for a, end in rows], list(made)
        self.count = len(self.outs)
        regions = self.regions = [region] + ([condition[0]] if condition else [])
        self.stateful = any(r.saved for r in regions)
        self.effect = any(r.effect for r in regions)
        self.assigns = set().union(*[r.assigns for r in regions])
        self._symbols = [raw(t) for t in (*self.outs, *self.made)]
        # What it can hand out beyond its own outputs: what was carried, drawn and read.
        self.kept = [*self.starts, *region.saved]
        self._used = self._rows_used()
        region.arguments = [*self.starts, *[self.rows[i][0] for i in self._used]]
        region.feeds = region.inputs()
        starts = [None if a.face is None else a.face._node for a in self.starts]
        self.leaves = [*starts, *[end for _, end in self.rows]]
        known = {n for n in self.leaves if n is not None}
        self.ends = [
            n for n in region.ends(t._node for t in (*self.outs, *self.made)) if n not in known
        ]

    def _rows_used(self) -> list[int]:
        """The places of the rows of which a turn takes the entry; one at least, to count by."""
        found = {
            id(s) for o in needed([*self._symbols, *self.region.effects], ()) for s in o.symbols
        }
        used = [i for i, (a, _) in enumerate(self.rows) if id(a) in found]
        return used or ([0] if self.rows and self.condition is None else [])

    # Building -------------------------------------------------------------------------------

    def append(
        self, graph: Any, starts: Sequence[Any], rows: Sequence[Any], spaces: Sequence[Any],
        cls: type, limit: Any = None,
    ) -> tuple[list[Any], list[Any]]:
        """Append the operation: what is carried in the end, and the rows it makes, as tensors.

        starts, rows  tensors
        spaces        shape and dtype of each value that is carried, and of the rows it makes
        """
        given = [*spaces, *[(None, s.dtype) for s in self.kept]]
        inputs = [raw(t) for t in starts] + [raw(rows[i]) for i in self._used]
        inputs += [limit] if self.limited else []
        for region in self.regions:
            inputs += region.takes
        kind = next(s.kind for s in (*self._symbols, *self.kept))
        operation = appended(graph, self, inputs, given, kind, self.regions)
        parents = [None if t is None else getattr(t, "_node", None) for t in (*starts, *rows)]
        saved = ([raw(t) for t in rows], operation)
        node = custom_node(self, (*parents, *self.ends), saved, cls)
        tensors = followed_by(node, operation.symbols, cls)
        return tensors[: self.count], tensors[self.count : self.count + len(self.made)]

    # Running --------------------------------------------------------------------------------

    def serving(self, used: Sequence[bool]) -> Callable[..., Any]:
        """The kernel that makes only the rows that are used."""
        asked = [i for i in range(self.count, len(used)) if used[i]]
        return _Run(self, len(used), asked)

    def kernel(self, store: Any, *values: Any) -> Any:
        """Everything it can hand out."""
        total = self.count + len(self.made) + len(self.kept)
        return _Run(self, total, range(self.count, total))(store, *values)

    # Derivatives ----------------------------------------------------------------------------

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a pull: a loop of the pullbacks of the turns, from the last to the first."""
        for parent, r in pulled(self, node, [seen(v, cls) for v in g], needed, cls):
            accumulate(cotangents, parent, r if record else raw(r))

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangents of the outputs: a loop of those of the turns."""
        found = pushed(self, node, [seen(t, cls) for t in tangents], cls)
        return [t if t is None or record else raw(t) for t in found]


class _Run:
    """A loop, run: the kernel for the outputs that are asked for."""

    def __init__(self, loop: Loop, total: int, asked: Sequence[int]) -> None:
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
        loop = self.loop
        n, m = loop.count, len(loop._used)
        carried = list(values[:n])
        given = values[n : n + m]
        rows = [r.items for r in given]
        rest = list(values[n + m :])
        limit = int(rest.pop(0)) if loop.limited else None
        split = len(loop.region.takes)
        taken, asked = rest[:split], rest[split:]
        samples = [r.sample for r in given]
        del values, rest, given
        kept: list[list[Any]] = [[] for _ in self.places]
        turn = None
        for turn in self._turns(rows, limit):
            if self.condition is not None and not self._more(carried, asked, store):
                break
            for items, i in zip(kept, self.before, strict=False):
                items.append(carried[i])
            entries = [items[turn] for items in rows]
            found = self.program([*carried, *entries, *taken], store)
            carried = found[:n]
            for items, value in zip(kept[len(self.before) :], found[n:], strict=False):
                items.append(value)
        if turn is None and self.places and rows:
            return self._answer(carried, kept, self._samples(carried, samples, taken, store))
        return self._answer(carried, kept, [None] * len(kept))

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

    def _more(self, carried: Sequence[Any], asked: Sequence[Any], store: Any) -> bool:
        assert self.condition is not None
        answer = self.condition([*carried, *asked], store)[0]
        if answer.__class__ is Batched:
            raise BatchedValueError(
                f"condition of `{self.loop.name}` inside vmap", "one answer for all examples",
                "another for each", "let it ask whether any example goes on, with a mask carried "
                "along, and pullback.where in the body",
            )
        return bool(answer)

    def _answer(
        self, carried: Sequence[Any], kept: list[list[Any]], samples: Sequence[Any]
    ) -> Any:
        answers: list[Any] = [*carried, *[None] * (self.total - self.loop.count)]
        for place, items, sample in zip(self.places, kept, samples, strict=True):
            answers[place] = Rows(items[::-1] if self.loop.backwards else items, sample)
        return answers[0] if len(answers) == 1 else tuple(answers)


def _endless() -> Any:
    while True:
        yield 0


# Derivatives --------------------------------------------------------------------------------------


class _Turn:
    """A region that computes a derivative of a loop's turn, and its arguments.

    rows    for each row: the argument, and the node at which its derivative ends
    given   the rows themselves, tensors of the graph around
    """

    def __init__(self, loop: Loop, node: Any, cls: type) -> None:
        self.loop, self.node, self.cls = loop, node, cls
        given, operation = node.saved
        self.graph = _symbols.current_graph() or operation.graph
        self.like = operation.symbols[0]
        self.region = Region(self.graph, (loop.region, *loop.region.ghosts), cls)
        self.carried: list[tuple[Any, Any]] = []
        self.rows: list[tuple[Any, Any]] = []
        self.given: list[Any] = []
        self.made: list[Any] = []
        own = loop.count + len(loop.made)
        kept = [  # which have tangents where the loop has: found outside of the region
            wrap(cls, row, end_of(node, own + i, row))
            for i, row in enumerate(operation.symbols[own:])
        ]
        with self.region.building():
            for i, (symbol, row) in enumerate(zip(loop.kept, kept, strict=True)):
                self._known(symbol, loop.leaves[i] if i < loop.count else None, row)
            for j, (symbol, end) in enumerate(loop.rows):
                self._known(symbol, end, wrap(cls, given[j], node.parents[loop.count + j]))

    def _known(self, symbol: Symbol, end: Node | None, row: Any) -> None:
        self.region.known[symbol] = raw(self.row(symbol, row, end))

    def row(self, like: Any, row: Any, end: Node | None = None) -> Any:
        """The entry of a row, which looks like another symbol or node, as an argument."""
        made = self.argument(like)
        self.rows.append((made, made._node if end is None else end))
        self.given.append(row)
        return made

    def argument(self, like: Any) -> Any:
        """An argument that looks like another symbol or node."""
        kind = getattr(like, "kind", None) or self.like.kind
        return self.region.argument(like.shape, like.dtype, kind)

    def carry(self, argument: Any, value: Any, like: Any) -> None:
        """Carry a value on, or zeros where there is none."""
        if value is None:
            value = zeros(_space(like), self.like, self.cls)
        self.carried.append((argument, inside(self.region, seen(value, self.cls))))

    def append(
        self, suffix: str, starts: Sequence[Any], spaces: Sequence[Any], backwards: bool
    ) -> tuple[list[Any], list[Any]]:
        """The loop of such turns, appended; what it starts with may be a space, for zeros in it."""
        self.region.finish()
        loop = Loop(
            f"{self.loop.name}_{suffix}", self.region, self.carried, self.rows, self.made,
            backwards=backwards,
        )
        first = [zeros(s, self.like, self.cls) if s.__class__ is tuple else s for s in starts]
        return loop.append(self.graph, first, self.given, spaces, self.cls)


def _space(like: Any) -> tuple[Any, Any]:
    return like.shape, like.dtype


def pulled(
    loop: Loop, node: Any, gs: Sequence[Any], needed: set[Node] | None, cls: type
) -> list[tuple[Node, Any]]:
    """The cotangents of a loop's parents, from those of its outputs (None where there is none)."""
    turn = _Turn(loop, node, cls)
    parents, count, own = node.parents, loop.count, loop.count + len(loop.made)
    followed = [i for i in range(count) if loop.leaves[i] is not None]
    ends = [e for e in loop.ends if needed is None or e in needed]
    answers: list[int] = []
    with turn.region.building():
        arriving = [turn.argument(raw(loop.outs[i])) for i in followed]
        pairs = [(loop.outs[i]._node, g) for i, g in zip(followed, arriving, strict=True)]
        tensors = [*loop.made, *loop.starts]
        for i in range(count, min(own + count, len(gs))):
            if gs[i] is not None:
                inner = loop.made[i - count]._node if i < own else loop.leaves[i - own]
                pairs.append((inner, turn.row(raw(tensors[i - count]), gs[i])))
        wanted = [n for n in (*loop.leaves, *ends) if n is not None]
        found = loop.region.pulled(pairs, wanted, cls)
        for i, g in zip(followed, arriving, strict=True):
            turn.carry(g, found.get(loop.leaves[i]), loop.starts[i])
        ends = [e for e in ends if e in found]
        for e in ends:
            total = turn.argument(e)
            turn.carry(total, total + seen(found[e], cls), e)
        for j, (_, end) in enumerate(loop.rows):
            if end in found and parents[count + j] is not None:
                turn.made.append(inside(turn.region, seen(found[end], cls)))
                answers.append(count + j)
    spaces = [_space(parents[i] or raw(loop.outs[i])) for i in followed]
    first = [node.spaces[i] if gs[i] is None else gs[i] for i in followed]
    carried, made = turn.append(
        "pullback", [*first, *map(_space, ends)],
        [*spaces, *map(_space, ends), *[_space(parents[j]) for j in answers]],
        not loop.backwards,
    )
    results = [(parents[i], r) for i, r in zip(followed, carried, strict=False)]
    results += list(zip(ends, carried[len(followed) :], strict=True))
    results += [(parents[i], r) for i, r in zip(answers, made, strict=True)]
    return [(p, r) for p, r in results if p is not None and (needed is None or p in needed)]


def pushed(loop: Loop, node: Any, tangents: Sequence[Any], cls: type) -> list[Any]:
    """The tangents of a loop's outputs, from those of its parents (None where there is none)."""
    turn = _Turn(loop, node, cls)
    count, width = loop.count, loop.count + len(loop.rows)
    followed = [i for i in range(count) if loop.leaves[i] is not None]
    places: list[int] = []
    with turn.region.building():
        arriving = [turn.argument(loop.starts[i]) for i in followed]
        given = {loop.leaves[i]: t for i, t in zip(followed, arriving, strict=True)}
        for j, (symbol, end) in enumerate(loop.rows):
            if tangents[count + j] is not None:
                given[end] = turn.row(symbol, tangents[count + j])
        given |= {e: t for e, t in zip(loop.ends, tangents[width:], strict=True) if t is not None}
        targets = [t._node for t in (*loop.outs, *loop.made)]
        found = loop.region.pushed(given, targets, cls)
        for i, t in zip(followed, arriving, strict=True):
            turn.carry(t, found.get(targets[i]), raw(loop.outs[i]))
        for j, target in enumerate(targets[count:]):
            if target in found:
                turn.made.append(inside(turn.region, seen(found[target], cls)))
                places.append(count + j)
        turn.made += arriving
        places += [count + len(loop.made) + i for i in followed]
    spaces = [node.spaces[i] for i in (*followed, *places)]
    first = [_space(node.parents[i] or loop.starts[i]) if tangents[i] is None else tangents[i]
             for i in followed]
    carried, made = turn.append("pushforward", first, spaces, loop.backwards)
    results: list[Any] = [None] * len(node.spaces)
    for i, t in (*zip(followed, carried, strict=True), *zip(places, made, strict=True)):
        results[i] = t
    return results
