"""`ForwardAccumulator`: forward mode in the spelling of TensorFlow 2."""

from __future__ import annotations

from typing import Any

from .arrays import adapters
from .core import state as _state
from .core.forward import Accumulator, dual
from .core.node import Node
from .core.tensor import Tensor, check_inexact, wrap
from .errors import ArgumentError, ArgumentTypeError
from .ops import zeros_like
from .tape import is_zero
from .transforms.forward import tangent_of
from .trees import flatten, leaves
from .variable import Variable


class ForwardAccumulator:
    """Computes, beside each value, its derivative along given tangents of some primals.

    primals   tensors and variables, each once, in any nesting
    tangents  for each of them a tensor, array or number of its shape, in the same nesting

    Only what is computed inside the `with` block is followed, as it runs, and no graph is kept:
    memory does not grow with the length of the program. One run costs about as much as two of
    the program, whatever the number of results; a tape's pull, whatever the number of sources.

    Accumulators nest in each other and in tapes, in any order. A tape inside an accumulator,
    asked inside the block, gives the product of a Hessian and a vector:

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0])
    >>> with pb.ForwardAccumulator(x, pb.tensor([1.0, 0.0])) as acc:
    ...     with pb.GradientTape() as tape:
    ...         tape.watch(x)
    ...         y = pb.sum(x * x * x)
    ...     g = tape.gradient(y, x)
    >>> acc.jvp(y), acc.jvp(g)
    (Tensor(3.), Tensor([6., 0.]))

    Raises `ArgumentError` (a `ValueError`) for a primal given twice, for structures that differ,
    and when it is entered twice; `ArgumentTypeError` for a primal that is no Tensor; `ShapeError`
    and `DtypeError` for a tangent that its primal cannot have.
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._sweep = Accumulator()
        flat, ts = leaves(primals), leaves(tangents)
        if len(flat) != len(ts):
            raise ArgumentError(
                "argument `tangents` of ForwardAccumulator",
                f"a structure like the primals', of {len(flat)} leaves", f"one of {len(ts)}",
            )
        self._given = [
            (x, self._checked(x, t, i)) for i, (x, t) in enumerate(zip(flat, ts, strict=True))
        ]
        if len({id(x) for x in flat}) != len(flat):
            raise ArgumentError(
                "argument `primals` of ForwardAccumulator", "each tensor once", "one of them twice",
                "add its tangents",
            )
        self._watch()

    def _checked(self, x: Any, t: Any, index: int) -> Any:
        who = f"primal {index} of ForwardAccumulator"
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                who, "a Tensor or Variable", f"a {type(x).__name__}",
                "make it one with pullback.tensor(…)",
            )
        check_inexact(x._data, who)
        return tangent_of(x, t, f"tangent {index} of ForwardAccumulator")

    def _watch(self) -> None:
        """Hang the tangents on the primals' nodes, where they are not yet."""
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
        self._watch()  # a tape may have put a node of its own on a primal since
        self._sweep.activate()
        return self

    def __exit__(self, *exc: object) -> None:
        active = _state.state().accumulators
        _state.change(accumulators=tuple(a for a in active if a is not self._sweep))

    def jvp(self, primals: Any, unconnected_gradients: Any = "none") -> Any:
        """The derivative of each tensor of a nested structure along the tangents.

        primals                results, or primals themselves: any tensors
        unconnected_gradients  "none" or "zero": the answer for what does not depend on a primal

        May be asked inside the block and after it, any number of times. What an outer accumulator
        or tape is to differentiate has to be asked inside theirs.

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
        node = _node(x)
        t = None if node is None else self._sweep.tangents.get(node)
        if isinstance(t, Tensor):
            return t
        if t is not None:  # a copy: it may be what the user passed, or another result's too
            return wrap(x._out, adapters[t.__class__].copy(t))
        return wrap(x._out, zeros_like(x._data)) if zero else None


def _node(x: Any) -> Node | None:
    """The node of a tensor; of a variable too, without a word to the tapes that watch reads."""
    return x._leaf if isinstance(x, Variable) else x._node
