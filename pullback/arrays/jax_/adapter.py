"""JAX: immutable arrays, and the tracers that replace them under `jax.jit`.

A tracer is an array here like any other, so operations on tracers are traced: tapes, custom
gradients and the transformations of this library work inside JAX's, without adapters. Neither this
file nor any rule reads a tracer's numbers. Arrays never share memory: a write makes a new array,
and `core.inplace` carries it over to the tensors that are views of the written one.

JAX's own behaviour is kept: out-of-range positions are clamped or dropped unless they are Python
integers, singular matrices give infinities, and 64 bits become 32 unless `jax_enable_x64` is set.
integers, singular matrices give infinities, and 64 bits are 32 unless `jax_enable_x64` is set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import numpy
from jax import lax
from jax import numpy as jnp

from ..widening import WIDE, widened_kernel
from . import engine, flow, nn, special

_NARROW = (numpy.dtype("float16"), numpy.dtype(jnp.bfloat16))


def einsum(*operands: Any, subscripts: str) -> Any:
    """Takes the subscripts first, as for every library."""
    return jnp.einsum(subscripts, *operands)


def make_complex(re: Any, im: Any) -> Any:
    """re + i · im, also for infinite parts (i · ∞ would have NaN as its real part)."""
    dtype = jnp.finfo(jnp.result_type(re, im, numpy.complex64)).dtype
    re, im = jnp.broadcast_arrays(re, im)
    return lax.complex(re.astype(dtype), im.astype(dtype))


def permute_dims(x: Any, axes: Any) -> Any:
    """The axes in another order; negative axes count from the end."""
    return jnp.permute_dims(x, tuple([axis % x.ndim for axis in axes]))


def pad(x: Any, widths: Any, constant_values: Any = 0) -> Any:
    """The positional form of `jax.numpy.pad`."""
    return jnp.pad(x, widths, constant_values=constant_values)


# Indices ------------------------------------------------------------------------------------


def _at(array: Any, index: Any) -> Any:
    check_index(array, index)
    return array.at[index]


def _fitting(array: Any, index: Any, value: Any) -> Any:
    """A value in the dtype of an array, without axes of length 1 that the indexed entries lack."""
    value = jnp.asarray(value)
    if value.ndim > 1 and value.shape[0] == 1:
        extra = value.ndim - array[index].ndim
        if extra > 0 and value.shape[:extra] == (1,) * extra:
            value = value.reshape(value.shape[extra:])
    return value.astype(array.dtype)


def _last_stay(array: Any, index: Any, value: Any) -> Any:
    """A value in which a repeated entry has its last value everywhere.

    For repeated entries of an index, JAX does not define which value remains.
    """
    parts = index if index.__class__ is tuple else (index,)
    if not any(getattr(p, "ndim", 0) and p.dtype != numpy.dtype("bool") for p in parts):
        return value
    size = array.size
    places = jnp.arange(size).reshape(array.shape).at[index].get(mode="fill", fill_value=size)
    at = places.reshape(-1)
    last = jnp.zeros(size + 1, at.dtype).at[at].max(jnp.arange(at.size))
    return jnp.broadcast_to(value, places.shape).reshape(-1)[last[at]].reshape(places.shape)


def check_index(x: Any, index: Any) -> None:
    """Raises an `IndexError` for an integer out of range; JAX would take the last entry."""
    shape = x.shape
    parts = index if index.__class__ is tuple else (index,)
    if int not in map(type, parts):
        return
    used = [_used(part) for part in parts]
    axis = 0
    for i, part in enumerate(parts):
        if part is Ellipsis:
            axis = len(shape) - sum(used[i + 1 :])
        elif part.__class__ is int and axis < len(shape):
            n = shape[axis]
            if not -n <= part < n:
                raise IndexError(f"index {part} is out of bounds for axis {axis} with size {n}")
        axis += used[i]


def _used(part: Any) -> int:
    """The number of axes that a part of an index uses."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return len(part.shape) if getattr(part, "dtype", None) == numpy.dtype("bool") else 1


# The adapter ------------------------------------------------------------------------------

