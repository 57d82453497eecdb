"""Kernels on batched arrays: each operation in terms of itself, with the hidden axis in front.

An elementwise operation needs no rule: shapes are aligned, and the operation runs on the arrays
inside. The others have one (`@f.batching`) that says what becomes of axes. Nothing loops over
examples; an operation of a user's that has no rule does, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy

from .._parameters import parameters_of
from ..arrays import SCALARS, adapters, dominant
from ..arrays.batched import Batched, spread, tags_of
from ..arrays.batched_index import index_tags, opened
from ..errors import BatchedValueError, LoopWarning, warn
from . import symbols


class Mapping:
    """One `vmap` that is running.

    randomness   "different": random numbers are drawn for each example; "same"; or "error"
    """

    __slots__ = ("randomness", "size", "tag")

    def __init__(self, tag: int, size: int, randomness: str) -> None:
        self.tag, self.size, self.randomness = tag, size, randomness


_running: ContextVar[tuple[Mapping, ...]] = ContextVar("pullback_vmaps", default=())
running: Callable[[], tuple[Mapping, ...]] = _running.get
"""The vmaps that are running in this thread, the outermost first."""
enter = _running.set
leave = _running.reset


def is_running(tag: int) -> bool:
    """Whether the vmap of a tag is running."""
    return any(vmap.tag == tag for vmap in running())


@contextmanager
def each_example(*shapes: Any) -> Iterator[None]:
    """As if the vmaps that these shapes have hidden axes of were running: nothing is summed.

    For a transposition within one node, after its vmap has ended.
    """
    known = {vmap.tag for vmap in running()}
    ended = {tag for shape in shapes for tag in tags_of(shape) if tag not in known}
    if not ended:
        yield
        return
    token = enter((*(Mapping(tag, 0, "same") for tag in sorted(ended)), *running()))
    try:
        yield
    finally:
        leave(token)


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
        rule = op.batch
        if rule is not None:
            made = rule(values, hidden, size, attrs)
        elif op.elementwise:
            made = _aligned(op, values, hidden, attrs)
        else:
            made = _looped(op, values, hidden, size, attrs)
        if len(op.outputs) > 1:
            return tuple([Batched(part, tag) for part in made])
        return Batched(adapters[made.__class__].adopt(made), tag)

    return kernel


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
    from .op import OPS

    return OPS["reshape"](array, shape)


def _looped(
    op: Any, values: list[Any], hidden: list[bool], size: int, attrs: dict[str, Any]
) -> Any:
    """An operation without a rule, example by example, with one warning that names it."""
    from .op import OPS

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
    draw: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...], who: str,
    dtype: Any = "float64",
) -> Any:
    """Random numbers of a shape from `draw(shape)`: inside vmap, others for each example.

    While a graph is built, the symbol of numbers that are drawn when it runs.
    """
    if symbols.current_graph() is not None:
        return symbols.later.random(draw, shape, who, numpy.dtype(dtype))
    maps = [vmap for vmap in running() if vmap.randomness != "same"]
    if any(vmap.randomness == "error" for vmap in maps):
        raise BatchedValueError(
            f"`{who}` inside vmap(…, randomness=\"error\")", "no random numbers",
            "a draw", 'pass randomness="different" or "same" to vmap',
        )
    sizes = tuple([vmap.size for vmap in maps])
    array = draw((*sizes, *shape))
    return hidden_under(array, [vmap.tag for vmap in maps])


def hidden_under(array: Any, tags: Sequence[int]) -> Any:
    """The array with its leading axes hidden, the first under the first (outermost) tag."""
    if not tags:
        return array
    # Outermost tag innermost: Batched(Batched(array[outer, inner, …], outer), inner).
    inner = array
    for tag in tags:
        inner = Batched(inner, tag)
    return inner


def plain_of(array: Any, tags: Sequence[int], sizes: Sequence[int]) -> Any:
    """The array with all its hidden axes in front, the outermost first: what solvers work on."""
    from ..arrays.batched import show

    for tag, size in sorted(zip(tags, sizes, strict=True), reverse=True):
        array = show(array, 0, tag, size)
    return array


def bare(array: Any) -> Any:
    """The array below all hidden axes."""
    while array.__class__ is Batched:
        array = array.value
    return array


def adapter_of(array: Any) -> Any:
    """The adapter of the library an array is of, below all hidden axes."""
    return adapters[bare(array).__class__]


def zeros_by(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """Zeros of a shape, where an array is, in its dtype unless another is given; all examples'."""
    own = bare(like)
    return adapters[own.__class__].zeros(shape, own.dtype if dtype is None else dtype, own)


def counted(n: int, like: Any) -> Any:
    """0, 1, … n - 1, where an array is; the same for all examples."""
    own = bare(like)
    return adapters[own.__class__].asarray(numpy.arange(n), None, own)


def identity_matrix(n: int, like: Any) -> Any:
    """The identity matrix of n rows, where an array is, in its dtype; the same for all examples."""
    own = bare(like)
    return adapters[own.__class__].asarray(numpy.eye(n), own.dtype, own)
