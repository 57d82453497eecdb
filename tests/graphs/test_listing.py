"""A graph as text."""

from __future__ import annotations

import re

import numpy as np

import pullback as pb
from pullback.graphs import Graph, placeholder


def built():
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None, 3], name="x")
        u = placeholder(np.float32, name="u")
        q, _ = pb.linalg.qr(pb.ones((3, 2)) + pb.astype(u, "float64"))
        with graph.name_scope("scope"):
            pb.sum(x * 2.0, axis=0)
        with graph.control_dependencies([q]):
            graph.group([], name="after")
    return graph


def test_a_line_for_each_operation_in_order():
    graph = built()
    lines = str(graph).splitlines()
    assert lines[0] == f"Graph of {len(graph.operations)} operations"
    assert lines[1].split() == ["name", "type", "outputs", "inputs", "line"]
    assert [line.split()[0] for line in lines[2:]] == [o.name for o in graph.operations]
    assert all(re.search(r"test_listing\.py:\d+$", line) for line in lines[2:])


def test_columns():
    rows = {line.split()[0]: re.split(r"\s{2,}", line) for line in str(built()).splitlines()[2:]}
    assert rows["x"][1:3] == ["placeholder", "float64 [None, 3]"]
    assert rows["u"][2] == "float32 […]"
    assert rows["scope/multiply"][3] == "x, 2.0"
    assert rows["scope/sum"][2:4] == ["float64 [3]", "scope/multiply"]
    assert rows["after"][1].startswith("no_op")
    assert "; " in rows["qr"][2] or "…" in rows["qr"][2], "both outputs"
    assert "^qr" in str(built())


def test_long_names_are_cut_and_columns_stay_in_line():
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [2], name="x" * 90)
        pb.tanh(x)
    lines = str(graph).splitlines()
    start = lines[1].index("type")
    assert lines[2][start:].startswith("placeholder")
    assert lines[3][start:].startswith("tanh")
    assert max(map(len, lines)) < 200
