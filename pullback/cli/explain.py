"""`pullback explain script.py`: which gradients are None, zero, NaN or infinite, and why."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .arguments import script


def add(subparsers: Any) -> None:
    """Add the command to those of a parser."""
    parser = subparsers.add_parser(
        "explain", help="say why gradients of a script are None, zero, NaN or infinite",
        description=__doc__, epilog="example: pullback explain train.py --steps 3",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
    parser.add_argument("script", type=script, help="the script, run as __main__")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its own arguments")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the script; 1 when something was explained or it ended with an error, else 0."""
    from ..explaining.script import explain_script, shown

    found, ended = explain_script(args.script, args.args)
    if args.json:
        print(json.dumps({
            "explained": [{"how": a.how, "asked_file": a.file, "asked_line": a.line,
                           **a.explanation.as_dict()} for a in found],
            "error": None if ended is None else f"{type(ended).__name__}: {ended}",
        }, indent=2))
    else:
        print(shown(found, ended))
    return int(bool(found) or ended is not None)
