"""`vmap` of a `Function`: its value for all examples, as its author says."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from ..arrays.batched import Batched, tags_of
from ..core.op import OPS
from ..core.tensor import Tensor
from ..errors import RuleTypeError
from ..kinds.vmaps import enter, leave, running
from ..trees import flatten, leaves, spread_prefix


class VmapInfo(NamedTuple):
    """What a `vmap` static method is told: the number of examples, and vmap's `randomness`."""

    batch_size: int
    randomness: str


def is_mapped(args: tuple[Any, ...]) -> bool:
    """Whether an argument is one for each example of a vmap."""
    return bool(_batched(leaves(args)))


def _batched(flat: list[Any]) -> list[Batched]:
    return [a._data for a in flat if isinstance(a, Tensor) and a._data.__class__ is Batched]


def mapped_forward(cls: Any, args: tuple[Any, ...]) -> Any:
    """The output of `cls.vmap` for the innermost vmap of the arguments, its axis hidden again.

    Raises `RuleTypeError` for a class that cannot be mapped this way, and for what is no output
    with its axes.
    """
    subject = f"`{cls.__name__}` under vmap"
    if cls.generate_vmap_rule:
        raise RuleTypeError(
            subject, "generate_vmap_rule = True, or a static method `vmap`", "both",
            "delete one of them",
        )
    if not cls._separate:
        raise RuleTypeError(
            subject, "a static method `setup_context`, beside `vmap`",
            "one `forward` with `ctx`, which is not called for all examples",
            "write forward(*args) and setup_context(ctx, inputs, output)",
        )
    flat, rebuild = flatten(args)
    inner = max(_batched(flat), key=attrgetter("tag"))
    tag, size = inner.tag, inner.value.shape[0]
    dims = [0 if isinstance(a, Tensor) and tag in tags_of(a._data.shape) else None for a in flat]
    shown = [
        a if d is None else OPS["show_axis"](a, axis=0, tag=tag, size=size)
        for a, d in zip(flat, dims, strict=True)
    ]
    maps = running()
    randomness = next((m.randomness for m in maps if m.tag == tag), "different")
    token = enter(tuple(m for m in maps if m.tag != tag))
    try:
        answer = cls.vmap(VmapInfo(size, randomness), rebuild(dims), *rebuild(shown))
    finally:
        leave(token)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise RuleTypeError(
            f"`{cls.__name__}.vmap`", "two results: the output, and where its examples' axis is",
            f"a {type(answer).__name__}", "return output, 0 (a tuple for several outputs)",
        )
    return _hidden(*answer, tag, size, f"`{cls.__name__}.vmap`")


def _hidden(out: Any, out_dims: Any, tag: int, size: int, subject: str) -> Any:
    """The output with the axes in `out_dims` hidden."""
    flat, rebuild = flatten(out)
    dims = spread_prefix(out_dims, out, subject)
    made = []
    for i, (value, axis) in enumerate(zip(flat, dims, strict=True)):
        if isinstance(value, Tensor) and axis is not None:
            rank = len(value.shape)
            if not -rank <= axis < rank or value.shape[axis] != size:
                raise RuleTypeError(
                    f"output {i} of {subject}", f"an axis {axis} of the {size} examples",
                    f"shape {value.shape}", "return (output, out_dims): None where there is none",
                )
            value = OPS["hide_axis"](value, axis=axis % rank, tag=tag)
        made.append(value)
    return rebuild(made)
