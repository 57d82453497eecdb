"""`peak`: how much memory a function and its pull take, with and without a checkpoint."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from ..arrays import adapters
from ..core.batching import bare
from ..core.node import Node
from ..core.node_hooks import watching
from ..core.op import OPS
from ..core.pull import pull
from ..core.state import REQUIRED, setting
from ..core.tensor import Tensor, is_inexact, raw, wrap
from ..core.witness import witnessing
from ..errors import ArgumentError, ArgumentTypeError
from ..transforms.checkpoint import checkpoint as checkpointed
from ..transforms.checkpoint import checkpoint_sequential
from ..trees import flatten, leaves
from .table import Table
from .units import bytes_text, memory_of, seconds_text


class Peak(NamedTuple):
    """What one function took. Bytes are beyond what was there before.

    bytes      the most at any time; `forward` and `backward` are the most in each half
    kept       between the halves: what the graph keeps, and the value
    seconds    for both, the quickest of some runs in which nothing was counted
    counter    what counted: "tracemalloc", or "arrays" of libraries that tell tracemalloc nothing
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
        """The table for rich's console."""
        return _table([self]).__rich__()


class Comparison(NamedTuple):
    """The same without and with a checkpoint, side by side."""

    plain: Peak
    checkpointed: Peak

    @property
    def ratio(self) -> float:
        """The peak with the checkpoint over that without."""
        return self.checkpointed.bytes / max(1, self.plain.bytes)

    @property
    def time_ratio(self) -> float:
        """The time with the checkpoint over that without."""
        return self.checkpointed.seconds / max(1e-9, self.plain.seconds)

    def __str__(self) -> str:
        return str(self._table())

    def _table(self) -> Table:
        return _table(self, [
            f"with the checkpoint {self.ratio:.2f} × the memory, {self.time_ratio:.2f} × the time"
        ])

    def __rich__(self) -> Any:
        """The table for rich's console."""
        return self._table().__rich__()


def _table(peaks: Sequence[Peak], notes: Sequence[str] = ()) -> Table:
    rows = [
        (p.name, bytes_text(p.bytes), bytes_text(p.forward), bytes_text(p.kept),
         bytes_text(p.backward), seconds_text(p.seconds)) for p in peaks
    ]
    heads = ("function", ">peak", ">forward", ">kept", ">backward", ">time")
    said = {"tracemalloc": "counted by tracemalloc, Python's objects too",
            "arrays": "counted: the arrays that kernels and steps hand out, not their temporaries"}
    return Table("peak memory", heads, rows, [*notes, said[peaks[0].counter]])


def peak(f: Any, *args: Any, checkpoint: Any = None, repeat: int = 3) -> Any:
    """The most memory that `f(*args)` and its pull take, as a `Peak`; with `checkpoint`, compared.

    f            a function of tensors, or a sequence of functions, each of the one before's value;
                 with a number of segments also a `Sequential`
    args         tensors, arrays, numbers, in any nesting; the inexact ones are differentiated
    checkpoint   what to compare with, which gives a `Comparison`: True for `pb.checkpoint(f)`, or
                 of a sequence `checkpoint_sequential` in √n segments; a number of segments; or a
                 function, another version of f
    repeat       how often it is timed

    The pull frees the graph on its way, as `backward` does; the `grad` of parameters is not
    touched. `f` runs `repeat + 2` times. NumPy's arrays are counted by tracemalloc, which counts
    what other threads allocate too; of other libraries, the arrays that kernels and steps hand out.

    Raises `ArgumentError` for a `checkpoint` that is none of these, `ArgumentTypeError` for an `f`
    that cannot be called.

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
    """A sequence of functions as a list, a function as it is."""
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
    """The function with a checkpoint, and what it is called."""
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
        "argument `checkpoint` of peak", "True, a function, or of a sequence a number of segments",
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
        """Between the halves, when time is taken."""

    def fresh() -> Any:
        return rebuild([_leaf(v) for v in flat])

    run(fresh(), nothing)  # kernels are found, and imported, the first time
    times = []
    for _ in range(max(1, repeat)):
        given = fresh()
        began = perf_counter()
        run(given, nothing)
        times.append(perf_counter() - began)
    counter: _Counter = _Arrays() if None in unpooled else _Traced(unpooled)
    given = fresh()  # what is handed over is there before: it is not counted
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
    """What makes the allocations of an array's library visible to tracemalloc, or None."""
    return getattr(adapters[bare(raw(value)).__class__], "unpooled", None)


def _leaf(value: Any) -> Any:
    """An argument as a leaf of its own; what has no derivative as it is."""
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
        """Count inside the block."""

    def now(self) -> int:
        """Bytes that are there."""

    def lap(self) -> tuple[int, int]:
        """Bytes that are there, and the most since the last lap."""


class _Traced:
    """What Python and NumPy allocate, by tracemalloc, which may be running already."""

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
        """Let go of memory that a library only holds to use it again: nobody keeps it."""
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
    """The arrays that kernels and steps of pulls hand out, while they live."""

    name = "arrays"

    def __init__(self) -> None:
        self.live = self.most = 0
        self.known: set[int] = set()

    @contextmanager
    def counting(self) -> Iterator[None]:
        with witnessing(self._kernel, runs=True), watching(self._step):
            yield

    def _kernel(
        self, op: Any, kernel: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        for a in args:  # what is there already, as views of it are none of ours
            if hasattr(a, "dtype"):
                self._see(a, 0)
        answer = kernel(*args, **attrs)
        for part in answer if isinstance(answer, (list, tuple)) else (answer,):
            if hasattr(part, "dtype"):  # a program of a graph gives None for an operation
                self._see(part, 1)
        return answer

    def _step(self, node: Node, g: Any, step: Callable[[], list[Any]]) -> list[Any]:
        answers = step()
        for answer in answers:
            if answer is not None:
                self._see(raw(answer), 1)
        return answers

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
