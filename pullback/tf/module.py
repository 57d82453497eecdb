"""`tf.Module`: an object that collects the variables and modules in its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import ArgumentError
from .scopes import name_scope, scoped
from .variable import Variable

__all__ = ["Module"]


class Module:
    """Base class that finds the variables and modules in its attributes, recursively.

    >>> from pullback import tf
    >>> class Dense(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w, self.b = tf.Variable(tf.ones([2, 1])), tf.Variable([0.0])
    >>> [tuple(v.shape) for v in Dense().trainable_variables]
    [(1,), (2, 1)]
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or re.sub(r"(?<=.)([A-Z])", r"_\1", type(self).__name__).lower()
        if not self._name.isidentifier():
            raise ArgumentError("argument `name` of tf.Module", "a Python identifier", repr(name))
        self._scope = name_scope(scoped(self._name) + "/")

    @property
    def name(self) -> str:
        """The module's name; by default the class name in lower case."""
        return self._name

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, sorted by the names of the attributes that hold them."""
        return tuple(v for v in self._parts() if isinstance(v, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable variables."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The variables that are not trainable."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in the attributes, recursively."""
        return tuple(m for m in self._parts() if isinstance(m, Module))

    @property
    def name_scope(self) -> name_scope:
        """A context manager in which variable names begin with the module's name."""
        return self._scope

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a method to run in the module's name scope."""

        @functools.wraps(method)
        def call(self: Any, *args: Any, **keywords: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **keywords)

        return call

    def _parts(self) -> list[Any]:
        """Variables and modules: the module's own first, then its submodules', each once."""
        found: list[Any] = []
        seen = {id(self)}
        modules: list[Module] = [self]
        for module in modules:
            attributes = vars(module)
            for name in sorted(attributes):
                for part in _held(attributes[name]):
                    if id(part) not in seen:
                        seen.add(id(part))
                        found.append(part)
                        if isinstance(part, Module):
                            modules.append(part)
        return found


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, (Variable, Module)):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _held(part)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _held(value[key])
