"""The laws that hold of every operation in a graph: what it gives eagerly, it gives there too.

A row is built of placeholders whose shapes are known, whose lengths are not, or whose rank is not;
it is run twice, step by step and compiled, and compared with Tensors over the same numbers. What
the graph said of a result before must hold of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.arrays.symbol import AnyShape, Symbol
from pullback.autograd import gradients as eager_gradients
from pullback.core.tensor import raw
from pullback.graphs import Graph, Session, gradients, placeholder
from tests.laws.cases import ROWS
from tests.laws.checks import outputs, random_like
from tests.table import Row

KNOWN: dict[str, Callable[[Any], Any]] = {
    "shapes": lambda shape: shape,
    "rank": lambda shape: [None] * len(shape),
    "nothing": lambda shape: None,
}
"""What a placeholder knows of the shape that it will be fed."""


def is_inexact(array: Any) -> bool:
    return np.asarray(array).dtype.kind in "fc"


def numbers(value: Any) -> Any:
    """The numbers of a Tensor or array; tuples stay tuples."""
    return value if isinstance(value, tuple) else np.asarray(raw(value))


class Built:
    """A row in a graph, with what is fed to it, so far as it is differentiated."""

    def __init__(self, row: Row, known: str, dtype: str) -> None:
        self.row, self.arrays = row, row.draw(dtype)
        self.rng, self.known = row.rng(40), KNOWN[known]
        self.graph = Graph()
        self.feed: dict[Any, Any] = {}
        with self.graph.as_default():
            self.args = [self.fed(a) for a in self.arrays]
            self.outs = outputs(row.call(*self.args))
        self.tensors = [pb.Tensor(a, requires_grad=is_inexact(a)) for a in self.arrays]
        self.wanted = outputs(row.call(*self.tensors))

    def fed(self, array: np.ndarray) -> Any:
        """A placeholder for an array."""
        with self.graph.as_default():
            made = placeholder(array.dtype, self.known(array.shape))
        self.feed[made] = array
        return made

    def check(self, got: Sequence[Any], wanted: Sequence[Any], what: str) -> None:
        """Run tensors twice; both answers are the same, and those wanted."""
        assert len(got) == len(wanted), what
        pairs = []
        for g, w in zip(got, wanted, strict=True):
            assert g is not None or w is None or not np.any(numbers(w)), (what, w)
            if g is not None:  # where one says that there is none, the other may say 0
                pairs.append((g, None if w is None else numbers(w)))
        symbols = [g for g, _ in pairs if raw(g).__class__ is Symbol]
        session = Session(self.graph)
        first, second = (iter(session.run(symbols, self.feed)) for _ in range(2))
        for g, w in pairs:
            if raw(g).__class__ is not Symbol:  # known while the graph was built
                assert_near(numbers(g), w, what)
                continue
            one, two = numbers(next(first)), numbers(next(second))
            assert one.tobytes() == two.tobytes(), (what, one, two)
            assert_claim(raw(g), one, what)
            assert_near(one, w, what)

    def first(self) -> tuple[list[Any], list[Any]]:
        """The cotangents of the arguments, in the graph and eagerly."""
        live = [i for i, w in enumerate(self.wanted) if requires(w)]
        seeds = [random_like(numbers(self.wanted[i]), self.rng) for i in live]
        leaves = [i for i, a in enumerate(self.arrays) if is_inexact(a)]
        if not live or not leaves:
            return [], []
        self.leaves = [self.args[i] for i in leaves]
        self.own = [self.tensors[i] for i in leaves]
        self.seeds = [self.fed(s) for s in seeds]
        self.own_seeds = [pb.Tensor(s, requires_grad=True) for s in seeds]
        got = gradients([self.outs[i] for i in live], self.leaves, self.seeds)
        wanted = eager_gradients(
            [self.wanted[i] for i in live], self.own, self.own_seeds, create_graph=True,
            allow_unused=True,
        )
        return got, list(wanted)

    def second(self, got: Sequence[Any], wanted: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The cotangents of the arguments and of the cotangents."""
        live = [i for i, w in enumerate(wanted) if requires(w)]
        if not live:
            return [], []
        seeds = [random_like(numbers(wanted[i]), self.rng) for i in live]
        got = gradients(
            [got[i] for i in live], [*self.leaves, *self.seeds], [self.fed(s) for s in seeds]
        )
        wanted = eager_gradients(
            [wanted[i] for i in live], [*self.own, *self.own_seeds], list(map(pb.Tensor, seeds)),
            allow_unused=True,
        )
        return got, list(wanted)


