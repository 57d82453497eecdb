"""Every Python block of the documents runs, and so does every example of a docstring."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house.pages import blocks, parts_of
from tests.house.sources import ROOT, module_of, name_of, python_files
from tests.tier import share, turn

DOCUMENTS = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")),
]
LINKING = [
    *DOCUMENTS, ROOT / "CHANGELOG.md",
    *sorted(p for f in ("pullback", "examples", "benchmarks") for p in (ROOT / f).rglob("*.md")),
]
SETTING = re.compile(r"^<!-- run with (\w+)=(\S+) -->$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def is_printed(wanted: str, got: str) -> bool:
    """Whether an output is what a page shows, up to spaces."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, got, flags)


def run_block(code: str, names: dict[str, Any], file: str, line: int) -> None:
    if ">>>" in code:
        case = doctest.DocTestParser().get_doctest(code, names, file, file, line)
        runner = doctest.DocTestRunner(verbose=False)
        report: list[str] = []
        runner.run(case, out=report.append, clear_globs=False)
        names.update(case.globs)
        assert not runner.failures, "".join(report)
    else:
        exec(compile("\n" * (line - 1) + code, file, "exec"), names)


def groups(path: Path) -> list[tuple[str, ...]]:
    """The sets of parts that the blocks of a page need, none first."""
    return sorted({tuple(sorted(block.needs)) for block in blocks(path)} | {()})


def settings_of(path: Path) -> dict[str, str]:
    """The environment variables that a page's blocks have to be run with."""
    return dict(SETTING.findall(path.read_text(encoding="utf-8")))


SLOW = {"measure.md", "guided_backpropagation.md", "gradient_reversal.md", "monitor.md", "check.md"}
"""Pages that train or trace memory: in the full tier."""


def program(path: Path, needs: tuple[str, ...]) -> Any:
    """A page's blocks with some needs as a case; one in a process of its own is not quick.

    Of the pages in docs/, the quick run takes another third each day.
    """
    marks = [pytest.mark.needs(*needs)]
    waits = path.parent != ROOT and DOCUMENTS.index(path) % 3 != turn() % 3
    if needs or settings_of(path) or path.name in SLOW or waits:
        marks.append(pytest.mark.full)
    return pytest.param(path, needs, marks=marks, id="-".join((name_of(path), *needs)))


PROGRAMS = [program(path, needs) for path in DOCUMENTS for needs in groups(path)]


def run_blocks(path: Path, needs: tuple[str, ...]) -> None:
    """Run the blocks of a page that need some parts, or none of all, in order."""
    variables: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path):
        if not block.needs <= set(needs):
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run_block(block.code, variables, str(path), block.line)
        if block.prints is not None:
            got = printed.getvalue()
            assert is_printed(block.prints, got), f"{path.name}:{block.line} prints:\n{got}"


@pytest.mark.parametrize(("path", "needs"), PROGRAMS)
def test_the_blocks_of_a_document_run_in_order(
    path: Path, needs: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_of(path)
    if not settings and not needs:
        run_blocks(path, needs)
        return
    # In a process of its own: libraries read settings when they are imported, and an operation,
    # which the blocks without needs may register, is registered once.
    code = (
        "from pathlib import Path; from tests.house.test_docs import run_blocks; "
        f"run_blocks(Path({str(path)!r}), {needs!r})"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True,
        timeout=240, env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr


def test_a_block_needs_what_made_its_names(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    codes = [
        "x = 1\ndef f(t): return g(t)", "import torch as pt\nx = pt.ones(1)\ng = pt.sin",
        "y = 2", "def h(): return f(x)", ">>> x = y\n>>> x\n2", "print(x)",
        "for x in [y]:\n    from jax.numpy import sin", "class A:\n    b = sin(g(1))",
    ]
    text = "".join(f"```python\n{code}\n```\n" for code in codes)
    page.write_text(text + "<!-- needs dot -->\n\n```python\nprint(y)\n```\n", "utf-8")
    assert [sorted(block.needs) for block in blocks(page)] == [
        [], ["torch"], [], ["torch"], [], [], ["jax"], ["jax", "torch"], ["dot"],
    ]
    assert groups(page) == [(), ("dot",), ("jax",), ("jax", "torch"), ("torch",)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_output_that_is_shown_belongs_to_a_block(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    shown = [block for block in blocks(path) if block.prints is not None]
    assert text.count("\n```output\n") == len(shown)


def test_an_output_is_held_against_what_is_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```output\n1 …\n```\n", "utf-8")
    assert [(block.line, block.prints) for block in blocks(page)] == [(2, "1 ...\n")]
    assert is_printed("1 ...\n", "1  2 3\n")
    assert not is_printed("1 ...\n", "2\n")


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as viewers of repositories make them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        for heading in HEADING.findall(text)
    }


def test_anchors_are_those_of_repository_viewers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Two `a_b` words!\n```python\n# none\n```\n### Größe (ValueError)\n", "utf-8")
    assert anchors(page) == {"two-a_b-words", "größe-valueerror"}


@pytest.mark.parametrize("path", LINKING, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    broken = []
    for link, anchor in LINK.findall(text):
        place = path.parent / link if link else path
        if not place.exists() or (anchor and anchor not in anchors(place)):
            broken.append(f"{link}#{anchor}")
    assert not broken


IMPORTED = re.compile(r"^(?:import|from) \w+", re.MULTILINE)
"""What a module imports when it is loaded, as far as the parts are concerned: the packages."""


SIBLING = re.compile(r"^from \.(\w+) import", re.MULTILINE)


def loaded(path: Path, seen: set[Path]) -> str:
    """The text of a module and of the files of its folder that it imports."""
    if path in seen or not path.exists():
        return ""
    seen.add(path)
    text = path.read_text(encoding="utf-8")
    others = (path.with_name(f"{name}.py") for name in SIBLING.findall(text))
    return "\n".join([text, *(loaded(other, seen) for other in others)])


def module(path: Path) -> Any:
    """A module as a case, which needs the parts that it imports."""
    packages = IMPORTED.findall(loaded(path, set()))
    parts = parts_of("\n".join(found.replace("from", "import") for found in packages))
    return pytest.param(path, marks=pytest.mark.needs(*sorted(parts)), id=name_of(path))


MODULES = [module(path) for path in share(python_files("pullback"), 3)]


@pytest.mark.parametrize("path", MODULES)
def test_the_examples_of_a_module_run(path: Path, tmp_path: Path) -> None:
    module = importlib.import_module(module_of(path))
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(verbose=False)
    report: list[str] = []
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        for case in finder.find(module, module.__name__):
            runner.run(case, out=report.append)
    finally:
        os.chdir(before)
    assert not runner.failures, "".join(report)
