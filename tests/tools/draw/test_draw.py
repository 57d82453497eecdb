"""`draw`: what is in the picture of a recorded graph, what is said there, and where paths stop."""

from __future__ import annotations

import json
import re
import subprocess
import time

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ArgumentError, ArgumentTypeError
from pullback.tools.draw import draw
from tests.graphs.pictures import Seen, check
from tests.graphs.test_page import said


def straight(op, g):
    return g


@pb.custom_gradient
def halved(x):
    return x * 1.0, lambda g: g / 2


@pb.custom_gradient
def one_sided(x, w):
    return x * w, lambda g: (g * 2, None)


def leaf(rng, *shape):
    return pb.tensor(rng.normal(size=shape), requires_grad=True)


def program(rng, count):
    """A random program: its result, and (tail, head) of what it computed, as sequence numbers."""
    values = [leaf(rng, 3) for _ in range(3)]
    links = []
    for _ in range(count):
        picks = rng.integers(0, len(values), 2)
        a, b = (values[i] for i in picks)
        made = pb.tanh(a) if rng.random() < 0.5 else a * b
        used = [a] if made.node.name() == "tanh" else [a, b]
        links += [(v.node.seq, made.node.seq) for v in used]
        values.append(made)
    return values[-1], links


def behind(links, end):
    """The links that lead to an end."""
    wanted, stack = set(), [end]
    while stack:
        head = stack.pop()
        for tail, other in links:
            if other == head and (tail, other) not in wanted:
                stack.append(tail)
        wanted |= {pair for pair in links if pair[1] == head}
    return sorted(pair for pair in links if pair in wanted)


def seqs(lines):
    return sorted(tuple(int(k.rpartition("_")[2]) for k in pair) for pair in lines)


def test_every_operation_and_line_and_no_other(rng):
    for count in (1, 4, 9, 20, 40):
        y, links = program(rng, count)
        seen = Seen(draw(y, fold=False).svg)
        check(seen)
        drawn = [(line.tail, line.head) for line in seen.lines if line.head != "→ y"]
        wanted = behind(links, y.node.seq)
        assert seqs(drawn) == wanted
        assert {k for k in seen.boxes if k != "→ y"} == {k for pair in drawn for k in pair}


def test_gradients_are_those_of_numpy(rng):
    x, w = leaf(rng, 5, 4), leaf(rng, 4, 3)
    h = x @ w
    y = pb.sum(pb.relu(h) * 3.0)
    g = rng.normal()
    boxes = {b.key: dict(b.facts) for b in draw(y, cotangent=g).picture.boxes}
    of_h = 3.0 * g * (h.numpy() > 0)
    for tensor, slope in ((h, of_h), (x, of_h @ w.numpy().T), (w, x.numpy().T @ of_h)):
        told = next(f for k, f in boxes.items() if k.endswith(f"_{tensor.node.seq}"))["gradient"]
        assert told.startswith(f"‖g‖ {np.linalg.norm(slope):.3g}")
    share = 100 * np.mean(of_h == 0)
    assert boxes[f"matmul_{h.node.seq}"]["gradient"].endswith(f"{share:.3g}% zeros")
    assert x.grad is None
    y.backward()  # the graph is still there


def test_shares_of_nan_and_infinity():
    x = pb.tensor([1.0, 0.0, 4.0, 9.0], requires_grad=True)
    with np.errstate(all="ignore"):
        y = pb.sum((x + 1.0) * pb.tensor([1.0, float("inf"), float("nan"), 2.0]))
    box = draw(y, x).picture.boxes[0]
    assert "25% NaN" in box.rows[1]
    assert "25% inf" in box.rows[1]


def test_hand_written_gradients_stand_out(rng):
    x = leaf(rng, 3)
    with pb.override_gradient({"sign": straight}):
        y = pb.sum(halved(pb.sign(x)))
    seen = Seen(draw(y).svg)
    looks = {k.rpartition("_")[0]: v for k, v in seen.looks.items()}
    assert (looks["sign"], looks["halved"], looks["sum"]) == ("overridden", "custom", "operation")
    assert any("∇ straight" in rows for rows in seen.texts.values())


def test_between_leaves_out_what_is_on_no_path(rng):
    x, other = leaf(rng, 3), leaf(rng, 3)
    middle = pb.tanh(x)
    y = pb.sum(pb.exp(middle) * pb.sin(other))
    names = [b.key.rpartition("_")[0] for b in draw(y, middle).picture.boxes[:-1]]
    assert names == ["x", "exp", "multiply", "sum"]


def test_a_path_that_stops_is_red(rng):
    x, w = leaf(rng, 3), leaf(rng, 3)
    seen = Seen(draw(pb.sum(one_sided(x, w))).svg)
    cut = [k for k, look in seen.looks.items() if look == "cut"]
    assert len(cut) == 1
    assert "its rule returned None" in seen.texts[cut[0]]
    assert {line.head for line in seen.lines if line.tail == cut[0]} == {
        k for k in seen.boxes if k.startswith("one_sided_")}


def test_where_no_path_is_both_sides_are_drawn(rng):
    x, w = leaf(rng, 3), leaf(rng, 3)
    y = pb.sum(pb.tensor(x.numpy()) * w)
    seen = Seen(draw(y, x).svg)
    check(seen)
    cut = next(k for k in seen.boxes if k.startswith("✂ x"))
    assert {("x →", cut), (cut, "→ y")} <= {(s.tail, s.head) for s in seen.lines}
    assert seen.texts[cut][:2] == ["✂ .numpy()", "the values left the library"]
    assert seen.texts[cut][2].startswith("test_draw.py:")
    assert any(k.startswith("multiply_") for k in seen.boxes)
    assert "never tracked" in draw(y, pb.tensor([1.0])).svg
    assert "no history" in draw(pb.tensor([1.0])).svg


