"""`checkpoint`: saves memory by recomputing the forward pass during the backward pass."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

from ..arrays import apart, is_array
from ..captures import Captured, Results, Rewritten, is_older
from ..core import state as _state
from ..core import versions
from ..core.cotangent import accumulate
from ..core.custom_op import CustomOp, custom_node
from ..core.node import FREED, Leaf, Node, number, where
from ..core.record import attach, freed
from ..core.reverse import pull, reached, reached_ends
from ..core.tensor import Tensor, raw, wrap
from ..departures import Within, WithinTangents, followed
from ..errors import ArgumentError, CaptureError, InplaceError
from ..passes.accumulator import Accumulator, fresh
from ..rng_replay import Draws
from ..trees import flatten, leaves
from .trace import END, as_output, inside


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function with the values and derivatives of `fun` that saves only its arguments.

    The backward pass runs `fun` a second time to recompute the values that derivatives need.
    Gradients also reach tracked tensors that `fun` closes over. The second run draws the same
    random numbers. `fun` may compute gradients itself, and they are differentiated as they would be
    without the checkpoint. Checkpoints nest, work in every mode and order, and as decorators.

    `fun` must do the same in both runs: a captured variable or tensor that was assigned or modified
    in between raises `InplaceError`; a newly captured tensor, and other results than those of the
    first run, raise `CaptureError`.

    Same as `jax.checkpoint`, `torch.utils.checkpoint` and `tf.recompute_grad`. Source: Griewank and
    Walther, Evaluating Derivatives (2008), chapter 12.

    >>> import pullback as pb
    >>> pb.grad(pb.checkpoint(lambda x: pb.sin(pb.exp(x))))(0.0)
    Tensor(0.54030231)
    """

    @functools.wraps(fun)
    def checkpointed(*args: Any, **keywords: Any) -> Any:
        now = _state.state()
        if not now.level:  # nothing records, so nothing would be saved
            return fun(*args, **keywords)
        call = _Call(fun, args, keywords)
        outs, rebuild = call.first()
        return rebuild(call.recorded(outs))

    return checkpointed


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]], x: Any, *, segments: int | None = None
) -> Any:
    """Returns f_n(… f_2(f_1(x))); saves only the values between segments of the chain.

    segments   number of segments; default √n: n steps then take memory for 2 √n steps, and the
               time of one more forward pass

    Raises `ArgumentError` for less than one segment.

    >>> import pullback as pb
    >>> step = lambda x: pb.sin(x) + x
    >>> pb.grad(lambda x: pb.checkpoint_sequential([step] * 9, x))(0.0)
    Tensor(512.)
    """
    count = len(functions)
    if segments is None:
        segments = max(1, math.isqrt(count))
    if segments < 1:
        raise ArgumentError(
            "argument `segments` of checkpoint_sequential", "a number of 1 or more", str(segments)
        )
    length = max(1, math.ceil(count / segments))
    for begin in range(0, count, length):
        x = checkpoint(_in_turn(functions[begin : begin + length]))(x)
    return x


