"""Making tensors: from data, filled, counted, and like another."""

from __future__ import annotations

from typing import Any

from ..arrays import adapters, namespace
from ..core.op import op
from ..core.tensor import Tensor, to_array, wrap

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "tensor", "tril", "triu", "zeros", "zeros_like",
]

_xp = namespace(1.0)


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    """A Tensor of numbers, nested sequences or an array.

    dtype          converted to, when given
    requires_grad  record what is computed from it, for `backward`
    An array is kept without a copy when nothing is to convert; of a Tensor the history is dropped.

    >>> tensor([1.0, 2.0])
    Tensor([1., 2.])
    """
    array = to_array(data)
    made = Tensor(adapters[array.__class__].asarray(array, dtype))
    return made.requires_grad_() if requires_grad else made


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Any:
    """A Tensor of what is handed; a Tensor is returned as it is unless converted or copied.

    >>> asarray([1, 2], dtype="float32").dtype
    dtype('float32')
    """
    if isinstance(obj, Tensor):
        if dtype is not None and obj.dtype != dtype:
            from .dtypes import astype

            return astype(obj, dtype)
        if copy:
            from .rounding import identity

            return identity(obj)
        return obj
    array = to_array(obj)
    return Tensor(adapters[array.__class__].namespace.asarray(array, dtype=dtype, copy=copy))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A Tensor of zeros (float64 unless a dtype is given).

    >>> zeros(2)
    Tensor([0., 0.])
    """
    return Tensor(_xp.zeros(shape, dtype=dtype))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A Tensor of ones (float64 unless a dtype is given).

    >>> ones(2)
    Tensor([1., 1.])
    """
    return Tensor(_xp.ones(shape, dtype=dtype))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A Tensor of one number (of its dtype unless one is given).

    >>> full(2, 3.0)
    Tensor([3., 3.])
    """
    return Tensor(_xp.full(shape, fill_value, dtype=dtype))


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A Tensor whose entries are whatever was in memory.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    return Tensor(_xp.empty(shape, dtype=dtype))


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    """Numbers from start (0 when only one is given) to below stop.

    >>> arange(3.0)
    Tensor([0., 1., 2.])
    """
    if stop is None:
        start, stop = 0, start
    return Tensor(_xp.arange(start, stop, step, dtype=dtype))


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Any:
    """num numbers, evenly spaced from start to stop.

    >>> linspace(0.0, 1.0, 3)
    Tensor([0. , 0.5, 1. ])
    """
    return Tensor(_xp.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None,
    device: Any = None,
) -> Any:
    """A matrix with ones on its k-th diagonal.

    >>> eye(2)
    Tensor([[1., 0.],
            [0., 1.]])
    """
    return Tensor(_xp.eye(n_rows, n_cols, k=k, dtype=dtype))


@op(differentiable=False)
def zeros_like(xp: Any, x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros of the shape and dtype of x (a raw array for a raw array).

    >>> import numpy as np
    >>> zeros_like(np.ones(2))
    array([0., 0.])
    """
    return xp.zeros_like(x, dtype=dtype)


@op(differentiable=False)
def ones_like(xp: Any, x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones of the shape and dtype of x (a raw array for a raw array).

    >>> import numpy as np
    >>> ones_like(np.zeros(2))
    array([1., 1.])
    """
    return xp.ones_like(x, dtype=dtype)


@op(differentiable=False)
def empty_like(xp: Any, x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of the shape and dtype of x whose entries are whatever was in memory.

    >>> import numpy as np
    >>> empty_like(np.zeros(2)).shape
    (2,)
    """
    return xp.empty_like(x, dtype=dtype)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One number in the shape (and dtype, unless one is given) of x.

    >>> import numpy as np
    >>> full_like(np.zeros(2), 7.0)
    array([7., 7.])
    """
    data = to_array(x)
    made = namespace(data).full_like(data, fill_value, dtype=dtype)
    return wrap(x._out, made) if isinstance(x, Tensor) else made


@op
def tril(xp: Any, x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of a matrix (or of a stack of them), zeros above its k-th diagonal.

    >>> import numpy as np
    >>> tril(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    return xp.tril(x, k=k)


@tril.pullback("x")
def pullback_tril(g: Any, *, k: int) -> Any:
    return tril(g, k=k)


@op
def triu(xp: Any, x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of a matrix (or of a stack of them), zeros below its k-th diagonal.

    >>> import numpy as np
    >>> triu(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    return xp.triu(x, k=k)


@triu.pullback("x")
def pullback_triu(g: Any, *, k: int) -> Any:
    return triu(g, k=k)
