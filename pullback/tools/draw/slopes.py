"""Gradients at each node in one backward pass: norms, shares of zeros and NaN, and cuts.

This is a separate backward pass on raw arrays, which keeps the graph: it runs no hooks, since they
would run twice; a rule that fails, or whose saved values are freed, ends only its own path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy

from ...arrays import adapters
from ...core import state as _state
from ...core import versions
from ...core.cotangent import accumulate
from ...core.multi_output import Pick
from ...core.node import Node
from ...core.tensor import Tensor
from ...errors import GraphFreedError, PullbackError
from .history import History


class Slope(NamedTuple):
    """The gradient at a node: its norm, and the shares of entries that are 0, NaN, infinite."""

    norm: float
    zeros: float
    nans: float
    infinite: float


class Slopes:
    """The results of a backward pass from some cotangents.

    at      node -> its `Slope`
    cuts    (node, argument) -> why no gradient was passed on there
    ended   node -> why its rule did not run
    """

    def __init__(self, history: History, cotangents: Mapping[Node, Any]) -> None:
        self.at: dict[Node, Slope] = {}
        self.cuts: dict[tuple[Node, int], str] = {}
        self.ended: dict[Node, str] = {}
        before = _state.pulling()
        try:
            with numpy.errstate(all="ignore"):  # NaN and infinity are results here
                self._sweep(history, dict(cotangents))
        finally:
            _state.restore(before)

    def _sweep(self, history: History, found: dict[Node, Any]) -> None:
        for end in [n for n in found if isinstance(n, Pick)]:
            end.op.pull(end, found.pop(end), found)
        for node in reversed(history.nodes):
            g = found.pop(node, None)
            if g is not None:
                self._look(node, g)
                if not history.is_end(node):
                    self._pass(node, g, found)

    def _look(self, node: Node, g: Any) -> None:
        parts = [c for c in (g if isinstance(g, list) else [g]) if c is not None]
        try:
            self.at[node] = slope_of(parts)
        except (PullbackError, TypeError, ValueError, KeyError):
            return  # no concrete numbers, as inside vmap

    def _pass(self, node: Node, g: Any, found: dict[Node, Any]) -> None:
        own: dict[Node, Any] = {}
        try:
            if versions.latest[0] > node.seq:
                versions.check(node)
            node.op.step(node, g, own, None, False, getattr(node, "cls", Tensor))
        except GraphFreedError:
            self.ended[node] = "freed: an earlier backward pass freed the saved values"
            return
        except Exception as error:  # a rule may raise anything; the picture shows it
            self.ended[node] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
            return
        for i, parent in enumerate(node.parents):
            if parent is not None and parent not in own and not isinstance(parent, Pick):
                self.cuts[node, i] = _why(node, i)
        for parent, r in own.items():
            self._hand(parent, r, found)

    @staticmethod
    def _hand(parent: Node, r: Any, found: dict[Node, Any]) -> None:
        if isinstance(parent, Pick):
            parent.op.pull(parent, r, found)
        elif isinstance(r, list):
            old = found.get(parent, [None] * len(r))
            found[parent] = [a if b is None else b if a is None else a + b
                             for a, b in zip(old, r, strict=True)]
        else:
            accumulate(found, parent, r)


def _why(node: Node, argument: int) -> str:
    rule = getattr(node.op, "rule", None)
    if callable(rule) and rule(argument) is None:
        return "no derivative for this argument"
    return "its rule returned None"


def slope_of(parts: list[Any]) -> Slope:
    """The norm and the shares of the entries of some arrays.

    >>> slope_of([numpy.array([3.0, 0.0, 4.0, 0.0])])
    Slope(norm=5.0, zeros=0.5, nans=0.0, infinite=0.0)
    """
    arrays = [numpy.asarray(adapters[p.__class__].numpy(p)).ravel() for p in parts]
    flat = numpy.concatenate(arrays) if arrays else numpy.zeros(0)
    flat = flat.astype(complex if flat.dtype.kind == "c" else float)
    count = max(flat.size, 1)
    with numpy.errstate(all="ignore"):
        sizes = numpy.abs(flat)
        largest = float(sizes.max(initial=0.0))
        scale = largest if 0 < largest < numpy.inf else 1.0  # squares neither over- nor underflow
        norm = scale * float(numpy.sqrt(numpy.sum((sizes / scale) ** 2)))
    return Slope(
        norm, float(numpy.sum(flat == 0)) / count, float(numpy.sum(numpy.isnan(flat))) / count,
        float(numpy.sum(numpy.isinf(flat))) / count,
    )
