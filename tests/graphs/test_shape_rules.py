"""Shape rules: what each operation of a graph states of its results is what running it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pullback.arrays.symbol import AnyShape, Symbol
from pullback.core.op import OPS, Op, op
from pullback.core.tensor import raw
from pullback.errors import RuleError, ShapeError
from pullback.graphs import Graph, Session, placeholder
from pullback.kinds.shapes import shapes
from tests.graphs.laws import rows_of
from tests.laws.cases import NAMES
from tests.loops import each
from tests.table import Row
from tests.tier import share

Shape = tuple[int | None, ...]


class Ran:
    """A row in a graph that has run: for each of its operations, what its rule says and gives."""

    def __init__(self, row: Row, shapes_of: Callable[[int, Shape], Shape | None]) -> None:
        self.arrays = row.draw()
        feed = {}
        with Graph().as_default() as graph:
            for i, array in enumerate(self.arrays):
                feed[placeholder(array.dtype, shapes_of(i, array.shape))] = array
            row.call(*feed)
        found = [o for o in graph.operations if isinstance(o.op, Op) and o.op.shape is not None]
        values = Session(graph).run([list(o.outputs) for o in found], feed)
        self.operations = list(zip(found, values, strict=True))

    def claims(self) -> Iterator[tuple[str, Any, Shape, Any, Any]]:
        """Name, shape by the rule, shape, dtype in the graph, dtype of each output."""
        for operation, values in self.operations:
            said = [claim(symbol) for symbol in operation.symbols]
            if not operation.extra:  # the rule itself, without a trial in its place
                said = shapes(operation.op, operation.args, operation.attrs) or [None] * len(said)
            for symbol, shape, value in zip(operation.symbols, said, values, strict=True):
                yield operation.op.name, shape, value.shape, symbol.dtype, value.dtype


def claim(symbol: Symbol) -> Shape | None:
    """The shape that a graph knows of a symbol."""
    return None if isinstance(symbol.shape, AnyShape) else tuple(symbol.shape)


def test_with_known_lengths_a_rule_states_every_length() -> None:
    reached = set()

    def law(row: Row) -> None:
        for name, said, shape, wanted, dtype in Ran(row, lambda i, shape: shape).claims():
            reached.add(name)
            assert said is not None, name
            assert tuple(said) == shape, name
            assert wanted == dtype, name

    each([row for row in rows_of("shapes") if row.name != "dropout"], law)
    stated = {OPS[n].op.name for n in NAMES if OPS[n].op.shape is not None}  # type: ignore[attr-defined]
    assert stated - reached <= {"shape"}, "a known shape is a constant, not an operation"


def test_with_one_unknown_length_a_rule_states_no_wrong_one() -> None:
    def law(row: Row) -> None:
        for j, array in enumerate(row.draw()):
            for axis in range(array.ndim):
                holds_with_one_unknown(row, j, axis)

    each(share(rows_of("rank")), law)


def holds_with_one_unknown(row: Row, j: int, axis: int) -> None:
    def known(i: int, shape: Shape) -> Shape:
        return (*shape[:axis], None, *shape[axis + 1 :]) if i == j else shape

    for name, said, shape, wanted, dtype in Ran(row, known).claims():
        if said is not None:
            assert len(said) == len(shape), name
            assert all(n in (None, m) for n, m in zip(said, shape, strict=True)), (name, j, axis)
        assert wanted == dtype, name


# Operations of users --------------------------------------------------------------------------


@pytest.fixture
def own() -> Iterator[Any]:
    """Registers an operation named scratch, which is gone after the test."""
    yield op
    OPS.pop("scratch", None)


X = np.arange(12.0).reshape(3, 4)


def result(made: Any, *arrays: Any) -> Any:
    """The result of an operation on arrays whose first length is unknown, in a graph."""
    with Graph().as_default() as graph:
        args = [placeholder(a.dtype, (None, *a.shape[1:])) for a in arrays]
        y = made(*args)
    value = Session(graph).run(y, dict(zip(args, arrays, strict=True)))
    assert value.dtype == y.dtype
    np.testing.assert_allclose(value, made(*arrays))
    return claim(raw(y))


def test_the_shape_of_an_argument(own: Any) -> None:
    @own(shape="y", dtype="x")
    def scratch(xp: Any, x: Any, y: Any, /) -> Any:
        return xp.broadcast_to(xp.sum(x), y.shape)

    assert result(scratch, X, np.zeros((2, 5), np.float32)) == (None, 5)


def test_a_signature(own: Any) -> None:
    @own(shape="(m,n),(n,p?)->(p?,m)", dtype=lambda x, y: x * y)
    def scratch(xp: Any, x: Any, y: Any, /) -> Any:
        return (x @ y).T

    assert result(scratch, X, np.ones((4, 2), np.float32)) == (2, None)
    assert result(scratch, X, np.ones(4)) == (None,)
    with Graph().as_default(), pytest.raises(ShapeError, match="`scratch`"):
        scratch(placeholder(np.float64, [None, 4]), placeholder(np.float64, [5, 2]))


def test_a_reduction(own: Any) -> None:
    @own(reduction=True)
    def scratch(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return xp.max(x, axis=axis, keepdims=keepdims) - xp.min(x, axis=axis, keepdims=keepdims)

    assert result(scratch, X) == ()
    assert result(lambda x: scratch(x, axis=-1, keepdims=True), X) == (None, 1)
    assert result(lambda x: scratch(x, axis=(0,)), X) == (4,)


def test_a_function(own: Any) -> None:
    @own(outputs=("first", "rest"))
    def scratch(xp: Any, x: Any, /, *, count: int) -> Any:
        return x[:, :count], x[:, count:]

    @scratch.shaping
    def shape_scratch(x: Any, *, count: int) -> Any:
        rows, columns = x.shape
        return [(rows, count), (rows, None if columns is None else columns - count)]

    with Graph().as_default():
        first, rest = scratch(placeholder(np.float64, [None, 4]), count=1)
        unknown, _ = scratch(placeholder(np.float64), count=1)
    assert [claim(raw(y)) for y in (first, rest, unknown)] == [(None, 1), (None, 3), None]


@pytest.mark.parametrize("signature", ["(m,n)->(m,q)", "(m),(n)->(m)", "(m,n)->(m?)"])
def test_a_wrong_signature_is_named(own: Any, signature: str) -> None:
    made = own(name="scratch", shape=signature)(lambda xp, x, /: x)
    with Graph().as_default(), pytest.raises(RuleError, match="option `shape` of `scratch`"):
        made(placeholder(np.float64, [None, 4]))