def requires(value: Any) -> bool:
    """Whether an eager result has a history."""
    return isinstance(value, pb.Tensor) and value.requires_grad


def assert_claim(symbol: Symbol, value: np.ndarray, what: str) -> None:
    """What the graph knew of a result holds."""
    assert symbol.dtype == value.dtype, (what, symbol.dtype, value.dtype)
    if isinstance(symbol.shape, AnyShape):
        return
    claim = tuple(symbol.shape)
    assert len(claim) == value.ndim, (what, claim, value.shape)
    pairs = zip(claim, value.shape, strict=True)
    assert all(n is None or n == m for n, m in pairs), (what, claim, value.shape)


def assert_near(got: np.ndarray, wanted: np.ndarray | None, what: str) -> None:
    """The same space, and the same numbers up to the order of sums; None is 0."""
    if wanted is None:
        assert not np.any(got), (what, got)
        return
    assert got.shape == wanted.shape, (what, got.shape, wanted.shape)
    assert got.dtype == wanted.dtype, (what, got.dtype, wanted.dtype)
    if got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, wanted, err_msg=what)
        return
    scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12 * scale, err_msg=what)


def check_row(row: Row, known: str, dtype: str, order: int) -> None:
    """Values, and derivatives up to an order."""
    built = Built(row, known, dtype)
    built.check(built.outs, built.wanted, "values")
    if order == 0 or not row.differentiable:
        return
    got, wanted = built.first()
    built.check(got, wanted, "pullback")
    if order > 1 and row.second and got:
        built.check(*built.second(got, wanted), "second order")


def check_forward(row: Row, known: str, dtype: str) -> None:
    """The tangent along random tangents of all arguments that can have one."""
    built = Built(row, known, dtype)
    along = [random_like(a, built.rng) if is_inexact(a) else None for a in built.arrays]
    fed = [None if t is None else built.fed(t) for t in along]
    with built.graph.as_default():
        got, got_t = pb.jvp(row.call, tuple(built.args), tuple(fed))
    wanted, wanted_t = pb.jvp(
        row.call, tuple(built.tensors), tuple(None if t is None else pb.Tensor(t) for t in along)
    )
    built.check(outputs(got), outputs(wanted), "primal")
    built.check(outputs(got_t), outputs(wanted_t), "tangent")


# What the rows leave out ----------------------------------------------------------------------

_OWN = "the row itself asks for a length, in NumPy"
_COUNT = "how many results there are depends on what is not known: a SymbolError"
_DRAWS = "other numbers in each run: see test_laws_shapes.py"
_MAPPED = "the axis that is mapped must have a length: a SymbolError"

WITHOUT: dict[str, dict[str, str]] = {
    "shapes": {"dropout": _DRAWS},
    "rank": {
        "dropout": _DRAWS, "qr[complete": _OWN, "svd[full": _OWN, "unstack": _COUNT,
        "hide_axis": _MAPPED, "show_axis": _MAPPED,
    },
    "nothing": {
        "dropout": _DRAWS, "qr[complete": _OWN, "svd[full": _OWN, "unstack": _COUNT,
        "hide_axis": _MAPPED, "show_axis": _MAPPED, "nonzero": _COUNT,
        "batch_norm[evaluation]": "five arguments of unknown ranks are too many to guess",
    },
}
"""What is known of shapes -> the beginning of a row's id -> why it is left out."""


def rows_of(known: str) -> list[Row]:
    """The rows that hold of a kind of placeholders."""
    return [r for r in ROWS if not any(r.id.startswith(name) for name in WITHOUT[known])]
