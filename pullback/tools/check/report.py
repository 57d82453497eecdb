"""`Report`: the results of `check`, as text, HTML, JUnit XML and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy

from ..._files import write_file
from ...errors import ArgumentError, CheckFailed
from .finding import Finding
from .mistakes import Mistake, mistakes

_STYLE = """body{font:15px system-ui,sans-serif;margin:2em;max-width:70em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.3em .8em;text-align:left;
border-bottom:1px solid #ccc;vertical-align:top}.failed{color:#b00020}.passed{color:#1b6e2c}
pre{background:#f4f4f4;padding:.8em;overflow:auto}"""


_LIKELY = "likely the same mistake"


class Report:
    """The results of `check` for one function; true if no law is broken.

    findings   all findings, in order; `failures` holds those of broken laws, the one that the text
               starts with first
    tried      law -> the number of cases that passed, failed and did not apply, their paths and
               dtypes, and the time in seconds

    >>> import pullback as pb
    >>> from pullback.tools.check import check
    >>> report = check(pb.exp, 1.0)
    >>> bool(report), report.failures, report.tried["vjp"]["passed"]
    (True, [], 2)
    """

    def __init__(
        self, name: str, findings: Sequence[Finding], seconds: Mapping[str, float] | None = None
    ) -> None:
        self.name, self.findings = name, list(findings)
        self._seconds = dict(seconds or {})

    @property
    def failures(self) -> list[Finding]:
        """The findings of broken laws, in the order of the text: the most telling one first."""
        return [f for m in mistakes([f for f in self.findings if not f.ok])
                for f in (m.leading, *m.follow)]

    @property
    def ok(self) -> bool:
        """True if no law is broken."""
        return all(f.ok for f in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def tried(self) -> dict[str, dict[str, Any]]:
        """law -> counts, paths, dtypes and seconds."""
        made: dict[str, dict[str, Any]] = {}
        for f in self.findings:
            row = made.setdefault(f.law, {
                "passed": 0, "failed": 0, "not applicable": 0, "paths": [], "dtypes": [],
                "seconds": self._seconds.get(f.law, 0.0),
            })
            row[f.status] += 1
            for key, value in (("paths", f.path), ("dtypes", f.dtype)):
                if value and value not in row[key]:
                    row[key].append(value)
        return made

    def rows(self) -> list[tuple[str, str, str, str]]:
        """One row per law: name, verdict, number of cases, remark."""
        found = []
        for name, row in self.tried.items():
            own = [f for f in self.findings if f.law == name]
            count = row["passed"] + row["failed"]
            verdict = "failed" if row["failed"] else "passed" if count else "not applicable"
            remarks = [f.message.splitlines()[0] for f in own if f.status == verdict and f.message]
            found.append((name, verdict, str(count), _listed(remarks) if count else remarks[0]))
        return found

    def text(self, *, verbose: bool = False) -> str:
        """The failures and the table of laws, as plain text.

        Shows one failure per mistake, and the names of the other laws that it probably breaks on
        one line. `verbose=True` shows every failure.
        """
        table = [
            f"  {law:<16} {verdict:<15} {count:>3}  {remark}".rstrip()
            for law, verdict, count, remark in self.rows() if verdict != "not applicable"
        ]
        failures = [] if not verbose else [described(f) for f in self.failures]
        parts = [self._head(), *(failures or map(_mistake_text, mistakes(self.failures))),
                 "\n".join([*table, *self._reasons()])]
        return ("\n\n" if self.failures else "\n").join(parts)

    def _head(self) -> str:
        """The verdict on one line."""
        verdicts = Counter(row[1] for row in self.rows())
        if self.failures:
            count = len(mistakes(self.failures))
            return (f"{self.name}: {'1 mistake' if count == 1 else f'{count} mistakes'}, "
                    f"{verdicts['failed']} of {verdicts.total()} laws broken")
        if not verdicts["passed"]:
            return f"{self.name}: nothing was checked"
        compared = any(f.law == "vjp" and f.status == "passed" for f in self.findings)
        return (f"{self.name}: no mistake found, {verdicts['passed']} laws hold"
                + ", but it was not compared with finite differences" * (not compared))

    def _reasons(self) -> list[str]:
        """Why laws do not apply, one line per reason."""
        laws: dict[str, list[str]] = {}
        for law, verdict, _, remark in self.rows():
            if verdict == "not applicable":
                laws.setdefault(remark, []).append(law)
        return [
            f"  not applicable: {', '.join(of) if len(of) < 6 else f'{len(of)} laws'} ({why})"
            for why, of in laws.items()
        ]

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        table = Table("law", "", "cases", "", box=None, header_style="bold")
        for law, verdict, count, remark in self.rows():
            if verdict != "not applicable":
                colour = "green" if verdict == "passed" else "red"
                table.add_row(law, Text(verdict, colour), count, Text(remark, overflow="fold"))
        wrong = [Padding(Text(_mistake_text(m)), (1, 0, 0, 0)) for m in mistakes(self.failures)]
        head = Text(self._head(), "bold red" if self.failures else "bold green")
        reasons = [Text(line, "dim") for line in self._reasons()]
        return Group(head, *wrong, Text() if wrong else "", table, *reasons)

    def html(self) -> str:
        """The report as a self-contained HTML page."""
        rows = "".join(
            f'<tr><td>{escape(a)}</td><td class="{b.split()[0]}">{b}</td><td>{c}</td>'
            f"<td>{escape(d)}</td></tr>" for a, b, c, d in self.rows()
        )
        wrong = "".join(_mistake_html(m) for m in mistakes(self.failures))
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(self.name)}'
            f"</title><style>{_STYLE}</style><h1>{escape(self.name)}</h1>"
            f"<p>{escape(self._head())}</p>{wrong}<table><tr><th>law</th>"
            f"<th></th><th>cases</th><th></th></tr>{rows}</table></html>"
        )

    def junit(self) -> str:
        """The report as JUnit XML, one test case per law."""
        cases = []
        for law, verdict, _, remark in self.rows():
            inside = ""
            if verdict == "failed":
                text = "\n\n".join(described(f) for f in self.failures if f.law == law)
                inside = f"<failure message={quoteattr(remark)}>{escape(text)}</failure>"
            elif verdict == "not applicable":
                inside = f"<skipped message={quoteattr(remark)}/>"
            seconds = self._seconds.get(law, 0.0)
            cases.append(
                f"<testcase classname={quoteattr(self.name)} name={quoteattr(law)} "
                f'time="{seconds:.4f}">{inside}</testcase>'
            )
        verdicts = [row[1] for row in self.rows()]
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<testsuite name={quoteattr(self.name)} tests="{len(cases)}" errors="0" '
            f'failures="{verdicts.count("failed")}" skipped="{verdicts.count("not applicable")}">'
            f'{"".join(cases)}</testsuite>\n'
        )

    def json(self) -> str:
        """The table and the failures, as JSON."""
        return json.dumps({
            "name": self.name, "ok": self.ok, "tried": self.tried,
            "failures": [{"law": f.law, "path": f.path, "message": f.message}
                         for f in self.failures],
            "mistakes": [{"law": m.leading.law, "message": described(m.leading), "also": m.also()}
                         for m in mistakes(self.failures)],
        }, indent=1)

    def save(self, path: str | Path) -> None:
        """Writes the report to a file: HTML, XML, text or JSON, chosen by the file's suffix.

        Raises `ArgumentError` for a suffix other than .html, .xml, .txt and .json.
        """
        makers = {".html": self.html, ".xml": self.junit, ".txt": self.__str__, ".json": self.json}
        make = makers.get(Path(path).suffix)
        if make is None:
            raise ArgumentError(
                "Report.save", f"a path that ends in {', '.join(makers)}", str(path)
            )
        write_file(path, make())

    def raise_if_failed(self) -> None:
        """Raise `CheckFailed` if anything is wrong."""
        if not self.ok:
            found = mistakes(self.failures)
            raise CheckFailed(
                f"check of `{self.name}`", "every law to hold",
                "\n\n".join([self._head(), *map(_mistake_text, found)]), found[0].leading.fix,
            )


