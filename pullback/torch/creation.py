"""Making tensors, filled, counted and random, with PyTorch's defaults: float32 and int64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import random as core_random
from ..arrays import adapters
from ..core.departures import copied
from ..core.op import OPS
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw, to_array, wrap
from ..errors import ArgumentError
from . import dtypes
from .errors import as_runtime, guarded
from .shaping import lengths
from .tensor import Tensor, tensor_of

__all__ = [
    "arange", "as_tensor", "asarray", "bernoulli", "empty", "empty_like", "eye", "from_numpy",
    "frombuffer", "full", "full_like", "is_tensor", "linspace", "logspace", "normal", "ones",
    "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm", "scalar_tensor", "tensor", "zeros", "zeros_like",
]


def made(array: Any, requires_grad: bool = False) -> Any:
    """A tensor around an array that is nobody else's."""
    out = wrap(Tensor, adapters[array.__class__].adopt(array))
    return out.requires_grad_() if requires_grad else out


# From data ----------------------------------------------------------------------------------


@guarded
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A new tensor with a copy of numbers, nested sequences of them, an array or a tensor.

    Python's floats become float32 (see `set_default_dtype`), its integers int64.

    >>> tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    values = numpy.asarray(tensor_of(data)._data) if dtype is None else to_array(data)
    return copied(data, made(numpy.array(values, dtype=dtype), requires_grad), "tensor()")


@guarded
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor that shares memory with an array, and keeps to the history of a tensor."""
    found = tensor_of(data)
    return found if dtype is None else dtypes.cast(found, numpy.dtype(dtype))


asarray = as_tensor


def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares memory with a NumPy array.

    >>> import numpy as np
    >>> from_numpy(np.ones(2))
    tensor([1., 1.], dtype=float64)
    """
    return made(ndarray)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A tensor that shares memory with an object that has Python's buffer interface."""
    return made(numpy.frombuffer(buffer, numpy.dtype(dtype), count, offset), requires_grad)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A tensor without axes, of the default dtype."""
    return tensor(s, dtype=dtype or dtypes.get_default_dtype(), requires_grad=requires_grad)


def is_tensor(obj: Any) -> bool:
    """Whether something is a tensor."""
    return isinstance(obj, CoreTensor)


# Filled -------------------------------------------------------------------------------------


def _filled(value: float, name: str) -> Callable[..., Any]:
    def call(
        *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        dtype = dtype or dtypes.get_default_dtype()
        return made(numpy.full(lengths(size), value, dtype), requires_grad)

    call.__name__ = name
    call.__doc__ = f"A tensor of a shape, given one length after the other, full of {value:g}."
    return guarded(call)


zeros, ones, empty = _filled(0, "zeros"), _filled(1, "ones"), _filled(0, "empty")


@guarded
def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor of a shape full of one value, whose dtype it has."""
    dtype = dtype or tensor_of(fill_value).dtype
    return made(numpy.full(lengths([size]), raw(fill_value), dtype), requires_grad)


def _alike(value: float, name: str) -> Callable[..., Any]:
    def call(
        input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        return full_like(input, value, dtype=dtype, requires_grad=requires_grad)

    call.__name__ = name
    call.__doc__ = f"A tensor of the shape and dtype of another, full of {value:g}."
    return call


zeros_like, ones_like = _alike(0, "zeros_like"), _alike(1, "ones_like")
empty_like = _alike(0, "empty_like")


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor of the shape and dtype of another, full of one value; of each example, if it is."""
    value, dtype = raw(fill_value), numpy.dtype(dtype or input.dtype)
    return made(OPS["full_like"](input._data, fill_value=value, dtype=dtype), requires_grad)


@guarded
def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The identity matrix."""
    return made(numpy.eye(n, m, dtype=dtype or dtypes.get_default_dtype()), requires_grad)


# Counted ------------------------------------------------------------------------------------


@guarded
def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The numbers from start up to end, which is left out; with one number, from 0 up to it.

    >>> arange(3), arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if hasattr(v, "item") else v for v in (start, end, step))
    if dtype is not None and numpy.dtype(dtype).kind in "iu":
        start, end, step = int(start), int(end), int(step)
    if not step or (end - start) / step < 0:
        raise ArgumentError("`arange`", "a step from start towards end", f"{start, end, step}")
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    return made(numpy.arange(start, end, step).astype(dtype), requires_grad)


