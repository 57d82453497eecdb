"""`residuals`: what a recorded graph keeps alive, by operation and line, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import getsizeof
from typing import Any, NamedTuple

from ..arrays.symbol import Symbol
from ..core.node import FREED, Leaf, Node, line_of
from ..core.tensor import Tensor, raw
from ..errors import ArgumentError, ArgumentTypeError
from ..trees import leaves
from .holdings import Holding, holdings
from .table import Table, page
from .units import bytes_text, counted, first_of, memory_of, shape_text, share_text

UNKNOWN = "(line not kept)"


class Kept(NamedTuple):
    """One piece of memory that a graph holds, counted once.

    bytes       of all that stays: where a view was saved, of what it is a view of
    operation   the first that saved it; `line` is where that was recorded
    role        what it is to the operation; `reason` says who reads it there
    array       its element type and shape
    owner       who holds it anyway: "" for nobody known, an input or variable, or the result
    also        the other operations that hold the same memory, each with the role
    """

    bytes: int
    operation: str
    line: str
    role: str
    reason: str
    array: str
    owner: str
    also: tuple[str, ...]


class Row(NamedTuple):
    """What the arrays of one operation, line or array come to."""

    name: str
    arrays: int
    bytes: int
    reason: str


class Residuals:
    """What `residuals` found; it holds no array and no node.

    arrays     every piece of memory, a `Kept` each, the largest first
    total      bytes that the graph keeps and no input or variable has anyway
    shared     bytes that it reads and that inputs and variables hold anyway
    nodes      how many operations; `freed`: so many of them have let go of what they saved
    weak       constants that no rule reads: (operation, role, bytes; 0 where it is gone)
    overhead   bytes of the Python objects, about; in no other figure
    symbols    values of a graph that is being built, which its pull reads: there are no arrays yet
    """

    def __init__(self, title: str, by: str) -> None:
        self.title, self.grouping = title, by
        self.arrays: list[Kept] = []
        self.weak: list[tuple[str, str, int]] = []
        self.nodes = self.freed = self.overhead = self.symbols = 0

    @property
    def total(self) -> int:
        """Bytes that live as long as the graph does, those of inputs and variables left out."""
        return sum(k.bytes for k in self.arrays if not _is_yours(k))

    @property
    def shared(self) -> int:
        """Bytes of inputs and variables that the graph reads; they are their owners' own."""
        return sum(k.bytes for k in self.arrays if _is_yours(k))

    @property
    def rows(self) -> list[Row]:
        """The table's rows, grouped as was asked for, the largest first."""
        return self._rows(self.grouping)

    def largest(self, n: int = 10) -> list[Kept]:
        """The n largest pieces of memory that the graph alone keeps."""
        return [k for k in self.arrays if not _is_yours(k)][:n]

    def by(self, grouping: str) -> Table:
        """The table grouped by "operation", "line" or "none" (an array a row)."""
        check_grouping(grouping, "residuals")
        total = self.total
        rows = [
            (r.name, f"{r.arrays}", bytes_text(r.bytes), share_text(r.bytes, total), r.reason)
            for r in self._rows(grouping)
        ]
        head = {"operation": "operation", "line": "line", "none": "array"}[grouping]
        return Table(self._headline(), (head, ">arrays", ">bytes", ">share", "why"), rows,
                     self._notes(grouping))

    def _rows(self, grouping: str) -> list[Row]:
        key: Callable[[Kept], str] = {
            "operation": lambda k: k.operation, "line": lambda k: k.line or UNKNOWN,
            "none": lambda k: f"{k.operation} {k.array}",
        }[grouping]
        groups: dict[Any, list[Kept]] = {}
        for place, kept in enumerate(self.arrays):
            if not _is_yours(kept):
                groups.setdefault(place if grouping == "none" else key(kept), []).append(kept)
        found = [
            Row(key(g[0]), len(g), sum(k.bytes for k in g),
                first_of(f"{k.role}: {k.reason}" for k in g)) for g in groups.values()
        ]
        return sorted(found, key=lambda row: -row.bytes)

    def _headline(self) -> str:
        if not self.nodes:
            return f"{self.title}: not tracked, so nothing is kept"
        mine = [k for k in self.arrays if not _is_yours(k)]
        if self.symbols and not mine:
            return (f"{self.title}: keeps no array, by {counted(self.nodes, 'operation')} of a "
                    "graph, before it is run")
        return (
            f"{self.title}: keeps {bytes_text(self.total)} in {counted(len(mine), 'array')}, "
            f"by {counted(self.nodes, 'operation')}"
        )

    def _notes(self, grouping: str) -> Iterator[str]:
        yours = [k for k in self.arrays if _is_yours(k)]
        if yours:
            yield (f"read too, and yours anyway: {bytes_text(self.shared)} in "
                   f"{counted(len(yours), 'array')} ({first_of(k.owner for k in yours)})")
        results = sum(k.bytes for k in self.arrays if k.owner == "the result")
        if results:
            yield f"of what is kept, {bytes_text(results)} are the result itself"
        if self.weak:
            alive = sum(size for _, _, size in self.weak)
            yield (f"held weakly, as no rule reads them: {counted(len(self.weak), 'constant')} "
                   f"({bytes_text(alive)} alive)")
        if self.freed:
            yield (f"freed by an earlier pull: {self.freed:,} of "
                   f"{counted(self.nodes, 'operation')}")
        if self.symbols:
            yield (f"of a graph: {counted(self.symbols, 'value')}, without bytes until it runs: "
                   "ask for those of what a call gives")
        if self.nodes:
            yield f"not counted: the nodes themselves, about {bytes_text(self.overhead)}"
        if grouping == "line" and any(not k.line for k in self.arrays):
            yield "lines are known of what is recorded inside `with pullback.debug():`"

    def __str__(self) -> str:
        return str(self.by(self.grouping))

    __repr__ = __str__

    def __rich__(self) -> Any:
        """The table for rich's console."""
        return self.by(self.grouping).__rich__()

    def html(self) -> str:
        """Both tables as a page of their own."""
        return page(self.title, [self.by("operation"), self.by("line")])

    def _repr_html_(self) -> str:
        return self.by(self.grouping).html()


