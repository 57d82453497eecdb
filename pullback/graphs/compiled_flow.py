"""Branches and loops of a graph that runs on tracers: as the control flow of their compiler.

The operations are those of every graph, `Choice` and `Loop`, and so are their derivatives; only the
kernels differ. A compiler (`arrays/jax_/flow.py`) takes arrays without hidden axes, in the same
shapes in each turn; so the hidden axes of `vmap` are put in front, and whatever one turn adds is
there from the start. Rows are one array each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arrays import adapters, compiler_of
from ..arrays.batched import Batched, bare, hidden_under, move, plain_of
from ..core.op import OPS
from ..errors import ShapeError, SymbolError
from .hidden_axes import Sizes, merged, sizes_of
from .program import Program
from .tensor_list import Lost, Rows, Stacked
from .tracing import Random
from .variable import READ


def compiler_for(values: Sequence[Any]) -> Any:
    """The compiler that traces one of some values, which may be rows; None for numbers."""
    return compiler_of(*[v.whole if v.__class__ is Stacked else v for v in values])


def check_compiled(name: str, regions: Sequence[Any], compiler: str) -> None:
    """Raise a `SymbolError` for what can only happen once, while a compiler traces.

    A compiled body is traced once, whatever number of turns it has: it can assign nothing, and
    random numbers of the host would be the same ones in each turn.
    """
    for region in regions:
        if region.effect:
            raise SymbolError(
                f"`{name}` compiled by {compiler}", "functions that change nothing outside",
                "one that assigns or prints",
                "carry the value along and return it, and assign it after the loop",
            )
        if any(isinstance(s.operation.op, Random) for s in region.saved):
            raise SymbolError(
                f"random numbers inside `{name}` compiled by {compiler}",
                "other numbers in each turn", "numbers of the host, the same ones in each turn",
                "draw them before, for all turns, and pass them in (as `xs` of pb.scan)",
            )


# Hidden axes --------------------------------------------------------------------------------------


def _opened(flow: Any, value: Any, sizes: Sizes, dtype: Any = None) -> Any:
    """An array with its hidden axes in front, also those that it lacks."""
    own = bare(value)
    if own.__class__ is value.__class__ and not sizes:
        return flow.array(value, dtype)
    return flow.array(plain_of(value, list(sizes), list(sizes.values())), dtype)


def _closed(array: Any, sizes: Sizes) -> Any:
    return hidden_under(array, list(sizes))


def _rows(flow: Any, array: Any, sizes: Sizes) -> Any:
    """Rows with time first, as a compiler stacks them, with hidden axes hidden."""
    return _closed(move(array, 0, len(sizes)) if sizes else array, sizes)


# Branches -----------------------------------------------------------------------------------------


def choose(
    flow: Any, name: str, regions: Sequence[Any], select: Callable[[Any], int], value: Any,
    branches: Sequence[Callable[[], tuple[list[Any], list[Any]]]],
) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """The outputs of the branch that a traced value stands for, and what each branch keeps.

    branches  each returns its outputs, and what it keeps; that of the others is zeros
    """
    check_compiled(name, regions, flow.name)
    noted: list[list[Any]] = [[] for _ in branches]

    def trial() -> list[Any]:
        for row, branch in zip(noted, branches, strict=True):
            outs, own = branch()
            row[:] = [[(sizes_of(v), v.dtype) for v in outs],
                      [(sizes_of(v), v.dtype, tuple(v.shape)) for v in map(_array, own)]]
        return []

    flow.spaces(trial)
    sizes = [merged(*[s for s, _ in column])
             for column in zip(*[row[0] for row in noted], strict=True)]
    dtypes = [d for _, d in noted[0][0]]

    def opened(which: int) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            outs, own = branches[which]()
            made = [_opened(flow, v, s, d) for v, s, d in zip(outs, sizes, dtypes, strict=True)]
            for i, row in enumerate(noted):
                for j, (axes, dtype, shape) in enumerate(row[1]):
                    lengths = (*axes.values(), *shape)
                    made.append(
                        _opened(flow, own[j], axes) if i == which
                        else adapters[value.__class__].zeros(lengths, dtype)
                    )
            return made

        return run

    found = flow.one_of(flow.place(select, value), [opened(i) for i in range(len(branches))])
    outs = [_closed(v, s) for v, s in zip(found, sizes, strict=False)]
    rest = iter(found[len(outs) :])
    return outs, [tuple(_closed(next(rest), axes) for axes, _, _ in row[1]) for row in noted]


def _array(value: Any) -> Any:
    """What a body keeps for its derivative, which a compiler can hand out.

    Raises a `SymbolError` for what no array is: what branches inside have kept.
    """
    if not hasattr(value, "dtype"):
        raise SymbolError(
            "control flow inside control flow that is compiled",
            "branches and loops that read no variable inside",
            "one that does", "read it outside and close over the tensor: v = variable * 1",
        )
    return value


# Loops --------------------------------------------------------------------------------------------


class CompiledLoop:
    """One run of a `Loop` on tracers.

    run            its `_Run`: the programs of a turn and of the condition
    taken, asked   what a turn and the condition take from outside
    """

    def __init__(self, flow: Any, run: Any, store: Any, taken: list[Any], asked: list[Any]) -> None:
        self.flow, self.run, self.loop = flow, run, run.loop
        self.store, self.taken, self.asked = store, taken, asked
        self.made_sizes: list[Sizes] = []
        check_compiled(self.loop.name, self.loop.regions, flow.name)
        before = len(run.before)
        symbols = [*self.loop._symbols, *self.loop.kept]
        self.same = {  # rows of a variable that all turns read: its value
            i: Program([symbols[p]])([], store)[0]
            for i, p in enumerate(run.places[before:], before)
            if getattr(symbols[p].operation, "op", None) is READ
        }

    # One turn, on arrays with hidden axes ------------------------------------------------------

    def turn(self, carried: Sequence[Any], entries: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """What is carried on, and the entries of the rows that the turn makes."""
        n = self.loop.count
        found = self.run.program([*carried, *entries, *self.taken], self.store)
        made = [*[carried[i] for i in self.run.before], *map(_array, found[n:])]
        return found[:n], [v for i, v in enumerate(made) if i not in self.same]

    def more(self, carried: Sequence[Any]) -> Any:
        """Whether there is another turn, for each example."""
        return self.run.condition([*carried, *self.asked], self.store)[0]

    def guarded(
        self, carried: Sequence[Any], entries: Sequence[Any], active: Any
    ) -> tuple[list[Any], list[Any]]:
        """A turn where it is active; elsewhere what is carried stays, and zeros are made."""
        if active is None:
            return self.turn(carried, entries)
        if active.__class__ is Batched:
            new, made = self.turn(carried, entries)
            where = OPS["where"]
            return (
                [where(active, v, old) for v, old in zip(new, carried, strict=True)],
                [where(active, v, _zeros(v)) for v in made],
            )
        flow, sizes, dtypes = self.flow, self.sizes, self.dtypes
        made_sizes: list[Sizes] = []

        def taken() -> list[Any]:
            new, made = self.turn(carried, entries)
            made_sizes[:] = [sizes_of(v) for v in made]
            return [
                *[_opened(flow, v, s, d) for v, s, d in zip(new, sizes, dtypes, strict=True)],
                *[_opened(flow, v, s) for v, s in zip(made, made_sizes, strict=True)],
            ]

        spaces = flow.spaces(taken)

        def skipped() -> list[Any]:
            kept = [_opened(flow, v, s, d) for v, s, d in zip(carried, sizes, dtypes, strict=True)]
            zeros = adapters[bare(kept[0] if kept else active).__class__].zeros
            return [*kept, *[zeros(s.shape, s.dtype) for s in spaces[len(kept) :]]]

        found = flow.either(active, taken, skipped)
        n = len(sizes)
        return (
            [_closed(v, s) for v, s in zip(found[:n], sizes, strict=True)],
            [_closed(v, s) for v, s in zip(found[n:], made_sizes, strict=True)],
        )

    # The whole loop ----------------------------------------------------------------------------

    def __call__(self, carried: list[Any], given: Sequence[Any], limit: Any) -> Any:
        """The loop's results: what is carried in the end, and rows."""
        for rows in given:
            if rows.__class__ is Lost:
                raise rows.error()
        self.dtypes = [v.dtype for v in carried]
        if self.loop.condition is None:
            stacked = [_as_stacked(r) for r in given]
            return self._counted(carried, stacked)
        if not self.run.places:
            return self.run._answer(self._while(carried, limit), [], [])
        if limit.__class__ is int:
            return self._bounded(carried, limit)
        lost = [Lost(self.loop.name, self.flow.name) for _ in self.run.places]
        return self._placed(self._while(carried, limit), lost)

    def _placed(self, carried: Sequence[Any], rows: Sequence[Any]) -> Any:
        answers: list[Any] = [*carried, *[None] * (self.run.total - self.loop.count)]
        for place, row in zip(self.run.places, rows, strict=True):
            answers[place] = row
        return answers[0] if len(answers) == 1 else tuple(answers)

    def _settle(self, carried: Sequence[Any], spaces: Sequence[Any], step: Any) -> list[Any]:
        """What is carried, with the hidden axes that it has after any number of turns.

        spaces  what `step` takes beside it, for a trial
        """
        flow = self.flow
        self.sizes = [sizes_of(v) for v in carried]
        while True:
            opened = [_opened(flow, v, s, d)
                      for v, s, d in zip(carried, self.sizes, self.dtypes, strict=True)]
            found: list[Sizes] = []

            def trial(state: list[Any], rest: list[Any], found: list[Sizes] = found) -> list[Any]:
                values = [_closed(v, s) for v, s in zip(state, self.sizes, strict=True)]
                found[:] = [sizes_of(v) for v in step(values, rest)]
                return []

            flow.spaces(trial, opened, list(spaces))
            wider = [merged(s, f) for s, f in zip(self.sizes, found, strict=True)]
            if wider == self.sizes:
                return opened
            self.sizes = wider

    def _rows_of(self, made: Sequence[Any], active: Any, count: int) -> list[Any]:
        """All rows that are asked for, from those that a compiler has stacked."""
        rest = (
            Stacked(_rows(self.flow, v, s), active)
            for v, s in zip(made, self.made_sizes, strict=True)
        )
        return [
            Stacked(self.same[i], active, count) if i in self.same else next(rest)
            for i in range(len(self.run.places))
        ]

    def _counted(self, carried: list[Any], given: Sequence[Stacked]) -> Any:
        """A turn for each entry of the rows."""
        flow = self.flow
        active = next((r.active for r in given if r.active is not None), None)
        rows = [r.whole for r in given if not r.same] + ([active] if active is not None else [])
        sizes = [sizes_of(v) for v in rows]
        opened = [_opened(flow, v, s) for v, s in zip(rows, sizes, strict=True)]
        first = [move(v, len(s), 0) for v, s in zip(opened, sizes, strict=True)]
        counts = {v.shape[0] for v in first} | {r.same for r in given if r.same}
        _check_counts(self.loop.name, counts)
        (count,) = counts

        def entries_of(rest: Sequence[Any]) -> tuple[list[Any], Any]:
            values = iter([_closed(v, s) for v, s in zip(rest, sizes, strict=True)])
            entries = [r.whole if r.same else next(values) for r in given]
            return entries, next(values, None)

        def step(values: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
            entries, now = entries_of(rest)
            new, _ = self.turn(values, entries)
            axes = {} if now is None else sizes_of(now)
            return [_spread(v, axes) for v in new]

        start = self._settle(carried, [flow.space(v.shape[1:], v.dtype) for v in first], step)

        def turn(state: list[Any], rest: list[Any]) -> tuple[list[Any], list[Any]]:
            entries, now = entries_of(rest)
            values = [_closed(v, s) for v, s in zip(state, self.sizes, strict=True)]
            new, made = self.guarded(values, entries, now)
            return self._taken_on(new), self._noted(made)

        last, made = flow.scan(
            turn, start, first, count, self.loop.backwards, self.loop.unroll
        )
        ends = [_closed(v, s) for v, s in zip(last, self.sizes, strict=True)]
        return self._placed(ends, self._rows_of(made, active, count))

    def _taken_on(self, new: Sequence[Any]) -> list[Any]:
        return [_opened(self.flow, v, s, d)
                for v, s, d in zip(new, self.sizes, self.dtypes, strict=True)]

    def _noted(self, made: Sequence[Any]) -> list[Any]:
        self.made_sizes = [sizes_of(v) for v in made]
        return [_opened(self.flow, v, s) for v, s in zip(made, self.made_sizes, strict=True)]

    def _asking(self, carried: list[Any]) -> tuple[list[Any], Any, Sizes]:
        """What is carried at the start, whether there is a first turn, and for which examples."""
        axes: list[Sizes] = [{}]

        def step(values: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
            axes[0] = sizes_of(self.more(values))
            return [_spread(v, axes[0]) for v in self.turn(values, [])[0]]

        start = self._settle(carried, [], step)
        values = [_closed(v, s) for v, s in zip(start, self.sizes, strict=True)]
        alive = _opened(self.flow, self.more(values), axes[0], bool)
        return start, alive, axes[0]

    def _next(self, state: Sequence[Any], alive: Any, axes: Sizes) -> Any:
        """A turn where there is one: what is carried on, its rows, whether there is another."""
        values = [_closed(v, s) for v, s in zip(state, self.sizes, strict=True)]
        new, made = self.guarded(values, [], _closed(alive, axes))
        new = [_closed(v, s) for v, s in zip(self._taken_on(new), self.sizes, strict=True)]
        again = OPS["logical_and"](_closed(alive, axes), self.more(new))
        return new, made, _opened(self.flow, again, axes, bool)

    def _while(self, carried: list[Any], limit: Any) -> list[Any]:
        """Turns for as long as the condition holds for one of the examples."""
        flow = self.flow
        start, alive, axes = self._asking(carried)
        namespace = adapters[alive.__class__].namespace

        def more(state: list[Any]) -> Any:
            going = namespace.any(state[-2])
            return going if limit is None else namespace.logical_and(going, state[-1] < limit)

        def turn(state: list[Any]) -> list[Any]:
            *now, alive, count = state
            if axes:
                new, _, alive = self._next(now, alive, axes)
            else:  # the condition has been asked, so the turn need not be guarded
                values = [_closed(v, s) for v, s in zip(now, self.sizes, strict=True)]
                new = self.turn(values, [])[0]
                new = [_closed(v, s)
                       for v, s in zip(self._taken_on(new), self.sizes, strict=True)]
                alive = flow.array(self.more(new), bool)
            return [*self._taken_on(new), alive, count + 1]

        *last, _, _ = flow.repeat(more, turn, [*start, alive, flow.array(0)])
        return [_closed(v, s) for v, s in zip(last, self.sizes, strict=True)]

    def _bounded(self, carried: list[Any], limit: int) -> Any:
        """As many turns as there may be, of which the last ones may do nothing."""
        flow = self.flow
        start, alive, axes = self._asking(carried)

        def turn(state: list[Any], rest: list[Any]) -> tuple[list[Any], list[Any]]:
            *now, alive = state
            new, made, again = self._next(now, alive, axes)
            return [*self._taken_on(new), again], [*self._noted(made), alive]

        state, made = flow.scan(turn, [*start, alive], [], limit, False, self.loop.unroll)
        ends = [_closed(v, s) for v, s in zip(state[:-1], self.sizes, strict=True)]
        active = _rows(flow, made[-1], axes)
        return self._placed(ends, self._rows_of(made[:-1], active, limit))


def _zeros(value: Any) -> Any:
    return OPS["zeros_like"](value)


def _spread(value: Any, axes: Sizes) -> Any:
    """An array with further hidden axes, as it has where it is chosen by examples."""
    sizes = merged(sizes_of(value), axes)
    if not sizes:
        return value
    return _closed(plain_of(value, list(sizes), list(sizes.values())), sizes)


def _as_stacked(rows: Any) -> Stacked:
    """Rows of a list, which a program that is not compiled has made, as one array."""
    if rows.__class__ is Stacked:
        return rows
    assert isinstance(rows, Rows)
    return Stacked(OPS["stack"](list(rows.items), axis=0), None)


def _check_counts(name: str, counts: set[int]) -> None:
    if len(counts) > 1:
        raise ShapeError(f"`{name}`", "tensors of one length along axis 0",
                         " and ".join(map(str, sorted(counts))))
