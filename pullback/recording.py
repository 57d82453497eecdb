"""Scopes that make recorded operations remember more: their lines, or all their values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .core.state import setting

__all__ = ["debug", "keep_values"]


@contextmanager
def debug() -> Iterator[None]:
    """Note the user's line with every operation recorded inside; errors then name it.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0], requires_grad=True)
    >>> with pb.debug():
    ...     y = pb.exp(x)
    >>> y += 1
    >>> pb.sum(y).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    pullback.errors.InplaceError: gradient of `exp` of shape (1,), recorded at <doctest ...>:2
    ...
    """
    with setting(lines=True):
        yield


@contextmanager
def keep_values() -> Iterator[None]:
    """Keep every input and output of what is recorded inside, not only what rules read.

    It costs memory; an override after the fact then finds all values it may ask for.

    >>> import pullback as pb
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> with pb.keep_values():
    ...     y = x + pb.tensor(3.0)
    >>> y.backward(overrides={"add": lambda op, g: (g * op.inputs[1], None)})
    >>> x.grad
    Tensor(3.)
    """
    with setting(keep_values=True):
        yield
