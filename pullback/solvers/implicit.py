"""The implicit function theorem as one recorded operation, for every solver.

A solution x of F(x, θ) = 0 depends on θ as dx = -(∂F/∂x)⁻¹ ∂F/∂θ dθ, whatever method found it. θ is
every tracked tensor that F uses, arguments and closed-over ones alike; running F once, recorded, at
the solution finds them. A VJP or JVP runs F there again, so only x is saved. That run is linked to
the tensors being differentiated, so the derivative has derivatives of any order.

Source: Blondel et al., Efficient and Modular Implicit Differentiation (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arrays.batched import identity_matrix
from ..captures import Results, Rewritten, is_older
from ..core import state as _state
from ..core import versions
from ..core.cotangent import accumulate, wrapped
from ..core.custom_op import CustomOp, custom_node
from ..core.forward import push
from ..core.node import FREED, Leaf, Node, where
from ..core.record import attach, freed
from ..core.reverse import pull, reached_ends
from ..core.tensor import Tensor, raw, wrap
from ..departures import warn_of_lost
from ..errors import CaptureError, InplaceError
from ..ops.linalg import solve
from ..transforms.mapping import vmap
from ..transforms.trace import END, Trace
from .vectors import mapped_over, tags_of

Function = Callable[..., Any]


class Here(Trace):
    """A function recorded at one point, to be differentiated there in all that it depends on.

    of   the node of an earlier call of the function; raises if it is not as it was then
    """

    def __init__(
        self, subject: str, function: Function, xs: Sequence[Any], of: Node | None = None
    ) -> None:
        # The point gets a level of its own, which no outer trace records.
        before = _state.change(watching=_state.EVERYTHING)
        rewritten = None
        if of is not None and versions.latest[0] > of.seq:
            rewritten = Rewritten(of.seq)
            _state.change(observers=(*_state.state().observers, rewritten))
        try:
            super().__init__(subject, function, xs, {}, range(len(xs)), level=_state.TANGENT)
        finally:
            _state.restore(before)
        if rewritten is not None and of is not None:
            rewritten.check(of, rewritten.read)

    @property
    def outside(self) -> list[Node]:
        """The nodes older than the call that the results depend on, except the point's."""
        own = set(self.nodes)
        roots = {o._node: None for o in self.outs if o._node is not None}
        ends = reached_ends(roots, [(self.start, END)])
        return [e for e in ends if e not in own and is_older(e, self.start)]

    def follows(self, values: Sequence[Any]) -> bool:
        """Whether an outer trace tracks the results or any of `values`."""
        follows = _state.state().follows
        return self.is_outer() or any(
            isinstance(v, Tensor) and v._node is not None and follows(v._node) for v in values
        )

    def pulled(self, cotangents: Sequence[Any], wanted: Sequence[Any] | None = None) -> list[Any]:
        """VJP: the cotangents of some nodes (None: of the point's parts); None for zero."""
        nodes = self.nodes if wanted is None else list(wanted)
        outer = self.follows(cotangents) or self.tangents_lead_out()
        record = outer or bool(_state.state().accumulators)
        roots: dict[Node, Any] = {}
        for out, g in zip(self.outs, cotangents, strict=True):
            if out._node is not None and g is not None:
                g = wrapped(out._out, g) if record else raw(g)
                roots[out._node] = g if out._node not in roots else roots[out._node] + g
        cls = self.outs[0]._out
        before = _state.change(enabled=outer) if record else _state.pulling()
        try:
            found = pull(
                roots, [n for n in nodes if n is not None], record=record, cls=cls, inner=True,
                spans=[(self.start, END)],
            )
        finally:
            _state.restore(before)
        arrived = [None if n is None else found.get(n) for n in nodes]
        lost = [n for n, g in zip(nodes, arrived, strict=True) if n is not None and g is None]
        if lost:
            warn_of_lost(self.departures, lost, self.start, self.subject)
        return [None if g is None else wrapped(cls, g) for g in arrived]

    def pushed(self, tangents: dict[Node, Any]) -> list[Any]:
        """JVP: the tangents of the results, given those of some nodes; None for zero."""
        outer = self.follows(list(tangents.values())) or self.tangents_lead_out()
        record = outer or bool(_state.state().accumulators)
        known = {n: wrapped(Tensor, t) if record else raw(t) for n, t in tangents.items()}
        targets = [o._node for o in self.outs if o._node is not None]
        before = _state.change(enabled=outer) if record else _state.pulling()
        try:
            found = push(known, targets, record=record, spans=[(self.start, END)])
        finally:
            _state.restore(before)
        return [None if (t := found.get(o._node)) is None else wrapped(o._out, t)
                for o in self.outs]

    # For a function from one vector to another ------------------------------------------------

    def transposed(self, v: Any) -> Any:
        """Jᵀ v."""
        found = self.pulled([v])[0]
        return zeros_like(self.leaves[0]) if found is None else found

    def along(self, v: Any) -> Any:
        """J v."""
        found = self.pushed({self.leaves[0]._node: v})[0]
        return zeros_like(self.outs[0]) if found is None else found

    def matrix(self) -> Any:
        """The Jacobian, by one batched VJP."""
        x = self.leaves[0]
        rows = wrap(x._out, identity_matrix(self.outs[0].shape[0], x._data))
        return vmap(self.transposed)(rows)


