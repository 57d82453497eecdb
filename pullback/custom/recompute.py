"""recall: the value of a recorded operation's input or output that its own rules did not save.

An override of a finished computation may read inputs that were not saved for it. Most are
still somewhere: with the operation before, which saved its output; in the leaf; or they can be
computed again from what is there.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from ..core import versions
from ..core.node import FREED, Leaf, Node, where
from ..errors import GraphFreedError, NotDifferentiableError

_MISSING = object()


def recall_input(node: Node, index: int) -> Any:
    """The raw value of an input of a recorded operation.

    Raises `NotDifferentiableError` when nothing holds it any more, `GraphFreedError` after a
    pull that freed the graph, `InplaceError` when it has been overwritten.
    """
    value = _input(node, index, {})
    return _checked(value, node, f"input {index}")


def recall_output(node: Node) -> Any:
    """The raw value of a recorded operation's output; raises as `recall_input` does."""
    return _checked(_output(node, {}), node, "output")


def _checked(value: Any, node: Node, role: str) -> Any:
    if value is not _MISSING:
        return value
    raise NotDifferentiableError(
        f"{role} of {where(node)}, which an override reads",
        "a value that was kept, or can be computed again from values that were",
        "one that no rule of the operations around it needed",
        "record with GradientTape(keep_values=True) or `with pullback.keep_values():`, or put "
        "`with override_gradient(…):` around the computation itself",
    )


def _input(node: Node, index: int, known: dict[Node, Any]) -> Any:
    if node.saved is FREED:
        raise GraphFreedError(
            f"override at {where(node)}", "a graph that is still there", "one that was freed",
            "use retain_graph=True or a persistent tape",
        )
    saved = node.saved
    if _has_saved_input(node, index):
        versions.check(node)
        value = saved[index]
        if not isinstance(value, ref):
            return value
        constant = value()  # see Note [constants are held weakly]
        fresh = constant is not None and versions.version(constant) < node.seq
        return constant if fresh else _MISSING
    parent = node.parents[index]
    if parent is None:
        return _MISSING
    if isinstance(parent, Leaf):
        fresh = parent.seq < node.seq and versions.version(parent.data) < node.seq
        return parent.data if fresh else _MISSING
    return _output(parent, known)


def _output(node: Node, known: dict[Node, Any]) -> Any:
    """The output of a node: saved, or computed again, inputs first, without recursion."""
    stack = [node]
    while stack:
        now = stack[-1]
        if now in known:
            stack.pop()
            continue
        value = _saved_output(now)
        if value is _MISSING and hasattr(now.op, "kernels"):
            waiting = [
                p for i, p in enumerate(now.parents)
                if p is not None and not isinstance(p, Leaf) and p not in known
                and not _has_saved_input(now, i)
            ]
            if waiting:
                stack.extend(waiting)
                continue
            value = _computed(now, known)
        known[now] = value
        stack.pop()
    return known[node]


def _has_saved_input(node: Node, index: int) -> bool:
    saved = node.saved
    if not isinstance(saved, tuple) or saved is FREED or index >= len(saved) - 1:
        return False
    return saved[index] is not None


def _saved_output(node: Node) -> Any:
    saved = node.saved
    if saved is FREED or not isinstance(saved, tuple) or not saved or saved[-1] is None:
        return _MISSING
    versions.check(node)
    return saved[-1]


def _computed(node: Node, known: dict[Node, Any]) -> Any:
    values = [_input(node, i, known) for i in range(len(node.parents))]
    if any(v is _MISSING for v in values):
        return _MISSING
    attrs = {k: v for k, v in node.attrs.items() if k != "shapes"}
    kernel = node.op.kernels[values[0].__class__]
    return kernel(*values, **attrs)
