"""Fixtures and rules for every test: the two tiers, and what happens where a part is missing."""

from __future__ import annotations

import gc
import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from tests import parts, tier

LEFT_OUT = pytest.StashKey[Counter[str]]()
"""Part -> the number of tests that need it and were left out when they were collected."""


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers, the same in every run, others for every test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run every case")
    parser.addoption(
        "--complete", action="store_true", help="refuse to leave out a test for a missing part"
    )
    parser.addoption(
        "--device", choices=["cuda"], help="refuse to run where there is no GPU to test on"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: runs in the full tier only (`make test-all`)")
    config.addinivalue_line("markers", "needs(*parts): left out where a part is missing")
    config.stash[LEFT_OUT] = Counter()
    tier.FULL = config.getoption("--full")
    tier.turn()
    if config.getoption("--device"):
        from tests.arrays.gpu import DRIVER

        if not DRIVER:
            raise pytest.UsageError("--device=cuda: this machine has no driver of NVIDIA's")
    missing = [key for key, part in parts.PARTS.items() if parts.is_missing(key)]
    needed = [key for key in missing if not parts.PARTS[key].hardware]
    if config.getoption("--complete") and needed:
        raise pytest.UsageError(
            f"--complete needs {', '.join(needed)}; `make test-all` installs all but programs"
        )


def pytest_report_header() -> str:
    if tier.FULL:
        return "full tier: every case"
    return f"quick tier: share {tier.turn()} of {tier.PARTS} (`make test-all` runs every case)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out the cases of the other tier, and count and take out those of missing parts."""
    kept, others = [], []
    for item in items:
        missing = None
        if tier.FULL or not item.get_closest_marker("full"):
            missing = parts.missing_of(item)
            if missing is None:
                kept.append(item)
                continue
            config.stash[LEFT_OUT][missing] += 1
        others.append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def pytest_collection_finish() -> None:
    """Thousands of cases stay: a collection of the garbage collector need not look at them."""
    gc.collect()
    gc.freeze()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """In a worker of pytest-xdist a passed test sends one message, not five.

    Sending them takes longer than most tests. A report in XML needs all of them.
    """
    if not hasattr(item.config, "workerinput") or item.config.getoption("xmlpath", None):
        return None
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the counts from the workers of pytest-xdist, which all collect the same tests."""
    node.config.stash[LEFT_OUT] |= getattr(node, "workeroutput", {}).get("left_out", {})


def _skips_of_no_gpu(reports: list[Any]) -> Counter[str]:
    reasons = (str(report.longrepr[2]) for report in reports)
    return Counter(why.partition("no GPU: ")[2] for why in reasons if "no GPU: " in why)


def _unexplained(reports: list[Any]) -> list[str]:
    """Skips in a complete run that no missing hardware explains."""
    reasons = {str(report.longrepr[2]) for report in reports}
    hardware = {key for key, part in parts.PARTS.items() if part.hardware}
    return sorted(r for r in reasons if "no GPU: " not in r and parts.part_of(r) not in hardware)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, one line per missing part."""
    skipped = terminalreporter.stats.get("skipped", [])
    for line in parts.left_out(terminalreporter.config.stash[LEFT_OUT], skipped):
        terminalreporter.write_line(line)
    for reason, count in _skips_of_no_gpu(skipped).items():
        terminalreporter.write_line(f"no GPU, {count} tests left out: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A complete run in which anything else was skipped has failed."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[LEFT_OUT])
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not session.config.getoption("--complete"):
        return
    for reason in _unexplained(reporter.stats.get("skipped", [])):
        reporter.write_line(f"skipped in a complete run: {reason}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
