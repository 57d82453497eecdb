"""Closed-over tracked tensors: their gradient must not be lost without an error."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy

from ....autograd import gradients
from ....core.tensor import Tensor, is_inexact, raw
from ....errors import CaptureError
from ...profile.holdings import captures
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject, numpy_of, random_like
from .comparing import attempted, first_of, fresh, in_words
from .differing import along, inner, values_at
from .holding import held


@law("captured", "a closed-over tracked tensor whose gradient is lost without an error")
def captured(subject: Subject) -> Iterator[Finding]:
    """A tensor with requires_grad gets the right gradient even if it is not an argument."""
    found = tracked(subject.f)
    if not found:
        yield not_applicable("it closes over no tracked tensor")
        return
    point = fresh(subject)
    tensors = subject.tensors(point, requires_grad=True)

    def ask() -> tuple[list[Any], list[Any], Any]:
        with steady(0):
            outs = [o for o in subject.of(*tensors) if is_inexact(raw(o))]
        cotangents = subject.cotangents(outs, subject.rng(70))
        with steady(1):
            result = gradients(outs, found, [Tensor(c) for c in cotangents], allow_unused=True)
        return outs, cotangents, result

    known, error = attempted(ask)
    if error is not None:
        yield (passed if isinstance(error, CaptureError) else not_applicable)(
            f"raises: {first_of(error)}")
        return
    for t, g in zip(found, known[2], strict=True):
        yield _compared(subject, point, known[1], t, g)


def _compared(subject: Subject, point: list[Any], cotangents: Any, t: Tensor, g: Any) -> Finding:
    array = numpy_of(raw(t))
    before, d = array.copy(), random_like(array, subject.rng(71))

    def at(step: float) -> float:
        array[...] = before + step * d
        values = [v for v in values_at(subject, point) if is_inexact(v)]
        return inner(cotangents, values)

    try:
        wanted = along(at)
    finally:
        array[...] = before
    seen = 0.0 if g is None else inner([raw(g)], [d])
    if wanted is None or abs(seen - wanted) <= 1e-4 * max(1.0, abs(wanted)):
        return passed(f"a captured tensor of shape {t.shape}")
    return failed(
        f"gradient of `{subject.name}` w.r.t. a closed-over tensor of shape {t.shape}",
        f"{wanted:.6g} along a random direction", "None" if g is None else f"{seen:.6g}",
        "pass it as an argument", inputs=point, seen=None if g is None else in_words(raw(g)),
    )


def tracked(f: Any) -> list[Tensor]:
    """The tensors with requires_grad that a function, or a function that it calls, refers to.

    Only tensors in memory that NumPy can change, so that they can be varied.
    """
    roots, seen = [f], set()
    for value in roots:
        for function in _functions(value):
            if id(function) not in seen:
                seen.add(id(function))
                names = function.__code__.co_names
                table = function.__globals__
                roots += [table[n] for n in names if n in table and _is_users(table[n])]
                roots += [v for v in captures(function).values() if _is_users(v)]
    tensors = [v for v in held(roots) if isinstance(v, Tensor)]
    leaves = [t for t in tensors if t.requires_grad and t.is_leaf]
    return [t for t in leaves if _can_be_varied(raw(t))]


def _can_be_varied(array: Any) -> bool:
    views, error = attempted(lambda: (numpy_of(array), numpy_of(array)))
    return error is None and views[0].flags.writeable and numpy.shares_memory(*views)


def _is_users(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return False
    return not str(getattr(value, "__module__", "")).startswith("pullback.") or (
        isinstance(value, Tensor) or hasattr(value, "function"))


def _functions(value: Any) -> list[types.FunctionType]:
    if isinstance(value, types.FunctionType):
        return [value]
    if isinstance(value, type):
        own = [v.__func__ if isinstance(v, staticmethod) else v for v in vars(value).values()]
        return [v for v in own if isinstance(v, types.FunctionType)]
    inner = [getattr(value, n, None) for n in ("function", "_fwd", "_bwd", "_rule", "__wrapped__")]
    return [v for v in inner if isinstance(v, types.FunctionType)]
