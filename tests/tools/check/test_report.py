"""What a report says, and in which forms."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.errors import ArgumentError
from pullback.tools.check import Report, check


@pb.custom_gradient
def halved(x: Any) -> Any:
    return x * x, lambda g: g * x


@pytest.fixture(scope="module")
def wrong() -> Report:
    return check(halved, pb.tensor([1.0, 2.0]), name="a<b>")


def test_text_begins_with_the_mistake_and_has_each_law(wrong: Report) -> None:
    text = str(wrong)
    assert not wrong
    head, first, table = text.split("\n\n")
    assert head == "a<b>: 1 mistake, 4 of 26 laws broken"
    assert first.startswith(
        "[vjp] gradient of `a<b>` w.r.t. argument 0, for a cotangent of [0.516401]")
    for part in ("expected:", "got:", "fix:      it is 0.5 times", "input:    array([1.])",
                 "difference", "also failed: jvp, dtypes, edges"):
        assert part in first
    assert text.count("0.5 times") == 1
    assert all(law in table for law in wrong.tried)


def test_the_first_failure_is_the_one_that_the_text_starts_with() -> None:
    """`jvp` is tested before `writes`, which is the cause."""

    @pb.custom_gradient
    def planted(x: Any) -> Any:
        def grad(g: Any) -> Any:
            g *= 2 * x
            return 1.5 * g

        return x * x, grad

    for report in (check(planted, pb.tensor([1.0, 2.0])), check(halved, pb.tensor([1.0, 2.0]))):
        first = report.failures[0]
        assert str(report).split("\n\n")[1].startswith(f"[{first.law}] {first.subject}")
        assert sorted(map(id, report.failures)) == sorted(
            id(f) for f in report.findings if not f.ok)


def test_a_function_that_depends_on_nothing_says_so() -> None:
    """The accuracy of a derivative of zero is not relative to it."""
    text = str(check(lambda x: 0 * x + 3.0, pb.tensor([1.0, 2.0])))
    assert "e+" not in text
    assert "the derivative is zero up to" in text


def test_a_number_without_gradient_is_a_constant_where_a_rule_says_so() -> None:
    @pb.custom_gradient
    def scaled(x: Any, factor: Any) -> Any:
        return x * factor, lambda g: (g * factor, None)

    report = check(scaled, pb.tensor([1.0, 2.0]), 3.0)
    assert report, str(report)
    assert "argument 1 is a constant" in str(report)
    for wrong in (check(scaled, pb.tensor([1.0, 2.0]), pb.tensor(3.0)),
                  check(lambda x, factor: x * float(factor), pb.tensor([1.0, 2.0]), 3.0)):
        assert {"lost input", "vjp"} & {f.law for f in wrong.failures}


def test_every_failure_is_told_when_asked(wrong: Report) -> None:
    verbose = wrong.text(verbose=True)
    assert all(f.subject in verbose and f.got in verbose for f in wrong.failures)
    page = wrong.html()
    assert page.count("<pre>") == len(wrong.failures)
    assert page.index("0.5 times") < page.index("<details>") < page.index("<table>")


def test_laws_that_do_not_apply_say_why(wrong: Report) -> None:
    assert "not applicable: conjugate (no complex input)" in str(wrong)
    assert "(it has one input)" in str(wrong)


def test_what_a_tangent_is_made_of(wrong: Report) -> None:
    told = next(f for f in wrong.failures if f.law == "jvp")
    assert "derived from its VJP rule by transposition" in told.subject


def both_wrong() -> Any:
    kept: list[Any] = []

    @pb.custom_gradient
    def planted(x: Any) -> Any:
        kept.append(x)
        return x * x, lambda g: g * x

    return planted


def test_mistakes_of_another_kind_are_told_apart() -> None:
    report = check(both_wrong(), pb.tensor([1.0, 2.0]))
    assert "2 mistakes" in str(report)
    assert "[leaks]" in str(report)
    assert [m["law"] for m in json.loads(report.json())["mistakes"]] == ["vjp", "leaks"]


def test_a_function_without_a_value_is_one_failure() -> None:
    def planted(x: Any) -> Any:
        raise ValueError("it wants a matrix")

    report = check(planted, 1.0)
    assert [f.law for f in report.failures] == ["call"]
    assert "it wants a matrix (test_report.py, line" in report.failures[0].got
    assert "not applicable: 25 laws" in str(report)


def test_nothing_to_check_is_said() -> None:
    assert str(check(pb.argmax, pb.ones(3))).startswith("argmax: nothing was checked")
    assert "no argument is a real" in str(check(pb.argmax, 3))
    jumps = check(lambda x: pb.where(x == x, pb.log(x), 0.0), pb.tensor([1.0, -1.0]))
    assert "not compared with finite differences" in str(jumps)


def test_an_error_is_told_once() -> None:
    @pb.custom_gradient
    def planted(x: Any) -> Any:
        def grad(g: Any) -> Any:
            raise ValueError("nothing comes out")

        return x * x, grad

    text = str(check(planted, pb.ones(2)))
    assert text.count("nothing comes out") <= 3
    assert ": 1 mistake, " in text
    assert text.split("\n\n")[1].startswith("[vjp]")


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
    assert page.count("<details>") == page.count("</details>") == 1


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
