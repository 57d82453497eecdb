"""`Trace`: one call of a function on new leaves, to be differentiated; for `grad`, `vjp`, …"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ..arrays import SCALARS, is_array
from ..captures import is_older
from ..core import state as _state
from ..core.cotangent import conjugated, is_complex, wrapped
from ..core.node import Node, number
from ..core.reverse import pull, reached_ends, reads_more
from ..core.tensor import Tensor, is_inexact, raw, wrap
from ..departures import Refusing, begins, followed, warn_of_lost
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DisconnectedError,
    DtypeError,
    PositionError,
    ShapeError,
)
from ..passes.accumulator import fresh, released, tangent_nodes
from ..passes.ends import check_inside, notify_gradient, settled, start
from ..trees import Rebuild, WithoutNone, flatten, leaves, mapped

Argnums = int | Sequence[int]
END: Final = math.inf
inside: _state.Scoped[bool] = _state.Scoped("inside a transformation", False)
"""Whether the function of a transformation is running, also for the second time, in a checkpoint:
gradients that it computes with a tape are recorded, because they may be differentiated."""


class Trace:
    """A function's outputs, and the nodes of its differentiated arguments.

    subject  the transformation, for errors
    places   positions of the differentiated arguments
    allow    kinds of differentiated arguments beside real ones: "complex", "int", both or ""
    level    the level of the arguments' nodes
    """

    @begins
    def __init__(
        self, subject: str, fun: Callable[..., Any], args: Sequence[Any],
        keywords: Mapping[str, Any], places: Sequence[int], *, has_aux: bool = False,
        allow: str = "complex", level: int = _state.TRACED,
    ) -> None:
        self.level = level
        self.subject = f"{subject} of `{getattr(fun, '__name__', 'a function')}`"
        self.leaves: list[Any] = []  # one tensor per number or array; integers have no node
        self.given: list[tuple[int, Rebuild]] = []  # per place: number of leaves, their tree
        seen = list(args)
        for place in places:
            flat, rebuild = flatten(args[place])
            own = [self._leaf(x, place, allow) for x in flat]
            self.leaves += own
            self.given.append((len(own), rebuild))
            seen[place] = rebuild(own)
        self.start = number()
        before = _state.state()
        self.departures: list[Any] = []
        refusing = Refusing(self.subject, set(self.nodes) - {None}, self.start)
        within = before.changed(enabled=True, inference=False, scoped={
            **before.scoped, followed: (*followed.get(), refusing, self.departures), inside: True,
        })
        try:
            _state.set_state(within)
            out = fun(*seen, **keywords)
        finally:
            _state.restore(before)
        self.aux = None
        if has_aux:
            if not isinstance(out, tuple) or len(out) != 2:
                raise ArgumentTypeError(
                    self.subject, "a function that returns (value, aux), for has_aux=True",
                    f"one that returns a {type(out).__name__}",
                )
            out, self.aux = out[0], mapped(self._released, out[1])
        self.tree = WithoutNone(out)
        self.rebuild = self.tree.rebuild
        self.outs = [as_output(v, self.subject) for v in self.tree.leaves]

    def _leaf(self, x: Any, place: int, allow: str) -> Any:
        subject = f"argument {place} of {self.subject}"
        if x is None:
            return None
        if not (isinstance(x, (Tensor, *SCALARS)) or is_array(x)):
            raise ArgumentTypeError(
                subject, "numbers, arrays and Tensors, in any nesting", f"a {type(x).__name__}",
                "differentiate other arguments (argnums), or close over this one",
            )
        x = x if isinstance(x, Tensor) else Tensor(x)
        if not is_inexact(x._data):
            if "int" not in allow:
                raise DtypeError(
                    subject, "a real or complex floating dtype", f"dtype {x.dtype}",
                    "pass floats: 3.0 and not 3, or pullback.astype(x, pullback.float64)",
                )
            return wrap(x._out, x._data)
        if is_complex(x) and "complex" not in allow:
            raise DtypeError(
                subject, "a real dtype", f"dtype {x.dtype}",
                "pass holomorphic=True if the function has a complex derivative",
            )
        return fresh(x, self.level)

    @property
    def nodes(self) -> list[Node | None]:
        """The node of each leaf; None for leaves without derivative."""
        return [x._node if isinstance(x, Tensor) else None for x in self.leaves]

    def is_outer(self) -> bool:
        """Whether an outer tape or transformation can differentiate the outputs now."""
        return self.leads_out(o._node for o in self.outs)

    def leads_out(self, nodes: Iterable[Node | None]) -> bool:
        """Whether nodes of this call have a recorded history from before the call."""
        level = _state.state().level
        own = set(self.nodes)
        ends = reached_ends({n: None for n in nodes if n is not None}, [(self.start, END)])
        return any(
            e.level <= level and is_older(e, self.start) and (e.parents or e not in own)
            for e in ends
        )

    def tangents_lead_out(self) -> bool:
        """Whether an outer tape or transformation can differentiate tangents computed now."""
        nodes = tangent_nodes() if _state.state().accumulators else []
        return bool(nodes) and self.leads_out(nodes)

    def _reads_more(self, level: int) -> bool:
        """Whether a rule may read a value that an outer transformation or tape differentiates."""
        if not inside.get() and level < _state.ALL:
            return False
        roots = {o._node: None for o in self.outs if o._node is not None}
        return reads_more(roots, [(self.start, END)])

    def released(self, outer: bool | None = None) -> list[Any]:
        """The outputs, without history that ends at this call's leaves only."""
        outer = self.is_outer() if outer is None else outer
        return [o if outer else released(o) for o in self.outs]

    def pull(
        self, cotangents: Sequence[Any], *, plain: bool = False, unconnected: str = "zero",
        outer: bool | None = None,
    ) -> list[Any]:
        """The cotangent of each leaf, as Tensors.

        cotangents  one per output (None for zero), already checked
        plain       True for the transpose instead of the adjoint: no conjugation
        outer       the value of `is_outer`, if known
        """
        check_inside(self.outs, self.subject)
        roots: dict[Node, Any] = {}
        now = _state.state()
        level = now.level
        outer = (self.is_outer() if outer is None else outer) or any(
            isinstance(g, Tensor) and g._node is not None and g._node.level <= level
            for g in cotangents
        ) or self._reads_more(level) or self.tangents_lead_out()
        record = outer or bool(now.accumulators)
        for out, g in zip(self.outs, cotangents, strict=True):
            node = out._node
            if node is None or g is None:
                continue
            g = start(out, g, self.subject)
            g = wrapped(out._out, g) if record else raw(g)
            if not plain:
                g = conjugated(g)
            roots[node] = g if node not in roots else roots[node] + g
        wanted = [n for n in self.nodes if n is not None]
        found = self._found(roots, wanted, record, outer) if roots else {}
        lost = [x for x in self.leaves if x is not None and found.get(x._node) is None]
        if lost:
            self._unconnected(unconnected, [n for n in wanted if n not in found])
        answers = [None if x is None else _answer(x, found, plain) for x in self.leaves]
        if now.observers:
            pairs = [(x, a) for x, a in zip(self.leaves, answers, strict=True)
                     if x is not None and x._node is not None]
            notify_gradient(self.subject, self.outs, [x for x, _ in pairs], [a for _, a in pairs])
        return answers

    def _found(
        self, roots: dict[Node, Any], wanted: list[Node], record: bool, outer: bool
    ) -> dict[Node, Any]:
        spans = [(self.start, END)]
        # If only tangents of these values are needed, no history is recorded.
        before = _state.state()
        if not outer:
            before = _state.change(enabled=False) if record else _state.pulling()
        try:
            return pull(roots, wanted, record=record, spans=spans, cls=self.outs[0]._out)
        finally:
            _state.restore(before)

    def _released(self, value: Any) -> Any:
        """An auxiliary value, without the history of the call."""
        if not isinstance(value, Tensor) or value._node is None or self.leads_out([value._node]):
            return value
        return released(value)

    def _unconnected(self, unconnected: str, missing: list[Node]) -> None:
        if unconnected == "error" and missing:
            which = [i for i, n in enumerate(self.nodes) if n in missing]
            raise DisconnectedError(
                self.subject, "an output that depends on every differentiated argument",
                f"one that does not depend on leaf {', '.join(map(str, which))} of them",
                'pass unconnected="zero" if zeros are right',
            )
        warn_of_lost(self.departures, missing, self.start, self.subject)

    def cotangents(self, tree: Any) -> list[Any]:
        """Flattens a cotangent with the value's structure into one cotangent per output.

        Raises `ArgumentError` for another structure.
        """
        found = self.tree.like(tree)
        if found is None:
            raise ArgumentError(
                f"cotangent of {self.subject}",
                f"a structure like the value's, with {len(self.outs)} leaves",
                f"one with {len(leaves(tree))}",
            )
        return found

    def trees(self, answers: Sequence[Any]) -> list[Any]:
        """Rebuilds one tree per differentiated argument from one result per leaf."""
        rest, trees = list(answers), []
        for count, rebuild in self.given:
            trees.append(rebuild(rest[:count]))
            rest = rest[count:]
        return trees


