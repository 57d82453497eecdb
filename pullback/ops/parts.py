"""Parts of a tensor along an axis, as the outputs of one recorded operation.

`unstack`, `split` and iteration take all parts of a tensor. If each part were an operation of its
own, each would have a cotangent of the whole tensor's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..arrays import adapters
from ..arrays.batched import Batched, zeros_by
from ..arrays.symbol import Symbol
from ..core.cotangent import accumulate
from ..core.custom_op import CustomOp, custom_node
from ..core.inplace import immutable, link_view
from ..core.multi_output import picked
from ..core.node import Node, number
from ..core.op import OPS
from ..core.outside import current_graph, traces
from ..core.state import ALL, state
from ..core.tensor import Tensor, is_inexact, raw, wrap
from .indexing import getitem

__all__: list[str] = []

Parts = range | Sequence[slice]
"""All positions on an axis, or slices that cover it."""


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The index that is `part` on one axis and full slices on the axes before it.

    >>> along(1, 3)
    (slice(None, None, None), 3)
    """
    return (*(slice(None),) * axis, part)


class _PartsOp(CustomOp):
    """The operation whose outputs are parts; its pull writes their cotangents into one array.

    A node saves the axis and the parts: all positions on the axis, or slices that cover it.
    """

    name = "parts"
    keeps = False
    by_hand = False

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """The cotangent of the whole, of which each entry is written once."""
        axis, parts = node.saved
        kinds = {c.__class__ for c in g if c is not None}
        plain = not record and Batched not in kinds and Symbol not in kinds
        some = next(c for c in g if c is not None)
        if plain and not immutable(some):
            r = zeros_by(tuple(node.parents[0].shape), some, node.parents[0].dtype)
            assign = adapters[r.__class__].assign
            for part, c in zip(parts, g, strict=True):
                if c is not None:
                    r = assign(r, along(axis, part), c)
        else:
            whole = _with_zeros(g, node, raw(some), cls if record else None)
            r = OPS["stack" if isinstance(parts, range) else "concat"](whole, axis=axis)
        accumulate(cotangents, node.parents[0], r)

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> list[Any]:
        """The parts of the tangent."""
        axis, parts = node.saved
        return [getitem(tangents[0], along(axis, part)) for part in parts]


_OP = _PartsOp()


def _with_zeros(g: list[Any], node: Any, some: Any, cls: type | None) -> list[Any]:
    """The cotangents of all parts; parts of one shape without one share their zeros."""
    made: dict[Any, Any] = {}
    for i, (shape, dtype) in enumerate(node.spaces):
        if g[i] is None and shape not in made:
            made[shape] = zeros_by(tuple(shape), some, dtype)
    found = [made[shape] if c is None else c for c, (shape, _) in zip(g, node.spaces, strict=True)]
    return [c if cls is None or isinstance(c, Tensor) else wrap(cls, c) for c in found]


def _common_node(x: Any, axis: int, parts: Parts) -> Any:
    """The node of all parts of a tensor; None where each part is to be read by itself.

    That is where nothing is recorded, and where something beside the graph (an override, a tool,
    forward mode, a graph that is built) is to see what is read.
    """
    if not isinstance(x, Tensor) or len(parts) < 2 or (traces and current_graph() is not None):
        return None
    node, data = x._node, x._data
    if node is None or data.__class__ in (Batched, Symbol) or not is_inexact(data):
        return None
    if not node.level <= state().mode <= ALL:
        return None
    made = custom_node(_OP, (node,), (axis, parts), x._out)
    made.seq, made.level, made.shape, made.dtype = number(), node.level, (), None
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    if isinstance(parts, range):
        made.spaces = [((*before, *after), data.dtype)] * len(parts)
    else:
        made.spaces = [((*before, p.stop - p.start, *after), data.dtype) for p in parts]
    return made


def _reader(x: Any, axis: int, parts: Parts) -> Callable[[int], Any]:
    """The function that gives a part by its number."""
    common = _common_node(x, axis, parts)
    if common is None:
        return lambda i: x[along(axis, parts[i])]
    history = x._node
    op = OPS["getitem"].op
    read = op.kernels[x._data.__class__]

    def part(i: int) -> Any:
        now = state()
        index = along(axis, parts[i])
        if x._node is not history or not common.level <= now.mode <= ALL:
            return x[index]
        data = read(x._data, index=index)
        out = wrap(x._out, data, picked(common, i, data))
        link_view(out, x, op, {"index": index})
        return out

    return part


def taken_apart(x: Any, axis: int, parts: Parts) -> tuple[Any, ...]:
    """The parts of an array or tensor: at all positions on an axis, or in slices that cover it.

    >>> import numpy as np
    >>> taken_apart(np.array([1.0, 2.0, 3.0]), 0, [slice(0, 1), slice(1, 3)])
    (array([1.]), array([2., 3.]))
    """
    return tuple(map(_reader(x, axis, parts), range(len(parts))))


def entries_of(x: Any) -> Iterator[Any]:
    """The entries of a tensor along its first axis, each made when it is asked for.

    >>> import pullback as pb
    >>> list(entries_of(pb.tensor([1.0, 2.0])))
    [Tensor(1.), Tensor(2.)]
    """
    length = len(x)
    yield from map(_reader(x, 0, range(length)), range(length))
