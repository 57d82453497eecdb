"""The order of memory that a tensor of a graph would have if the same code ran eagerly.

A graph has no memory, but whether `reshape` shares memory with its argument depends on the order
of that, and so does what a later write in place reaches. Arguments are assumed to be in row-major
order; a call checks that where a write relied on it. Where the order is not known, such a write is
an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple
from weakref import ref

import numpy

from ..arrays import adapters
from ..arrays.batched import bare
from ..arrays.symbol import Symbol, is_open
from ..core.inplace import register
from ..core.op import OPS, Op
from ..core.tensor import Tensor
from ..errors import ArgumentError, InplaceError
from ..kinds import symbols as _symbols
from ..kinds.symbols import current_graph
from .closure import CLOSED
from .func_graph import ARGUMENT, CAPTURED, Body
from .sources import PLACEHOLDER, PLACEHOLDER_WITH_DEFAULT

Inputs = frozenset["ref[Symbol]"]
_NONE: Inputs = frozenset()


class Layout(NamedTuple):
    """Strides in entries, and the inputs of which row-major order was assumed to find them."""

    strides: tuple[int, ...]
    assumed: Inputs = _NONE


class Sharing(dict[str, Any]):
    """The attributes of a `reshape` that shares memory or copies, as it depends on an order.

    assumed  the inputs that were taken to be in row-major order; None: the order is not known
    """

    assumed: Inputs | None = None


FRESH = frozenset((
    "add_at", "all", "any", "argmax", "argmin", "astype", "concat", "count_nonzero",
    "cumulative_prod", "cumulative_sum", "full_like", "log_softmax", "logsumexp", "matmul", "max",
    "mean", "min", "ones_like", "pad", "prod", "put_view", "repeat", "scatter", "set_at", "softmax",
    "stack", "std", "sum", "take", "tile", "tril", "triu", "var", "zeros_like",
))
"""Operations that, as elementwise ones, give row-major order where all that they take has it."""
VIEWS = frozenset((
    "broadcast_to", "expand_dims", "getitem", "matrix_transpose", "permute_dims", "reshape",
    "squeeze",
))
"""Operations of which the strides follow from those of their argument."""


def layout_of(symbol: Symbol) -> Layout | None:
    """The layout of a symbol; None where it is not known."""
    stack = [symbol]
    while stack:
        last = stack[-1]
        missing = [] if hasattr(last, "layout") else [
            s for s in _takes(last) if not hasattr(s, "layout")
        ]
        if missing:
            stack += missing
            continue
        if not hasattr(last, "layout"):
            last.layout = _computed(last)
        stack.pop()
    found: Layout | None = symbol.layout
    return found


def _takes(symbol: Symbol) -> list[Symbol]:
    operation = symbol.operation
    if operation.op is CAPTURED:
        return [_outer(symbol)]
    return [a for a in operation.args if a.__class__ is Symbol] if _is_known(operation.op) else []


def _outer(symbol: Symbol) -> Symbol:
    """The symbol of the graph around that a captured one stands for."""
    captured = symbol.operation.graph.captured.values()
    found: Symbol = next(s for s, own in captured if own is symbol)
    return found


def _is_known(op: Any) -> bool:
    return isinstance(op, Op) and (
        (op.elementwise and not op.view) or op.name in FRESH or op.name in VIEWS
        or op.name == "take_view"
    )


def _computed(symbol: Symbol) -> Layout | None:
    if is_open(symbol.shape):
        return None
    operation, op = symbol.operation, symbol.operation.op
    shape = tuple(symbol.shape)
    if op is CAPTURED:
        return layout_of(_outer(symbol))
    if op is CLOSED or (op is ARGUMENT and operation.graph.closure is not None):
        return Layout(row_major(shape), frozenset([ref(symbol)]))
    if op in (PLACEHOLDER, PLACEHOLDER_WITH_DEFAULT) or getattr(op, "name", "") == "random":
        return Layout(row_major(shape))
    if operation.value is not None:
        return _of_constant(symbol)
    if not _is_known(op):
        return None
    layouts = [
        (layout_of(a), tuple(a.shape)) for a in operation.args if a.__class__ is Symbol
    ]
    if op.name == "take_view":
        return _through(symbol, *layouts[0], operation.attrs["steps"])
    if op.view and op.name in VIEWS:
        return _through(symbol, *layouts[0], [(op, operation.attrs)])
    if prod(shape) <= 1 or (op.name == "matmul" and all(len(own) <= 2 for _, own in layouts)):
        return Layout(row_major(shape))
    if any(
        found is None or not is_row_major(own, found.strides)
        for found, own in layouts if len(own) > 0
    ):
        return None
    assumed = [found.assumed for found, own in layouts if found is not None and len(own) > 0]
    return Layout(row_major(shape), frozenset().union(*assumed))


def _of_constant(symbol: Symbol) -> Layout | None:
    """Of a constant: of the very array that it was made of, where that has strides."""
    known = symbol.operation.graph._constants.values()
    array = next((a for a, own in known if own is symbol), symbol.operation.value)
    return Layout(row_major(tuple(array.shape))) if in_row_major_order(array) else None


def _through(
    symbol: Symbol, found: Layout | None, shape: Any, steps: Iterable[Any]
) -> Layout | None:
    """The layout of a symbol that operations take as a view of an array of a shape."""
    if found is None:
        return None
    array: Any = _stand_in(shape, found.strides)
    for op, attrs in steps:
        copied = _copies_backwards(symbol) and _is_backwards(attrs.get("index"))
        if copied or op.name not in VIEWS or not _is_plain(attrs):
            return None
        array = _viewed(op, array, attrs)
        if array is None:
            return None
    return Layout(array.strides, found.assumed)


def _stand_in(shape: Any, strides: Any) -> Any:
    """An array of bytes with a shape and strides, which must not be read."""
    return numpy.lib.stride_tricks.as_strided(numpy.empty(1, numpy.int8), shape, strides)


def _viewed(op: Any, array: Any, attrs: Mapping[str, Any]) -> Any:
    """What a view operation gives, with the strides of memory; a copy is in row-major order."""
    kernel = op.kernels[numpy.ndarray]
    if op.name != "reshape":
        return kernel(array, **attrs)
    try:
        shared = None if attrs.get("copy") else kernel(array, shape=attrs["shape"], copy=False)
    except ValueError:
        shared = None
    if shared is None:
        wanted = numpy.empty(1, numpy.int8)
        shape = kernel(numpy.broadcast_to(wanted, (array.size,)), shape=attrs["shape"], copy=None)
        return _stand_in(shape.shape, row_major(shape.shape))
    return shared


def _is_plain(attrs: Mapping[str, Any]) -> bool:
    """Whether attributes are numbers and slices only, so that an index picks a view."""
    index = attrs.get("index", ())
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or part.__class__ is int or (
            isinstance(part, slice)
            and all(n is None or n.__class__ is int for n in (part.start, part.stop, part.step))
        )
        for part in parts
    ) and all(map(_is_number, [attrs.get(name) for name in ("shape", "axis", "axes")]))


def _is_number(value: Any) -> bool:
    """Whether an attribute is a number, or several: not one that the graph computes."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return all(n is None or isinstance(n, (int, numpy.integer)) for n in parts)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in entries, of row-major order.

    >>> row_major((2, 3))
    (3, 1)
    """
    found, step = [], 1
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(reversed(found))


def is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether strides are those of row-major order, as far as that matters.

    >>> is_row_major((2, 3), (1, 2)), is_row_major((1, 3), (9, 1))
    (False, True)
    """
    pairs = zip(shape, strides, row_major(shape), strict=True)
    return 0 in shape or all(n == 1 or found == wanted for n, found, wanted in pairs)


