"""Scopes that make recorded operations remember more: their lines, or all their values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .core.state import setting

__all__ = ["debug", "keep_values"]


@contextmanager
def debug(nan: bool = False, inf: bool = False, inplace: bool = False) -> Iterator[None]:
    """Note the user's line with every operation inside, for errors and `explain`; stop at once.

    nan, inf  an operation that makes a NaN, or an infinity, of ordinary numbers raises an
              `AnomalyError`, forward; and so does a step of a backward, which names the operation
              and its line, the argument, the index, and the forward values there. What a traced
              function or a session runs is looked at as a whole, forward for NaN only
    inplace   NumPy arrays that a recorded operation needs for its gradient are read-only until they
              are freed, so that the line that writes to them raises (NumPy's `ValueError` for an
              array, `InplaceError` for a Tensor). Views that were taken before are not held

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
    >>> x = pb.tensor([4.0, 0.0], requires_grad=True)
    >>> with pb.debug(nan=True, inf=True):
    ...     pb.sum(pb.sqrt(x)).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    pullback.errors.AnomalyError: gradient of `sqrt` of shape (2,), recorded at <doctest ...
      expected: finite numbers
      got:      inf at index (1,): the cotangent that came in is 1.0; ...
    """
    from .core.guards import guarding  # most programs never debug
    from .core.journal import keeping

    with setting(lines=True), keeping(), guarding(nan, inf, inplace):
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
