"""`pullback profile`: times a script, forward and backward."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .arguments import script
from .bundled import run_file

EXAMPLE = """example:
  pullback profile train.py --epochs 1
  pullback profile --by line --trace trace.json train.py
"""


def add(commands: Any) -> None:
    """Adds the command."""
    made = commands.add_parser(
        "profile", help="time the operations of a script, forward and backward",
        description="Run a script and time its operations. The trace opens in chrome://tracing "
        "and in Perfetto.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--by", choices=("operation", "line"), default="operation",
                      help="what a row of the table shows")
    made.add_argument("--trace", metavar="FILE", type=_trace,
                      help="write a Chrome trace, a .json file")
    made.add_argument("script", type=script, help="the script, run as __main__")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    made.set_defaults(run=run)


def _trace(text: str) -> str:
    if not text.endswith(".json"):
        raise argparse.ArgumentTypeError(f"a trace is a .json file, not {text}")
    return text


def run(options: argparse.Namespace) -> int:
    """Runs the script and prints the table; returns the script's exit code."""
    import pullback as pb

    with pb.profile() as seen:
        code = run_file(Path(options.script), options.arguments)
    print(seen.by(options.by))
    if options.trace:
        seen.save(options.trace)
    return code
