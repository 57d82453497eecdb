"""`pullback` on the command line: one file per command, each with `add` and `run`."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from .trouble import told

COMMANDS = ("check", "explain", "draw", "profile", "ops", "demo", "bench")
"""The commands, in the order of the help."""


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    import pullback as pb

    made = argparse.ArgumentParser(
        prog="pullback", description="Check, explain, draw and profile gradients.",
        epilog="For details and an example of a command: pullback COMMAND --help",
    )
    made.add_argument(
        "--version", action="version",
        version=f"pullback {pb.__version__}, {pb.configuration.core()}",
    )
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f".{name}", __name__).add(commands)
        commands.choices[name].set_defaults(parser=commands.choices[name])
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code.

    0 for success; 1 for wrong gradients, or if the user's code raised; 2 for misuse.

    >>> main(["ops", "tanh"])
    tanh(x, /)
      sinh x / cosh x. The derivative is 1 - tanh² x.
      derivatives: x; forward mode, batching, any order
    0
    """
    options, rest = parser().parse_known_args(arguments)
    if rest and not hasattr(options, "rest"):
        options.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        return int(options.run(options))
    except Exception as error:  # the user's code may raise anything
        return told(options.command, error)
