"""Cuts and the journal: bounded, by thread, and nothing is kept alive by them."""

from __future__ import annotations

import gc
import threading
from weakref import ref

import numpy

import pullback as pb
from pullback.core import cuts
from pullback.core.journal import latest


def test_cuts_are_bounded() -> None:
    x = pb.tensor([1.0], requires_grad=True)
    cuts.forget()
    for _ in range(cuts.MOST + 10):
        float(x)
    assert len(cuts.cuts()) == cuts.MOST


def test_what_is_recorded_makes_no_cut() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    cuts.forget()
    pb.sum(pb.exp(x) * x).backward()
    assert cuts.cuts() == []


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
    cuts.forget()
    y = pb.sin(pb.cos(pb.exp(x)))
    y.detach()
    (cut,) = cuts.cuts()
    assert cut.whole
    del y
    (cut,) = cuts.cuts()
    assert not cut.whole
    cuts.forget()
    (x * 2.0).detach()
    (cut,) = cuts.cuts()
    assert cut.whole


def test_another_thread_has_cuts_of_its_own() -> None:
    x = pb.tensor([1.0], requires_grad=True)
    cuts.forget()
    float(x)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(len(cuts.cuts())))
    thread.start()
    thread.join()
    assert seen == [0]
    assert len(cuts.cuts()) == 1


def test_pulls_are_not_written_down() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pb.debug():
        y = pb.sum(pb.tanh(x))
        journal = latest()
        assert journal is not None
        before = len(journal.events)
        y.backward()
        assert len(journal.events) <= before + 1  # what the pull begins with
