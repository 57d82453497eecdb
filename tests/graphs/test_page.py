"""The page of a picture, in a browser that has no window; without one, nothing of this runs."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape

import pytest

from pullback.tools.draw.layout import Box, Edge, Picture, page, svg
from tests.graphs.pictures import Seen, check
from tests.graphs.test_draw import layers

SAY = """
const said = document.createElement("pre");
said.id = "said";
said.textContent = JSON.stringify((() => { %s })());
document.body.append(said);
"""

PLACES = """
const seen = [...document.querySelectorAll("#boxes > g")].filter((g) => g.style.display !== "none");
return [seen.map((g) => [g.firstElementChild.dataset.key || g.firstElementChild.dataset.group,
                         g.getAttribute("transform").match(/[-\\d.]+/g).map(Number)]),
        [...document.querySelectorAll("#lines path")].map((p) => p.getAttribute("d"))];
"""


def said(picture: Picture, closed, program: str, folder):
    """What a program that is put into the page returns."""
    path = folder / "page.html"
    before, end, after = page(picture, closed).rpartition("</script>")
    path.write_text(before + SAY % program + end + after, "utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800",
         f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=3000", "--dump-dom",
         path.as_uri()],
        capture_output=True, text=True, timeout=90, check=True,
    )
    found = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return json.loads(unescape(found[1]))


def numbers(path: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?[\d.]+", path)]


def alike(some: list[float], others: list[float]) -> bool:
    return len(some) == len(others) and all(
        abs(a - b) < 0.25 for a, b in zip(some, others, strict=True)
    )


@pytest.mark.full
@pytest.mark.needs("chromium")
def test_the_page_opens_as_the_still_picture(tmp_path):
    picture = layers(6).draw().picture
    for name, closed, program in [
        ("open", set(), ""), ("some", picture.folded(20), ""),
        ("closed", set(picture.groups[1:]), ""),
        ("again", set(), "foldAll(true); foldAll(false);"),
    ]:
        folder = tmp_path / name
        folder.mkdir()
        boxes, lines = said(picture, closed, program + PLACES, folder)
        seen = Seen(svg(picture, closed))
        check(seen)
        rects = {**seen.boxes, **seen.closed}
        assert {k for k, _ in boxes} == set(rects)
        for key, (x, y) in boxes:
            assert abs(x - rects[key].left) < 0.2
            assert abs(y - rects[key].top) < 0.2
        mine = [numbers(line.element.get("d")) for line in seen.lines]
        theirs = [numbers(d) for d in lines]
        assert all(any(alike(a, b) for b in theirs) for a in mine)
        assert all(any(alike(a, b) for a in mine) for b in theirs)


DRAWN = """
for (const path of document.querySelectorAll("#lines path")) {
  path.dataset.tail = boxes[edges[path.edges[0]].tail].key;
  path.dataset.head = boxes[edges[path.edges[0]].head].key;
}
for (const g of document.querySelectorAll("#boxes > g")) if (g.style.display === "none") g.remove();
return [new XMLSerializer().serializeToString(view), levels.map((level) => level.closed)];
"""


@pytest.mark.full
@pytest.mark.needs("chromium")
@pytest.mark.parametrize("most", [0, 20, 90])
def test_after_folding_lines_still_lead_from_box_to_box(most, tmp_path):
    picture = layers(6).draw().picture
    every_third = "levels.forEach((level, n) => { if (n % 3 === 1) fold(n, !level.closed); });"
    for name, program in [
        ("open", "foldAll(false);"), ("closed", "foldAll(true);"),
        ("third", f"foldAll(false); {every_third}"),
    ]:
        folder = tmp_path / name
        folder.mkdir()
        text, closed = said(picture, picture.folded(most), program + DRAWN, folder)
        assert any(closed) == (name != "open")
        seen = Seen(text)
        check(seen)
        assert len(seen.boxes) + len(seen.closed) > 1
        assert (len(seen.boxes) == len(picture.boxes)) == (name == "open")


@pytest.mark.full
@pytest.mark.needs("chromium")
def test_folding_searching_and_telling(tmp_path):
    boxes = [
        Box("x", "x", detail="the input"), Box("in/a", "a", ("tanh",), group=("in",)),
        Box("in/deep/b", "b", ("float64 [3]",), group=("in", "deep")), Box("z", "z"),
    ]
    edges = [Edge("x", "in/a"), Edge("in/a", "in/deep/b"), Edge("in/deep/b", "z")]
    answer = said(Picture(boxes, edges), {("in",)}, """
        const seen = () => [...document.querySelectorAll("#boxes > g")]
          .filter((g) => g.style.display !== "none")
          .map((g) => g.firstElementChild.dataset.key || g.firstElementChild.dataset.group);
        const hit = (g, kind) => g.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
        const before = seen();
        const box = get("search");
        box.value = "float64 [3]";
        box.dispatchEvent(new Event("input"));
        const found = get("found").textContent;
        box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
        const after = seen();
        hit(document.querySelector("[data-key=x]").parentNode, "pointerenter");
        const told = [get("detail").hidden, get("detail").textContent.trim(),
                      document.querySelectorAll(".lit").length];
        const zoomed = zoom;
        view.dispatchEvent(new WheelEvent("wheel", { deltaY: -300, cancelable: true }));
        hit(document.querySelector(".name"), "click");
        return { before, found, after, told, closer: zoom > zoomed, last: seen(),
                 lines: document.querySelectorAll("#lines path").length };
    """, tmp_path)
    assert sorted(answer["before"]) == ["in", "x", "z"]
    assert answer["found"] == "1 found"
    assert sorted(answer["after"]) == ["in/a", "in/deep/b", "x", "z"]
    assert answer["told"] == [False, "the input", 1]
    assert answer["closer"]
    assert sorted(answer["last"]) == ["in", "x", "z"]
    assert answer["lines"] == 2
