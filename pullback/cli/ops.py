"""`pullback ops`: lists the operations and their derivatives."""

from __future__ import annotations

import argparse
import fnmatch
import inspect
import json
from typing import Any

from ..errors import UnknownNameError, suggestion

EXAMPLE = """example:
  pullback ops
  pullback ops "a*h"
  pullback ops tanh
"""


def add(commands: Any) -> None:
    """Adds the command."""
    made = commands.add_parser(
        "ops", help="list the operations, or describe one",
        description="List the operations, their arguments, and which of them have derivatives.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("pattern", nargs="?", default="*", help='a name, or a pattern such as "a*h"')
    made.add_argument("--json", action="store_true", help="print JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the table, or one operation."""
    rows = operations()
    pattern = options.pattern.removeprefix("pullback.")
    chosen = [r for r in rows if any(fnmatch.fnmatchcase(r[k], pattern) for k in ("name", "call"))]
    if not chosen:
        names = [r["name"] for r in rows]
        hint = suggestion(pattern, names)
        raise UnknownNameError(
            f"operation {options.pattern}", "a name in the table", "an unknown name", hint
        )
    if options.json:
        print(json.dumps(chosen, indent=1))
    elif len(chosen) == 1:
        print(_whole(chosen[0]))
    else:
        print(table(chosen))
    return 0


def operations() -> list[dict[str, Any]]:
    """A description of each public operation, sorted by name."""
    import pullback as pb

    from ..core.op import OPS
    from ..nn import functional

    rooms = {
        "": pb, "linalg.": pb.linalg, "fft.": pb.fft, "special.": pb.special,
        "nn.functional.": functional, "random.": pb.random,
    }
    found = []
    for name, face in sorted(OPS.items()):
        public = next((room + name for room, at in rooms.items() if hasattr(at, name)), "")
        if not public:
            continue
        op = face.op
        found.append({
            "name": name, "call": public, "signature": _signature(face, name),
            "text": (inspect.getdoc(face) or "").partition("\n")[0],
            "derivatives": [a for i, a in enumerate(op.arguments) if op.rule(i) is not None],
            "differentiable": op.differentiable, "flat": op.flat,
        })
    return found


def _signature(face: Any, name: str) -> str:
    op = face.op
    parts = [f"*{a}" if op.variadic else a for a in op.arguments]
    parts += [] if op.variadic else ["/"]
    parts += [f"{a}={op.defaults[a]!r}" if a in op.defaults else a for a in op.required]
    return f"{name}({', '.join(parts)})"


def _derivatives(row: dict[str, Any]) -> str:
    if not row["differentiable"]:
        return "none"
    return "zero" if row["flat"] else ", ".join(row["derivatives"]) or "none"


def _whole(row: dict[str, Any]) -> str:
    lines = [row["signature"], f"  {row['text']}"]
    more = "" if _derivatives(row) in ("none", "zero") else "; forward mode, batching, any order"
    return "\n".join([*lines, f"  derivatives: {_derivatives(row)}{more}"])


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text in columns.

    >>> print(table([r for r in operations() if r["name"] in ("exp", "cosh")]))
    operation      derivatives  description
    pullback.cosh  x            (eˣ + e⁻ˣ) / 2. The derivative is sinh x.
    pullback.exp   x            eˣ. The derivative is eˣ.
    """
    cells = [("operation", "derivatives", "description")] + [
        (f"pullback.{r['call']}", _derivatives(r), r["text"]) for r in rows
    ]
    widths = [max(len(c[i]) for c in cells) for i in range(2)]
    return "\n".join(
        f"{name:{widths[0]}}  {has:{widths[1]}}  {text}".rstrip() for name, has, text in cells
    )
