"""`gradients`: the backward graph, built by the same pull that everything here is pulled by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..arrays.symbol import Symbol
from ..core import state as _state
from ..core.cotangent import accumulate, conjugated
from ..core.node import Node
from ..core.op import OPS
from ..core.reverse import pull
from ..core.tensor import Tensor, is_inexact, wrap
from ..custom.override import Overrides
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from ..passes.ends import notify_gradient
from .sources import building


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, stop_gradients: Any = None,
    unconnected_gradients: str = "none", overrides: Mapping[Any, Any] | None = None,
    name: str = "gradients",
) -> list[Any]:
    """The derivatives of the sum of ys in each of xs, as tensors of the graph.

    ys, xs           a tensor, or a sequence of them; xs may be variables, or computed
    grad_ys          a cotangent for each of ys; None for ones
    stop_gradients   tensors that are taken as constants
    unconnected_gradients  what is answered where ys do not depend on x: "none" or "zero"
    overrides        {operation: registered name or rule}, in force for these gradients only

    Returns a list, with None where there is none. Raises `ArgumentTypeError` for what is no tensor
    of a graph, `ShapeError` for a cotangent that does not fit.

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, Session, gradients, placeholder
    >>> with Graph().as_default() as graph:
    ...     x = placeholder(pb.float64, [None])
    ...     dx, = gradients(pb.sum(x * x), x)
    >>> Session(graph).run(dx, {x: [1.0, 2.0]})
    array([2., 4.])
    """
    targets, sources = _tensors(ys, "ys"), _tensors(xs, "xs")
    zero = _unconnected(unconnected_gradients)
    given = _given(grad_ys, targets)
    own = [t._data for t in targets if t._data.__class__ is Symbol]
    graph = own[0].operation.graph if own else building("gradients")
    _check_inside(sources, graph, known=bool(own))
    ends = {t._node for t in _tensors(stop_gradients, "stop_gradients")}
    wanted = [x._node for x in sources]
    made = None if overrides is None else Overrides(overrides)
    cls = targets[0]._out if targets else Tensor
    with graph.as_default(), graph.name_scope(name) as scope:
        graph.derived.add(scope)
        before = _state.recording(fresh=False)
        try:
            cotangents: dict[Node, Any] = {}
            for y, g in zip(targets, given, strict=True):
                if y._node is not None:
                    start = OPS["ones_like"](y) if g is None else conjugated(g)
                    accumulate(cotangents, y._node, start)
            found = pull(
                cotangents, [n for n in wanted if n is not None], record=True, cls=cls,
                overrides=_Ends(ends, made) if ends else made,
            )
            answers = [_answer(x, found.get(x._node), zero) for x in sources]
        finally:
            _state.restore(before)
    notify_gradient("gradients", targets, sources, answers)
    return answers


def _check_inside(sources: Sequence[Any], graph: Any, *, known: bool) -> None:
    """Raise an `ArgumentError` for a source whose value is in the graph as a constant."""
    for index, x in enumerate(sources):
        if x._data.__class__ is not Symbol and (graph.is_constant(x._data) or not known):
            raise ArgumentError(
                f"source {index} of gradients", "a tensor of the graph, or a variable",
                "a tensor from outside, which the graph has as a constant",
                "make it an argument of the function that is traced, or a variable",
            )


def _answer(x: Any, g: Any, zero: bool) -> Any:
    if g is None:
        return OPS["zeros_like"](x) if zero and is_inexact(x._data) else None
    if not isinstance(g, Tensor):
        g = wrap(x._out, g)
    return conjugated(g)


def _unconnected(value: Any) -> bool:
    value = getattr(value, "value", value)
    if value not in ("none", "zero"):
        raise ArgumentError("gradients", 'unconnected_gradients "none" or "zero"', repr(value))
    return bool(value == "zero")


def _tensors(value: Any, subject: str) -> list[Any]:
    if value is None:
        return []
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    for v in values:
        if not isinstance(v, Tensor):
            raise ArgumentTypeError(
                f"argument `{subject}` of gradients", "tensors of a graph", f"a {type(v).__name__}"
            )
    return values


def _given(grad_ys: Any, targets: Sequence[Any]) -> list[Any]:
    if grad_ys is None:
        given: list[Any] = [None] * len(targets)
    else:
        given = list(grad_ys) if isinstance(grad_ys, (list, tuple)) else [grad_ys]
    if len(given) != len(targets):
        raise ArgumentError("argument `grad_ys` of gradients", f"{len(targets)}, as many as ys",
                            f"{len(given)}")
    for y, g in zip(targets, given, strict=True):
        if g is None and not is_inexact(y._data):
            raise DtypeError("argument `ys` of gradients", "floating tensors",
                             f"dtype {y._data.dtype}", "cast it before differentiating")
        if g is None:
            continue
        if not isinstance(g, Tensor):
            raise ArgumentTypeError("argument `grad_ys` of gradients", "tensors, or None",
                                    f"a {type(g).__name__}", "make it one with constant(…)")
        shapes = [getattr(v._data, "shape", ()) for v in (y, g)]
        try:
            known = [tuple(s) for s in shapes]
        except TypeError:
            continue
        if len(known[0]) != len(known[1]) or any(
            n is not None and m is not None and n != m for n, m in zip(*known, strict=True)
        ):
            raise ShapeError("argument `grad_ys` of gradients", f"shape {known[0]}, as of ys",
                             f"shape {known[1]}")
    return given


class _Ends:
    """Nodes at which a pull ends, in the form of overrides; others as other overrides say."""

    name = "stop_gradients"
    base = None

    def __init__(self, nodes: set[Any], inner: Any) -> None:
        self.nodes, self.inner = nodes, inner

    def prepare(self, nodes: Iterable[Node]) -> None:
        """Let the other overrides see the graph."""
        if self.inner is not None:
            self.inner.prepare(nodes)

    def __call__(self, node: Node, cls: type) -> Any:
        """What is pulled through in place of a node's own operation."""
        if node in self.nodes:
            return self
        return None if self.inner is None else self.inner(node, cls)

    def step(self, *args: Any) -> None:
        """No cotangents."""
