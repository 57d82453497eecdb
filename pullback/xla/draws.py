"""Random numbers in a compiled step: each generator gives one seed per call."""

from __future__ import annotations

from typing import Any

import jax
from jax import numpy as jnp

from ..errors import GraphError

SEEDS = 16
"""So many generators can be drawn from in one compiled step."""


class Stream:
    """In place of a generator's NumPy stream: numbers that XLA computes from a key of this call.

    A copy draws the same numbers again, which is how `checkpoint` replays them.
    """

    __slots__ = ("count", "key")

    def __init__(self, key: Any, count: int = 0) -> None:
        self.key, self.count = key, count

    def __deepcopy__(self, memo: Any) -> Stream:
        return Stream(self.key, self.count)

    def _next(self) -> Any:
        self.count += 1
        key = jax.random.wrap_key_data(self.key, impl="threefry2x32")
        return jax.random.fold_in(key, self.count)

    def random(self, size: Any = (), dtype: Any = float) -> Any:
        """Uniform in [0, 1)."""
        return jax.random.uniform(self._next(), _shape(size), _kept(dtype))

    def standard_normal(self, size: Any = (), dtype: Any = float) -> Any:
        """Normal, with mean 0 and standard deviation 1."""
        return jax.random.normal(self._next(), _shape(size), _kept(dtype))

    def standard_exponential(self, size: Any = (), dtype: Any = float) -> Any:
        """Exponential, with mean 1."""
        return jax.random.exponential(self._next(), _shape(size), _kept(dtype))

    def integers(
        self, low: Any, high: Any = None, size: Any = (), dtype: Any = int, endpoint: bool = False
    ) -> Any:
        """Integers in [low, high), or in [low, high]."""
        low, high = (0, low) if high is None else (low, high)
        return jax.random.randint(
            self._next(), _shape(size), low, high + bool(endpoint), _kept(dtype)
        )

    def permutation(self, x: Any) -> Any:
        """range(x), or the rows of an array, in another order."""
        return jax.random.permutation(self._next(), x)

    def permuted(self, x: Any, axis: int) -> Any:
        """The entries along an axis in another order, each row in its own."""
        return jax.random.permutation(self._next(), jnp.asarray(x), axis=axis, independent=True)

    def choice(self, count: int, size: Any, replace: bool, p: Any) -> Any:
        """Integers in [0, count)."""
        return jax.random.choice(self._next(), count, _shape(size), replace, p)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise GraphError(
            f"`{name}` of a random generator inside pullback.jit",
            "numbers that XLA can draw: normal, uniform, exponential, integers, permutation, …",
            f"`{name}`", "call it outside, and pass the result in",
        )


def _shape(size: Any) -> tuple[int, ...]:
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)


def _kept(dtype: Any) -> Any:
    return jax.dtypes.canonicalize_dtype(dtype)


class Streams:
    """Where generators draw from while a step is traced; see `rng_replay.py`.

    seeds       the tracer of the seeds, one row per generator
    generators  those that were drawn from, in order
    """

    def __init__(self, seeds: Any) -> None:
        self.seeds = seeds
        self.streams: dict[Any, Stream] = {}

    @property
    def generators(self) -> list[Any]:
        """The generators that were drawn from."""
        return list(self.streams)

    def get(self, generator: Any) -> Any:
        """The stream of a generator."""
        found = self.streams.get(generator)
        if found is None:
            place = len(self.streams)
            if place >= SEEDS:
                raise GraphError(
                    "random numbers inside pullback.jit", f"at most {SEEDS} generators",
                    "more", "draw from fewer generators",
                )
            found = self.streams[generator] = Stream(self.seeds[place])
        return found

    def put(self, generator: Any, stream: Any) -> None:
        """Refuse another stream."""
        raise GraphError(
            "seeding a generator inside pullback.jit", "a generator that goes on from call to call",
            "`seed`, which would give the same numbers in each call", "seed it outside",
        )

    def symbol(self, make: Any) -> Any:
        """The random numbers of a graph."""
        return make()
