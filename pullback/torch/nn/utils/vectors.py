"""Parameters flattened to one vector."""

from __future__ import annotations

from typing import Any

from .... import ops
from ....errors import ShapeError
from ...errors import guarded

__all__ = ["parameters_to_vector", "vector_to_parameters"]


@guarded
def parameters_to_vector(parameters: Any) -> Any:
    """Concatenates all entries of the parameters in one differentiable vector.

    >>> import pullback.torch as torch
    >>> parameters_to_vector([torch.zeros(1, 2), torch.ones(1)])
    tensor([0., 0., 1.])
    """
    return ops.concat([ops.reshape(p, (-1,)) for p in parameters])


@guarded
def vector_to_parameters(vec: Any, parameters: Any) -> None:
    """Copy slices of a vector to the parameters; raises an error if it is too short."""
    start = 0
    for p in parameters:
        count = p.numel()
        if start + count > vec.shape[0]:
            raise ShapeError("argument `vec` of `vector_to_parameters`",
                             f"at least {start + count} entries", f"{vec.shape[0]}")
        p.data = vec[start : start + count].reshape(p.shape).data
        start += count
