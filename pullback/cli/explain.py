"""Explain which gradients of a script are None, zero, NaN or infinite, and why."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .arguments import script


def add(subparsers: Any) -> None:
    """Adds the command to a parser."""
    parser = subparsers.add_parser(
        "explain", help="explain why gradients of a script are None, zero, NaN or infinite",
        description=__doc__, epilog="example: pullback explain train.py --steps 3",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("script", type=script, help="the script, run as __main__")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the script; returns 1 if a gradient was explained or the script failed, else 0."""
    from ..tools.explain.script import explain_script, shown

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
