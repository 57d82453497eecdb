"""Modules that keep their options as attributes and hand them to a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from .module import Module

__all__ = ["NEEDED", "Configured"]

NEEDED = inspect.Parameter.empty
"""The default of an option that has none."""


class Configured(Module):
    """A module that is a function with some options.

    A subclass has `_options`, name -> default, which are its constructor's arguments in order and
    its attributes; and `_function`, which takes the inputs and the options by name.
    """

    _options: ClassVar[dict[str, Any]] = {}
    _function: ClassVar[Callable[..., Any]]
    _bare: ClassVar[bool] = False  # printed without names

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
        """What calling it computes."""
        options = {name: getattr(self, name) for name in self._options}
        return type(self)._function(*inputs, **options)

    def extra_repr(self) -> str:
        """The options; `inplace` where it is asked for."""
        shown = [
            f"{getattr(self, name)}" if self._bare else f"{name}={getattr(self, name)!r}"
            for name in self._options if name != "inplace" or self.inplace
        ]
        return ", ".join(shown)
