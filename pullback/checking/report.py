"""`Report`: what was tried and what was found, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy

from ..errors import ArgumentError, CheckFailed
from .finding import Finding

_STYLE = """body{font:15px system-ui,sans-serif;margin:2em;max-width:70em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.3em .8em;text-align:left;
border-bottom:1px solid #ccc;vertical-align:top}.failed{color:#b00020}.passed{color:#1b6e2c}
pre{background:#f4f4f4;padding:.8em;overflow:auto}"""


class Report:
    """What `check` found out about a function; true when nothing is wrong.

    findings   everything, in order; `failures` are those that say what is wrong
    tried      law -> how many cases held, failed and did not apply, their paths and dtypes, and
               the seconds that they took

    >>> import pullback as pb
    >>> from pullback.checking import check
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
        """The findings that say what is wrong."""
        return [f for f in self.findings if not f.ok]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    @property
    def tried(self) -> dict[str, dict[str, Any]]:
        """What each law looked at."""
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
        """A row for each law: its name, the verdict, how many cases, a remark."""
        found = []
        for name, row in self.tried.items():
            own = [f for f in self.findings if f.law == name]
            count = row["passed"] + row["failed"]
            verdict = "failed" if row["failed"] else "passed" if count else "not applicable"
            told = next((f for f in own if f.status == verdict and f.message), None)
            remark = "" if told is None else told.message.splitlines()[0]
            found.append((name, verdict, str(count), remark))
        return found

    def __str__(self) -> str:
        head = f"{self.name}: {'nothing is wrong' if self.ok else f'{len(self.failures)} failed'}"
        lines = [
            f"  {law:<16} {verdict:<15} {count:>3}  {remark}".rstrip()
            for law, verdict, count, remark in self.rows()
        ]
        return "\n".join([head, *lines, *(f"\n{described(f)}" for f in self.failures)])

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("law", "", "cases", "", title=Text(self.name))
        for law, verdict, count, remark in self.rows():
            colour = {"passed": "green", "failed": "red"}.get(verdict, "dim")
            table.add_row(law, Text(verdict, colour), count, Text(remark))
        return Group(table, *(Text(described(f)) for f in self.failures))

    def html(self) -> str:
        """A page that needs nothing else."""
        rows = "".join(
            f'<tr><td>{escape(a)}</td><td class="{b.split()[0]}">{b}</td><td>{c}</td>'
            f"<td>{escape(d)}</td></tr>" for a, b, c, d in self.rows()
        )
        wrong = "".join(f"<pre>{escape(described(f))}</pre>" for f in self.failures)
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(self.name)}'
            f"</title><style>{_STYLE}</style><h1>{escape(self.name)}</h1><table><tr><th>law</th>"
            f"<th></th><th>cases</th><th></th></tr>{rows}</table>{wrong}</html>"
        )

    def junit(self) -> str:
        """JUnit's XML: a test case for each law."""
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
        }, indent=1)

    def save(self, path: str | Path) -> None:
        """Write the report to a file: a page, XML, text or JSON by its ending.

        Raises `ArgumentError` for another ending than .html, .xml, .txt and .json.
        """
        makers = {".html": self.html, ".xml": self.junit, ".txt": self.__str__, ".json": self.json}
        make = makers.get(Path(path).suffix)
        if make is None:
            raise ArgumentError(
                "Report.save", f"a path that ends in {', '.join(makers)}", str(path)
            )
        Path(path).write_text(make(), encoding="utf-8")

    def raise_if_failed(self) -> None:
        """Raise `CheckFailed` if anything is wrong."""
        if not self.ok:
            first = self.failures[0]
            raise CheckFailed(
                f"check of `{self.name}`", "every law to hold",
                f"{len(self.failures)} failures\n\n{self}", first.fix,
            )


def described(f: Finding) -> str:
    """A failure with its numbers side by side."""
    lines = [f"[{f.law}, {f.path}] {f.message}"]
    if f.inputs is not None:
        lines.append("  input:    " + "; ".join(" ".join(repr(x).split()) for x in f.inputs))
    if f.wanted is not None and f.seen is not None:
        lines += side_by_side(numpy.asarray(f.wanted), numpy.asarray(f.seen))
    return "\n".join(lines)


def side_by_side(wanted: Any, seen: Any, most: int = 6) -> list[str]:
    """The entries that are furthest apart: index, expected, got, difference."""
    if wanted.shape != seen.shape or not wanted.size:
        return []
    apart = numpy.nan_to_num(numpy.abs(wanted - seen), nan=numpy.inf)
    lines = [f"  {'index':<12}{'expected':>24}{'got':>24}{'difference':>12}"]
    for flat in numpy.argsort(-apart, axis=None, kind="stable")[:most]:
        i = numpy.unravel_index(flat, wanted.shape)
        index = str(tuple(map(int, i)))
        lines.append(f"  {index:<12}{wanted[i]:>24.10g}{seen[i]:>24.10g}{apart[i]:>12.2g}")
    return lines
