"""Ranks 0 to 5 and axes of length 0 and 1, for elementwise functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from ....errors import RuleError
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..subject import Subject, like, numpy_of
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst

SHAPES: tuple[tuple[int, ...], ...] = (
    (), (1,), (0,), (2, 3), (3, 0), (1, 6), (2, 1, 3), (2, 3, 1, 1), (1, 2, 1, 3, 1),
)
PAIRS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((2, 3), (3,)), ((2, 1), (2, 3)), ((1, 3), (2, 1)), ((), (2, 3)), ((3,), (1,)),
    ((0, 3), (1, 3)),
)
"""Shapes of a function's first two arguments that broadcast together."""
_MOST = 6


@law("ranks", "a rule that breaks for other ranks, or for axes of length 0 or 1")
def ranks(subject: Subject) -> Iterator[Finding]:
    """An elementwise function has the same gradients in every shape."""
    point = fresh(subject)
    values = [numpy_of(x) for x in point]
    if not values or len({v.shape for v in values}) > 1 or not values[0].size:
        yield not_applicable("its arguments differ in shape")
        return
    steps = 1 + 0.01 * numpy.arange(_MOST) / _MOST  # distinct entries
    flat = [(numpy.resize(v.ravel(), _MOST) * steps).astype(v.dtype) for v in values]
    row, error = attempted(lambda: Run(subject, _of(point, flat, (_MOST,))))
    if error is not None or not _by_entries(subject, point, flat, row):
        yield not_applicable("it is not elementwise")
        return
    cotangents = row.cotangents(60)
    wanted = row.pull(cotangents)
    for shape in SHAPES:
        yield _at(subject, point, flat, shape, row, (cotangents, wanted))
    if len(point) == 2:
        for pair in PAIRS:
            yield _pair(subject, [like(x, _cut(v, s)) for x, v, s in zip(
                point, flat, pair, strict=True)], pair)


def _pair(subject: Subject, given: list[Any], pair: Any) -> Finding:
    """Compares two arguments that broadcast with the same arguments already broadcast."""
    shape = numpy.broadcast_shapes(*pair)
    full = [like(x, numpy.array(numpy.broadcast_to(numpy_of(x), shape))) for x in given]
    runs, error = attempted(lambda: (Run(subject, given), Run(subject, full)))
    if error is not None or not agree(runs[1].outs, runs[0].outs):
        return not_applicable(f"it does not broadcast shapes {pair[0]} and {pair[1]}")
    cotangents = runs[1].cotangents(61)
    _, refused = attempted(lambda: runs[0].pull(cotangents))
    if isinstance(refused, RuleError):  # the rule declares that it does not support this
        return not_applicable(f"raises for shapes {pair[0]} and {pair[1]}: {first_of(refused)}")
    wanted = [_summed(g, s) for g, s in zip(runs[1].pull(cotangents), pair, strict=True)]
    return _finding(subject, given, f"shapes {pair[0]} and {pair[1]}", wanted,
                    lambda: runs[0].pull(cotangents), "sum over the broadcast axes")


def _summed(g: Any, shape: tuple[int, ...]) -> Any:
    """The sum over the axes along which `shape` was broadcast."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


def _by_entries(subject: Subject, point: list[Any], flat: list[Any], row: Run) -> bool:
    """Whether reversing or shortening the inputs does the same to the outputs."""
    if any(numpy_of(o).shape != (_MOST,) for o in row.outs):
        return False
    for part in (slice(None, None, -1), slice(0, 3)):
        given = [like(x, v[part].copy()) for x, v in zip(point, flat, strict=True)]
        seen, error = attempted(subject.values, given)
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
        return not_applicable(f"it is not elementwise in shape {shape}")
    cotangents = [c if c is None else like(c, _cut(c, shape)) for c in known[0]]
    wanted = [_cut(g, shape) for g in known[1]]
    return _finding(subject, given, f"shape {shape}", wanted, lambda: run.pull(cotangents),
                    "take the number of axes from the inputs")


def _finding(
    subject: Subject, given: list[Any], where: str, wanted: list[Any], ask: Callable[[], Any],
    fix: str,
) -> Finding:
    seen, error = attempted(ask)
    if error is None and agree(wanted, seen):
        return passed(where)
    w, s, gap = (None, None, None) if error is not None else worst(wanted, seen)
    return failed(
        f"gradient of `{subject.name}` in {where}",
        "the same numbers as in other shapes" + ("" if w is None else f", {in_words(w)}"),
        first_of(error) if error is not None else in_words(s), fix, inputs=given, wanted=w, seen=s,
        difference=gap,
    )
