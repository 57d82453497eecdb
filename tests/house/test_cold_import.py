"""Importing `pullback` is quick, and loads no library that not everybody needs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

import pytest

from tests.house.sources import ROOT

FORBIDDEN = [
    "torch", "jax", "tensorflow", "scipy", "optree", "matplotlib", "sklearn", "autograd", "rich",
    "safetensors", "pandas", "cupy", "array_api_compat", "pytest", "hypothesis",
]
RATIO = 1.4
"""Of the time that importing NumPy takes."""


# From bytecode, as an import is the second time, also where nobody may write it otherwise.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        timeout=60, env=ENVIRONMENT,
    ).stdout.strip()


def test_importing_loads_no_other_library() -> None:
    loaded = python(
        "import sys, pullback; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    assert not set(FORBIDDEN) & set(loaded.split())


def test_the_import_writes_nothing_and_warns_of_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import pullback"], cwd=ROOT, capture_output=True,
        text=True, check=True, timeout=60,
    )
    assert (done.stdout, done.stderr) == ("", "")


def ratio() -> float:
    """Median over a few fresh processes of (NumPy and pullback) / NumPy."""
    code = (
        "from time import perf_counter as now; a = now(); import numpy; b = now();"
        "import pullback; print((now() - a) / (b - a))"
    )
    return statistics.median(float(python(code)) for _ in range(7))


@pytest.mark.full
def test_importing_takes_little_longer_than_numpy_alone() -> None:
    """A busy machine may spoil a measurement, not three."""
    python("import pullback")  # writes the bytecode
    measured = []
    for _ in range(3):
        measured.append(ratio())
        if measured[-1] < RATIO:
            return
    raise AssertionError(f"import pullback takes {min(measured):.2f} x import numpy")


def test_the_garbage_collector_is_as_it_was() -> None:
    """Python 3.12 starts with some hundred frozen objects, other versions with none."""
    on = python(
        "import gc; n = gc.get_freeze_count(); import pullback;"
        "print(gc.isenabled(), gc.get_freeze_count() == n)"
    )
    off = python("import gc; gc.disable(); import pullback; print(gc.isenabled())")
    frozen = python(
        "import gc; gc.freeze(); n = gc.get_freeze_count(); import pullback;"
        "print(gc.get_freeze_count() >= n // 2 > 0, gc.isenabled())"
    )
    assert (on, off, frozen) == ("True True", "False", "True True")
