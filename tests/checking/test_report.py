"""What a report says, and in which forms."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.checking import Report, check
from pullback.errors import ArgumentError


@pb.custom_gradient
def halved(x: Any) -> Any:
    return x * x, lambda g: g * x


@pytest.fixture(scope="module")
def wrong() -> Report:
    return check(halved, pb.tensor([1.0, 2.0]), name="a<b>")


def test_text_has_a_line_for_each_law_and_the_numbers(wrong: Report) -> None:
    text = str(wrong)
    assert not wrong
    assert all(law in text for law in wrong.tried)
    assert "expected" in text
    assert "0.5 times" in text


def test_tried_counts(wrong: Report) -> None:
    row = wrong.tried["vjp"]
    assert row["failed"] == 1
    assert row["dtypes"] == ["float64"]
    assert row["seconds"] > 0


def test_junit(wrong: Report) -> None:
    suite = ElementTree.fromstring(wrong.junit())
    assert suite.get("name") == "a<b>"
    assert int(suite.get("tests", 0)) == len(wrong.tried)
    assert int(suite.get("failures", 0)) == len(suite.findall("testcase/failure")) > 0


def test_html_is_escaped_and_whole(wrong: Report) -> None:
    page = wrong.html()
    assert "a&lt;b&gt;" in page
    assert "a<b>" not in page
    assert "0.5 times" in page
    assert "http" not in page


def test_rich_shows_the_table(wrong: Report) -> None:
    from rich.console import Console

    console = Console(width=150, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(wrong)
    assert "linearity" in console.export_text()
    console.file.close()


def test_saving_goes_by_the_ending(wrong: Report, tmp_path: Path) -> None:
    for ending, start in ((".html", "<!doctype"), (".xml", "<?xml"), (".txt", "a<b>")):
        wrong.save(tmp_path / f"report{ending}")
        assert (tmp_path / f"report{ending}").read_text().startswith(start)
    wrong.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["ok"] is False
    with pytest.raises(ArgumentError):
        wrong.save(tmp_path / "report.pdf")
