"""Misuse of the transformations: one short error that says who, what was expected, what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.core.state import state
from pullback.kinds import batching

X = np.array([1.0, 2.0])
W = np.ones((2, 3))
N = np.array([1, 2])
Z = np.array([1.0 + 1.0j])


def total(x: Any) -> Any:
    return pb.sum(x)


def double(x: Any) -> Any:
    return 2.0 * x


def pair(x: Any) -> Any:
    return pb.sum(x), pb.sum(x)


CASES: dict[str, tuple[Callable[[], Any], type[Exception], tuple[str, ...]]] = {
    # Reverse.
    "a value that is no number": (
        lambda: pb.grad(double)(X), errors.ShapeError, ("grad of `double`", "shape (2,)", "vjp")),
    "two values": (
        lambda: pb.grad(pair)(X), errors.ArgumentTypeError, ("grad of `pair`", "has_aux=True")),
    "aux that is not there": (
        lambda: pb.grad(total, has_aux=True)(X), errors.ArgumentTypeError,
        ("grad of `total`", "(value, aux)", "Tensor")),
    "an integer argument": (
        lambda: pb.grad(total)(N), errors.DtypeError,
        ("argument 0 of grad of `total`", "int64", "3.0 and not 3")),
    "an integer in a structure": (
        lambda: pb.grad(lambda p: total(p["x"]))({"x": X, "n": 3}), errors.DtypeError,
        ("argument 0", "int")),
    "a complex value": (
        lambda: pb.grad(total)(Z), errors.DtypeError,
        ("result of grad of `total`", "complex128", "holomorphic=True")),
    "a real argument, holomorphic": (
        lambda: pb.grad(total, holomorphic=True)(X), errors.DtypeError, ("`total`", "float64")),
    "a real value, holomorphic": (
        lambda: pb.grad(lambda z: total(pb.abs(z)), holomorphic=True)(Z), errors.DtypeError,
        ("complex", "float64")),
    "an integer value": (
        lambda: pb.grad(lambda x: pb.sum(x > 0))(X), errors.DtypeError, ("result of grad",)),
    "complex rows": (
        lambda: pb.jacrev(double)(Z), errors.DtypeError, ("jacrev of `double`", "holomorphic")),
    "complex columns": (
        lambda: pb.jacfwd(double)(Z), errors.DtypeError, ("jacfwd of `double`", "complex128")),
    "an argument that is not there": (
        lambda: pb.grad(total, 1)(X), errors.PositionError,
        ("argnums", "1 positional", "by position")),
    "a negative one": (lambda: pb.jacrev(total, (0, -2))(X), errors.PositionError, ("-2",)),
    "one argument twice": (
        lambda: pb.grad(pb.multiply, (0, -2))(1.0, 2.0), errors.ArgumentError,
        ("argnums", "each position once", "(0, -2)")),
    "argnums of text": (
        lambda: pb.grad(total, "x")(X), errors.ArgumentTypeError, ("argnums", "'x'")),
    "a text to differentiate in": (
        lambda: pb.grad(total)("text"), errors.ArgumentTypeError,
        ("argument 0 of grad of `total`", "a str", "argnums")),
    "a value that is a text": (
        lambda: pb.vjp(lambda x: "text", X), errors.ArgumentTypeError, ("result of", "a str")),
    "unconnected": (
        lambda: pb.grad(total, unconnected="none"), errors.ArgumentError,
        ("unconnected", "'zero' or 'error'", "'none'")),
    "a cotangent of another structure": (
        lambda: pb.vjp(pair, X)[1](1.0), errors.ArgumentError, ("cotangent of vjp", "2 leaves")),
    "a cotangent of another shape": (
        lambda: pb.vjp(double, X)[1](np.ones(3)), errors.PullbackError, ("(2,)", "(3,)")),
    "a complex cotangent": (
        lambda: pb.vjp(double, X)[1](1j * X), errors.DtypeError, ("a real dtype", "complex128")),
    "a complex cotangent, a tensor": (
        lambda: pb.vjp(double, X)[1](pb.tensor(1j * X)), errors.DtypeError, ("a real dtype",)),
    "a cotangent of two, transposed": (
        lambda: pb.linear_transpose(double, X)((X, X)), errors.ArgumentError, ("cotangent", "2")),
    # Forward.
    "primals that are no tuple": (
        lambda: pb.jvp(total, X, X), errors.ArgumentTypeError, ("primals", "ndarray", "(x,)")),
    "tangents that are no tuple": (
        lambda: pb.jvp(total, (X,), X), errors.ArgumentTypeError, ("tangents", "ndarray")),
    "a tangent too many": (
        lambda: pb.jvp(total, (X,), (X, X)), errors.ArgumentError, ("tangents", "1 leaves", "2")),
    "a tangent of another shape": (
        lambda: pb.jvp(total, (X,), (np.ones(3),)), errors.ShapeError,
        ("tangent 0 of jvp of `total`", "(2,)", "(3,)")),
    "a complex tangent": (
        lambda: pb.jvp(total, (X,), (X * 1j,)), errors.DtypeError, ("tangent 0", "complex128")),
    "aux of forward mode": (
        lambda: pb.jvp(total, (X,), (X,), has_aux=True), errors.ArgumentTypeError,
        ("jvp of `total`", "(value, aux)")),
    "a tangent too few, later": (
        lambda: pb.linearize(pb.multiply, X, X)[1](X), errors.ArgumentError,
        ("tangents of linearize", "2", "1")),
    "a tangent of another shape, later": (
        lambda: pb.linearize(total, X)[1](np.ones(3)), errors.ShapeError, ("tangent 0", "(3,)")),
    "an integer with a tangent": (
        lambda: pb.jvp(double, (3,), (1.0,)), errors.DtypeError,
        ("tangent 0 of jvp of `double`", "None", "int64", "3.0 and not 3")),
    "an integer with a tangent, later": (
        lambda: pb.linearize(double, 3)[1](1), errors.DtypeError,
        ("tangent 0 of linearize of `double`", "None")),
    "integers forward": (lambda: pb.jacfwd(total)(N), errors.DtypeError, ("jacfwd", "int64")),
    # Mapping.
    "no function": (lambda: pb.vmap(3), errors.ArgumentTypeError, ("vmap", "a int")),
    "sizes that differ": (
        lambda: pb.vmap(pb.add)(X, np.ones(3)), errors.ArgumentError,
        ("vmap of `add`", "2 (leaf 0", "3 (leaf 1", "in_axes")),
    "a size that differs from axis_size": (
        lambda: pb.vmap(double, axis_size=3)(X), errors.ArgumentError,
        ("3 (axis_size)", "leaf 0")),
    "nothing mapped": (
        lambda: pb.vmap(double, None)(X), errors.ArgumentError,
        ("no mapped argument", "axis_size")),
    "an axis too few": (
        lambda: pb.vmap(pb.add, (0,))(X, X), errors.ArgumentError,
        ("in_axes", "2 arguments", "1")),
    "axes of another structure": (
        lambda: pb.vmap(total, ({"a": 0},))([X]), errors.ArgumentError, ("axes of vmap",)),
    "an axis that is not there": (
        lambda: pb.vmap(double, 1)(X), errors.ShapeError, ("leaf 0", "axis 1", "(2,)")),
    "a number": (lambda: pb.vmap(double)(3.0), errors.ShapeError, ("leaf 0", "shape ()")),
    "a text": (
        lambda: pb.vmap(lambda x, s: x)(X, "s"), errors.ArgumentTypeError, ("leaf 1", "a str")),
    "a mapped result as one for all": (
        lambda: pb.vmap(double, out_axes=None)(X), errors.ArgumentError,
        ("result of vmap of `double`", "out_axes", "reduce it inside")),
    "a result without that axis": (
        lambda: pb.vmap(double, out_axes=1)(X), errors.ShapeError, ("out_axes", "1 axes")),
    "out_axes of another structure": (
        lambda: pb.vmap(double, out_axes=(0, 0))(X), errors.ArgumentError, ("axes of vmap",)),
    "chunks of nothing": (
        lambda: pb.vmap(double, chunk_size=0), errors.ArgumentError, ("chunk_size", "least 1")),
    "rows in chunks of nothing": (
        lambda: pb.jacrev(double, chunk_size=0)(X), errors.ArgumentError, ("chunk_size", "0")),
    "fewer than no examples": (
        lambda: pb.vmap(double, axis_size=-1), errors.ArgumentError, ("axis_size", "-1")),
    "half an axis": (
        lambda: pb.vmap(double, 0.5)(X), errors.ArgumentTypeError, ("in_axes", "0.5")),
    "an axis of text": (
        lambda: pb.vmap(double, "0")(X), errors.ArgumentTypeError, ("in_axes", "'0'")),
    "a word for randomness": (
        lambda: pb.vmap(double, randomness="some"), errors.ArgumentError, ("randomness", "'same'")),
    "a result that is a text": (
        lambda: pb.vmap(lambda x: "text")(X), errors.ArgumentTypeError, ("result of vmap", "str")),
}


@pytest.mark.parametrize("name", CASES)
def test_misuse(name: str) -> None:
    call, family, parts = CASES[name]
    before = state()
    with pytest.raises(family) as caught:
        call()
    text = str(caught.value)
    for part in parts:
        assert part in text, text
    assert len(text.splitlines()) <= 4
    assert state() == before
    assert batching.running() == ()


@pytest.mark.parametrize(
    "decide",
    [
        float, int, bool, complex, np.asarray, lambda x: x.item(), lambda x: x.numpy(),
        lambda x: x.tolist(), lambda x: 1 if x > 0 else 2, lambda x: [1, 2][x], lambda x: range(x),
    ],
    ids=[
        "float", "int", "bool", "complex", "asarray", "item", "numpy", "tolist", "if", "index",
        "range",
    ],
)
def test_a_decision_about_a_mapped_value(decide: Callable[[Any], Any]) -> None:
    for x in (X, pb.tensor(X), pb.tensor(X, requires_grad=True)):
        with pytest.raises(errors.BatchedValueError, match="a value inside vmap") as caught:
            pb.vmap(decide)(x)
        assert "pullback.where" in str(caught.value)
    assert batching.running() == ()


def test_a_decision_about_what_is_not_mapped_is_fine() -> None:
    flag = pb.tensor(1.0)
    got = pb.vmap(lambda x, f: x * 2 if f > 0 else x * 3, (0, None))(X, flag)
    np.testing.assert_array_equal(got.data, 2 * X)


@pytest.mark.parametrize(
    "write",
    [lambda o, x: o.__setitem__(0, x), lambda o, x: o.__iadd__(x), lambda o, x: o[1:].__imul__(x)],
    ids=["setitem", "add", "in a view"],
)
def test_a_write_of_mapped_values_into_what_is_the_same_for_all(write: Any) -> None:
    target = pb.tensor([1.0, 1.0])
    with pytest.raises(errors.BatchedValueError, match="in-place") as caught:
        pb.vmap(lambda x: write(target, x))(X)
    assert "zeros_like" in str(caught.value)
    np.testing.assert_array_equal(target.data, [1.0, 1.0])


def test_a_mask_of_mapped_values() -> None:
    with pytest.raises(errors.BatchedValueError, match="index inside vmap") as caught:
        pb.vmap(lambda w: w[w > 0])(W)
    assert "where" in str(caught.value)


def test_an_error_inside_names_where_it_came_from() -> None:
    with pytest.raises(errors.ShapeError, match="`add`"):
        pb.vmap(lambda w: w + pb.ones(4))(W)
    assert batching.running() == ()


@pytest.mark.parametrize(
    "transform", [pb.grad, pb.value_and_grad, pb.jacrev, pb.jacfwd, pb.hessian, pb.vmap, pb.vjp]
)
def test_what_is_no_function_is_refused_at_once(transform: Callable[..., Any]) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="a function"):
        transform(3)


def test_a_jacobian_of_nothing() -> None:
    for jacobian in (pb.jacfwd, pb.jacrev):
        with pytest.raises(errors.ArgumentError, match="an array"):
            jacobian(lambda x: x)({})
