"""`pullback check`: is the gradient of a function right?"""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import HELP, function_named, parsed_all

EXAMPLE = """example:
  pullback check pullback:tanh --arg f64[3,4]
  pullback check layers.py:binarise --arg f64[5] --surrogate layers.py:hard_tanh --save report.html
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
    made.add_argument("--arg", action="append", default=[], metavar="ARG", help=HELP)
    made.add_argument("--surrogate", metavar="FUNCTION", help="the function whose derivative is "
                      "meant, where the gradient differs on purpose (module:name)")
    made.add_argument("--order", type=int, default=2, help="1 or 2 (default) derivatives")
    made.add_argument("--seed", type=int, default=0, help="of the random numbers")
    made.add_argument("--skip", action="append", default=[], metavar="LAW", help="a law to leave "
                      "out; may be given several times")
    made.add_argument("--save", action="append", default=[], metavar="FILE",
                      help="write the report: .html, .xml (JUnit), .json or .txt")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 where something is wrong."""
    import pullback as pb

    surrogate = function_named(options.surrogate) if options.surrogate else None
    report = pb.check(
        function_named(options.function), *parsed_all(options.arg, options.seed),
        order=options.order, surrogate=surrogate, seed=options.seed, skip=options.skip,
        name=options.function,
    )
    print(report)
    for path in options.save:
        report.save(path)
    return 0 if report.ok else 1
