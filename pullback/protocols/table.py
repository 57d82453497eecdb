"""The table of rules for NumPy's functions; the files of rules add theirs to it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeGuard

import numpy

from ..arrays.batched import adapter_of
from ..core.tensor import inexact_dtypes, raw
from ..errors import DtypeError

pb: Any = import_module(__name__.partition(".")[0])
"""The front page: rules are written with the public functions."""

RULES: dict[str, Callable[..., Any]] = {}
"""name in `numpy` -> a function with NumPy's parameters, or those that are supported here.

It may return `NotImplemented` for unsupported argument values. `out` is not among the parameters:
it is handled in one place for all functions.
"""


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the rule of NumPy's functions with these names."""

    def take(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return take


def array(x: Any) -> Any:
    """A Tensor or an array unchanged, anything else as a Tensor."""
    return x if hasattr(x, "shape") else pb.asarray(x)


def is_integer(x: Any) -> TypeGuard[int]:
    """Whether a value is a single integer, of Python or NumPy."""
    return isinstance(x, (int, numpy.integer))


def entries(value: Any) -> tuple[Any, ...]:
    """Axes or lengths, one or a sequence of them, as a tuple."""
    return (value,) if is_integer(value) else tuple(value)


def is_floating(x: Any) -> bool:
    """Whether an array or Tensor holds real or complex floating numbers."""
    return inexact_dtypes[x.dtype]


def cast(x: Any, dtype: Any) -> Any:
    """x converted to a dtype; x itself if it has the dtype already, or for None."""
    return x if dtype is None or x.dtype == dtype else pb.astype(x, dtype)


def fits(dtype: Any, target: Any, casting: Any) -> bool:
    """Whether a dtype may be cast to another; True for dtypes of other libraries than NumPy."""
    if not isinstance(dtype, numpy.dtype) or not isinstance(target, numpy.dtype):
        return True
    return numpy.can_cast(dtype, target, casting)


def cast_if_it_fits(subject: str, x: Any, dtype: Any, casting: str = "same_kind") -> Any:
    """x converted to a dtype if NumPy's casting rule allows it; None leaves x unchanged.

    Raises `DtypeError` otherwise, for example for floats, which carry a history, to integers.
    """
    target = None if dtype is None else adapter_of(raw(x)).dtype(dtype)
    if target is not None and not fits(x.dtype, target, casting):
        raise DtypeError(
            f"argument `dtype` of numpy.{subject}",
            f"a dtype to which {x.dtype} casts by {casting!r}",
            str(target),
        )
    return cast(x, target)
