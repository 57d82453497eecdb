"""In traced code, `reshape` and `detach` share the memory that they share in eager code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ArgumentError, InplaceError
from pullback.graphs import TensorSpec, function
from pullback.graphs.layouts import layout_of
from tests.laws.cases import ROWS
from tests.laws.checks import outputs
from tests.parts import need
from tests.table import Row
from tests.tier import share


def strides_of(array: Any) -> Any:
    """The strides of an array in entries; None for one without memory."""
    if hasattr(array, "stride"):
        return tuple(array.stride())
    return None if not hasattr(array, "strides") else tuple(
        s // array.itemsize for s in array.strides
    )


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("row", share(ROWS), ids=lambda row: row.id)
def test_a_layout_that_is_known_is_that_of_eager_arrays(row: Row, library: str) -> None:
    arrays: Any = row.draw()
    if library == "torch":
        torch = need("torch")
        arrays = [torch.from_numpy(np.array(a)) for a in arrays]
    xs = [pb.Tensor(a) for a in arrays]
    try:
        graph = function(lambda *xs: row.call(*xs)).get_concrete_function(*xs)
    except pb.PullbackError:
        return  # a row that asks for values has no graph
    symbols = [s for s, _ in graph.piece.outputs]
    made = [v for v in outputs(row.call(*xs)) if isinstance(v, pb.Tensor)]
    for symbol, out in zip(symbols, made, strict=False):
        found = layout_of(symbol)
        if found is None or 0 in out.shape:
            continue
        pairs = zip(out.shape, found.strides, strides_of(out.data), strict=True)
        assert all(n == 1 or a == b for n, a, b in pairs), (found, strides_of(out.data))


Step = Callable[[Any], Any]
SOURCES: dict[str, Step] = {
    "computed": lambda x: x * 1.0,
    "transposed": lambda x: pb.permute_dims(x * 1.0, (1, 0)),
    "transposed back": lambda x: pb.permute_dims(pb.permute_dims(x + 1, (1, 0)), (1, 0)),
    "rows": lambda x: (x - 1)[1:],
    "columns": lambda x: (x - 1)[:, 1:],
    "every other": lambda x: (x - 1)[:, ::2],
    "reversed": lambda x: (x - 1)[::-1],
    "product": lambda x: pb.permute_dims(x, (1, 0)) @ x,
    "with an axis": lambda x: (x * 2)[:, None],
    "broadcast": lambda x: pb.broadcast_to((x * 2)[:1], (2, 3)),
    "written": lambda x: written(x * 1.0, pb.permute_dims(pb.reshape(x, (3, 2)), (1, 0))),
    "of a transposed": lambda x: pb.permute_dims(x, (1, 0)) * 2,
    "picked": lambda x: x[:, [0, 2]],
}
RESHAPES: dict[str, Step] = {
    "reshape": lambda x: pb.reshape(x, (-1,)),
    "ravel": pb.ravel,
    "in two steps": lambda x: pb.reshape(pb.reshape(x, (-1, 1)), (x.size,)),
    "and a part": lambda x: pb.reshape(x, (-1,))[:2],
    "of the same shape": lambda x: pb.reshape(x, tuple(x.shape)),
    "with a copy": lambda x: pb.reshape(x, (-1,), copy=True),
}
WRITES: dict[str, Callable[[Any, Any], None]] = {
    "result": lambda x, y: scaled(y), "argument": lambda x, y: scaled(x),
    "part of the argument": lambda x, y: scaled(x[:1]), "both": lambda x, y: scaled(scaled(x), y),
}


def written(x: Any, value: Any) -> Any:
    x[...] = value
    return x


def scaled(*tensors: Any) -> Any:
    for tensor in tensors:
        tensor *= 3.0
    return tensors[0]


def program(source: Step, reshape: Step, write: Callable[[Any, Any], None]) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        base = source(x)
        y = reshape(base)
        write(base, y)
        return pb.sum(pb.sin(base)) + pb.sum(y * y)

    return f


UNKNOWN = ("of a transposed", "picked")


@pytest.mark.parametrize("reshape", RESHAPES)
@pytest.mark.parametrize("source", SOURCES)
def test_a_write_after_a_reshape_gives_the_numbers_of_eager_code_or_an_error(
    source: str, reshape: str
) -> None:
    x = pb.tensor(np.random.default_rng(3).normal(size=(2, 3)))
    refused = 0
    for write in WRITES.values():
        f = program(SOURCES[source], RESHAPES[reshape], write)
        try:
            wanted = pb.grad(f)(x)
        except pb.PullbackError:
            continue  # as a write to what broadcasting repeats
        try:
            found = pb.grad(function(f))(x)
        except InplaceError:
            refused += 1
            continue
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    assert not refused or source in UNKNOWN


def test_the_error_of_a_write_that_may_be_shared_names_the_copy() -> None:
    f = program(SOURCES["picked"], RESHAPES["reshape"], WRITES["result"])
    with pytest.raises(InplaceError, match=r"copy=True\) or x.clone\(\)"):
        function(f)(pb.ones((2, 3)))


def test_a_call_checks_the_order_that_a_write_relied_on() -> None:
    def f(x: Any) -> Any:
        y = pb.reshape(x * 1.0, (-1,))
        z = y[:2]
        z *= 2.0
        return y

    def without(x: Any) -> Any:
        return pb.reshape(x * 1.0, (-1,)) * 2.0

    base = pb.tensor(np.arange(6.0).reshape(3, 2))
    turned = pb.permute_dims(base, (1, 0))
    traced, inner = function(f), function(lambda x: function(f)(x))
    for _ in range(2):
        assert traced(pb.ones((2, 3))).tolist() == [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
        for g in (traced, inner):
            with pytest.raises(ArgumentError, match="row-major"):
                g(turned)
    assert function(without)(turned).tolist() == without(turned).tolist()


def test_a_call_checks_the_order_of_what_the_function_closes_over() -> None:
    w = pb.tensor(np.arange(6.0).reshape(3, 2))
    turned = pb.permute_dims(w, (1, 0))

    def of(w: Any) -> Any:
        def f(x: Any) -> Any:
            y = w * x
            z = pb.reshape(y, (-1,))
            z += 1.0
            return y

        return f

    assert function(of(w))(pb.tensor(2.0)).tolist() == of(w)(pb.tensor(2.0)).tolist()
    with pytest.raises(ArgumentError, match="closed over"):
        function(of(turned))(pb.tensor(2.0))


def test_the_front_end_reads_the_order_in_traced_code() -> None:
    import pullback.torch as t

    sources: dict[str, Step] = {
        "row-major": lambda x: x * 1, "transposed": lambda x: (x * 1).T,
        "columns": lambda x: (x * 1)[:, 1:], "first": lambda x: (x * 1)[0],
        "every other": lambda x: (x * 1)[0, ::2], "of a transposed": lambda x: x.T * 1,
    }
    takes: dict[str, Step] = {
        "contiguous": lambda x: x.contiguous(), "flatten": lambda x: x.flatten(),
        "ravel": lambda x: x.ravel(), "reshape": lambda x: x.reshape(-1),
        "part": lambda x: x.contiguous()[0], "detach": lambda x: x.detach(),
        "data": lambda x: x.data, "of a detached": lambda x: x.detach().contiguous(),
    }
    x = t.tensor(np.random.default_rng(5).normal(size=(2, 3)))
    for named, source in sources.items():
        for taken, take in takes.items():
            for first in (0, 1):
                def f(x: Any, source: Any = source, take: Any = take, first: int = first) -> Any:
                    pair = [source(x)]
                    pair.append(take(pair[0]))
                    pair[first].mul_(2)
                    pair[1 - first].add_(0.5)
                    return pair[0].sin().sum() + (pair[1] * x.sum()).sum()

                wanted = pb.grad(f)(x)
                try:
                    found = pb.grad(function(f))(x)
                except InplaceError:
                    assert named == "of a transposed", (named, taken, first)
                    continue
                why = f"{named} {taken}"
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), err_msg=why)


def libraries() -> dict[str, Callable[[Any], Any]]:
    made = {"numpy": pb.tensor}
    if need("jax") is not None:
        import jax.numpy as jnp

        made["jax"] = lambda a: pb.tensor(jnp.asarray(a, "float32"))
    return made


DETACHED: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x.detach(), "row": lambda x: x[0].detach(),
    "twice": lambda x: x.detach().detach(), "part of it": lambda x: x.detach()[1:],
    "transposed": lambda x: pb.permute_dims(x, (1, 0)).detach()[:, 1],
    "stop_gradient": pb.stop_gradient,
}


@pytest.mark.parametrize("kind", ["numpy", "jax"])
@pytest.mark.parametrize("detached", DETACHED)
def test_a_detached_tensor_shares_what_is_written(detached: str, kind: str) -> None:
    def f(x: Any) -> Any:
        x = x * 1.0
        row, y = x[1], DETACHED[detached](x)
        row *= 2.0
        seen = pb.asarray(y, copy=True)
        y += 1.0
        x[0] = 7.0
        return x, row, y, seen, DETACHED[detached](x)

    values = np.arange(6.0).reshape(2, 3)
    wanted = [v.numpy() for v in f(pb.tensor(values))]
    given = libraries()[kind](values)
    for g in (f, function(f)):
        for found, value in zip(g(given), wanted, strict=True):
            np.testing.assert_allclose(found.numpy(), value)


def test_a_detached_tensor_keeps_its_own_history_in_traced_code() -> None:
    def f(x: Any) -> Any:
        a = x * 2.0
        y = a.detach()
        y *= x[0]
        return pb.sum(a * 3.0) + pb.sum(y * y)

    x = pb.tensor([1.5, -2.0])
    np.testing.assert_allclose(pb.grad(function(f))(x).numpy(), pb.grad(f)(x).numpy())


def test_what_is_computed_with_recording_off_can_be_written_in_traced_code() -> None:
    def f(x: Any) -> Any:
        with pb.no_grad():
            y = x * 2.0
        y *= x
        return pb.sum(y * y)

    x = pb.tensor([1.5, -2.0])
    np.testing.assert_allclose(pb.grad(function(f))(x).numpy(), pb.grad(f)(x).numpy())


def test_a_detached_copy_is_freed_with_its_last_user() -> None:
    x = pb.tensor(np.ones(3))
    traced = function(lambda x: pb.sum((x * 1.0).detach() * x))
    assert traced(x).item() == 3.0
    spec = traced.get_concrete_function(TensorSpec([None], "float64"))
    assert spec(pb.ones(4)).item() == 4.0


LATTICES: dict[str, Callable[[Any], Any]] = {
    "diagonal": lambda x: x.diagonal(), "part of one": lambda x: x.diagonal()[1:],
    "windows apart": lambda x: x.unfold(0, 1, 2), "strided": lambda x: x.as_strided((2, 2), (3, 2)),
    "repeated": lambda x: x.unfold(1, 2, 1), "expanded": lambda x: x[0].expand(2, 3),
}


@pytest.mark.parametrize("lattice", LATTICES)
def test_a_diagonal_can_be_written_in_traced_code_unless_it_repeats_entries(lattice: str) -> None:
    import pullback.torch as t

    def f(x: Any) -> Any:
        base = x * 1.0
        view = LATTICES[lattice](base)
        view.mul_(3.0)
        return (base.sin() * x).sum() + (view * view).sum()

    x = t.tensor(np.random.default_rng(8).normal(size=(3, 3)))
    if lattice in ("repeated", "expanded"):
        with pytest.raises(InplaceError, match="repeats"):
            pb.grad(function(f))(x)
        return
    np.testing.assert_allclose(pb.grad(function(f))(x).numpy(), pb.grad(f)(x).numpy())
