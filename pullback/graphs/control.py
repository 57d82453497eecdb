"""`cond` and `switch_case`: of several functions one is computed, which a graph knows when it runs.

Each becomes a region of the graph, and all of them one operation. Its pullback is such an operation
again: the pullbacks of the regions, of which that of the one that was taken runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..arrays import SCALARS, adapters, is_array
from ..arrays.batched import Batched, bare
from ..arrays.symbol import Symbol
from ..core.cotangent import accumulate
from ..core.custom_op import CustomOp, custom_node
from ..core.node import Node
from ..core.op import OPS
from ..core.tensor import Tensor, raw
from ..errors import ArgumentError, ArgumentTypeError, BatchedValueError, DtypeError, ShapeError
from ..kinds import symbols as _symbols
from ..trees import flatten, mapped
from .compiled_flow import choose, compiler_for
from .hidden_axes import hidden, merged, shown, sizes_of
from .operation import Kind, Operation
from .region_io import (
    HANDLE,
    appended,
    followed_by,
    hand_over,
    inside,
    joined,
    outward,
    plain,
    seen,
    structure,
    zeros,
)
from .regions import Region


def cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str = "cond"
) -> Any:
    """What one of two functions returns: `true_fn()` where pred is true, else `false_fn()`.

    pred               one truth value
    true_fn, false_fn  functions of no argument that return tensors, in the same nesting and of
                       the same dtypes; they may use tensors and variables from outside

    In a graph, only the function that is taken is computed. Lengths that differ are None in the
    result. A function may also return an operation, or None: then so does `cond`. Where pred is a
    bool or an array, the function is called at once. Inside `vmap`, where pred is another for each
    example, both are computed.

    Raises `ArgumentError` where the nesting differs, `DtypeError` where a dtype does, `ShapeError`
    for a pred of another shape than ().

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, Session, placeholder
    >>> with Graph().as_default() as graph:
    ...     x = placeholder(pb.float64, [])
    ...     y = cond(x > 0, lambda: x * x, lambda: -x)
    >>> [float(Session(graph).run(y, {x: v})) for v in (3.0, -2.0)]
    [9.0, 2.0]
    >>> cond(True, lambda: "yes", lambda: "no")
    'yes'
    """
    return _chosen(name, pred, [true_fn, false_fn], _which_of_two, ("true_fn", "false_fn"))


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """What one of several functions returns: that whose number `branch_index` is.

    branch_index  one integer
    branch_fns    functions of no argument, in a list, or in a mapping by their numbers
    default       taken for other numbers; left out, the last function (of the largest number)

    As `cond` otherwise.

    >>> switch_case(1, [lambda: "a", lambda: "b"])
    'b'
    """
    table = _numbered(branch_fns)
    numbers = sorted(table)
    functions = [table[n] for n in numbers]
    if default is not None:
        functions.append(default)
    places = {n: i for i, n in enumerate(numbers)}
    labels = [f"branch {n}" for n in numbers] + ["default"] * (default is not None)
    return _chosen(
        name, branch_index, functions, _Which(places, len(functions) - 1), labels
    )


def _numbered(branches: Any) -> dict[int, Callable[[], Any]]:
    if isinstance(branches, Mapping) or (branches and all(isinstance(b, tuple) for b in branches)):
        table = dict(branches)
    else:
        table = dict(enumerate(branches))
    if not table or not all(isinstance(n, int) and callable(f) for n, f in table.items()):
        raise ArgumentTypeError(
            "argument `branch_fns` of switch_case", "functions, in a list or by their numbers",
            repr(branches)[:60],
        )
    return table


def _which_of_two(value: Any) -> int:
    return 0 if value else 1


class _Which:
    """The place of the function that a number stands for."""

    def __init__(self, places: Mapping[int, int], last: int) -> None:
        self.places, self.last = places, last

    def __call__(self, value: Any) -> int:
        return self.places.get(int(value), self.last)


def _chosen(
    name: str, value: Any, functions: Sequence[Callable[[], Any]],
    select: Callable[[Any], int], labels: Sequence[str],
) -> Any:
    for label, function in zip(labels, functions, strict=True):
        if not callable(function):
            raise ArgumentTypeError(f"argument `{label}` of {name}", "a function",
                                    f"a {type(function).__name__}")
    data = raw(value)
    if data.__class__ is Batched:
        answers = [f() for f in functions]
        return mapped(lambda *parts: _where(select, data, parts), *answers)
    if getattr(data, "shape", ()) not in ((), None) and plain(data.shape) not in ((), None):
        raise ShapeError(f"what {name} decides by", "one value, of shape ()",
                         f"shape {plain(data.shape)}", "reduce it first, as with pullback.any(x)")
    if data.__class__ is not Symbol:
        return functions[select(data)]()
    graph = _symbols.current_graph() or data.operation.graph
    return _Building(name, graph, labels).choice(data, functions, select)


# Building ---------------------------------------------------------------------------------------


class _Building:
    """The regions of some functions, and what they return, made to fit each other."""

    def __init__(self, name: str, graph: Any, labels: Sequence[str]) -> None:
        self.name, self.graph, self.labels = name, graph, labels
        self.cls = graph.tensor_class

    def choice(
        self, value: Symbol, functions: Sequence[Callable[[], Any]], select: Any
    ) -> Any:
        """The operation's outputs, in the nesting of what the functions return."""
        regions, answers = [], []
        for function in functions:
            region = Region(self.graph)
            with region.building():
                answers.append(function())
            regions.append(region)
        self._same_nesting(answers)
        rows = [flatten(a)[0] for a in answers]
        outs: list[list[Any]] = [[] for _ in regions]
        for place in range(len(rows[0])):
            leaves = [row[place] for row in rows]
            if all(v is None or isinstance(v, Operation) for v in leaves):
                continue
            for out, tensor in zip(outs, self._tensors(leaves, regions, place), strict=True):
                out.append(tensor)
        for region, row in zip(regions, rows, strict=True):
            region.finish([v for v in row if isinstance(v, Operation)])
        made = Choice(self.name, regions, outs, select)
        operation, tensors = made.append(self.graph, value, None, self.cls)
        rest = iter(tensors)
        rebuild = flatten(answers[0])[1]
        return rebuild([
            operation if v is None or isinstance(v, Operation) else next(rest) for v in rows[0]
        ])

    def _same_nesting(self, answers: Sequence[Any]) -> None:
        first = structure(answers[0])
        for label, answer in zip(self.labels, answers, strict=True):
            if structure(answer) != first:
                raise ArgumentError(
                    f"`{self.name}`", f"functions that return the same nesting, as {first} by "
                    f"{self.labels[0]}", f"{structure(answer)} by {label}",
                )

    def _tensors(self, leaves: list[Any], regions: Sequence[Region], place: int) -> list[Any]:
        """One output of every region, as tensors of one dtype."""
        dtype = next((v.dtype for v in leaves if hasattr(v, "dtype")), None)
        made = []
        for label, leaf, region in zip(self.labels, leaves, regions, strict=True):
            if not (isinstance(leaf, (Tensor, *SCALARS)) or is_array(leaf)):
                raise ArgumentTypeError(
                    f"output {place} of {label} of `{self.name}`", "a tensor, as of the others",
                    f"{leaf!r} (a {type(leaf).__name__})"
                )
            with region.building():
                made.append(inside(region, leaf, dtype))
        for label, tensor in zip(self.labels, made, strict=True):
            if tensor.dtype != made[0].dtype:
                raise DtypeError(
                    f"output {place} of `{self.name}`",
                    f"one dtype: {made[0].dtype}, as by {self.labels[0]}",
                    f"{tensor.dtype} by {label}", "cast one of them",
                )
        return made


