"""Kernels on batched arrays: each operation in terms of itself, with the hidden axis in front.

An elementwise operation needs no rule: shapes are aligned, and the operation runs on the arrays
inside. The others have one (`@f.batching`) that says what becomes of axes. Nothing loops over
examples; an operation of a user's that has no rule does, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .._parameters import parameters_of
from ..arrays import SCALARS, adapters, dominant
from ..arrays.batched import Batched, bare, hidden_under, spread
from ..arrays.batched_index import index_tags, opened
from ..arrays.symbol import Symbol, is_open
from ..core.op import OPS
from ..errors import BatchedValueError, LoopWarning, SymbolError, warn
from . import symbols
from .shapes import axes_of
from .vmaps import running


class BatchingRule:
    """What becomes of an operation's call when arrays have a hidden axis in front.

    function   takes the arrays, each with the hidden axis in front, and the attributes by keyword
    hidden     it has a keyword-only parameter `hidden`, which says for each array whether it has
               that axis; without it, arrays that have none are repeated along one (as a view)
    """

    __slots__ = ("function", "hidden")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.hidden = "hidden" in parameters_of(function).keyword_only

    def __call__(
        self, values: list[Any], hidden: Sequence[bool], size: int, attrs: dict[str, Any]
    ) -> Any:
        """The result, with the hidden axis in front."""
        if self.hidden:
            return self.function(*values, hidden=tuple(hidden), **attrs)
        like = bare(next(v for v, has in zip(values, hidden, strict=True) if has))
        whole = [
            v if has else spread(_of_library(v, like), size)
            for v, has in zip(values, hidden, strict=True)
        ]
        return self.function(*whole, **attrs)


def _of_library(value: Any, like: Any) -> Any:
    """A Python number as an array of another's library; an array as it is."""
    if value.__class__ not in SCALARS:
        return value
    return adapters[like.__class__].asarray(value, None, like)


def kernel_of(op: Any) -> Callable[..., Any]:
    """The kernel of an operation on batched arrays.

    In an attribute `index` may stand batched arrays too: the rule finds an `Each` for them.
    """

    rules: dict[Any, BatchingRule] = {}

    def kernel(*args: Any, **attrs: Any) -> Any:
        tags = [a.tag for a in args if a.__class__ is Batched]
        index = attrs.get("index")
        if index is not None:  # may have other positions for each example
            tags += index_tags(index)
        tag = max(tags)
        if index is not None:
            attrs["index"] = opened(index, tag)
        values: list[Any] = []
        hidden: list[bool] = []
        size = 0
        for a in args:
            has = a.__class__ is Batched and a.tag == tag
            values.append(a.value if has else a)
            hidden.append(has)
            if has:
                size = a.value.shape[0]
        if op.batch is not None:
            rule = rules.get(op.batch) or rules.setdefault(op.batch, BatchingRule(op.batch))
            made = rule(values, hidden, size, attrs)
        elif op.elementwise:
            made = _aligned(op, values, hidden, attrs)
        elif op.shape == "reduced":
            axes = seen_axes(values[0], attrs["axis"], op.name)
            axis = axes[0] if axes and isinstance(attrs["axis"], int) else axes
            made = op.function(values[0], **{**attrs, "axis": axis})
        else:
            made = _looped(op, values, hidden, size, attrs)
        if len(op.outputs) > 1:
            return tuple([Batched(part, tag) for part in made])
        return Batched(adapters[made.__class__].adopt(made), tag)

    if op.elementwise and not op.required and not op.variadic and len(op.outputs) == 1:
        return _short(op, kernel)
    return kernel