def _listed(remarks: Sequence[str], width: int = 75) -> str:
    """Distinct remarks, as many as fit on a line, at least the first."""
    first, *rest = [*dict.fromkeys(remarks), ""]
    for remark in filter(None, rest):
        if len(first) + len(remark) > width:
            return f"{first}, …"
        first += f", {remark}"
    return first


def _mistake_text(mistake: Mistake) -> str:
    """A mistake as text: its most telling failure, and the other laws that it breaks."""
    also = mistake.also()
    return described(mistake.leading) + (f"\n  also failed: {also} – {_LIKELY}" if also else "")


def _mistake_html(mistake: Mistake) -> str:
    """A mistake as HTML, with the other failures folded away."""
    first = f"<pre>{escape(described(mistake.leading))}</pre>"
    if not mistake.follow:
        return first
    rest = "".join(f"<pre>{escape(described(f))}</pre>" for f in mistake.follow)
    return (f"{first}<details><summary>also failed: {escape(mistake.also())} – {_LIKELY}"
            f"</summary>{rest}</details>")


def described(f: Finding) -> str:
    """A failure as text, with its numbers side by side."""
    path = "" if f.path in ("eager", f.law) else f", {f.path}"
    lines = [f"[{f.law}{path}] {f.message}"]
    if f.inputs is not None:
        lines.append("  input:    " + "; ".join(" ".join(repr(x).split()) for x in f.inputs))
    if f.wanted is not None and f.seen is not None:
        lines += side_by_side(numpy.asarray(f.wanted), numpy.asarray(f.seen))
    return "\n".join(lines)


def side_by_side(wanted: Any, seen: Any, most: int = 6) -> list[str]:
    """The entries with the largest differences: index, expected, got, difference."""
    if wanted.shape != seen.shape or not wanted.size:
        return []
    apart = numpy.nan_to_num(numpy.abs(wanted - seen), nan=numpy.inf)
    lines = [f"  {'index':<12}{'expected':>24}{'got':>24}{'difference':>12}"]
    digits = 5 if numpy.iscomplexobj(wanted) or numpy.iscomplexobj(seen) else 10
    for flat in numpy.argsort(-apart, axis=None, kind="stable")[:most]:
        i = numpy.unravel_index(flat, wanted.shape)
        if apart[i] <= 1e-6 * apart.max():  # equal up to rounding
            break
        numbers = "".join(f"{x[i]:>24.{digits}g}" for x in (wanted, seen))
        lines.append(f"  {tuple(map(int, i))!s:<12}{numbers}{apart[i]:>12.2g}")
    return lines
