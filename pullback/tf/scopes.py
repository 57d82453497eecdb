"""TensorFlow's scopes: names, devices, control dependencies. Only name scopes have an effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ..core.state import Scoped
from ..errors import ArgumentError
from ..kinds import symbols

__all__ = [
    "control_dependencies", "device", "get_current_name_scope", "init_scope", "name_scope",
]

_scope: Scoped[str] = Scoped("tf_name_scope", "")


class name_scope:
    """A context manager that prefixes the names of new variables with a name and `/`.

    A name that ends with `/` is absolute: the enclosing scopes' names are not prepended.

    >>> from pullback import tf
    >>> with tf.name_scope("layer") as scope:
    ...     v = tf.Variable(0.0, name="w")
    >>> scope, v.name
    ('layer/', 'layer/w:0')
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ArgumentError("tf.name_scope", "a name", repr(name))
        self._name = name
        self._around: list[str] = []

    @property
    def name(self) -> str:
        """The name as given."""
        return self._name

    def __enter__(self) -> str:
        around, name = _scope.get(), self._name
        if name and not name.endswith("/"):
            name = f"{around}{name}/"
        self._around.append(_scope.set(name))
        return name

    def __exit__(self, *exc: object) -> None:
        _scope.set(self._around.pop())


def scoped(name: str) -> str:
    """A name, prefixed with the names of the enclosing scopes."""
    return _scope.get() + name


def get_current_name_scope() -> str:
    """The names of the enclosing scopes, joined by `/`.

    >>> get_current_name_scope()
    ''
    """
    return _scope.get().rstrip("/")


def device(device_name: Any) -> AbstractContextManager[None]:
    """A context manager without effect: the array library places arrays.

    >>> with device("/CPU:0"):
    ...     pass
    """
    return nullcontext()


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """A context manager without effect: side effects run in program order.

    >>> with control_dependencies([]):
    ...     pass
    """
    return nullcontext()


@contextmanager
def init_scope() -> Iterator[None]:
    """A context manager in which operations run eagerly, even inside a traced function.

    >>> with init_scope():
    ...     pass
    """
    with symbols.building(None):
        yield