def test_a_freed_graph_says_so(rng):
    x = leaf(rng, 3)
    y = pb.sum(pb.exp(x))
    y.backward()
    picture = draw(y)
    assert "freed: an earlier backward" in picture.picture.boxes[1].rows[-1]
    assert picture.picture.boxes[1].look == "cut"


def test_hooks_do_not_run_and_a_rule_that_fails_is_told(rng):
    x, calls = leaf(rng, 3), []
    h = pb.exp(x)
    h.register_hook(calls.append)

    @pb.custom_gradient
    def broken(v):
        def grad(g):
            raise ZeroDivisionError("no such thing")
        return v * 1.0, grad

    assert "hooks not run" in draw(pb.sum(h)).text
    assert not calls
    assert "ZeroDivisionError: no such thing" in draw(pb.sum(broken(h))).picture.boxes[2].rows[-1]


def test_a_tape_ends_the_paths():
    v = pb.Variable([1.0, 2.0], name="v")
    with pb.GradientTape(persistent=True):
        before = pb.exp(v)
    with pb.GradientTape(persistent=True) as tape:
        y = pb.sum(before * v)
    names = [b.key.rpartition("_")[0] for b in draw(y, tape=tape).picture.boxes[:-1]]
    assert sorted(names) == ["exp", "multiply", "sum", "v"]
    looks = Seen(draw(y, tape=tape).svg).looks
    assert looks[f"exp_{before.node.seq}"] == "loose"


def test_names_cannot_break_out(tmp_path, rng):
    nasty = "a</script><b onload=x>&\"'λ\\n"
    x = leaf(rng, 2)
    picture = draw(pb.sum(pb.exp(x)), names={nasty: x})
    assert f"{nasty}_{x.node.seq}" in Seen(picture.svg).boxes
    assert "<b onload" not in picture.html + picture._repr_html_()
    assert picture.html.count("</script>") == 2
    assert '\\"' in picture.dot
    for ending in (".svg", ".html", ".dot", ".txt"):
        assert picture.save(tmp_path / f"p{ending}").read_text("utf-8")


def test_operations_of_one_line_fold_into_one_box(rng):
    y = leaf(rng, 2)
    with pb.debug():
        for _ in range(500):
            y = pb.tanh(y)
        z = pb.sum(y)
    picture = draw(z, fold=True)
    outer = [path for path in picture.folded if len(path) == 1]
    assert len(outer) == 1
    assert outer[0] == ("test_operations_of_one_line_fold_into_one_box()",)
    lines = [path[1] for path in picture.picture.groups if len(path) == 2]
    assert len(lines) == 1
    assert lines[0].startswith("test_draw.py:")
    assert picture.picture.inside[(*outer[0], lines[0])] == 501  # with the leaf that only it takes
    assert f"▸ {outer[0][0]}" in picture.text


def test_arguments_are_checked(rng):
    y = pb.sum(leaf(rng, 2))
    for wrong in ({"format": "png"}, {"show": "line"}, {"cotangent": [1.0, 2.0]}):
        with pytest.raises(ArgumentError):
            draw(y, **wrong)
    for wrong in ({"x": 3.0}, {"names": 3}):
        with pytest.raises(ArgumentTypeError):
            draw(y, **wrong)


def test_what_dot_says_is_whole(rng):
    y, _ = program(rng, 12)
    text = draw(y, fold=False).dot
    assert len(re.findall(r"^\s+\".*\" -> \".*\" \[.*\]$", text, re.M)) == len(
        draw(y).picture.edges)


@pytest.mark.needs("dot")
def test_dot_reads_what_is_written_for_it(rng):
    y, _ = program(rng, 12)
    text = draw(y, fold=False).dot
    subprocess.run(["dot", "-Tplain"], input=text, text=True, check=True, capture_output=True)


def chain(rng, length):
    y = leaf(rng, 2)
    for _ in range(length):
        y = pb.tanh(y)
    return y


@pytest.mark.full
def test_ten_thousand_operations(rng):
    y = chain(rng, 10_000)
    began = time.process_time()
    picture = draw(pb.sum(y))
    assert len(picture.html) < 2_000_000
    assert len(Seen(picture.svg).closed) <= 60
    assert time.process_time() - began < 20, "2 s where nothing else runs"


@pytest.mark.full
@pytest.mark.needs("chromium")
def test_ten_thousand_operations_in_a_browser(rng, tmp_path):
    picture = draw(pb.sum(chain(rng, 10_000)))
    answer = said(picture.picture, picture.folded, """
        const seen = () => document.querySelectorAll("#boxes > g").length;
        const before = seen(), box = get("search");
        box.value = "tanh";
        box.dispatchEvent(new Event("input"));
        const found = get("found").textContent;
        box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
        const began = performance.now();
        foldAll(true);
        return { before, found, after: seen(), took: performance.now() - began };
    """, tmp_path)
    assert answer["found"] == "10000 found"
    assert answer["before"] < 100 < answer["after"] + 100
    assert answer["took"] < 5000, json.dumps(answer)
