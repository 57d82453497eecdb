"""Guesses the mistake in a gradient by comparing it with finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .case import Case, inner
from .differences import slope

Arrays = Sequence[Any]


def by_entry(case: Case, most: int = 24) -> list[Any]:
    """The true gradient for the weights; NaN for entries after the first `most`."""
    f = case.reference(case.subject.surrogate or case.subject.f)
    found, left = [], most
    for i, x in enumerate(case.entries):
        g = numpy.full(x.shape, numpy.nan, x.dtype)
        for index in numpy.ndindex(*x.shape):
            if left <= 0:
                break
            left -= 1
            g[index] = _entry(case, f, i, index)
        found.append(g)
    return found


def _entry(case: Case, f: Any, i: int, index: tuple[int, ...]) -> Any:
    total: Any = 0.0
    units = (1.0, 1j) if case.entries[i].dtype.kind == "c" else (1.0,)
    for unit in units:
        direction = [numpy.zeros_like(x) for x in case.entries]
        direction[i][index] = unit
        size = max(1.0, float(abs(case.entries[i][index])))
        found = slope(f, case.entries, direction, case.eps)
        total = total + unit * inner(case.weights, found.values_trusted)[0] / size
    return total


def hint(wanted: Arrays, seen: Arrays, cotangents: Arrays = ()) -> str:
    """A sentence on the probable mistake, from several cases; unknown numbers are NaN.

    cotangents  of the only output, if it has the shape of the gradient

    >>> import numpy as np
    >>> hint([np.array([2.0, 3.0])], [np.array([-2.0, -3.0])])
    'its sign is wrong'
    """
    if not all(numpy.isfinite(s).all() for s in seen):
        return "the rule returns NaN or infinity where the derivative is finite"
    if not any(numpy.any(s) for s in seen):
        return "the rule returns zeros: does float(), numpy() or detach() cut the path?"
    if any(numpy.iscomplexobj(w) for w in wanted) and (
            _are(wanted, seen, numpy.conj) or _are_conjugated(wanted, seen, cotangents)):
        return "it is the conjugate: gradients are adjoints, so conjugate the derivative"
    if all(_is_square(w) for w in wanted):
        if _are(wanted, seen, lambda w: numpy.swapaxes(w, -1, -2)):
            return "it is the transpose of the right gradient"
        if all(_is_of_one_triangle(w, s) for w, s in zip(wanted, seen, strict=True)):
            return ("it is right for symmetric matrices only: if the inputs are symmetric, check "
                    "the function of (x + x.mT) / 2")
    return _factor(*(numpy.concatenate([numpy.ravel(x) for x in xs]) for xs in (wanted, seen)))


def _factor(wanted: Any, seen: Any) -> str:
    """A sentence, if all entries are the same multiple of the right gradient."""
    known = ~numpy.isnan(wanted)
    wanted, seen = wanted[known], seen[known]
    size = float(numpy.abs(wanted).max(initial=0))
    if size:
        ratio = numpy.vdot(wanted, seen) / numpy.vdot(wanted, wanted)
        if numpy.abs(seen - ratio * wanted).max() <= 1e-4 * size * abs(ratio):
            if abs(ratio - 1) < 1e-4:
                return f"it is off by a relative {abs(ratio - 1):.1g}: is a constant truncated?"
            if abs(ratio + 1) < 1e-4:
                return "its sign is wrong"
            return f"it is {ratio:.6g} times what it should be"
    return "correct the rule; or, if it differs on purpose, pass surrogate=g"


def _are(wanted: Arrays, seen: Arrays, what: Any) -> bool:
    return all(
        numpy.allclose(s, numpy.where(numpy.isnan(what(w)), s, what(w)), rtol=1e-5)
        for w, s in zip(wanted, seen, strict=True)
    )


def _are_conjugated(wanted: Arrays, seen: Arrays, cotangents: Arrays) -> bool:
    """Whether each gradient is its cotangent times the conjugate of the right factor."""
    with numpy.errstate(all="ignore"):
        return bool(cotangents) and all(
            c.shape == w.shape and numpy.allclose(s / c, numpy.conj(w / c), equal_nan=True)
            for w, s, c in zip(wanted, seen, cotangents, strict=True)
        )


def _is_square(x: Any) -> bool:
    return bool(x.ndim >= 2 and x.shape[-1] == x.shape[-2] > 1)


def _is_of_one_triangle(wanted: Any, seen: Any) -> bool:
    """Whether f reads one triangle of a matrix, but its gradient assumes a symmetric matrix."""
    both, other = (x + numpy.conj(numpy.swapaxes(x, -1, -2)) for x in (wanted, seen))
    return _are([both], [other], lambda w: w)
