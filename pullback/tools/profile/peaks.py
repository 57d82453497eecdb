"""`peak`: the memory that a function and its backward pass take, with and without a checkpoint."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from ...arrays import adapters
from ...arrays.batched import bare
from ...core.node import Node
from ...core.observe import Calls, observing
from ...core.op import OPS
from ...core.reverse import pull
from ...core.state import REQUIRED, setting
from ...core.tensor import Tensor, is_inexact, raw, wrap
from ...errors import ArgumentError, ArgumentTypeError
from ...transforms.checkpoint import checkpoint as checkpointed
from ...transforms.checkpoint import checkpoint_sequential
from ...trees import flatten, leaves
from ..table import Table
from .units import bytes_text, memory_of, seconds_text


class Peak(NamedTuple):
    """The memory and time of one function. Bytes are relative to the start.

    bytes      the peak; `forward` and `backward` are the peaks of each half
    kept       between the halves: the saved values of the graph, and the result
    seconds    for both halves, the fastest of several runs, timed without counting memory
    counter    "tracemalloc", or "arrays" for libraries whose memory tracemalloc does not see
    """

    name: str
    bytes: int
    forward: int
    backward: int
    kept: int
    seconds: float
    counter: str

    def __str__(self) -> str:
        return str(_table([self]))

    def __rich__(self) -> Any:
        """Returns a `rich` table."""
        return _table([self]).__rich__()


class Comparison(NamedTuple):
    """The same computation without and with a checkpoint, side by side."""

    plain: Peak
    checkpointed: Peak

    @property
    def ratio(self) -> float:
        """The peak with the checkpoint divided by the peak without."""
        return self.checkpointed.bytes / max(1, self.plain.bytes)

    @property
    def time_ratio(self) -> float:
        """The time with the checkpoint divided by the time without."""
        return self.checkpointed.seconds / max(1e-9, self.plain.seconds)

    def __str__(self) -> str:
        return str(self._table())

    def _table(self) -> Table:
        return _table(self, [
            f"with the checkpoint {self.ratio:.2f} × the memory, {self.time_ratio:.2f} × the time"
        ])

    def __rich__(self) -> Any:
        """Returns a `rich` table."""
        return self._table().__rich__()


def _table(peaks: Sequence[Peak], notes: Sequence[str] = ()) -> Table:
    rows = [
        (p.name, bytes_text(p.bytes), bytes_text(p.forward), bytes_text(p.kept),
         bytes_text(p.backward), seconds_text(p.seconds)) for p in peaks
    ]
    heads = ("function", ">peak", ">forward", ">kept", ">backward", ">time")
    said = {"tracemalloc": "counted by tracemalloc, including Python objects",
            "arrays": "counted: arrays returned by kernels and backward steps, not temporaries"}
    return Table("peak memory", heads, rows, [*notes, said[peaks[0].counter]])


def peak(f: Any, *args: Any, checkpoint: Any = None, repeat: int = 3) -> Any:
    """Returns the peak memory of `f(*args)` and its backward pass as a `Peak`, in bytes.

    f            a function of tensors, or a sequence of functions, each applied to the value of the
                 one before; with a number of segments also a `Sequential`
    args         pytrees of tensors, arrays, numbers; the inexact ones are differentiated
    checkpoint   the version to compare with; then returns a `Comparison`: True for
                 `pb.checkpoint(f)`, or for a sequence `checkpoint_sequential` in √n segments; a
                 number of segments; or a function, another version of f
    repeat       the number of timed runs

    The backward pass frees the graph step by step, as `backward` does, and does not change the
    `grad` of parameters. `f` runs `repeat + 2` times. tracemalloc counts NumPy's arrays, including
    those of other threads; for other libraries, counts the arrays that kernels and steps return.

    Raises `ArgumentError` for any other `checkpoint`, `ArgumentTypeError` if `f` is not callable.

    >>> import pullback as pb
    >>> found = peak([pb.sin] * 64, pb.ones(10_000), checkpoint=True)
    >>> found.checkpointed.bytes < found.plain.bytes / 2
    True
    """
    f = _chain(f, checkpoint)
    other = None if checkpoint in (None, False) else _version(f, checkpoint)
    plain = _measured(_whole(f), _name(f), args, repeat)
    if other is None:
        return plain
    return Comparison(plain, _measured(*other, args, repeat))


def _chain(f: Any, checkpoint: Any) -> Any:
    """A sequence of functions as a list; a function unchanged."""
    segments = isinstance(checkpoint, int) and not isinstance(checkpoint, bool)
    parts = list(f) if isinstance(f, Iterable) and (segments or not callable(f)) else None
    for part in [f] if parts is None else parts:
        if not callable(part):
            raise ArgumentTypeError("argument `f` of peak", "a function, or a sequence of them",
                                    f"a {type(part).__name__}")
    return f if parts is None else parts


def _name(f: Any) -> str:
    if isinstance(f, list):
        return f"chain of {len(f)}"
    return str(getattr(f, "__name__", type(f).__name__))


def _whole(f: Any) -> Callable[..., Any]:
    if not isinstance(f, list):
        whole: Callable[..., Any] = f
        return whole

    def chain(x: Any) -> Any:
        for part in f:
            x = part(x)
        return x

    return chain


def _version(f: Any, how: Any) -> tuple[Callable[..., Any], str]:
    """The function with a checkpoint, and its name."""
    chain = isinstance(f, list)
    if how is True and not chain:
        return checkpointed(f), f"checkpoint({_name(f)})"
    if chain and isinstance(how, int) and how >= 1:
        segments = None if how is True else how
        name = f"{_name(f)}, {'√n' if segments is None else segments} segments"
        return lambda x: checkpoint_sequential(f, x, segments=segments), name
    if callable(how):
        name = _name(how)
        return how, f"{name}, checkpointed" if name == _name(f) else name
    raise ArgumentError(
        "argument `checkpoint` of peak", "True, a function, or for a sequence a number of segments",
        repr(how), "pass the version of f with the checkpoint in it",
    )


def _measured(f: Callable[..., Any], name: str, args: Any, repeat: int) -> Peak:
    flat, rebuild = flatten(args)
    unpooled = {_unpooled(v) for v in flat if hasattr(raw(v), "dtype")}

    def run(given: Any, middle: Callable[[], None]) -> None:
        with setting(watching=True, enabled=True, inference=False):
            out = f(*given)
        cotangents = _cotangents(out)
        del out
        middle()
        pull(cotangents, free=REQUIRED)

    def nothing() -> None:
        """The default between the halves, for timing."""

    def fresh() -> Any:
        return rebuild([_leaf(v) for v in flat])

    run(fresh(), nothing)  # the first run imports and looks up kernels
    times = []
    for _ in range(max(1, repeat)):
        given = fresh()
        began = perf_counter()
        run(given, nothing)
        times.append(perf_counter() - began)
    counter: _Counter = _Arrays() if None in unpooled else _Traced(unpooled)
    given = fresh()  # created before counting: arguments are not counted
    gc.collect()
    halves: list[tuple[int, int]] = []
    with counter.counting():
        before = counter.now()
        run(given, lambda: halves.append(counter.lap()))
        halves.append(counter.lap())
    (kept, forward), (_, backward) = halves
    return Peak(name, max(forward, backward) - before, forward - before, backward - before,
                kept - before, min(times), counter.name)


def _unpooled(value: Any) -> Any:
    """A context that makes a library's allocations visible to tracemalloc, or None."""
    return getattr(adapters[bare(raw(value)).__class__], "unpooled", None)


