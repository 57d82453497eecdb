"""`python -m tests.core.in_both FIRST LAST`: what random programs compute, a line for each seed.

The compiled core and the core in Python must print the same: values and gradients to the last bit,
graphs, warnings and errors.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from typing import Any

import numpy as np

import pullback.torch as t
from pullback.core.compiled import compiled
from tests.fuzz import programs


def graph_of(node: Any) -> list[str]:
    """The nodes that a node depends on, in the order of recording, with their places."""
    found: dict[Any, None] = {}
    stack = [] if node is None else [node]
    while stack:
        now = stack.pop()
        if now not in found:
            found[now] = None
            stack.extend(p for p in now.parents if p is not None)
    order = {n: i for i, n in enumerate(sorted(found, key=lambda n: n.seq))}
    return [
        f"{n.name()} {type(n).__name__} {n.level} {n.shape} {n.dtype} "
        f"{[order.get(p) for p in n.parents]} {_kinds(n.saved)}"
        for n in order
    ]


def _kinds(saved: Any) -> Any:
    return [type(v).__name__ for v in saved] if type(saved) is tuple else type(saved).__name__


def outcome_of(seed: int, way: str) -> str:
    """What a program computes, in one line."""
    program = programs.written(seed, t)
    graphs: list[str] = []

    def differentiate(t: Any, loss: Any, leaves: Any) -> list[Any]:
        graphs.extend(graph_of(loss.node))
        return programs.WAYS[way](t, loss, leaves)

    found = programs.run(t, program, differentiate)
    arrays = {**found.values, **{f"g {name}": g for name, g in found.gradients.items()}}
    digest = hashlib.sha256("\n".join([*program.lines, *graphs]).encode())
    for name, array in arrays.items():
        digest.update(f"{name} {None if array is None else array.dtype}".encode())
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    error = f"{type(found.error).__name__}: {found.error} at {found.at}" if found.error else ""
    return f"{seed} {way} {len(graphs)} {digest.hexdigest()[:16]} {error!r}"


def main() -> None:
    """Print which core it is, then a line for each seed and way."""
    print("compiled" if compiled is not None else "python")
    warnings.simplefilter("error")
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        for way in programs.WAYS:
            print(outcome_of(seed, way))


if __name__ == "__main__":
    main()
