"""The pytest plugin and the strategies, as a user has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback as pb
from pullback.errors import ArgumentError
from pullback.testing import broadcastable, tensors

pytest_plugins = ["pytester"]

SUITE = '''
import pytest
import pullback as pb

@pb.custom_gradient
def twice_too_much(x):
    return x * x, lambda g: 4 * g * x

@pb.custom_gradient
def straight_through(x):
    return pb.round(x), lambda g: g

def test_right(check_gradient):
    report = check_gradient(lambda x: pb.sum(x * x), pb.tensor([1.0, -2.0]))
    assert report.ok

def test_wrong(check_gradient):
    check_gradient(twice_too_much, pb.tensor([1.0, -2.0]))

@pytest.mark.gradient(surrogate=lambda x: x)
def test_marked(check_gradient):
    check_gradient(straight_through, pb.tensor([1.2, -2.4]))

@pytest.mark.gradient(surrogate=lambda x: 2 * x)
def test_of_the_call_wins(check_gradient):
    check_gradient(straight_through, pb.tensor([1.2, -2.4]), surrogate=lambda x: x)

@pytest.mark.gradient("order")
def test_misused(check_gradient):
    pass
'''


@pytest.mark.full
def test_the_plugin(pytester: Any) -> None:
    pytester.makeconftest('pytest_plugins = ["pullback.testing"]')
    pytester.makepyfile(SUITE)
    ran = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "--strict-markers", "-p", "no:xdist", "--junitxml=junit.xml"
    )
    ran.assert_outcomes(passed=3, failed=1, errors=1)
    ran.stdout.fnmatch_lines(["*CheckFailed*twice_too_much*"])
    ran.stdout.fnmatch_lines(["*marker `gradient`*"])
    junit = (pytester.path / "junit.xml").read_text()
    assert junit.count('<property name="gradient"') == 4
    assert "twice_too_much" in junit


SEEN: set[str] = set()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tensors(layouts=True))
def test_tensors_come_in_every_layout(x: Any) -> None:
    data = x.data
    assert data.dtype == np.float64
    assert x.ndim <= 3
    assert np.abs(data).max() <= 10
    if data.ndim and data.strides[0] < 0:
        SEEN.add("reversed")
    if not data.flags.writeable:
        SEEN.add("read-only")
    if not data.flags.contiguous and not data.flags.f_contiguous:
        SEEN.add("part")


def test_every_layout_was_seen() -> None:
    test_tensors_come_in_every_layout()
    assert {"reversed", "read-only", "part"} <= SEEN


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_edges_come_only_where_they_are_wanted(data: Any) -> None:
    plain = data.draw(tensors("float32", shape=(3,), low=0.1, high=0.7))
    assert plain.dtype == np.float32
    assert ((plain.data >= np.float32(0.1)) & (plain.data <= np.float32(0.7))).all()
    wide = data.draw(tensors("complex128", shape=(2,), edges=True, requires_grad=True))
    assert wide.requires_grad
    assert wide.dtype == np.complex128


def test_edges_are_there() -> None:
    found: list[np.ndarray] = []

    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(tensors(shape=(4,), edges=True))
    def collect(x: Any) -> None:
        found.append(np.asarray(x))

    collect()
    every = np.concatenate(found)
    assert np.isnan(every).any()
    assert np.isposinf(every).any()
    assert (np.signbit(every) & (every == 0)).any()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(broadcastable(3, layouts=False))
def test_broadcastable(xs: Any) -> None:
    a, b, c = xs
    assert (a + b * c).shape == np.broadcast_shapes(a.shape, b.shape, c.shape)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(broadcastable(2, low=0.5, high=2.0))
def test_a_gradient_over_all_of_them(pair: Any) -> None:
    """What the strategies are for: a law, tried on whatever they give."""
    a, b = pair
    found = pb.grad(lambda a, b: pb.sum(a / b), argnums=(0, 1))(a, b)
    full = np.broadcast_shapes(a.shape, b.shape)
    wanted = np.broadcast_to(1 / np.asarray(b), full)
    extra = tuple(range(len(full) - a.ndim))
    kept = tuple(i + len(extra) for i, n in enumerate(a.shape) if n == 1 and full[i + len(extra)])
    wanted = wanted.sum(axis=(*extra, *kept), keepdims=True).reshape(a.shape)
    np.testing.assert_allclose(np.asarray(found[0]), wanted, rtol=1e-12)


def test_integers_have_no_gradients() -> None:
    with pytest.raises(ArgumentError, match="floating"):
        tensors("int64")


def test_the_page_shows_the_line() -> None:
    page = Path(__file__).parent.parent / "docs" / "check.md"
    assert 'pytest_plugins = ["pullback.testing"]' in page.read_text(encoding="utf-8")
