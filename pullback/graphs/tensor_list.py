"""`Rows`: an array for each turn of a loop, as one value of a graph; made of a tensor, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arrays import adapters, compiler_of
from ..arrays.batched import Batched
from ..core.cotangent import accumulate
from ..core.custom_op import CustomOp, custom_node
from ..core.node import Node
from ..core.op import OPS
from ..core.tensor import raw
from ..errors import NotDifferentiableError, ShapeError
from ..kinds import symbols as _symbols
from .deferred_rules import shape_of
from .operation import Kind
from .region_io import followed_by, plain, seen


class Rows:
    """Arrays in the order of a loop's turns.

    sample  where there are none: an array that looks as each of them would, if that is known
    active  where a turn concerns some examples of a `vmap` only: for each turn, which ones
    """

    __slots__ = ("__weakref__", "active", "items", "sample")

    def __init__(self, items: Sequence[Any], sample: Any = None, active: Any = None) -> None:
        self.items, self.sample, self.active = items, sample, active

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"


class _Adapter:
    """The operations of a graph on rows: addition, as of cotangents, and conversion to an array."""

    name = "rows"
    hosts = 0

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """Their sum."""
        return _sum if name == "add" else None

    def rank(self, cls: type) -> int:
        """One kind."""
        return 0

    def plain(self, rows: Rows) -> tuple[Any, ...]:
        """As people see them."""
        return tuple(rows.items)

    adopt = plain


class Stacked:
    """Rows as one array, of a loop that is compiled.

    whole   the array; the turns are its first axis that is not hidden
    active  which turns were taken, for each example, where a loop ends by a condition; or None
    same    where `whole` is the entry of all turns: their number; else 0
    """

    __slots__ = ("__weakref__", "active", "same", "whole")

    def __init__(self, whole: Any, active: Any = None, same: int = 0) -> None:
        self.whole, self.active, self.same = whole, active, same

    def __repr__(self) -> str:
        return f"<rows {self.whole!r}>"


class Lost:
    """Rows of a compiled loop that has an unknown number of turns: none can be kept."""

    __slots__ = ("__weakref__", "compiler", "name")

    def __init__(self, name: str, compiler: str) -> None:
        self.name, self.compiler = name, compiler

    def error(self) -> NotDifferentiableError:
        """The error of a derivative that needs them."""
        return NotDifferentiableError(
            f"reverse mode through `{self.name}` compiled by {self.compiler}",
            "a number of turns, or a bound on it, that is known when it is compiled, because each "
            "turn keeps what it began with",
            "a loop that ends by a condition",
            "pass max_steps=, use scan, or use fori_loop with Python integers as bounds; "
            "or use forward mode (jvp, jacfwd)",
        )


def _sum(some: Any, others: Any) -> Any:
    add = OPS["add"]
    for rows in (some, others):
        if rows.__class__ is Lost:
            raise rows.error()
    if some.__class__ is Stacked:
        return Stacked(add(some.whole, others.whole), some.active)
    return Rows(
        [add(a, b) for a, b in zip(some.items, others.items, strict=True)], some.sample,
        some.active,
    )


adapters[Rows] = adapters[Stacked] = adapters[Lost] = _Adapter()


class _Linear(Kind, CustomOp):
    """An operation between rows and a tensor, whose transpose is the other."""

    stateful = False

    def __call__(self, x: Any, shape: Any, given: Any, cls: type) -> Any:
        """Append it to the graph that is being built.

        shape  that of the tensor, for the case that there are no rows
        given  the shape of the result, in the graph
        """
        data = raw(x)
        graph = _symbols.current_graph() or data.operation.graph
        made = graph.append(
            self, [graph.own(data), graph.own(shape)], {"space": (data.kind, data.dtype)},
            [(given, data.dtype)], data.kind,
        )
        node = custom_node(self, (getattr(x, "_node", None),), (data, shape), cls)
        return followed_by(node, made, cls)[0]

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a pull: the other operation."""
        parent = node.parents[0]
        other = UNSTACK if self is STACK else STACK
        r = other(seen(g[0], cls), node.saved[1], parent.shape, cls)
        accumulate(cotangents, parent, r if record else raw(r))

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangent: the operation itself."""
        t = self(seen(tangents[0], cls), node.saved[1], node.spaces[0][0], cls)
        return [t if record else raw(t)]


def _unstack(x: Any, shape: Any, space: Any) -> Rows | Stacked:
    if not x.shape:
        raise ShapeError("a tensor to be mapped", "one axis or more", "shape ()")
    if compiler_of(x) is not None:
        return Stacked(x)
    if not x.shape[0]:
        kind, dtype = space
        return Rows([], adapters[kind].zeros(tuple(x.shape[1:]), dtype))
    read = OPS["getitem"] if x.__class__ is Batched else x.__class__.__getitem__
    return Rows([read(x, i) for i in range(x.shape[0])])


def _stack(rows: Any, shape: Any, space: Any) -> Any:
    if rows.__class__ is Lost:
        raise rows.error()
    if rows.__class__ is Stacked:
        return rows.whole
    if rows.items:
        return OPS["stack"](list(rows.items), axis=0)
    kind, dtype = space
    row = shape[1:] if rows.sample is None else rows.sample.shape
    return adapters[kind].zeros((0, *[n or 0 for n in row]), dtype)


UNSTACK, STACK = _Linear("unstack", _unstack), _Linear("stack", _stack)


def unstacked(x: Any, cls: type) -> Any:
    """A tensor's entries along its first axis, as rows."""
    return UNSTACK(x, shape_of(raw(x).shape), None, cls)


def stacked(rows: Any, count: int | None, row: Any, cls: type) -> Any:
    """Rows of a shape as a tensor; `count` is their number, if that is known."""
    lengths = plain(row)
    if lengths is None:
        return STACK(rows, (0,), None, cls)
    return STACK(rows, (0, *lengths), (count, *lengths), cls)
