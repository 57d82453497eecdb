"""Watching kernels: whoever wants to see every operation that is computed in this thread.

While somebody watches, each kernel stands in its table with a wrapper around it; nothing is paid at
other times. The tables are everybody's, so another thread goes through the wrapper too, and on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Protocol

from ..arrays import Kernels
from .op import OPS


class Run:
    """Stands for the operation where what runs is the program of a graph."""

    __slots__ = ("name",)
    arguments: tuple[str, ...] = ()
    differentiable = True

    def __init__(self, name: str) -> None:
        self.name = name


class Witness(Protocol):
    """Is handed every kernel to be called, with its arguments: raw arrays, and attributes."""

    def __call__(
        self, op: Any, kernel: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        """What the kernel gives for the arguments, which it must call itself."""


_current: ContextVar[Witness | None] = ContextVar("pullback_witness", default=None)
_of_runs: ContextVar[Witness | None] = ContextVar("pullback_witness_of_runs", default=None)
_lock = Lock()
_open = [0]


@contextmanager
def witnessing(witness: Witness, runs: bool = False) -> Iterator[None]:
    """Send every kernel that this thread calls inside the block through a witness.

    runs   send programs of graphs too, each as one call: `op` is a `Run`, `kernel` gives a list

    Inside another one, the outer witness sees the calls too: the inner one's kernel leads to it.
    The kernels of a graph's program, and what JAX compiled, are not seen.

    >>> import pullback as pb
    >>> seen = []
    >>> def witness(op, kernel, args, attrs):
    ...     seen.append(op.name)
    ...     return kernel(*args, **attrs)
    >>> with witnessing(witness):
    ...     y = pb.exp(pb.tensor(1.0)) + 1
    >>> seen
    ['exp', 'add']
    """
    outer = _current.get()
    token = _current.set(witness if outer is None else _both(outer, witness))
    before = _of_runs.get()
    if runs:
        _of_runs.set(witness if before is None else _both(before, witness))
    _enter()
    try:
        yield
    finally:
        _leave()
        _of_runs.set(before)
        _current.reset(token)


def _both(outer: Witness, inner: Witness) -> Witness:
    def witness(
        op: Any, kernel: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        def onwards(*args: Any, **attrs: Any) -> Any:
            return outer(op, kernel, args, attrs)

        return inner(op, onwards, args, attrs)

    return witness


def witnessed(
    name: str, program: Callable[..., list[Any]], values: Sequence[Any], store: Any
) -> list[Any]:
    """What a program of a graph gives for some values and a store, in sight of who asked for runs.

    >>> witnessed("function f", lambda values, store: [2 * v for v in values], [3.0], {})
    [6.0]
    """
    witness = _of_runs.get()
    if witness is None:
        return program(values, store)
    answers: list[Any] = witness(Run(name), lambda *now: program(now, store), tuple(values), {})
    return answers


class _Dressed:
    """A kernel that the witness of the thread that calls it is asked for."""

    __slots__ = ("bare", "name")

    def __init__(self, name: str, kernel: Callable[..., Any]) -> None:
        self.name, self.bare = name, kernel

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        witness = _current.get()
        if witness is None or self.name not in OPS:  # a table of an operation's parts
            return self.bare(*args, **attrs)
        return witness(OPS[self.name].op, self.bare, args, attrs)


def bare(kernel: Any) -> Any:
    """A kernel without the wrapper that it may have now, for who keeps it."""
    return kernel.bare if kernel.__class__ is _Dressed else kernel


def _enter() -> None:
    with _lock:
        _open[0] += 1
        if _open[0] == 1:
            Kernels.dress = _Dressed
            for face in list(OPS.values()):
                _exchange(face.op.kernels, lambda name, kernel: _Dressed(name, bare(kernel)))


def _leave() -> None:
    with _lock:
        _open[0] -= 1
        if _open[0] == 0:
            Kernels.dress = None
            for face in list(OPS.values()):
                _exchange(face.op.kernels, lambda name, kernel: bare(kernel))


def _exchange(kernels: Kernels, change: Callable[[str, Any], Any]) -> None:
    for cls, kernel in list(kernels.items()):
        kernels[cls] = change(kernels.name, kernel)
