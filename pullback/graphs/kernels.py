"""The function that computes an operation of a graph on some arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..arrays import dominant
from ..arrays.dressed import bare
from ..core.op import Op


def kernel_for(op: Any, values: Sequence[Any], attrs: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that computes an operation on some arrays."""
    if not isinstance(op, Op):
        return op.kernel
    kind: Any = None
    for value in values:
        cls = value.__class__
        kind = cls if kind is None or kind is cls else dominant[kind, cls]
    return bare(op.kernels[kind])