def searchsorted(x1: Any, x2: Any, side: str) -> Any:
    """Positions in the default integer dtype, as for every library."""
    return jnp.searchsorted(x1, x2, side=side).astype(int)


_KERNELS: dict[str, Callable[..., Any]] = {
    "einsum": einsum, "make_complex": make_complex, "pad": pad, "permute_dims": permute_dims,
    "searchsorted": searchsorted,
    **nn.KERNELS, **special.KERNELS,
}


class JAX:
    """The adapter of `jax.Array` and of every kind of tracer."""

    name = "jax"
    namespace = jnp
    hosts = 0
    immutable = True
    checks: ClassVar = {
        "getitem": check_index, "clip_gradient": engine.refuse, "scale_gradient": engine.refuse,
    }
    may_replace = staticmethod(engine.may_replace)
    refuse_outer = staticmethod(engine.refuse)
    stopped = staticmethod(engine.stopped)
    barrier = staticmethod(engine.barrier)
    compiler_of = staticmethod(flow.compiler_of)
    no_value = staticmethod(engine.no_value)

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """The kernels that `jax.numpy` lacks, or None."""
        return _KERNELS.get(name)

    def finished(self, name: str, cls: type, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Computes half precision in float32 where JAX has no kernel for it."""
        if name not in WIDE:
            return kernel
        return widened_kernel(kernel, _NARROW, jnp.astype, numpy.dtype("float32"))

    def absorbs(self, cls: type, other: type) -> bool:
        """Tracers take NumPy's arrays: as constants of the compiled code, as JAX has it."""
        return issubclass(cls, jax.core.Tracer) and issubclass(other, numpy.ndarray)

    def rank(self, cls: type) -> int:
        """Constant: every function takes arrays and tracers together."""
        return 0

    def owner(self, array: Any) -> None:
        """None: immutable arrays need no version tracking."""
        return None

    def known(self, array: Any) -> Any:
        """The numbers as a NumPy array; None for a tracer, and where other processes have some."""
        if isinstance(array, jax.core.Tracer):
            return None
        here = array.is_fully_addressable or array.is_fully_replicated
        return numpy.asarray(array) if here else None

    def dtype(self, dtype: Any) -> Any:
        """NumPy's dtypes, which JAX shares."""
        return None if dtype is None else numpy.dtype(dtype)

    def numpy(self, array: Any) -> Any:
        """A NumPy array; raises a `SymbolError` for a tracer."""
        if isinstance(array, jax.core.Tracer):
            raise engine.unknown(array)
        return numpy.asarray(array)

    def place(self, array: Any, device: Any = None) -> Any:
        """An array from any library, on a JAX device or a name such as "cpu" or "cuda:1"."""
        made = self.asarray(array)
        if isinstance(device, str):
            kind, _, number = device.partition(":")
            device = jax.devices(kind)[int(number or 0)]
        return made if device is None else jax.device_put(made, device)

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """A `jax.Array`, or the tracer."""
        if dtype is None and isinstance(value, jax.Array):
            return value
        return jnp.asarray(value, dtype)

    def adopt(self, array: Any) -> Any:
        """The array unchanged."""
        return array

    plain = own = copy = sealed = adopt

    def is_sealed(self, array: Any) -> bool:
        """False: a write is possible, and makes a new array."""
        return False

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Zeros."""
        return jnp.zeros(shape, dtype)

    def write(self, array: Any, value: Any) -> Any:
        """The value in the shape and dtype of the array, on its devices if those were chosen."""
        made = jnp.broadcast_to(jnp.asarray(value, array.dtype), array.shape)
        chosen = not isinstance(array, jax.core.Tracer) and array.committed
        return jax.device_put(made, array.sharding) if chosen else made

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """A new array with the value at an index; a repeated entry gets its last value."""
        value = _last_stay(array, index, _fitting(array, index, value))
        return _at(array, index).set(value)

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """A new array; repeated entries get the sum of their values."""
        return _at(array, index).add(_fitting(array, index, value))


ADAPTER = JAX()
