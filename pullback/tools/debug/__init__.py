"""`debug`: lines for every operation, a journal of all values, and guards that stop at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...core.state import setting
from ...departures import Refusing, followed
from ...errors import ArgumentError
from .guards import guarding
from .journal import keeping

__all__ = ["debug"]


@contextmanager
def debug(
    nan: bool = False, inf: bool = False, inplace: bool = False, departures: str = "note"
) -> Iterator[None]:
    """Context manager: records the user's line for every operation, for errors and `explain`.

    nan, inf  an operation that turns finite inputs into NaN, or infinity, raises an `AnomalyError`
              in the forward pass; so does a step of a backward pass: the error names the operation
              and its line, the argument, the index, and the forward values there. Traced functions
              and sessions are checked as a whole, in the forward pass for NaN only
    inplace   NumPy arrays that a recorded operation needs for its gradient are read-only until
              they are freed, so that a line that writes to them raises (NumPy's `ValueError` for
              an array, `InplaceError` for a Tensor). Existing views of them stay writable

    departures  "warn" or "error" where the values of a tracked tensor leave the library (`float`,
              `.item()`, `.numpy()`, …): a `LostGradientWarning` or `LostGradientError` with the
              line, under tapes and for `requires_grad` too. Printing, comparing and `x.detach()`
              are always allowed

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
    if departures not in ("note", "warn", "error"):
        raise ArgumentError(
            "argument `departures` of debug", "'note', 'warn' or 'error'", repr(departures)
        )
    told = followed.get()
    if departures != "note":
        told = (*told, Refusing("debug(departures='error')", warns=departures == "warn"))
    with (
        setting(lines=True), keeping(), guarding(nan, inf, inplace), followed.held(told),
    ):
        yield
