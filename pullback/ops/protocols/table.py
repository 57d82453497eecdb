"""The table of NumPy's functions that have a rule, to which the files of rules add theirs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...core.tensor import inexact_dtypes

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


def is_floating(x: Any) -> bool:
    """Whether an array or Tensor holds real or complex floating numbers."""
    return inexact_dtypes[x.dtype]


def cast(x: Any, dtype: Any) -> Any:
    """x in a dtype; itself if it is of it, or if None is asked for."""
    return x if dtype is None or x.dtype == dtype else pb.astype(x, dtype)
