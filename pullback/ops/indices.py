"""The parts of an index: integers, slices, None, Ellipsis, and arrays of indices or masks.

Rules and kernels see an index only after `plain`: Python integers, and raw arrays for Tensors. The
array of a Tensor is copied if a node will save it, because a later write to it would not be
detected.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy

from ..arrays import adapters, is_array, known
from ..arrays.batched import Batched
from ..arrays.symbol import Symbol, may_be
from ..core.observe import notify
from ..core.op import OPS
from ..core.state import state
from ..core.tensor import raw, to_list
from ..errors import ArgumentTypeError, BatchedValueError, PositionError
from ..kinds.shapes import Shape, UndecidedError, broadcast, is_any, shape_of

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


# Shapes in graphs ---------------------------------------------------------------------------


def indexed(x: Any, index: Any, subject: str) -> Any:
    """The shape of x[index], for shapes with unknown lengths.

    One entry per axis that slices keep; the broadcast shape of positions replaces theirs. It stands
    where the positions stand if they are adjacent, else in front.
    """
    parts = index if index.__class__ is tuple else (index,)
    if is_any(*parts):
        return None
    own, out = shape_of(x), list[int | None]()
    rest = len(own) - sum(map(_axes_used, parts))
    if rest < 0:
        raise PositionError(f"`{subject}`", f"an index for {len(own)} axes", f"{index!r}")
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    positions: dict[int, Shape] = {}  # place in the index -> shape
    front = 0  # how many axes of the result come before the positions
    for place, part in enumerate(parts):
        used = rest if part is Ellipsis else _axes_used(part)
        here, own = own[:used], own[used:]
        if part is None:
            out.append(1)
        elif part is Ellipsis:
            out += here
        elif isinstance(part, slice):
            out.append(_cut(here[0], part))
        else:
            front = front if positions else len(out)
            positions[place] = _positions(part, here, subject)
    if not positions:
        return tuple(out)
    if max(positions) - min(positions) >= len(positions):
        front = 0
    return (*out[:front], *broadcast(list(positions.values()), subject), *out[front:])


def _axes_used(part: Any) -> int:
    """The number of axes that a part of an index reads."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return len(part.shape) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return hasattr(part, "dtype") and "bool" in str(part.dtype)


def _cut(length: int | None, part: slice) -> int | None:
    """The number of entries in a slice."""
    bounds = (part.start, part.stop, part.step)
    if all(b is None for b in bounds):
        return length
    if length is None or any(b is not None and not isinstance(b, int) for b in bounds):
        return None
    return len(range(*part.indices(length)))


def _positions(part: Any, lengths: Any, subject: str) -> Shape:
    """The shape of positions on axes of some lengths; a mask has as many as entries are True."""
    if isinstance(part, bool):
        return (int(part),)
    if _is_mask(part):
        if not may_be(lengths, tuple(part.shape)):
            raise PositionError(f"`{subject}`", f"a mask of shape {list(lengths)}",
                                f"one of shape {list(part.shape)}")
        mask = part.operation.value if part.__class__ is Symbol else part
        return (None if mask is None else int(numpy.count_nonzero(numpy.asarray(mask))),)
    (length,) = lengths
    if isinstance(part, int) and length is not None and not -length <= part < length:
        raise PositionError(f"`{subject}`", f"an index in [-{length}, {length})", str(part))
    return shape_of(part)


def written(x: Any, value: Any, index: Any, subject: str) -> Any:
    """The shape of x, if a value broadcasts to the part at an index."""
    if is_any(x, value) or (region := indexed(x, index, subject)) is None:
        return x.shape
    own = shape_of(value)
    while len(own) > len(region) and own[0] in (1, None):
        own = own[1:]
    if len(own) > len(region) or not may_be(broadcast([own, region], subject), region):
        raise UndecidedError
    return x.shape
