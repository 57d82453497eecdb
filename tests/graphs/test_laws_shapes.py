"""What a graph says of shapes before it runs: what it knows, does not claim, and refuses.

Indices, masks and bounds of slices that are computed; results as long as their values say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as scipy_linalg

import pullback as pb
from pullback.arrays.symbol import AnyShape
from pullback.core.op import OPS, op
from pullback.errors import ArgumentError, PositionError, PullbackError, ShapeError, SymbolError
from pullback.graphs import Graph, Session, gradients, placeholder
from pullback.kinds.symbols import whole

X = np.random.default_rng(0).normal(size=(5, 4))
IDS = np.array([0, 3, 3])


def claim(y: Any) -> Any:
    """The shape that a graph knows of a tensor; None where it knows nothing."""
    shape = y._data.shape
    return None if isinstance(shape, AnyShape) else tuple(shape)


def images(x: Any) -> Any:
    return pb.reshape(x, (1, 2, -1, 4))


CLAIMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sum": (lambda x: pb.sum(x, axis=1), (None,)),
    "sum of all": (lambda x: pb.sum(x), ()),
    "mean kept": (lambda x: pb.mean(x, axis=0, keepdims=True), (1, 4)),
    "added": (lambda x: x + pb.ones((5, 1)), (5, 4)),
    "outer": (lambda x: x[:, None] * x, (None, None, 4)),
    "matmul": (lambda x: pb.matmul(x, pb.ones((4, 2))), (None, 2)),
    "gram": (lambda x: pb.matmul(x, x.T), (None, None)),
    "einsum": (lambda x: pb.einsum("ij,kj->ki", x, pb.ones((3, 4))), (3, None)),
    "flat": (lambda x: pb.ravel(x), (None,)),
    "reshape": (lambda x: pb.reshape(x, (-1, 2)), (None, 2)),
    "concat of rows": (lambda x: pb.concat([x, pb.ones((2, 4))]), (None, 4)),
    "concat of columns": (lambda x: pb.concat([x, x], axis=1), (None, 8)),
    "stack": (lambda x: pb.stack([x, x], axis=1), (None, 2, 4)),
    "split": (lambda x: pb.split(x, 2, axis=1)[1], (None, 2)),
    "tile": (lambda x: pb.tile(x, (2, 3)), (None, 12)),
    "repeat": (lambda x: pb.repeat(x, 2, axis=1), (None, 8)),
    "pad": (lambda x: pb.pad(x, ((0, 0), (1, 2))), (None, 7)),
    "a row": (lambda x: x[2], (4,)),
    "a column": (lambda x: x[:, -1], (None,)),
    "three rows at most": (lambda x: x[:3], (None, 4)),
    "columns from behind": (lambda x: x[:, ::-2], (None, 2)),
    "a grid": (lambda x: x[IDS[:, None], IDS], (3, 3)),
    "positions apart": (lambda x: x[IDS, None, IDS], (3, 1)),
    "axes in front": (lambda x: x[:, None][:, 0 * IDS, None, IDS], (3, None, 1)),
    "a mask": (lambda x: x[x > 0], (None,)),
    "a known mask": (lambda x: x[:, np.array([True, False, True, False])], (None, 2)),
    "take": (lambda x: pb.take(x, IDS, axis=0), (3, 4)),
    "nonzero": (lambda x: pb.nonzero(x > 0)[1], (None,)),
    "unique": (lambda x: pb.unique_values(pb.round(x)), (None,)),
    "ones are no values": (lambda x: pb.unique_values(pb.ones_like(x)), (None,)),
    "repeated by counts": (
        lambda x: pb.repeat(x, pb.astype(pb.round(x[:, 0] ** 2), "int64"), axis=0), (None, None),
    ),
    "windows": (
        lambda x: pb.conv2d(images(x), pb.ones((3, 2, 2, 2)), stride=2), (1, 3, None, 2),
    ),
    "as many windows": (
        lambda x: pb.conv2d(images(x), pb.ones((3, 2, 2, 2)), padding="same"), (1, 3, None, 4),
    ),
    "pool": (lambda x: pb.max_pool2d(images(x), (1, 2)), (1, 2, None, 2)),
    "svd": (lambda x: pb.linalg.svd(x, full_matrices=False)[2], (None, 4)),
    "rfft": (lambda x: pb.fft.rfft(x), (None, 3)),
    "cumulative": (lambda x: pb.cumulative_sum(x, axis=1, include_initial=True), (None, 5)),
    "diagonal": (lambda x: pb.linalg.diagonal(x), (None,)),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_shape_says_what_holds_of_every_batch(name: str) -> None:
    function, known = CLAIMS[name]
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None, 4])
        y = function(x)
    assert claim(y) == known
    for rows in (2, 4, 6):
        batch = np.random.default_rng(rows).normal(size=(rows, 4))
        if name == "added":
            batch = batch[:1]
        elif name in ("a row", "a grid", "positions apart", "take", "windows"):
            batch = np.concatenate([batch, batch])
        value = Session(graph).run(y, {x: batch})
        assert value.ndim == len(known)
        assert all(n in (None, m) for n, m in zip(known, value.shape, strict=True)), value.shape
        np.testing.assert_allclose(value, function(pb.tensor(batch)).numpy())


INDICES: dict[str, tuple[Callable[..., Any], Any]] = {
    "x[i]": (lambda x, i: x[i], 2),
    "x[:i]": (lambda x, i: x[:i], 2),
    "x[i:, 1]": (lambda x, i: x[i:, 1], 2),
    "x[:, ::i]": (lambda x, i: x[:, ::i], 2),
    "x[i, i]": (lambda x, i: x[i, i], 2),
    "x[ids]": (lambda x, i: x[i], IDS),
    "x[:, ids]": (lambda x, i: x[:, i], IDS),
    "x[ids, ids]": (lambda x, i: x[i, i], IDS),
    "x[mask]": (lambda x, m: x[m], np.array([True, False, True, True, False])),
    "take": (lambda x, i: pb.take(x, i, axis=1), IDS),
    "an array of numbers": (lambda x, i: pb.tensor(X)[i] * x[:1], IDS),
    "set_at": (lambda x, i: pb.set_at(x, x[0], i), IDS),
    "into an array of numbers": (lambda x, i: pb.set_at(pb.tensor(X), x[0], i), IDS),
    "add_at": (lambda x, i: pb.add_at(x, 2 * x[0], i), IDS),
    "argmax": (lambda x, i: x[pb.argmax(x[:, 0])] * i, 3.0),
    "where": (lambda x, i: pb.where(x > i, x, 0.0), 0.5),
    "positions of": (lambda x, i: x[pb.nonzero(x > i)], 0.5),
}


SHAPES = [(5, 4), (None, 4), (None, None), None]
COMPUTED = [
    pytest.param(name, shape, id=f"{name}-{shape}") for name in INDICES for shape in SHAPES
    if name != "positions of" or shape is not None  # the number of arrays is not known: see below
]


@pytest.mark.parametrize(("name", "shape"), COMPUTED)
def test_positions_that_are_computed(name: str, shape: Any) -> None:
    function, at = INDICES[name]
    with Graph().as_default() as graph:
        x, i = placeholder(np.float64, shape), placeholder(np.asarray(at).dtype, np.shape(at))
        y = function(x, i)
        (dx,) = gradients(pb.sum(pb.sin(y)), x)
    session = Session(graph)
    tensor = pb.tensor(X, requires_grad=True)
    wanted = function(tensor, at)
    pb.sum(pb.sin(wanted)).backward()
    for _ in range(2):
        value, slope = session.run([y, dx], {x: X, i: at})
        np.testing.assert_allclose(value, wanted.numpy())
        np.testing.assert_allclose(slope, tensor.grad.numpy())


def test_long_indices_that_differ_in_the_middle_are_two() -> None:
    """Equal operations run once; the texts of both arrays, which leave out entries, are equal."""
    one = np.arange(5000) % 7
    two = np.where(np.arange(5000) == 2500, 3, one)
    with Graph().as_default() as graph:
        x, g = placeholder(np.float64, [None]), placeholder(np.float64, [5000])
        (dx,) = gradients([x[one], x[two]], [x], [g, g])
    got = Session(graph).run(dx, {x: np.zeros(7), g: np.arange(5000.0) == 2500})
    np.testing.assert_array_equal(got, np.eye(7)[one[2500]] + np.eye(7)[3])


def test_another_number_of_entries_with_every_run() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None])
        some = x[x > 0]
        loss = pb.sum(some * some)
        (dx,) = gradients(loss, x)
    session = Session(graph)
    for values in ([1.0, -2.0, 3.0], [-1.0], [2.0, 5.0, -1.0, 4.0], []):
        fed = np.array(values, np.float64)
        np.testing.assert_allclose(session.run(dx, {x: fed}), np.where(fed > 0, 2 * fed, 0))


# Refusals -----------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[Any], Any], type[PullbackError], str]] = {
    "matmul": (lambda x: pb.matmul(x, pb.ones((5, 2))), ShapeError, "`matmul`"),
    "add": (lambda x: x + pb.ones((2, 3)), ShapeError, "`add`"),
    "where": (lambda x: pb.where(x > 0, x, pb.ones(3)), ShapeError, "`where`"),
    "sum": (lambda x: pb.sum(x, axis=2), PositionError, "`sum`"),
    "softmax": (lambda x: pb.softmax(x, axis=2), PositionError, "`softmax`"),
    "sort": (lambda x: pb.sort(x, axis=-3), PositionError, "`sort`"),
    "cumulative_sum": (lambda x: pb.cumulative_sum(x, axis=2), PositionError, "`cumulative_sum`"),
    "reshape": (lambda x: pb.reshape(pb.ones((2, 2)) * x[0, 0], (3,)), ShapeError, "`reshape`"),
    "broadcast_to": (lambda x: pb.broadcast_to(x, (2, 3)), ShapeError, "`broadcast_to`"),
    "squeeze": (lambda x: pb.squeeze(x, axis=1), ShapeError, "`squeeze`"),
    "permute_dims": (lambda x: pb.permute_dims(x, (0, 0)), ArgumentError, "`permute_dims`"),
    "getitem": (lambda x: x[:, 4], PositionError, "`getitem`"),
    "getitem of too many": (lambda x: x[0, 0, 0], PositionError, "`getitem`"),
    "a mask": (lambda x: x[:, np.ones(3, bool)], PositionError, "`getitem`"),
    "set_at": (lambda x: pb.set_at(x, pb.ones(3), 0), ShapeError, "`set_at`"),
    "concat": (lambda x: pb.concat([x, pb.ones((2, 3))]), ShapeError, "`concat`"),
    "stack": (lambda x: pb.stack([x, pb.ones((2, 3))]), ShapeError, "`stack`"),
    "split": (lambda x: pb.split(x, 3, axis=1), ArgumentError, "`split`"),
    "einsum": (lambda x: pb.einsum("ij,j", x, pb.ones(3)), ShapeError, "einsum"),
    "vecdot": (lambda x: pb.linalg.vecdot(x, pb.ones(3)), ShapeError, "`vecdot`"),
    "cross": (lambda x: pb.linalg.cross(x, x), ShapeError, "`cross`"),
    "solve": (lambda x: pb.linalg.solve(x[:3], pb.ones(5)), ShapeError, "`solve`"),
    "inv": (lambda x: pb.linalg.inv(pb.ones((2, 3)) * x[0, 0]), ShapeError, "`inv`"),
    "eigh": (lambda x: pb.linalg.eigh(x[0]), ShapeError, "`eigh`"),
    "fft": (lambda x: pb.fft.fft(x, axis=2), PositionError, "`fft`"),
    "conv2d": (lambda x: pb.conv2d(x, pb.ones((1, 1, 1, 1))), ShapeError, "`conv2d`"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("rows", [5, None])
def test_what_cannot_fit_is_refused_where_it_is_built(name: str, rows: Any) -> None:
    build, family, subject = REFUSED[name]
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [rows, 4])
        with pytest.raises(family) as caught:
            build(x)
    assert subject in str(caught.value).splitlines()[0]
    assert all(o.type != subject.strip("`") for o in graph.operations)
    notes = "\n".join(getattr(caught.value, "__notes__", ()))
    assert not notes or Path(__file__).name in notes, "the user's line"


@pytest.mark.parametrize("name", ["matmul", "add", "sum", "getitem"])
def test_an_error_names_operation_and_line(name: str) -> None:
    build, family, _ = REFUSED[name]
    with Graph().as_default() as graph, graph.name_scope("layer"):
        x = placeholder(np.float64, [None, 4])
        with pytest.raises(family) as caught:
            build(x)
    (note,) = caught.value.__notes__
    assert f"layer/{name}" in note
    assert Path(__file__).name in note


UNKNOWN: dict[str, Callable[[Any], Any]] = {
    "unstack": lambda x: pb.unstack(x),
    "a loop over rows": lambda x: list(x),
    "len": len,
    "float": lambda x: float(x[0, 0]),
    "if": lambda x: 1 if x[0, 0] > 0 else 0,
    "a length in a shape": lambda x: pb.reshape(x, (x.shape[0], 2, 2)),
    "the size": lambda x: x.size,
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_takes_a_length_says_so(name: str) -> None:
    with Graph().as_default():
        x = placeholder(np.float64, [None, 4])
        with pytest.raises(SymbolError) as caught:
            UNKNOWN[name](x)
    assert "fix:" in str(caught.value)


@pytest.mark.parametrize("name", ["unstack", "nonzero"])
def test_how_many_there_are_must_be_known(name: str) -> None:
    with Graph().as_default(), pytest.raises(SymbolError):
        getattr(pb, name)(placeholder(np.float64))


# How it is built ----------------------------------------------------------------------------


@whole
def halves(x: Any, by: Any) -> tuple[Any, Any]:
    """A function that needs a length, after it has begun to compute."""
    y = pb.exp(x * by)
    n = x.shape[0] // 2
    return y[:n], pb.sin(y[n:])


def test_a_function_that_needs_a_length_is_one_operation() -> None:
    """What it began with is taken back, and its derivatives are those of its operations."""
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None, 4], name="x")
        by = placeholder(np.float64, [], name="by")
        one, two = halves(x, by=by)
        names = [o.name for o in graph.operations]
        pb.exp(one)
        dx, dby = gradients(pb.sum(one * one) + pb.sum(two), [x, by])
        (twice,) = gradients(pb.sum(dx * dx) + dby, x)
    assert names == ["x", "by", "halves"]
    assert [o.number for o in graph.operations] == list(range(len(graph.operations)))
    assert graph.get_operation_by_name("exp").inputs == (one,)

    def loss(x: Any, by: Any) -> Any:
        one, two = halves(x, by)
        return pb.sum(one * one) + pb.sum(two)

    def slopes(x: Any) -> Any:
        dx, dby = pb.grad(loss, (0, 1))(x, 0.3)
        return pb.sum(dx * dx) + dby

    got = Session(graph).run([dx, dby, twice], {x: X, by: 0.3})
    wanted = [*pb.grad(loss, (0, 1))(X, 0.3), pb.grad(slopes)(X)]
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w.numpy(), rtol=1e-12)


def test_an_embedding_is_an_index() -> None:
    with Graph().as_default():
        w, ids = placeholder(np.float64, [7, 3]), placeholder(np.int64, [None, 2])
        y = pb.embedding(w, ids)
    assert y.op.type == "getitem"
    assert claim(y) == (None, 2, 3)


def test_known_lengths_make_ordinary_operations() -> None:
    """A face that needs the lengths that are known is built of its operations."""
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None, 3, 8, 8])
        y = pb.conv2d(x, pb.ones((2, 3, 3, 3)), padding="same", stride=2)
    assert y.op.type == "convolution"
    assert claim(y) == (None, 2, 4, 4)
    assert {o.type for o in graph.operations} == {"placeholder", "constant", "convolution"}


LARGE: dict[str, Callable[[Any], Any]] = {
    "svd": pb.linalg.svd, "inv": pb.linalg.inv, "eigh": pb.linalg.eigh, "lu": pb.linalg.lu,
    "pinv": pb.linalg.pinv, "det": pb.linalg.det, "matmul": lambda x: x @ x,
    "einsum": lambda x: pb.einsum("ij,kj,lk", x, x, x), "sort": pb.sort, "fft": pb.fft.fftn,
    "concat": lambda x: pb.concat([x] * 8), "cumulative": lambda x: pb.cumulative_sum(x, axis=0),
    "getitem": lambda x: x[::2, None] * x[np.arange(4000)], "softmax": pb.softmax,
}


@pytest.mark.parametrize("name", LARGE)
def test_building_computes_nothing(name: str) -> None:
    """Of matrices of 20 000 rows, each of these would take seconds, or too much memory."""
    assert scipy_linalg.lu  # its import is not part of the time
    with Graph().as_default():
        x = placeholder(np.float64, [20_000, 20_000])
        start = time.perf_counter()
        LARGE[name](x)
    assert time.perf_counter() - start < 0.5


def test_dtypes_do_not_mix() -> None:
    """The dtype of a result is found once for each kind of arguments, and for no other."""
    with Graph().as_default() as graph:
        outs = []
        for dtype in (np.float32, np.float64, np.int64, np.complex64, bool):
            x = placeholder(dtype, [None])
            found = (x * 2, x * 2.0, pb.sum(x), pb.abs(x * 1), pb.where(x == 0, x, 1))
            outs += [(x, y) for y in found]
    session = Session(graph)
    for x, y in outs:
        value = session.run(y, {x: np.ones(3, x.dtype)})
        assert value.dtype == y.dtype


# Random numbers, and tangents that are stretched -----------------------------------------------


@pytest.mark.parametrize("shape", [(5, 4), (None, 4), None], ids=str)
def test_dropout_drops_the_same_entries_of_value_and_gradient(shape: Any) -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, shape)
        y = pb.dropout(x, 0.5, generator=pb.random.Generator(3))
        (dx,) = gradients(pb.sum(y), x)
    session = Session(graph)
    masks = []
    for _ in range(3):
        value, slope = session.run([y, dx], {x: np.ones((5, 4))})
        np.testing.assert_array_equal(value, slope)
        assert set(np.unique(value)) == {0.0, 2.0}
        masks.append(value)
    assert not np.array_equal(masks[0], masks[1])


def test_a_tangent_is_as_long_as_its_result() -> None:
    """Of lengths that are not known, one may be 1."""
    with Graph().as_default() as graph:
        x, y, t = (placeholder(np.float64, [None]) for _ in range(3))
        _, along = pb.jvp(lambda x: x + y, (x,), (t,))
        _, less = pb.jvp(lambda x: pb.linalg.diagonal(x[:, None] * y), (x,), (t,))
    feed = {x: [1.0], y: [1.0, 2.0, 3.0], t: [5.0]}
    np.testing.assert_array_equal(Session(graph).run(along, feed), [5.0, 5.0, 5.0])
    np.testing.assert_array_equal(Session(graph).run(less, feed), [5.0])


def test_no_derivative_where_nobody_records() -> None:
    with Graph().as_default():
        x = placeholder(np.float64, [None, None])
        with pb.no_grad():
            kept = pb.linalg.diagonal(x)
        assert gradients(pb.sum(kept), x) == [None]
        assert gradients(pb.sum(pb.linalg.diagonal(pb.stop_gradient(x))), x) == [None]
        assert gradients(pb.sum(pb.linalg.diagonal(x)), x) != [None]


# Operations of users --------------------------------------------------------------------------


@pytest.fixture
def own() -> Iterator[Any]:
    """Registers an operation, which is gone after the test."""
    names = set(OPS)
    yield op
    for name in set(OPS) - names:
        del OPS[name]


def test_the_dtype_may_be_a_matter_of_an_attribute(own: Any) -> None:
    @own(elementwise=True)
    def scaled_here(xp: Any, x: Any, /, by: Any) -> Any:
        return x * by

    with Graph().as_default():
        x = placeholder(np.int64, [None])
        assert [scaled_here(x, by).dtype for by in (2, 2.5, 2j)] == [
            np.int64, np.float64, np.complex128
        ]


def test_an_operation_without_a_rule_is_tried(own: Any) -> None:
    """Where lengths are missing, the trial tells the number of axes and the dtype, and no more."""
    @own
    def at_most_two(xp: Any, x: Any, /) -> Any:
        return xp.astype(x[:2], xp.float32)

    with Graph().as_default():
        shapes = [claim(at_most_two(placeholder(np.float64, s))) for s in ([5, 3], [None, 3], None)]
        assert at_most_two(placeholder(np.float64, [None])).dtype == np.float32
    assert shapes == [(2, 3), (None, None), None]
