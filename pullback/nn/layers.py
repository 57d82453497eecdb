"""Layers with PyTorch's weight shapes, names and initial values, so its checkpoints load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from .. import ops
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..random import Generator
from . import init
from .module import Module
from .parameter import Parameter


class Linear(Module):
    """x @ weight.T + bias along the last axis; weight has shape (outputs, inputs).

    Initial values: uniform in ±1 / √inputs. Raises `ShapeError` for a last axis of another length.

    >>> import pullback as pb
    >>> Linear(3, 2)(pb.ones((4, 3), dtype="float32")).shape
    (4, 2)
    """

    def __init__(
        self, inputs: int, outputs: int, bias: bool = True, *, dtype: Any = "float32",
        generator: Generator | None = None,
    ) -> None:
        self.weight, self.bias = _weights((outputs, inputs), bias, dtype, generator)

    def forward(self, x: Any) -> Any:
        inputs = self.weight.shape[1]
        if tuple(x.shape)[-1:] != (inputs,):
            raise ShapeError(
                f"input of {self!r}", f"a last axis of {inputs}", f"shape {tuple(x.shape)}"
            )
        out = ops.matmul(x, ops.permute_dims(self.weight, (1, 0)))
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        outputs, inputs = self.weight.shape
        return f"{inputs}, {outputs}, bias={self.bias is not None}"


class Conv2d(Module):
    """2-D convolution of (examples, inputs, height, width), plus a bias per output channel.

    size      of the window: one int, or a pair (height, width)
    stride, padding, dilation, groups  as for `pullback.conv2d`

    Initial values: uniform in ±1 / √(inputs / groups · window size).

    >>> import pullback as pb
    >>> Conv2d(3, 8, 5, padding=2)(pb.ones((1, 3, 16, 16), dtype="float32")).shape
    (1, 8, 16, 16)
    """

    def __init__(
        self, inputs: int, outputs: int, size: int | tuple[int, int], stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True, *,
        dtype: Any = "float32", generator: Generator | None = None,
    ) -> None:
        if groups < 1 or inputs % groups or outputs % groups:
            raise ArgumentError(
                "argument `groups` of Conv2d", "a divisor of inputs and of outputs",
                f"{groups}, with {inputs} and {outputs}",
            )
        window = (size, size) if isinstance(size, int) else tuple(size)
        shape = (outputs, inputs // groups, *window)
        self.weight, self.bias = _weights(shape, bias, dtype, generator)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, x: Any) -> Any:
        return ops.conv2d(
            x, self.weight, self.bias, stride=self.stride, padding=self.padding,
            dilation=self.dilation, groups=self.groups,
        )

    def extra_repr(self) -> str:
        outputs, inputs, *window = self.weight.shape
        plain = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        options = [f"{k}={getattr(self, k)}" for k, v in plain.items() if getattr(self, k) != v]
        size = f"size={tuple(window)}"
        return ", ".join([f"{inputs * self.groups}, {outputs}", size, *options])


class Embedding(Module):
    """Look up rows of a weight table (entries, width) by integer index; initial values are normal.

    >>> import pullback as pb
    >>> Embedding(10, 4)(pb.tensor([[1, 2, 9]])).shape
    (1, 3, 4)
    """

    def __init__(
        self, count: int, size: int, *, dtype: Any = "float32", generator: Generator | None = None
    ) -> None:
        self.weight = Parameter(init.normal((count, size), generator=generator, dtype=dtype))

    def forward(self, indices: Any) -> Any:
        return ops.embedding(self.weight, indices)

    def extra_repr(self) -> str:
        return "{}, {}".format(*self.weight.shape)


class Dropout(Module):
    """In training, sets entries to 0 with probability p and divides the others by 1 - p.

    >>> import pullback as pb
    >>> Dropout(0.5).eval()(pb.tensor([1.0, 2.0]))
    Tensor([1., 2.])
    """

    def __init__(self, p: float = 0.5, *, generator: Generator | None = None) -> None:
        if not 0 <= p <= 1:
            raise ArgumentError("argument `p` of Dropout", "a probability in [0, 1]", f"{p}")
        self.p, self._generator = p, generator

    def forward(self, x: Any) -> Any:
        return ops.dropout(x, self.p, training=self.training, generator=self._generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Flatten(Module):
    """Flatten all axes from `start` on into one.

    >>> import pullback as pb
    >>> Flatten()(pb.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start: int = 1) -> None:
        self.start = start

    def forward(self, x: Any) -> Any:
        shape = tuple(x.shape)
        if not 0 <= self.start < max(1, len(shape)):
            raise ShapeError(
                f"input of Flatten(start={self.start})", f"more than {self.start} axes",
                f"shape {shape}",
            )
        return ops.reshape(x, (*shape[: self.start], math.prod(shape[self.start :])))


class Sequential(Module):
    """Apply layers, or other functions of one argument, one after the other.

    Indexed and sliced like a list. Parameter names begin with the index of their layer.

    >>> import pullback as pb
    >>> net = Sequential(Linear(3, 8), pb.tanh, Linear(8, 2))
    >>> net(pb.ones((5, 3), dtype="float32")).shape, len(net), net[-1]
    ((5, 2), 3, Linear(8, 2, bias=True))
    """

    def __init__(self, *layers: Callable[[Any], Any]) -> None:
        for i, layer in enumerate(layers):
            if not callable(layer):
                raise ArgumentTypeError(
                    f"layer {i} of Sequential", "a module or function", f"a {type(layer).__name__}",
                    "write Sequential(*layers)" if isinstance(layer, (list, tuple)) else "",
                )
        self.layers = list(layers)

    def _members(self) -> Iterator[tuple[str, Any]]:
        for name, value in super()._members():
            yield name.removeprefix("layers."), value

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def __getitem__(self, index: int | slice) -> Any:
        found = self.layers[index]
        return Sequential(*found) if isinstance(found, list) else found


def _weights(
    shape: tuple[int, ...], bias: bool, dtype: Any, generator: Generator | None
) -> tuple[Parameter, Parameter | None]:
    """Weight and bias, both uniform in ±1 / √fan_in, as in PyTorch."""
    bound = 1 / math.sqrt(max(1, init.fans(shape)[0]))
    weight, shift = (
        init.uniform(s, low=-bound, high=bound, generator=generator, dtype=dtype)
        for s in (shape, shape[:1])
    )
    return Parameter(weight), Parameter(shift) if bias else None
