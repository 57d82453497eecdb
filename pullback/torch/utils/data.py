"""`torch.utils.data`: datasets, samplers and batches, in the calling process."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice, pairwise
from typing import Any, Generic, TypeVar

import numpy

from ... import ops
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import raw
from ...errors import ArgumentError, ArgumentTypeError, PositionError, ShapeError
from ...random import default_generator
from ..creation import as_tensor, randperm, tensor
from ..errors import guarded

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
    "default_convert", "get_worker_info", "random_split",
]

T = TypeVar("T")


# Datasets -------------------------------------------------------------------------------------


class Dataset(Generic[T]):
    """Base class of map-style datasets: define `__getitem__` and, usually, `__len__`."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("subclasses of Dataset define __getitem__")

    def __add__(self, other: Any) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Base class of datasets that are iterated in their own order."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("subclasses of IterableDataset define __iter__")

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class StackDataset(Dataset[Any]):
    """Combines datasets: example i is the tuple, or dictionary, of their i-th examples."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = list(args or kwargs.values())
        if not given or (args and kwargs) or len({len(d) for d in given}) > 1:
            raise ArgumentError("StackDataset", "datasets of one length, all as keywords or none",
                                f"{[len(d) for d in given]}")
        self.datasets: Any = args or kwargs
        self._length = len(given[0])

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


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
    return [Subset(dataset, order[a:b]) for a, b in pairwise([0, *accumulate(sizes)])]


# Samplers -------------------------------------------------------------------------------------


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
        if self.replacement:
            sums = numpy.cumsum(self.weights)
            points = numpy.asarray(raw(source.uniform((self.num_samples,))))
            return iter(numpy.searchsorted(sums / sums[-1], points, side="right").tolist())
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
        return _batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        return _batch_count(self.sampler, self.batch_size, self.drop_last)


def _batches(values: Iterable[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    left = iter(values)
    while batch := list(islice(left, size)):
        if len(batch) == size or not drop_last:
            yield batch


def _batch_count(values: Any, size: int, drop_last: bool) -> int:
    return len(values) // size if drop_last else -(-len(values) // size)


# Batches --------------------------------------------------------------------------------------


def get_worker_info() -> None:
    """None: examples are loaded in the calling process."""
    return None


def default_convert(data: Any) -> Any:
    """Convert arrays in a pytree to tensors; other values are unchanged."""
    if isinstance(data, (numpy.ndarray, numpy.generic)):
        return as_tensor(data) if data.dtype.kind in "biufc" else data
    if isinstance(data, Mapping):
        made: Any = type(data)
        return made({k: default_convert(v) for k, v in data.items()})
    if isinstance(data, (list, tuple)):
        parts = map(default_convert, data)
        return type(data)(*parts) if hasattr(data, "_fields") else type(data)(parts)
    return data


@guarded
def default_collate(batch: Any) -> Any:
    """Collates a list of examples: stacks tensors and numbers, recurses into tuples and dicts.

    >>> default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=float64)]
    """
    first = batch[0]
    if isinstance(first, CoreTensor):
        return ops.stack(batch)
    if isinstance(first, (numpy.ndarray, numpy.generic)) and first.dtype.kind in "biufc":
        return as_tensor(numpy.stack(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=numpy.dtype("float64"))
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {k: default_collate([example[k] for example in batch]) for k in first}
    if isinstance(first, (tuple, list)):
        parts = [default_collate(list(part)) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise ArgumentTypeError("`default_collate`", "a pytree of tensors, numbers and strings",
                            f"a {type(first).__name__}", "give the DataLoader a collate_fn")


class DataLoader:
    """Iterates over a dataset in batches, in order or (shuffle) in a new random order each time.

    batch_size   None: yield single examples
    sampler, batch_sampler  choose the examples, instead of shuffle (and batch_size)
    collate_fn   makes a batch from a list of examples; by default `default_collate`
    drop_last    skip the last batch if it is smaller
    generator    the random number generator of the order

    num_workers and related options are accepted; examples are loaded in this process.

    >>> import pullback.torch as torch
    >>> data = torch.utils.data.TensorDataset(torch.arange(5))
    >>> [batch for (batch,) in DataLoader(data, batch_size=2)]
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False,
        drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: Any = None, generator: Any = None, **options: Any,
    ) -> None:
        self._in_order = isinstance(dataset, IterableDataset)
        for wrong, expected in (
            (self._in_order and (shuffle or sampler is not None or batch_sampler is not None),
             "no shuffle and no sampler for an IterableDataset"),
            (sampler is not None and shuffle, "a sampler or shuffle, not both"),
            (batch_sampler is not None and (
                batch_size != 1 or shuffle or sampler is not None or drop_last),
             "no batch_size, shuffle, sampler and drop_last next to a batch_sampler"),
            (batch_size is None and drop_last, "a batch_size, for drop_last=True"),
        ):
            if wrong:
                raise ArgumentError("DataLoader", expected, "other arguments")
        self.dataset, self.num_workers, self.generator = dataset, num_workers, generator
        self.drop_last, self.pin_memory = drop_last, pin_memory
        if sampler is None and not self._in_order:
            sampler = (
                RandomSampler(dataset, generator=generator) if shuffle
                else SequentialSampler(dataset)
            )
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.sampler, self.batch_sampler = batch_size, sampler, batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)

    def __iter__(self) -> Iterator[Any]:
        if self._in_order:
            found: Iterable[Any] = self.dataset
            if self.batch_size is not None:
                found = _batches(found, self.batch_size, self.drop_last)
        elif self.batch_sampler is not None:
            found = ([self.dataset[i] for i in numbers] for numbers in self.batch_sampler)
        else:
            found = (self.dataset[i] for i in self.sampler)
        return map(self.collate_fn, found)

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        if self.batch_size is None:
            return len(self.dataset)
        return _batch_count(self.dataset, self.batch_size, self.drop_last)
