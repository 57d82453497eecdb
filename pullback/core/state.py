"""What recording is doing right now: one immutable record in a context variable.

Threads and asyncio tasks each see their own; a new thread starts from the default. Every change
is a `replace` that is undone in a `finally`, so an exception or Ctrl-C leaves nothing behind.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import coroutine
from typing import Any, ClassVar

from ..errors import ArgumentTypeError

OFF, REQUIRED, ALL, SPECIAL = 0, 1, 2, 4
"""Recording modes. `OFF`: nothing; `REQUIRED`: what comes from `requires_grad`; `ALL`: also what
comes from variables and watched tensors, because a tape is active. The bit `SPECIAL` sends an
operation to `core.record.special` (overrides, kept values, recorded lines, forward mode)."""
TRACED = 0.5
"""The level of the arguments of a transformation: recorded whenever anything is, and let go with
what was made of them, never by a pull that passes."""
FORWARD = SPECIAL
"""The level of a node that carries tangents only: it is passed when that bit is set."""
EVERYTHING = 8
"""The mode in which nodes of every level are passed."""


class State:
    """One setting of everything that decides whether and how operations are recorded.

    enabled, inference   what `no_grad` and `inference_mode` say
    tapes                those that are open; `watching`: as if one were, or, with `EVERYTHING`,
                         whatever is tracked is recorded, that which carries tangents only too
    overrides            scopes of `override_gradient`, the innermost last
    keep_values, lines   what else is kept with every node
    accumulators         forward sweeps that tangents are computed for, the innermost last
    closed               told of operations on tensors from outside; see `core.captures`
    packing              (pack, unpack) that saved values go through; see `core.saved_tensor_hooks`

    Made once and never changed. (A class with slots because every recorded operation reads `mode`,
    and a slot is read in a fraction of the time of a named tuple's field.)
    """

    __slots__ = (
        "accumulators", "closed", "enabled", "inference", "keep_values", "lines", "mode",
        "overrides", "packing", "tapes", "watching",
    )

    def __init__(
        self, enabled: bool = True, inference: bool = False, tapes: tuple[Any, ...] = (),
        overrides: tuple[Any, ...] = (), keep_values: bool = False, lines: bool = False,
        accumulators: tuple[Any, ...] = (), closed: Any = None, watching: int = False,
        packing: Any = None,
    ) -> None:
        self.enabled, self.inference, self.tapes = enabled, inference, tapes
        self.overrides, self.keep_values, self.lines = overrides, keep_values, lines
        self.accumulators, self.closed, self.watching = accumulators, closed, watching
        level = OFF if not enabled else max(ALL, watching) if tapes or watching else REQUIRED
        self.packing = packing
        special = overrides or keep_values or lines or closed is not None or packing is not None
        self.mode = level | SPECIAL if accumulators or (level and special) else level

    def fields(self) -> dict[str, Any]:
        """What it was made of."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "mode"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((self.mode, self.enabled, self.tapes))

    def __repr__(self) -> str:
        return f"State({', '.join(f'{k}={v!r}' for k, v in self.fields().items())})"


_FRESH, _LINED = State(), State(lines=True)
IN_RULE = State()  # as fresh, in a hand-written rule: what it computes is the pull's own
_variable: ContextVar[State] = ContextVar("pullback_state", default=_FRESH)
state: Callable[[], State] = _variable.get
set_state: Callable[[State], Any] = _variable.set


def change(**fields: Any) -> State:
    """Set fields of the current state, and return the state before."""
    before = state()
    get = fields.get
    set_state(State(
        get("enabled", before.enabled), get("inference", before.inference),
        get("tapes", before.tapes), get("overrides", before.overrides),
        get("keep_values", before.keep_values), get("lines", before.lines),
        get("accumulators", before.accumulators), get("closed", before.closed),
        get("watching", before.watching), get("packing", before.packing),
    ))
    return before


restore = set_state
"""Put back a state that `change`, `quiet`, `pulling`, `in_rules` or `forget_tapes` returned."""


@contextmanager
def setting(**fields: Any) -> Iterator[None]:
    """Hold fields of the state at other values inside a block."""
    before = state()
    change(**fields)
    try:
        yield
    finally:
        change(**{name: getattr(before, name) for name in fields})


QUIET = State(enabled=False)
_PULLING = State(enabled=False)


def quiet() -> State:
    """Turn recording off with the least work (hot path); `restore` undoes it."""
    before = state()
    if before.mode:
        set_state(QUIET)
    return before


def pulling() -> State:
    """Turn recording off for a pull on raw arrays; `restore` undoes it."""
    before = state()
    if before.mode:
        set_state(_PULLING)
    return before


def in_rules() -> State:
    """Let it be known, for the while of a pull on raw arrays, that rules are run.

    `restore` undoes it. Where something special is on it is the rules that leave it.
    """
    before = state()
    if before.mode == REQUIRED:
        set_state(IN_RULE)
    return before


def forget_tapes() -> State | None:
    """Leave all tapes and scopes for the while of a hand-written gradient (hot path).

    Returns what `restore` takes, or None when there is nothing to leave. Recording stays possible,
    so that a gradient function may open a tape of its own.
    """
    before = state()
    if before is _FRESH or before.mode == REQUIRED:
        return None
    fresh = _LINED if before.lines else IN_RULE
    set_state(fresh if before.enabled or before is _PULLING else QUIET)
    return before


def recording(*, fresh: bool) -> State:
    """Turn recording on; `restore` undoes it. `fresh` leaves tapes, scopes and tangents.

    Lines are still noted where they were.
    """
    before = state()
    if fresh:
        set_state(_LINED if before.lines else _FRESH)
    elif not before.enabled:
        change(enabled=True, inference=False)
    return before


_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # of `code.co_flags`


def _resumed(hold: Callable[[], Any], running: Any) -> Any:
    """Drive a generator or coroutine, holding a context while it runs and not while it waits."""
    step, value = running.send, None
    while True:
        try:
            with hold():
                answer = step(value)
        except StopIteration as end:
            return end.value
        try:
            step, value = running.send, (yield answer)
        except GeneratorExit:
            with hold():
                running.close()
            raise
        except BaseException as error:
            step, value = running.throw, error


class _Grad:
    """A context manager and decorator that holds recording on or off; entered any number of times.

    The state before is kept on a stack, so that one object may be nested in itself.
    """

    _fields: ClassVar[Mapping[str, bool]] = {}

    def __init__(self, function: Any = None) -> None:
        self._before: list[State] = []
        self._mode = True

    def __enter__(self) -> None:
        self._before.append(change(**self._fields) if self._mode else change())

    def __exit__(self, *exc: object) -> None:
        before = self._before.pop()
        change(enabled=before.enabled, inference=before.inference)

    def _again(self) -> "_Grad":
        return self.__class__()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with this held during its calls; of a generator, whenever it runs."""
        kind = getattr(getattr(function, "__code__", None), "co_flags", 0)
        hold = self._again
        if kind & _GENERATOR:

            @wraps(function)
            def generator(*args: Any, **keywords: Any) -> Any:
                return (yield from _resumed(hold, function(*args, **keywords)))

            return generator
        if kind & _COROUTINE:

            @wraps(function)
            async def task(*args: Any, **keywords: Any) -> Any:
                return await coroutine(_resumed)(hold, function(*args, **keywords))

            return task
        if kind & _ASYNC_GENERATOR:
            raise ArgumentTypeError(
                f"decorator `{type(self).__name__}`", "a function, generator or coroutine",
                "an asynchronous generator", f"put `with {type(self).__name__}():` inside it",
            )

        @wraps(function)
        def held(*args: Any, **keywords: Any) -> Any:
            with hold():
                return function(*args, **keywords)

        return held

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made._before, made._mode = [], True  # used bare, as `@no_grad`
        return made(function)


class no_grad(_Grad):
    """Record nothing inside the block; also a decorator, with or without parentheses.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _fields: ClassVar[Mapping[str, bool]] = {"enabled": False}


class enable_grad(_Grad):
    """Record again inside a `no_grad` block; also a decorator, with or without parentheses.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.no_grad(), pb.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    _fields: ClassVar[Mapping[str, bool]] = {"enabled": True, "inference": False}


class set_grad_enabled:
    """Turn recording on or off at once; as a context manager, until the block ends.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0], requires_grad=True)
    >>> with pb.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad, pb.is_grad_enabled()
    (False, True)
    """

    def __init__(self, mode: bool) -> None:
        self._before = change(enabled=bool(mode))

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        change(enabled=self._before.enabled)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator: undo the change made at construction, hold it during each call."""
        mode = state().enabled
        change(enabled=self._before.enabled)
        return (enable_grad if mode else no_grad)(function)


class inference_mode(_Grad):
    """Like `no_grad`, for code that will never be differentiated; `inference_mode(False)` is off.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0], requires_grad=True)
    >>> @pb.inference_mode()
    ... def predict(x):
    ...     return x * 2
    >>> predict(x).requires_grad
    False
    """

    _fields: ClassVar[Mapping[str, bool]] = {"enabled": False, "inference": True}

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls, mode if callable(mode) else None)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self._mode = mode is not False

    def _again(self) -> "_Grad":
        return inference_mode(self._mode)


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require gradients are recorded in this thread.

    >>> is_grad_enabled()
    True
    """
    return state().enabled


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is on in this thread.

    >>> is_inference_mode_enabled()
    False
    """
    return state().inference
