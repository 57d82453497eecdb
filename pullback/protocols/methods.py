"""NumPy's methods of an array, bound to `Tensor`: `x.sum(axis=0)` is `numpy.sum(x, axis=0)`.

The Array API standard has functions only; code written for NumPy arrays uses both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..core.op import OPS
from ..core.tensor import Tensor, inexact_dtypes
from . import answered

SAME = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumprod", "cumsum",
    "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat",
    "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)
"""Methods equal to the NumPy function of the same name, with the array as first argument.

`sort` is excluded: NumPy's method sorts in place.
"""


def _as_function(name: str) -> Callable[..., Any]:
    function = getattr(numpy, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return answered(function, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"`numpy.{name}` of the tensor, with the remaining arguments."
    return method


DIRECT = ("mean", "prod", "sum")
"""Methods that training loops call: on floating-point numbers, with an axis and `keepdims` alone,
NumPy's function is the operation of this name, which is called without NumPy's protocol."""
_AXES = {"axis", "keepdims"}


def _as_operation(name: str) -> Callable[..., Any]:
    general = _as_function(name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        plain = inexact_dtypes[self._array.dtype] and _AXES.issuperset(kwargs)
        if plain and not args:
            return OPS[name](self, **kwargs)
        if plain and len(args) == 1 and "axis" not in kwargs:
            return OPS[name](self, axis=args[0], **kwargs)
        return general(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, general.__qualname__
    method.__doc__ = general.__doc__
    return method


def _reshape(self: Any, *shape: Any, **how: Any) -> Any:
    """The same entries in another shape, given as a tuple or as lengths; one length may be -1.

    >>> import pullback as pb
    >>> pb.arange(6).reshape(2, -1).shape
    (2, 3)
    """
    if how:
        return answered(numpy.reshape, (self, *_one(shape)), how)
    return OPS["reshape"](self, *_one(shape))


def _transpose(self: Any, *axes: Any) -> Any:
    """The axes in the given order, or reversed by default.

    >>> import pullback as pb
    >>> pb.ones((2, 3, 4)).transpose(1, 0, 2).shape
    (3, 2, 4)
    """
    return answered(numpy.transpose, (self, *_one(axes)), {})


def _one(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Lengths or axes given as one tuple or as separate arguments, as one tuple."""
    return (given,) if len(given) > 1 else given


def _compress(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
    """The entries, or the slices along `axis`, where a condition holds.

    >>> import pullback as pb
    >>> pb.arange(4).compress([True, False, True, False])
    Tensor([0, 2])
    """
    return answered(numpy.compress, (condition, self, *args), kwargs)


def _flatten(self: Any, order: Any = "C") -> Any:
    """A 1-D copy of all entries.

    >>> import pullback as pb
    >>> pb.ones((2, 3)).flatten().shape
    (6,)
    """
    return answered(numpy.copy, (answered(numpy.ravel, (self, order), {}),), {})


def _conj(self: Any) -> Any:
    """The complex conjugate.

    >>> import pullback as pb
    >>> pb.tensor(1 + 2j).conj()
    Tensor(1.-2.j, dtype=complex128)
    """
    return OPS["conj"](self)


def _real(self: Any) -> Any:
    """The real part; a real tensor itself is returned.

    >>> import pullback as pb
    >>> pb.tensor(1 + 2j).real
    Tensor(1.)
    """
    return answered(numpy.real, (self,), {})


def _imag(self: Any) -> Any:
    """The imaginary part; zeros for a real tensor.

    >>> import pullback as pb
    >>> pb.tensor(1 + 2j).imag
    Tensor(2.)
    """
    return answered(numpy.imag, (self,), {})


METHODS: dict[str, Any] = {
    **{name: _as_function(name) for name in SAME},
    **{name: _as_operation(name) for name in DIRECT}, "reshape": _reshape, "transpose": _transpose,
    "compress": _compress, "flatten": _flatten, "conj": _conj, "conjugate": _conj,
    "real": property(_real), "imag": property(_imag),
}
"""Name -> method of `Tensor`."""

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
