"""Drawing the same random numbers again, for what is computed a second time.

A generator that is drawn from inside a block has its stream from here. Generators themselves are
never put back: the second run draws from copies of the streams, so that other threads, and what
comes after, see nothing of it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .core.state import Scoped


class _Always:
    """Outside all blocks: a generator draws from its own stream."""

    def get(self, generator: Any) -> Any:
        """The stream that a generator draws from."""
        return generator._own

    def put(self, generator: Any, stream: Any) -> None:
        """Give a generator another stream to draw from."""
        generator._own = stream

    def symbol(self, make: Callable[[], Any]) -> Any:
        """The random numbers of a graph, which are drawn when it runs."""
        return make()


_ALWAYS = _Always()
_block: Scoped[Any] = Scoped("draws", _ALWAYS)
block = _block.get
"""Where streams come from at this moment: `block().get(generator)`."""


class Draws:
    """The generators that a block draws from, each with its stream as it was before.

    >>> from pullback import random
    >>> draws = Draws()
    >>> with draws.record():
    ...     first = random.normal().item()
    >>> after = random.get_state()
    >>> with draws.replay():
    ...     second = random.normal().item()
    >>> first == second, random.get_state() == after
    (True, True)
    """

    __slots__ = ("_streams", "_symbols")

    def __init__(self) -> None:
        self._streams: dict[Any, Any] = {}
        self._symbols: list[Any] = []

    @contextmanager
    def record(self) -> Iterator[None]:
        """Draw as always inside the block, and note from where."""
        yield from _inside(_Recording(block(), self._streams, self._symbols))

    @contextmanager
    def replay(self) -> Iterator[None]:
        """Draw the noted numbers again inside the block; any number of times.

        Generators that the noted block did not draw from go on as always.
        """
        copies = {generator: copy.deepcopy(s) for generator, s in self._streams.items()}
        yield from _inside(_Replay(block(), copies, self._symbols))


@contextmanager
def drawing_from(make: Callable[[], Any]) -> Iterator[None]:
    """Draw inside the block from a stream of `make()` for each generator, and not from its own."""
    yield from _inside(_Others(make))


@contextmanager
def drawing_through(streams: Any) -> Iterator[None]:
    """Draw inside the block from what `streams.get(generator)` gives."""
    yield from _inside(streams)


class _Others:
    """A block in which each generator draws from another stream; its own stays where it is."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.streams: dict[Any, Any] = {}

    def get(self, generator: Any) -> Any:
        if generator not in self.streams:
            self.streams[generator] = self.make()
        return self.streams[generator]

    def put(self, generator: Any, stream: Any) -> None:
        self.streams[generator] = stream

    def symbol(self, make: Callable[[], Any]) -> Any:
        return make()


def _inside(made: Any) -> Iterator[None]:
    token = _block.set(made)
    try:
        yield
    finally:
        _block.set(token)


class _Recording:
    """A block whose draws are noted; `outer` is what it stands in."""

    def __init__(self, outer: Any, streams: dict[Any, Any], symbols: list[Any]) -> None:
        self.outer, self.streams, self.symbols = outer, streams, symbols

    def symbol(self, make: Callable[[], Any]) -> Any:
        made = self.outer.symbol(make)
        self.symbols.append(made)
        return made

    def get(self, generator: Any) -> Any:
        stream = self.outer.get(generator)
        if generator not in self.streams:
            self.streams[generator] = copy.deepcopy(stream)
        return stream

    def put(self, generator: Any, stream: Any) -> None:
        self.get(generator)
        self.outer.put(generator, stream)


class _Replay:
    """A block in which generators draw from copies of their streams."""

    def __init__(self, outer: Any, streams: dict[Any, Any], symbols: list[Any]) -> None:
        self.outer, self.streams, self.symbols = outer, streams, iter(symbols)

    def symbol(self, make: Callable[[], Any]) -> Any:
        noted = next(self.symbols, None)
        return self.outer.symbol(make) if noted is None else noted

    def get(self, generator: Any) -> Any:
        stream = self.streams.get(generator)
        return self.outer.get(generator) if stream is None else stream

    def put(self, generator: Any, stream: Any) -> None:
        if generator in self.streams:
            self.streams[generator] = stream
        else:
            self.outer.put(generator, stream)
