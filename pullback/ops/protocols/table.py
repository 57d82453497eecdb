"""The table of NumPy's functions that have a rule, to which the files of rules add theirs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeGuard

import numpy

from ...core.batching import adapter_of
from ...core.tensor import inexact_dtypes, raw
from ...errors import DtypeError

pb: Any = import_module(__name__.partition(".")[0])
"""The front page: rules are written in terms of what users have."""

RULES: dict[str, Callable[..., Any]] = {}
"""name in `numpy` -> a function with NumPy's parameters, or those of them that have a meaning here.

It may return `NotImplemented` for values of them that have none. `out` is not among them: it is
the same for all.
"""


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the rule of NumPy's functions of these names."""

    def take(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return take


def array(x: Any) -> Any:
    """A Tensor or an array as it is, anything else as a Tensor."""
    return x if hasattr(x, "shape") else pb.asarray(x)


def is_integer(x: Any) -> TypeGuard[int]:
    """Whether a value is one integer, of Python or of NumPy."""
    return isinstance(x, (int, numpy.integer))


def entries(value: Any) -> tuple[Any, ...]:
    """Axes, or lengths: one, or a sequence of them, as a tuple."""
    return (value,) if is_integer(value) else tuple(value)


def is_floating(x: Any) -> bool:
    """Whether an array or Tensor holds real or complex floating numbers."""
    return inexact_dtypes[x.dtype]


def cast(x: Any, dtype: Any) -> Any:
    """x in a dtype; itself if it is of it, or if None is asked for."""
    return x if dtype is None or x.dtype == dtype else pb.astype(x, dtype)


def fits(dtype: Any, target: Any, casting: Any) -> bool:
    """Whether a dtype may be cast to another; of dtypes that are not NumPy's, the cast decides."""
    if not isinstance(dtype, numpy.dtype) or not isinstance(target, numpy.dtype):
        return True
    return numpy.can_cast(dtype, target, casting)


def cast_if_it_fits(who: str, x: Any, dtype: Any, casting: str = "same_kind") -> Any:
    """x in a dtype that NumPy would cast it to; None leaves it.

    Raises `DtypeError` for one that it would not, as when floats, with their history, would become
    integers.
    """
    target = None if dtype is None else adapter_of(raw(x)).dtype(dtype)
    if target is not None and not fits(x.dtype, target, casting):
        raise DtypeError(
            f"argument `dtype` of numpy.{who}", f"one that {x.dtype} is cast to by {casting!r}",
            str(target),
        )
    return cast(x, target)
