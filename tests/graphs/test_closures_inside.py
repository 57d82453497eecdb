"""Tensors that a traced function closes over, and that only a function inside it uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.graphs import cond, function, map_fn, while_loop

MET_FIRST = {
    "branch": lambda w, x: cond(pb.sum(x) > 0, lambda: pb.sum(w * x), lambda: pb.sum(x)),
    "loop": lambda w, x: while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s + pb.sum(w * w)), [0, pb.sum(x)])[1],
    "map": lambda w, x: pb.sum(map_fn(lambda r: pb.sin(w * r), x)),
    "scan": lambda w, x: pb.scan(lambda c, r: (c + pb.sum(w * r), None), pb.sum(x), x)[0],
    "checkpoint": lambda w, x: pb.sum(pb.checkpoint(lambda x: pb.sin(w * x))(x)),
    "gradient": lambda w, x: pb.sum(pb.grad(lambda x: pb.sum(pb.sin(w * x)))(x)),
    "branch in a loop": lambda w, x: pb.fori_loop(
        0, 2, lambda i, s: pb.cond(s > 0, lambda: s * pb.sum(w), lambda: s), pb.sum(x)),
    "function": lambda w, x: function(lambda x: pb.sum(w * x))(x),
    "function in a branch": lambda w, x: cond(
        pb.sum(x) > 0, lambda: function(lambda x: pb.sum(w * x))(x), lambda: pb.sum(x)),
}


@pytest.mark.parametrize("place", MET_FIRST)
def test_a_tensor_that_only_an_inner_function_uses_gets_its_gradient(place: str) -> None:
    body, w, x = MET_FIRST[place], np.array([0.5, 2.0]), np.array([1.0, 3.0])

    def traced(w: Any, x: Any) -> Any:
        return function(lambda x: body(w, x))(x)

    for derivative in (pb.grad, lambda f: lambda w, x: pb.jvp(lambda w: f(w, x), (w,), (x,))[1]):
        np.testing.assert_allclose(
            derivative(traced)(w, x).numpy(), derivative(body)(w, x).numpy(), rtol=1e-12
        )
        assert pb.any(derivative(traced)(w, x) != 0)
