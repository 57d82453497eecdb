"""Branches and loops of a graph inside `vmap`: hidden axes are shown to them, and hidden again.

An operation of a graph takes symbols, which have no hidden axes. So these are put in front of what
a branch or loop takes and returns, and hidden from its functions. Which axes a result has is known
once a function has run: then the operation is built anew with these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..arrays import adapters
from ..arrays.batched import Batched, bare
from ..core.op import OPS
from ..core.tensor import Tensor, raw
from ..trees import flatten

Sizes = dict[int, int]
"""The hidden axes of an array: tag -> length, the outermost vmap's first."""
T = TypeVar("T")


def sizes_of(value: Any) -> Sizes:
    """The hidden axes of a Tensor or array.

    >>> import numpy as np
    >>> sizes_of(Batched(Batched(np.ones((5, 3)), 1), 7))
    {1: 5, 7: 3}
    """
    data, found = raw(value), {}
    while data.__class__ is Batched:
        found[data.tag] = data.value.shape[0]
        data = data.value
    return dict(sorted(found.items()))


def merged(*sizes: Sizes) -> Sizes:
    """All the hidden axes that some arrays have."""
    found: Sizes = {}
    for some in sizes:
        found |= some
    return dict(sorted(found.items()))


def shown(value: Any, sizes: Sizes, axis: int = 0) -> Any:
    """A Tensor with its hidden axes, and those that it lacks, at an axis, with its history."""
    for tag, size in sorted(sizes.items(), reverse=True):
        value = OPS["show_axis"](value, axis=axis, tag=tag, size=size)
    return value


def hidden(value: Any, sizes: Sizes, axis: int = 0) -> Any:
    """A Tensor with axes hidden, with its history."""
    for tag in sizes:
        value = OPS["hide_axis"](value, axis=axis, tag=tag)
    return value


def going(answer: Any, before: Any) -> Any:
    """Whether a loop goes on; for which examples, where that differs; False for none of them.

    answer  what its condition says, an array or a Tensor
    before  the same of the turn before, which some examples may not have had
    """
    if raw(answer).__class__ is not Batched and raw(before).__class__ is not Batched:
        return bool(answer)
    answer = OPS["astype"](answer, bool)
    if raw(before).__class__ is Batched:
        answer = OPS["logical_and"](before, answer)
    own = bare(raw(answer))
    return answer if bool(adapters[own.__class__].namespace.any(own)) else False


class _Grew(Exception):  # noqa: N818  # no error: it ends an attempt
    """A function returned hidden axes that its operation was not built for."""


class Hidden:
    """The hidden axes of some leaves, which None may be among."""

    def __init__(self, count: int = 0) -> None:
        self.sizes: list[Sizes] = [{} for _ in range(count)]

    def shown(self, values: Sequence[Any], axis: int = 0) -> list[Any]:
        """The leaves with their hidden axes at an axis."""
        self.checked(values)
        return [v if v is None or not s else shown(v, s, axis)
                for v, s in zip(values, self.sizes, strict=True)]

    def hidden(self, values: Sequence[Any], axis: int = 0) -> list[Any]:
        """The leaves with these axes hidden."""
        return [v if v is None or not s else hidden(v, s, axis)
                for v, s in zip(values, self.sizes, strict=True)]

    def noted(self, values: Sequence[Any], also: Sizes | None = None) -> bool:
        """Take note of the hidden axes of some leaves; whether there are new ones."""
        if not self.sizes:
            self.sizes = [{} for _ in values]
        wider = [s if v is None else merged(s, sizes_of(v), also or {})
                 for v, s in zip(values, self.sizes, strict=False)]
        grew = wider != self.sizes[: len(wider)]
        self.sizes[: len(wider)] = wider
        return grew

    def checked(self, values: Sequence[Any], also: Sizes | None = None) -> None:
        """The same; ends the attempt where there are new ones."""
        if self.noted(values, also):
            raise _Grew


def settled(graph: Any, attempt: Callable[[], T]) -> T:
    """What an attempt builds, once no function returns further hidden axes."""
    while True:
        start = len(graph.operations)
        try:
            return attempt()
        except _Grew:
            graph.rewind(start)


def mapped_cond(
    graph: Any, chosen: Callable[..., Any], branches: Sequence[Callable[[], Any]]
) -> Any:
    """A choice between branches that return Tensors with hidden axes.

    chosen   builds the choice between functions
    """
    outs = Hidden()

    def without(branch: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            flat, rebuild = flatten(branch())
            if outs.sizes and len(outs.sizes) != len(flat):
                return rebuild(flat)  # another nesting, which is an error
            fresh = not outs.sizes
            grew = outs.noted(flat)
            if grew and not (fresh and not any(outs.sizes)):
                raise _Grew
            return rebuild(outs.shown(flat))

        return run

    def attempt() -> Any:
        flat, rebuild = flatten(chosen(*[without(b) for b in branches]))
        return rebuild(outs.hidden(flat))

    return settled(graph, attempt)


def mapped_while(
    graph: Any, loop: Callable[..., Any], more: Callable[[Any], Any], turn: Callable[[Any], Any],
    init: Any,
) -> Any:
    """A while loop that carries Tensors with hidden axes, or whose condition differs by example.

    loop   builds the loop of a condition and a body, from a first value
    """
    flat, rebuild = flatten(init)
    carried, asked = Hidden(len(flat)), Hidden(1)
    carried.noted(flat)

    def opened(values: Any) -> Any:
        return rebuild(carried.hidden(flatten(values)[0]))

    def asks(value: Any) -> Any:
        answer = more(value)
        asked.checked([answer])
        return answer

    def turned(value: Any) -> Any:
        found, own = flatten(turn(value))
        if len(found) == len(flat):
            carried.checked(found)
        return own(found)

    def shown_of(value: Any) -> Any:
        found, own = flatten(value)
        return own(carried.shown(found)) if len(found) == len(flat) else value

    def shared(values: Any) -> Any:
        return loop(lambda v: asks(opened(v)), lambda v: shown_of(turned(opened(v))), values)

    def by_example(values: Any) -> Any:
        first = asked.shown([asks(opened(values))])[0]

        def step(state: Any) -> Any:
            values, alive = state
            old, (active,) = opened(values), asked.hidden([alive])
            found, own = flatten(turned(old))
            where = OPS["where"]
            new = own([v if v is None else where(active, v, o)
                       for v, o in zip(found, flatten(old)[0], strict=True)])
            again = OPS["logical_and"](active, asks(new))
            return shown_of(new), asked.shown([again])[0]

        return loop(lambda state: OPS["any"](state[1]), step, (values, first))[0]

    def attempt() -> Any:
        if asked.sizes[0]:
            carried.noted(flat, asked.sizes[0])
        values = rebuild(carried.shown([_tensor(v) for v in flat]))
        return opened(by_example(values) if asked.sizes[0] else shared(values))

    return settled(graph, attempt)


def _tensor(value: Any) -> Any:
    return value if value is None or isinstance(value, Tensor) else Tensor(value)
