"""The suite, collected once in this process: its tests are run one by one in forked children."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import tier
from tests.mutation.live import ROOT

FRAMEWORKS = ("torch", "jax", "tensorflow", "ml_dtypes", "autograd", "matplotlib")
"""Imported before any fork, where they are there; nothing is computed with them in the parent."""

LEFT_OUT = ("tests/house", "tests/cli", "tests/mutation", "tests/test_demo.py",
            "tests/test_examples.py", "tests/test_benchmarks.py")
"""Tests of files, of programs in processes of their own, and this tool's own."""


class Suite:
    """The collected tests: `items` of the full tier, `quick` those of the quick one, by number.

    deeper   of the quick ones those that draw more examples in the full tier, with their settings
             in both
    """

    def __init__(self, items: Sequence[pytest.Item], quick_ids: set[str]) -> None:
        self.items = list(items)
        self.ids = [item.nodeid for item in items]
        self.number = {name: i for i, name in enumerate(self.ids)}
        self.quick = {self.number[name] for name in quick_ids if name in self.number}
        self.stamps = _stamps(items)
        self.unknown = sorted(quick_ids - set(self.ids))
        self.deeper = {n: both for n in self.quick if (both := _settings(self.items[n]))}
        self._reports = _Reports()

    def ready(self) -> None:
        """In a child, before the first test: nothing is printed, reports are kept."""
        manager = self.items[0].config.pluginmanager
        printer = manager.get_plugin("terminalreporter")
        if printer is not None:
            manager.unregister(printer)
        manager.register(self._reports)

    def run(self, number: int, following: int | None, *, full: bool) -> tuple[str, float]:
        """Run a test: "passed", "skipped" or why it failed; and how many seconds it took.

        following  the test that comes next, whose fixtures need not be taken down
        full       as in the full tier, in which a test may try more
        """
        item = self.items[number]
        after = None if following is None else self.items[following]
        tier.FULL = full
        if number in self.deeper:
            item.obj._hypothesis_internal_use_settings = self.deeper[number][full]
        self._reports.found.clear()
        start = time.perf_counter()
        try:
            # The test that was to follow the last one may be another: a budget ended before it.
            item.session._setupstate.teardown_exact(item)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        except BaseException as error:
            return f"{type(error).__name__} out of the test", time.perf_counter() - start
        return self._reports.outcome(), time.perf_counter() - start


def _stamps(items: Sequence[pytest.Item]) -> list[int]:
    """For each test a checksum of its file: where that changed, the test may do something else."""
    files = {item.path: 0 for item in items}
    for path in files:
        files[path] = zlib.crc32(path.read_bytes())
    return [files[item.path] for item in items]


def _settings(item: Any) -> tuple[Any, Any] | None:
    """Hypothesis's settings of a test in the two tiers, if `tier.examples` tells them apart."""
    now = getattr(item.obj, "_hypothesis_internal_use_settings", None)
    if now is None or getattr(item.module, "examples", None) is not tier.examples:
        return None
    from hypothesis import settings

    tier.FULL = False
    fewer = tier.examples(now.max_examples)
    tier.FULL = True
    return settings(now, max_examples=fewer), now


class _Reports:
    """Keeps what pytest reports of a test."""

    def __init__(self) -> None:
        self.found: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.found.append(report)

    def outcome(self) -> str:
        for report in self.found:
            if report.failed:
                crash = getattr(report.longrepr, "reprcrash", None)
                lines = str(getattr(crash, "message", report.longrepr) or "failed").splitlines()
                return (lines or ["failed"])[0][:200] or "failed"
        return "skipped" if any(r.skipped for r in self.found) else "passed"


class _Driver:
    """A plugin that does something else with the collected tests than to run them."""

    def __init__(self, drive: Callable[[list[pytest.Item]], None], *, full: bool) -> None:
        self.drive, self.full = drive, full

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        tier.FULL = self.full
        with contextlib.suppress(ImportError):
            from hypothesis import settings

            # What a mutant fails on must not be tried again with another one.
            settings.register_profile("mutation", database=None, deadline=None)
            settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.drive(session.items)
        return True


def _arguments(folders: Sequence[str]) -> list[str]:
    ignored = [f"--ignore={path}" for path in LEFT_OUT]
    plugins = ["-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:benchmark"]
    return ["-q", "-s", *plugins, *ignored, *(folders or ["tests"])]


def collected(
    folders: Sequence[str], drive: Callable[[list[pytest.Item]], None], *, full: bool = True
) -> None:
    """Collect the tests of some folders, and hand them to a function."""
    code = pytest.main(_arguments(folders), plugins=[_Driver(drive, full=full)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED,
                    pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"the tests could not be collected: {code!r}")


class QuickIds:
    """The names of the tests of the quick tier, collected by another process meanwhile."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.path = Path(os.environ.get("TMPDIR", "/tmp")) / f"quick-ids-{os.getpid()}.json"
        command = [sys.executable, "-m", "tests.mutation.suite", str(self.path), *folders]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def result(self) -> set[str]:
        """Wait for the names."""
        if self.process.wait():
            raise SystemExit("the quick tier could not be collected")
        found = set(json.loads(self.path.read_text(encoding="utf-8")))
        self.path.unlink()
        return found


def import_frameworks(items: Sequence[pytest.Item]) -> None:
    """Import what the tests import, so that no child has to."""
    paths = {item.path for item in items}
    paths |= {folder / "conftest.py" for path in list(paths) for folder in path.parents}
    texts = [path.read_text(encoding="utf-8") for path in paths if path.exists()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in FRAMEWORKS:
            if not any(name in text for text in texts):
                continue
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def settle() -> None:
    """Before the first fork: what is there stays where it is, in memory that children share."""
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        print(f"warning: {threads} threads run before the fork", file=sys.stderr)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    def _write(items: list[pytest.Item]) -> None:
        names = json.dumps([item.nodeid for item in items])
        Path(sys.argv[1]).write_text(names, encoding="utf-8")

    collected(sys.argv[2:], _write, full=False)
