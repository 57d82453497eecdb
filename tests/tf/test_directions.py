"""Every function of the door in forward mode and under `vectorized_map`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import tf
from tests.tf import functions_special
from tests.tf.functions import ROWS
from tests.tier import share

CASES = [
    pytest.param(call, samples, id=name)
    for name, call, samples in [*ROWS, *functions_special.ROWS]
]

BY_VALUE = {"where positions", "indexing"}
"""Rows in which the shape of a result depends on values, so that no map can have them."""


def outputs(call: Any, xs: list[Any]) -> list[Any]:
    outs = call(tf, *xs)
    return list(outs) if isinstance(outs, (list, tuple)) else [outs]


def assert_no_gradient(tape: Any, found: list[Any], xs: list[Any]) -> None:
    """Results that are not real: integers and booleans have no gradient, complex numbers have."""
    assert found
    for y in found:
        gradients = tape.gradient(y, xs) if y.dtype.is_complex else [None]
        assert all((g is not None) == y.dtype.is_complex for g in gradients)
        assert y.dtype.is_complex or y.dtype.is_integer or y.dtype.is_bool


@pytest.mark.parametrize(("call", "samples"), share(CASES, 5))
def test_the_tangent_is_the_transpose_of_the_gradient(
    call: Any, samples: Any, rng: np.random.Generator
) -> None:
    xs = [tf.constant(s(rng).astype("float64")) for s in samples]
    ts = [tf.constant(rng.normal(size=x.shape)) for x in xs]
    with tf.GradientTape() as tape, tf.autodiff.ForwardAccumulator(xs, ts) as acc:
        tape.watch(xs)
        found = outputs(call, xs)
        outs = [y for y in found if y.dtype.is_floating]
    if not outs:
        assert_no_gradient(tape, found, xs)
        return
    us = [tf.constant(rng.normal(size=y.shape), y.dtype) for y in outs]
    tangents = acc.jvp(outs, "zero")
    assert [t.dtype for t in tangents] == [y.dtype for y in outs]
    assert all(isinstance(t, tf.Tensor) for t in tangents)
    forward = sum(np.vdot(u.numpy(), t.numpy()).real for t, u in zip(tangents, us, strict=True))
    gradients = tape.gradient(
        outs, xs, output_gradients=us, unconnected_gradients="zero", dense=True
    )
    back = sum(np.vdot(g.numpy(), t.numpy()).real for g, t in zip(gradients, ts, strict=True))
    assert forward == pytest.approx(back, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(("call", "samples"), share([c for c in CASES if c.id not in BY_VALUE], 5))
def test_a_map_is_a_loop(call: Any, samples: Any, rng: np.random.Generator) -> None:
    columns = [np.stack([s(rng) for _ in range(3)]) for s in samples]
    mapped = tf.vectorized_map(lambda xs: outputs(call, list(xs)), tuple(columns))
    rows = [outputs(call, [tf.constant(c[i]) for c in columns]) for i in range(3)]
    for found, each in zip(mapped, zip(*rows, strict=True), strict=True):
        expected = np.stack([y.numpy() for y in each])
        assert isinstance(found, tf.Tensor)
        assert found.numpy().dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("call", "samples"), [c for c in CASES if c.id in BY_VALUE])
def test_a_shape_that_depends_on_values_is_refused(
    call: Any, samples: Any, rng: np.random.Generator
) -> None:
    columns = [np.stack([s(rng) for _ in range(3)]) for s in samples]
    with pytest.raises(TypeError, match="inside vmap"):
        tf.vectorized_map(lambda xs: call(tf, *xs), tuple(columns))
