"""Listeners: whoever wants to see each gradient that is asked for, where the answer is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Listener = Callable[[str, Sequence[Any], Sequence[Any], Sequence[Any], Any], None]
"""Is handed how it was asked ("tape.gradient", "backward", …), the targets, the sources, an answer
for each source (None where there is none), and the tape, or None."""

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("pullback_listeners", default=())
listeners = _listeners.get


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener of every gradient that this thread asks for inside the block.

    >>> import pullback as pb
    >>> with listening(lambda how, targets, sources, answers, tape: print(how, answers)):
    ...     g = pb.grad(pb.square)(3.0)
    grad of `square` [Tensor(6.)]
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def tell(
    how: str, targets: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any],
    tape: Any = None,
) -> None:
    """Tell the listeners, who are not told of what they ask themselves."""
    told = _listeners.get()
    token = _listeners.set(())
    try:
        for listener in told:
            listener(how, targets, sources, answers, tape)
    finally:
        _listeners.reset(token)
