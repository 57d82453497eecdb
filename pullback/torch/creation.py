"""Tensor creation: from data, filled, ranges, random; PyTorch's defaults float32 and int64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import ops
from .. import random as core_random
from ..arrays import adapters, is_array
from ..core.op import OPS
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw, to_array, wrap
from ..errors import ArgumentError
from ..lost_paths import copied
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
    """Wrap an array that has no other owner in a tensor."""
    out = wrap(Tensor, adapters[array.__class__].adopt(array))
    return out.requires_grad_() if requires_grad else out


# From data ----------------------------------------------------------------------------------


@guarded
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Returns a new tensor with a copy of numbers, nested sequences, an array or a tensor.

    Python floats become float32 (see `set_default_dtype`), ints become int64.

    >>> tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    values = numpy.asarray(tensor_of(data)._data) if dtype is None else to_array(data)
    return copied(data, made(numpy.array(values, dtype=dtype), requires_grad), "tensor()")


@guarded
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor that shares memory with an array; a tensor keeps its history."""
    found = tensor_of(data)
    return found if dtype is None else dtypes.cast(found, numpy.dtype(dtype))


@guarded
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor that shares memory with an array or tensor, unless `copy`.

    copy  True: always copy; False: raise an error if a copy is needed; None: share if possible
    """
    found = as_tensor(obj, dtype)
    given = obj if isinstance(obj, CoreTensor) else None
    if copy and (given is not None or is_array(obj)):
        found = ops.identity(found)
    elif copy is False and found is not given and not (
        is_array(obj) and numpy.shares_memory(numpy.asarray(obj), numpy.asarray(found._data))
    ):
        raise as_runtime(ArgumentError(
            "argument `copy` of `asarray`", "values that can be shared",
            f"a {type(obj).__name__} that must be copied", "leave out copy=False",
        ))
    return found.requires_grad_() if requires_grad else found


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
    """A tensor that shares memory with an object that implements the buffer protocol."""
    return made(numpy.frombuffer(buffer, numpy.dtype(dtype), count, offset), requires_grad)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A scalar tensor of the default dtype."""
    return tensor(s, dtype=dtype or dtypes.get_default_dtype(), requires_grad=requires_grad)


def is_tensor(obj: Any) -> bool:
    """True for a tensor."""
    return isinstance(obj, CoreTensor)


# Filled tensors -----------------------------------------------------------------------------


def _filled(value: float, name: str) -> Callable[..., Any]:
    def call(
        *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        dtype = dtype or dtypes.get_default_dtype()
        return made(numpy.full(lengths(size), value, dtype), requires_grad)

    call.__name__ = name
    call.__doc__ = f"A tensor filled with {value:g}; the shape is a tuple or one int per axis."
    return guarded(call)


zeros, ones, empty = _filled(0, "zeros"), _filled(1, "ones"), _filled(0, "empty")


@guarded
def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor filled with one value; its dtype is that of the value."""
    dtype = dtype or tensor_of(fill_value).dtype
    return made(numpy.full(lengths([size]), raw(fill_value), dtype), requires_grad)


def _alike(value: float, name: str) -> Callable[..., Any]:
    def call(
        input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        return full_like(input, value, dtype=dtype, requires_grad=requires_grad)

    call.__name__ = name
    call.__doc__ = f"A tensor filled with {value:g}, of the shape and dtype of another."
    return call


zeros_like, ones_like = _alike(0, "zeros_like"), _alike(1, "ones_like")
empty_like = _alike(0, "empty_like")


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor filled with a value (under vmap, one per example), shaped like another."""
    dtype = dtypes.dtype_of(dtype or input.dtype)
    out = OPS["full_like"](input, fill_value=raw(fill_value), dtype=dtype)
    return out.requires_grad_() if requires_grad else out


@guarded
def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The identity matrix."""
    return made(raw(ops.eye(n, m, dtype=dtype or dtypes.get_default_dtype())), requires_grad)


# Ranges -------------------------------------------------------------------------------------


@guarded
def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Evenly spaced numbers in [start, end); with one argument, in [0, end).

    >>> arange(3), arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if hasattr(v, "item") else v for v in (start, end, step))
    if dtype is not None and numpy.dtype(dtype).kind in "iu":
        start, end, step = int(start), int(end), int(step)
    if not step or (end - start) / step < 0:
        raise ArgumentError("`arange`", "a step from start to end", f"{start, end, step}")
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    return made(numpy.arange(start, end, step).astype(dtype), requires_grad)


@guarded
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`steps` evenly spaced numbers from start to end."""
    dtype = dtype or dtypes.get_default_dtype()
    return made(_spaced(start, end, steps).astype(dtype), requires_grad)


@guarded
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:
    """base ** linspace(start, end, steps)."""
    dtype = dtype or dtypes.get_default_dtype()
    return made((base ** _spaced(start, end, steps)).astype(dtype), requires_grad)


def _spaced(start: Any, end: Any, steps: int) -> Any:
    first, last = (v.item() if isinstance(v, CoreTensor) else v for v in (start, end))
    return raw(ops.linspace(first, last, steps, dtype=dtypes.float64))


# Random tensors -----------------------------------------------------------------------------


def drawn(kind: str, shape: Any, dtype: Any, generator: Any) -> Any:
    """Raw random samples of a dtype, "normal" or "uniform"."""
    dtype = numpy.dtype(dtype or dtypes.get_default_dtype())
    source = generator or core_random.default_generator()
    if dtype.kind == "c":  # variance 1, half of it in each part
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
    what = "normal" if kind == "normal" else "uniform [0, 1)"
    call.__doc__ = f"A tensor of {what} samples; the shape is a tuple or one int per axis."
    return guarded(call)


def _random_like(kind: str, name: str) -> Callable[..., Any]:
    def call(
        input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        return made(drawn(kind, input.shape, dtype or input.dtype, None), requires_grad)

    call.__name__ = name
    call.__doc__ = f"`{name.removesuffix('_like')}` with the shape and dtype of a tensor."
    return guarded(call)


rand, randn = _random("uniform", "rand"), _random("normal", "randn")
rand_like, randn_like = _random_like("uniform", "rand_like"), _random_like("normal", "randn_like")


@guarded
def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Any = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:
    """Random ints in [low, high); `randint(high, size)` starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    source = generator or core_random.default_generator()
    found = raw(source.integers(low, high, lengths([size])))
    return made(OPS["astype"](found, numpy.dtype(dtype or dtypes.int64)), requires_grad)


def randint_like(
    input: Any, low: int, high: int | None = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`randint` with the shape and dtype of a tensor."""
    low, high = (0, low) if high is None else (low, high)
    dtype = dtype or input.dtype
    return randint(low, high, input.shape, dtype=dtype, requires_grad=requires_grad)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """A random permutation of 0, …, n - 1."""
    source = generator or core_random.default_generator()
    return made(OPS["astype"](raw(source.permutation(n)), numpy.dtype(dtype or dtypes.int64)))


@guarded
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:
    """Normal samples; mean and std are numbers or tensors.

    Not differentiable: use `mean + std * torch.randn(…)` for gradients of mean and std.
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
    """1 with the probability given by each entry, else 0."""
    source = generator or core_random.default_generator()
    try:
        return made(raw(source.bernoulli(input.detach(), dtype=input.dtype)))
    except ArgumentError as error:
        raise as_runtime(error) from None
