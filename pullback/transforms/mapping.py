"""`vmap`: runs a function of one example on a batch of examples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from ..arrays import SCALARS, adapters, is_array
from ..core.node import number
from ..core.op import OPS
from ..core.tensor import Tensor, wrap
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..kinds import batching as batching  # the kernels of what it makes
from ..kinds import vmaps
from ..kinds.vmaps import Mapping
from ..rng_replay import Draws
from ..trees import WithoutNone, flatten, spread_prefix
from .trace import as_output

_RANDOMNESS = ("different", "same", "error")


def vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *,
    axis_size: int | None = None, randomness: str = "different",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Returns a function that maps `fun` over an axis of its arguments, without a loop.

    fun         is written for one example: it gets tensors without the mapped axis
    in_axes     the mapped axis of each positional argument (negative axes count from the end), or
                None for an argument that is shared by all examples; one integer for all arguments;
                or a pytree prefix of the arguments. Keyword arguments are mapped over axis 0
    out_axes    the position of the mapped axis in the results; None for a shared result
    axis_size   the number of examples, if no argument is mapped
    randomness  `pullback.random` draws per example ("different"), once for all examples ("same"),
                or raises ("error")
    chunk_size  the number of examples to process at a time, to save memory

    vmaps nest, and differentiation works inside and outside. All examples share closed-over
    tensors. Raises `ArgumentError` if sizes differ, `ShapeError` if an axis does not exist,
    `BatchedValueError` for Python control flow that depends on a mapped value.

    Semantics and names follow `jax.vmap`, with PyTorch's `randomness` and `chunk_size`.

    >>> import pullback as pb
    >>> w = pb.tensor([1.0, 2.0])
    >>> pb.vmap(lambda x: pb.sum(w * x))(pb.tensor([[1.0, 1.0], [0.0, 3.0]]))
    Tensor([3., 6.])
    >>> per_example = pb.vmap(pb.grad(lambda x: pb.sum(x * x)))
    >>> per_example(pb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[2., 4.],
            [6., 8.]])
    """
    if not callable(fun):
        raise ArgumentTypeError("vmap", "a function", f"a {type(fun).__name__}")
    if randomness not in _RANDOMNESS:
        raise ArgumentError(
            "argument `randomness` of vmap", " or ".join(map(repr, _RANDOMNESS)), repr(randomness)
        )
    for given, least, what in ((chunk_size, 1, "chunk_size"), (axis_size, 0, "axis_size")):
        if given is not None and given < least:
            raise ArgumentError(
                f"argument `{what}` of vmap", f"None, or at least {least}", repr(given)
            )
    name = getattr(fun, "__name__", "a function")
    subject = f"vmap of `{name}`"

    @functools.wraps(fun)
    def mapped(*args: Any, **keywords: Any) -> Any:
        axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        if isinstance(axes, tuple) and len(axes) != len(args):
            raise ArgumentError(
                f"argument `in_axes` of {subject}", f"one axis for each of {len(args)} arguments",
                f"{len(axes)}",
            )
        flat, rebuild = flatten((args, keywords))
        at = spread_prefix((axes, 0) if keywords else (axes, None), (args, keywords), subject)
        size = _size(flat, at, axis_size, subject)
        if chunk_size is not None and chunk_size < size:
            return _chunked(mapped_once, flat, at, rebuild, size, chunk_size, out_axes, subject,
                            randomness == "same")
        return mapped_once(flat, at, rebuild, size)

    def mapped_once(flat: list[Any], at: list[Any], rebuild: Any, size: int) -> Any:
        tag = number()
        seen = [
            x if axis is None or x is None else _hidden(x, axis, tag)
            for x, axis in zip(flat, at, strict=True)
        ]
        args, keywords = rebuild(seen)
        with vmaps.running_with((*vmaps.running(), Mapping(tag, size, randomness))):
            out = fun(*args, **keywords)
        tree = WithoutNone(out)
        places = tree.select(spread_prefix(out_axes, out, subject))
        return tree.rebuild([
            _shown(o, axis, tag, size, subject) for o, axis in zip(tree.leaves, places, strict=True)
        ])

    return mapped


