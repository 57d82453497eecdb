"""What a picture does not let one miss, and how its page is used without a mouse."""

from __future__ import annotations

import gc
import io
import itertools
import re
import time

import numpy as np
import pytest

import pullback as pb
from pullback.tools.draw.layout.looks import SMALL, width_of
from tests.graphs.pictures import Seen
from tests.graphs.test_page import said


def leaf(rng, *shape):
    return pb.tensor(rng.normal(size=shape), requires_grad=True)


def layers(rng, count, width):
    """The sum of some layers that take the same weights by turns, and the weights by name."""
    h, weights = leaf(rng, 4), [leaf(rng, 4, 4) for _ in range(width)]
    names = {f"w{n}": w for n, w in enumerate(weights)}
    with pb.debug():
        for n in range(count):
            h = pb.tanh(h @ weights[n % width]) + h * 0.1
        return pb.sum(h), names


def test_nan_and_infinity_stand_out():
    x = pb.tensor([1.0, 0.0, 4.0], requires_grad=True)
    with np.errstate(all="ignore"):
        y = pb.sum(pb.sqrt(x))
    looks = {b.title: b.look for b in pb.draw(y, x).picture.boxes}
    assert looks == {"x": "alarm", "sqrt": "operation", "sum": "operation", "y": "output"}


def test_a_norm_does_not_overflow(rng):
    x = pb.tensor([3e200, 4e200], requires_grad=True)
    box = pb.draw(pb.sum(x * 1.0), x, cotangent=1e200).picture.boxes[0]
    assert box.rows[1].startswith("‖g‖ 1.41e+200")
    assert box.look == "input"


def test_a_closed_group_shows_what_is_striking_in_it(rng):
    x = leaf(rng, 3)
    with pb.debug():
        h = pb.tanh(x)
        y = pb.sum(h * h.detach())
    picture = pb.draw(y, names={"x": x}, fold=True)
    seen = Seen(picture.svg)
    assert "✂ 1" in picture.svg
    assert len(seen.closed) == 1
    assert 'stroke="#c4161c" stroke-width="1.8"' in picture.svg
    for form in (picture.text, picture.dot):
        assert "✂ 1" in form
    calm = pb.draw(pb.sum(pb.exp(x)), fold=True)
    assert 'stroke-width="1.8"' not in calm.svg


@pytest.mark.full
def test_labels_at_closed_groups_do_not_cover_each_other(rng):
    for width, at_groups in ((4, True), (20, False)):
        y, names = layers(rng, 400, width)
        picture = pb.draw(y, names=names)
        assert len(Seen(picture.svg).closed) == 1
        labels = re.findall(
            r'<g class="label"><rect[^>]*/><text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)',
            picture.svg)
        assert ("[4, 4]" in {text for _, _, text in labels}) == at_groups
        places = sorted((float(y), float(x), width_of(t, SMALL)) for x, y, t in labels)
        for (y, x, wide), (below, right, other) in itertools.pairwise(places):
            assert y != below or right - x > (wide + other) / 2


def test_outputs_have_the_names_of_their_places(rng):
    x = leaf(rng, 3)
    y = {"loss": pb.sum(x), "aux": [pb.sin(x), pb.cos(x)]}
    titles = {b.title for b in pb.draw(y, x).picture.boxes if b.look == "output"}
    assert titles == {"y['loss']", "y['aux'][0]", "y['aux'][1]"}


def test_an_index_is_written_as_in_python(rng):
    x = leaf(rng, 5, 4)
    titles = [b.title for b in pb.draw(x[1:3, ..., ::2] * 1.0, x).picture.boxes]
    assert titles[1] == "getitem(·, [1:3, ..., ::2])"


def test_rich_shows_the_table_and_its_cuts(rng):
    from rich.console import Console

    x = leaf(rng, 3)
    h = pb.exp(x)
    picture = pb.draw(pb.sum(h * h.detach()), x)
    console = Console(width=60, record=True, file=io.StringIO(), color_system="truecolor")
    console.print(picture)
    shown = console.export_text(styles=True, clear=False).splitlines()
    assert len(shown) == len(picture.text.splitlines())
    assert [line.startswith("\x1b[31m") for line in shown if "✂" in line] == [True]


@pytest.mark.full
def test_a_page_of_eleven_thousand_boxes(rng):
    picture = pb.draw(layers(rng, 2700, 20)[0])
    assert len(picture.picture.boxes) > 10_500
    began = time.process_time()
    assert len(picture.html) < 2_000_000
    assert time.process_time() - began < 15, "1.5 s where nothing else runs"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(rng, enabled):
    picture = pb.draw(pb.sum(leaf(rng, 3)))
    (gc.enable if enabled else gc.disable)()
    try:
        assert picture.html
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


@pytest.mark.full
@pytest.mark.needs("chromium")
def test_the_page_opens_where_it_can_be_read_and_folds_by_keys(rng, tmp_path):
    picture = pb.draw(layers(rng, 8, 2)[0], fold=False)
    answer = said(picture.picture, picture.folded, """
        const key = (on, name) => on.dispatchEvent(
          new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
        const rest = () => document.querySelectorAll(".box").length;
        const seen = () => [...document.querySelectorAll("#boxes > g")]
          .filter((g) => g.style.display !== "none").length;
        const opened = zoom;
        key(view, "0");
        const frame = view.getBoundingClientRect(), all = world.getBoundingClientRect();
        const fits = all.left >= frame.left && all.right <= frame.right
          && all.top >= frame.top && all.bottom <= frame.bottom;
        const before = seen(), name = document.querySelector(".name");
        name.focus();
        key(name, "Enter");
        const folded = seen(), now = document.activeElement;
        key(now, " ");
        const box = document.querySelector(".box");
        box.focus();
        const told = detail.textContent.trim();
        view.focus();
        return { opened, fitted: zoom, fits, before, folded, again: seen(),
                 closed: now.classList.contains("closed"), told, hidden: detail.hidden,
                 named: document.activeElement === view };
    """, tmp_path)
    assert answer["opened"] >= 0.65 > answer["fitted"]
    assert answer["fits"]
    assert answer["before"] == answer["again"] > answer["folded"]
    assert answer["closed"]
    assert answer["told"]
    assert answer["hidden"]

@pytest.mark.full
@pytest.mark.needs("chromium")
def test_labels_of_the_page_are_those_of_the_still_picture(rng, tmp_path):
    y, names = layers(rng, 400, 20)
    picture = pb.draw(y, names=names)
    answer = said(picture.picture, picture.folded, """
        return [...document.querySelectorAll("#labels .label")].map((g) => g.textContent);
    """, tmp_path)
    assert sorted(answer) == sorted(Seen(picture.svg).labels)
