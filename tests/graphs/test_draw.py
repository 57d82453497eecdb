"""`Graph.draw`: what is in the picture, where it is, and that it is the same every time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import pullback as pb
import pullback.tf.v1 as tf
from pullback.graphs import Graph, GraphVariable, gradients, placeholder
from pullback.tools.draw.layout import Box, Edge, Picture, page, svg
from tests.graphs.pictures import Seen, check


def straight(op, g):
    return g


@pb.custom_gradient
def halved(x):
    return x * 1.0, lambda g: g / 2


def trained():
    """A layer, an overridden sign, a custom gradient, a loss, its gradient, an update."""
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None, 3], name="x")
        w = GraphVariable(np.ones((3, 4)), name="w")
        with graph.name_scope("layer"), pb.override_gradient({"sign": straight}):
            h = halved(pb.sign(pb.matmul(x, w)))
        loss = pb.sum(pb.mean(h * h * 2.0, axis=0))
        (slope,) = gradients(loss, [w], name="slopes")
        update = w.assign_sub(0.1 * slope)
        graph.group([update], name="train")
    return graph, loss, slope


def layers(count):
    """A deep network with scopes in scopes, its gradients and updates."""
    with Graph().as_default() as graph:
        y = placeholder(np.float32, [None, 8], name="x")
        weights = []
        for i in range(count):
            with graph.name_scope(f"layer{i}"):
                weights.append(GraphVariable(np.zeros((8, 8), np.float32), name="w"))
                with graph.name_scope("inner"):
                    y = pb.tanh(pb.matmul(y, weights[-1])) + y
        slopes = gradients(pb.mean(y * y), weights)
        with graph.name_scope("train"):
            updates = [w.assign_sub(s) for w, s in zip(weights, slopes, strict=True)]
            graph.group(updates, name="all")
    return graph


def links(operations):
    """(tail, head) of every input and every order."""
    return sorted(
        (tail, o.name) for o in operations
        for tail in [*(s.operation.name for s in o.takes), *(c.name for c in o.control)]
    )


# What is drawn ----------------------------------------------------------------------------------


def test_each_operation_is_a_box_and_each_input_a_line():
    graph, _, _ = trained()
    seen = Seen(graph.draw().svg)
    assert set(seen.boxes) == {o.name for o in graph.operations}
    assert sorted((line.tail, line.head) for line in seen.lines) == links(graph.operations)
    check(seen)


@pytest.mark.parametrize("fold", [False, None, True])
def test_places_in_a_deep_network(fold):
    graph = layers(12)
    seen = Seen(graph.draw(fold=fold).svg)
    check(seen)
    assert (not seen.closed) == (fold is False)
    if fold is False:
        assert len(seen.lines) == len(links(graph.operations))


@pytest.mark.full
def test_places_in_random_pictures(rng):
    for _ in range(25):
        count = int(rng.integers(2, 40))
        groups = [tuple(str(g) for g in rng.integers(0, 3, rng.integers(0, 4))) for _ in
                  range(count)]
        boxes = [Box("/".join([*g, f"b{n}"]), f"b{n}", ("row",) * int(rng.integers(0, 4)),
                     group=g) for n, g in enumerate(groups)]
        pairs = rng.integers(0, count, (2 * count, 2))
        edges = [
            Edge(boxes[a].key, boxes[b].key, int(rng.integers(0, 3)), "[1, 2]"[: rng.integers(7)])
            for a, b in np.sort(pairs, axis=1) if a != b
        ]
        picture = Picture(boxes, edges)
        seen = Seen(svg(picture))
        assert len(seen.lines) == len(edges)
        check(seen)
        check(Seen(svg(picture, picture.folded(most=5))))


def test_a_line_may_lead_upwards():
    boxes = [Box("g/a", "a", group=("g",)), Box("b", "b"), Box("g/c", "c", group=("g",))]
    seen = Seen(svg(Picture(boxes, [Edge("g/a", "b"), Edge("b", "g/c")])))
    check(seen)
    assert len(seen.lines) == 2


def test_boxes_say_name_type_dtype_and_shape_and_lines_the_shape():
    graph, _, _ = trained()
    seen = Seen(graph.draw().svg)
    assert seen.texts["layer/matmul"] == ["matmul", "matmul", "float64 [None, 4]"]
    assert seen.texts["multiply_1"] == ["multiply_1", "multiply(·, 2.0)", "float64 [None, 4]"]
    assert seen.labels.count("[None, 3]") == 2  # to the product, and to its pullback
    only = Seen(graph.draw(show=["line"]).svg)
    assert only.texts["sum"][1].startswith("test_draw.py:")


def test_looks_tell_what_an_operation_is():
    graph, _, _ = trained()
    seen = Seen(graph.draw().svg)
    looks = {
        "x": "input", "w/read": "variable", "w/Assign": "update", "w/initial_value": "constant",
        "layer/sign": "overridden", "layer/multiply": "custom", "multiply": "operation",
        "train": "order",
    }
    assert looks == {k: seen.looks[k] for k in looks}
    assert seen.texts["layer/sign"][-1] == "∇ straight"
    assert seen.texts["layer/multiply"][-1] == "∇ of halved"
    assert {v for k, v in seen.looks.items() if k.startswith("slopes/")} == {"backward"}
    shapes = {
        look: re.sub("#[0-9a-f]+", "", svg(Picture([Box("a", "a", look=look)], [])))
        .replace(f'"{look}"', "") for look in set(seen.looks.values())
    }
    assert len(set(shapes.values())) == len(shapes), "told apart without colour"


@pytest.mark.full
def test_the_seed_of_hashes_changes_nothing():
    program = (
        "from tests.graphs.test_draw import layers, trained\n"
        "import hashlib\n"
        "p = layers(9).draw()\n"
        "text = trained()[0].draw().svg + p.svg + p.html\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


# Choosing ---------------------------------------------------------------------------------------


def test_targets_and_between_choose():
    graph, loss, slope = trained()
    forward = set(Seen(graph.draw(loss).svg).boxes)
    assert forward == {
        "x", "w/read", "layer/matmul", "layer/sign", "layer/multiply", "multiply", "multiply_1",
        "mean", "sum",
    }
    path = Seen(graph.draw(between=("layer/sign", [loss])).svg)
    assert set(path.boxes) == forward - {"x", "w/read", "layer/matmul"}
    assert set(Seen(graph.draw(slope).svg).boxes) > forward - {"sum"}
    assert set(Seen(graph.draw("sum:0").svg).boxes) == forward


def test_a_function_and_a_graph_of_tensorflow():
    @pb.function
    def square(x):
        return pb.sum(x * x)

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    concrete = square.get_concrete_function(x)
    concrete(x).backward()
    looks = Seen(concrete.graph.draw().svg).looks
    assert {"input", "operation", "backward"} <= set(looks.values())
    with tf.Graph().as_default() as graph:
        y = tf.placeholder(tf.float32, [2], name="y")
        with graph.gradient_override_map({"Sign": "Nobody"}):
            tf.sign(y, name="s")
    seen = Seen(graph.draw().svg)
    assert seen.texts["s"] == ["s", "Sign", "float32 [2]", "∇ Nobody"]


def test_scopes_of_a_large_graph_are_folded():
    graph = layers(40)
    began = time.process_time()
    picture = graph.draw()
    seen = Seen(picture.svg)
    assert time.process_time() - began < 4, "0.4 s where nothing else runs"
    assert len(seen.boxes) + len(seen.closed) <= 50
    assert "layer7" in seen.closed
    assert ("layer7",) in picture.folded
    total = sum(int(n) for n in re.findall(r">(\d+) operations<", picture.svg))
    assert total + len(seen.boxes) == len(graph.operations)


def test_long_lines_go_round_a_chain():
    with Graph().as_default() as graph:
        x = y = placeholder(np.float64, [2], name="x")
        for _ in range(60):
            y = pb.tanh(y)
        gradients(pb.sum(y), x)
    seen = Seen(graph.draw(fold=False).svg)
    check(seen)
    assert len(seen.lines) == len(links(graph.operations))


# Showing ----------------------------------------------------------------------------------------


def test_names_and_texts_are_escaped():
    nasty = "a</script><b>&\"'"
    picture = Picture(
        [Box(nasty, nasty, (nasty,), detail=nasty, group=(nasty,)), Box("b", "b")],
        [Edge(nasty, "b", label="<&>")], nasty,
    )
    assert nasty in Seen(svg(picture)).boxes
    text = page(picture)
    assert "<b>" not in text
    assert text.count("</script>") == 2


def test_nothing_is_fetched():
    picture = trained()[0].draw()
    for text in (picture.svg, picture.html):
        assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


def test_what_a_notebook_shows_and_files(tmp_path):
    graph, _, _ = trained()
    still, live = graph.draw(), graph.draw(format="html")
    assert still._repr_svg_() == still.svg
    assert still._repr_html_() is None
    assert live._repr_svg_() is None
    assert "&lt;svg" in live._repr_html_()
    for name in ("graph.svg", "graph.html"):
        assert still.save(tmp_path / name).read_text("utf-8") == getattr(still, name[6:])
    with pytest.raises(pb.errors.ArgumentError, match=r"graph\.png"):
        still.save(tmp_path / "graph.png")


def test_misuse():
    graph, _, _ = trained()
    with pytest.raises(pb.errors.ArgumentError, match="svg"):
        graph.draw(format="png")
    with pytest.raises(pb.errors.ArgumentError, match="show"):
        graph.draw(show=["colour"])
    with pytest.raises(pb.errors.ArgumentTypeError, match="between"):
        graph.draw(between="x")
    with pytest.raises(pb.errors.ArgumentTypeError, match="targets"):
        graph.draw(3)
    with pytest.raises(pb.errors.ArgumentTypeError, match="of this graph"):
        graph.draw(trained()[1])
    with pytest.raises(pb.errors.UnknownNameError, match="layer/sign"):
        graph.draw("layer/sigm")


def test_an_empty_graph_has_a_picture():
    assert Seen(Graph().draw().svg).boxes == {}
