"""Modules that store their options as attributes and pass them to a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from .module import Module

__all__ = ["NEEDED", "Configured"]

NEEDED = inspect.Parameter.empty
"""Marks an option without a default."""


class Configured(Module):
    """A module that applies a function with fixed options.

    A subclass defines `_options`, name -> default: the constructor's arguments in order, which
    become attributes; and `_function`, called with the inputs and the options as keywords.
    """

    _options: ClassVar[dict[str, Any]] = {}
    _function: ClassVar[Callable[..., Any]]
    _bare: ClassVar[bool] = False  # if True, repr shows options without names

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "_options" in vars(cls):
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters = [
                inspect.Parameter(name, kind, default=default)
                for name, default in cls._options.items()
            ]
            cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()
        bound = type(self).__signature__.bind(*args, **keywords)  # type: ignore[attr-defined]
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def forward(self, *inputs: Any) -> Any:
        """Compute the layer's output."""
        options = {name: getattr(self, name) for name in self._options}
        return type(self)._function(*inputs, **options)

    def extra_repr(self) -> str:
        """The options; `inplace` only if it is set."""
        shown = [
            f"{getattr(self, name)}" if self._bare else f"{name}={getattr(self, name)!r}"
            for name in self._options if name != "inplace" or self.inplace
        ]
        return ", ".join(shown)
