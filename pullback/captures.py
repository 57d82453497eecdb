"""Detects closed-over tensors while a function runs: tracked ones, changed ones, and their traces.

A function that runs again in the backward pass must find there what it found in the forward pass.
Three things tell: the tracked tensors that it uses (`Captured`); the writes in between to arrays
that it reads (`Rewritten`); and its results (`Results`), in which everything else would show: a
closure or attribute that was assigned, an array that NumPy wrote, a random number of another
library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from .arrays import known
from .arrays.batched import bare
from .arrays.inexact import ByDtype
from .core import state as _state
from .core import versions
from .core.above import above
from .core.node import Leaf, Node, number, where
from .core.observe import Observer
from .core.op import OPS
from .core.tensor import is_inexact, raw
from .errors import CaptureError


class Captured:
    """Collects the tracked tensors from outside that a function uses, while it is `State.closed`.

    `nodes` has their nodes, in order of use.
    """

    def __init__(self) -> None:
        now = _state.state()
        self.start, self.sweeps = number(), now.accumulators
        self.level = now.level
        self.nodes: dict[Node, None] = {}

    def check(self, op: Any, parents: tuple[Node | None, ...]) -> bool:
        """Take note of parents from outside; False: the operation is recorded."""
        for parent in parents:
            if parent is not None and is_older(parent, self.start) and (
                parent.level <= self.level or any(parent in a.tangents for a in self.sweeps)
            ):
                self.nodes[parent] = None
        return False


def is_older(node: Node, start: int) -> bool:
    """Whether a node was recorded, or a leaf made, before a number."""
    return (node.born if isinstance(node, Leaf) else node.seq) < start


class Rewritten(Observer):
    """Sees, while a function runs again, which operations read what was written since a number."""

    def __init__(self, since: int) -> None:
        self.since, self.start = since, number()
        self.read: dict[Node, Any] = {}

    def recorded(self, node: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Note an operation on an array that was written after the first run, before this one."""
        for array in inputs:
            if array is not None and self.since < versions.version(array) <= self.start:
                self.read[node] = array

    def check(self, of: Node, nodes: Iterable[Node]) -> None:
        """Raise an `InplaceError` if one of some operations did; `of` is what ran again."""
        for node in nodes:
            if node in self.read:
                versions.check_array(self.read[node], of, self.since, "captured tensor")


class Results:
    """The values of some results in short: for each, the sum of its entries and of their sizes.

    at   the tensors at which a function was called that is zero there, for the size of rounding
    """

    __slots__ = ("least", "sums")

    def __init__(self, outs: Iterable[Any], at: Iterable[Any] = ()) -> None:
        self.sums = [_sums(out) for out in outs]
        self.least = [s[1] for s in map(_sums, at) if s is not None]

    def check(self, outs: Sequence[Any], node: Node) -> None:
        """Raise a `CaptureError` unless results of another run are the same, up to rounding."""
        if all(_are_same(a, _sums(b), self.least) for a, b in zip(self.sums, outs, strict=True)):
            return
        raise CaptureError(
            f"second run of {where(node)}", "the results of the first run", "other numbers",
            "it must compute the same again: pass as an argument whatever changes between the call "
            "and the backward pass (bind loop variables: lambda x, k=k: …), copy what is written, "
            "and draw random numbers from pullback.random",
        )


_ROUNDING = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4}
_ROUNDING_IN_HALF = 0.05
_rounding = ByDtype(lambda dtype: _ROUNDING.get(str(dtype).rpartition(".")[2], _ROUNDING_IN_HALF))
"""The relative difference that two runs may have, by dtype."""


def _sums(out: Any) -> tuple[Any, Any, float] | None:
    array = bare(raw(out))
    if not is_inexact(array) or above.holds_symbols(array):
        return None
    with numpy.errstate(all="ignore"):
        return OPS["sum"](array), OPS["sum"](OPS["abs"](array)), _rounding[array.dtype]


def _are_same(
    first: tuple[Any, Any, float] | None, second: tuple[Any, Any, float] | None,
    least: Sequence[Any],
) -> bool:
    if first is None or second is None or known(first[0]) is None or known(second[0]) is None:
        return first is None or known(first[0]) is None or second is not None
    total, size, again, size_again = (complex(v) for v in (*first[:2], *second[:2]))
    if (size != size) != (size_again != size_again):  # NaN in one of them
        return False
    bound = first[2] * max(size.real, size_again.real, *map(float, least), 0.0)
    return not (abs(total - again) > bound or abs(size - size_again) > bound)