def _in_turn(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def segment(x: Any) -> Any:
        for function in functions:
            x = function(x)
        return x

    return segment


class _Call(CustomOp):
    """One call of a checkpointed function: the operation of its node."""

    def __init__(self, fun: Callable[..., Any], args: Any, keywords: Any) -> None:
        self.fun = fun
        self.name = f"checkpoint({getattr(fun, '__name__', 'function')})"
        self.draws = Draws()
        self.flat, self.rebuild = flatten((args, keywords))
        now = _state.state()
        level = self.level = now.level
        self.lines, self.overrides = now.lines, now.overrides
        self.inside = inside.get() or bool(now.tapes)  # gradients of inner tapes are recorded
        nodes = [x._node if isinstance(x, Tensor) else None for x in self.flat]
        self.tracked = [
            i for i, n in enumerate(nodes)
            if n is not None and (n.level <= level or n.level == _state.TANGENT)
        ]
        self.parents = [nodes[i] for i in self.tracked]
        self.captured: list[Node] = []
        self.told = False  # of values that leave the library
        self.operations: WeakSet[Any] = WeakSet()

    def first(self) -> tuple[list[Any], Any]:
        """The outputs of the first run, and a function that rebuilds their tree.

        It is recorded as the second one is, so that tensors and gradients inside behave alike; the
        graph is freed at its end. Tangents are computed in `push`.
        """
        seen = list(self.flat)
        guard = Captured()
        ends: dict[Node, Node] = {}
        since = number()
        for i, parent in zip(self.tracked, self.parents, strict=True):
            data, leaf = seen[i]._data, None
            if parent is not None and parent.level <= self.level:
                leaf = Leaf(data, _state.REQUIRED)
                ends[leaf] = parent
            seen[i] = wrap(seen[i]._out, data, leaf)
        within = Within(ends, since)
        before = _state.change(
            closed=guard, accumulators=(), packing=None, keep_values=False
        )
        try:
            followed.set((within,))
            with self.draws.record():
                out = self._run(seen)
        finally:
            _state.restore(before)
        self.captured, self.told = list(guard.nodes), within.told
        flat, rebuild = flatten(out)
        outs = [as_output(v, f"checkpoint of `{self.name}`") for v in flat]
        roots = {o._node: None for o in outs if o._node is not None}
        found = {getattr(n.op, "base", n.op) for n in reached(roots, [(guard.start, END)])}
        for op in [op for op in found if hasattr(op, "contents")]:
            found |= op.contents()
        self.operations = WeakSet(found)  # those of single calls hold values of the first run
        return outs, rebuild

    def _run(self, flat: list[Any]) -> Any:
        args, keywords = self.rebuild(flat)
        return self.fun(*args, **keywords)

    def recorded(self, outs: list[Any]) -> list[Any]:
        """The outputs, attached to a node for this call; it saves the arguments' arrays."""
        parents = (*self.parents, *self.captured)
        if not outs or not _state.state().differentiates(parents):
            return [wrap(o._out, o._data) for o in outs]
        self.results = Results(outs)
        saved = tuple(raw(self.flat[i]) for i in self.tracked)
        inputs = [self.flat[i] for i in self.tracked]
        for i in self.tracked:  # the node holds the arrays, and can free them
            self.flat[i] = self.flat[i]._out
        return attach(custom_node(self, parents, saved, outs[0]._out), outs, inputs)

    # Overrides of a finished computation, which are applied to the second run -------------------

    def contents(self) -> set[Any]:
        """The operations inside."""
        return set(self.operations)

    def rerun_with(self, overrides: Any) -> Any:
        """What stands in for this call where gradients inside are overridden; or None."""
        if self.contents().isdisjoint(overrides.rules):
            return None
        return _OverriddenCall(self, overrides)

    # The second run -------------------------------------------------------------------------

    def _arguments(self, node: Any, *, linked: bool) -> tuple[list[Any], list[Any]]:
        """The arguments, with tracked ones as new leaves; and the list of these leaves."""
        if node.saved is FREED:
            raise freed(node)
        versions.check(node)
        for i, value in enumerate(self.flat):
            if i not in self.tracked and (isinstance(value, Tensor) or is_array(value)):
                versions.check_array(raw(value), node, node.seq, "argument")
        for p in self.captured:
            if isinstance(p, Leaf) and max(p.seq, versions.version(p.data)) > node.seq:
                raise InplaceError(
                    f"second run of {where(node)}", "unchanged captured tensors",
                    "one that was assigned or modified since the first run",
                    "compute gradients before updating",
                )
        own, seen = [], list(self.flat)
        saved = apart(node.saved)
        for i, data, parent in zip(self.tracked, saved, self.parents, strict=True):
            seen[i] = wrap(self.flat[i], data, parent if linked else None)
            own.append(seen[i])
        return seen, own

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type, overrides: Any = None,
    ) -> None:
        """One backward step: recomputes the call with recording, and pulls back through it."""
        seen, own = self._arguments(node, linked=record)
        # Watch the same tensors as in the first run, whatever tapes were open then.
        watching = self.level if self.level > _state.REQUIRED else 0
        before = _state.change(
            enabled=True, watching=watching, tapes=(), lines=self.lines, overrides=self.overrides,
            keep_values=overrides is not None,
        )
        inside.set(self.inside)
        followed.set(())  # the first run told of them
        if not record:
            _state.change(accumulators=())
        rewritten = Rewritten(node.seq)
        if versions.latest[0] > node.seq:
            _state.change(observers=(*_state.state().observers, rewritten))
        try:
            for k, i in enumerate(self.tracked):
                seen[i] = own[k] = fresh(own[k], _state.REQUIRED)
            start = number()
            with self.draws.replay():
                outs = [as_output(v, self.name) for v in leaves(self._run(seen))]
            roots: dict[Node, Any] = {}
            for out, c in zip(outs, g, strict=True):
                if c is not None and out._node is not None:
                    old = roots.get(out._node)
                    roots[out._node] = c if old is None else old + c
            wanted = [*(x._node for x in own), *self.captured]
            self._check_captured(roots, wanted, start, node)
            if rewritten.read:
                rewritten.check(node, reached(roots, [(start, END)]))
            self.results.check(outs, node)
        finally:
            _state.restore(before)
        found = pull(
            roots, wanted, record=record, overrides=overrides, spans=[(start, END)], cls=cls,
            inner=True,
        )
        for parent, end in zip(node.parents, wanted, strict=True):
            r = found.get(end)
            if r is not None and (needed is None or parent in needed):
                accumulate(cotangents, parent, r)

    def _check_captured(
        self, roots: dict[Node, Any], wanted: list[Any], start: int, node: Node
    ) -> None:
        known = set(wanted)
        for end in reached_ends(roots, [(start, END)]):
            older = is_older(end, start)
            if older and end not in known and end.level <= self.level:
                written = not is_older(end, node.seq)
                raise CaptureError(
                    f"second run of {where(node)}", "the captured tensors of the first run",
                    "one that was written in place, or replaced, since the call" if written
                    else "a new captured tensor",
                    "pass it as an argument, and compute a new tensor (y = y + 1, not y += 1)"
                    if written else "make the function deterministic",
                )

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> list[Any]:
        """The tangents of the outputs: runs the call again with the arguments' tangents."""
        seen, _ = self._arguments(node, linked=record)
        sweep = Accumulator()
        ts = list(tangents)
        for i, t in zip(self.tracked, ts, strict=False):
            if t is not None:
                seen[i] = sweep.watch(seen[i], t)
        for p, t in zip(self.captured, ts[len(self.tracked) :], strict=True):
            if t is not None:
                sweep.tangents[p] = t
        parents = (*self.parents, *self.captured)
        sources = [p for p, t in zip(parents, ts, strict=True) if p is not None and t is not None]
        before = sweep.activate()
        try:
            followed.set(() if self.told else (WithinTangents(sweep.tangents, sources),))
            with self.draws.replay():
                outs = [as_output(v, self.name) for v in leaves(self._run(seen))]
            self.results.check(outs, node)
            return [sweep.tangent(o) for o in outs]
        finally:
            _state.restore(before)


class _OverriddenCall(CustomOp):
    """A call whose second run is pulled back through with other gradients."""

    def __init__(self, base: _Call, overrides: Any) -> None:
        self.base, self.overrides, self.name = base, overrides, base.name

    def contents(self) -> set[Any]:
        """The operations inside."""
        return self.base.contents()

    def step(
        self, node: Node, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One backward step."""
        self.base.step(node, g, cotangents, needed, record, cls, self.overrides)
