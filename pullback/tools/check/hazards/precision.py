"""Detects float32 inside a float64 gradient: the result changes in steps that are too large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..subject import Subject, like, numpy_of
from .comparing import Run, attempted, fresh


@law("precision", "a computation in float32 inside a gradient of float64")
def precision(subject: Subject) -> Iterator[Finding]:
    """A float64 gradient reacts to changes of 1e-9, and has more digits than float32."""
    point = fresh(subject)
    dtypes = {numpy_of(x).dtype.name for x in point}
    if not dtypes or not dtypes <= {"float64", "complex128"}:
        yield not_applicable("the inputs are not float64")
        return
    run = Run(subject, point)
    cotangents = run.cotangents(40)
    here = run.pull(cotangents)
    fine, error = attempted(lambda: _at(subject, point, 1e-9, cotangents))
    if error is None:
        coarse, error = attempted(lambda: _at(subject, point, 3e-6, cotangents))
    if error is not None:
        yield not_applicable("it is not defined near the examples")
        return
    for i, g in enumerate(here):
        with numpy.errstate(all="ignore"):  # above rounding errors: float32's spacing is 6e-8
            moves = numpy.abs(coarse[i] - g) > 1e-8 * numpy.abs(g)
        stuck = moves & (fine[i] == g)
        if numpy.count_nonzero(stuck) > 0.8 * max(1, int(numpy.count_nonzero(moves))):
            got = "no change, as in float32: it changes for relative steps of 3e-6"
        elif _is_short(g) and _is_short(run.pull([_odd(c) for c in cotangents])[i]):
            got = "float32 numbers in every entry"
        else:
            yield passed(f"{subject.names[i]}")
            continue
        yield failed(
            f"gradient of `{subject.name}` w.r.t. {subject.names[i]}",
            "a change where inputs change by a relative 1e-9", got,
            "compute in the dtype of the input, without astype(…, float32) and float32 constants",
            dtype="float64", inputs=point, seen=g,
        )


def _at(subject: Subject, point: list[Any], step: float, cotangents: list[Any]) -> list[Any]:
    moved = [like(x, numpy_of(x) * (1 + step)) for x in point]
    return Run(subject, moved).pull(cotangents)


def _odd(c: Any) -> Any:
    return None if c is None else like(c, numpy_of(c) * 0.00123456789)


def _is_short(g: Any) -> bool:
    """Whether every nonzero entry is a float32 number, and there are some."""
    parts = numpy.concatenate([g.real.ravel(), g.imag.ravel()]) if g.dtype.kind == "c" else g
    parts = parts[(parts != 0) & numpy.isfinite(parts)]
    return bool(parts.size) and bool(numpy.all(parts.astype(numpy.float32) == parts))
