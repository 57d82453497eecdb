"""`Tensor` attributes and methods about memory layout and kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import ops
from ..arrays.inexact import kind_of
from ..core import versions
from ..core.inplace import check_writable, overwrite
from ..core.tensor import raw
from ..errors import ArgumentError
from . import creation, dtypes, views
from .errors import as_runtime, guarded
from .nodes import place
from .storage import UntypedStorage, offset_of, steps_of
from .tensor import Tensor

__all__: list[str] = []


# Memory ---------------------------------------------------------------------------------------


def _version(self: Any) -> int:
    """The version counter: the number of in-place writes to the memory, shared by all views."""
    return versions.count(self._data)


def _base(self: Any) -> Any:
    """The tensor that this one is a view of, or None."""
    taken = getattr(self, "_view_of", None)
    return None if taken is None else taken[0]


def _is_view(self: Any) -> bool:
    """True if the tensor is a view of another tensor."""
    return getattr(self, "_view_of", None) is not None


def _stride(self: Any, dim: int | None = None) -> Any:
    """The strides in entries, for all axes or one."""
    steps = steps_of(self._data)
    return steps if dim is None else steps[dim]


def _storage_offset(self: Any) -> int:
    """The offset of the first entry in its storage, in entries."""
    return offset_of(self._data)


def _untyped_storage(self: Any) -> UntypedStorage:
    """The storage that the tensor and its views share."""
    return UntypedStorage(self._data)


def _is_set_to(self: Any, tensor: Any) -> bool:
    """True if two tensors view the same memory in the same way."""
    one, other = numpy.asarray(self._data), numpy.asarray(tensor._data)
    return (one.ctypes.data, one.shape, one.strides) == (
        other.ctypes.data, other.shape, other.strides
    )


def _output_nr(self: Any) -> int:
    """The index of this tensor among the outputs of its `grad_fn`."""
    return 0 if self._node is None else place(self._node)


def _nbytes(self: Any) -> int:
    """The size of all entries in bytes."""
    return int(self.numel() * self.itemsize)


def _itself(self: Any, *how: Any, **more: Any) -> Any:
    """The tensor itself."""
    return self


def _resolved(self: Any) -> Any:
    """A copy of a tensor that `conj` made, which is a view; else the tensor itself."""
    steps = (getattr(self, "_view_of", None) or (None, ()))[1]
    return ops.identity(self) if sum(op.name == "conj" for op, _ in steps) % 2 else self


# Kinds ----------------------------------------------------------------------------------------


def _no(self: Any) -> bool:
    """False."""
    return False


def _is_signed(self: Any) -> bool:
    """True if the dtype is signed."""
    return kind_of(self._data.dtype) in "ifc"


def _is_same_size(self: Any, other: Any) -> bool:
    """True if two tensors have the same shape."""
    return tuple(self.shape) == tuple(other.shape)


def _is_nonzero(self: Any) -> bool:
    """True if the only entry is not zero."""
    return bool(self)


def _get_device(self: Any) -> int:
    """-1: tensors live in CPU memory."""
    return -1


def _cuda(self: Any, *how: Any, **more: Any) -> Any:
    """Raises an error: there is only CPU memory."""
    raise as_runtime(ArgumentError(
        "cuda() of a tensor", "CPU memory, the only device here", "another device",
        "remove the call, or check torch.cuda.is_available() first",
    ))


def _sum_to_size(self: Any, *size: Any) -> Any:
    """Sums over axes to a shape that broadcasts to the tensor's own."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if shape and shape == tuple(self.shape):
        return ops.reshape(self, shape)
    extra = len(self.shape) - len(shape)
    stretched = [extra + i for i, n in enumerate(shape) if n == 1 and self.shape[extra + i] != 1]
    out = ops.sum(self, axis=(*range(extra), *stretched), keepdims=True)
    return ops.reshape(out, shape)


def _mH(self: Any) -> Any:
    """The conjugate transpose of each matrix."""
    return views.adjoint(self)


def _mT(self: Any) -> Any:
    """The transpose of each matrix."""
    return ops.matrix_transpose(self)


# In-place methods -----------------------------------------------------------------------------


