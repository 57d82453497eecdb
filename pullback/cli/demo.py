"""`pullback demo`: runs an example."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import UnknownNameError
from .bundled import FIRST, folder, run_bundled, run_file

EXAMPLE = """example:
  pullback demo
  pullback demo --epochs 5
  pullback demo guided_backpropagation
"""


def add(commands: Any) -> None:
    """Adds the command."""
    made = commands.add_parser(
        "demo", help="train a binarised network on digits, or run another example",
        description="Run an example. The default example trains a binarised network on "
        "scikit-learn's digits twice: with the step function's own gradient, and with a "
        "straight-through gradient. Needs the extra "
        "`demo`.", epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="pullback demo [-h] [name] [options of the example]",
    )
    made.set_defaults(run=run, rest=[])  # `rest` includes the name, which could follow an option


def run(options: argparse.Namespace) -> int:
    """Runs the example and returns its exit code."""
    there = folder("examples")
    name, arguments = FIRST[there.name], options.rest
    if arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
    name = name.removesuffix(".py")
    path = there / f"{name}.py"
    if not path.exists():
        names = ", ".join(sorted(p.stem for p in there.glob("*.py")))
        raise UnknownNameError(f"example {name}", f"one of {names}", "none of that name")
    return run_bundled(f"example {name}", "demo", lambda: run_file(path, arguments))