def _answer(x: Any, found: dict[Node, Any], plain: bool) -> Any:
    if found.get(x._node) is None:
        return wrap(x._out, _zeros(x._data))
    return wrapped(x._out, settled(found, x._node, plain=plain))


def _zeros(data: Any) -> Any:
    from ..core.op import OPS

    return OPS["zeros_like"](data)


def as_output(value: Any, subject: str) -> Any:
    """An output as a Tensor.

    Raises `ArgumentTypeError` unless it is a number, an array or a Tensor.
    """
    if isinstance(value, Tensor):
        return value if not value._assignable else wrap(value._out, value._data, value._node)
    if isinstance(value, SCALARS) or is_array(value):
        return Tensor(value)
    raise ArgumentTypeError(
        f"result of {subject}", "numbers, arrays and Tensors, in any nesting",
        f"a {type(value).__name__}",
    )


def places(argnums: Argnums, count: int, subject: str) -> tuple[list[int], bool]:
    """The non-negative positions in `argnums`, and whether `argnums` was a sequence.

    Raises `PositionError` for an argument that does not exist, `ArgumentError` for a duplicate.
    """
    single = not isinstance(argnums, (tuple, list))
    wanted: list[Any] = list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
    for i in wanted:
        if not hasattr(i, "__index__"):
            raise ArgumentTypeError(
                f"argument `argnums` of {subject}",
                "an integer or a sequence of them",
                repr(argnums),
            )
        if not -count <= int(i) < count:
            raise PositionError(
                f"argument `argnums` of {subject}",
                f"a position among {count} positional arguments",
                str(i),
                "pass the differentiated arguments by position",
            )
    found = [int(i) % count for i in wanted]
    if len(set(found)) < len(found):
        raise ArgumentError(
            f"argument `argnums` of {subject}", "each position once", repr(argnums)
        )
    return found, not single


