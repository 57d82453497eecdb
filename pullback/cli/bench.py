"""`pullback bench`: compares the speed with the installed frameworks."""

from __future__ import annotations

import argparse
from typing import Any

from .bundled import folder, run_bundled, run_package

EXAMPLE = """example:
  pullback bench --quick --systems pullback,torch --workloads small-1
  pullback bench --quick
"""


def add(commands: Any) -> None:
    """Adds the command."""
    made = commands.add_parser(
        "bench", help="compare the speed with the frameworks that are installed",
        description="Run the benchmarks; options: --quick, --systems, --workloads, --rounds "
        "and --write. All of them together take minutes. Needs the extra `bench`.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="pullback bench [-h] [options of the benchmarks]",
    )
    made.set_defaults(run=run, rest=[])  # passes unknown options on to the benchmarks


def run(options: argparse.Namespace) -> int:
    """Runs the benchmarks and returns their exit code."""
    return run_bundled("the benchmarks", "bench",
                       lambda: run_package(folder("benchmarks"), options.rest))
