"""`python -m benchmarks`: compare pullback with the peers that are installed."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from .report import markdown, show, write
from .rounds import installed, measure
from .workloads import WORKLOADS


def main() -> None:
    """Read the command line, measure, and print or write the tables."""
    there = installed()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--systems", help=f"some of {','.join(there)}")
    parser.add_argument("--workloads", help=f"some of {','.join(WORKLOADS)}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run")
    parser.add_argument("--write", type=Path, help="a Markdown file to put the tables in")
    options = parser.parse_args()
    systems = _chosen(parser, options.systems, there)
    workloads = _chosen(parser, options.workloads, WORKLOADS)
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    results = measure(systems, workloads, options.rounds, options.quick)
    show(results)
    if options.write is not None:
        write(options.write, markdown(results, options.rounds))


def _chosen(parser: argparse.ArgumentParser, text: str | None, known: Iterable[str]) -> list[str]:
    names = list(known) if text is None else text.split(",")
    for name in names:
        if name not in known:
            parser.error(f"{name!r} is none of {', '.join(known)}")
    return names


main()
