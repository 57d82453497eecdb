"""`residuals`: the memory that a recorded graph keeps alive, by operation and line, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import getsizeof
from typing import Any, NamedTuple

from ...arrays.symbol import Symbol
from ...core.node import FREED, Leaf, Node, line_of
from ...core.tensor import Tensor, raw
from ...errors import ArgumentError, ArgumentTypeError
from ...trees import leaves
from ..table import Table, page
from .holdings import Holding, holdings
from .units import bytes_text, counted, first_of, memory_of, shape_text, share_text

UNKNOWN = "(line not kept)"


class Kept(NamedTuple):
    """One block of memory that a graph holds, counted once.

    bytes       the size of the block; for a view, the size of the array that it views
    operation   the first operation that saved it; `line` is where that was recorded
    role        its role in the operation; `reason` names the rule that reads it there
    array       its element type and shape
    owner       who else holds it: an input or variable, or the result; "" if unknown
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
    """The totals of one operation, line or array."""

    name: str
    arrays: int
    bytes: int
    reason: str


class Residuals:
    """The result of `residuals`; it holds no array and no node.

    arrays     every block of memory, one `Kept` each, the largest first
    total      bytes that only the graph keeps alive
    shared     bytes that the graph reads and that inputs and variables hold anyway
    nodes      the number of operations; `freed`: how many of them have freed their saved values
    weak       constants that no rule reads: (operation, role, bytes; 0 if it is freed)
    overhead   estimated bytes of the Python objects; not part of the other numbers
    symbols    number of values that the backward pass of an unfinished graph reads (no arrays yet)
    """

    def __init__(self, title: str, by: str) -> None:
        self.title, self.grouping = title, by
        self.arrays: list[Kept] = []
        self.weak: list[tuple[str, str, int]] = []
        self.nodes = self.freed = self.overhead = self.symbols = 0

    @property
    def total(self) -> int:
        """Bytes that live as long as the graph, without those of inputs and variables."""
        return sum(k.bytes for k in self.arrays if not _is_yours(k))

    @property
    def shared(self) -> int:
        """Bytes of inputs and variables that the graph reads; their owners hold them anyway."""
        return sum(k.bytes for k in self.arrays if _is_yours(k))

    @property
    def rows(self) -> list[Row]:
        """The table's rows in the chosen grouping, the largest first."""
        return self._rows(self.grouping)

    def largest(self, n: int = 10) -> list[Kept]:
        """Returns the n largest blocks of memory that only the graph keeps."""
        return [k for k in self.arrays if not _is_yours(k)][:n]

    def by(self, grouping: str) -> Table:
        """Returns the table grouped by "operation", "line" or "none" (one row per array)."""
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
            return (f"{self.title}: keeps no array, for {counted(self.nodes, 'operation')} of a "
                    "graph that has not run")
        return (
            f"{self.title}: keeps {bytes_text(self.total)} in {counted(len(mine), 'array')}, "
            f"by {counted(self.nodes, 'operation')}"
        )

    def _notes(self, grouping: str) -> Iterator[str]:
        yours = [k for k in self.arrays if _is_yours(k)]
        if yours:
            yield (f"also read, but held by you anyway: {bytes_text(self.shared)} in "
                   f"{counted(len(yours), 'array')} ({first_of(k.owner for k in yours)})")
        results = sum(k.bytes for k in self.arrays if k.owner == "the result")
        if results:
            yield f"of the kept memory, {bytes_text(results)} are the result itself"
        if self.weak:
            alive = sum(size for _, _, size in self.weak)
            yield (f"held weakly, because no rule reads them: {counted(len(self.weak), 'constant')}"
                   f" ({bytes_text(alive)} alive)")
        if self.freed:
            yield (f"freed by an earlier backward pass: {self.freed:,} of "
                   f"{counted(self.nodes, 'operation')}")
        if self.symbols:
            yield (f"values of a graph: {counted(self.symbols, 'value')}, without bytes until it "
                   "runs: call residuals on the result of a run")
        if self.nodes:
            yield f"not counted: the nodes themselves, about {bytes_text(self.overhead)}"
        if grouping == "line" and any(not k.line for k in self.arrays):
            yield "for lines, record inside `with pullback.debug():`"

    def __str__(self) -> str:
        return str(self.by(self.grouping))

    __repr__ = __str__

    def __rich__(self) -> Any:
        """Returns a `rich` table."""
        return self.by(self.grouping).__rich__()

    def html(self) -> str:
        """Returns both tables as a self-contained HTML page."""
        return page(self.title, [self.by("operation"), self.by("line")])

    def _repr_html_(self) -> str:
        return self.by(self.grouping).html()


def _is_yours(kept: Kept) -> bool:
    return kept.owner not in ("", "the result")


def check_grouping(by: Any, subject: str) -> None:
    """Raises an `ArgumentError` for an unknown grouping."""
    if by not in ("operation", "line", "none"):
        raise ArgumentError(
            f"argument `by` of {subject}", '"operation", "line" or "none"', repr(by)
        )


def residuals(y: Any, by: str = "operation") -> Residuals:
    """Returns a `Residuals`: the bytes that the graph of a tensor keeps alive, where and why.

    y    a tensor, or a pytree of tensors
    by   the rows of the table: "operation", "line", or "none" for one row per array

    Memory that several operations hold, or hold views of, is counted once; a view counts as the
    whole array that it views. Inputs, parameters and variables are counted in `shared` and not in
    `total`, because their owners hold them anyway. The report itself keeps no array alive. A tensor
    of a graph has no arrays before the graph runs: `total` is 0, and `symbols` counts its values.

    Raises `ArgumentTypeError` if there is no tensor, `ArgumentError` for another `by`.

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
    """One walk over the nodes of some tensors, also through closures."""

    def __init__(self, found: Residuals) -> None:
        self.found = found
        self.memory: dict[int, list[tuple[Node, Holding]]] = {}
        self.sizes: dict[int, tuple[Any, int]] = {}  # keeps the owners alive, so ids stay unique
        self.owners: dict[int, str] = {}

    def read(self, tensors: list[Any]) -> None:
        """Fills in the report."""
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
