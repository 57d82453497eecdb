"""Measures of arrays: the norm, the share of zeros, a single number; none is recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ...arrays import adapters, known
from ...arrays.symbol import Symbol
from ...core.op import OPS
from ...core.tensor import Tensor, is_inexact, to_array
from ...errors import ArgumentError, ArgumentTypeError, PullbackError, SymbolError

_TINY = 1e-30  # below it, squares may have lost entries to underflow


def array_of(value: Any) -> Any:
    """The raw array of a Tensor, a number, an array or nested numbers, without history.

    Raises `SymbolError` for a tensor of a graph that is being built.
    """
    if isinstance(value, Tensor):
        array = value._data
    elif is_slices(value):
        return _gathered(value)
    else:
        array = to_array(value.detach() if hasattr(value, "detach") else value)
    if isinstance(array, Symbol):
        raise SymbolError(
            "step of a monitor", "numbers", "a tensor of a graph that is being built",
            "call step outside the traced function, with its results",
        )
    return array


def is_slices(value: Any) -> bool:
    """Whether it is a TensorFlow-style `IndexedSlices` gradient (not a PyTorch tensor)."""
    return hasattr(value, "indices") and not callable(getattr(value, "values", len))


def number_of(value: Any, subject: str) -> float:
    """A number as a Python float; does not count as leaving the library.

    Raises `ArgumentError` for several entries, `ArgumentTypeError` if it is not a real number.

    >>> import pullback as pb
    >>> number_of(pb.tensor([2.5], requires_grad=True), "doctest")
    2.5
    """
    if value.__class__ is float:
        return float(value)
    try:
        array = array_of(value)
        found = adapters[array.__class__].numpy(array)
        kind, size = found.dtype.kind, found.size
    except SymbolError:
        raise
    except (PullbackError, TypeError, ValueError):
        kind, size = "O", 1
    if kind not in "fiubV":
        raise ArgumentTypeError(subject, "a real number", f"a {type(value).__name__}")
    if size != 1:
        raise ArgumentError(
            subject, "one number", f"shape {tuple(found.shape)}", "reduce it first, as with pb.mean"
        )
    return float(found.reshape(()).astype(numpy.float64))


def norm(array: Any) -> float:
    """√Σ|entry|² without intermediate overflow or underflow; NaN or inf if an entry is.

    >>> round(norm(numpy.array([3e30, 4e30], numpy.float32)) / 1e30, 3)
    5.0
    """
    flat = _flat(array)
    if not flat.shape[0]:
        return 0.0
    with numpy.errstate(all="ignore"):
        total = _square(flat)
        if _TINY < total < math.inf:
            return math.sqrt(total)
        largest = _float(OPS["max"](OPS["abs"](flat)))
        if not 0 < largest < math.inf:
            return largest
        return largest * math.sqrt(_square(flat / largest))


def distance(after: Any, before: Any) -> float:
    """The norm of the difference of two arrays."""
    return norm(OPS["subtract"](_wide(after), _wide(before)))


def zero_share(array: Any) -> float:
    """The share of entries that are exactly zero, from 0 to 1; 0 for an empty array.

    >>> zero_share(numpy.array([0.0, 1.0, 0.0, 2.0]))
    0.5
    """
    count = math.prod(array.shape)
    return 1 - _float(OPS["count_nonzero"](array)) / count if count else 0.0


def is_learnt(value: Any) -> bool:
    """Whether a value can be trained: floating numbers that are available now."""
    if value.__class__ is float:
        return True
    data = value._data if isinstance(value, Tensor) else value
    return hasattr(data, "dtype") and hasattr(data, "shape") and is_inexact(data)


def is_there(array: Any) -> bool:
    """Whether an array has entries now; false while a function is traced."""
    return not isinstance(array, Symbol) and known(array) is not None


def _wide(array: Any) -> Any:
    if array.__class__ is float:
        return numpy.array([array])
    narrow = array.dtype.itemsize < 4
    return OPS["astype"](array, _dtype(array, "float32")) if narrow else array


def _flat(array: Any) -> Any:
    """The entries as a vector; in memory order, because a copy takes longer than the norm."""
    wide = _wide(array)
    strides: Any = getattr(wide, "strides", ())
    if len(strides) > 1 and strides[0] < strides[-1]:
        wide = OPS["permute_dims"](wide, tuple(reversed(range(len(strides)))))
    return OPS["reshape"](wide, (-1,))


def _dtype(array: Any, name: str) -> Any:
    return adapters[array.__class__].dtype(name)


def _square(flat: Any) -> float:
    return _float(OPS["real"](OPS["vecdot"](flat, flat)))


def _float(array: Any) -> float:
    return float(adapters[array.__class__].numpy(array))


def _gathered(slices: Any) -> Any:
    """The nonzero rows of an `IndexedSlices` gradient; adds up rows with the same index."""
    values, places = (numpy.asarray(array_of(v)) for v in (slices.values, slices.indices))
    kept, where = numpy.unique(places.reshape(-1), return_inverse=True)
    rows = numpy.zeros((len(kept), *values.shape[1:]), values.dtype)
    numpy.add.at(rows, where.reshape(-1), values)
    return rows
