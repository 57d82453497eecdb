"""Pytrees as one real vector, and batched arrays as plain ones: what solvers work on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..arrays import adapters, numpy_dtype
from ..arrays.batched import Batched, bare, hidden_under, plain_of
from ..core import state as _state
from ..core.cotangent import is_complex, is_complex_dtype
from ..core.tensor import Tensor, is_inexact, raw, wrap
from ..errors import ShapeError
from ..ops import astype, concat, imag, make_complex, real, reshape
from ..transforms.trace import as_output
from ..trees import flatten, leaves

Tags = dict[int, int]
"""The hidden axes of a batched array: tag -> length."""


def floating(value: Any, subject: str) -> Any:
    """A value as a Tensor of real or complex floats; integers are converted."""
    x = Tensor(value) if isinstance(value, (list, tuple)) else as_output(value, subject)
    return x if is_inexact(x._data) else astype(x, numpy.float64)


class Form:
    """The layout of a pytree of numbers and arrays as one real vector.

    A complex array contributes its real parts, then its imaginary parts, so a mixture of real and
    complex equations becomes a real system.
    """

    def __init__(self, tree: Any, subject: str) -> None:
        self.subject = subject
        flat, self.rebuild = flatten(tree)
        self.parts = [floating(x, subject) for x in flat]
        self.shapes = [x.shape for x in self.parts]
        self.dtypes = [x.dtype for x in self.parts]
        self.dtype = numpy.result_type(*map(numpy_dtype, self.dtypes), numpy.float32)
        if self.dtype.kind == "c":
            self.dtype = numpy.finfo(self.dtype).dtype
        self.sizes = [
            math.prod(x.shape) * (2 if is_complex(x) else 1) for x in self.parts
        ]
        self.size = sum(self.sizes)

    def vector(self, tree: Any) -> Any:
        """The vector of a pytree with the same number of entries.

        Raises `ShapeError` for another number of entries.
        """
        pieces = []
        for x in leaves(tree):
            x = as_output(x, self.subject)
            for part in (real(x), imag(x)) if is_complex(x) else (x,):
                if part.dtype != self.dtype:
                    part = astype(part, self.dtype)
                pieces.append(part if part.ndim == 1 else reshape(part, (part.size,)))
        found = pieces[0] if len(pieces) == 1 else concat(pieces)
        if found.shape != (self.size,):
            raise ShapeError(
                f"result of {self.subject}", f"{self.size} entries, as many as the unknown has",
                f"{found.shape[0]}",
            )
        return found

    def tree(self, vector: Any) -> Any:
        """The pytree of a vector."""
        found, start = [], 0
        for shape, dtype, size in zip(self.shapes, self.dtypes, self.sizes, strict=True):
            piece = vector[start : start + size] if size != self.size else vector
            start += size
            if is_complex_dtype(dtype):
                piece = make_complex(piece[: size // 2], piece[size // 2 :])
            piece = piece if piece.dtype == dtype else astype(piece, dtype)
            found.append(piece if shape == piece.shape else reshape(piece, shape))
        return self.rebuild(found)

    def between(self, function: Callable[..., Any], args: Sequence[Any] = ()) -> Any:
        """A function of pytrees, as a function of vectors."""

        def of_vector(vector: Any) -> Any:
            return self.vector(function(self.tree(vector), *args))

        of_vector.__name__ = getattr(function, "__name__", "a function")
        return of_vector


# Hidden axes ----------------------------------------------------------------------------------


def tags_of(*arrays: Any) -> Tags:
    """The hidden (vmap) axes of some arrays or Tensors, the outermost first."""
    found: Tags = {}
    for array in arrays:
        array = raw(array)
        while array.__class__ is Batched:
            found[array.tag] = array.value.shape[0]
            array = array.value
    return dict(sorted(found.items()))


def plain(array: Any, tags: Tags) -> Any:
    """The NumPy array with hidden axes in front, repeated along those that it lacks."""
    return _numbers(plain_of(raw(array), list(tags), list(tags.values())))


def hidden(array: Any, tags: Tags) -> Any:
    """The array with its leading axes hidden."""
    return hidden_under(array, list(tags))


def mapped_over(x: Any, tags: Tags) -> Any:
    """A tensor repeated along the hidden axes that it lacks, without its history."""
    if tags.keys() <= tags_of(x).keys():
        return wrap(x._out, x._data)
    tags = {**tags, **tags_of(x)}
    tags = dict(sorted(tags.items()))
    return wrap(x._out, hidden(as_of(plain(x, tags), x), tags))


def _numbers(array: Any) -> Any:
    """An array of any library as a NumPy array, below all hidden axes."""
    array = bare(array)
    return adapters[array.__class__].numpy(array)


def as_of(array: Any, x: Any) -> Any:
    """A NumPy array converted to the library of a tensor."""
    like = bare(raw(x))
    return adapters[like.__class__].asarray(array, like.dtype, like)


def everywhere(condition: Any) -> bool:
    """Whether a condition holds in all entries and for all examples of every vmap."""
    return bool(numpy.all(_numbers(raw(condition))))


def largest(x: Any) -> float:
    """The largest absolute value over all entries and examples; NaN if there is one."""
    return float(numpy.max(numpy.abs(_numbers(raw(x))), initial=0.0))


class Joint:
    """All examples of a batched vector as one plain vector, for external solvers."""

    def __init__(self, like: Any, tags: Tags) -> None:
        self.tags, self.like, self.cls = tags, bare(like._data), like._out
        self.shape = (*tags.values(), *like.shape)

    def plain(self, x: Any) -> Any:
        """A tensor as a NumPy vector of float64."""
        return plain(x, self.tags).astype(numpy.float64).reshape(-1)

    def tensor(self, vector: Any) -> Any:
        """A NumPy vector as a tensor."""
        array = as_of(numpy.array(vector).reshape(self.shape), self.like)
        return wrap(self.cls, hidden(array, self.tags))

    def between(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A function of tensors, as a function of NumPy vectors."""
        return lambda vector: self.plain(function(self.tensor(vector)))


def unrecorded() -> _state.State:
    """Turn recording, tapes and tangents off while a solver runs; `restore` undoes it."""
    return _state.change(enabled=False, tapes=(), accumulators=(), closed=None, watching=False)


def precision(dtype: Any) -> float:
    """The default bound on residuals: eps^(3/4), about 2e-12 for float64."""
    return float(numpy.finfo(numpy_dtype(dtype)).eps) ** 0.75


__all__ = [
    "Form", "Joint", "Tags", "as_of", "everywhere", "floating", "hidden", "largest", "mapped_over",
    "plain", "precision", "tags_of", "unrecorded",
]
