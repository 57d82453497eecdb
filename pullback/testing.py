"""For tests: a pytest plugin that checks gradients, and Hypothesis strategies for their inputs.

One line in a `conftest.py` enables the plugin:

    pytest_plugins = ["pullback.testing"]

A test can then use the fixture `check_gradient`, which runs `pullback.check` and fails the test,
and the marker `gradient`, whose keywords are options of every check in the test:

    @pytest.mark.gradient(order=1)
    def test_my_layer(check_gradient):
        check_gradient(my_layer, pb.ones((3, 4)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest

import pullback as pb

from .errors import ArgumentError

__all__ = ["broadcastable", "check_gradient", "tensors"]


def pytest_configure(config: Any) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers", "gradient(**options): options of pullback.check for the checks of a test"
    )


@pytest.fixture
def check_gradient(
    request: Any, record_property: Callable[[str, Any], None]
) -> Callable[..., Any]:
    """Fixture: runs `pullback.check` and returns its `Report`; a failure fails the test.

    Takes the arguments of `check`. Raises `CheckFailed`, an AssertionError that names the failures.
    Keywords of the marker `gradient` are options of every call; the nearest marker and the call
    take precedence. The JUnit report gets a summary as the property `gradient`.

    >>> import pullback as pb
    >>> def test_softplus(check_gradient):
    ...     check_gradient(lambda x: pb.log(1 + pb.exp(x)), pb.tensor([-1.0, 2.0]))
    """
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("gradient"))):
        if marker.args:
            raise ArgumentError(
                "marker `gradient`", "keywords", f"{len(marker.args)} positional arguments",
                "@pytest.mark.gradient(order=1)",
            )
        options.update(marker.kwargs)

    def check(f: Callable[..., Any], *examples: Any, **own: Any) -> Any:
        report = pb.check(f, *examples, **{**options, **own})
        done = "right" if report.ok else "wrong"
        record_property("gradient", f"{report.name}: {len(report.findings)} findings, {done}")
        report.raise_if_failed()
        return report

    return check


def tensors(
    dtype: Any = "float64", shape: Any = None, *, low: float = -10.0, high: float = 10.0,
    edges: bool = False, layouts: bool = True, requires_grad: bool = False,
) -> Any:
    """Returns a Hypothesis strategy for Tensors to differentiate at.

    dtype          a floating or complex dtype, or a strategy for dtypes
    shape          a shape, or a strategy for shapes; default: up to 3 axes of up to 4 entries
    low, high      bounds of the entries; for complex ones, of the real and imaginary parts
    edges          also 0, -0, infinities, NaN, subnormal and the largest numbers
    layouts        also arrays that are transposed, reversed, or parts of larger ones
    requires_grad  whether the Tensors require gradients

    Needs Hypothesis, which is imported when this is called.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None)
    ... @given(tensors(shape=(2, 3)))
    ... def test(x):
    ...     assert x.shape == (2, 3)
    >>> test()
    """
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    shapes: Any = hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)
    shapes = shapes if shape is None else shape

    if not hasattr(dtype, "example"):
        _check_floating(numpy.dtype(dtype))

    @st.composite
    def tensor(draw: Any) -> Any:
        chosen = numpy.dtype(draw(dtype) if hasattr(dtype, "example") else dtype)
        size = draw(shapes) if hasattr(shapes, "example") else tuple(shapes)
        values = draw(hnp.arrays(chosen, size, elements=_entries(chosen, low, high, edges)))
        if layouts:
            values = _laid_out(values, draw(st.sampled_from(_LAYOUTS)))
        return pb.Tensor(values, requires_grad=requires_grad)

    return tensor()


def broadcastable(
    count: int = 2, dtype: Any = "float64", *, max_dims: int = 3, max_side: int = 4, **how: Any
) -> Any:
    """Returns a Hypothesis strategy for tuples of Tensors whose shapes broadcast together.

    `how` holds keyword arguments of `tensors`.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None)
    ... @given(broadcastable(2))
    ... def test(pair):
    ...     assert (pair[0] + pair[1]).shape == pb.broadcast_shapes(*[x.shape for x in pair])
    >>> test()
    """
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    shapes = hnp.mutually_broadcastable_shapes(
        num_shapes=count, max_dims=max_dims, max_side=max_side
    )
    return shapes.flatmap(
        lambda found: st.tuples(*[tensors(dtype, s, **how) for s in found.input_shapes])
    )


def _entries(dtype: Any, low: float, high: float, edges: bool) -> Any:
    from hypothesis import strategies as st

    _check_floating(dtype)
    width = dtype.itemsize * (8 if dtype.kind == "f" else 4)
    info = numpy.finfo(dtype)
    low, high = (float(info.dtype.type(bound)) for bound in (low, high))
    numbers = st.floats(low, high, width=width, allow_subnormal=edges)
    if edges:
        special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, float(info.max), float(info.min),
                   float(info.smallest_subnormal)]
        numbers = numbers | st.sampled_from(special)
    return numbers if dtype.kind == "f" else st.builds(complex, numbers, numbers)


def _check_floating(dtype: Any) -> None:
    if dtype.kind not in "fc":
        raise ArgumentError(
            "argument `dtype` of tensors", "a real or complex floating dtype", str(dtype)
        )


_LAYOUTS = ("plain", "fortran", "reversed", "part", "read-only")


def _laid_out(values: Any, layout: str) -> Any:
    """The same entries in another memory layout."""
    if layout == "fortran":
        return numpy.asfortranarray(values)
    if layout == "reversed" and values.ndim:
        return numpy.ascontiguousarray(values[::-1])[::-1]
    if layout == "part" and values.ndim:
        whole = numpy.zeros((*_doubled(values.shape),), values.dtype)
        part = whole[tuple(slice(None, None, 2) for _ in values.shape)]
        part[...] = values
        return part
    if layout == "read-only":
        values = values.copy()
        values.flags.writeable = False
    return values


def _doubled(shape: Sequence[int]) -> list[int]:
    return [2 * n for n in shape]
