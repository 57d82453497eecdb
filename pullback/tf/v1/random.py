"""Random operations: new samples on each run, reproducible from their seeds.

Each operation has its own stream in each session. Two seeds start a stream: the graph's
(`set_random_seed`) and the operation's. Without either it differs each time; with only the graph's
seed, operations that are built in the same order draw the same numbers in every session.
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
"""The graph seed used if only the operation has a seed."""


class Stream:
    """The random stream of one operation; the session stores its generator."""

    __slots__ = ("seeds",)

    def __init__(self, seeds: tuple[int, int] | None) -> None:
        self.seeds = seeds

    def generator(self, store: Any) -> Any:
        """NumPy's generator for the stream in a session."""
        found = store.get(self)
        if found is None:
            entropy = None if self.seeds is None else [s % 2**64 for s in self.seeds]
            found = store[self] = numpy.random.default_rng(entropy)
        return found


def set_random_seed(seed: Any) -> None:
    """Set the seed of the current graph, from which its random operations derive theirs.

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
    """The graph seed and the operation seed of the next random operation."""
    graph = home()
    graph.draws += 1
    if graph.seed is None:
        return (None, None) if op_seed is None else (_GRAPH_SEED, op_seed)
    return graph.seed, graph.draws if op_seed is None else op_seed


def _drawn(store: Any, *values: Any, stream: Stream, draw: Any, shape: Any, dtype: Any) -> Any:
    """The kernel shared by all random operations."""
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
    """The tensor that a random operation draws."""
    seeds = get_seed(None if seed is None else int(raw(seed)))
    stream = Stream(None if seeds[1] is None else seeds)  # type: ignore[arg-type]
    return kind_call(RANDOM[kind], list(values), known, dtype, None, {
        "stream": stream, "draw": draw, "shape": size, "dtype": dtype,
    })


def _known(size: Any) -> Any:
    """The static shape of a size: lengths, and None for lengths that the graph computes."""
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
    """noise · stddev + mean, skipping operations that change nothing."""
    if not (isinstance(stddev, (int, float)) and stddev == 1):
        noise = noise * stddev
    return noise if isinstance(mean, (int, float)) and mean == 0 else noise + mean


def _random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Samples of a normal distribution, new on each run; gradients reach `mean` and `stddev`."""
    size = shape_of(shape)
    noise = _noise("random_standard_normal", _normals, size, _known(size), array_dtype(dtype), seed)
    return _scaled(noise, mean, stddev)


def _truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Normal samples, truncated to two standard deviations from the mean, new on each run."""
    size = shape_of(shape)
    noise = _noise("truncated_normal", _truncated, size, _known(size), array_dtype(dtype), seed)
    return _scaled(noise, mean, stddev)


def _random_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Uniform samples from [minval, maxval), new on each run; integers require maxval."""
    size, wanted = shape_of(shape), array_dtype(dtype)
    if wanted.kind in "iu":
        if maxval is None:
            raise ArgumentError("tf.random_uniform", "`maxval` for an integer dtype", "None")
        bounds = [operand(v) for v in (minval, maxval)]
        return _noise("random_uniform_int", _integers, size, _known(size), wanted, seed, bounds)
    noise = _noise("random_uniform", _uniforms, size, _known(size), wanted, seed)
    high = 1 if maxval is None else maxval
    return _scaled(noise, minval, high - minval)


def _integers(generator: Any, low: Any, high: Any, size: Any, dtype: Any) -> Any:
    return generator.integers(low, high, size, dtype)


def _random_shuffle(value: Any, seed: Any = None, name: str | None = None) -> Any:
    """Shuffles a tensor along its first axis; no gradient flows through it."""
    x = operand(value)
    known = x._data.shape if isinstance(x._data.shape, OpenShape) else tuple(x._data.shape)
    return _noise("random_shuffle", lambda g, v, *_: g.permutation(v), (), known, x._data.dtype,
                  seed, [x])


def _multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None,
    output_dtype: Any = None,
) -> Any:
    """Samples class indices for each row, with probabilities softmax(logits)."""
    x, count = operand(logits, "f", "multinomial"), int(raw(num_samples))
    dtype = array_dtype("int64" if output_dtype is None else output_dtype)

    def draw(generator: Any, values: Any, size: Any, wanted: Any) -> Any:
        gumbel = generator.gumbel(size=(len(values), count, values.shape[1]))
        return numpy.argmax(values[:, None, :] + gumbel, axis=-1).astype(wanted)

    return _noise("multinomial", draw, (), (x.shape[0], count), dtype, seed, [x])


def _stateless(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Samples that depend only on the seed (two ints)."""

    def call(shape: Any, seed: Any, dtype: Any = float32, name: str | None = None) -> Any:
        wanted = array_dtype(dtype)
        pair = [int(n) % 2**64 for n in numpy.asarray(raw(seed)).reshape(-1)]
        return _constant(function(numpy.random.default_rng(pair), shape_of(shape), wanted))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Samples that depend only on the seed (two ints)."
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