@guarded
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """So many numbers from start to end, at equal distances."""
    dtype = dtype or dtypes.get_default_dtype()
    return made(_spaced(start, end, steps).astype(dtype), requires_grad)


@guarded
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:
    """The base to the power of so many numbers from start to end."""
    dtype = dtype or dtypes.get_default_dtype()
    powers = numpy.float64(base) ** _spaced(start, end, steps)
    return made(powers.astype(dtype), requires_grad)


def _spaced(start: Any, end: Any, steps: int) -> Any:
    first, last = (v.item() if isinstance(v, CoreTensor) else v for v in (start, end))
    return numpy.linspace(first, last, steps)


# Random -------------------------------------------------------------------------------------


def drawn(kind: str, shape: Any, dtype: Any, generator: Any) -> Any:
    """Raw random numbers of a dtype, "normal" or "uniform"."""
    dtype = numpy.dtype(dtype or dtypes.get_default_dtype())
    source = generator or core_random.default_generator()
    if dtype.kind == "c":  # of variance 1, half of it in each part
        half = numpy.empty(0, dtype).real.dtype
        parts = [raw(getattr(source, kind)(shape, dtype=half)) for _ in "ab"]
        scale = math.sqrt(0.5) if kind == "normal" else 1.0
        return OPS["astype"]((parts[0] + 1j * parts[1]) * scale, dtype)
    return raw(getattr(source, kind)(tuple(shape), dtype=dtype))


def _random(kind: str, name: str) -> Callable[..., Any]:
    def call(
        *size: Any, generator: Any = None, dtype: Any = None, device: Any = None,
        requires_grad: bool = False,
    ) -> Any:
        return made(drawn(kind, lengths(size), dtype, generator), requires_grad)

    call.__name__ = name
    what = "normal numbers" if kind == "normal" else "numbers from [0, 1), all equally likely"
    call.__doc__ = f"A tensor of a shape, given one length after the other, of {what}."
    return guarded(call)


def _random_like(kind: str, name: str) -> Callable[..., Any]:
    def call(
        input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        return made(drawn(kind, input.shape, dtype or input.dtype, None), requires_grad)

    call.__name__ = name
    call.__doc__ = f"As `{name.removesuffix('_like')}`, of the shape and dtype of a tensor."
    return guarded(call)


rand, randn = _random("uniform", "rand"), _random("normal", "randn")
rand_like, randn_like = _random_like("uniform", "rand_like"), _random_like("normal", "randn_like")


@guarded
def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Any = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:
    """Integers from low up to high, which is left out; `randint(high, size)` begins at 0."""
    if size is None:
        low, high, size = 0, low, high
    source = generator or core_random.default_generator()
    found = raw(source.integers(low, high, lengths([size])))
    return made(OPS["astype"](found, numpy.dtype(dtype or dtypes.int64)), requires_grad)


def randint_like(
    input: Any, low: int, high: int | None = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Integers as of `randint`, of the shape and dtype of a tensor."""
    low, high = (0, low) if high is None else (low, high)
    dtype = dtype or input.dtype
    return randint(low, high, input.shape, dtype=dtype, requires_grad=requires_grad)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """The integers below n in a random order."""
    source = generator or core_random.default_generator()
    return made(OPS["astype"](raw(source.permutation(n)), numpy.dtype(dtype or dtypes.int64)))


@guarded
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:
    """Normal numbers with means and standard deviations, which are numbers or tensors.

    Nothing is recorded: write `mean + std * torch.randn(…)` for derivatives with respect to them.
    """
    mean, std = (v.detach() if isinstance(v, CoreTensor) else v for v in (mean, std))
    given = [v for v in (mean, std) if isinstance(v, CoreTensor)]
    if size is None:
        size = numpy.broadcast_shapes(*[tuple(v.shape) for v in given])
    dtype = dtype or (dtypes.result_type(*given) if given else None)
    values = made(drawn("normal", lengths([tuple(size)]), dtype, generator)) * std + mean
    return values.requires_grad_() if requires_grad else values


@guarded
def bernoulli(input: Any, *, generator: Any = None) -> Any:
    """1 with the probability that each entry is, else 0."""
    source = generator or core_random.default_generator()
    try:
        return made(raw(source.bernoulli(input.detach(), dtype=input.dtype)))
    except ArgumentError as error:
        raise as_runtime(error) from None
