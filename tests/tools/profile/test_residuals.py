"""What a graph keeps: bytes against counts by hand, reasons, and nothing held by the report."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays import adapters
from pullback.core.node import FREED, Leaf, Node
from pullback.core.tensor import Tensor
from pullback.graphs import Graph, placeholder
from pullback.tools.profile import residuals
from pullback.tools.profile.units import memory_of
from tests.table import Row, all_rows

SAMPLE = [r for r in all_rows() if r.differentiable][::9]


def tracked(*shape: int, seed: int = 0) -> Any:
    return pb.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


def nodes_behind(tensors: list[Any]) -> list[Node]:
    seen: dict[Node, None] = {}
    stack = [t.node for t in tensors if t.node is not None]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += [p for p in node.parents if p is not None]
    return list(seen)


@pytest.mark.parametrize("row", SAMPLE, ids=lambda r: r.id)
def test_the_bytes_are_those_of_the_owners_in_what_was_saved(row: Row) -> None:
    args = [pb.tensor(a, requires_grad=True) if a.dtype.kind in "fc" else pb.tensor(a)
            for a in row.draw()]
    out = row.call(*args)
    outs = [t for t in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(t, Tensor)]
    nodes = nodes_behind(outs)
    mine = {id(memory_of(n.data).owner) for n in nodes if isinstance(n, Leaf)}
    sizes: dict[int, int] = {}
    for node in nodes:
        if isinstance(node, Leaf) or not isinstance(node.saved, tuple):
            continue
        held_here = (*node.saved, *node.attrs.values())
        for value in [v for v in held_here if isinstance(v, (np.ndarray, np.generic))]:
            owner, size = memory_of(value)
            sizes[id(owner)] = size
    found = residuals(outs)
    held = sum(size for key, size in sizes.items() if key in mine)
    in_sequences = sum(
        k.bytes for k in found.arrays if k.role.startswith("attribute") and "[" in k.role)
    assert found.total - in_sequences == sum(sizes.values()) - held
    assert found.shared == held
    assert not any("saved by keep_values()" in k.reason for k in found.arrays)


def test_random_programs_against_counts_by_hand() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = tracked(int(rng.integers(2, 40)), seed=seed)
        y, kept = x, 0
        for choice in rng.integers(0, 3, 12):
            if choice == 0:
                y = pb.tanh(y)  # saves what it gave
                kept += 8 * x.size
            elif choice == 1:
                y = y + 1.0
            else:
                y = y * pb.tensor(rng.normal(size=x.shape))  # saves the constant
                kept += 8 * x.size
        assert residuals(y).total == kept


def test_memory_is_counted_once_and_views_as_all_of_it() -> None:
    x = tracked(100)
    c = np.ones((50, 100))
    found = residuals((x * c[3]) * c[4] + pb.exp(x) * x)
    assert [k.bytes for k in found.largest(3)] == [40_000, 800]
    assert found.largest(1)[0].also == ("multiply, input `x2`",)
    assert (found.total, found.shared) == (40_800, 800)
    assert found.rows[0].name == "multiply"


def test_the_reasons_name_the_rules_that_read() -> None:
    x, w = tracked(3, 4), tracked(4, 2, seed=1)
    by_role = {(k.operation, k.role): k for k in residuals(pb.tanh(x @ w)).arrays}
    assert "matmul_x2" in by_role["matmul", "input `x1`"].reason
    assert "matmul_x1" in by_role["matmul", "input `x2`"].reason
    assert "tanh" in by_role["tanh", "output"].reason
    assert by_role["tanh", "output"].owner == "the result"
    assert by_role["matmul", "input `x1`"].owner == "an input"
    with pb.keep_values():
        y = pb.exp(x) + 1
    assert any("saved by keep_values()" in k.reason for k in residuals(y).arrays)


def test_constants_that_no_rule_reads_are_weak() -> None:
    c = pb.ones(1000)
    y = tracked(1000) + c
    assert residuals(y).weak == [("add", "input `x2`", 8000)]
    assert residuals(y).total == 0
    del c
    assert residuals(y).weak == [("add", "input `x2`", 0)]


def test_a_freed_graph_keeps_nothing_and_says_so() -> None:
    y = pb.sum(pb.exp(tracked(10)))
    assert residuals(y).total == 80
    y.backward()
    found = residuals(y)
    assert (found.total, found.shared) == (0, 0)
    assert found.freed == sum(n.saved is FREED for n in nodes_behind([y])) > 0
    assert "freed" in str(found)


def test_hand_written_gradients() -> None:
    @pb.custom_gradient
    def f(x: Any) -> Any:
        e = pb.exp(x)
        return pb.log(1 + e), lambda g: g * (1 - 1 / (1 + e))

    class Square(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.extra = np.ones(7)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    @pb.custom_vjp
    def h(x: Any) -> Any:
        return pb.sin(x)

    h.defvjp(lambda x: (pb.sin(x), pb.cos(x)), lambda c, g: (g * c,))
    x = tracked(10)
    # The closure holds `e`, and with it the graph behind `e`.
    assert [(k.operation, k.bytes) for k in residuals(f(x)).arrays] == [("exp", 80)]
    assert residuals(f(x)).arrays[0].also == ("f, `<lambda>` `e`",)
    square = residuals(Square.apply(x))
    assert (square.total, square.shared) == (56, 80)
    assert {k.role for k in square.arrays} == {"ctx `extra`", "ctx.saved_tensors[0]"}
    mine = residuals(h(x))
    assert (mine.total, mine.shared) == (80, 80)
    assert mine.largest(1)[0].reason == "`bwd` of `h` reads it"
    assert residuals(pb.checkpoint(lambda x: pb.exp(pb.exp(x)))(x)).total == 0


def test_tensors_of_graphs_keep_values_that_have_no_bytes() -> None:
    with Graph().as_default():
        x = placeholder(pb.float64, [None, 3])
        v = pb.Variable(np.ones(3), name="v")
        found = residuals(pb.sum(pb.exp(x) * v))
        assert (found.total, found.shared, found.rows) == (0, 24, [])
        assert found.symbols == 2  # what exp gave, read by exp and by the product
        assert found.arrays[0].owner == "variable 'v'"
        assert "keeps no array, for 3 operations of a graph that has not run" in str(found)
        assert "2 values, without bytes until it runs" in str(found)
        assert "not tracked" in str(residuals(x))


def test_what_a_traced_function_keeps() -> None:
    told: list[Any] = []

    @pb.function
    def f(x: Any) -> Any:
        y = pb.exp(x) * x
        told.append(residuals(y))
        return pb.sum(y)

    x = tracked(10)
    found = residuals(f(x))
    assert told[0].total == 0
    assert told[0].symbols
    assert (found.total, found.shared, found.nodes) == (80, 80, 1)
    assert found.largest(1)[0].reason == "the backward graph of `f` reads it"
    mine = next(k for k in found.arrays if k.owner == "an input")
    assert mine.reason == "second derivatives of `f` read it"


def test_arrays_of_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    t = pb.tensor(torch.ones(5, 4, dtype=torch.float32), requires_grad=True)
    assert residuals(pb.exp(t[0]) * t[1]).total == 16
    assert residuals(pb.exp(t[0]) * t[1]).shared == 80
    j = pb.tensor(jax.numpy.ones(6, dtype="float32"), requires_grad=True)
    assert residuals(pb.exp(j) * j).total == 24
    sizes: list[int] = []

    def loss(row: Any) -> Any:
        y = pb.exp(row)
        sizes.append(residuals(y).total)
        return pb.sum(y)

    pb.vmap(pb.grad(loss))(np.ones((5, 3)))
    assert sizes == [120]


def test_the_report_keeps_nothing_alive() -> None:
    x = tracked(1000)
    y = pb.exp(x)
    array, node = weakref.ref(y.data), weakref.ref(y.node)
    found = residuals(y)
    gc.disable()
    try:
        del x, y
        assert array() is None
        assert node() is None
    finally:
        gc.enable()
    assert found.total == 8000


def test_lines_and_tables() -> None:
    x = tracked(5)
    with pb.debug():
        y = pb.exp(x)
        z = pb.exp(y)
    found = residuals(z, by="line")
    assert len(found.rows) == 2
    assert all(__file__ in row.name for row in found.rows)
    assert "line" in str(found)
    assert "exp" in found.html()
    assert len(residuals(z, by="none").rows) == 2
    assert "line not kept" in str(residuals(pb.exp(x)).by("line"))
    with pytest.raises(pb.errors.ArgumentError, match="operation"):
        residuals(z, by="file")
    with pytest.raises(pb.errors.ArgumentTypeError, match="a str"):
        residuals("z")
    assert "not tracked" in str(residuals(pb.ones(3)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_total_is_what_tracemalloc_sees_the_graph_keep(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, w = (pb.tensor(rng.normal(size=(300, 300)), requires_grad=True) for _ in range(2))

    def program() -> Any:
        h = x
        for _ in range(6):
            kind = rng.integers(0, 4)
            h = (pb.tanh(h) if kind == 0 else h @ w if kind == 1 else h[::2].T @ w[::2]
                 if kind == 2 and h.shape[0] == 300 else pb.exp(h * 1e-3) * h)
        return pb.sum(h)

    program()  # what is made once, as kernels
    gc.collect()
    let_go = adapters[np.ndarray].unpooled  # of memory that is kept for reuse
    let_go()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        y = program()
        let_go()
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert pb.residuals(y).total == pytest.approx(kept, abs=20_000)  # nodes, and the value
