"""Turn recording on and off (`no_grad`, `enable_grad`, `inference_mode`), or keep more values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from types import coroutine
from typing import Any, ClassVar

from .core.state import State, amend, change, set_state, setting, state
from .errors import ArgumentTypeError

__all__ = [
    "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "keep_values",
    "no_grad", "set_grad_enabled",
]

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
        self._before: tuple[tuple[State, State], ...] = ()
        self._mode = True

    def __enter__(self) -> None:
        before = state()
        inside = before.changed(**(self._fields if self._mode else enable_grad._fields))
        held = (*self._before, (before, inside))
        try:
            set_state(inside)
            self._before = held
        except BaseException:  # Ctrl-C
            set_state(before)
            raise

    def __exit__(self, *exc: object) -> None:
        before, inside = self._before[-1]
        old = set_state(before).old_value  # first of all, as Ctrl-C may follow
        self._before = self._before[:-1]
        if old is not inside:
            amend(old, enabled=before.enabled, inference=before.inference)

    def _again(self) -> _Grad:
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
        made._before, made._mode = (), True  # used bare, as `@no_grad`
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
    """Like `no_grad`, for code that will never be differentiated.

    `inference_mode(False)` records, as in PyTorch: also inside `inference_mode` and `no_grad`.

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

    def _again(self) -> _Grad:
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


@contextmanager
def keep_values() -> Iterator[None]:
    """Context manager: saves all inputs and outputs of operations, not only those that rules need.

    It takes memory; a later override of a rule then finds all values that it needs.

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
