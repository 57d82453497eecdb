"""`pullback check`: is the gradient of a function right?"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError
from .arguments import HELP, function_named, parsed_all

EXAMPLE = """example:
  pullback check pullback:tanh --arg "f64[3,4]"
  pullback check layers.py:binarise --arg "f64[5]" --surrogate layers.py:hard_tanh --save r.html
"""


def add(commands: Any) -> None:
    """Enter the command."""
    made = commands.add_parser(
        "check", help="try a gradient against differences, and for the usual mistakes",
        description="Check the gradients of a function: of an operation, of a hand-written "
        "gradient, of any function of tensors.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("function", help="module:name or file.py:name")
    made.add_argument("--arg", action="append", default=[], metavar="ARG", help=HELP
                      + "; name=ARG is a keyword argument")
    made.add_argument("--surrogate", metavar="FUNCTION", help="the function whose derivative is "
                      "meant, where the gradient differs on purpose (module:name)")
    made.add_argument("--order", type=int, default=2, help="1 or 2 (default) derivatives")
    made.add_argument("--seed", type=int, default=0, help="of the random numbers")
    made.add_argument("--skip", action="append", default=[], metavar="LAW", help="a law to leave "
                      "out; may be given several times")
    made.add_argument("--save", action="append", default=[], metavar="FILE",
                      help="write the report: .html, .xml (JUnit), .json or .txt")
    made.add_argument("--verbose", action="store_true", help="tell every failure, also those that "
                      "are likely to be of the same mistake")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 where something is wrong, 2 where there was nothing to check."""
    import pullback as pb

    surrogate = function_named(options.surrogate) if options.surrogate else None
    args, keywords = _arguments(options.arg, options.seed)
    report = pb.check(
        function_named(options.function), *args, kwargs=keywords, order=options.order,
        surrogate=surrogate, seed=options.seed, skip=options.skip, name=options.function,
    )
    _show(report, options.verbose)
    for path in options.save:
        report.save(path)
    if not any(f.status != "not applicable" for f in report.findings):
        raise ArgumentError(
            "pullback check", "something to differentiate", "nothing that was checked",
            'an argument of floating numbers, as --arg "f64[3,4]"',
        )
    return 0 if report.ok else 1


def _arguments(texts: Sequence[str], seed: int) -> tuple[list[Any], dict[str, Any]]:
    """The arguments by place, and those by name: `axis=0`."""
    parts = [_NAMED.fullmatch(text) or text for text in texts]
    values = parsed_all([p if isinstance(p, str) else p["value"] for p in parts], seed)
    by_place = [v for v, p in zip(values, parts, strict=True) if isinstance(p, str)]
    return by_place, {
        p["name"]: v for v, p in zip(values, parts, strict=True) if not isinstance(p, str)
    }


_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>[^=].*)")


def _show(report: Any, verbose: bool) -> None:
    """In colours on a terminal, where rich is installed; else as plain text."""
    if verbose or not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        print(report.text(verbose=verbose))
        return
    from rich.console import Console

    Console().print(report)
