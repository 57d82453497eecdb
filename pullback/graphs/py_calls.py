"""A Python function of tensors as an operation of a graph, which keeps what it recorded.

Its last output is that record: the tensors it received, and those that it returned. The pullback
is an operation that pulls through it when it runs, and makes such a record too; so derivatives of
every order are had without calling the function again. An unused record is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core import state as _state
from ..core.cotangent import accumulate
from ..core.custom_op import CustomOp, custom_node
from ..core.forward import push
from ..core.node import Node
from ..core.op import OPS
from ..core.reverse import pull
from ..core.tensor import Tensor, is_inexact, raw, to_array, wrap
from ..errors import ArgumentError
from ..kinds import symbols as _symbols
from ..passes.accumulator import fresh
from .operation import Kind, Operation
from .region_io import HANDLE, followed_by, seen


class Call(NamedTuple):
    """A Python function as an operation calls it.

    dtypes  of what it returns
    cls     the class of the tensors that it receives
    """

    function: Callable[..., Any]
    dtypes: tuple[Any, ...]
    subject: str
    cls: type = Tensor

    def __call__(self, *args: Any) -> list[Any]:
        """What the function returns, a value for each dtype.

        Raises `ArgumentError` for another number of them.
        """
        answer = self.function(*args)
        count = len(self.dtypes)
        values = list(answer) if isinstance(answer, (list, tuple)) and count != 1 else [answer]
        if isinstance(answer, (list, tuple)) and count == 1 and len(answer) == 1:
            values = list(answer)
        if not count:
            return []
        if len(values) != count:
            name = getattr(self.function, "__name__", "function")
            raise ArgumentError(f"what `{name}` of {self.subject} returns",
                                f"{count} values, as its Tout says", f"{len(values)}")
        return values

    def tensors(self, *args: Any) -> list[Any]:
        """What the function returns, as tensors of the dtypes."""
        made = []
        for value, dtype in zip(self(*args), self.dtypes, strict=True):
            tensor = value if isinstance(value, Tensor) else wrap(self.cls, to_array(value))
            if not hasattr(raw(tensor), "dtype"):
                tensor = self.cls(raw(tensor))
            made.append(tensor if tensor.dtype == dtype else OPS["astype"](tensor, dtype))
        return made


class PyKind(Kind, CustomOp):
    """An operation whose last output is a record: (its arguments, its results).

    run  takes the record of the operation that it is a derivative of, or a `Call`, and arrays;
         returns tensors in and out; with `keep`, with the history of the latter
    """

    def __init__(self, name: str, run: Callable[..., Any], stateful: bool) -> None:
        super().__init__(name)
        self.run, self.stateful, self.unsteady = run, stateful, True

    def serving(self, used: Sequence[bool]) -> Callable[..., Any]:
        """The kernel where only some outputs are used."""
        return self.kernel if used[-1] else self._lean

    def kernel(self, *values: Any, **attrs: Any) -> Any:
        """The arrays that come out, and the record."""
        taken, outs = self.run(True, *values, **attrs)
        return (*map(raw, outs), (taken, outs))

    def _lean(self, *values: Any, **attrs: Any) -> Any:
        outs = self.run(False, *values, **attrs)[1]
        return (*map(raw, outs), None)

    def append(
        self, graph: Any, args: Sequence[Any], attrs: dict[str, Any], spaces: Sequence[Any],
        parents: Sequence[Node | None], cls: type, name: str | None = None,
    ) -> tuple[Operation, list[Any]]:
        """Append it: the operation, and its outputs as tensors.

        parents  the nodes of the tensors in its record
        """
        kind = next((raw(a).kind for a in args if hasattr(raw(a), "kind")), None)
        given = [graph.own(raw(a)) for a in args]
        symbols = graph.append(
            self, given, attrs, [*spaces, HANDLE], kind or type(to_array(0.0)), name=name
        )
        node = custom_node(self, tuple(parents), symbols[-1], cls)
        inputs = [a for a in args if isinstance(a, Tensor)]
        return graph.operations[-1], followed_by(node, symbols[:-1], cls, inputs)

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a pull: an operation that pulls through the record when it runs."""
        outs = tuple(i for i, v in enumerate(g) if v is not None)
        wanted = tuple(
            i for i, p in enumerate(node.parents) if p is not None and (
                needed is None or p in needed
            )
        )
        parents = [node.parents[i] for i in wanted]
        found = self._derived(
            PULLBACK, node, [g[i] for i in outs], outs, wanted,
            [(p.shape, p.dtype) for p in parents], cls,
        )
        for parent, r in zip(parents, found, strict=True):
            accumulate(cotangents, parent, r if record else raw(r))

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> list[Any]:
        """The tangents of the outputs: an operation that pushes them through the record."""
        places = tuple(i for i, t in enumerate(tangents) if t is not None)
        outs = tuple(i for i, (_, dtype) in enumerate(node.spaces) if is_inexact(_Of(dtype)))
        found: list[Any] = [None] * len(node.spaces)
        made = self._derived(
            PUSHFORWARD, node, [tangents[i] for i in places], places, outs,
            [node.spaces[i] for i in outs], cls,
        )
        for i, t in zip(outs, made, strict=True):
            found[i] = t if record else raw(t)
        return found

    def _derived(
        self, kind: PyKind, node: Any, given: Sequence[Any], places: Any, wanted: Any,
        spaces: Sequence[Any], cls: type,
    ) -> list[Any]:
        tensors = [seen(v, cls) for v in given]
        graph = _symbols.current_graph() or node.saved.operation.graph
        return kind.append(
            graph, [node.saved, *tensors], {"places": places, "wanted": wanted}, spaces,
            [*[t._node for t in tensors], *node.parents], cls, f"{self.name}_{kind.name}",
        )[1]


