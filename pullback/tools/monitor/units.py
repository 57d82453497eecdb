"""Dead units: those of ReLU-like activations that are zero for all examples of recent batches.

Found with kernel hooks, so this works for functions and modules, and changes no module. The frames
of the Python stack tell which module calls the kernel.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, NamedTuple

import numpy

from ..._user_code import is_own
from ...arrays import adapters
from ...arrays.batched import Batched
from ...core.op import OPS
from ...core.state import state
from .measures import is_there

_SITES = 64
"""The maximum number of activations watched per step; the others are skipped."""


class Site(NamedTuple):
    """Where an activation is computed: the module, the user's line, the count of that name."""

    name: str
    line: str
    number: int

    def __str__(self) -> str:
        return self.name if self.number == 1 else f"{self.name} ({self.number})"


class Units:
    """A kernel hook that records which units of activations were nonzero.

    modules        id of a module -> name; the caller keeps the modules alive
    batches        the number of recent measurements to consider
    channels_last  whether the channels of pictures are the last axis

    Active only while `on` is true.
    """

    def __init__(self, modules: Mapping[int, str], batches: int, channels_last: bool) -> None:
        self.modules, self.batches, self.channels_last = modules, batches, channels_last
        self.on = False
        self._alive: dict[Site, deque[Any]] = {}
        self._calls: Counter[str] = Counter()

    def __call__(
        self, op: Any, kernel: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        """Returns the kernel's result unchanged."""
        out = kernel(*args, **attrs)
        if self.on and op.name in _CUTS and state().enabled and _CUTS[op.name](args, attrs):
            self._look(op.name, out)
        return out

    def next_step(self, on: bool) -> None:
        """Starts a step, in which calls are counted from zero."""
        self.on = on
        self._calls.clear()

    def shares(self) -> dict[Site, tuple[int, int]]:
        """For each activation, the number of dead units and the number of units."""
        found = {}
        for site, masks in self._alive.items():
            alive = numpy.logical_or.reduce(list(masks))
            found[site] = (int(alive.size - alive.sum()), int(alive.size))
        return found

    def _look(self, name: str, out: Any) -> None:
        array, hidden = out, 0
        while isinstance(array, Batched):
            array, hidden = array.value, hidden + 1
        if not is_there(array) or not array.size:
            return
        place = self._place(name)
        self._calls[place[0]] += 1
        site = Site(*place, self._calls[place[0]])
        if site not in self._alive and len(self._alive) >= _SITES:
            return
        masks = self._alive.setdefault(site, deque(maxlen=self.batches))
        mask = _alive_units(array, _unit_axis(array.ndim, hidden, self.channels_last))
        if masks and masks[-1].shape != mask.shape:
            masks.clear()
        masks.append(mask)

    def _place(self, op: str) -> tuple[str, str]:
        """A name, and the user's line."""
        line = ""
        frame: FrameType | None = sys._getframe(3)
        while frame is not None:
            code = frame.f_code
            ours = is_own(code.co_filename)
            if not line and not ours:
                line = f"{code.co_filename}:{frame.f_lineno}"
            if self.modules and code.co_argcount and code.co_name in ("forward", "__call__"):
                module = self.modules.get(id(frame.f_locals.get(code.co_varnames[0])))
                if module is not None:
                    whole = ours and module  # the module is the activation
                    return (module if whole else f"{module}.{op}" if module else op), line
            frame = frame.f_back
        return (op if self.modules else f"{op} at {os.path.basename(line)}"), line


def _unit_axis(rank: int, hidden: int, channels_last: bool) -> int | None:
    """The axis of the units in an array whose first `hidden` axes are batch axes."""
    seen = rank - hidden
    if not seen:
        return None
    whole = seen + min(hidden, 1)  # inside vmap, one example has no batch axis
    if whole < 4 or channels_last:
        return rank - 1
    return hidden if hidden else 1


def _alive_units(array: Any, axis: int | None) -> Any:
    mask = OPS["not_equal"](array, 0)
    others = tuple(i for i in range(array.ndim) if i != axis)
    found = OPS["any"](mask, axis=others) if others else mask
    return numpy.array(adapters[found.__class__].numpy(found)).reshape(-1)


def _always(args: tuple[Any, ...], attrs: Mapping[str, Any]) -> bool:
    return True


def _zero_among(args: tuple[Any, ...], attrs: Mapping[str, Any]) -> bool:
    """Whether one of two arguments is the number 0, as in maximum(x, 0)."""
    return any(getattr(a, "ndim", 0) == 0 and is_there(a) and bool(a == 0) for a in args[:2])


def _low_is_zero(args: tuple[Any, ...], attrs: Mapping[str, Any]) -> bool:
    """Whether values are clipped between 0 and an upper bound, as by relu6."""
    low = args[1] if len(args) > 1 else attrs.get("low", attrs.get("min"))
    return low is not None and getattr(low, "ndim", 0) == 0 and bool(low == 0)


_CUTS: dict[str, Callable[[tuple[Any, ...], Mapping[str, Any]], bool]] = {
    "relu": _always, "maximum": _zero_among, "clip": _low_is_zero, "hard_tanh": _low_is_zero,
}
"""Operation -> whether a call of it cuts off at 0."""