def zeros_like(x: Any) -> Any:
    """Zeros like x, without history; batched where x is batched."""
    from ..ops import zeros_like

    return mapped_over(wrap(x._out, raw(zeros_like(x._data))), tags_of(x))


# Nodes --------------------------------------------------------------------------------------


def check_as_before(node: Any, outside: Sequence[Node]) -> None:
    """Raise unless a function that runs again uses the tensors that it used when recorded.

    `GraphFreedError` if the node was freed, `InplaceError` for a tensor that was modified,
    `CaptureError` for a tensor that was not used then.
    """
    if node.saved is FREED:
        raise freed(node)
    known = set(node.parents)
    for p in outside:
        if p not in known:
            raise CaptureError(
                f"derivative of {where(node)}", "the tracked tensors captured in the forward pass",
                "a new captured tensor", "use the same tensors in every call of the function",
            )
        if isinstance(p, Leaf) and max(p.seq, versions.version(p.data)) > node.seq:
            raise InplaceError(
                f"derivative of {where(node)}", "the function's tensors, unmodified since",
                "one that was assigned or written", "compute gradients before updating tensors",
            )


class Implicit(CustomOp):
    """The operation of one solution of residual(x) = 0, for vectors.

    linear     solves linear systems: `linear(matvec, b)`; None uses the dense Jacobian
    product    the Jacobian-vector product, if it is known without differentiating
    symmetric  the Jacobian is symmetric, so `product` is also the vector-Jacobian product
    """

    def __init__(
        self, name: str, residual: Function, linear: Any = None, product: Function | None = None,
        symmetric: bool = False,
    ) -> None:
        self.name, self.residual, self.linear = name, residual, linear
        self.product, self.symmetric = product, symmetric
        self.overrides = _state.state().overrides

    def recorded(self, x: Any) -> Any:
        """A solution without history, linked to a node of this operation."""
        if not _state.state().mode:
            return wrap(x._out, x._data)
        before = _state.change(accumulators=(), closed=None, lines=False)
        try:
            here = Here(self.name, self.residual, [x])
            parents, tags = here.outside, tags_of(here.outs[0])
            self.results = Results(here.outs, [x])
        finally:
            _state.restore(before)
        x = mapped_over(x, tags)
        if not parents:
            return wrap(x._out, x._data)
        node = custom_node(self, tuple(parents), (x._data,), x._out)
        return attach(node, [x], single=True)[0]

    def _here(self, node: Any, record: bool) -> Here:
        check_as_before(node, ())
        x = wrap(node.cls, node.saved[0], node if record else None)
        before = _state.change(overrides=self.overrides)
        if not record:
            _state.change(accumulators=())
        try:
            here = Here(self.name, self.residual, [x], node)
        finally:
            _state.restore(before)
        check_as_before(node, here.outside)
        self.results.check(here.outs, node)
        return here

    def _solved(self, here: Here, b: Any, *, transposed: bool) -> Any:
        if self.linear is None:
            matrix = here.matrix()
            return solve(matrix.mT if transposed else matrix, b)
        from .linear import solved

        if transposed and not self.symmetric:
            return solved(here.transposed, b, self.linear, False, self.name)
        return solved(self.product or here.along, b, self.linear, self.symmetric, self.name)

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a VJP: -(∂F/∂θ)ᵀ (∂F/∂x)⁻ᵀ g."""
        here = self._here(node, record)
        u = self._solved(here, wrapped(node.cls, g), transposed=True)
        wanted = [p for p in node.parents if needed is None or p in needed]
        for parent, r in zip(wanted, here.pulled([-u], wanted), strict=True):
            if r is not None:
                accumulate(cotangents, parent, r if record else raw(r))

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The JVP: -(∂F/∂x)⁻¹ (∂F/∂θ) θ̇."""
        here = self._here(node, record)
        known = {p: t for p, t in zip(node.parents, tangents, strict=True) if t is not None}
        t = here.pushed(known)[0]
        if t is None:
            return None
        t = -self._solved(here, t, transposed=False)
        return t if record else raw(t)
