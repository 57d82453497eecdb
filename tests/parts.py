"""Optional parts (frameworks, a browser, the site's builder), and tests that need a missing one.

Such a test is left out. It says what it needs with `@pytest.mark.needs("torch")`, with
`need("torch")` in its body or fixture, or with `pytest.importorskip("torch")`. The mark is for
tests with many cases: they are left out when they are collected, before they cost any time. The run
ends with one line per missing part and the number of its tests. With `--complete` a missing part
is an error before the first test.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

import pytest


@dataclass(frozen=True)
class Part:
    """An optional part: its name for people, and what has to be there."""

    title: str
    module: str = ""
    program: str = ""
    version: str = ""  # the first version that will do; installed as a distribution of that name
    hardware: bool = False  # needs a GPU: may be missing in the full run as well


PARTS = {
    "torch": Part("PyTorch", module="torch"),
    "jax": Part("JAX", module="jax"),
    "array_api_strict": Part("array-api-strict", module="array_api_strict"),
    "dask": Part("dask", module="dask"),
    "ndonnx": Part("ndonnx", module="ndonnx"),
    "tensorflow": Part("TensorFlow", module="tensorflow"),
    "ml_dtypes": Part("bfloat16", module="ml_dtypes"),
    "autograd": Part("HIPS autograd", module="autograd"),
    "mkdocs": Part("the documentation site", module="material"),
    "scipy_1_16": Part("SciPy's functions on Tensors", module="scipy", version="1.16"),
    "build": Part("the built distribution", module="build"),
    "twine": Part("the built distribution", module="twine"),
    "hatchling": Part("the built distribution", module="hatchling"),
    "hatch_fancy_pypi_readme": Part("the built distribution", module="hatch_fancy_pypi_readme"),
    "orbax": Part("Orbax", module="orbax"),
    "chromium": Part("the drawn page", program="chromium"),
    "dot": Part("the text for Graphviz", program="dot"),
    "mypy": Part("types, as a checker sees them", module="mypy"),
    "compiled": Part("the compiled core", module="pullback.core.compiled"),
    "cupy": Part("CuPy", module="cupy", hardware=True),
}
"""Key, as tests name it -> part."""

COULD_NOT_IMPORT = re.compile(r"could not import '(\w+)")
NOT_INSTALLED = re.compile(r"(\w+) is not installed")


@cache
def is_missing(key: str) -> bool:
    """Whether a part is not on this machine."""
    part = PARTS[key]
    if key == "compiled":  # it may be built, and not wanted
        return importlib.import_module(part.module).compiled is None
    if part.program:
        return shutil.which(part.program) is None
    if part.version and release(metadata.version(part.module)) < release(part.version):
        return True
    return importlib.util.find_spec(part.module) is None


def release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, by which versions are compared.

    >>> release("2.1.0rc1") >= release("2.1")
    True
    """
    return tuple(int(part) for part in version.split(".")[:2])


def need(key: str) -> Any:
    """The part's module (None for a program); skips the test where the part is missing."""
    if is_missing(key):
        pytest.skip(f"{key} is not installed")
    return importlib.import_module(PARTS[key].module) if PARTS[key].module else None


def part_of(reason: str) -> str | None:
    """The key of the part that a reason for skipping names; None for any other reason."""
    found = COULD_NOT_IMPORT.search(reason) or NOT_INSTALLED.search(reason)
    key = found.group(1) if found else None
    return key if key in PARTS else None


def missing_of(item: pytest.Item) -> str | None:
    """The key of the first missing part that a mark of a test names; None if nothing is missing."""
    keys = (key for mark in item.iter_markers("needs") for key in mark.args)
    return next(filter(is_missing, keys), None)


def left_out(marked: Mapping[str, int], skipped: Iterable[Any]) -> list[str]:
    """One line per missing part.

    marked   the number of tests that were left out when collected, per part
    skipped  the reports of skipped tests and files
    """
    tests: Counter[str] = Counter(marked)
    files: Counter[str] = Counter()
    for report in skipped:
        key = part_of(str(report.longrepr[2]))
        if key is not None:
            (tests if hasattr(report, "when") else files)[key] += 1
    return [
        f"{_counted(tests[key], files[key])} of {PARTS[key].title} left out: {key} is not installed"
        for key in PARTS if tests[key] or files[key]
    ]


def _counted(tests: int, files: int) -> str:
    """Such as "1,204 tests and 2 whole files"."""
    counts = [
        f"{n:,} {word}{'s' * (n != 1)}" for n, word in ((tests, "test"), (files, "whole file")) if n
    ]
    return " and ".join(counts)
