"""`DataLoader`: examples collated into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy

from .... import ops
from ....core.tensor import Tensor as CoreTensor
from ....errors import ArgumentError, ArgumentTypeError
from ...creation import as_tensor, tensor
from ...errors import guarded
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


def get_worker_info() -> None:
    """None: examples are loaded in the calling process."""
    return None


def default_convert(data: Any) -> Any:
    """Convert arrays in a pytree to tensors; other values are unchanged."""
    if isinstance(data, (numpy.ndarray, numpy.generic)):
        return as_tensor(data) if data.dtype.kind in "biufc" else data
    return _inside(data, default_convert)


def _inside(data: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(data, Mapping):
        return type(data)({k: function(v) for k, v in data.items()})  # type: ignore[call-arg]
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(function, data))
    if isinstance(data, (list, tuple)):
        return type(data)(map(function, data))
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
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Any = None, multiprocessing_context: Any = None, generator: Any = None,
        **how: Any,
    ) -> None:
        in_order = isinstance(dataset, IterableDataset)
        self._check(in_order, shuffle, sampler, batch_sampler, batch_size, drop_last)
        self.dataset, self.num_workers, self.generator = dataset, num_workers, generator
        self.drop_last, self.pin_memory = drop_last, pin_memory
        if sampler is None and not in_order:
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

    @staticmethod
    def _check(
        in_order: bool, shuffle: Any, sampler: Any, batch_sampler: Any, batch_size: Any,
        drop_last: bool,
    ) -> None:
        if in_order and (shuffle or sampler is not None or batch_sampler is not None):
            raise ArgumentError("DataLoader of an IterableDataset", "no shuffle and no sampler",
                                "shuffle or a sampler")
        if sampler is not None and shuffle:
            raise ArgumentError("DataLoader", "a sampler or shuffle", "both")
        if batch_sampler is not None and (
            batch_size != 1 or shuffle or sampler is not None or drop_last
        ):
            raise ArgumentError("DataLoader with a batch_sampler",
                                "no batch_size, shuffle, sampler and drop_last", "one of these")
        if batch_size is None and drop_last:
            raise ArgumentError("DataLoader", "a batch_size, for drop_last=True", "None")

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            yield from self._in_order()
        elif self.batch_sampler is not None:
            for numbers in self.batch_sampler:
                yield self.collate_fn([self.dataset[i] for i in numbers])
        else:
            for i in self.sampler or ():
                yield self.collate_fn(self.dataset[i])

    def _in_order(self) -> Iterator[Any]:
        examples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, examples)
            return
        while batch := list(islice(examples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)  # type: ignore[arg-type]
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
