"""NumPy's methods of an array, bound to `Tensor`: `x.sum(axis=0)` is `numpy.sum(x, axis=0)`.

The standard has functions only. Code that is written for NumPy's arrays has both, and so do the
hands of its authors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..core.op import OPS
from ..core.tensor import Tensor, inexact_dtypes
from .protocols import answered

SAME = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumprod", "cumsum",
    "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat",
    "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)
"""Methods that are NumPy's function of this name, with the array as the first argument.

`sort` is not among them: NumPy's method sorts in place.
"""


def _as_function(name: str) -> Callable[..., Any]:
    function = getattr(numpy, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return answered(function, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"`numpy.{name}` of it, with the arguments that are left."
    return method


DIRECT = ("mean", "prod", "sum")
"""Methods that training loops call: on floating-point numbers, with an axis and `keepdims` alone,
NumPy's function is the operation of this name, which is called without NumPy's protocol."""
_AXES = {"axis", "keepdims"}


def _as_operation(name: str) -> Callable[..., Any]:
    general = _as_function(name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        plain = inexact_dtypes[self._data.dtype] and _AXES.issuperset(kwargs)
        if plain and not args:
            return OPS[name](self, **kwargs)
        if plain and len(args) == 1 and "axis" not in kwargs:
            return OPS[name](self, axis=args[0], **kwargs)
        return general(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, general.__qualname__
    method.__doc__ = general.__doc__
    return method


def _reshape(self: Any, *shape: Any, **how: Any) -> Any:
    """The same entries in another shape: a tuple, or its lengths one by one; one may be -1.

    >>> import pullback as pb
    >>> pb.arange(6).reshape(2, -1).shape
    (2, 3)
    """
    if how:
        return answered(numpy.reshape, (self, *_one(shape)), how)
    return OPS["reshape"](self, *_one(shape))


def _transpose(self: Any, *axes: Any) -> Any:
    """The axes in another order, in the opposite one if none is given.

    >>> import pullback as pb
    >>> pb.ones((2, 3, 4)).transpose(1, 0, 2).shape
    (3, 2, 4)
    """
    return answered(numpy.transpose, (self, *_one(axes)), {})


def _one(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Lengths or axes that may come as one tuple or one by one, as one."""
    return (given,) if len(given) > 1 else given


def _compress(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
    """The entries where a condition holds, or the parts along `axis`.

    >>> import pullback as pb
    >>> pb.arange(4).compress([True, False, True, False])
    Tensor([0, 2])
    """
    return answered(numpy.compress, (condition, self, *args), kwargs)


def _flatten(self: Any, order: Any = "C") -> Any:
    """A copy in one row.

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
    """The real part; a real tensor itself.

    >>> import pullback as pb
    >>> pb.tensor(1 + 2j).real
    Tensor(1.)
    """
    return answered(numpy.real, (self,), {})


def _imag(self: Any) -> Any:
    """The imaginary part; zeros of a real tensor.

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
"""Name -> what is bound to `Tensor`."""

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
