"""Samplers: the order of examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy

from ....core.tensor import raw
from ....errors import ArgumentError
from ....random import default_generator
from ...creation import randperm

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T = TypeVar("T")


class Sampler(Generic[T]):
    """Base class of samplers: define `__iter__`, which yields indices of examples."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("subclasses of Sampler define __iter__")


class SequentialSampler(Sampler[int]):
    """The indices 0, 1, 2, …."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order, or num_samples of them; with replacement, repeats occur."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        if num_samples is not None and num_samples < 1:
            raise ArgumentError("argument `num_samples`", "an integer ≥ 1", f"{num_samples}")
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator

    @property
    def num_samples(self) -> int:
        """The number of samples."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, left = len(self.data_source), self.num_samples
        if self.replacement:
            source = self.generator or default_generator()
            yield from numpy.asarray(raw(source.integers(0, count, (left,)))).tolist()
            return
        while left > 0:
            yield from randperm(count, generator=self.generator).tolist()[:left]
            left -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices sampled with probabilities proportional to weights."""

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        self.weights = numpy.asarray(raw(weights), float)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        source = self.generator or default_generator()
        noise = numpy.asarray(raw(source.uniform((self.num_samples,))))
        if self.replacement:
            sums = numpy.cumsum(self.weights)
            return iter(numpy.searchsorted(sums / sums[-1], noise, side="right").tolist())
        # Smallest exponential times: samples in proportion to the rates, without replacement.
        times = numpy.asarray(raw(source.exponential(self.weights.shape)))
        with numpy.errstate(divide="ignore"):
            order = numpy.argsort(times / self.weights)
        return iter(order[: self.num_samples].tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler into lists."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ArgumentError("argument `batch_size`", "an integer ≥ 1", f"{batch_size!r}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
