"""Names: what `__all__` lists is there, once, in one place; no twins, nothing left for later."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import types
from pathlib import Path

import pullback
from tests.house.sources import PACKAGE, module_of, name_of, python_files, tree
from tests.loops import each, none_of

FILES = python_files("pullback")
WITH_ALL = [p for p in FILES if re.search(r"^__all__\b", p.read_text(encoding="utf-8"), re.M)]


CHAPTERS = [p for p in WITH_ALL if p.parent.name == "ops"]


def test_all_lists_what_is_there_once() -> None:
    def law(path: Path) -> None:
        module = importlib.import_module(module_of(path))
        listed = list(module.__all__)
        assert len(set(listed)) == len(listed)
        assert [n for n in listed if not hasattr(module, n)] == []

    each(WITH_ALL, law)


def test_every_chapter_lists_its_public_functions() -> None:
    """What is not for users has an underscore, or is a rule, or is shared between chapters."""
    from pullback.core.op import OPS

    def law(path: Path) -> None:
        module = importlib.import_module(module_of(path))
        own = {
            n.name for n in tree(path).body
            if isinstance(n, ast.FunctionDef)
            and getattr(OPS.get(n.name), "__module__", "") == module.__name__
        }
        hidden = own - set(module.__all__)
        assert all((OPS[n].__doc__ or "").strip() for n in hidden)
        assert not {n for n in module.__all__ if n.startswith(("_", "pullback_", "partial_"))}

    each(CHAPTERS, law)


def test_two_chapters_do_not_define_one_name() -> None:
    seen: dict[str, str] = {}
    for path in WITH_ALL:
        if path.parent.name != "ops":
            continue
        for name in importlib.import_module(module_of(path)).__all__:
            assert seen.setdefault(name, name_of(path)) == name_of(path), name


def test_the_front_page_shows_no_chapters() -> None:
    """A module in the namespace is a part of the package, not a file that leaked from `ops`."""
    former = {n.removeprefix("pullback.") for f in sys.meta_path for n in getattr(f, "_names", ())}
    leaked = {
        name for name, value in vars(pullback).items()
        if isinstance(value, types.ModuleType) and not name.startswith("_")
        and value.__name__ != f"pullback.{name}"
    }
    assert not leaked - former


def test_files_are_nouns_without_numbers() -> None:
    for path in FILES:
        empty = re.search(r"\d$|(^|_)(utils?|helpers?|misc|common|new|old)$", path.stem)
        door = {"tf", "torch"} & set(path.parts)  # they have their frameworks' names
        assert not empty or door, f"{name_of(path)}: say what it holds"


MEANT = ("log2", "exp2", "atan2", "relu6", "ReLU6")
"""Names from mathematics and the frameworks that end in a digit."""


def test_no_numbered_twins() -> None:
    """A new form replaces the old one."""
    for path in FILES:
        names = {n.name for n in tree(path).body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        twins = [
            n for n in names
            if n[-1].isdigit() and n[:-1].rstrip("_v") in names and not n.endswith(MEANT)
        ]
        assert not twins, f"{name_of(path)}: {twins}"


ODD = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MARK = re.compile(r"\bpytest\.(?:mark\.)?(skip|skipif|xfail)\b")


MAY_SKIP = {"tests/parts.py", "tests/arrays/conftest.py"}
"""Where a test is left out for what is not installed, and where no GPU is there."""


def left_for_later(path: Path) -> list[str]:
    """Reminders in a file, and tests that it skips for other reasons than a missing part."""
    text = path.read_text(encoding="utf-8")
    marks = [m for m in MARK.findall(text) if m != "skip" or name_of(path) not in MAY_SKIP]
    return ODD.findall(text) + marks


def test_nothing_is_left_for_later() -> None:
    files = set(python_files("pullback", "tests", "benchmarks")) - {Path(__file__).resolve()}
    none_of(sorted(files), left_for_later, name_of)


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
