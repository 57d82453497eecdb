"""`Loop`: a region that runs again and again, and its derivatives, which are such loops again.

A turn takes the values that are carried from turn to turn, and an entry of each of some rows; it
gives the values that are carried on, and entries of new rows. The pullback of a loop is a loop
through its turns from the last to the first: it carries cotangents, and computes a turn again from
what was carried into it, which the loop returns as further rows. Only rows in use are
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..arrays.symbol import Symbol
from ..core.cotangent import accumulate
from ..core.custom_op import CustomOp, custom_node
from ..core.multi_output import end_of
from ..core.node import Node
from ..core.tensor import raw, wrap
from ..kinds import symbols as _symbols
from .hidden_axes import Hidden, Sizes, hidden, settled, shown, sizes_of
from .loop_run import Run
from .operation import Kind
from .plan import needed
from .region_io import appended, followed_by, inside, seen, zeros
from .regions import Region


class Loop(Kind, CustomOp):
    """The operation that runs a region in turns.

    region     what a turn computes; its arguments are what is carried, then an entry of each row
    carried    for each value that is carried: the argument, and the tensor that is carried on
    rows       for each row that is given: the argument, and the node at which its derivative ends
    made       tensors of which the loop makes rows
    condition  a region that says from what is carried whether there is another turn; without one
               there is a turn for each entry of the rows
    backwards  from the last entry to the first
    leaves     where the derivatives of the first values end that are carried, if elsewhere
    unroll     turns that a compiler writes out, as `pullback.scan` has it
    """

    stored = unsteady = True
    unroll: Any = 1

    def __init__(
        self, name: str, region: Region, carried: Sequence[tuple[Any, Any]],
        rows: Sequence[tuple[Any, Any]] = (), made: Sequence[Any] = (), *,
        condition: tuple[Region, Symbol] | None = None, backwards: bool = False,
        limited: bool = False, leaves: Sequence[Node | None] = (),
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
        starts = [None if a.face is None else a.face._node for a in self.starts[len(leaves) :]]
        self.leaves = [*leaves, *starts, *[end for _, end in self.rows]]
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
        return Run(self, len(used), asked)

    def kernel(self, store: Any, *values: Any) -> Any:
        """Everything it can hand out."""
        total = self.count + len(self.made) + len(self.kept)
        return Run(self, total, range(self.count, total))(store, *values)

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


# Derivatives --------------------------------------------------------------------------------------


class _Turn:
    """A region that computes a derivative of a loop's turn, and its arguments.

    rows    for each row: the argument, and the node at which its derivative ends
    given   the rows themselves, tensors of the graph around
    along   what the loop carries is carried again, by the loop's own condition, not read from rows
    """

    def __init__(self, loop: Loop, node: Any, cls: type, along: bool = False) -> None:
        self.loop, self.node, self.cls = loop, node, cls
        given, operation = node.saved
        self.along = along
        self.primals: list[Any] = []
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
                if along and i < loop.count:
                    self.primals.append(self.argument(symbol))
                    self.region.known[symbol] = raw(self.primals[i])
                    continue
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

    def argument(self, like: Any, sizes: Sizes | None = None) -> Any:
        """An argument that looks like another symbol or node, with hidden axes in front."""
        kind = getattr(like, "kind", None) or self.like.kind
        return self.region.argument(*_longer(like, sizes or {}), kind)

    def carry(self, argument: Any, value: Any, space: tuple[Any, Any]) -> None:
        """Carry a value on, or zeros of a space where there is none."""
        if value is None:
            value = zeros(space, self.like, self.cls)
        self.carried.append((argument, inside(self.region, seen(value, self.cls))))

    def carry_primals(self) -> None:
        """Carry on what the loop itself carries."""
        for argument, out in zip(self.primals, self.loop.outs, strict=False):
            self.carried.append((argument, inside(self.region, out)))

    def _condition(self) -> tuple[Region, Symbol] | None:
        """The loop's condition, of what is carried here."""
        if not self.along:
            return None
        assert self.loop.condition is not None
        ghost, answer = self.loop.condition
        region = Region(self.graph, (ghost, *ghost.ghosts), self.cls)
        with region.building():
            own = [region.argument(raw(a).shape, raw(a).dtype, raw(a).kind)
                   for a, _ in self.carried]
            for symbol, argument in zip(ghost.arguments, own, strict=False):
                region.known[symbol] = raw(argument)
            found = region.own(answer)
        region.finish()
        return region, found

    def append(
        self, suffix: str, starts: Sequence[Any], spaces: Sequence[Any], backwards: bool
    ) -> tuple[list[Any], list[Any]]:
        """The loop of such turns, appended; what it starts with may be a space, for zeros in it."""
        self.region.finish()
        limited = self.along and self.loop.limited
        loop = Loop(
            f"{self.loop.name}_{suffix}", self.region, self.carried, self.rows, self.made,
            condition=self._condition(), backwards=backwards, limited=limited,
            leaves=self.loop.leaves[: len(self.primals)],
        )
        loop.unroll = self.loop.unroll
        first = [zeros(s, self.like, self.cls) if s.__class__ is tuple else s for s in starts]
        n, limit = len(self.primals), None
        if self.along:
            args = self.node.saved[1].args
            first[:0] = [wrap(self.cls, a, p)
                         for a, p in zip(args[:n], self.node.parents, strict=False)]
            spaces = [*self.node.spaces[:n], *spaces]
            limit = args[n + len(self.loop._used)] if limited else None
        carried, made = loop.append(self.graph, first, self.given, spaces, self.cls, limit)
        return carried[n:], made