def in_row_major_order(array: Any) -> bool:
    """Whether an array's memory is in row-major order; True for one of a library without strides.

    >>> in_row_major_order(numpy.ones((2, 3)).T)
    False
    """
    array = bare(array)
    flags = getattr(array, "flags", None)
    if flags is not None:
        return bool(flags.c_contiguous)
    strided = getattr(array, "is_contiguous", None)
    return True if strided is None else bool(strided())


# Where a tensor shares memory -----------------------------------------------------------------


def view_in_graph(op: Any, base: Tensor, view: Tensor, attrs: Mapping[str, Any]) -> Any:
    """The attributes with which a view operation on a symbol is a view; None if it copies."""
    held: Symbol = base._data
    if op.name == "getitem" and _copies_backwards(held) and _is_backwards(attrs["index"]):
        return None
    if op.name != "reshape" or _has_no_memory(held) or attrs.get("copy") is False:
        return attrs
    if not is_open(held.shape) and not is_open(view._data.shape):
        shape = tuple(held.shape)
        if shape == tuple(view._data.shape) or sum(n != 1 for n in shape) <= 1:
            return attrs  # which any order allows
    found = None if is_open(view._data.shape) else layout_of(held)
    if found is None:
        return _sharing(attrs, None)
    array = _stand_in(tuple(held.shape), found.strides)
    try:
        OPS["reshape"].op.kernels[numpy.ndarray](array, shape=tuple(view._data.shape), copy=False)
    except ValueError:
        _decided(base, view, found.assumed)
        return None
    return _sharing(attrs, found.assumed) if found.assumed else attrs


def _has_no_memory(symbol: Symbol) -> bool:
    """Whether the arrays that a symbol stands for are of a library that shares no memory."""
    return getattr(adapters[symbol.kind], "immutable", False)


def _copies_backwards(symbol: Symbol) -> bool:
    """Whether the arrays that a symbol stands for have no views in reverse order."""
    return getattr(adapters[symbol.kind], "forward_only", False)


