"""What the house rules have read is dropped after them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.house import sources


@pytest.fixture(scope="package", autouse=True)
def _forget_sources() -> Iterator[None]:
    """Drops the syntax trees of the project: with their millions of objects in memory, each
    collection of the garbage collector takes a second in the tests that follow.
    """
    yield
    sources.tree.cache_clear()
