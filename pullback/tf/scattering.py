"""Tensors with entries updated at indices into their first axes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from .. import ops
from ..composed.positions import flat
from ..kinds.symbols import whole
from .convert import checked, matched
from .gathering import _coordinates, _positions
from .segments import unsorted_segment_max, unsorted_segment_min
from .strict import maximum, minimum

__all__ = ["tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub"]


@checked
@whole
def tensor_scatter_nd_sub(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """Subtracts updates from a tensor at indices; updates for a repeated index add up.

    >>> tensor_scatter_nd_sub([0.0, 0.0], [[1]], [5.0]).numpy()
    array([ 0., -5.], dtype=float32)
    """
    x, updates = matched("tensor_scatter_nd_sub", tensor, updates)
    where = _coordinates(_positions(indices), x.shape, "tensor_scatter_nd_sub")
    return ops.add_at(x, -updates, where)


def _extreme(
    name: str, reduce: Callable[..., Any], choose: Callable[..., Any], what: str
) -> Callable[..., Any]:
    def call(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
        x, updates = matched(call.__name__, tensor, updates)
        at = _positions(indices)
        where = _coordinates(at, x.shape, call.__name__)
        lead, rest = tuple(x.shape[: at.shape[-1]]), tuple(x.shape[at.shape[-1] :])
        places = flat(where, lead).reshape(-1)
        count = prod(lead)
        given = reduce(ops.reshape(updates, (places.size, *rest)), places, count)
        return choose(x, ops.reshape(given, tuple(x.shape)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The tensor with the {what} of each indexed entry and its updates."
    return checked(whole(call))


tensor_scatter_nd_max = _extreme(
    "tensor_scatter_nd_max", unsorted_segment_max, maximum, "largest"
)
tensor_scatter_nd_min = _extreme(
    "tensor_scatter_nd_min", unsorted_segment_min, minimum, "smallest"
)
