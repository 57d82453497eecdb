"""What every test may ask for, and how optional frameworks are treated."""

from __future__ import annotations

import importlib.util
import os
import shutil
import zlib
from collections import Counter

import numpy as np
import pytest

OPTIONAL = {"torch": "torch", "jax": "jax", "tensorflow": "tf"}
"""Frameworks that some tests compare with -> the extra that installs them."""

NEEDS_GPU = {"cupy": "cupy"}
"""Of which nothing can be computed without a GPU, which continuous integration has not."""

MISSING = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]

NO_SITE = importlib.util.find_spec("material") is None
"""Whether the site of the documentation cannot be built."""


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers, the same in every run, others for every test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


def _strict() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device", choices=["cuda"], help="refuse to run where there is no GPU to test on"
    )


def pytest_configure(config: pytest.Config) -> None:
    """In continuous integration nothing may be missing, so that nothing goes untested unseen."""
    if config.getoption("--device"):
        from tests.arrays.gpu import DRIVER

        if not DRIVER:
            raise pytest.UsageError("--device=cuda: this machine has no driver of NVIDIA's")
    if shutil.which("chromium") is None and _strict():
        raise pytest.UsageError("CI is set and chromium is not installed")
    if NO_SITE and _strict():
        raise pytest.UsageError("CI is set and mkdocs-material is not installed: the extra docs")
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
    for name in NEEDS_GPU:
        if importlib.util.find_spec(name) is None:
            terminalreporter.write_line(f"{name} not installed, what looks at it left out")
    if shutil.which("chromium") is None:
        terminalreporter.write_line("chromium not installed, tests of the drawn page left out")
    if NO_SITE:
        terminalreporter.write_line("mkdocs-material not installed, tests of the site left out")
    skipped = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    reasons = Counter(why.partition("no GPU: ")[2] for why in skipped if "no GPU: " in why)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"no GPU, {count} skipped: {reason}")
