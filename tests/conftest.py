"""What every test may ask for, and how optional frameworks are treated."""

from __future__ import annotations

import importlib.util
import os
import zlib

import numpy as np
import pytest

OPTIONAL = {"torch": "torch", "jax": "jax", "tensorflow": "tf"}
"""Frameworks that some tests compare with -> the extra that installs them."""

MISSING = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers, the same in every run, others for every test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


def _strict() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def pytest_configure(config: pytest.Config) -> None:
    """In continuous integration nothing may be missing, so that nothing goes untested unseen."""
    if MISSING and _strict():
        raise pytest.UsageError(
            f"CI is set and {', '.join(MISSING)} cannot be imported; install the extras "
            + ", ".join(OPTIONAL[name] for name in MISSING)
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which comparisons were left out."""
    if MISSING:
        terminalreporter.write_line(
            f"{len(MISSING)} optional frameworks not installed, their tests left out: "
            + ", ".join(MISSING)
        )
