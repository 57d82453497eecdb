"""Runs programs that come with the library: the examples and the benchmarks."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import UnknownNameError
from ..nn.saving import MissingPackageError

FIRST = {"examples": "binarised_digits.py", "benchmarks": "__main__.py"}
"""Folder -> a program in it that identifies it."""


def folder(name: str) -> Path:
    """The folder of `examples` or `benchmarks`: as installed, or in a checkout.

    Raises `UnknownNameError` if neither exists.
    """
    here = Path(__file__).resolve().parent
    for root in (here / "bundle", here.parent.parent):
        if (root / name / FIRST[name]).exists():
            return root / name
    raise UnknownNameError(
        f"folder {name}", "the folder that comes with the library", f"none beside {here.parent}"
    )


def run_bundled(name: str, extra: str, run: Callable[[], int]) -> int:
    """Runs a program that comes with the library and may need further packages.

    Raises `MissingPackageError` if one is not installed.
    """
    try:
        return run()
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            name, f"the package {error.name}", "none", f"pip install 'pullback[{extra}]'"
        ) from None


def run_file(path: Path, arguments: Sequence[str]) -> int:
    """Runs a program with arguments, with its folder on the path; returns its exit code."""
    before, paths = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.path[:] = before, paths
    return 0


def run_package(path: Path, arguments: Sequence[str]) -> int:
    """Runs a package's `__main__` with arguments; returns its exit code."""
    sys.path.insert(0, str(path.parent))
    before = sys.argv
    sys.argv = [str(path), *arguments]
    try:
        runpy.run_module(path.name, run_name="__main__", alter_sys=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
        sys.path.remove(str(path.parent))
    return 0
