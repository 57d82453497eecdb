"""Inside `vmap`: every argument unbatched in turn, batches of several lengths, other axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy

from ....core.op import OPS
from ....core.tensor import raw
from ....transforms import grad, value_and_grad, vmap
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject, like, numpy_of
from .asking import REFUSALS, Loss, eager, numbers
from .comparing import agree, attempted, first_of, fresh, in_words, worst
from .marking import rules_of

LENGTHS = (1, 3)
_FIX = "in a rule, take the batched arguments from in_dims, and the number of examples from info"
Axes = tuple[int | None, ...]


@law("batches", "a rule that is wrong in vmap if an argument is unbatched, or for some lengths")
def batches(subject: Subject) -> Iterator[Finding]:
    """In vmap each example has the gradient that it has alone, whichever arguments are batched."""
    point = fresh(subject)
    tensors = subject.tensors(point, requires_grad=True)
    with steady(0):
        outs = subject.of(*tensors)
    cotangents = [c for c in subject.cotangents(outs, subject.rng(82)) if c is not None]
    loss = Loss(subject, cotangents)
    reason = _unsuitable(subject, loss, point)
    if reason:
        yield not_applicable(reason, path="vmap")
        return
    ruled = bool(rules_of([o._node for o in outs]))
    n = len(point)
    for axes, length in _ways(point):
        batch = [point, *(subject.near(point, subject.rng(83 + k)) for k in range(length - 1))]
        examples = [[x if a is not None else y for x, y, a in zip(e, point, axes, strict=True)]
                    for e in batch]
        where = _where(subject, axes, length)
        wanted, error = attempted(lambda e=examples: [eager(loss, subject, x) for x in e])
        if error is not None or not all(numpy.isfinite(g).all() for gs in wanted for g in gs):
            yield not_applicable(f"not defined for {where}", path="vmap")
            continue
        given = _stacked(subject, point, examples, axes)
        stacks = [numpy.stack([gs[i] for gs in wanted]) for i in range(n)]
        yield _compared(subject, f"vmap of grad, {where}", stacks, ruled,
                        partial(_of_each, loss, n, given, axes))
        sums = [numpy.sum(s, 0) if a is None else numpy.moveaxis(s, 0, a)
                for s, a in zip(stacks, axes, strict=True)]
        yield _compared(subject, f"grad of vmap, {where}", sums, ruled,
                        partial(_of_all, loss, n, given, axes))


def _ways(point: Sequence[Any]) -> Iterator[tuple[Axes, int]]:
    """The axes of the arguments, None if unbatched, and the number of examples."""
    every: Axes = (0,) * len(point)
    for length in LENGTHS:
        yield every, length
    if len(point) == 1:
        if point[0].ndim:
            yield (-1,), LENGTHS[-1]
        return
    for i in range(len(point)):
        yield tuple(None if j == i else 0 for j in range(len(point))), LENGTHS[-1]
    if len(point) > 2:
        for i in range(len(point)):
            yield tuple(0 if j == i else None for j in range(len(point))), LENGTHS[-1]


def _where(subject: Subject, axes: Axes, length: int) -> str:
    count = f"{length} example" + "s" * (length > 1)
    apart = [name for name, a in zip(subject.names, axes, strict=True) if a is None]
    if apart:
        return f"{count}, {' and '.join(apart)} unbatched"
    return f"{count} along axis {axes[0]}"


def _unsuitable(subject: Subject, loss: Loss, point: list[Any]) -> str:
    """Why `vmap` is not tried: the function rejects it, or each call draws random numbers."""
    values = []
    for seed in (0, 1):
        with steady(seed):
            values.append(numpy_of(raw(loss(*subject.tensors(point)))))
    if not agree(values[:1], values[1:]):
        return "it draws random numbers"
    if not numpy.isfinite(values[0]).all():
        return "its value is not finite at the examples"
    one = _stacked(subject, point, [point, point], (0,) * len(point))
    _, error = attempted(lambda: numpy_of(raw(vmap(loss)(*one))))
    return "" if error is None else f"the function itself raises inside vmap: {first_of(error)}"


def _stacked(
    subject: Subject, point: Sequence[Any], examples: Sequence[Sequence[Any]], axes: Axes
) -> list[Any]:
    made = []
    for i, (x, axis) in enumerate(zip(point, axes, strict=True)):
        whole = x if axis is None else like(x, numpy.stack(
            [numpy_of(e[i]) for e in examples], axis))
        made.append(whole)
    return subject.tensors(made)


def _of_each(loss: Loss, n: int, given: list[Any], axes: Axes) -> list[Any]:
    with steady(0):
        _, found = vmap(value_and_grad(loss, argnums=tuple(range(n))), in_axes=axes)(*given)
    return numbers(found)


def _of_all(loss: Loss, n: int, given: list[Any], axes: Axes) -> list[Any]:
    def whole(*xs: Any) -> Any:
        return OPS["sum"](vmap(loss, in_axes=axes)(*xs))

    with steady(0):
        return numbers(grad(whole, argnums=tuple(range(n)))(*given))


def _compared(
    subject: Subject, where: str, wanted: list[Any], ruled: bool, ask: Callable[[], list[Any]]
) -> Finding:
    seen, error = attempted(ask)
    if error is None and agree(wanted, seen):
        return passed(where, path="vmap")
    if error is not None and (not ruled or isinstance(error, REFUSALS)):
        return not_applicable(f"raises: {first_of(error)}", path="vmap")
    w, s, gap = (None, None, None) if error is not None else worst(wanted, seen)
    return failed(
        f"gradient of `{subject.name}`, by {where}",
        "the gradient of each example alone" + ("" if w is None else f", {in_words(w)}"),
        first_of(error) if error is not None else in_words(s), _FIX, path="vmap",
        inputs=subject.point, wanted=w, seen=s, difference=gap,
    )
