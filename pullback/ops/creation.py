"""Making tensors: from data, filled, counted, and like another.

Functions that make something of nothing give Tensors; those that begin with an array follow it:
raw for raw, a Tensor for a Tensor. The dtype, where none is asked for, is float64, or int64, bool
or complex128 where numbers that are given say so.
"""

from __future__ import annotations

from typing import Any

from ..arrays import SCALARS, adapters, is_array, library_of, namespace
from ..core.batching import adapter_of
from ..core.departures import copied
from ..core.op import face_of, op
from ..core.tensor import Tensor, raw, to_array
from ..errors import ArgumentError
from .dtypes import astype
from .joining import stack
from .operands import matrix_examples
from .placing import in_library_of, to_device
from .rounding import identity
from .shaping import broadcast_to

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "ones", "ones_like", "tensor", "tril", "triu", "zeros", "zeros_like",
]

_xp = namespace(0.0)

# From data ----------------------------------------------------------------------------------


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A new Tensor of numbers, nested sequences of them, an array or a Tensor.

    requires_grad   record what is computed from it, for `backward`
    An array is kept without a copy, unless its dtype is to change.
    It is a beginning: the history of Tensors in `data` is left behind (`asarray` keeps it).

    >>> tensor([1.0, 2.0], requires_grad=True)
    Tensor([1., 2.], requires_grad=True)
    """
    array = to_array(data)
    adapter = adapters[array.__class__]
    return copied(data, Tensor(adapter.asarray(array, dtype), requires_grad), "tensor()")


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    like: Any = None,
) -> Tensor:
    """A Tensor of whatever is handed: itself for a Tensor, if nothing is to be changed.

    copy   True: always in memory of its own; False: an error where it cannot be shared
    like   a Tensor or an array: the result is of its array library, and on its device
    Tensors stay tracked, also those in nested sequences, which are stacked.

    >>> asarray([1, 2])
    Tensor([1, 2])
    """
    if _has_tensor(obj):
        if copy is False:
            raise _no_sharing("a sequence")
        obj = stack([p if isinstance(p, SCALARS) else asarray(p) for p in obj])
        copy = None
    if like is not None:
        obj = in_library_of(obj, like)
    if not isinstance(obj, Tensor):
        array = obj if hasattr(obj, "__array__") else to_array(obj)
        xp = adapters[raw(to_array(obj)).__class__].namespace
        return Tensor(xp.asarray(array, dtype=dtype, device=device, copy=copy))
    if dtype is not None:
        dtype = adapter_of(obj._data).dtype(dtype)
    if device is not None:
        obj = to_device(obj, device)
    if dtype is not None and obj.dtype != dtype:
        if copy is False:
            raise _no_sharing(f"dtype {obj.dtype}")
        return astype(obj, dtype)
    return identity(obj) if copy else obj


def _has_tensor(obj: Any) -> bool:
    """Whether a nested sequence has a Tensor in it."""
    return isinstance(obj, (list, tuple)) and any(
        isinstance(part, Tensor) or _has_tensor(part) for part in obj
    )


def _no_sharing(got: str) -> ArgumentError:
    return ArgumentError(
        "argument `copy` of `asarray`", "something that needs no copy, for False", got,
        "leave `copy` out",
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor that shares the memory of another library's array.

    >>> import numpy as np
    >>> from_dlpack(np.array([1.0, 2.0]))
    Tensor([1., 2.])
    """
    x = raw(x)
    if is_array(x):
        x = adapters[x.__class__].adopt(x)
        if device is None and x.__dlpack_device__()[0] != 1:  # not on the CPU, where NumPy is
            return Tensor(adapters[x.__class__].copy(x) if copy else x)
    return Tensor(_xp.from_dlpack(x, device=device, copy=copy))


# Filled and counted -------------------------------------------------------------------------


