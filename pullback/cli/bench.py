"""`pullback bench`: compare the speed with the frameworks that are installed."""

from __future__ import annotations

import argparse
from typing import Any

from .bundled import folder, run_bundled, run_package

EXAMPLE = """example:
  pullback bench --quick --systems pullback,torch --workloads small-1
  pullback bench --quick
"""


def add(commands: Any) -> None:
    """Enter the command."""
    made = commands.add_parser(
        "bench", help="compare the speed with the frameworks that are installed",
        description="Run the benchmarks, which take --quick, --systems, --workloads, --rounds "
        "and --write. All of them take minutes. It needs the extra `bench`.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="pullback bench [-h] [options of the benchmarks]",
    )
    made.set_defaults(run=run, rest=[])  # what is not known is handed on


def run(options: argparse.Namespace) -> int:
    """Run the benchmarks; their exit code."""
    return run_bundled("the benchmarks", "bench",
                       lambda: run_package(folder("benchmarks"), options.rest))