def _is_yours(kept: Kept) -> bool:
    return kept.owner not in ("", "the result")


def check_grouping(by: Any, who: str) -> None:
    """Raise an `ArgumentError` for a way to group that there is not."""
    if by not in ("operation", "line", "none"):
        raise ArgumentError(f"argument `by` of {who}", '"operation", "line" or "none"', repr(by))


def residuals(y: Any, by: str = "operation") -> Residuals:
    """What the graph behind a tensor keeps alive: bytes, by operation and line, and why.

    y    a tensor, or a nested structure of them
    by   how the table's rows are grouped: "operation", "line", or "none" for an array a row

    Memory is counted once, also where several operations hold it or views of it; a view counts
    as all of what it is a view of. The arrays of inputs, parameters and variables are their
    owners' own: they are not in `total` but in `shared`. The report holds none of what it tells of.
    A tensor of a graph keeps values that have no arrays before it runs: `total` is 0, `symbols` how
    many they are.

    Raises `ArgumentTypeError` where there is no tensor, `ArgumentError` for another `by`.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> found = residuals(pb.sum(pb.exp(x) * x))
    >>> found.total, found.shared, found.largest(1)[0].reason
    (24, 24, '`partial_exp` reads it')
    """
    check_grouping(by, "residuals")
    tensors = [v for v in leaves(y) if isinstance(v, Tensor)]
    if not tensors:
        raise ArgumentTypeError(
            "argument `y` of residuals", "a tensor, or a structure of them", f"a {type(y).__name__}"
        )
    title = f"the graph behind {shape_text(tensors[0].shape, tensors[0].dtype)}"
    if len(tensors) > 1:
        title = f"the graph behind {counted(len(tensors), 'tensor')}"
    found = Residuals(title, by)
    _Reading(found).read(tensors)
    return found


class _Reading:
    """One walk over the nodes behind some tensors, through closures too."""

    def __init__(self, found: Residuals) -> None:
        self.found = found
        self.memory: dict[int, list[tuple[Node, Holding]]] = {}
        self.sizes: dict[int, tuple[Any, int]] = {}  # with the owners, so that ids stay theirs
        self.owners: dict[int, str] = {}

    def read(self, tensors: list[Any]) -> None:
        """Fill the report in."""
        nodes: dict[Node, None] = {}
        stack = [t._node for t in tensors if t._node is not None]
        while stack:
            node = stack.pop()
            if node in nodes:
                continue
            nodes[node] = None
            stack += [p for p in node.parents if p is not None]
            if isinstance(node, Leaf):
                self._own(node.data, _name_of(node))
                continue
            stack += [h.node for h in self._held_by(node) if h.node is not None]
        for t in tensors:
            if raw(t).__class__ is not Symbol:
                self.owners.setdefault(id(memory_of(raw(t)).owner), "the result")
        recorded = [n for n in nodes if not isinstance(n, Leaf)]
        self.found.nodes = len(recorded)
        self.found.freed = sum(n.saved is FREED for n in recorded)
        self.found.overhead = sum(
            getsizeof(n) + getsizeof(n.parents) + getsizeof(n.saved) for n in recorded)
        self.found.arrays = sorted(
            (self._kept(key, held) for key, held in self.memory.items()), key=lambda k: -k.bytes)

    def _held_by(self, node: Node) -> list[Holding]:
        held = list(holdings(node))
        for holding in held:
            data = holding.data
            if holding.reason == "no rule reads it":
                alive = data()
                size = 0 if alive is None else memory_of(alive).nbytes
                self.found.weak.append((node.name(), holding.role, size))
            elif data.__class__ is Symbol:
                self.found.symbols += 1
            elif data is not None:
                owner, size = memory_of(data)
                self.sizes[id(owner)] = owner, size
                self.memory.setdefault(id(owner), []).append((node, holding))
        return held

    def _own(self, data: Any, name: str) -> None:
        if data.__class__ is not Symbol:
            owner, size = memory_of(data)
            self.sizes[id(owner)] = owner, size
            self.owners[id(owner)] = name

    def _kept(self, key: int, held: list[tuple[Node, Holding]]) -> Kept:
        held = sorted(held, key=lambda pair: pair[0].seq)
        node, first = held[0]
        return Kept(
            self.sizes[key][1], node.name(), line_of(node), first.role, first.reason,
            shape_text(tuple(first.data.shape), first.data.dtype), self.owners.get(key, ""),
            tuple(f"{n.name()}, {h.role}" for n, h in held[1:]),
        )


def _name_of(leaf: Leaf) -> str:
    variable = leaf.variable() if leaf.variable is not None else None
    return "an input" if variable is None else f"variable {variable.name!r}"
