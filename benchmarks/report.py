"""The figures as tables: on the terminal and in Markdown."""

from __future__ import annotations

import os
import platform
from importlib.util import find_spec
from pathlib import Path

from .rounds import Results
from .targets import judged
from .workloads import LIBRARIES, MODULES, WORKLOADS

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"

_TARGET_HEAD = ["target", "wanted", "got", ""]


def figures(results: Results) -> tuple[list[str], list[list[str]]]:
    """The head and rows of the table: medians, and in brackets how many times pullback's."""
    systems = [s for s in results.versions if s not in LIBRARIES]
    rows = [
        [WORKLOADS[name].title, WORKLOADS[name].unit, *(_cell(results, name, s) for s in systems)]
        for name in results.values if LIBRARIES.keys().isdisjoint(WORKLOADS[name].systems)
    ]
    return ["workload", "", *systems], rows


def on_libraries(results: Results) -> tuple[list[str], list[list[str]]]:
    """The head and rows of the table of pullback on arrays of others: medians, and the ratio."""
    rows = []
    for name, found in results.values.items():
        for system, own in LIBRARIES.items():
            if system in found:
                ratio = results.ratio((name, system), (name, own))
                rows.append([
                    WORKLOADS[name].title, WORKLOADS[name].unit, MODULES[system],
                    _number(results.median(name, system)), _number(results.median(name, own)),
                    "" if ratio is None else f"{ratio:.2f}",
                ])
    return ["on arrays of other libraries", "", "library", "pullback", "itself", "ratio"], rows


def _cell(results: Results, workload: str, system: str) -> str:
    text = _number(results.median(workload, system))
    ratio = results.ratio((workload, system), (workload, "pullback"))
    if system == "pullback" or ratio is None:
        return text
    return f"{text} ({ratio:.2g}\N{NO-BREAK SPACE}x)"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def show(results: Results) -> None:
    """Print the tables, with rich where it is installed."""
    print(machine(), versions(results), sep="\n", end="\n\n")
    for head, rows in _tables(results):
        (_rich if find_spec("rich") else _plain)(head, rows)


def _tables(results: Results) -> list[tuple[list[str], list[list[str]]]]:
    tables = [figures(results), on_libraries(results), (_TARGET_HEAD, judged(results))]
    return [(head, rows) for head, rows in tables if rows]


def _rich(head: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*head)
    for row in rows:
        table.add_row(*row)
    width = sum(_widths(head, rows)) + 3 * len(head) + 1  # never a broken line, even in a file
    Console(width=max(width, Console().width)).print(table)


def _plain(head: list[str], rows: list[list[str]]) -> None:
    widths = _widths(head, rows)
    for row in (head, ["-" * width for width in widths], *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())
    print()


def _widths(head: list[str], rows: list[list[str]]) -> list[int]:
    return [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]


def machine() -> str:
    """Processor, cores, memory, system and Python, in one line."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
        model = names[0].strip() if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def versions(results: Results) -> str:
    """The systems and their versions, in one line."""
    return ", ".join(
        f"{system} {version}" for system, version in results.versions.items()
        if system not in LIBRARIES
    )


def markdown(results: Results, rounds: int) -> str:
    """What goes between the marks in docs/performance.md."""
    parts = [
        f"{machine()}; {versions(results)}. Medians of {rounds} rounds; in brackets, how many "
        "times pullback's figure.",
        *(_markdown_table(head, rows) for head, rows in _tables(results)),
    ]
    return "\n\n".join(parts)


def _markdown_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(path: Path, text: str) -> None:
    """Put text between the marks of a file. Raises `ValueError` where they are missing."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
