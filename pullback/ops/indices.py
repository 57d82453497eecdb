"""The parts of an index: integers, slices, None, Ellipsis, and arrays of indices or masks.

Rules and kernels see an index only after `plain`: Python integers, and raw arrays for Tensors. The
array of a Tensor is copied if a node will save it, because a later write to it would not be
detected.
"""

from __future__ import annotations

import operator
from typing import Any

from ..arrays import adapters, is_array, known
from ..arrays.batched import Batched
from ..arrays.symbol import Symbol
from ..core.observe import notify
from ..core.op import OPS
from ..core.state import state
from ..core.tensor import raw, to_list
from ..errors import ArgumentTypeError, BatchedValueError, PositionError

__all__: list[str] = []


def plain(index: Any, *, keep: bool = False) -> Any:
    """An index of Python integers, slices, None, Ellipsis and raw arrays; copied if `keep`.

    Raises `ArgumentTypeError` for anything else, `BatchedValueError` if inside vmap the shape of
    the result would differ between examples.
    """
    if index.__class__ is tuple:
        return tuple([_part(part, keep) for part in index])
    return _part(index, keep)


def _part(part: Any, keep: bool) -> Any:
    if part is None or part is Ellipsis or part.__class__ is int or part.__class__ is bool:
        return part
    if part.__class__ is slice:
        return slice(_bound(part.start), _bound(part.stop), _bound(part.step))
    if isinstance(part, (list, tuple)):
        part = _listed(part)
        return part if part.size or part.__class__ is Batched else part.astype(int)
    data = raw(part)
    if data.__class__ is Symbol:
        return data if known(data) is None or data.shape else int(known(data))
    if data.__class__ is Batched:
        _check_positions(data)
    if is_array(data) and (
        data.shape or data.__class__ is Batched or "int" not in str(data.dtype)
        or known(data) is None
    ):
        return _kept(data) if keep and data is not part else data
    return _integer(data)


def _kept(data: Any) -> Any:
    """A copy, which `debug` tracks as the original."""
    made = adapters[data.__class__].copy(data)
    if state().observers:
        notify("copied", "", [data], made)
    return made


def _listed(part: Any) -> Any:
    """The array of a nested list, whose arrays may be batched."""
    if not _has_batched(part):
        return adapters[float].asarray(to_list(part))
    rows = [
        _listed(p) if isinstance(p, (list, tuple)) else
        raw(p) if is_array(raw(p)) else adapters[float].asarray(p)
        for p in part
    ]
    made = OPS["stack"](rows, axis=0)
    _check_positions(made)
    return made


def _has_batched(part: Any) -> bool:
    if isinstance(part, (list, tuple)):
        return any(map(_has_batched, part))
    return raw(part).__class__ is Batched


def _check_positions(data: Any) -> None:
    """Reject a mask that differs between examples."""
    if "bool" in str(data.dtype):
        raise BatchedValueError(
            "index inside vmap", "integers, or a mask that is the same for all examples",
            "a mask that differs between examples, which would select different numbers of entries",
            "use pullback.where(mask, x, 0); x[mask] = v works if v broadcasts to each entry",
        )


def mask_of_each(index: Any) -> Any:
    """The mask, if an index is a single mask that differs between examples; else None."""
    data = raw(index[0] if index.__class__ is tuple and len(index) == 1 else index)
    return data if data.__class__ is Batched and "bool" in str(data.dtype) else None


def choose(x: Any, value: Any, mask: Any, subject: str) -> Any:
    """x with a value, which broadcasts to each entry, at the entries of a mask: a `where`.

    Raises `PositionError` for a mask that does not match, and `BatchedValueError` for a value with
    one entry per selected entry, whose number differs between examples.
    """
    shape, rank = tuple(x.shape), len(mask.shape)
    if tuple(mask.shape) != shape[:rank]:
        raise PositionError(
            f"`{subject}`",
            f"a mask that fits shape {shape}",
            f"a mask of shape {tuple(mask.shape)}",
        )
    if len(getattr(value, "shape", ())) > len(shape) - rank:
        raise BatchedValueError(
            f"`{subject}` by a mask inside vmap",
            f"one value for all entries, of shape {shape[rank:]}",
            f"shape {tuple(value.shape)}; examples would use different numbers of its values",
            "use pullback.where(mask, value, x) with a value in the shape of x",
        )
    spread = OPS["reshape"](mask, (*mask.shape, *(1,) * (len(shape) - rank)))
    found = OPS["where"](spread, value, x)
    return found if found.dtype == x.dtype else OPS["astype"](found, x.dtype)


def _bound(bound: Any) -> Any:
    if bound is None or bound.__class__ is int:
        return bound
    bound = raw(bound)
    if bound.__class__ is Batched:
        raise BatchedValueError(
            "slice inside vmap", "bounds that are the same for all examples",
            "a bound that differs between examples",
            "select a fixed number of entries: x[start + pullback.arange(n)]",
        )
    if bound.__class__ is Symbol and known(bound) is None:
        return bound
    return _integer(bound)


def _integer(value: Any) -> int:
    try:
        return operator.index(known(value) if is_array(value) else value)
    except TypeError:
        raise ArgumentTypeError(
            "index", "integers, slices, None, Ellipsis, integer or boolean arrays",
            f"a {type(value).__name__}",
        ) from None


def repeats(index: Any) -> bool:
    """Whether an index has integer arrays, which may repeat an entry."""
    parts = index if index.__class__ is tuple else (index,)
    return any(
        hasattr(part, "dtype") and part.shape and "int" in str(part.dtype) for part in parts
    )
