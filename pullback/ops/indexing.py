"""Indexing: reading and writing parts of arrays, and the adjoints that gradients need.

An index is any NumPy index: integers, slices, None, Ellipsis, arrays or lists of integers, boolean
masks, and tuples of them; Tensors are allowed wherever arrays are. Reading with integers and slices
only gives a view. An entry that is read twice receives the sum of both cotangents; of an entry
written twice, only the last value has a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..arrays import adapters, inserters, readers
from ..arrays.batched import Batched, counted, spread, tags_of, zeros_by
from ..arrays.batched_index import count_of, index_tags, is_batched, opened, parts_of, plan
from ..arrays.refusals import no_value
from ..core import versions
from ..core.cotangent import is_complex
from ..core.inplace import check_examples, check_writable, entered, overwrite, rewrite
from ..core.node import FREED
from ..core.op import OPS
from ..core.record import record
from ..core.tensor import Tensor, is_inexact, raw, to_array
from ..errors import DtypeError, PositionError, ShapeError
from ..kinds.shapes import requested
from ..kinds.symbols import beside
from ..kinds.vmaps import is_running
from ..passes.ends import ALONE, references
from .declaring import face_of, op
from .indices import choose, indexed, mask_of_each, plain, repeats, written
from .operands import stacked

__all__ = ["add_at", "assign_at", "getitem", "set_at"]


def _read(x: Any, index: Any) -> Any:
    read = readers.get(x.__class__)
    return x[index] if read is None else read(x, index)


def position_error(subject: str, x: Any, error: Exception) -> Exception:
    if (unknown := no_value([x], error)) is not None:
        return unknown
    return PositionError(f"`{subject}`", f"an index that fits shape {tuple(x.shape)}", str(error))


# Reading ------------------------------------------------------------------------------------


@op(name="getitem", view=True, linear=True, dtype="x")
def _getitem(xp: Any, x: Any, /, index: Any) -> Any:
    if is_batched(index):
        return _getitem.op.kernels[Batched](x, index=index)
    try:
        read = readers.get(x.__class__)
        taken = x[index] if read is None else read(x, index)
        if not taken.shape and taken.__class__ is not x.__class__ and (x.shape or index == ()):
            # Also a view for a single entry, so that writing to it writes to `x`.
            taken = x[(*index, ...) if index.__class__ is tuple else (index, ...)]
    except IndexError as error:
        raise position_error("getitem", x, error) from None
    return taken


def _in_place(usual: Callable[..., None]) -> Callable[..., None]:
    """A step of a pull that adds to the array's cotangent in place, where only the pass holds it.

    So reading an array entry by entry costs a pass of its size once, and not for each entry.
    """

    def pull(node: Any, g: Any, cotangents: dict[Any, Any]) -> None:
        (parent,) = node.parents
        if parent in cotangents and node.saved is not FREED and (
            references(cotangents, parent) <= ALONE
        ):
            add_in = inserters.get(cotangents[parent].__class__)
            index = node.attrs["index"]
            if (
                add_in is not None and hasattr(g, "dtype") and not repeats(index)
                and add_in(cotangents[parent], index, g)
            ):
                return
        usual(node, g, cotangents)

    return pull


_getitem.op.around = _in_place


@_getitem.pullback("x")
def pullback_getitem(g: Any, shape: Any, *, index: Any) -> Any:
    return read_by(g, index, shape)


@_getitem.batching
def batch_getitem(x: Any, *, index: Any, hidden: tuple[bool, ...]) -> Any:
    has = hidden[0]
    where = plan(index, len(x.shape) - has, has, x.shape[0] if has else 0)
    return where.arranged(_getitem(x, where.parts))


@_getitem.shaping
def shape_getitem(x: Any, *, index: Any) -> Any:
    return indexed(x, index, "getitem")


def read_by(g: Any, index: Any, shape: Any) -> Any:
    """The cotangent of an array of shape `shape` that was read at an index.

    Where the examples of an inner vmap read one shared array at different indices, their
    cotangents are added into one array, instead of one array per example that is then summed.
    """
    for tag in index_tags(index):
        if tag not in tags_of(shape) and not is_running(tag):
            parts = opened(index, tag)
            where = plan(parts, len(shape), False, 0)
            g = OPS["show_axis"](g, axis=0, tag=tag, size=count_of(parts))
            order, index = where.inverse(), where.parts
            g = g if order is None else OPS["permute_dims"](g, order)
    return scatter(g, index=index, shape=tuple(shape))


@face_of(_getitem)
def getitem(x: Any, /, index: Any) -> Any:
    """x[index], for every NumPy index; a view if the index has only integers and slices.

    Raises `PositionError` (an `IndexError`) for an index out of range, `ArgumentTypeError` for an
    invalid index.

    >>> import numpy as np
    >>> getitem(np.array([1.0, 2.0, 3.0]), slice(1, None))
    array([2., 3.])
    """
    if index.__class__ is int:
        return _getitem(x, index)
    keep = isinstance(x, Tensor) and x._node is not None
    index = plain(index, keep=keep)
    return _getitem(beside(x, index), index)


@op(linear=True, dtype="x")
def scatter(xp: Any, x: Any, /, index: Any, shape: Any) -> Any:
    """Zeros of `shape` with `x` added at `index`: the adjoint of `getitem`.

    >>> import numpy as np
    >>> scatter(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]), (3,))
    array([4., 0., 2.])
    """
    if is_batched(index):
        return scatter.op.kernels[Batched](x, index=index, shape=shape)
    adapter = adapters[x.__class__]
    zeros = adapter.zeros(shape, x.dtype, x)
    return (adapter.accumulate if repeats(index) else adapter.assign)(zeros, index, x)


@scatter.pullback("x")
def pullback_scatter(g: Any, *, index: Any) -> Any:
    return _getitem(g, index)


@scatter.batching
def batch_scatter(x: Any, *, index: Any, shape: Any, hidden: tuple[bool, ...]) -> Any:
    size = x.shape[0] if hidden[0] else count_of(index)
    where = plan(index, len(shape), True, size)
    return scatter(where.placed(x, hidden[0]), where.parts, (size, *shape))


@scatter.shaping
def shape_scatter(x: Any, *, index: Any, shape: Any) -> Any:
    return requested(shape)


# Writing ------------------------------------------------------------------------------------


@op(name="set_at", dtype="x")
def _set_at(xp: Any, x: Any, value: Any, /, index: Any) -> Any:
    if is_batched(index):
        return _set_at.op.kernels[Batched](x, value, index=index)
    return _assign(adapters[x.__class__].copy(x), index, value, "set_at")


@_set_at.pullback("x")
def pullback_set_at_x(g: Any, *, index: Any) -> Any:
    return _set_at(g, 0.0, index)


@_set_at.pullback("value")
def pullback_set_at_value(g: Any, shape: Any, *, index: Any) -> Any:
    taken = _take_last(g, index) if repeats(index) else _getitem(g, index)
    return _as_value(taken, shape)


@_set_at.pushforward()
def pushforward_set_at(ts: Any, shapes: Any, *, index: Any) -> Any:
    tx, tv = ts
    return _set_at(_zeros_of(tv, shapes[0]) if tx is None else tx, 0.0 if tv is None else tv, index)


@_set_at.batching
def batch_set_at(x: Any, value: Any, *, index: Any, hidden: tuple[bool, ...]) -> Any:
    return _write_each(_set_at, x, value, index, hidden)


@_set_at.shaping
def shape_set_at(x: Any, value: Any, *, index: Any) -> Any:
    return written(x, value, index, "set_at")


def _zeros_of(like: Any, shape: Any) -> Any:
    return zeros_by(tuple(shape), raw(like))


def _write_each(write: Any, x: Any, value: Any, index: Any, hidden: tuple[bool, ...]) -> Any:
    """Out-of-place write where each example writes its own value."""
    has_x, has_value = hidden
    size = x.shape[0] if has_x else value.shape[0] if has_value else count_of(index)
    x = x if has_x else spread(x, size)
    where = plan(index, len(x.shape) - 1, True, size)
    return write(x, where.placed(value, has_value), where.parts)


def _as_value(taken: Any, shape: tuple[int, ...]) -> Any:
    """Leading axes of length 1, which an assigned value may have in excess of the region."""
    extra = len(shape) - len(taken.shape)
    return _getitem(taken, (*(None,) * extra, ...)) if extra > 0 else taken


@face_of(_set_at)
def set_at(x: Any, value: Any, /, index: Any) -> Any:
    """A copy of x whose entries at `index` are `value`, broadcast and cast to x.

    If an integer index repeats an entry, the last value is stored and has the derivative. Under
    vmap a batched mask is allowed, with a value that broadcasts to each entry, such as a number.

    >>> import numpy as np
    >>> set_at(np.zeros(3), 5.0, 1)
    array([0., 5., 0.])
    """
    x, value = stacked(x), stacked(value)
    _check_value(x, value, "set_at")
    if (mask := mask_of_each(index)) is not None:
        return choose(x, value, mask, "set_at")
    index = plain(index, keep=True)
    return _set_at(beside(x, index), value, index)


@op(name="take_last", linear=True, dtype="x")
def _take_last(xp: Any, x: Any, /, index: Any) -> Any:
    """x[index], or zero where a later part of the index selects the same entry: see `set_at`.

    >>> import numpy as np
    >>> _take_last(np.array([1.0, 2.0]), np.array([0, 0, 1]))
    array([0., 1., 2.])
    """
    if is_batched(index):
        return _take_last.op.kernels[Batched](x, index=index)
    taken = _read(x, index)
    order = xp.reshape(counted(prod(taken.shape), x), taken.shape)
    adapter = adapters[x.__class__]
    writer = adapter.assign(adapter.zeros(x.shape, order.dtype, x), index, order)
    return xp.where(_read(writer, index) == order, taken, xp.zeros_like(taken))


@_take_last.pullback("x")
def pullback_take_last(g: Any, shape: Any, *, index: Any) -> Any:
    return _set_at(_zeros_of(g, tuple(shape)), g, index)


@_take_last.batching
def batch_take_last(x: Any, *, index: Any, hidden: tuple[bool, ...]) -> Any:
    size = x.shape[0] if hidden[0] else count_of(index)
    x = x if hidden[0] else spread(x, size)
    where = plan(index, len(x.shape) - 1, True, size)
    return where.arranged(_take_last(x, where.parts))


@_take_last.shaping
def shape_take_last(x: Any, *, index: Any) -> Any:
    return indexed(x, index, "take_last")


@op(name="add_at", dtype="x")
def _add_at(xp: Any, x: Any, value: Any, /, index: Any) -> Any:
    if is_batched(index):
        return _add_at.op.kernels[Batched](x, value, index=index)
    adapter = adapters[x.__class__]
    return _writing(adapter.accumulate, adapter.copy(x), index, value, "add_at")


@_add_at.pullback("x")
def pullback_add_at_x(g: Any) -> Any:
    return g


@_add_at.pullback("value")
def pullback_add_at_value(g: Any, shape: Any, *, index: Any) -> Any:
    return _as_value(_getitem(g, index), shape)


@_add_at.pushforward()
def pushforward_add_at(ts: Any, shapes: Any, *, index: Any) -> Any:
    tx, tv = ts
    if tv is None:
        return tx
    return _add_at(_zeros_of(tv, shapes[0]) if tx is None else tx, tv, index)


@_add_at.batching
def batch_add_at(x: Any, value: Any, *, index: Any, hidden: tuple[bool, ...]) -> Any:
    return _write_each(_add_at, x, value, index, hidden)


@_add_at.shaping
def shape_add_at(x: Any, value: Any, *, index: Any) -> Any:
    return written(x, value, index, "add_at")


@face_of(_add_at)
def add_at(x: Any, value: Any, /, index: Any) -> Any:
    """A copy of x with `value` added to the entries at `index`, broadcast and cast to x.

    If an integer index repeats an entry, all its values are added.

    >>> import numpy as np
    >>> add_at(np.zeros(3), np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]))
    array([4., 0., 2.])
    """
    x, value = stacked(x), stacked(value)
    _check_value(x, value, "add_at")
    index = plain(index, keep=True)
    return _add_at(beside(x, index), value, index)


def assign_at(target: Tensor, index: Any, value: Any) -> None:
    """target[index] = value, in place: the implementation of `Tensor.__setitem__`.

    Updates the history of the target, of its base and of the other views of that base. Derivatives
    are those of `set_at`, but nothing is copied.

    Raises `InplaceError` for a leaf that requires a gradient (while recording), `DtypeError` where
    the cast would lose a derivative or an imaginary part.

    >>> import pullback as pb
    >>> w = pb.tensor(3.0, requires_grad=True)
    >>> y = pb.tensor([0.0, 0.0])
    >>> assign_at(y, 1, w * w)
    >>> pb.autograd.grad(pb.sum(y), w)
    (Tensor(6.),)
    """
    value = stacked(value)
    if target._assignable:  # a variable gets a new array; tapes do not record the assignment
        variable: Any = target
        variable.assign(set_at(target._data, raw(value), index))
        return
    check_writable(target, "setitem")
    _check_value(target, value, "setitem")
    if (mask := mask_of_each(index)) is not None:
        check_examples(target, "setitem", mask)
        overwrite(target, choose(target, value, mask, "setitem"), "setitem")
        return
    index = plain(index, keep=True)
    data = to_array(value, target._data)
    check_examples(target, "setitem", data, *parts_of(index))
    held = entered(target, data, index)
    target._data = written = _assign(held, index, data, "setitem")
    versions.written(written, "setitem")
    parents = (target._node, value._node if isinstance(value, Tensor) else None)
    node = None
    if parents != (None, None):
        node = record(_set_at.op, parents, (written, data), written, {"index": index})
    rewrite(target, node)


def _assign(array: Any, index: Any, value: Any, subject: str) -> Any:
    return _writing(adapters[array.__class__].assign, array, index, value, subject)


def _writing(write: Any, array: Any, index: Any, value: Any, subject: str) -> Any:
    """Write with an adapter's method; errors are re-raised in the library's format."""
    try:
        return write(array, index, value)
    except IndexError as error:
        raise position_error(subject, array, error) from None
    except ValueError as error:
        raise ShapeError(
            f"`{subject}`",
            "a value that broadcasts to the entries at the index, and a writable array",
            str(error),
            "reshape the value, or copy a read-only array",
        ) from None


def _check_value(x: Any, value: Any, subject: str) -> None:
    data = to_array(value)
    array = to_array(x)
    complex_value = is_complex(data) if hasattr(data, "dtype") else isinstance(data, complex)
    if complex_value and not is_complex(array):
        raise DtypeError(
            f"`{subject}`", f"a real value, for dtype {array.dtype}", "a complex one",
            "take its real part or its abs",
        )
    if isinstance(value, Tensor) and value._node is not None and not is_inexact(array):
        raise DtypeError(
            f"`{subject}`", "an array with a floating dtype, because the value is tracked",
            f"dtype {array.dtype}, which would lose the derivative",
            "convert the array to float first, or detach the value",
        )