def _size(flat: list[Any], at: list[Any], axis_size: int | None, subject: str) -> int:
    """The number of examples; also checks the axes."""
    sizes: dict[int, str] = {}
    if axis_size is not None:
        sizes[axis_size] = "axis_size"
    for i, (x, axis) in enumerate(zip(flat, at, strict=True)):
        if axis is None or x is None:
            continue
        if not (isinstance(x, (Tensor, *SCALARS)) or is_array(x)):
            raise ArgumentTypeError(
                f"leaf {i} of the arguments of {subject}", "an array or a Tensor, to map over",
                f"a {type(x).__name__}", "give it the axis None in in_axes",
            )
        shape = tuple(getattr(x, "shape", ()))
        if not hasattr(axis, "__index__"):
            raise ArgumentTypeError(
                f"argument `in_axes` of {subject}", "integers and None", repr(axis)
            )
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(
                f"leaf {i} of the arguments of {subject}", f"an axis {axis} to map over",
                f"shape {shape}", "name the mapped axis in in_axes, or None to share the argument",
            )
        sizes.setdefault(int(shape[axis]), f"leaf {i} of shape {shape}, axis {axis}")
    if len(sizes) != 1:
        raise ArgumentError(
            subject, "one number of examples" + ("" if sizes else ", from a mapped argument"),
            ", ".join(f"{n} ({by})" for n, by in sizes.items()) or "no mapped argument",
            "check in_axes" if sizes else "pass axis_size",
        )
    return next(iter(sizes))


def _hidden(x: Any, axis: int, tag: int) -> Any:
    x = x if isinstance(x, Tensor) else Tensor(x)
    return OPS["hide_axis"](x, axis=axis % len(x.shape), tag=tag)


def _shown(value: Any, axis: int | None, tag: int, size: int, subject: str) -> Any:
    out = as_output(value, subject)
    if axis is None:
        if tag in getattr(out._data.shape, "tags", ()):
            raise ArgumentError(
                f"result of {subject} with the axis None in out_axes",
                "a value shared by all examples", "one per example",
                "give it an axis in out_axes, or reduce it inside",
            )
        return out
    rank = len(out.shape) + 1
    if not -rank <= axis < rank:
        raise ShapeError(
            f"argument `out_axes` of {subject}", f"an axis of a result with {rank} axes", str(axis)
        )
    shown = OPS["show_axis"](out, axis=axis % rank, tag=tag, size=size)
    if shown._node is None:  # a copy: the user may write to the result
        shown = wrap(shown._out, adapters[shown._data.__class__].own(shown._data))
    return shown


def _chunked(
    mapped: Callable[..., Any], flat: list[Any], at: list[Any], rebuild: Any, size: int,
    chunk_size: int, out_axes: Any, subject: str, same: bool,
) -> Any:
    """Runs `chunk_size` examples at a time and concatenates the results.

    same  every chunk draws the random numbers that the first one drew
    """
    parts: list[Any] = []
    draws = Draws()
    for begin in range(0, size, chunk_size):
        end = min(begin + chunk_size, size)
        piece = [
            x if axis is None or x is None else _part(x, axis, begin, end)
            for x, axis in zip(flat, at, strict=True)
        ]
        with (draws.replay() if parts else draws.record()) if same else nullcontext():
            parts.append(mapped(piece, at, rebuild, end - begin))
    outs = [flatten(part) for part in parts]
    places = spread_prefix(out_axes, parts[0], subject)
    return outs[0][1]([
        column[0] if axis is None or column[0] is None else OPS["concat"](column, axis=axis)
        for column, axis in zip(zip(*[flat for flat, _ in outs], strict=True), places, strict=True)
    ])


def _part(x: Any, axis: int, begin: int, end: int) -> Any:
    x = x if isinstance(x, Tensor) else wrap(Tensor, Tensor(x)._data)
    return x[(*(slice(None),) * (axis % len(x.shape)), slice(begin, end))]
