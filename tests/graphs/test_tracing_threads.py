"""Tracing is a matter of one thread: no class changes, and whatever ends it leaves nothing behind.
"""

from __future__ import annotations

import inspect
import sys
import threading
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import tf, torch
from pullback.arrays.symbol import Symbol
from pullback.core import dispatch, outside, state
from pullback.core.outside import current_graph
from pullback.core.tensor import Tensor, node_of, raw, to_array
from pullback.graphs import cond, function, tracing


def leaf(*values: float) -> Any:
    return pb.tensor(list(values), requires_grad=True)


def subclasses(cls: type) -> list[type]:
    return [cls, *[s for c in cls.__subclasses__() for s in subclasses(c)]]


def attributes() -> dict[type, dict[str, Any]]:
    """The attributes of Tensor and of the classes made of it."""
    return {cls: dict(vars(cls)) for cls in subclasses(Tensor)}


def in_another_thread(call: Callable[[], Any]) -> Any:
    """What a call returns in a thread of its own, while this one waits."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(call()), daemon=True)
    thread.start()
    thread.join(60)
    (answer,) = found
    return answer


# Classes -----------------------------------------------------------------------------------------


def test_no_attribute_of_a_class_of_tensors_changes() -> None:
    w, v, c = leaf(1.0, 2.0), pb.Variable([3.0, 4.0]), tf.constant([1.0, 2.0])
    p = torch.nn.Parameter(torch.ones(2))
    during = []

    def code(x: Any) -> Any:
        y = x * w + v * pb.tensor([1.0, 1.0])
        v.assign_add([1.0, 1.0])
        with pb.no_grad():
            w.__iadd__(1.0)
        cond(pb.sum(y) > 0, lambda: y * w, lambda: y)
        c * 2.0, p * 2.0
        during.append(attributes())
        return y

    traced = function(code)
    traced(pb.ones(2))  # imports what a graph needs
    before = attributes()
    function(code)(pb.ones(2))
    for now in (during[-1], attributes()):
        assert now.keys() == before.keys()
        for cls, known in before.items():
            assert now[cls].keys() == known.keys()
            assert all(now[cls][name] is value for name, value in known.items()), cls


def test_a_tensor_from_outside_shows_a_symbol_wherever_it_is_read() -> None:
    w = leaf(1.0, 2.0)
    array, node = w._data, w._node

    @function
    def code(x: Any) -> Any:
        assert w._data.__class__ is Symbol
        assert raw(w) is to_array(w) is w._data is w.detach()._data
        assert node_of(w) is w._node is not node
        assert (w.shape, w.dtype, w.requires_grad) == ((2,), np.float64, True)
        assert w._array is array
        assert w._history is node
        made = pb.tensor([1.0, 2.0])
        assert made._data is made._array
        return x * w * made

    assert code(pb.ones(2)).tolist() == [1.0, 4.0]
    assert w._data is array
    assert w._node is node


# Threads -----------------------------------------------------------------------------------------


def test_another_thread_computes_on_the_short_path(monkeypatch: pytest.MonkeyPatch) -> None:
    w, v = leaf(1.0, 2.0), pb.Variable([3.0, 4.0])
    general: list[int] = []
    apply = dispatch.apply

    def counted(*args: Any) -> Any:
        general.append(threading.get_ident())
        return apply(*args)

    monkeypatch.setattr(dispatch, "apply", counted)

    def eager() -> Any:
        assert current_graph() is None
        y = pb.sum(pb.exp(w * 2.0) * w * v)
        y.backward()
        return threading.get_ident(), y._data.__class__, w.grad.tolist(), w._data.__class__

    ident, *expected = eager()
    assert general == []
    found = []

    @function
    def code(x: Any) -> Any:
        y = x * w
        w.grad = None
        found.append(in_another_thread(eager))
        return y * v

    assert code(pb.ones(2)).tolist() == [3.0, 8.0]
    (other, *answers), = found
    assert set(general) == {ident}  # this thread, as it traces
    assert other != ident
    assert answers[0] is expected[0]
    assert answers[2] is expected[2] is np.ndarray


def test_another_thread_writes_to_the_tensor_itself() -> None:
    w, v = pb.tensor([1.0, 2.0]), pb.Variable([1.0, 1.0])

    def write() -> Any:
        w.__iadd__(10.0)
        w[0] = 5.0
        v.assign([2.0, 3.0])
        return w.tolist(), v.numpy().tolist()

    @function
    def code(x: Any) -> Any:
        y = w * x
        assert in_another_thread(write) == ([5.0, 12.0], [2.0, 3.0])
        with pb.no_grad():
            w.__iadd__(1.0)
        return y + v

    assert code(pb.ones(2)).tolist() == [7.0, 15.0]
    assert w.tolist() == [6.0, 13.0]


def test_a_graph_built_by_hand_in_another_thread_has_eager_tensors_as_constants() -> None:
    from pullback.graphs import Graph, Session, placeholder

    w, v = pb.tensor([1.0, 2.0]), pb.Variable([3.0, 4.0])

    def built() -> Any:
        with Graph().as_default() as graph:
            x = placeholder(np.float64, [2])
            y = cond(pb.sum(x) > 0, lambda: x * w + v, lambda: x)
        v.assign([0.0, 0.0])
        return Session(graph).run(y, {x: [1.0, 1.0]}).tolist()

    @function
    def code(x: Any) -> Any:
        assert in_another_thread(built) == [4.0, 6.0]
        return x * w

    assert code(pb.ones(2)).tolist() == [1.0, 2.0]


def time_of(call: Callable[[], Any]) -> float:
    return min(timeit.repeat(call, number=200, repeat=50))


def is_faster(call: Callable[[], Any], limit: float) -> bool:
    """Whether a call takes less than a time, in some of many rounds: other programs run too."""
    return any(time_of(call) < limit for _ in range(100))


@pytest.mark.full
def test_another_threads_operations_take_no_longer() -> None:
    w = leaf(1.0, 2.0)
    before = time_of(lambda: w * 2.0)
    found = []

    @function
    def code(x: Any) -> Any:
        found.append(in_another_thread(lambda: is_faster(lambda: w * 2.0, 1.5 * before)))
        return x * w

    code(pb.ones(2))
    assert found == [True]


@pytest.mark.full
def test_hundreds_of_traces_do_not_slow_what_is_eager() -> None:
    w = leaf(1.0, 2.0)
    before = time_of(lambda: w * 2.0)
    for _ in range(1200):
        function(lambda x: x * w)(pb.ones(2))
    assert is_faster(lambda: w * 2.0, 1.25 * before)


# What ends a trace -------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("nested", [False, True])
def test_an_error_leaves_everything_as_it_was(error: type[BaseException], nested: bool) -> None:
    w, v = leaf(1.0, 2.0), pb.Variable([3.0, 4.0])
    before, history, known = (w._data, v._data), w._node, attributes()

    def fails(x: Any) -> Any:
        v.assign_add(x)
        with pb.no_grad():
            w.__iadd__(x)
        raise error

    inner = function(fails)
    for _ in range(2):
        with pytest.raises(error):
            (function(lambda x: inner(x * 2.0) * w) if nested else inner)(pb.ones(2))
        assert not outside.traces
        assert current_graph() is None
        assert state.state() == state.State()
        assert (w._data, v._data) == before
        assert w._node is history
        assert attributes() == known
    assert (w * v).tolist() == [3.0, 8.0]


def test_an_interrupt_at_any_line_of_its_beginning_leaves_everything_as_it_was() -> None:
    code = inspect.unwrap(tracing.building).__code__
    lines = sorted({line for _, _, line in code.co_lines() if line})
    source, start = inspect.getsourcelines(code)
    end = start + next(i for i, line in enumerate(source) if "yield" in line)
    w = leaf(1.0, 2.0)

    def interrupting(at: int) -> Callable[..., Any]:
        def local(frame: Any, event: str, argument: Any) -> Any:
            if event == "line" and frame.f_lineno == at:
                raise KeyboardInterrupt
            return local

        return lambda frame, event, argument: local if frame.f_code is code else None

    tried = 0
    for line in lines:
        if not start < line <= end:
            continue
        traced, before = function(lambda x: x * w), sys.gettrace()
        sys.settrace(interrupting(line))
        try:
            traced(pb.ones(2))
        except KeyboardInterrupt:
            tried += 1
        finally:
            sys.settrace(before)
        assert not outside.traces
        assert current_graph() is None
        assert state.state() == state.State()
    assert tried >= 4