def _leaf(value: Any) -> Any:
    """An argument as a new leaf; unchanged if it has no derivative."""
    data = raw(value)
    if not hasattr(data, "dtype") or not is_inexact(data):
        return value
    made = value if isinstance(value, Tensor) else Tensor(value)
    return wrap(made._out, made._data).requires_grad_()


def _cotangents(out: Any) -> dict[Node, Any]:
    """Ones for each tracked output."""
    tensors = [v for v in leaves(out) if isinstance(v, Tensor) and v._node is not None]
    return {t._node: OPS["ones_like"](t._data) for t in tensors if t._node is not None}


class _Counter(Protocol):
    name: str

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Counts inside the block."""

    def now(self) -> int:
        """Bytes in use."""

    def lap(self) -> tuple[int, int]:
        """Bytes in use, and the peak since the last lap."""


class _Traced:
    """Counts what Python and NumPy allocate, by tracemalloc, which may be running already."""

    name = "tracemalloc"

    def __init__(self, unpooled: set[Callable[[], None]]) -> None:
        self.unpooled = unpooled

    @contextmanager
    def counting(self) -> Iterator[None]:
        running = tracemalloc.is_tracing()
        self._let_go()
        if not running:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            yield
        finally:
            if not running:
                tracemalloc.stop()

    def _let_go(self) -> None:
        """Frees memory that a library only caches for reuse."""
        for unpooled in self.unpooled:
            unpooled()

    def now(self) -> int:
        return tracemalloc.get_traced_memory()[0]

    def lap(self) -> tuple[int, int]:
        most = tracemalloc.get_traced_memory()[1]
        self._let_go()
        tracemalloc.reset_peak()
        return self.now(), most


class _Arrays:
    """Counts the living arrays that kernels and backward steps returned."""

    name = "arrays"

    def __init__(self) -> None:
        self.live = self.most = 0
        self.known: set[int] = set()

    @contextmanager
    def counting(self) -> Iterator[None]:
        with observing(Calls(kernel=self._kernel, step=self._step, runs=True)):
            yield

    def _kernel(
        self, op: Any, kernel: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        for a in args:  # existing arrays, so that views of them are not counted
            if hasattr(a, "dtype"):
                self._see(a, 0)
        result = kernel(*args, **attrs)
        for part in result if isinstance(result, (list, tuple)) else (result,):
            if hasattr(part, "dtype"):  # a graph's program returns None for an operation
                self._see(part, 1)
        return result

    def _step(self, node: Node, g: Any, step: Callable[[], list[Any]]) -> list[Any]:
        results = step()
        for result in results:
            if result is not None:
                self._see(raw(result), 1)
        return results

    def _see(self, array: Any, counts: int) -> None:
        owner, size = memory_of(array)
        if id(owner) not in self.known:
            self.known.add(id(owner))
            size *= counts
            self.live += size
            self.most = max(self.most, self.live)
            weakref.finalize(owner, self._gone, id(owner), size).atexit = False

    def _gone(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.live -= size

    def now(self) -> int:
        return self.live

    def lap(self) -> tuple[int, int]:
        found = self.live, self.most
        self.most = self.live
        return found
