"""Creation functions: from data, filled, ranges, and like another array.

Functions without an array argument return Tensors; those that take an array follow it: raw array
in, raw array out; Tensor in, Tensor out. The default dtype is float64, or int64, bool or complex128
if the given numbers have that kind.
"""

from __future__ import annotations

from typing import Any

from ..arrays import adapters, is_array, library_of, namespace
from ..arrays.batched import adapter_of
from ..core.tensor import Tensor, raw, to_array
from ..departures import departs
from ..errors import ArgumentError
from ..lost_paths import copied
from .declaring import face_of, known_as, op
from .dtypes import astype
from .operands import holds_tensor, matrix_examples, stacked
from .rounding import identity
from .scattering import in_library_of, to_device
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
    An array is not copied unless its dtype changes.
    The result is a leaf: the history of Tensors in `data` is dropped (`asarray` keeps it). In the
    function of a transformation that is a `LostGradientError`, except for one Tensor with
    `requires_grad`.

    >>> tensor([1.0, 2.0], requires_grad=True)
    Tensor([1., 2.], requires_grad=True)
    """
    array = to_array(data)
    adapter = adapters[array.__class__]
    made = Tensor(adapter.asarray(array, dtype), requires_grad)
    if isinstance(data, Tensor) and not requires_grad:
        departs(data, "tensor()")
    return copied(data, made, "tensor()")


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    like: Any = None,
) -> Tensor:
    """A Tensor of numbers, nested sequences, an array or a Tensor; unchanged Tensors are returned.

    copy   True: always copy; False: raise an error if a copy is needed
    like   a Tensor or an array: the result is of its array library, and on its device
    Tensors stay tracked, also in nested sequences, which are stacked.

    >>> asarray([1, 2])
    Tensor([1, 2])
    """
    if holds_tensor(obj):
        if copy is False:
            raise _no_sharing("a sequence")
        obj = stacked(obj)
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


def _no_sharing(got: str) -> ArgumentError:
    return ArgumentError(
        "argument `copy` of `asarray`", "data that needs no copy, for copy=False", got,
        "leave `copy` out",
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor that shares memory with an array of another library.

    >>> import numpy as np
    >>> from_dlpack(np.array([1.0, 2.0]))
    Tensor([1., 2.])
    """
    x = raw(x)
    if is_array(x):
        x = adapters[x.__class__].adopt(x)
        if device is None and x.__dlpack_device__()[0] != 1:  # not on the CPU, so not for NumPy
            return Tensor(adapters[x.__class__].copy(x) if copy else x)
    return Tensor(_xp.from_dlpack(x, device=device, copy=copy))


# Filled, and ranges -------------------------------------------------------------------------


def _at(dtype: Any, device: Any) -> tuple[Any, Any]:
    """The namespace that dtype and device belong to (NumPy's if neither decides), and the dtype."""
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
    """A Tensor whose entries are uninitialised.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    xp, dtype = _at(dtype, device)
    return Tensor(xp.empty(shape, dtype=dtype, device=device))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor filled with one number; a one-entry Tensor as `fill_value` stays tracked.

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
    """Numbers from start (0 if only one is given) up to but excluding stop, in steps of step.

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
    """num evenly spaced numbers from start to stop; `endpoint=False` excludes stop.

    One-entry Tensors as start and stop stay tracked.

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
    """A matrix with ones on its k-th diagonal (k > 0: above the main one) and zeros elsewhere.

    >>> eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    xp, dtype = _at(dtype, device)
    return Tensor(xp.eye(n_rows, n_cols, k=k, dtype=dtype, device=device))


# Like another array -------------------------------------------------------------------------


@known_as(numpy="zeros_like")
@op(native="zeros_like", differentiable=False, shape="x")
def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros with the shape and dtype of x.

    >>> import numpy as np
    >>> zeros_like(np.array([1.0, 2.0]))
    array([0., 0.])
    """


@zeros_like.batching
def batch_zeros_like(x: Any, *, dtype: Any, device: Any) -> Any:
    return zeros_like(x, dtype=dtype, device=device)


@known_as(numpy="ones_like")
@op(native="ones_like", differentiable=False, shape="x")
def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones with the shape and dtype of x.

    >>> import numpy as np
    >>> ones_like(np.array([1.0, 2.0]))
    array([1., 1.])
    """


@ones_like.batching
def batch_ones_like(x: Any, *, dtype: Any, device: Any) -> Any:
    return ones_like(x, dtype=dtype, device=device)


@op(native="empty_like", differentiable=False, shape="x")
def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """An uninitialised array with the shape and dtype of x.

    >>> import numpy as np
    >>> empty_like(np.ones((2, 3))).shape
    (2, 3)
    """


@empty_like.batching
def batch_empty_like(x: Any, *, dtype: Any, device: Any) -> Any:
    return empty_like(x, dtype=dtype, device=device)


@op(name="full_like", native="full_like", differentiable=False, shape="x")
def _full_like(
    x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Any: ...


@_full_like.batching
def batch_full_like(x: Any, *, fill_value: Any, dtype: Any, device: Any) -> Any:
    return _full_like(x, fill_value, dtype=dtype, device=device)


@face_of(_full_like)
def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array filled with one number, with the shape of x and its dtype unless one is given.

    A one-entry Tensor as `fill_value` stays tracked, and makes the result a Tensor.

    >>> import numpy as np
    >>> full_like(np.array([1.0, 2.0]), 7.0)
    array([7., 7.])
    """
    if isinstance(fill_value, Tensor):
        data = to_array(x)
        return full(data.shape, fill_value, dtype=data.dtype if dtype is None else dtype)
    return _full_like(x, fill_value, dtype=dtype, device=device)


# Triangles ----------------------------------------------------------------------------------


@known_as(numpy="tril", torch="tril(input,diagonal)")
@op(native="tril", linear=True, shape="(m,n)->(m,n)", dtype="x")
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


@known_as(numpy="triu", torch="triu(input,diagonal)")
@op(native="triu", linear=True, shape="(m,n)->(m,n)", dtype="x")
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
