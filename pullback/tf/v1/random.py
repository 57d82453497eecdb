"""Random numbers as operations: drawn anew each time the graph runs, and again from their seeds.

Each operation has a stream of its own in each session. A stream begins from two seeds: the graph's
(`set_random_seed`) and the operation's. With neither it is different each time; with the graph's
alone, operations that are built in the same order draw the same numbers in every session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ...arrays.symbol import OpenShape, Symbol
from ...core.tensor import raw
from ...errors import ArgumentError
from ...graphs.operation import Kind
from ..convert import operand, shape_of
from ..dtypes import array_dtype, float32
from .graph import get_default_graph, home, kind_call
from .naming import graphed

__all__ = [
    "categorical", "get_seed", "multinomial", "normal", "random_normal", "random_shuffle",
    "random_uniform", "set_random_seed", "shuffle", "stateless_normal", "stateless_uniform",
    "truncated_normal", "uniform",
]

_GRAPH_SEED = 87654321
"""Stands for the graph's seed where only the operation has one."""


class Stream:
    """Where one operation's random numbers come from; a session keeps how far they got."""

    __slots__ = ("seeds",)

    def __init__(self, seeds: tuple[int, int] | None) -> None:
        self.seeds = seeds

    def generator(self, store: Any) -> Any:
        """NumPy's generator of the stream in a session."""
        found = store.get(self)
        if found is None:
            entropy = None if self.seeds is None else [s % 2**64 for s in self.seeds]
            found = store[self] = numpy.random.default_rng(entropy)
        return found


def set_random_seed(seed: Any) -> None:
    """Give the graph that is open a seed, from which its random operations draw.

    >>> import pullback.tf.v1 as tf
    >>> def draw():
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         tf.set_random_seed(1)
    ...         return sess.run(tf.random_normal([2]))
    >>> bool((draw() == draw()).all())
    True
    """
    home().seed = None if seed is None else int(seed)


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of the next random operation, from the graph's and its own."""
    graph = home()
    graph.draws += 1
    if graph.seed is None:
        return (None, None) if op_seed is None else (_GRAPH_SEED, op_seed)
    return graph.seed, graph.draws if op_seed is None else op_seed


def _drawn(store: Any, *values: Any, stream: Stream, draw: Any, shape: Any, dtype: Any) -> Any:
    """The kernel of all of them."""
    size = tuple(int(n) for n in numpy.asarray(shape).reshape(-1))
    return numpy.asarray(draw(stream.generator(store), *values, size, dtype))


RANDOM = {
    name: Kind(name, _drawn) for name in
    ("random_standard_normal", "random_uniform", "truncated_normal", "random_uniform_int",
     "random_shuffle", "multinomial")
}
for _kind in RANDOM.values():
    _kind.stored = True


def _noise(
    kind: str, draw: Callable[..., Any], size: Any, known: Any, dtype: Any, seed: Any,
    values: Any = (),
) -> Any:
    """A tensor that an operation draws."""
    seeds = get_seed(None if seed is None else int(raw(seed)))
    stream = Stream(None if seeds[1] is None else seeds)  # type: ignore[arg-type]
    return kind_call(RANDOM[kind], list(values), known, dtype, None, {
        "stream": stream, "draw": draw, "shape": size, "dtype": dtype,
    })


def _known(size: Any) -> Any:
    """What a graph knows of a shape: lengths, and None for those it computes."""
    if size.__class__ is Symbol:
        length = size.shape[0] if len(size.shape) == 1 else None
        return None if length is None else (None,) * length
    if isinstance(size, OpenShape):
        return size
    return tuple(None if n.__class__ is Symbol else n for n in size)


def _normals(generator: Any, size: Any, dtype: Any) -> Any:
    own = dtype if dtype in (numpy.float32, numpy.float64) else numpy.float32
    return generator.standard_normal(size, own).astype(dtype, copy=False)


def _uniforms(generator: Any, size: Any, dtype: Any) -> Any:
    own = dtype if dtype in (numpy.float32, numpy.float64) else numpy.float32
    return generator.random(size, own).astype(dtype, copy=False)


