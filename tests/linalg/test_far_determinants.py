"""Gradients of determinants with huge, tiny and infinite entries."""

from __future__ import annotations

import numpy as np

import pullback as pb
from pullback.arrays import adjugates, namespace
from tests.rows.matrices import minors


def test_the_gradient_of_determinants_with_huge_and_tiny_entries() -> None:
    rng = np.random.default_rng(4)
    for entry in (1e300, -1e200, 1e-300, 1e160):
        for place in np.ndindex(3, 3):
            x = rng.standard_normal((3, 3))
            x[place] = entry
            right = minors(x).T  # exact up to rounding: one huge factor in each product
            with np.errstate(all="ignore"):
                kernel = adjugates.adjugate(namespace(x), x).T
                found = pb.grad(pb.linalg.det)(x).numpy()
            for got in (kernel, found):
                np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12 * np.abs(right).max())


def test_the_gradient_of_a_determinant_with_infinite_entries() -> None:
    x = np.array([[1.0, 2.0, np.inf], [3.0, 4.0, 5.0], [6.0, 7.0, 9.0]])
    with np.errstate(all="ignore"):
        found = pb.grad(pb.linalg.det)(x).numpy()
    np.testing.assert_allclose(found[0], [1.0, 3.0, -3.0])  # minors without the infinite entry
    np.testing.assert_allclose(found[:, 2], [-3.0, 5.0, -2.0])
    assert np.isnan(found[1:, :2]).all()
