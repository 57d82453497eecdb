"""Observers: they see kernels, recorded nodes, steps of backward passes, and lost paths.

Without observers an event costs nothing: kernels are wrapped only while an observer of kernels is
there, and the other events come from the general path of recording, which observers send operations
to. The tools (`debug`, `profile`, `peak`, `monitor`, `explain`) are observers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from .._registry import OPS
from ..arrays.dressed import Block, Dressed, dress, undress
from .state import setting, state

Results = list[Any]
"""Per parent of a node, its cotangent; None where there is none, or at a repeated parent."""


class Observer:
    """Base of observers; a subclass defines the methods for the events that it wants to see.

    runs   `kernel` also sees the programs of graphs, each as one call whose `op` is a `Run`

    Events come from the thread or task that entered `observing`.
    """

    runs = False
    notices = False
    """Whether operations must take the general path of recording for it."""
    sees: frozenset[str] = frozenset()
    """The names of the events that it defines."""

    def __init_subclass__(cls) -> None:
        cls.sees = frozenset(
            name for name in _EVENTS if getattr(cls, name) is not getattr(Observer, name)
        )
        cls.notices = not cls.sees.isdisjoint(_RECORDING)

    def kernel(
        self, op: Any, run: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        """An operation is computed: calls `run(*args, **attrs)` on raw arrays, returns its result.

        The kernels inside a graph's program, and those compiled by JAX, are not seen.
        """
        return run(*args, **attrs)

    def recorded(self, node: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        """A node was recorded; `outputs` and `inputs` are raw arrays, None where there is none."""

    def step(self, node: Any, g: Any, run: Callable[[], Results]) -> Results:
        """A backward pass reaches a node: calls `run()`, returns the cotangents of its parents.

        g   the cotangent of the node's output; a list if it has several
        """
        return run()

    def lost(
        self, kind: str, operation: str, parents: Sequence[Any], result: Any, replaces: bool
    ) -> None:
        """The result of an operation on tracked tensors has no history; see `lost_paths.py`."""

    def written(self, array: Any, by: str) -> None:
        """The memory of an array was overwritten in place."""

    def copied(self, by: str, arrays: Sequence[Any], made: Any) -> None:
        """An array received the values of others without an operation; `by` names the call."""

    def gradient(
        self, how: str, targets: Sequence[Any], sources: Sequence[Any], gradients: Sequence[Any],
        tape: Any,
    ) -> None:
        """A gradient was computed.

        how        the call: "tape.gradient", "backward()", …
        gradients  per source, a Tensor, or None if there is no path
        tape       the tape, or None
        """


_EVENTS = ("kernel", "recorded", "step", "lost", "written", "copied", "gradient")
_RECORDING = {"recorded", "lost"}


class Calls(Observer):
    """An observer made of functions, which are given by the names of their events.

    >>> import pullback as pb
    >>> seen = []
    >>> def kernel(op, run, args, attrs):
    ...     seen.append(op.name)
    ...     return run(*args, **attrs)
    >>> with observing(Calls(kernel=kernel)):
    ...     y = pb.exp(pb.tensor(1.0)) + 1
    >>> seen
    ['exp', 'add']
    """

    def __init__(self, *, runs: bool = False, **events: Callable[..., Any]) -> None:
        self.__dict__.update(events, runs=runs)
        self.sees = frozenset(events)
        self.notices = not self.sees.isdisjoint(_RECORDING)


@contextmanager
def observing(*observers: Observer) -> Iterator[None]:
    """Send this thread's events to observers inside the block.

    With several, `kernel` and `step` of the last one call those of the one before.

    >>> import pullback as pb
    >>> class Printer(Observer):
    ...     def recorded(self, node, outputs, inputs):
    ...         print(node.name())
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> with observing(Printer()):
    ...     y = pb.exp(x) + 1
    exp
    add
    """
    kernels = any("kernel" in o.sees for o in observers)
    with setting(observers=(*state().observers, *observers)):
        block = Block()
        try:
            if kernels:
                dress(block, _Observed)
            yield
        finally:
            if kernels:
                undress(block)


def observers_of(event: str) -> list[Any]:
    """The observers of this thread that define an event."""
    return [o for o in state().observers if event in o.sees]


def notify(event: str, *about: Any) -> None:
    """Call an event of every observer; an observer sees no gradients that it computes itself."""
    for observer in observers_of(event):
        getattr(observer, event)(*about)


# Kernels ------------------------------------------------------------------------------------------


class Run:
    """Takes the place of the operation in `Observer.kernel` if the program of a graph runs."""

    __slots__ = ("name",)
    arguments: tuple[str, ...] = ()
    differentiable = True

    def __init__(self, name: str) -> None:
        self.name = name


def through(observers: Sequence[Observer], op: Any, run: Callable[..., Any]) -> Any:
    """A kernel as the observers call it, the last of them first."""
    for observer in observers:
        run = partial(_call, observer, op, run)
    return run


def _call(observer: Observer, op: Any, run: Callable[..., Any], /, *args: Any, **attrs: Any) -> Any:
    return observer.kernel(op, run, args, attrs)


class _Observed(Dressed):
    """A kernel in its table while observers of kernels exist, in any thread."""

    __slots__ = ()

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        observers = state().observers
        if not observers or self.name not in OPS:  # a table of an operation's parts
            return self.bare(*args, **attrs)
        seeing = [o for o in observers if "kernel" in o.sees]
        return through(seeing, OPS[self.name].op, self.bare)(*args, **attrs)