def _space(like: Any) -> tuple[Any, Any]:
    return like.shape, like.dtype


def pulled(
    loop: Loop, node: Any, gs: Sequence[Any], needed: set[Node] | None, cls: type
) -> list[tuple[Node, Any]]:
    """The cotangents of a loop's parents, from those of its outputs (None where there is none)."""
    graph = _symbols.current_graph() or node.saved[1].graph
    axes = Hidden(loop.count)
    axes.noted(gs[: loop.count])
    return settled(graph, lambda: _pulled(loop, node, gs, needed, cls, axes))


def _pulled(
    loop: Loop, node: Any, gs: Sequence[Any], needed: set[Node] | None, cls: type, axes: Hidden
) -> list[tuple[Node, Any]]:
    """The same, where cotangents have hidden axes in a `vmap` that is built into the graph."""
    turn = _Turn(loop, node, cls)
    parents, count, own = node.parents, loop.count, loop.count + len(loop.made)
    followed = [i for i in range(count) if loop.leaves[i] is not None]
    ends = [e for e in loop.ends if needed is None or e in needed]
    rows = [j for j, p in enumerate(parents[count : count + len(loop.rows)])
            if p is not None and (needed is None or p in needed)]
    answers: list[int] = []
    with turn.region.building():
        arriving = [turn.argument(raw(loop.outs[i]), axes.sizes[i]) for i in followed]
        inner = [hidden(g, axes.sizes[i]) for i, g in zip(followed, arriving, strict=True)]
        pairs = [(loop.outs[i]._node, g) for i, g in zip(followed, inner, strict=True)]
        tensors = [*loop.made, *loop.starts]
        for i in range(count, min(own + count, len(gs))):
            if gs[i] is not None:
                target = loop.made[i - count]._node if i < own else loop.leaves[i - own]
                pairs.append((target, turn.row(raw(tensors[i - count]), gs[i])))
        wanted = [*[loop.leaves[i] for i in followed], *[loop.rows[j][1] for j in rows], *ends]
        found = loop.region.pulled(pairs, wanted, cls)
        axes.checked([seen(found.get(n), cls) for n in loop.leaves[:count]])
        for i, g in zip(followed, arriving, strict=True):
            value, sizes = found.get(loop.leaves[i]), axes.sizes[i]
            if value is not None:
                value = shown(seen(value, cls), sizes)
            turn.carry(g, value, _longer(loop.starts[i], sizes))
        ends = [e for e in ends if e in found]
        totals = [sizes_of(found[e]) for e in ends]
        for e, sizes in zip(ends, totals, strict=True):
            total = turn.argument(e, sizes)
            turn.carry(total, total + shown(seen(found[e], cls), sizes), _longer(e, sizes))
        for j in rows:
            end = loop.rows[j][1]
            if end in found:
                turn.made.append(inside(turn.region, seen(found[end], cls)))
                answers.append(count + j)
    spaces = [_longer(parents[i] or raw(loop.outs[i]), axes.sizes[i]) for i in followed]
    first = [_longer(_Like(*node.spaces[i]), axes.sizes[i]) if gs[i] is None
             else shown(gs[i], axes.sizes[i]) for i in followed]
    started = [_longer(e, sizes) for e, sizes in zip(ends, totals, strict=True)]
    carried, made = turn.append(
        "pullback", [*first, *started],
        [*spaces, *started, *[_space(parents[j]) for j in answers]], not loop.backwards,
    )
    widths = [*[axes.sizes[i] for i in followed], *totals]
    carried = [hidden(r, s) for r, s in zip(carried, widths, strict=True)]
    results = [(parents[i], r) for i, r in zip(followed, carried, strict=False)]
    results += list(zip(ends, carried[len(followed) :], strict=True))
    results += [(parents[i], r) for i, r in zip(answers, made, strict=True)]
    return [(p, r) for p, r in results if p is not None and (needed is None or p in needed)]


class _Like(NamedTuple):
    """What has a shape and a dtype."""

    shape: Any
    dtype: Any


def _longer(like: Any, sizes: Sizes) -> tuple[Any, Any]:
    """The space of something with hidden axes in front."""
    return ((*sizes.values(), *like.shape) if sizes else like.shape), like.dtype


def pushed(loop: Loop, node: Any, tangents: Sequence[Any], cls: type) -> list[Any]:
    """The tangents of a loop's outputs, from those of its parents (None where there is none).

    They go along rows of what was carried. A loop with a condition carries that beside them, so
    that it keeps nothing: it needs to know the number of turns no more than the loop itself.
    """
    along = loop.condition is not None and not loop.region.saved
    turn = _Turn(loop, node, cls, along)
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
        turn.carry_primals()
        for i, t in zip(followed, arriving, strict=True):
            turn.carry(t, found.get(targets[i]), _space(raw(loop.outs[i])))
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
