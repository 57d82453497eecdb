"""Datasets: map-style (by index) and iterable."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, Generic, TypeVar

from ....errors import ArgumentError, PositionError, ShapeError
from ...creation import randperm

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset",
    "TensorDataset", "random_split",
]

T = TypeVar("T")


class Dataset(Generic[T]):
    """Base class of map-style datasets: define `__getitem__` and, usually, `__len__`."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("subclasses of Dataset define __getitem__")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Base class of datasets that are iterated in their own order."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("subclasses of IterableDataset define __iter__")

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[Any]):
    """Wraps tensors of one length: example i is the tuple of their i-th entries.

    >>> import pullback.torch as torch
    >>> TensorDataset(torch.arange(3), torch.arange(3) * 2)[1]
    (tensor(1), tensor(2))
    """

    def __init__(self, *tensors: Any) -> None:
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise ShapeError("TensorDataset", "tensors of one length",
                             f"lengths {[t.shape[0] for t in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """Combines datasets: example i is the tuple, or dictionary, of their i-th examples."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = list(args or kwargs.values())
        if not given or (args and kwargs) or len({len(d) for d in given}) > 1:
            raise ArgumentError("StackDataset", "datasets of one length, all as keywords or none",
                                f"{[len(d) for d in given]}")
        self.datasets: Any = args or kwargs

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        each = self.datasets.values() if isinstance(self.datasets, dict) else self.datasets
        return len(next(iter(each)))


class ConcatDataset(Dataset[Any]):
    """Concatenates datasets."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset", "at least one dataset", "none")
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        count = len(self)
        if not -count <= index < count:
            raise PositionError("index of ConcatDataset", f"an index in [{-count}, {count})",
                                f"{index}")
        index %= count
        number = bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[number - 1] if number else 0
        return self.datasets[number][index - before]


class ChainDataset(IterableDataset[Any]):
    """Concatenates iterable datasets."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class Subset(Dataset[Any]):
    """The examples of a dataset at the given indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Splits a dataset at random, into parts of given lengths or fractions.

    Raises `ArgumentError` if they do not add up to the dataset's length.

    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    count, sizes = len(dataset), [int(n) for n in lengths]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9:
        sizes = [math.floor(count * share) for share in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
    if sum(sizes) != count:
        raise ArgumentError("argument `lengths` of `random_split`", f"a sum of {count} or of 1",
                            f"{sum(lengths)}")
    order = randperm(count, generator=generator).tolist()
    ends = [0, *accumulate(sizes)]
    return [Subset(dataset, order[a:b]) for a, b in pairwise(ends)]
