"""What the tests of array libraries may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.arrays.gpu import ON_GPU, OnGPU, missing


@pytest.fixture(scope="module")
def on_gpu(request: pytest.FixtureRequest) -> Iterator[OnGPU]:
    """A library whose GPU was found, with no short cuts in its arithmetic."""
    why = missing(request.param)
    if why:
        pytest.skip(f"no GPU: {why}")
    found = ON_GPU[request.param]
    with found.exactly():
        yield found
