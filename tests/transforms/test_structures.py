"""Nested structures, argnums, aux, complex and integer arguments, and what is not connected."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors

Point = namedtuple("Point", "x y")
X, Y = np.array([1.0, 2.0, 3.0]), np.array([[4.0, 5.0]])


def numbers(tree: Any) -> Any:
    """A structure with lists in place of Tensors."""
    return pb.trees.mapped(lambda t: t if t is None else t.data.tolist(), tree)


# Structures ------------------------------------------------------------------------------------


def loss(p: Any) -> Any:
    return pb.sum(p["w"] * p["w"]) + pb.sum(p["b"][0]) * p["b"][1].x


PARAMETERS = {"w": X, "b": (Y, Point(2.0, None))}


def test_a_gradient_has_the_structure_of_its_argument() -> None:
    g = pb.grad(loss)(PARAMETERS)
    assert type(g["b"]) is tuple
    assert type(g["b"][1]) is Point
    assert numbers(g) == {"w": [2, 4, 6], "b": ([[2, 2]], Point(9.0, None))}


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_mappings_keep_their_kind(kind: Any) -> None:
    g = pb.grad(lambda p: p["b"] * p["a"] * p["a"])(kind(b=2.0, a=3.0))
    assert type(g) is kind
    assert list(g) == ["b", "a"]
    assert numbers(g) == {"a": 12.0, "b": 9.0}


def test_none_is_a_leaf_that_stays_none() -> None:
    def f(p: Any) -> Any:
        assert p[1] is None
        return pb.sum(p[0]), None  # aux

    g, aux = pb.grad(f, has_aux=True)([X, None])
    assert g[1] is None
    assert aux is None
    _, tangent = pb.jvp(lambda p: p[0] * 2, ([X, None],), ([X, None],))
    np.testing.assert_array_equal(tangent.data, 2 * X)
    (back,) = pb.vjp(lambda p: p[0] * 3, [X, None])[1](X)
    assert back[1] is None
    np.testing.assert_array_equal(back[0].data, 3 * X)


def test_pushes_and_pulls_of_structures() -> None:
    def f(p: Any) -> Any:
        return {"sum": pb.sum(p.x) * p.y, "pair": (p.x * 2, p.y)}

    at, along = Point(X, 3.0), Point(X * 0 + 1, 1.0)
    for tangent in (pb.jvp(f, (at,), (along,))[1], pb.linearize(f, at)[1](along)):
        assert numbers(tangent) == {"sum": 15.0, "pair": ([2, 2, 2], 1.0)}
    value, pull = pb.vjp(f, at)
    assert numbers(value) == {"sum": 18.0, "pair": ([2, 4, 6], 3.0)}
    (g,) = pull({"sum": 1.0, "pair": (X, 10.0)})
    assert type(g) is Point
    assert numbers(g) == Point([5, 7, 9], 16.0)


def test_jacobians_of_structures() -> None:
    """The value's structure, with the argument's in each place: shape (*value, *argument)."""
    def f(p: Any) -> Any:
        return {"a": p[0] * p[1][0, 0], "b": pb.sum(p[1] * p[1])}

    for jacobian in (pb.jacrev, pb.jacfwd, pb.jacobian):
        j = jacobian(f)((X, Y))
        assert {k: [v.shape for v in row] for k, row in j.items()} == {
            "a": [(3, 3), (3, 1, 2)], "b": [(3,), (1, 2)]
        }
        np.testing.assert_array_equal(j["a"][0].data, 4 * np.eye(3))
        np.testing.assert_array_equal(j["a"][1].data[..., 0, 0], X)
        np.testing.assert_array_equal(j["b"][0].data, np.zeros(3))
        np.testing.assert_array_equal(j["b"][1].data, 2 * Y)


def test_hessians_of_structures() -> None:
    h = pb.hessian(lambda p: pb.sum(p["w"]) * p["c"] * p["c"])({"w": X, "c": 2.0})
    assert {(a, b): h[a][b].shape for a in h for b in h[a]} == {
        ("w", "w"): (3, 3), ("w", "c"): (3,), ("c", "w"): (3,), ("c", "c"): ()
    }
    assert numbers(h["c"]) == {"w": [4, 4, 4], "c": 12.0}
    assert not np.any(h["w"]["w"].data)
    t = {"w": X * 0 + 1, "c": 1.0}
    product = pb.hvp(lambda p: pb.sum(p["w"]) * p["c"] * p["c"], ({"w": X, "c": 2.0},), (t,))
    assert numbers(product) == {"w": [4, 4, 4], "c": 24.0}


def test_a_hessian_of_a_linear_function_is_zeros() -> None:
    h = pb.hessian(lambda x: pb.sum(x) * 3.0)(X)
    np.testing.assert_array_equal(h.data, np.zeros((3, 3)))
    with_constant = pb.hessian(lambda x: pb.tensor(1.0))(X)
    np.testing.assert_array_equal(with_constant.data, np.zeros((3, 3)))


# Which arguments -------------------------------------------------------------------------------


def three(a: Any, b: Any, c: Any = 5.0) -> Any:
    return a * b * b * c


def test_argnums() -> None:
    assert float(pb.grad(three, 1)(2.0, 3.0).data) == 60.0
    assert float(pb.grad(three, -1)(2.0, 3.0).data) == 60.0
    assert [float(g.data) for g in pb.grad(three, (0, 1))(2.0, 3.0)] == [45.0, 60.0]
    assert [float(g.data) for g in pb.grad(three, [1, 0])(2.0, 3.0)] == [60.0, 45.0]
    (alone,) = pb.grad(three, (0,))(2.0, 3.0)
    assert float(alone.data) == 45.0
    assert [float(g.data) for g in pb.jacfwd(three, (-1, 0))(2.0, 3.0)] == [60.0, 45.0]
    assert [float(g.data) for g in pb.jacrev(three, (-1, 0))(2.0, 3.0)] == [60.0, 45.0]
    h = pb.hessian(three, (0, 1))(2.0, 3.0)
    assert [[float(v.data) for v in row] for row in h] == [[0.0, 30.0], [30.0, 20.0]]


def test_keyword_arguments_are_handed_on() -> None:
    assert float(pb.grad(three)(2.0, 3.0, c=1.0).data) == 9.0
    value, g = pb.value_and_grad(three, 1)(2.0, 3.0, c=1.0)
    assert (float(value.data), float(g.data)) == (18.0, 12.0)
    assert float(pb.jacfwd(three)(2.0, 3.0, c=1.0).data) == 9.0


def test_arguments_that_are_not_differentiated_may_be_anything() -> None:
    def f(x: Any, mode: str, count: int) -> Any:
        assert (mode, count) == ("twice", 2)
        return x * count

    assert float(pb.grad(f)(3.0, "twice", 2).data) == 2.0


def test_transformed_functions_keep_their_names() -> None:
    for transformed in (pb.grad(three), pb.jacrev(three), pb.jacfwd(three), pb.vmap(three)):
        assert transformed.__name__ == "three"


# Aux -------------------------------------------------------------------------------------------


def with_aux(x: Any) -> Any:
    y = x * x
    return pb.sum(y), {"squares": y, "note": "kept", "list": [y, 3]}


def test_aux_comes_back_without_history() -> None:
    def check(aux: Any) -> None:
        assert aux["note"] == "kept"
        assert aux["list"][1] == 3
        for t in (aux["squares"], aux["list"][0]):
            np.testing.assert_array_equal(t.data, X * X)
            assert t.node is None
            assert not t.requires_grad

    g, aux = pb.grad(with_aux, has_aux=True)(X)
    check(aux)
    np.testing.assert_array_equal(g.data, 2 * X)
    (value, aux), g = pb.value_and_grad(with_aux, has_aux=True)(X)
    check(aux)
    assert float(value.data) == 14.0
    for transformation in (pb.jacrev, pb.jacfwd):
        j, aux = transformation(with_aux, has_aux=True)(X)
        np.testing.assert_array_equal(j.data, 2 * X)
    _, pull, aux = pb.vjp(with_aux, X, has_aux=True)
    check(aux)
    np.testing.assert_array_equal(pull(1.0)[0].data, 2 * X)
    _, tangent, aux = pb.jvp(with_aux, (X,), (X,), has_aux=True)
    check(aux)
    assert float(tangent.data) == 28.0
    _, push, aux = pb.linearize(with_aux, X, has_aux=True)
    check(aux)
    assert float(push(X).data) == 28.0


def test_aux_of_a_hessian() -> None:
    h, *_ = pb.hessian(with_aux, has_aux=True)(X)
    np.testing.assert_array_equal(h.data, 2 * np.eye(3))


def test_aux_keeps_the_history_that_begins_outside() -> None:
    w = pb.tensor(3.0, requires_grad=True)
    _, aux = pb.grad(lambda x: (x * x, w * 2), has_aux=True)(1.0)
    assert aux.requires_grad
    aux.backward()
    assert float(w.grad.data) == 2.0


# Complex and integer ---------------------------------------------------------------------------

Z = np.array([0.3 + 0.4j, -1.0 + 0.2j])


@pytest.mark.parametrize(
    ("f", "slope"), [(pb.exp, np.exp), (lambda z: z**3, lambda z: 3 * z**2)], ids=["exp", "cube"]
)
def test_holomorphic_derivatives(f: Any, slope: Any) -> None:
    z = complex(Z[0])
    np.testing.assert_allclose(pb.grad(f, holomorphic=True)(z).data, slope(z), rtol=1e-14)
    for jacobian in (pb.jacrev, pb.jacfwd):
        got = jacobian(f, holomorphic=True)(Z).data
        np.testing.assert_allclose(got, np.diag(slope(Z)), rtol=1e-14, atol=1e-16)
    tangent = pb.jvp(f, (Z,), (Z,))[1]
    np.testing.assert_allclose(tangent.data, slope(Z) * Z, rtol=1e-14)
    second = pb.grad(pb.grad(f, holomorphic=True), holomorphic=True)(z)
    h = 1e-5
    np.testing.assert_allclose(second.data, (slope(z + h) - slope(z - h)) / (2 * h), rtol=1e-8)


def test_the_gradient_of_a_real_loss_points_uphill() -> None:
    """dL/dRe + i dL/dIm, as PyTorch has it."""
    g = pb.grad(lambda z: pb.sum(pb.abs(z) ** 2))(Z)
    np.testing.assert_allclose(g.data, 2 * Z, rtol=1e-14)
    _, pull = pb.vjp(lambda z: z * (1 + 2j), Z)
    np.testing.assert_allclose(pull(Z)[0].data, Z * (1 - 2j), rtol=1e-14)


def test_a_linear_transpose_does_not_conjugate() -> None:
    transposed = pb.linear_transpose(lambda z: z * (1 + 2j), Z)
    np.testing.assert_allclose(transposed(Z)[0].data, Z * (1 + 2j), rtol=1e-14)
    matrix = np.arange(6.0).reshape(2, 3)
    (got,) = pb.linear_transpose(lambda v: pb.tensor(matrix) @ v, X)(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(got.data, matrix.T @ [1.0, -1.0])


def test_integers_where_they_are_allowed() -> None:
    n = np.array([2, 3])
    for transformation in (pb.grad, pb.value_and_grad):
        found = transformation(lambda n, x: pb.sum(n * x), (0, 1), allow_int=True)(n, 2.0)
        gn, gx = found if transformation is pb.grad else found[1]
        assert gn.shape == (2,)
        assert not np.any(gn.data)
        assert float(gx.data) == 5.0


def test_integers_in_pushes_and_pulls() -> None:
    n = np.array([2, 3])
    assert float(pb.jvp(lambda n, x: pb.sum(n * x), (n, 2.0), (None, 1.0))[1].data) == 5.0
    assert float(pb.linearize(lambda n, x: pb.sum(n * x), n, 2.0)[1](None, 1.0).data) == 5.0
    assert float(pb.vjp(lambda n, x: pb.sum(n * x), n, 2.0)[1](1.0)[1].data) == 5.0


def test_narrow_dtypes_stay() -> None:
    x = X.astype("float32")
    assert pb.grad(lambda x: pb.sum(x * x))(x).dtype == np.float32
    for jacobian in (pb.jacrev, pb.jacfwd):
        assert jacobian(lambda x: x * x)(x).dtype == np.float32
    assert pb.hessian(lambda x: pb.sum(x * x))(x).dtype == np.float32
    assert pb.jvp(lambda x: x * x, (x,), (X,))[1].dtype == np.float32


# Not connected ---------------------------------------------------------------------------------


def test_zeros_where_nothing_is_connected() -> None:
    g = pb.grad(lambda x, y: pb.sum(x), (0, 1))(X, Y)
    np.testing.assert_array_equal(g[1].data, np.zeros((1, 2)))
    for jacobian in (pb.jacrev, pb.jacfwd):
        np.testing.assert_array_equal(jacobian(lambda x: pb.tensor(Y))(X).data, np.zeros((1, 2, 3)))
    assert float(pb.jvp(lambda x: pb.tensor(2.0), (X,), (X,))[1].data) == 0.0
    assert float(pb.linearize(lambda x: pb.tensor(2.0), X)[1](X).data) == 0.0
    np.testing.assert_array_equal(pb.vjp(lambda x: 2.0, X)[1](1.0)[0].data, np.zeros(3))


def test_an_error_where_it_is_asked_for() -> None:
    for transformation in (pb.grad, pb.value_and_grad, pb.jacrev):
        with pytest.raises(errors.DisconnectedError, match="leaf 1"):
            transformation(lambda x, y: pb.sum(x), (0, 1), unconnected="error")(X, Y)
        transformation(lambda x, y: pb.sum(x) * pb.sum(y), (0, 1), unconnected="error")(X, Y)
    _, pull = pb.vjp(lambda x, y: pb.sum(x), X, Y, unconnected="error")
    with pytest.raises(errors.DisconnectedError, match="leaf 1"):
        pull(1.0)


@pytest.mark.parametrize(
    "leave",
    [float, lambda x: x.item(), lambda x: float(x.numpy()), lambda x: float(np.asarray(x))],
    ids=["float", "item", "numpy", "asarray"],
)
def test_a_tensor_that_left_is_named(leave: Any) -> None:
    def f(x: Any) -> Any:
        return pb.tensor(leave(x) ** 2)

    with pytest.raises(errors.LostGradientError, match=r"test_structures\.py:\d+"):
        pb.grad(f)(3.0)


def test_a_tensor_that_was_detached_may_leave() -> None:
    def f(x: Any) -> Any:
        assert float(x.detach()) == 3.0
        return x * x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(pb.grad(f)(3.0).data) == 6.0
        assert float(pb.grad(lambda x: pb.stop_gradient(x) * 2.0)(3.0).data) == 0.0


def test_forward_mode_names_a_tensor_that_left_too() -> None:
    with pytest.raises(errors.LostGradientError, match=r"float\(\) at .*test_structures\.py"):
        pb.jvp(lambda x: pb.tensor(float(x) ** 2), (3.0,), (1.0,))


def test_none_among_results_is_no_result() -> None:
    def f(x: Any) -> Any:
        return {"y": x * x, "nothing": None}

    value, tangent = pb.jvp(f, (3.0,), (1.0,))
    assert (value["nothing"], tangent["nothing"]) == (None, None)
    assert float(tangent["y"].data) == 6.0
    value, pull = pb.vjp(f, 3.0)
    assert value["nothing"] is None
    assert float(pull({"y": 2.0, "nothing": None})[0].data) == 12.0
    assert float(pb.linearize(f, 3.0)[1](1.0)["y"].data) == 6.0
    for jacobian in (pb.jacrev, pb.jacfwd):
        found = jacobian(f)(np.array([1.0, 2.0]))
        assert found["nothing"] is None
        assert found["y"].tolist() == [[2.0, 0.0], [0.0, 4.0]]
    for chunk_size in (None, 2):
        mapped = pb.vmap(lambda x, no: (f(x), no), chunk_size=chunk_size)(np.arange(3.0), None)
        assert mapped[0]["y"].tolist() == [0.0, 1.0, 4.0]
        assert mapped[0]["nothing"] is None
        assert mapped[1] is None
