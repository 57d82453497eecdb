"""`pullback draw`: draws the graph of a function."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import Any

from .arguments import HELP, argument_names, call, function_named, parsed_all

EXAMPLE = """example:
  pullback draw pullback:softmax --arg "f64[3,4]" --out softmax.html
  pullback draw layers.py:loss --arg "f32[8,3]" --arg "f32[3]"
"""


def add(commands: Any) -> None:
    """Adds the command."""
    made = commands.add_parser(
        "draw", help="draw the graph of a function, with its gradients",
        description="Call a function, and draw its recorded operations: as a table in the "
        "terminal, or to a file.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("function", help="module:name or file.py:name")
    made.add_argument("--arg", action="append", default=[], metavar="ARG", help=HELP)
    made.add_argument("--seed", type=int, default=0, help="of the random numbers")
    made.add_argument("--fold", action="store_true", help="draw each group as one box")
    made.add_argument("--out", "-o", action="append", default=[], metavar="FILE",
                      help="write the picture: .svg, .html, .dot or .txt")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Writes the picture, or prints it as a table."""
    import pullback as pb

    from ..core.tensor import is_inexact
    from ..tools.draw import draw

    args = parsed_all(options.arg, options.seed)
    for arg in args:
        if isinstance(arg, pb.Tensor) and is_inexact(arg.data):
            arg.requires_grad_()
    function = function_named(options.function)
    ours = str(getattr(function, "__module__", "")).partition(".")[0] == "pullback"
    with nullcontext() if ours else pb.debug():  # records lines; this library's own have none
        y = call(function, args, options.function)
    called = zip(argument_names(function, len(args)), args, strict=True)
    names = {name: a for name, a in called if isinstance(a, pb.Tensor)}
    picture = draw(y, names=names, fold=options.fold or None)
    for path in options.out:
        print(f"written: {picture.save(path)}")
    if not options.out:
        print(picture.text)
    return 0
