"""The two ends of a backward pass: the cotangent that it starts with, what receivers get, and
the event that a gradient was computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from sys import getrefcount
from typing import Any

from ..arrays import adapters
from ..core.cotangent import conjugated, is_complex
from ..core.node import Leaf
from ..core.observe import observers_of
from ..core.op import OPS
from ..core.outside import current_graph, traces
from ..core.state import setting, state
from ..core.tensor import Tensor, to_array
from ..errors import ArgumentError, DtypeError, GraphError, RuleError


def check_inside(tensors: Iterable[Any], subject: str) -> None:
    """Raise a `GraphError` in traced code for a result that was computed before, outside of it.

    There, a tensor from outside is an input without a history, and its derivatives would be zero.
    """
    if not traces or current_graph() is None:
        return
    for x in tensors:
        history = x._history
        if history is not None and not isinstance(history, Leaf) and x._node is not history:
            raise GraphError(
                f"{subject} in a traced function", "a result that was computed in it",
                "one that was computed outside, whose history is not in the graph",
                "compute the result in the traced function too; or call this outside and pass the "
                "derivative as an argument",
            )


def start(tensor: Any, given: Any, subject: str) -> Any:
    """The cotangent a pull starts with: ones, or what was given, checked against the target."""
    if given is None:
        count = prod(tensor.shape)
        if count != 1:
            raise ArgumentError(
                f"{subject} of a target of shape {tensor.shape}",
                "a target with one entry (a scalar)", f"{count} entries, and no gradient for them",
                "sum it first, or pass a gradient of its shape",
            )
        if is_complex(tensor):
            raise ArgumentError(
                f"{subject} of a complex target", "a real target, such as a loss", "a complex one",
                "take its real part or abs, or pass a gradient",
            )
        return OPS["ones_like"](tensor._data)
    if not isinstance(given, Tensor):
        given = adapters[type(tensor._data)].asarray(to_array(given))
    if is_complex(given) and not is_complex(tensor):
        raise DtypeError(
            f"gradient given to {subject}", f"a real dtype, as the target's {tensor.dtype}",
            f"dtype {given.dtype}", "pass its real part",
        )
    if tuple(given.shape) != tensor.shape:
        raise RuleError(
            f"gradient given to {subject}", f"the target's shape {tensor.shape}",
            f"shape {tuple(given.shape)}", "pass one number for each entry of the target",
        )
    if given.dtype != tensor.dtype:
        given = OPS["astype"](given, tensor.dtype)
    return given


def references(found: dict[Any, Any], node: Any) -> int:
    """The number of references to a found cotangent; `ALONE` if only the dictionary holds it."""
    return getrefcount(found[node])


ALONE = references({None: object()}, None)  # how that counts depends on the interpreter


def settled(found: dict[Any, Any], node: Any, *, plain: bool = False) -> Any:
    """A node's cotangent for its receiver: conjugated, in memory without aliases.

    A backward pass passes arrays on without copies: addition gives both arguments the same array,
    which may be the user's, or a read-only view. The dictionary must hold the only reference.
    """
    if isinstance(found[node], Tensor):
        return found[node] if plain else conjugated(found[node])
    alone = references(found, node) <= ALONE
    g = found[node]
    adapter = adapters[g.__class__]
    g = adapter.own(g) if alone else adapter.copy(g)
    return g if plain else conjugated(g)


def notify_gradient(
    how: str, targets: Sequence[Any], sources: Sequence[Any], gradients: Sequence[Any],
    tape: Any = None,
) -> None:
    """Report a computed gradient; what the observers compute themselves is not reported."""
    listening = observers_of("gradient")
    if listening:
        with setting(observers=tuple(o for o in state().observers if o not in listening)):
            for observer in listening:
                observer.gradient(how, targets, sources, gradients, tape)
