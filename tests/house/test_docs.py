"""Every Python block of the documents runs, and so does every example of a docstring."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house.sources import ROOT, module_of, name_of, python_files

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [
    *DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
    *sorted(p for f in ("pullback", "examples", "benchmarks") for p in (ROOT / f).rglob("*.md")),
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"```\s+^```output\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""What stands right after a block, if its output is shown; "…" stands for anything."""
SETTING = re.compile(r"^<!-- run with (\w+)=(\S+) -->$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def blocks(path: Path) -> list[tuple[int, str]]:
    """(line, code) of each Python block."""
    text = path.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1)) for m in BLOCK.finditer(text)]


def shown(path: Path) -> dict[int, str]:
    """Line of a block -> what its page says that it prints."""
    text, found = path.read_text(encoding="utf-8"), {}
    for block in BLOCK.finditer(text):
        prints = PRINTS.match(text, block.end() - 3)
        if prints:
            found[text.count("\n", 0, block.start(1)) + 1] = prints.group(1).replace("…", "...")
    return found


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_the_blocks_of_a_document_run_in_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = dict(SETTING.findall(path.read_text(encoding="utf-8")))
    if settings:  # what libraries read when they are imported: in a process of its own
        code = "\n".join(code for _, code in blocks(path))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True,
            timeout=120, env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 0, done.stderr
        return
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = shown(path)
    for line, code in blocks(path):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run_block(code, names, str(path), line)
        if line in outputs:
            wanted, got = outputs[line], printed.getvalue()
            assert is_printed(wanted, got), f"{path.name}:{line} prints:\n{got}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_output_that_is_shown_belongs_to_a_block(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n```output\n") == len(shown(path))


def test_an_output_is_held_against_what_is_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```output\n1 …\n```\n", "utf-8")
    assert shown(page) == {2: "1 ...\n"}
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


def can_be_imported(path: Path) -> bool:
    """CuPy's files need CuPy, which continuous integration has not."""
    return not path.name.startswith("cupy_") or importlib.util.find_spec("cupy") is not None


MODULES = [path for path in python_files("pullback") if can_be_imported(path)]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
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
