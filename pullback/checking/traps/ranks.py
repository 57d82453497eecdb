"""Ranks 0 to 5 and axes of length 0 and 1, for functions that work entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..subject import Subject, like, numpy_of
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst

SHAPES: tuple[tuple[int, ...], ...] = (
    (), (1,), (0,), (2, 3), (3, 0), (1, 6), (2, 1, 3), (2, 3, 1, 1), (1, 2, 1, 3, 1),
)
_MOST = 6


@law("ranks", "a rule that breaks for other ranks, or for axes of length 0 or 1")
def ranks(subject: Subject) -> Iterator[Finding]:
    """An elementwise function has the same gradients in every shape."""
    point = fresh(subject)
    values = [numpy_of(x) for x in point]
    if not values or len({v.shape for v in values}) > 1 or not values[0].size:
        yield not_applicable("its arguments differ in shape")
        return
    steps = 1 + 0.01 * numpy.arange(_MOST) / _MOST  # no two alike
    flat = [(numpy.resize(v.ravel(), _MOST) * steps).astype(v.dtype) for v in values]
    row, error = attempted(lambda: Run(subject, _of(point, flat, (_MOST,))))
    if error is not None or not _by_entries(subject, point, flat, row):
        yield not_applicable("it does not work entry by entry")
        return
    cotangents = row.cotangents(60)
    wanted = row.pull(cotangents)
    for shape in SHAPES:
        yield _at(subject, point, flat, shape, row, (cotangents, wanted))


def _by_entries(subject: Subject, point: list[Any], flat: list[Any], row: Run) -> bool:
    """Whether reversing, or shortening, the inputs does the same to the outputs."""
    if any(numpy_of(o).shape != (_MOST,) for o in row.outs):
        return False
    for part in (slice(None, None, -1), slice(0, 3)):
        given = [like(x, v[part].copy()) for x, v in zip(point, flat, strict=True)]
        seen, error = attempted(lambda given=given: subject.values(given))  # type: ignore[misc]
        if error is not None or not agree([numpy_of(o)[part] for o in row.outs], seen):
            return False
    return True


def _of(point: list[Any], flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    return [like(x, _cut(v, shape)) for x, v in zip(point, flat, strict=True)]


def _cut(v: Any, shape: tuple[int, ...]) -> Any:
    return numpy_of(v)[: int(numpy.prod(shape))].reshape(shape).copy()


def _at(
    subject: Subject, point: list[Any], flat: list[Any], shape: tuple[int, ...], row: Run,
    known: tuple[list[Any], list[Any]],
) -> Finding:
    given = _of(point, flat, shape)
    run, error = attempted(lambda: Run(subject, given))
    values = [_cut(o, shape) for o in row.outs]
    if error is not None or not agree(values, run.outs):
        return not_applicable(f"it does not work entry by entry in shape {shape}")
    cotangents = [c if c is None else like(c, _cut(c, shape)) for c in known[0]]
    wanted = [_cut(g, shape) for g in known[1]]
    seen, error = attempted(lambda: run.pull(cotangents))
    who = f"gradient of `{subject.name}` in shape {shape}"
    if error is None and agree(wanted, seen):
        return passed(f"shape {shape}")
    w, s, gap = (None, None, None) if error is not None else worst(wanted, seen)
    return failed(
        who, "what the same entries have in one row" + ("" if w is None else f", {in_words(w)}"),
        first_of(error) if error is not None else in_words(s), "count axes from what is there",
        inputs=given, wanted=w, seen=s, difference=gap,
    )
