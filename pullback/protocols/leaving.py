"""Tensors passed to functions without a rule, and results written into an `out` argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy

from ..arrays import adapters
from ..core import versions
from ..core.inplace import overwrite
from ..core.state import ALL, state
from ..core.tensor import Tensor, raw
from ..errors import ArgumentError, ArgumentTypeError, DtypeError
from ..ops.operators import keep_old
from .table import cast, fits

DETACH = "x.detach().numpy() where no derivative is needed"


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The Tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, Mapping):
        yield from tensors_in(list(value.values()))


def is_followed(x: Tensor) -> bool:
    """Whether an operation on a tensor would be recorded now, or carry a tangent."""
    node = x._node
    now = state()
    if node is None or now.mode < node.level:
        return False
    return now.mode <= ALL or now.follows(node) or bool(now.accumulators)


def plain(value: Any, by: str) -> Any:
    """Nested values with Tensors replaced by NumPy arrays."""
    if isinstance(value, Tensor):
        return value._leave(by)
    if isinstance(value, (tuple, list)):
        parts = [plain(part, by) for part in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, Mapping):
        return {name: plain(part, by) for name, part in value.items()}
    return value


def looked_at(value: Any) -> Any:
    """`plain`, for functions that only look: their results have no derivative anyway."""
    if isinstance(value, Tensor):
        return adapters[value._data.__class__].numpy(value._data)
    if isinstance(value, (tuple, list)):
        parts = [looked_at(part) for part in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, Mapping):
        return {name: looked_at(part) for name, part in value.items()}
    return value


def without_rule(
    subject: str, function: Callable[..., Any], args: Any, kwargs: Any, reason: str = "",
    writes: bool = False,
) -> Any:
    """The result of NumPy's own function on plain arrays; an error if a Tensor is tracked.

    reason   why there is no rule, or what to use instead
    writes   whether the function writes into its first argument, which must not be a Tensor then
    """
    written = [args[:1] if writes else (), kwargs.get("out")]
    for x in tensors_in([args, kwargs]):
        if is_followed(x):
            raise ArgumentTypeError(
                f"{subject} of a Tensor", "a function with a gradient rule",
                "one without, on a Tensor that is tracked or has a tangent",
                (reason or "use pullback's operations") + f", or {DETACH}",
            )
    if any(True for _ in tensors_in(written)):
        raise ArgumentTypeError(
            f"{subject} of a Tensor", "an array to write to", "a Tensor",
            reason or "write with pullback's operations",
        )
    return function(*plain(args, subject), **plain(kwargs, subject))


def store(subject: str, out: Any, value: Any, start: int, casting: str = "same_kind") -> Any:
    """Write a result into an array or a Tensor, as `+=` does, and return the target.

    start   the number of the last node recorded before the result was computed
    Raises `ArgumentTypeError` for a tracked result into a plain array, and `DtypeError` for a
    result that the target's dtype cannot hold.
    """
    if tuple(value.shape) != tuple(out.shape):
        raise ArgumentError(
            f"argument `out` of {subject}", f"the result's shape {tuple(value.shape)}",
            f"shape {tuple(out.shape)}",
        )
    if not fits(value.dtype, out.dtype, casting):
        raise DtypeError(
            f"argument `out` of {subject}", f"a dtype that can hold {value.dtype}",
            f"dtype {out.dtype}",
        )
    node = value._node if isinstance(value, Tensor) else None
    if not isinstance(out, Tensor):
        if node is not None:
            raise ArgumentTypeError(
                f"{subject} of a Tensor into an array", "a Tensor as `out`",
                "an ndarray, which would lose the history of a tracked Tensor",
                "write a + t instead of a += t, or make it a Tensor first: pullback.tensor(a)",
            )
        numpy.copyto(out, raw(value), casting="unsafe")
        versions.written(out, subject)  # gradients that need the old content will raise an error
        return out
    value = cast(value, out.dtype)
    if out._assignable:  # a variable gets a new array; tapes do not record the assignment
        variable: Any = out
        return variable.assign(raw(value))
    if isinstance(value, Tensor) and value._node is not None:
        keep_old(value._node, start, out._data)
    return overwrite(out, value, subject)
