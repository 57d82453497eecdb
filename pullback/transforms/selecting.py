"""`safe_where`: evaluates each of two functions only for the entries that select it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy

from ..arrays import SCALARS, adapters, is_array, known
from ..arrays.batched import Batched
from ..core.op import OPS
from ..core.tensor import Tensor, raw, to_array, wrap
from ..errors import ArgumentTypeError, ShapeError, SymbolError
from ..ops import broadcast_arrays, broadcast_shapes, broadcast_to, concat
from .mapping import vmap

Branch = Callable[..., Any]


def safe_where(condition: Any, f: Any, g: Any, *operands: Any) -> Any:
    """Returns f(*operands) where the condition holds, else g(*operands); its gradient has no NaN.

    condition  booleans
    f, g       functions with one argument per operand; or a number, or an array. With a condition
               of one entry they can be any functions of the operands; only the selected one is
               called. With more entries they must be elementwise: they get the selected entries of
               the operands, as arrays of shape (k,), and are not called if there are none
    operands   arrays or Tensors; they broadcast with each other and with the condition

    The result has the broadcast shape, and the dtype of `where`. `where(x > 0, log(x), 0)` computes
    the logarithm everywhere, so that the backward pass multiplies zero by the infinite slope of
    entries that were not selected: NaN in most libraries. safe_where never computes these. In a
    `vmap`, a condition with one entry per example selects whole examples:
    `safe_where(any(row != 0), norm, 0.0, row)`. If the condition is not known yet (inside a JAX or
    `function` trace), f gets all entries, with a selected one in place of each other entry.

    Tensors that f and g close over are not selected: pass them as operands. Raises
    `ArgumentTypeError` for a condition that is not boolean, `ShapeError` if f or g is not
    elementwise, `SymbolError` for a condition of one entry that is not known yet.

    The problem, and the solution with two `where`s: JAX's frequently asked questions.

    >>> import pullback as pb
    >>> x = pb.tensor([4.0, 0.0, -1.0])
    >>> pb.safe_where(x > 0, pb.sqrt, 0.0, x)
    Tensor([2., 0., 0.])
    >>> pb.grad(lambda x: pb.sum(pb.safe_where(x > 0, pb.sqrt, 0.0, x)))(x)
    Tensor([0.25, 0.  , 0.  ])
    >>> ratio = pb.vmap(lambda a, b: pb.safe_where(b != 0, pb.divide, 0.0, a, b))
    >>> ratio(x, pb.tensor([2.0, 0.0, 4.0]))
    Tensor([ 2.  ,  0.  , -0.25])
    """
    given = [_tensor(x) for x in operands]
    test = _condition(condition, given)
    if not given:
        raise ArgumentTypeError(
            "safe_where", "at least one operand", "none",
            "pass the inputs of f and g as operands: safe_where(x > 0, f, g, x)",
        )
    one = len(test.shape) == 0
    count = len(given)
    given += [_tensor(b) for b in (f, g) if _is_array(b)]
    first = _branch(f, slice(count), count, one)
    second = _branch(g, slice(count), len(given) - 1, one)
    if one and test._data.__class__ is not Batched and known(test._data) is not None:
        return (first if bool(test._data) else second)(*given)
    if not one:
        test, *given = broadcast_arrays(test, *given)
    return _selected(test, first, second, given, one)


def _selected(test: Tensor, f: Branch, g: Branch, given: list[Tensor], one: bool) -> Any:
    """safe_where for a condition with several entries, or with one entry per example."""
    hidden: list[tuple[int, int]] = []
    while test._data.__class__ is Batched:
        tag, size = test._data.tag, test._data.value.shape[0]
        test, *given = [OPS["show_axis"](x, axis=0, tag=tag, size=size) for x in (test, *given)]
        hidden.append((tag, size))
    lead = tuple(size for _, size in reversed(hidden)) if one else test.shape
    if one and not hidden:
        raise SymbolError(
            "argument `condition` of safe_where", "known booleans, or one boolean per entry",
            "one that is known only when the graph runs", "use pullback.graphs.cond there",
        )
    mask = known(test._data)
    if mask is None and not one:
        out = _substituted(test, f, g, given, test.shape)
    else:
        rows = [OPS["reshape"](x, (prod(lead), *x.shape[len(lead) :])) for x in given]
        flat = OPS["reshape"](test, (prod(lead),))
        first, second = (vmap(f), vmap(g)) if one else (f, g)
        if mask is None:
            found = _substituted(flat, first, second, rows, None)
        else:
            chosen = adapters[mask.__class__].numpy(flat._data)
            found = _gathered(chosen, first, second, rows, one)
        out = OPS["reshape"](found, (*lead, *found.shape[1:]))
    for tag, _ in reversed(hidden):
        out = OPS["hide_axis"](out, axis=0, tag=tag)
    return out


def _gathered(mask: Any, f: Branch, g: Branch, rows: list[Tensor], one: bool) -> Any:
    """Calls each function on its rows, and puts the results in their places."""
    where = [numpy.flatnonzero(mask), numpy.flatnonzero(~mask)]
    parts = [
        _result(branch, [_take(x, index) for x in rows], name, None if one else (len(index),))
        for branch, index, name in ((f, where[0], "f"), (g, where[1], "g")) if len(index)
    ]
    if not parts:
        return _result(f, rows, "f", None if one else (0,))
    if len(parts) == 1:
        return parts[0]
    common = broadcast_shapes(*[p.shape[1:] for p in parts])
    joined = concat([broadcast_to(_beside(p, common), (len(p), *common)) for p in parts], axis=0)
    return _take(joined, numpy.argsort(numpy.concatenate(where)))


def _substituted(test: Any, f: Branch, g: Branch, rows: list[Tensor], shape: Any) -> Any:
    """Calls both functions on all rows, with each unselected row replaced by a selected one."""
    count = len(test.shape)

    def only(test: Any) -> list[Any]:
        flat = OPS["reshape"](test, (-1,))
        some = OPS["argmax"](OPS["astype"](flat, dtype=numpy.int32), axis=0)
        ones = [OPS["reshape"](x, (-1, *x.shape[count:]))[some] for x in rows]
        return [OPS["where"](_beside(test, x.shape[count:]), x, r)
                for x, r in zip(rows, ones, strict=True)]

    first, second = _result(f, only(test), "f", shape), _result(g, only(~test), "g", shape)
    common = broadcast_shapes(first.shape[count:], second.shape[count:])
    return OPS["where"](_beside(test, common), _beside(first, common), _beside(second, common))


def _beside(rows: Any, shape: tuple[int, ...]) -> Any:
    """Appends axes to rows, so that they broadcast with rows of this shape."""
    missing = len(shape) - len(rows.shape) + 1
    if missing <= 0:
        return rows
    return OPS["reshape"](rows, (rows.shape[0], *[1] * missing, *rows.shape[1:]))


def _result(branch: Branch, rows: list[Any], name: str, shape: Any) -> Any:
    """The result of a function for rows; checks its shape unless `shape` is None."""
    out = branch(*rows)
    if shape is not None and tuple(out.shape) != tuple(shape):
        raise ShapeError(
            f"argument `{name}` of safe_where", "an elementwise function: a result of shape "
            f"{tuple(shape)} from operands of {tuple(shape)}", f"shape {tuple(out.shape)}",
            "select whole arrays with a condition of one entry, rows of them inside a vmap",
        )
    return out


def _branch(value: Any, own: slice, place: int, one: bool) -> Branch:
    """A function of all operands: a slice of them, one of them, or a constant."""
    if _is_array(value):
        return lambda *xs: xs[place]
    if isinstance(value, SCALARS):
        return lambda *xs: _constant(value, xs[0], one)
    if not callable(value):
        raise ArgumentTypeError(
            "argument `f` or `g` of safe_where", "a function, a number or an array",
            f"a {type(value).__name__}",
        )
    return lambda *xs: _tensor(value(*xs[own]))


def _constant(value: Any, x: Any, one: bool) -> Any:
    """A number of shape () if whole arrays are selected, else of an operand's shape."""
    if not one:
        return OPS["zeros_like"](x) + value
    like = x._data
    while like.__class__ is Batched:
        like = like.value
    return wrap(x._out, adapters[like.__class__].zeros((), x.dtype, like)) + value


def _is_array(value: Any) -> bool:
    return isinstance(value, Tensor) or is_array(value)


def _take(x: Any, index: Any) -> Any:
    return x[adapters[x._data.__class__].asarray(index, like=x._data)]


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else wrap(Tensor, to_array(x))


def _condition(condition: Any, given: Sequence[Any]) -> Any:
    test = _tensor(condition)
    if "bool" not in str(raw(test).dtype):
        raise ArgumentTypeError(
            "argument `condition` of safe_where", "booleans", f"dtype {test.dtype}",
            "compare: safe_where(x > 0, f, g, x)",
        )
    return test