def _at(dtype: Any, device: Any) -> tuple[Any, Any]:
    """The namespace that a dtype or device is of, NumPy's if neither says, and its dtype."""
    adapter = library_of(dtype, device)
    return adapter.namespace, adapter.dtype(dtype)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor of zeros.

    >>> zeros((2,))
    Tensor([0., 0.])
    """
    xp, dtype = _at(dtype, device)
    return Tensor(xp.zeros(shape, dtype=dtype, device=device))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor of ones.

    >>> ones((2,))
    Tensor([1., 1.])
    """
    xp, dtype = _at(dtype, device)
    return Tensor(xp.ones(shape, dtype=dtype, device=device))


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor whose entries are whatever was in memory.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    xp, dtype = _at(dtype, device)
    return Tensor(xp.empty(shape, dtype=dtype, device=device))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor of one number; of a Tensor with one number, which stays tracked.

    >>> full((2,), 7.0)
    Tensor([7., 7.])
    """
    if isinstance(fill_value, Tensor):
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        stretched = broadcast_to(fill_value, lengths)
        return astype(stretched, fill_value.dtype if dtype is None else dtype, device=device)
    xp, dtype = _at(dtype, device)
    return Tensor(xp.full(shape, fill_value, dtype=dtype, device=device))


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """The numbers from start (0 when only one is given) by steps to before stop.

    >>> arange(1.0, 2.0, 0.25)
    Tensor([1.  , 1.25, 1.5 , 1.75])
    """
    if stop is None:
        start, stop = 0, start
    xp, dtype = _at(dtype, device)
    return Tensor(xp.arange(raw(start), raw(stop), raw(step), dtype=dtype, device=device))


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Any:
    """num numbers, evenly spaced, from start to stop, which may be left out with `endpoint`.

    Ends that are Tensors (with one number) stay tracked.

    >>> linspace(0.0, 1.0, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    if isinstance(start, Tensor) or isinstance(stop, Tensor):
        end = raw(start if isinstance(start, Tensor) else stop)
        part = adapter_of(end).namespace.linspace(0.0, 1.0, num, endpoint=endpoint)
        between = start * (1 - part) + stop * part
        return between if dtype is None else astype(between, dtype, device=device)
    xp, dtype = _at(dtype, device)
    return Tensor(
        xp.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
    )


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """A matrix with ones on its k-th diagonal (above the main one for k > 0) and zeros elsewhere.

    >>> eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    xp, dtype = _at(dtype, device)
    return Tensor(xp.eye(n_rows, n_cols, k=k, dtype=dtype, device=device))


# Like another -------------------------------------------------------------------------------


@op(native="zeros_like", differentiable=False)
def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros of the shape and dtype of x.

    >>> import numpy as np
    >>> zeros_like(np.array([1.0, 2.0]))
    array([0., 0.])
    """


@zeros_like.batching
def batch_zeros_like(x: Any, *, dtype: Any, device: Any) -> Any:
    return zeros_like(x, dtype=dtype, device=device)


@op(native="ones_like", differentiable=False)
def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones of the shape and dtype of x.

    >>> import numpy as np
    >>> ones_like(np.array([1.0, 2.0]))
    array([1., 1.])
    """


@ones_like.batching
def batch_ones_like(x: Any, *, dtype: Any, device: Any) -> Any:
    return ones_like(x, dtype=dtype, device=device)


@op(native="empty_like", differentiable=False)
def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of the shape and dtype of x whose entries are whatever was in memory.

    >>> import numpy as np
    >>> empty_like(np.ones((2, 3))).shape
    (2, 3)
    """


@empty_like.batching
def batch_empty_like(x: Any, *, dtype: Any, device: Any) -> Any:
    return empty_like(x, dtype=dtype, device=device)


@op(name="full_like", native="full_like", differentiable=False)
def _full_like(
    x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Any: ...


@_full_like.batching
def batch_full_like(x: Any, *, fill_value: Any, dtype: Any, device: Any) -> Any:
    return _full_like(x, fill_value, dtype=dtype, device=device)


@face_of(_full_like)
def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One number in the shape (and dtype, unless one is given) of x.

    A `fill_value` that is a Tensor with one number stays tracked, and makes the result a Tensor.

    >>> import numpy as np
    >>> full_like(np.array([1.0, 2.0]), 7.0)
    array([7., 7.])
    """
    if isinstance(fill_value, Tensor):
        data = to_array(x)
        return full(data.shape, fill_value, dtype=data.dtype if dtype is None else dtype)
    return _full_like(x, fill_value, dtype=dtype, device=device)


# Triangles ----------------------------------------------------------------------------------


@op(native="tril", linear=True)
def tril(x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of a matrix, or of a stack of them: zeros above the k-th diagonal.

    >>> import numpy as np
    >>> tril(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """


@tril.pullback("x")
def pullback_tril(g: Any, *, k: int) -> Any:
    return tril(g, k=k)


@tril.batching
def batch_tril(x: Any, *, k: int) -> Any:
    return tril(matrix_examples(x, "tril"), k=k)


@op(native="triu", linear=True)
def triu(x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of a matrix, or of a stack of them: zeros below the k-th diagonal.

    >>> import numpy as np
    >>> triu(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """


@triu.pullback("x")
def pullback_triu(g: Any, *, k: int) -> Any:
    return triu(g, k=k)


@triu.batching
def batch_triu(x: Any, *, k: int) -> Any:
    return triu(matrix_examples(x, "triu"), k=k)
