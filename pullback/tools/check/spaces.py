"""The laws about dtypes and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from .case import Case, real_name, wide
from .finding import Finding, failed, not_applicable, passed
from .laws import law
from .numeric import NOWHERE, ready, wrong, wrong_gradient
from .subject import Subject, in_dtype, numpy_of
from .words import in_words

REAL = ("float64", "float32", "float16", "bfloat16")


@law("dtypes", "A gradient of another shape or dtype than its input, or imprecise in some dtype.")
def check_dtypes(subject: Subject) -> Iterator[Finding]:
    """Tests the declared dtypes, or else every real dtype that the function accepts."""
    if not ready(subject):
        yield not_applicable(NOWHERE)
        return
    declared = subject.dtypes
    for dtype in declared or (REAL[:3] if subject.uses_front_end else REAL):  # no bfloat16
        point = _castable(subject, dtype)
        if point is None or not subject.accepts(point):
            if declared is None:
                yield not_applicable("the function does not accept it", dtype=dtype)
            else:
                yield failed(
                    f"`{subject.name}` in {dtype}", "a value, because `dtypes` lists this dtype",
                    "an error of the function itself", "list only dtypes that it accepts",
                    dtype=dtype,
                )
            continue
        yield from _in_dtype(subject, dtype, point)


def _castable(subject: Subject, dtype: str) -> Any:
    try:
        return subject.cast(dtype)
    except Exception:  # the array library does not have this dtype
        return None


def _in_dtype(subject: Subject, dtype: str, point: list[Any]) -> Iterator[Finding]:
    case = Case(subject, point, 11)
    if not case.finite:
        yield not_applicable("its values are not finite there", dtype=dtype)
        return
    weights = [wide(numpy.asarray(case.rng.standard_normal(v.shape))) for v in case.outs]
    gradients = case.pulling[1](case.spread(weights))
    for i, (x, g) in enumerate(zip(point, gradients, strict=True)):
        if tuple(g.shape) != tuple(x.shape) or g.dtype != x.dtype:
            yield failed(
                f"gradient of `{subject.name}` w.r.t. {subject.names[i]}",
                f"shape {tuple(x.shape)} and dtype {x.dtype}, like the input",
                f"shape {tuple(g.shape)} and dtype {g.dtype}", dtype=dtype, inputs=case.entries,
            )
            return
    yield _compared(case, dtype, weights, [wide(numpy_of(g)) for g in gradients])


def _compared(case: Case, dtype: str, weights: list[Any], seen: list[Any]) -> Finding:
    """Compares gradients in a dtype with those in double precision, at the same numbers."""
    subject, eps = case.subject, case.eps
    if eps < 1e-12:
        if case.true.found and wrong(case):
            return wrong_gradient(case)
        return passed("against differences", dtype=dtype)
    exact = [in_dtype(x, e, str(e.dtype)) for x, e in zip(case.point, case.entries, strict=True)]
    if not subject.accepts(exact):
        return passed("shapes and dtypes only: it rejects double precision", dtype=dtype)
    high = Case(subject, exact, 11)
    wanted = high.pulled([wide(numpy_of(u)) for u in case.spread(weights) if u is not None])
    moved = [in_dtype(x, e * (1 + 2 * eps * high.rng.standard_normal(e.shape)), str(e.dtype))
             for x, e in zip(exact, case.entries, strict=True)]
    near = Case(subject, moved, 11).pulled(weights)
    for i, (w, s, n) in enumerate(zip(wanted, seen, near, strict=True)):
        if not (numpy.isfinite(w).all() and numpy.isfinite(n).all()):
            continue
        size = max(float(numpy.abs(v).max(initial=0)) for v in wanted)
        allowed = 100 * eps * size + 20 * float(numpy.abs(n - w).max(initial=0))
        apart = float(numpy.abs(w - s).max(initial=0))
        if not apart <= allowed and float(numpy.abs(w).max(initial=0)) < numpy.finfo("e").max:
            return failed(
                f"gradient of `{subject.name}` w.r.t. {subject.names[i]}, in {dtype}",
                f"the result of double precision: {in_words(w)}", in_words(s),
                "compute the gradient at least in the precision of its input", dtype=dtype,
                inputs=case.entries, wanted=w, seen=s, difference=apart,
            )
    return passed("against double precision", dtype=dtype)


@law("mixed dtypes", "A rule that is wrong where an input is narrower than the cotangent.")
def check_mixed(subject: Subject) -> Iterator[Finding]:
    """One argument at a time in float32, the others in float64."""
    if len(subject.point) < 2 or not ready(subject):
        yield not_applicable("it has one input" if ready(subject) else NOWHERE)
        return
    for i, name in enumerate(subject.names):
        mixed = list(subject.best)
        values = numpy_of(mixed[i])
        dtype = "complex64" if values.dtype.kind == "c" else "float32"
        mixed[i] = in_dtype(mixed[i], values, dtype)
        if len({real_name(x) for x in mixed}) == 1 or not subject.accepts(mixed):
            yield not_applicable(f"the function does not accept {name} alone in {dtype}")
        else:
            yield from _in_dtype(subject, f"{dtype}, {name}", mixed)
