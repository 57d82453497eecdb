"""Layers that normalise their input to mean 0 and variance 1."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..arrays import adapters, known
from ..arrays.kept import check_kept
from ..core.tensor import Tensor, raw
from ..errors import ArgumentError, ShapeError
from ..kinds.symbols import current_graph
from . import init
from .module import Module
from .parameter import Parameter


class LayerNorm(Module):
    """Normalises each example over its last axes, then applies an elementwise scale and shift.

    shape   of the last axes: an int or a tuple
    affine  whether there are a weight and a bias

    Raises `ShapeError` if the input's last axes have another shape.

    >>> import pullback as pb
    >>> LayerNorm(2, eps=0.0)(pb.tensor([[1.0, 3.0]], dtype="float32"))
    Tensor([[-1.,  1.]], dtype=float32, from=add)
    """

    def __init__(
        self, shape: int | tuple[int, ...], eps: float = 1e-5, affine: bool = True, *,
        dtype: Any = "float32",
    ) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.eps = eps
        self.weight = Parameter(init.ones(self.shape, dtype=dtype)) if affine else None
        self.bias = Parameter(init.zeros(self.shape, dtype=dtype)) if affine else None

    def forward(self, x: Any) -> Any:
        count = len(self.shape)
        if tuple(x.shape)[len(x.shape) - count :] != self.shape:
            raise ShapeError(
                f"input of {self!r}", f"last axes {self.shape}", f"shape {tuple(x.shape)}"
            )
        axes = tuple(range(-count, 0))
        return ops.layer_norm(x, self.weight, self.bias, axes=axes, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.shape}, eps={self.eps}, affine={self.weight is not None}"


class BatchNorm(Module):
    """Normalises each channel (axis 1) over the batch and all positions, then scales and shifts.

    Works for any number of axes: (examples, channels), (examples, channels, height, width), …
    Training uses the statistics of the batch and updates running averages; evaluation uses the
    running averages.

    momentum  weight of a new batch in the averages; None for the plain mean over all batches
    affine    whether there are a weight and a bias
    track     whether averages are kept; without them, batch statistics are always used

    Raises `ShapeError` for another number of channels, and `ArgumentError` in training for a
    single value per channel.

    >>> import pullback as pb
    >>> norm = BatchNorm(1, momentum=1.0)
    >>> norm(pb.tensor([[1.0], [3.0]], dtype="float32")).shape
    (2, 1)
    >>> norm.running_mean, norm.running_var
    (Tensor([2.], dtype=float32), Tensor([2.], dtype=float32))
    """

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self, channels: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track: bool = True, *, dtype: Any = "float32",
    ) -> None:
        self.channels, self.eps, self.momentum = channels, eps, momentum
        shape = (channels,)
        self.weight = Parameter(init.ones(shape, dtype=dtype)) if affine else None
        self.bias = Parameter(init.zeros(shape, dtype=dtype)) if affine else None
        self.running_mean = init.zeros(shape, dtype=dtype) if track else None
        self.running_var = init.ones(shape, dtype=dtype) if track else None
        self.num_batches_tracked = init.zeros((), dtype="int64") if track else None

    def forward(self, x: Any) -> Any:
        shape = tuple(x.shape)
        if len(shape) < 2 or shape[1] != self.channels:
            raise ShapeError(
                f"input of {self!r}", f"{self.channels} channels on axis 1", f"shape {shape}"
            )
        if not self.training and self.running_mean is not None:
            return ops.batch_norm(
                x, self.weight, self.bias, mean=self.running_mean, variance=self.running_var,
                eps=self.eps,
            )
        if self.training:
            self._track(x)
        return ops.batch_norm(x, self.weight, self.bias, eps=self.eps)

    def _track(self, x: Any) -> None:
        """Update the running averages with a batch; in a graph, each time the graph runs."""
        lengths = tuple(x.shape)
        if None not in lengths:
            self._check(lengths)
        if self.running_mean is None:
            return
        mean, variance = ops.batch_statistics(raw(x))
        if current_graph() is None:
            self._enter(mean, variance, lengths)
            return
        from ..graphs.tracing import effect  # already loaded when a graph is built

        effect("batch_statistics", self._enter, [mean, variance, ops.shape(raw(x))], ())

    def _check(self, lengths: tuple[int, ...]) -> int:
        """The number of values per channel; `ArgumentError` where the variance needs more."""
        count = math.prod(lengths[:1] + lengths[2:])
        if count < 2:
            raise ArgumentError(
                f"input of {self!r} in training", "more than one value per channel",
                f"shape {lengths}", "use a larger batch, or call eval() first",
            )
        return count

    def _enter(self, mean: Any, variance: Any, lengths: Any) -> None:
        count = self._check(tuple(map(int, lengths)))
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        _put(self.num_batches_tracked, self.num_batches_tracked._data + 1)
        share = self.momentum
        if share is None:
            seen = self.num_batches_tracked._data
            share = 1 / (seen if known(seen) is None else int(known(seen)))
        _put(self.running_mean, _moved(self.running_mean._data, mean, share))
        unbiased = variance * (count / (count - 1))
        _put(self.running_var, _moved(self.running_var._data, unbiased, share))

    def extra_repr(self) -> str:
        affine, track = self.weight is not None, self.running_mean is not None
        options = f"eps={self.eps}, momentum={self.momentum}, affine={affine}"
        return f"{self.channels}, {options}" + ("" if track else ", track=False")


def _moved(average: Any, value: Any, share: float) -> Any:
    moved = average + share * (value - average)
    return moved if moved.dtype == average.dtype else ops.astype(moved, average.dtype)


def _put(buffer: Tensor, array: Any) -> None:
    """Replace a tensor's array; graphs may still hold the old one."""
    check_kept(buffer._data, "running statistics of a layer in training", array)
    buffer._data = adapters[array.__class__].asarray(array)