def _truncated(generator: Any, size: Any, dtype: Any) -> Any:
    found = _normals(generator, size, dtype)
    while (far := numpy.abs(found) > 2).any():
        found = numpy.where(far, _normals(generator, size, dtype), found)
    return found


def _scaled(noise: Any, mean: Any, stddev: Any) -> Any:
    """noise · stddev + mean, with no operation for what changes nothing."""
    if not (isinstance(stddev, (int, float)) and stddev == 1):
        noise = noise * stddev
    return noise if isinstance(mean, (int, float)) and mean == 0 else noise + mean


def _random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Normal numbers, drawn anew each run; gradients reach `mean` and `stddev`."""
    size = shape_of(shape)
    noise = _noise("random_standard_normal", _normals, size, _known(size), array_dtype(dtype), seed)
    return _scaled(noise, mean, stddev)


def _truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Normal numbers no further than two standard deviations from the mean, anew each run."""
    size = shape_of(shape)
    noise = _noise("truncated_normal", _truncated, size, _known(size), array_dtype(dtype), seed)
    return _scaled(noise, mean, stddev)


def _random_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Numbers from [minval, maxval), anew each run; integers need maxval, else it is 1."""
    size, wanted = shape_of(shape), array_dtype(dtype)
    if wanted.kind in "iu":
        if maxval is None:
            raise ArgumentError("tf.random_uniform", "`maxval` for integers", "none")
        bounds = [operand(v) for v in (minval, maxval)]
        return _noise("random_uniform_int", _integers, size, _known(size), wanted, seed, bounds)
    noise = _noise("random_uniform", _uniforms, size, _known(size), wanted, seed)
    high = 1 if maxval is None else maxval
    return _scaled(noise, minval, high - minval)


def _integers(generator: Any, low: Any, high: Any, size: Any, dtype: Any) -> Any:
    return generator.integers(low, high, size, dtype)


def _random_shuffle(value: Any, seed: Any = None, name: str | None = None) -> Any:
    """The parts along the first axis in a random order, which no gradient goes through."""
    x = operand(value)
    known = x._data.shape if isinstance(x._data.shape, OpenShape) else tuple(x._data.shape)
    return _noise("random_shuffle", lambda g, v, *_: g.permutation(v), (), known, x._data.dtype,
                  seed, [x])


def _multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None,
    output_dtype: Any = None,
) -> Any:
    """So many draws for each row, of the position whose probability is softmax(logits)."""
    x, count = operand(logits, "f", "multinomial"), int(raw(num_samples))
    dtype = array_dtype("int64" if output_dtype is None else output_dtype)

    def draw(generator: Any, values: Any, size: Any, wanted: Any) -> Any:
        gumbel = generator.gumbel(size=(len(values), count, values.shape[1]))
        return numpy.argmax(values[:, None, :] + gumbel, axis=-1).astype(wanted)

    return _noise("multinomial", draw, (), (x.shape[0], count), dtype, seed, [x])


def _stateless(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Numbers that depend on the two seeds alone."""

    def call(shape: Any, seed: Any, dtype: Any = float32, name: str | None = None) -> Any:
        wanted = array_dtype(dtype)
        pair = [int(n) % 2**64 for n in numpy.asarray(raw(seed)).reshape(-1)]
        return _constant(function(numpy.random.default_rng(pair), shape_of(shape), wanted))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Numbers that depend on the seed (two integers) alone."
    return graphed(call, name)


def _constant(array: Any) -> Any:
    graph = get_default_graph()
    return graph.tensor(graph.constant(array))


random_normal = normal = graphed(_random_normal, "random_normal", "random_normal")
random_uniform = uniform = graphed(_random_uniform, "random_uniform", "random_uniform")
truncated_normal = graphed(_truncated_normal, "truncated_normal", "truncated_normal")
random_shuffle = shuffle = graphed(_random_shuffle, "RandomShuffle")
multinomial = categorical = graphed(_multinomial, None, "multinomial")
stateless_normal = _stateless(_normals, "stateless_random_normal")
stateless_uniform = _stateless(_uniforms, "stateless_random_uniform")