def _is_backwards(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(p, slice) and p.step.__class__ is int and p.step < 0 for p in parts)


def _sharing(attrs: Mapping[str, Any], assumed: Inputs | None) -> Sharing:
    made = Sharing(attrs)
    made.assumed = assumed
    return made


def _decided(base: Tensor, view: Tensor, assumed: Inputs) -> None:
    """Note that two tensors share memory or do not, as the order of some inputs has it."""
    graph = current_graph()
    if assumed and isinstance(graph, Body):
        graph.decided = [d for d in graph.decided if d[0]() is not None and d[1]() is not None]
        graph.decided.append((ref(base), ref(view), assumed))


def contiguous(x: Tensor) -> Any:
    """A tensor of a graph, or a copy of it, as it is eagerly in row-major order or not."""
    held: Symbol = x._data
    found = layout_of(held)
    if _has_no_memory(held):
        return x
    if found is not None and is_row_major(tuple(held.shape), found.strides):
        _decided(x, x, found.assumed)
        return x
    made = OPS["reshape"](x, x.shape if is_open(held.shape) else tuple(held.shape), copy=True)
    if found is None:
        register(made, x, OPS["reshape"].op, _sharing({"shape": made.shape, "copy": None}, None))
    else:
        _decided(x, made, found.assumed)
    return made


def check_shared(target: Tensor, name: str) -> None:
    """Raise an `InplaceError` for a write of which it is not known what else it changes.

    Note the inputs whose order was assumed to know it: each call checks them.
    """
    members = list(_sharers(target))
    for member in members:
        for _, attrs in (getattr(member, "_view_of", None) or (None, ()))[1]:
            if attrs.__class__ is Sharing:
                if attrs.assumed is None:
                    raise InplaceError(
                        f"in-place `{name}` in a graph", "a tensor of which it is known, while the "
                        "graph is built, which others share its memory",
                        "one with a result of reshape, ravel, flatten or contiguous, which copy or "
                        "share memory as its order has it",
                        "write to a copy: y = pullback.asarray(x, copy=True) or x.clone()",
                    )
                _assume(attrs.assumed)
    graph, ids = current_graph(), set(map(id, members))
    while graph is not None:
        for one, other, assumed in getattr(graph, "decided", ()):
            some, others = one(), other()
            if some is not None and others is not None and ids & {id(some), id(others)}:
                _assume(assumed)
        graph = getattr(graph, "outer", None)


def _sharers(target: Tensor) -> Iterator[Tensor]:
    """All tensors that may share memory with one."""
    found: dict[int, Tensor] = {}
    stack = [target]
    while stack:
        tensor = stack.pop()
        if id(tensor) in found:
            continue
        found[id(tensor)] = tensor
        source = (getattr(tensor, "_view_of", None) or (tensor,))[0]
        views = getattr(source, "_views", ())
        twins = getattr(tensor, "_views", None)
        others = [source, getattr(twins, "origin", None), *[r() for r in views]]
        others += [r() for r in getattr(twins, "detached", ())]
        stack += [t for t in others if t is not None]
    yield from found.values()


def _assume(inputs: Inputs) -> None:
    for reference in inputs:
        symbol = reference()
        if symbol is not None:
            symbol.operation.graph.assumed[symbol] = None


def written(before: Any, after: Any) -> Any:
    """A symbol that is what was written to the memory of another one, and has its order."""
    if before.__class__ is Symbol and after is not before:
        after.layout = layout_of(before)
    return after


later: Any = _symbols.later
later.written, later.view_in_graph, later.check_shared = written, view_in_graph, check_shared


# Calls ----------------------------------------------------------------------------------------


def check_order(body: Body, feeds: Sequence[Symbol], args: Sequence[Any], name: str) -> None:
    """Raise an `ArgumentError` for an input that is not in row-major order, as was assumed.

    feeds, args  the inputs of a body, and what a call puts in their place
    """
    for i, (symbol, value) in enumerate(zip(feeds, args, strict=False)):
        if symbol in body.assumed and not _is_ordered(value):
            which = f"argument {i}" if i < len(body.arguments) else "a tensor closed over"
            raise ArgumentError(
                f"{which}, in the traced function `{name}`",
                "memory in row-major order: the function reshapes it, or what it computes from it, "
                "and writes to memory that both share if the order allows it",
                "another order, as of a transposed tensor",
                "write to a copy in the function (pullback.asarray(x, copy=True), x.clone()), or "
                "pass one",
            )


def _is_ordered(value: Any) -> bool:
    """Whether an input is in row-major order; that of a graph around it is assumed in turn."""
    data = value._data if isinstance(value, Tensor) else value
    if data.__class__ is not Symbol:
        return in_row_major_order(data)
    found = layout_of(data)
    if found is None or not is_row_major(tuple(data.shape), found.strides):
        return False
    _assume(found.assumed)
    return True
