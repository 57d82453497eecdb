"""Cuts and the journal: bounded, by thread, and nothing is kept alive by them."""

from __future__ import annotations

import gc
import threading
from typing import Any
from weakref import ref

import numpy

import pullback as pb
from pullback import lost_paths
from pullback.tools.debug.journal import latest


def test_cuts_are_bounded() -> None:
    x = pb.tensor([1.0], requires_grad=True)
    lost_paths.forget()
    for _ in range(lost_paths.MOST + 10):
        float(x)
    assert len(lost_paths.losses()) == lost_paths.MOST


def test_operations_are_noted_inside_debug_only() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)

    def drop() -> None:
        x.detach()
        pb.stop_gradient(x)
        pb.argmax(x)
        x > 0  # noqa: B015
        with pb.no_grad():
            x * 2.0
        x.tolist()

    lost_paths.forget()
    drop()
    always = ["detach", "stop_gradient", ".tolist()"]
    assert [lost.operation for lost in lost_paths.losses()] == always
    with pb.debug():
        drop()
    assert [lost.operation for lost in lost_paths.losses()[3:]] == [
        "detach", "stop_gradient", "argmax", "greater", "multiply", ".tolist()",
    ]


def test_what_is_recorded_makes_no_cut() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    lost_paths.forget()
    pb.sum(pb.exp(x) * x).backward()
    assert lost_paths.losses() == []


def test_cuts_and_journal_keep_nothing_alive() -> None:
    x = pb.tensor(numpy.ones(3), requires_grad=True)
    with pb.debug():
        y = pb.exp(x)
        z = y.detach() * 2.0
    seen = [ref(y), ref(y.data), ref(y.node), ref(z.data)]
    del y, z
    gc.collect()
    assert [s() for s in seen] == [None] * 4
    journal = latest()
    assert journal is not None
    assert [e.operation for e in journal.events.values() if e.operation] == ["exp", "multiply"]


def test_what_a_pull_let_go_of_lives_as_long_as_the_graph() -> None:
    x = pb.tensor(numpy.ones(3), requires_grad=True)
    with pb.debug():
        y = pb.exp(x)
        z = pb.sum(y * y)
        z.backward()
    seen = [ref(y.data), ref(z.node)]
    del y
    assert seen[0]() is not None
    del z
    gc.collect()
    assert [s() for s in seen] == [None, None]


def test_a_cut_knows_whether_it_knows_what_it_came_from() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    lost_paths.forget()
    y = pb.sin(pb.cos(pb.exp(x)))
    y.numpy()
    (cut,) = lost_paths.losses()
    assert cut.whole
    del y
    (cut,) = lost_paths.losses()
    assert not cut.whole
    lost_paths.forget()
    (x * 2.0).numpy()
    (cut,) = lost_paths.losses()
    assert cut.whole


def test_another_thread_has_cuts_of_its_own() -> None:
    x = pb.tensor([1.0], requires_grad=True)
    lost_paths.forget()
    float(x)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(len(lost_paths.losses())))
    thread.start()
    thread.join()
    assert seen == [0]
    assert len(lost_paths.losses()) == 1


def test_pulls_are_not_written_down() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pb.debug():
        y = pb.sum(pb.tanh(x))
        journal = latest()
        assert journal is not None
        before = len(journal.events)
        y.backward()
        assert len(journal.events) <= before + 1  # what the pull begins with


def test_what_a_rule_computes_is_nobody_s_cut() -> None:
    """It has no history where a pull is on raw arrays, and is not looked for either."""
    class Square(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    @pb.custom_gradient
    def square(x: Any) -> Any:
        return x * x, lambda g: g * 2 * x

    rule = pb.custom_vjp(lambda x: x * x)
    rule.defvjp(lambda x: (x * x, x), lambda x, g: (g * 2 * x,))
    for function in (square, Square.apply, rule):
        for persistent in (False, True):
            x = pb.tensor([1.0, 3.0])
            with pb.GradientTape(persistent=persistent) as tape:
                tape.watch(x)
                y = function(function(x))
            before = lost_paths.losses()[-1:]
            assert tape.gradient(y, x).tolist() == [4.0, 108.0]
            assert [c.number for c in lost_paths.losses()[-1:]] == [c.number for c in before]
