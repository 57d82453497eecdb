"""Leaks: memory that a call keeps after its result is deleted."""

from __future__ import annotations

import gc
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ....autograd import gradients
from ....core.tensor import Tensor, is_inexact, raw
from ..finding import Finding, failed, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject
from .comparing import attempted, fresh

CALLS, SECONDS = 50, 0.01


@contextmanager
def _no_collector() -> Iterator[None]:
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@law("leaks", "saved state that holds the output, or a table that grows with every call")
def leaks(subject: Subject) -> Iterator[Finding]:
    """Inputs and nodes of calls are freed with their results, without the garbage collector."""
    with _no_collector(), steady(0):
        for pulled in (False, True):
            what = "forward and backward" if pulled else "forward only"
            _, error = attempted(_call, subject, pulled)
            if error is not None:
                continue
            alive, calls = _alive(subject, pulled)
            if alive > 1:  # a function may keep its latest call
                yield failed(
                    f"`{subject.name}`, {calls} calls, {what}, results deleted",
                    "no call kept in memory", f"{alive} of the calls are kept in memory",
                    "save outputs with save_for_backward only, nothing in global tables, and no "
                    "closure that refers to itself",
                )
            else:
                yield passed(f"{calls} calls, {what}")


def _alive(subject: Subject, pulled: bool) -> tuple[int, int]:
    """The number of calls that left objects in memory, and the number of calls made."""
    held: list[list[Any]] = []
    end = time.perf_counter() + SECONDS
    while len(held) < 3 or (len(held) < CALLS and time.perf_counter() < end):
        held.append(_call(subject, pulled))
    left = [[x for x in (r() for r in refs) if x is not None] for refs in held]
    count = Counter(id(x) for found in left for x in found)  # constants appear in every call
    return sum(any(count[id(x)] == 1 for x in found) for found in left), len(held)


def _call(subject: Subject, pulled: bool) -> list[Any]:
    """Weak references to a call's inputs, outputs and nodes."""
    point, other = fresh(subject), subject.point
    tensors = subject.tensors(point, requires_grad=True)
    outs = subject.of(*tensors)
    nodes = [o._node for o in outs if o._node is not None and is_inexact(raw(o))]
    copies = [x for x, y in zip(point, other, strict=True) if x is not y]  # JAX makes no copies
    refs = [weakref.ref(x) for x in (*copies, *tensors, *nodes, *map(raw, outs))]
    live = [o for o in outs if o._node is not None and is_inexact(raw(o))]
    if pulled and live:
        cotangents = [Tensor(c) for c in subject.cotangents(live, subject.rng(30))]
        gradients(live, tensors, cotangents, allow_unused=True)
    return refs
