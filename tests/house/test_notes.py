"""Long comments are titled notes: each that is cited is there, once, and each is cited."""

from __future__ import annotations

import re

from tests.house.sources import ROOT, name_of, python_files

CITED = re.compile(r"see\s+(?:#\s+)?Note\s+(?:#\s+)?\[([^\]…]+)\]")
TITLE = re.compile(r"^\s*(?:#\s*)?Note\s+\[([^\]…]+)\]:", re.MULTILINE)


def texts() -> dict[str, str]:
    paths = [*python_files("pullback", "benchmarks"), *ROOT.glob("docs/*.md"),
             *(ROOT / "pullback").rglob("*.md")]
    return {name_of(p): p.read_text(encoding="utf-8") for p in paths}


def one_line(title: str) -> str:
    return re.sub(r"\s*\n\s*#?\s*", " ", title)


def test_the_patterns_find() -> None:
    text = '"""Note [a thing]: why.\n# see Note [a\n# thing], and Note [other]'
    assert [one_line(t) for t in CITED.findall(text)] == ["a thing"]
    assert TITLE.findall("Note [a thing]: why") == TITLE.findall("    # Note [a thing]: why")


def test_every_note_that_is_cited_is_there_once() -> None:
    titles = [one_line(t) for text in texts().values() for t in TITLE.findall(text)]
    assert len(titles) == len(set(titles)), sorted(titles)
    missing = [
        (file, one_line(title))
        for file, text in texts().items() for title in CITED.findall(text)
        if one_line(title) not in titles
    ]
    assert not missing


def test_every_note_is_cited() -> None:
    """From another place than its own; a note that nobody cites is a comment."""
    everything = "\n".join(texts().values())
    for text in texts().values():
        for title in TITLE.findall(text):
            mentions = re.sub(r"\s*\n\s*#?\s*", " ", everything).count(f"Note [{one_line(title)}]")
            assert mentions > 1, title
