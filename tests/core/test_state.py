"""Recording on and off: as contexts and decorators, in threads, tasks and generators."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state

X = pb.Tensor(np.array([1.0, 2.0]), requires_grad=True)


def records() -> bool:
    return bool((X * 2.0).requires_grad)


def recorded() -> tuple[bool, bool, bool]:
    return records(), pb.is_grad_enabled(), pb.is_inference_mode_enabled()


ON, OFF, INFERENCE = (True, True, False), (False, False, False), (False, False, True)

CONTEXTS: dict[str, tuple[Callable[[], Any], tuple[bool, bool, bool]]] = {
    "no_grad": (pb.no_grad, OFF),
    "enable_grad": (pb.enable_grad, ON),
    "set_grad_enabled(False)": (lambda: pb.set_grad_enabled(False), OFF),
    "set_grad_enabled(True)": (lambda: pb.set_grad_enabled(True), ON),
    "inference_mode": (pb.inference_mode, INFERENCE),
    "inference_mode(True)": (lambda: pb.inference_mode(True), INFERENCE),
    "inference_mode(False)": (lambda: pb.inference_mode(False), ON),
}

each_context = pytest.mark.parametrize("name", CONTEXTS)


@pytest.fixture(autouse=True)
def _state_is_put_back() -> Iterator[None]:
    before = state()
    yield
    assert state() == before


@each_context
def test_as_a_context(name: str) -> None:
    make, inside = CONTEXTS[name]
    with make():
        assert recorded() == inside
    assert recorded() == ON


@each_context
def test_as_a_decorator(name: str) -> None:
    make, inside = CONTEXTS[name]

    @make()
    def function(a: int, *, b: int) -> tuple[int, tuple[bool, bool, bool]]:
        """Its text."""
        return a + b, recorded()

    assert recorded() == ON
    for _ in range(2):
        assert function(1, b=2) == (3, inside)
        assert recorded() == ON
    assert (function.__name__, function.__doc__) == ("function", "Its text.")


@pytest.mark.parametrize(
    ("decorator", "inside"),
    [(pb.no_grad, OFF), (pb.enable_grad, ON), (pb.inference_mode, INFERENCE)],
)
def test_as_a_decorator_without_parentheses(decorator: Any, inside: Any) -> None:
    @decorator
    def function(a: int) -> tuple[int, tuple[bool, bool, bool]]:
        return a, recorded()

    assert function(4) == (4, inside)
    assert function.__name__ == "function"
    assert recorded() == ON


def test_a_decorated_function_can_call_itself() -> None:
    @pb.no_grad()
    def down(n: int) -> list[bool]:
        return [records(), *(down(n - 1) if n else []), records()]

    assert down(3) == [False] * 8
    assert records()


@each_context
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_puts_the_state_back(name: str, error: type[BaseException]) -> None:
    make, _ = CONTEXTS[name]
    with pytest.raises(error), make():
        raise error
    assert recorded() == ON

    @make()
    def function() -> None:
        raise error

    with pytest.raises(error):
        function()
    assert recorded() == ON


def test_nesting() -> None:
    with pb.no_grad():
        with pb.enable_grad():
            with pb.inference_mode():
                assert recorded() == INFERENCE
                with pb.enable_grad():
                    assert records()
                assert recorded() == INFERENCE
            assert recorded() == ON
            with pb.set_grad_enabled(False):
                assert recorded() == OFF
            assert recorded() == ON
        assert recorded() == OFF
    assert recorded() == ON


def test_one_object_entered_twice() -> None:
    off = pb.no_grad()
    with off:
        with off:
            assert not records()
        assert not records()
    assert records()


def test_set_grad_enabled_as_a_statement() -> None:
    try:
        pb.set_grad_enabled(False)
        assert recorded() == OFF
        with pb.enable_grad():
            assert records()
        assert recorded() == OFF
    finally:
        pb.set_grad_enabled(True)
    assert recorded() == ON


def test_a_set_grad_enabled_made_before_its_block() -> None:
    """As in PyTorch it takes effect when it is made, and its block's end undoes it."""
    held = pb.set_grad_enabled(False)
    with held:
        assert not records()
    assert records()