def scalar(trace: Trace, *, holomorphic: bool) -> Any:
    """The only output of a trace.

    Raises `ShapeError` unless it is one number; `DtypeError` unless it is real (or complex, if
    `holomorphic`).
    """
    if len(trace.outs) != 1:
        raise ArgumentTypeError(
            trace.subject, "a function that returns one number", f"{len(trace.outs)} values",
            "return (value, other results) with has_aux=True, or use jacrev",
        )
    out = trace.outs[0]
    if out.shape != ():
        raise ShapeError(
            trace.subject, "a function that returns one number, of shape ()", f"shape {out.shape}",
            "sum it, or use jacrev or vjp",
        )
    check_kind(trace, out, holomorphic=holomorphic)
    return out


def check_kind(trace: Trace, out: Any, *, holomorphic: bool) -> None:
    """Raises `DtypeError` unless an output is real, or complex if `holomorphic`."""
    if holomorphic != is_complex(out) or not is_inexact(out._data):
        raise DtypeError(
            f"result of {trace.subject}",
            "a complex dtype, for holomorphic=True" if holomorphic else "a real floating dtype",
            f"dtype {out.dtype}",
            "" if holomorphic else "take its real part or its abs; for a function with a complex "
            "derivative pass holomorphic=True",
        )


def check_callable(fun: Any, subject: str) -> None:
    """Raises `ArgumentTypeError` unless `fun` is callable."""
    if not callable(fun):
        raise ArgumentTypeError(subject, "a function", f"a {type(fun).__name__}")


def check_unconnected(unconnected: str, subject: str) -> None:
    """Raises `ArgumentError` unless it is "zero" or "error"."""
    if unconnected not in ("zero", "error"):
        raise ArgumentError(
            f"argument `unconnected` of {subject}", "'zero' or 'error'", repr(unconnected)
        )
