"""`pullback check`: tests whether the gradient of a function is right."""

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
    """Adds the command."""
    made = commands.add_parser(
        "check", help="compare a gradient with differences, and test for common mistakes",
        description="Check the gradients of a function: an operation, a custom gradient, or any "
        "function of tensors.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("function", help="module:name or file.py:name")
    made.add_argument("--arg", action="append", default=[], metavar="ARG", help=HELP
                      + "; name=ARG is a keyword argument")
    made.add_argument("--surrogate", metavar="FUNCTION", help="the function whose derivative the "
                      "gradient returns on purpose (module:name)")
    made.add_argument("--order", type=int, default=2, help="highest order of derivatives: 1 or 2 "
                      "(default)")
    made.add_argument("--seed", type=int, default=0, help="of the random numbers")
    made.add_argument("--skip", action="append", default=[], metavar="LAW", help="a law to leave "
                      "out; may be given several times")
    made.add_argument("--save", action="append", default=[], metavar="FILE",
                      help="write the report: .html, .xml (JUnit), .json or .txt")
    made.add_argument("--verbose", action="store_true", help="show every failure, also those that "
                      "probably have the same cause")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the report; returns 1 if a law is broken, 2 if no law applied."""
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
            "pullback check", "something to differentiate", "no law that applies",
            'pass an argument of floating numbers: --arg "f64[3,4]"',
        )
    return 0 if report.ok else 1


def _arguments(texts: Sequence[str], seed: int) -> tuple[list[Any], dict[str, Any]]:
    """Splits positional arguments and keyword arguments such as `axis=0`."""
    parts = [_NAMED.fullmatch(text) or text for text in texts]
    values = parsed_all([p if isinstance(p, str) else p["value"] for p in parts], seed)
    by_place = [v for v, p in zip(values, parts, strict=True) if isinstance(p, str)]
    return by_place, {
        p["name"]: v for v, p in zip(values, parts, strict=True) if not isinstance(p, str)
    }


_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>[^=].*)")


def _show(report: Any, verbose: bool) -> None:
    """Prints with rich on a terminal, if it is installed; else as plain text."""
    if verbose or not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        print(report.text(verbose=verbose))
        return
    from rich.console import Console

    Console().print(report)
