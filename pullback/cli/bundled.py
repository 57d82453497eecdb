"""Programs that come with the library: the examples and the benchmarks."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import UnknownNameError
from ..nn.saving import MissingPackageError

FIRST = {"examples": "binarised_digits.py", "benchmarks": "__main__.py"}
"""Folder -> the program in it by which it is known."""


def folder(name: str) -> Path:
    """Where `examples` or `benchmarks` lie: where they were installed, or in a checkout.

    Raises `UnknownNameError` where they are in neither.
    """
    here = Path(__file__).resolve().parent
    for root in (here / "bundle", here.parent.parent):
        if (root / name / FIRST[name]).exists():
            return root / name
    raise UnknownNameError(
        f"folder {name}", "the one that comes with the library", f"none beside {here.parent}"
    )


def run_bundled(name: str, extra: str, run: Callable[[], int]) -> int:
    """What a program that came with the library gives, of whose packages some may be missing.

    Raises `MissingPackageError` where one is.
    """
    try:
        return run()
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            name, f"the package {error.name}", "none", f"pip install 'pullback[{extra}]'"
        ) from None


def run_file(path: Path, arguments: Sequence[str]) -> int:
    """Run a program with arguments, which imports what lies beside it; its exit code."""
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
    """Run a package's `__main__` with arguments; its exit code."""
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