def test_a_generator_does_not_leak_what_it_holds() -> None:
    """A generator shares its caller's state while it is suspended; closing it puts things back."""

    def numbers() -> Iterator[bool]:
        with pb.no_grad():
            yield records()
            yield records()

    assert list(numbers()) == [False, False]
    assert records()
    made = numbers()
    assert next(made) is False
    made.close()
    assert records()


def test_a_decorated_generator_records_nothing_while_it_runs() -> None:
    @pb.no_grad()
    def numbers() -> Iterator[bool]:
        got = yield records()
        try:
            yield bool(got) and records()
        finally:
            assert not records()

    made = numbers()
    assert next(made) is False
    assert records()  # while it is suspended the caller's state holds
    assert made.send("x") is False
    assert records()
    assert list(made) == []
    assert records()


def test_a_decorated_coroutine_records_nothing_while_it_runs() -> None:
    @pb.no_grad()
    async def work() -> list[bool]:
        before = records()
        await asyncio.sleep(0)
        return [before, records()]

    async def main() -> list[bool]:
        return [*await work(), records()]

    assert asyncio.run(main()) == [False, False, True]


def test_a_decorated_generator_takes_what_is_thrown_and_answers() -> None:
    @pb.no_grad
    def numbers() -> Iterator[Any]:
        try:
            yield 1
        except ValueError as error:
            yield str(error), records()
        return 3

    def outer() -> Iterator[Any]:
        result.append((yield from numbers()))

    result: list[int] = []
    made = outer()
    assert next(made) == 1
    assert made.throw(ValueError("thrown")) == ("thrown", False)
    assert list(made) == []
    assert result == [3]
    assert records()


def test_a_decorated_asynchronous_generator_is_refused() -> None:
    with pytest.raises(pb.errors.ArgumentTypeError, match="put `with no_grad"):

        @pb.no_grad()
        async def numbers() -> Any:
            yield 1


def test_tasks_have_their_own_state() -> None:
    seen: dict[str, list[bool]] = {"off": [], "on": []}

    async def off() -> None:
        with pb.no_grad():
            for _ in range(3):
                seen["off"].append(records())
                await asyncio.sleep(0)

    async def on() -> None:
        for _ in range(3):
            seen["on"].append(records())
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(off(), on())

    asyncio.run(main())
    assert seen == {"off": [False] * 3, "on": [True] * 3}


def test_threads_have_their_own_state() -> None:
    entered, checked = threading.Event(), threading.Event()
    seen = []

    def other() -> None:
        seen.append(recorded())  # starts from the default, whatever the starter holds
        with pb.no_grad():
            entered.set()
            checked.wait(10)
            seen.append(recorded())

    with pb.inference_mode():
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(10)
        assert recorded() == INFERENCE
        checked.set()
        thread.join()
    assert seen == [ON, OFF]


def test_threads_record_and_differentiate_side_by_side() -> None:
    answers: dict[int, Any] = {}

    def work(k: int) -> None:
        x = pb.Tensor(np.full(3, float(k)), requires_grad=True)
        for _ in range(50):
            y = x
            for _ in range(20):
                y = y * 1.01 + x
            pb.sum(y).backward()
        answers[k] = x.grad.data

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(answers) == 4
    for k in range(1, 4):
        np.testing.assert_array_equal(answers[k], answers[0])


def test_backward_records_nothing_and_leaves_the_state() -> None:
    x = pb.Tensor(np.array([1.0]), requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(recorded()))
    (x * 2.0).backward()
    assert seen == [OFF]
    assert recorded() == ON


def test_an_exception_in_a_pull_puts_the_state_back() -> None:
    x = pb.Tensor(np.array([1.0]), requires_grad=True)

    def hook(g: Any) -> Any:
        raise KeyboardInterrupt

    x.register_hook(hook)
    for create in (False, True):
        with pytest.raises(KeyboardInterrupt):
            (x * 2.0).backward(create_graph=create)
        assert recorded() == ON
    assert x.grad is None
