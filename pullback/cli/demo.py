"""`pullback demo`: run an example."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import UnknownNameError
from .bundled import folder, run_bundled, run_file

EXAMPLE = """example:
  pullback demo
  pullback demo guided_backpropagation
  pullback demo binarised_digits --epochs 5
"""


def add(commands: Any) -> None:
    """Enter the command."""
    made = commands.add_parser(
        "demo", help="train a binarised network on digits, or run another example",
        description="Run an example. The first trains a binarised network on scikit-learn's "
        "digits twice: with the step's own gradient, and straight through. It needs the extra "
        "`demo`.", epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="pullback demo [-h] [name] [options of the example]",
    )
    made.add_argument("name", nargs="?", default="binarised_digits", help="of the example")
    made.set_defaults(run=run, rest=[])  # what is not known is handed on


def run(options: argparse.Namespace) -> int:
    """Run the example; its exit code."""
    there = folder("examples")
    path = there / f"{options.name.removesuffix('.py')}.py"
    if not path.exists():
        names = ", ".join(sorted(p.stem for p in there.glob("*.py")))
        raise UnknownNameError(f"example {options.name}", f"one of {names}", "none of that name")
    return run_bundled(f"example {options.name}", "demo", lambda: run_file(path, options.rest))
