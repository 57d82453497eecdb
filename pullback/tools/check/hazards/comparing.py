"""Shared by the hazards: gradients with fixed random numbers, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..subject import Subject, numpy_of
from ..words import first_of as first_of
from ..words import in_words as in_words


def fresh(subject: Subject) -> list[Any]:
    """Contiguous copies of the point."""
    return [x.copy() if isinstance(x, numpy.ndarray) else x for x in subject.point]  # C order


class Run:
    """A forward pass at a point with fixed random numbers, ready for backward passes."""

    def __init__(self, subject: Subject, point: Sequence[Any]) -> None:
        self.outs, self._pull = subject.pulling(list(point))
        self.subject = subject

    def cotangents(self, salt: int = 1) -> list[Any]:
        """Random cotangents of the outputs."""
        return self.subject.cotangents(self.outs, self.subject.rng(salt))

    def pull(self, cotangents: Sequence[Any], seed: int = 1) -> list[Any]:
        """The gradients as NumPy arrays; `seed` is for random numbers drawn by the rules."""
        return [numpy_of(g) for g in self._pull(list(cotangents), seed)]


def eps_of(*arrays: Any) -> float:
    """The relative precision that results of these dtypes agree to: half of their digits."""
    kinds = [numpy.asarray(a).dtype for a in arrays]
    steps = [float(numpy.finfo(d).eps) for d in kinds if d.kind in "fc"]
    return float(max(steps, default=2.0**-52) ** 0.5)


def agree(wanted: Sequence[Any], seen: Sequence[Any]) -> bool:
    """Whether arrays are equal up to rounding, with NaN in the same entries."""
    return all(_agree(w, s) for w, s in zip(wanted, seen, strict=True))


def _agree(wanted: Any, seen: Any) -> bool:
    wanted, seen = numpy_of(wanted), numpy_of(seen)
    if wanted.shape != seen.shape:
        return False
    finite = numpy.abs(wanted[numpy.isfinite(wanted)])
    scale = float(numpy.max(finite, initial=0.0))
    with numpy.errstate(all="ignore"):
        return bool(numpy.allclose(
            seen, wanted, rtol=0, atol=eps_of(wanted, seen) * max(scale, 1e-300), equal_nan=True
        ))


def worst(wanted: Sequence[Any], seen: Sequence[Any]) -> tuple[Any, Any, float | None]:
    """The first pair of arrays that differs, and their largest difference."""
    for w, s in zip(wanted, seen, strict=True):
        if not _agree(w, s):
            w, s = numpy_of(w), numpy_of(s)
            same = w.shape == s.shape
            with numpy.errstate(all="ignore"):
                return w, s, float(numpy.max(numpy.abs(w - s), initial=0.0)) if same else None
    return None, None, None


def attempted(run: Callable[..., Any], *args: Any) -> tuple[Any, Exception | None]:
    """A function's result, or the error that it raises; hides NumPy's warnings."""
    try:
        with numpy.errstate(all="ignore"):
            return run(*args), None
    except Exception as error:
        return None, error
