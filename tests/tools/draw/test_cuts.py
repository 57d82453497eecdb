"""Cuts beside the paths of a picture: what was cut, where, and where its values come back."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import pullback as pb
from tests.graphs.pictures import Seen, check


def leaf(rng):
    return pb.tensor(rng.normal(size=3), requires_grad=True)


CUTS = {
    "detach": (lambda h: h.detach(), "the history was dropped"),
    "stop_gradient": (pb.stop_gradient, "the history was dropped"),
    ".numpy()": (lambda h: pb.tensor(h.numpy()), "the values left the library"),
    "float()": (float, "the values left the library"),
    "greater": (lambda h: h > 0, "no derivative"),
    "argmax": (pb.argmax, "no derivative"),
    "astype": (lambda h: pb.astype(h, "int64"), "integers or booleans"),
}


def red(picture):
    """{title: (box, heads of its lines, tails of its lines)} of the cuts."""
    boxes = {b.key: b for b in picture.picture.boxes}
    edges = picture.picture.edges
    return {
        b.title: (b, [boxes[e.head].title for e in edges if e.tail == b.key],
                  [boxes[e.tail].title for e in edges if e.head == b.key])
        for b in boxes.values() if b.look == "cut"
    }


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("name", CUTS)
def test_each_kind_of_cut_hangs_at_what_was_cut(rng, name, debug):
    cut, why = CUTS[name]
    x, w = leaf(rng), leaf(rng)
    with pb.debug() if debug else contextlib.nullcontext():
        h = pb.tanh(x)
        if name == "float()":
            h = pb.sum(h)
        lost = cut(h)
        again = pb.multiply(w, lost)
        y = pb.sum(h) + pb.sum(again)
    picture = pb.draw(y, names={"w": w})
    check(Seen(picture.svg))
    found = {t: f for t, f in red(picture).items() if f[0].rows[0].startswith(why)}
    if not debug and name in {"greater", "argmax", "astype"}:  # operations cost nothing there
        assert not found
        return
    assert len(found) == 1, red(picture)
    (box, heads, tails), = found.values()
    assert box.rows[-1].startswith("test_cuts.py:")
    assert tails == ["sum" if name == "float()" else "tanh"]
    if debug and name != "float()":  # nothing says where a number goes
        assert heads == ["multiply"]
    assert "✂" in picture.text


def test_lines_to_and_from_a_cut_are_red(rng):
    x = leaf(rng)
    h = pb.exp(x)
    y = pb.sum(h * h.detach())
    key = next(b.key for b in pb.draw(y).picture.boxes if b.look == "cut")
    drawn = {(e.tail.partition("_")[0], e.head.partition("_")[0]): e.look
             for e in pb.draw(y).picture.edges if key in (e.tail, e.head)}
    assert drawn == {("exp", "detach"): "cut", ("detach", "multiply"): "cut"}


def test_two_cuts_of_one_tensor_lead_each_to_its_own(rng):
    x, w = leaf(rng), leaf(rng)
    with pb.debug():
        h = pb.tanh(x)
        h.numpy()
        mask = h > 0
        kept = (h * 2.0).detach()
        first = pb.where(mask, w, x)
        second = pb.exp(w) * pb.sin(kept)
        pb.argmax(h)
        number = float(pb.sum(h * 3.0))
        y = pb.sum(first) + pb.sum(second) + pb.sum(h) * number
    found = red(pb.draw(y))
    assert found["✂ greater"][1] == ["where"]
    assert found["✂ detach"][1] == ["multiply"]
    assert found["✂ detach"][2] == ["tanh"]  # what was cut is gone; it came from there
    assert found["✂ argmax"][1] == []
    assert found["✂ .numpy()"][1] == []


def test_what_came_after_or_lies_elsewhere_is_not_drawn(rng):
    x, other = leaf(rng), leaf(rng)
    away = pb.exp(other)
    away.detach()
    y = pb.sum(pb.tanh(x))
    y.item()
    x.numpy()
    with pb.no_grad():
        x * 2.0
    assert not red(pb.draw(y))


def test_what_no_recording_saw_is_drawn_where_it_comes_back(rng):
    x, w = leaf(rng), leaf(rng)
    with pb.debug():
        with pb.no_grad():
            scale = x * 2.0
            x * 3.0
        y = pb.sum(x) + pb.sum(w * scale)
    found = [b for b in pb.draw(y).picture.boxes if b.look == "cut"]
    assert [b.rows[0] for b in found] == ["recording was off"]


def test_cuts_of_one_line_are_counted_and_can_be_left_out(rng):
    x = leaf(rng)
    total = 0.0
    for _ in range(5):
        total = total + pb.sum(x * x.detach())
    (box, heads, _), = red(pb.draw(total)).values()
    assert box.rows[0] == "the history was dropped · 5 times"
    assert len(heads) == 5
    assert not red(pb.draw(total, show=["space"]))
    assert np.all(np.isfinite(total.numpy()))
