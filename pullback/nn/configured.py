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
    """A module that applies a function with fixed options, which are its attributes.

    A subclass is defined with these keywords:

    function  called with the inputs, and with the options as keywords
    inputs    the number of inputs
    options   name -> default: the constructor's arguments in order; by default the arguments of
              the function after its inputs
    show      the names of the options in `repr`; by default all, without an `inplace` of False
    bare      `repr` shows values only

    >>> from pullback import ops
    >>> class Softplus(Configured, function=ops.softplus):
    ...     pass
    >>> Softplus(beta=2.0)
    Softplus(beta=2.0)
    """

    _options: ClassVar[dict[str, Any] | None] = None
    _function: ClassVar[Callable[..., Any]]
    _show: ClassVar[str | None] = None
    _bare: ClassVar[bool] = False

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, inputs: int = 1,
        options: dict[str, Any] | None = None, show: str | None = None, bare: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init_subclass__(**keywords)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        if show is not None:
            cls._show = show
        if bare:
            cls._bare = bare
        if function is not None:
            cls._function = staticmethod(function)
            if options is None and cls._options is None:
                after = [*inspect.signature(function).parameters.values()][inputs:]
                options = {p.name: p.default for p in after if p.kind is kind}
        if options is not None:
            cls._options = options
            cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [inspect.Parameter(name, kind, default=value) for name, value in options.items()]
            )

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()
        bound = type(self).__signature__.bind(*args, **keywords)  # type: ignore[attr-defined]
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def _chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._options or ()}

    def forward(self, *inputs: Any) -> Any:
        """Compute the layer's output."""
        return type(self)._function(*inputs, **self._chosen())

    def extra_repr(self) -> str:
        """The options."""
        shown = {k: v for k, v in self._chosen().items() if k != "inplace" or v}
        if self._show is not None:
            shown = {k: getattr(self, k) for k in self._show.split()}
        return ", ".join(f"{v}" if self._bare else f"{k}={v!r}" for k, v in shown.items())
