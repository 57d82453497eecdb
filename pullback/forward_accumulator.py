"""`ForwardAccumulator`: forward mode with TensorFlow 2's names."""

from __future__ import annotations

from typing import Any

from .arrays import adapters
from .core import state as _state
from .core.node import Node
from .core.tensor import Tensor, check_inexact, wrap
from .errors import ArgumentError, ArgumentTypeError
from .ops import zeros_like
from .passes.accumulator import Accumulator, dual
from .passes.ends import check_inside
from .tape import is_zero
from .transforms.forward import tangent_of
from .trees import flatten, leaves
from .variable import Variable


class ForwardAccumulator:
    """Context manager: computes the derivative of each value along given tangents of the primals.

    primals   tensors and variables, each once, as any pytree
    tangents  one tensor, array or number per primal, with its shape, as the same pytree

    Tangents are computed together with the values inside the `with` block, and no graph is saved:
    memory does not grow with the length of the program. One run costs about two runs of the
    program, for any number of results; a tape's backward pass, for any number of sources.

    Accumulators nest in each other and in tapes, in any order. A tape inside an accumulator, with
    `gradient` called inside the block, gives a Hessian-vector product:

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0])
    >>> with pb.ForwardAccumulator(x, pb.tensor([1.0, 0.0])) as acc:
    ...     with pb.GradientTape() as tape:
    ...         tape.watch(x)
    ...         y = pb.sum(x * x * x)
    ...     g = tape.gradient(y, x)
    >>> acc.jvp(y), acc.jvp(g)
    (Tensor(3.), Tensor([6., 0.]))

    Raises `ArgumentError` (a `ValueError`) for a duplicate primal, for structures that differ, and
    if it is entered twice; `ArgumentTypeError` for a primal that is not a Tensor; `ShapeError` and
    `DtypeError` for a tangent that does not fit its primal.
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._sweep = Accumulator()
        flat, ts = leaves(primals), leaves(tangents)
        if len(flat) != len(ts):
            raise ArgumentError(
                "argument `tangents` of ForwardAccumulator",
                f"a structure like the primals', with {len(flat)} leaves", f"one with {len(ts)}",
            )
        self._given = [
            (x, self._checked(x, t, i)) for i, (x, t) in enumerate(zip(flat, ts, strict=True))
        ]
        if len({id(x) for x in flat}) != len(flat):
            raise ArgumentError(
                "argument `primals` of ForwardAccumulator", "each tensor once", "one tensor twice",
                "add its tangents",
            )
        self._watch()

    def _checked(self, x: Any, t: Any, index: int) -> Any:
        subject = f"primal {index} of ForwardAccumulator"
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                subject, "a Tensor or Variable", f"a {type(x).__name__}",
                "make it one with pullback.tensor(…)",
            )
        check_inexact(x._data, subject)
        return tangent_of(x, t, f"tangent {index} of ForwardAccumulator")

    def _watch(self) -> None:
        """Attaches the tangents to the primals' nodes, unless they are attached already."""
        for x, t in self._given:
            node = _node(x)
            if node is None:
                node = x._node = dual(x._data)
            self._sweep.tangents.setdefault(node, t)

    def __enter__(self) -> ForwardAccumulator:
        active = _state.state().accumulators
        if self._sweep in active:
            raise ArgumentError(
                "`with accumulator:`", "an accumulator that is not recording", "one that is"
            )
        self._watch()  # a tape may have given a primal a new node since
        before = _state.state()
        inside = before.changed(accumulators=(*before.accumulators, self._sweep))
        try:
            self._held = before, inside
            _state.set_state(inside)
            return self
        except BaseException:  # Ctrl-C
            _state.set_state(before)
            raise

    def __exit__(self, *exc: object) -> None:
        before, inside = self._held
        old = _state.set_state(before).old_value  # first of all, as Ctrl-C may follow
        if old is not inside:
            _state.amend(old)
            active = _state.state().accumulators
            _state.change(accumulators=tuple(a for a in active if a is not self._sweep))

    def jvp(self, primals: Any, unconnected_gradients: Any = "none") -> Any:
        """Returns the derivative of each tensor of a pytree along the tangents.

        primals                results, or primals themselves: any tensors
        unconnected_gradients  "none" or "zero": the result if a tensor depends on no primal

        Can be called inside the block and after it, any number of times. To differentiate the
        result with an outer accumulator or tape, call it inside their block.

        >>> import pullback as pb
        >>> x = pb.tensor([1.0, 2.0])
        >>> with pb.ForwardAccumulator(x, pb.tensor([1.0, 10.0])) as acc:
        ...     y = x * x
        >>> acc.jvp({"x": x, "y": y})
        {'x': Tensor([ 1., 10.]), 'y': Tensor([ 2., 40.])}
        """
        zero = is_zero(unconnected_gradients)
        flat, rebuild = flatten(primals)
        return rebuild([self._tangent(x, i, zero) for i, x in enumerate(flat)])

    def _tangent(self, x: Any, index: int, zero: bool) -> Any:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                f"target {index} of accumulator.jvp", "a Tensor", f"a {type(x).__name__}"
            )
        check_inside([x], "accumulator.jvp")
        node = _node(x)
        t = None if node is None else self._sweep.tangents.get(node)
        if isinstance(t, Tensor):
            return t
        if t is not None:  # a copy: it may alias the user's tangent or another result
            return wrap(x._out, adapters[t.__class__].copy(t))
        return wrap(x._out, zeros_like(x._data)) if zero else None


def _node(x: Any) -> Node | None:
    """The node of a tensor; for a variable, does not inform the tapes that watch reads."""
    return x._leaf if isinstance(x, Variable) else x._node