class _Of(NamedTuple):
    dtype: Any


def _tracked(values: Sequence[Any], cls: type) -> list[Any]:
    """Arrays as tensors at which derivatives begin; integers have none."""
    made = [wrap(cls, v) for v in values]
    return [fresh(t, _state.REQUIRED) if is_inexact(raw(t)) else t for t in made]


def _called(keep: bool, *arrays: Any, call: Call) -> tuple[list[Any], list[Any]]:
    before = _state.recording(fresh=True)
    try:
        args = _tracked(arrays, call.cls) if keep else [wrap(call.cls, a) for a in arrays]
        return args, call.tensors(*args)
    finally:
        _state.restore(before)


def _pulled(
    keep: bool, record: Any, *gs: Any, places: Sequence[int], wanted: Sequence[int]
) -> tuple[list[Any], list[Any]]:
    taken, outs = record
    cls = Tensor
    given = _tracked(gs, cls) if keep else list(gs)
    roots: dict[Node, Any] = {}
    before = _state.recording(fresh=True) if keep else _state.pulling()
    try:
        for place, g in zip(places, given, strict=True):
            if outs[place]._node is not None:
                accumulate(roots, outs[place]._node, g)
        nodes = [taken[i]._node for i in wanted]
        found = pull(roots, nodes, record=keep, cls=cls) if roots else {}
        answers = [_or_zeros(found.get(n), taken[i], cls)
                   for n, i in zip(nodes, wanted, strict=True)]
    finally:
        _state.restore(before)
    return [*given, *taken], answers


def _pushed(
    keep: bool, record: Any, *ts: Any, places: Sequence[int], wanted: Sequence[int]
) -> tuple[list[Any], list[Any]]:
    taken, outs = record
    cls = Tensor
    given = _tracked(ts, cls) if keep else list(ts)
    before = _state.recording(fresh=True) if keep else _state.pulling()
    try:
        tangents = {taken[i]._node: t for i, t in zip(places, given, strict=True)}
        targets = [outs[i]._node for i in wanted]
        found = push(tangents, [n for n in targets if n is not None], record=keep, cls=cls)
        answers = [_or_zeros(found.get(n), outs[i], cls)
                   for n, i in zip(targets, wanted, strict=True)]
    finally:
        _state.restore(before)
    return [*given, *taken], answers


def _or_zeros(value: Any, like: Any, cls: type) -> Any:
    if value is None:
        value = OPS["zeros_like"](raw(like))
    return seen(value, cls)


PY_FUNCTION = PyKind("py_function", _called, stateful=True)
PULLBACK = PyKind("pullback", _pulled, stateful=False)
PUSHFORWARD = PyKind("pushforward", _pushed, stateful=False)