def _short(op: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an elementwise operation without attributes, written out for plain cases.

    Those are one array, and two whose axes are lined up as they are: of one `vmap` and rank, or one
    of a `vmap` and a constant of no higher rank. `kernel` does the others.
    """
    kernels = op.kernels

    def one(x: Any) -> Any:
        if op.batch is not None:
            return kernel(x)
        value = x.value
        made = kernels[value.__class__](value)
        return Batched(adapters[made.__class__].adopt(made), x.tag)

    def two(x1: Any, x2: Any) -> Any:
        if op.batch is not None:
            return kernel(x1, x2)
        if x1.__class__ is not Batched:
            a, b, tag = x1, x2.value, x2.tag
            fits = a.__class__ is not Symbol and len(getattr(a, "shape", ())) < len(b.shape)
        elif x2.__class__ is not Batched:
            a, b, tag = x1.value, x2, x1.tag
            fits = b.__class__ is not Symbol and len(getattr(b, "shape", ())) < len(a.shape)
        else:
            a, b, tag = x1.value, x2.value, x1.tag
            fits = tag == x2.tag and len(a.shape) == len(b.shape)
        if not fits:
            return kernel(x1, x2)
        kind = a.__class__
        made = kernels[kind if b.__class__ is kind else dominant[kind, b.__class__]](a, b)
        return Batched(adapters[made.__class__].adopt(made), tag)

    if len(op.arguments) == 1:
        return one
    return two if len(op.arguments) == 2 else kernel


def _aligned(op: Any, values: list[Any], hidden: list[bool], attrs: dict[str, Any]) -> Any:
    """An elementwise operation on arrays whose axes are lined up behind the hidden one."""
    if len(values) > 1:
        ranks = [
            len(getattr(v, "shape", ())) - has for v, has in zip(values, hidden, strict=True)
        ]
        rank = max(ranks)
        for i, own in enumerate(ranks):
            if hidden[i] and own < rank:
                shape = values[i].shape
                values[i] = _reshaped(values[i], (shape[0], *(1,) * (rank - own), *shape[1:]))
    kind = values[0].__class__
    for v in values[1:]:
        if v.__class__ is not kind:
            kind = dominant[kind, v.__class__]
    return op.kernels[kind](*values, **attrs)


def _reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    return OPS["reshape"](array, shape)


def seen_axes(x: Any, axis: Any, subject: str) -> tuple[int, ...]:
    """The axes of a reduction of each example, counted with the batch axis in front.

    A number (no axes) accepts axis 0, as NumPy's reductions do.
    """
    rank = len(x.shape) - 1
    if not rank and axis in (0, -1):
        return ()
    return tuple([a + 1 for a in axes_of(axis, rank, subject)])


def _looped(
    op: Any, values: list[Any], hidden: list[bool], size: int, attrs: dict[str, Any]
) -> Any:
    """An operation without a rule, example by example, with one warning that names it."""
    if not op.looped:
        op.looped = True
        warn(
            f"vmap: `{op.name}` has no batching rule and runs once for each example; "
            f"give it one with @{op.name}.batching", LoopWarning,
        )
    if not size:
        raise BatchedValueError(
            f"`{op.name}` under vmap", "at least one example, as it has no batching rule", "none",
            f"give it a rule with @{op.name}.batching",
        )
    results = []
    for i in range(size):
        args = [v[i] if has else v for v, has in zip(values, hidden, strict=True)]
        results.append(op.function(*args, **attrs))
    return OPS["stack"](results, axis=0)


# What rules and transformations share ---------------------------------------------------------


def drawn(
    draw: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...], subject: str,
    dtype: Any = "float64",
) -> Any:
    """Random numbers of a shape from `draw(shape)`: inside vmap, others for each example.

    While a graph is built, the symbol of numbers that are drawn when it runs; then vmaps around the
    graph apply, and here those inside it.
    """
    graph = symbols.current_graph()
    start = 0 if graph is None else _start_of(graph)
    maps = [vmap for vmap in running() if vmap.randomness != "same" and vmap.tag > start]
    if any(vmap.randomness == "error" for vmap in maps):
        raise BatchedValueError(
            f"`{subject}` inside vmap(…, randomness=\"error\")", "no random numbers",
            "a draw", 'pass randomness="different" or "same" to vmap',
        )
    sizes = tuple([vmap.size for vmap in maps])
    if graph is None:
        array = draw((*sizes, *shape))
    else:
        if sizes and is_open(shape):
            raise SymbolError(
                f"`{subject}` inside vmap, while a graph is built", "a shape that is known",
                f"{shape!r}", "draw outside vmap, and map over the numbers",
            )
        whole = (*sizes, *shape) if sizes else shape
        array = symbols.later.random(draw, whole, subject, numpy.dtype(dtype))
    return hidden_under(array, [vmap.tag for vmap in maps])


def _start_of(graph: Any) -> int:
    """The number at which the tracing began that a graph belongs to; 0 for one built by hand."""
    while getattr(graph, "outer", None) is not None:
        graph = graph.outer
    return int(getattr(graph, "start", 0))




class _Adapter(type(adapters[Batched])):  # type: ignore[misc]  # of an object in the table
    """The adapter of batched arrays, with the kernels of operations."""

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """The kernel of an operation, by its batching rule."""
        return kernel_of(OPS[name].op) if name in OPS else None


adapters[Batched] = _Adapter()