def _reshaped(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The in-place variant of a view method: it changes how the tensor reads its memory."""
    def method(self: Any, *args: Any, **how: Any) -> Any:
        check_writable(self, name)
        found = function(self, *args, **how)
        if found is not self:
            taken = getattr(found, "_view_of", None)
            self._data, self._node = found._data, found._node
            if taken is not None:
                self._view_of = taken
                taken[0]._views.append(_weak(self))
        return self

    method.__name__ = name
    method.__doc__ = f"In-place `{name[:-1]}`; returns the tensor."
    return guarded(method, name)


def _weak(tensor: Any) -> Any:
    from weakref import ref

    return ref(tensor)


def _drawn(name: str, draw: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """A method that overwrites a tensor with random samples."""
    def method(self: Any, *args: Any, generator: Any = None, **how: Any) -> Any:
        check_writable(self, name)

        def uniform() -> Any:
            # Never 0, since the result may be passed to log.
            return 1 - creation.drawn("uniform", self.shape, dtypes.float64, generator)

        def normal() -> Any:
            return creation.drawn("normal", self.shape, dtypes.float64, generator)

        found = draw(self, uniform, normal, *args, **how)
        return overwrite(self, ops.astype(found, self.dtype), name)

    method.__doc__ = doc
    return guarded(method, name)


def _whole(x: Any, uniform: Any, normal: Any, low: int = 0, high: int | None = None) -> Any:
    if high is None:
        top = 2**53 if x.dtype.kind == "f" else int(numpy.iinfo(x.dtype).max)
        low, high = (0, min(low, top)) if low else (0, top)
    return ops.floor((1 - uniform()) * (high - low)) + low


def _exponential(x: Any, uniform: Any, normal: Any, lambd: float = 1.0) -> Any:
    return -ops.log(uniform()) / lambd


def _cauchy(x: Any, uniform: Any, normal: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
    return median + sigma * ops.tan(math.pi * (uniform() - 0.5))


def _log_normal(x: Any, uniform: Any, normal: Any, mean: float = 1.0, std: float = 2.0) -> Any:
    return ops.exp(mean + std * normal())


def _geometric(x: Any, uniform: Any, normal: Any, p: float) -> Any:
    return ops.ceil(ops.log(uniform()) / math.log1p(-p))


@guarded
def _filled_diagonal(self: Any, fill_value: float, wrap: bool = False) -> Any:
    """Writes one value to the diagonal, in place, and returns the tensor."""
    if self.dim() > 2 or wrap:
        places: Any = [numpy.arange(min(self.shape))] * self.dim()
        self[tuple(places)] = fill_value
        return self
    self.diagonal().fill_(fill_value)
    return self


@guarded
def _apply(self: Any, callable: Callable[[Any], Any]) -> Any:
    """Applies a Python function to each entry, in place; nothing is recorded."""
    found = numpy.vectorize(callable, otypes=[self.dtype])(raw(self))
    return overwrite(self, found, "apply_")


@guarded
def _map(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Applies a Python function to each pair of entries, in place; nothing is recorded."""
    found = numpy.vectorize(callable, otypes=[self.dtype])(raw(self), raw(tensor))
    return overwrite(self, found, "map_")


def bind() -> None:
    """Add the members to `Tensor`, after its view methods exist."""
    bound: Any = Tensor
    for name, function in {
        "stride": _stride, "storage_offset": _storage_offset, "is_set_to": _is_set_to,
        "untyped_storage": _untyped_storage, "_is_view": _is_view, "resolve_conj": _resolved,
        "resolve_neg": _itself, "share_memory_": _itself, "pin_memory": _itself, "is_conj": _no,
        "is_neg": _no, "is_pinned": _no, "is_shared": _no, "is_inference": _no,
        "is_signed": _is_signed, "is_same_size": _is_same_size, "is_nonzero": _is_nonzero,
        "get_device": _get_device, "cuda": _cuda, "sum_to_size": guarded(_sum_to_size),
        "fill_diagonal_": _filled_diagonal, "apply_": _apply, "map_": _map, "to_dense": _itself,
    }.items():
        setattr(bound, name, function)
    for name, getter in {
        "_version": _version, "_base": _base, "output_nr": _output_nr, "nbytes": _nbytes,
        "is_sparse": _no, "is_quantized": _no, "is_meta": _no, "is_mps": _no, "is_xpu": _no,
        "mH": _mH, "H": _mH, "mT": _mT,
    }.items():
        setattr(bound, name, property(getter))
    bound.is_cpu = True
    for name in ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims"):
        setattr(bound, name + "_", _reshaped(getattr(bound, name), name + "_"))
    for name, draw, doc in (
        ("random_", _whole, "Fill with random ints in [low, high), in place."),
        ("exponential_", _exponential, "Fill with exponential samples, in place."),
        ("cauchy_", _cauchy, "Fill with Cauchy samples, in place."),
        ("log_normal_", _log_normal, "Fill with log-normal samples, in place."),
        ("geometric_", _geometric, "Fill with geometric samples, in place."),
    ):
        setattr(bound, name, _drawn(name, draw, doc))
