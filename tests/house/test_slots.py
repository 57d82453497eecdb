"""The slots of a Tensor are read by its hot paths only: all else sees what traced code is to see.

A tensor that a traced function closes over holds an array in its slots and a symbol in `_data`:
code that reads the slot would make a constant of it. Its dtype and shape are the same in both.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.sources import ROOT, name_of, python_files
from tests.loops import none_of

HOT = {
    "pullback/core/dispatch.py": "leaves operations of traced code to `record.apply`",
    "pullback/core/record.py": "reads them where no function is traced, and of its own results",
    "pullback/core/tensor.py": "reads them where no function is traced",
    "pullback/core/outside.py": "makes the exchange",
    "pullback/core/inplace.py": "reads that of a view just made",
    "pullback/passes/ends.py": "compares both, to refuse what was computed outside of traced code",
    "pullback/ops/operators.py": "reads that of a result just computed",
    "pullback/custom/function.py": "reads them where no function is traced",
    "pullback/custom/gradient.py": "reads them where no function is traced",
    "pullback/variable.py": "reads them where no function is traced",
    "pullback/tf/tensor.py": "reads them where no function is traced",
    "pullback/graphs/closure.py": "makes the exchange",
    "pullback/graphs/tracing.py": "makes the exchange",
    "pullback/graphs/tensor.py": "has its own",
    "pullback/xla/arguments.py": "reads those of arguments, outside",
    "pullback/xla/calls.py": "reads and moves what is outside",
    "pullback/xla/entry.py": "passes what is outside in, and puts results there",
    "pullback/xla/finding.py": "looks for tracers that were left outside",
    "pullback/xla/gradients.py": "reads those of arguments, outside",
    "pullback/xla/places.py": "makes the exchange",
    "pullback/xla/trace.py": "makes the exchange",
    "pullback/xla/tracing.py": "reads what is outside",
}
"""file -> why it may read the slots."""

_SLOT = re.compile(r"\._history\b|\._array\b(?!\.(dtype|shape)\b)")


def reads(path: Path) -> list[int]:
    """The lines of a file that read or write a slot of a Tensor."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if _SLOT.search(line)]


def test_slots_are_read_in_hot_paths_only() -> None:
    files = python_files("pullback")
    none_of([p for p in files if name_of(p) not in HOT], reads, name_of)


def test_every_hot_path_reads_them() -> None:
    assert [name for name in HOT if not reads(ROOT / name)] == []