# The operation ----------------------------------------------------------------------------------


class Choice(Kind, CustomOp):
    """The operation that runs one of several regions.

    regions   they
    outs      the outputs of each, tensors
    select    the place of the region to run, from the value that decides
    kept      whether there is a last output: what the region that ran drew and read, for its
              pullback
    """

    stored = unsteady = True

    def __init__(
        self, name: str, regions: Sequence[Region], outs: Sequence[Sequence[Any]],
        select: Callable[[Any], int],
    ) -> None:
        super().__init__(name)
        self.regions, self.select = list(regions), select
        self.symbols = [[raw(t) for t in row] for row in outs]
        self.nodes = [[t._node for t in row] for row in outs]
        self.count = len(self.symbols[0])
        self.kept = any(r.saved for r in regions)
        self.stateful = self.kept
        self.effect = any(r.effect for r in regions)
        self.assigns = set().union(*[r.assigns for r in regions])
        self.takes = list(dict.fromkeys(s for r in regions for s in r.takes))
        order = {s: i for i, s in enumerate(self.takes)}
        self._places = [[order[s] for s in r.takes] for r in regions]
        self.parents = list(dict.fromkeys(
            n for r, nodes in zip(regions, self.nodes, strict=True) for n in r.ends(nodes)
        ))

    # Building -------------------------------------------------------------------------------

    def append(
        self, graph: Any, value: Symbol, spaces: Sequence[Any] | None, cls: type
    ) -> tuple[Operation, list[Any]]:
        """Append the operation; it, and its outputs as tensors.

        spaces  shape and dtype of each output, where they are known
        """
        if spaces is None:
            spaces = [
                (joined([outward(s.shape, graph) for s in column]), column[0].dtype)
                for column in zip(*self.symbols, strict=True)
            ]
        kept = [HANDLE] if self.kept else []
        kind = next((s.kind for s in self.symbols[0]), value.kind)
        operation = appended(
            graph, self, [value, *self.takes], [*spaces, *kept], kind, self.regions
        )
        made = operation.symbols
        saved = (value, made[-1] if self.kept else None)
        node = custom_node(self, tuple(self.parents), saved, cls)
        return operation, followed_by(node, made[: self.count], cls)

    # Running --------------------------------------------------------------------------------

    def serving(self, used: Sequence[bool]) -> Callable[..., Any]:
        """The kernel where only some outputs are used."""
        return self.kernel if self.kept and used[-1] else self._lean

    def kernel(self, store: Any, value: Any, *values: Any) -> Any:
        """The outputs of one region, and what it drew and read."""
        return self._run(store, value, values, self.kept)

    def _lean(self, store: Any, value: Any, *values: Any) -> Any:
        return self._run(store, value, values, False)

    def _run(self, store: Any, value: Any, values: Sequence[Any], keep: bool) -> Any:
        kept: list[Any] = [None] * len(self.regions)
        flow = compiler_for([value])
        if value.__class__ is Batched:
            outs = self._everywhere(store, value, values, keep, kept)
        elif flow is not None:
            outs = self._compiled(flow, store, value, values, keep, kept)
        else:
            which = self.select(value)
            outs = self._region(which, store, values, keep, kept)
        if self.kept:
            outs.append(tuple(kept))
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _compiled(
        self, flow: Any, store: Any, value: Any, values: Sequence[Any], keep: bool, kept: list[Any]
    ) -> list[Any]:
        """The outputs of one region, chosen by what a compiler knows later only.

        What the regions keep are further outputs, zeros of a region that did not run.
        """
        regions = range(len(self.regions))
        branches: list[Any] = []
        for i in regions:
            def branch(i: int = i) -> tuple[list[Any], list[Any]]:
                own: list[Any] = [()] * len(regions)
                outs = self._region(i, store, values, keep, own)
                return outs, list(own[i])

            branches.append(branch)
        outs, found = choose(flow, self.name, self.regions, self.select, value, branches)
        kept[:] = found if keep else kept
        return outs

    def _region(
        self, which: int, store: Any, values: Sequence[Any], keep: bool, kept: list[Any]
    ) -> list[Any]:
        region, symbols = self.regions[which], self.symbols[which]
        program = region.program([*symbols, *region.saved] if keep else symbols)
        found = program([values[i] for i in self._places[which]], store)
        if keep:
            kept[which] = tuple(found[self.count : self.count + len(region.saved)])
        return found[: self.count]

    def _everywhere(
        self, store: Any, value: Any, values: Sequence[Any], keep: bool, kept: list[Any]
    ) -> list[Any]:
        """Every region's outputs, and of them for each example those of one."""
        if self.effect:
            raise BatchedValueError(
                f"`{self.name}` inside vmap", "functions that change nothing, as both are computed",
                "one that assigns or prints", "take that out of it, or choose with pullback.where",
            )
        rows = [
            self._region(i, store, values, keep, kept) for i in range(len(self.regions))
        ]
        return [_where(self.select, value, column) for column in zip(*rows, strict=True)]

    # Derivatives ----------------------------------------------------------------------------

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a pull: the pullback of the region that ran."""
        gs = [seen(v, cls) for v in g]
        wanted = [p for p in node.parents if needed is None or p in needed]

        def pulled(region: Region, nodes: Sequence[Any]) -> list[Any]:
            found = region.pulled(zip(nodes, gs, strict=True), wanted, cls)
            return [found.get(p) for p in wanted]

        found = self._derived(node, pulled, [(p.shape, p.dtype) for p in wanted], "pullback", cls)
        for parent, r in zip(wanted, found, strict=True):
            if r is not None:
                accumulate(cotangents, parent, r if record else raw(r))

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangents of the outputs: those of the region that ran."""
        given = {
            p: seen(t, cls) for p, t in zip(node.parents, tangents, strict=True) if t is not None
        }

        def pushed(region: Region, nodes: Sequence[Any]) -> list[Any]:
            found = region.pushed(given, nodes, cls)
            return [None if n is None else found.get(n) for n in nodes]

        found = self._derived(node, pushed, node.spaces, "pushforward", cls)
        return [v if v is None or record else raw(v) for v in found]

    def _derived(
        self, node: Any, derive: Callable[..., list[Any]], spaces: Sequence[Any], suffix: str,
        cls: type,
    ) -> list[Any]:
        """The outputs of a choice between derivatives of the regions; None where none has one."""
        value, kept = node.saved
        graph = _symbols.current_graph() or value.operation.graph
        made, rows = [], []
        for which, (region, nodes) in enumerate(zip(self.regions, self.nodes, strict=True)):
            inner = Region(graph, (region, *region.ghosts), cls)
            with inner.building():
                hand_over(inner, region.saved, kept, which)
                rows.append(derive(region, nodes))
            made.append(inner)
        there = [i for i, column in enumerate(zip(*rows, strict=True))
                 if any(v is not None for v in column)]
        found: list[Any] = [None] * len(spaces)
        if not there:
            return found
        # In a vmap that is built into the graph, they have hidden axes.
        sizes = {i: merged(*[sizes_of(row[i]) for row in rows if row[i] is not None])
                 for i in there}
        longer = {i: ((*sizes[i].values(), *spaces[i][0]) if sizes[i] else spaces[i][0],
                      spaces[i][1]) for i in there}
        outs = []
        for inner, row in zip(made, rows, strict=True):
            with inner.building():
                outs.append([
                    inside(inner, zeros(longer[i], value, cls) if row[i] is None else
                           shown(seen(row[i], cls), sizes[i])) for i in there
                ])
            inner.finish()
        choice = Choice(f"{self.name}_{suffix}", made, outs, self.select)
        _, tensors = choice.append(
            graph, graph.own(value), [longer[i] for i in there], cls
        )
        for i, tensor in zip(there, tensors, strict=True):
            found[i] = hidden(tensor, sizes[i])
        return found


def _where(select: Any, value: Batched, parts: Sequence[Any]) -> Any:
    """For each example, the part that its value stands for."""
    like, which = bare(value), OPS["identity"](value)
    if select is _which_of_two:
        return OPS["where"](OPS["astype"](which, bool), *parts)
    found = parts[select.last]
    for number, place in select.places.items():
        same = OPS["equal"](which, adapters[like.__class__].asarray(number, like.dtype, like))
        found = OPS["where"](same, parts[place], found)
    return found
