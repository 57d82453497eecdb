"""NumPy: implements the Array API standard itself, so this adapter adds little."""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from ...errors import ArgumentError
from .. import SCALARS, adapters, entrances, inserters
from . import narrow, older, shapes, special

_SCALAR_KERNELS: dict[str, Callable[..., Any]] = {
    # On NumPy scalars the operators are 10 x faster than the ufuncs.
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
}


_LARGE = 1 << 19
"""From this many bytes on, memory is pooled (`large`)."""


@numpy.errstate(invalid="raise", divide="ignore")
def _checked_quotient(x1: Any, x2: Any) -> Any:
    return x1 / x2


def quotient(x1: Any, x2: Any) -> Any:
    """x1 / x2, and 0 where both are 0: checks for zeros if that is cheap, else tries.

    Infinite derivatives are valid results: other divisions by 0 do not warn.
    """
    if not getattr(x2, "shape", ()):
        if x2:
            return x1 / x2
    elif x2.size < 1000 and numpy.count_nonzero(x2) == x2.size:
        return x1 / x2
    try:
        return _checked_quotient(x1, x2)
    except FloatingPointError:
        with numpy.errstate(divide="ignore"):
            return x1 / numpy.where((x1 == 0) & (x2 == 0), 1, x2)


def power(x1: Any, x2: Any) -> Any:
    """x1 ** x2, by the operator, which is fast for 2, 1/2 and -1; NumPy is slow for cubes."""
    if x2.__class__ in (int, float) and x2 == 3 and x1.dtype.kind in "fc":
        return x1 * x1 * x1
    return x1**x2


def rounded(x: Any) -> Any:
    """The nearest integers: for floats, `numpy.rint` is faster than `numpy.round`."""
    return numpy.rint(x) if x.dtype.kind in "fc" else numpy.round(x)


def make_complex(re: Any, im: Any) -> Any:
    """re + i · im, also for infinite parts (i · ∞ would have NaN as its real part)."""
    dtype = numpy.result_type(re, im, numpy.complex64)
    out = numpy.empty(numpy.broadcast_shapes(numpy.shape(re), numpy.shape(im)), dtype)
    out.real, out.imag = re, im
    return out


def einsum(*operands: Any, subscripts: str) -> Any:
    """By matrix products (BLAS) if the work outweighs the search for them, about 15 µs."""
    before, _, out = subscripts.partition("->")
    lengths: dict[str, int] = {}
    for term, x in zip(before.split(","), operands, strict=True):
        for letter, n in zip(term, numpy.shape(x), strict=True):
            lengths[letter] = max(n, lengths.get(letter, 1))
    many = len(operands) > 1 and len(lengths) > len(out) and math.prod(lengths.values()) > 20_000
    found = numpy.einsum(subscripts, *operands, optimize=many)
    return numpy.array(found) if len(operands) == 1 else found  # one operand can give a view


def product(x1: Any, x2: Any) -> Any:
    """The matrix product; a large result uses pooled memory."""
    matrices = x1.ndim == 2 and getattr(x2, "ndim", 0) == 2
    if matrices and x1.shape[0] * x2.shape[1] * x1.itemsize >= _LARGE:
        from .large import product

        return product(x1, x2)
    return numpy.matmul(x1, x2)


_KERNELS: dict[str, Callable[..., Any]] = {
    "cbrt": numpy.cbrt, "einsum": einsum, "log1p": special.log1p, "make_complex": make_complex,
    "matmul": product,
    "pow": power, "quotient": quotient, "round": rounded, **shapes.KERNELS,
}
_LAZY = {"erf": "scipy.special", "erfc": "scipy.special", **special.LAZY}

FILES = {
    "convolutions": "convolution convolution_input_adjoint convolution_weight_adjoint",
    "decompositions": "cholesky eig eigh eigvalsh lu pinv qr svd svdvals",
    "linalg": "adjugate expm inv solve triangular_solve",
    "nn":
        "cross_entropy_slope gate larger_share logsumexp max_pool max_pool_gather "
        "max_pool_scatter normalise relu sigmoid softmax sum_pool sum_pool_adjoint where",
}
"""Files of kernels; each is imported when one of its kernels is first used."""

_FILE_OF = {name: file for file, names in FILES.items() for name in names.split()}


def kernels_in(file: str) -> dict[str, Callable[..., Any]]:
    """The kernels of a file in this folder."""
    found: dict[str, Callable[..., Any]] = importlib.import_module(f"{__package__}.{file}").KERNELS
    return found


class NumPy:
    """The adapter of `numpy.ndarray`, NumPy's scalars and Python's numbers."""

    name = "numpy"
    namespace = older.NAMESPACE
    hosts = 0
    finished = staticmethod(narrow.kernel_of)
    result_type = staticmethod(narrow.result_type)
    finfo = staticmethod(narrow.finfo)
    isdtype = staticmethod(narrow.isdtype)

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """NumPy's own function, except for scalars and for the kernels in `nn` and others."""
        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        if issubclass(cls, numpy.generic) and name in _SCALAR_KERNELS:
            return _SCALAR_KERNELS[name]
        if issubclass(cls, numpy.ndarray) and cls not in (numpy.ndarray, narrow.Narrow):
            from . import large

            if name in large.KERNELS:
                return large.KERNELS[name]
        if not issubclass(cls, (numpy.ndarray, numpy.generic)):  # a Python number
            return None
        if name in _FILE_OF:
            return kernels_in(_FILE_OF[name])[name]
        return _KERNELS.get(name)

    def rank(self, cls: type) -> int:
        """Narrow and large arrays before arrays before scalars before Python numbers."""
        if issubclass(cls, numpy.ndarray):
            if cls is narrow.Narrow:
                return 4
            return 2 if cls is numpy.ndarray else 3
        return 1 if issubclass(cls, numpy.generic) else 0

    def dtype(self, dtype: Any) -> Any:
        """NumPy's."""
        return None if dtype is None else numpy.dtype(dtype)

    def numpy(self, array: Any) -> Any:
        """The array."""
        return numpy.asarray(array)

    def place(self, array: Any, device: Any = None) -> Any:
        """A NumPy array from any library's array."""
        if device not in (None, "cpu"):
            raise ArgumentError("to_device of a NumPy array", '"cpu"', repr(device))
        return adapters[array.__class__].numpy(array)

    def adopt(self, array: Any) -> Any:
        """A large array as the type with pooled, threaded results; a narrow array as its own type.

        Returns other arrays unchanged.
        """
        if array.dtype.itemsize == 2 and narrow.is_narrow(array.dtype):
            return narrow.fitted(array)
        if array.__class__ is numpy.ndarray and array.nbytes >= _LARGE:
            from .large import adopt  # needs threads, so it is imported on first use

            return adopt(array)
        return array

    def plain(self, array: Any) -> Any:
        """The array as a plain ndarray, sharing its memory."""
        if array.__class__ is numpy.ndarray or not isinstance(array, numpy.ndarray):
            return array
        return array.view(numpy.ndarray)

    def unpooled(self) -> None:
        """Frees idle memory, so that tracemalloc sees the next allocations."""
        from . import scratch
        from .large import POOL

        POOL.clear()
        scratch.clear()

    def owner(self, array: Any) -> Any:
        """The array at the end of the chain of bases."""
        if not isinstance(array, numpy.ndarray):
            return None
        while (base := array.base) is not None:
            if not isinstance(base, numpy.ndarray):
                base = getattr(base, "base", None)  # what stands behind a view by strides
                if not isinstance(base, numpy.ndarray):
                    break
            array = base
        return array

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """An ndarray (never a scalar)."""
        if value.__class__ in entrances:
            value = adapters[value.__class__].numpy(value)
        made = numpy.asarray(value, dtype=dtype)
        return narrow.fitted(made) if narrow.is_narrow(made.dtype) else made

    def exported(self, array: Any) -> Any:
        """The array, or a copy if it has negative strides, at which PyTorch ends the process."""
        return numpy.ascontiguousarray(array) if min(array.strides, default=0) < 0 else array

    def own(self, array: Any) -> Any:
        """The array, or a copy if it is a view (broadcasting makes it read-only) or a scalar."""
        if isinstance(array, numpy.ndarray):
            if array.base is None:
                return array
            if array.__class__ is not numpy.ndarray:
                from .large import POOL

                if POOL.holds(array):
                    return array
        return self.copy(array)

    def copy(self, array: Any) -> Any:
        """A contiguous copy; a large one in pooled memory."""
        is_narrow = array.__class__ is narrow.Narrow
        if isinstance(array, numpy.ndarray) and not is_narrow and array.nbytes >= _LARGE:
            from .large import copy

            return copy(array)
        return numpy.array(array, subok=True)

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Zeros; large ones in pooled memory."""
        dtype = numpy.dtype(dtype)
        if narrow.is_narrow(dtype):
            return narrow.fitted(numpy.zeros(shape, dtype))
        if math.prod(shape) * dtype.itemsize < _LARGE:
            return numpy.zeros(shape, dtype)
        from .large import zeros

        return zeros(tuple(shape), dtype)

    def sealed(self, array: Any) -> Any:
        """A read-only view."""
        view = (array if isinstance(array, numpy.ndarray) else numpy.asarray(array)).view()
        view.flags.writeable = False
        return view

    def is_sealed(self, array: Any) -> bool:
        """Whether this view is read-only."""
        return isinstance(array, numpy.ndarray) and not array.flags.writeable

    def lock(self, array: Any) -> list[Any]:
        """The arrays to make read-only so that no one can write to this array's memory."""
        chain = []
        while array is not None:
            if isinstance(array, numpy.ndarray):
                chain.append(array)
            array = getattr(array, "base", None)
        return chain

    def write(self, array: Any, value: Any) -> Any:
        """`array[...] = value`."""
        return self.assign(array, ..., value)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`; a scalar becomes a writable array."""
        if not isinstance(array, numpy.ndarray):
            array = numpy.array(array)
        array[index] = value
        return array

    def add_in(self, array: Any, index: Any, value: Any) -> bool:
        """`array[index] += value` of entries that are not repeated, in memory of its own."""
        if not isinstance(array, numpy.ndarray) or not array.flags.writeable:
            return False
        if array.dtype != value.dtype or self.own(array) is not array:
            return False
        array[index] += value
        return True

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`; repeated entries get the sum of their values."""
        if not isinstance(array, numpy.ndarray):
            array = numpy.array(array)
        value = numpy.asarray(value).astype(array.dtype, copy=False)
        if not array.flags.c_contiguous:
            # If the value has fewer axes than the index, NumPy 2.4 misses some of the sums.
            numpy.add.at(array, index, numpy.broadcast_to(value, array[index].shape))
            return array
        # On flat positions `add.at` is 5 x faster than on rows.
        parts = index if isinstance(index, tuple) else (index,)
        if 0 < len(parts) <= array.ndim and all(
            isinstance(p, numpy.ndarray) and p.dtype.kind == "i" for p in parts
        ):
            rows: Any = 0
            for positions, length in zip(parts, array.shape, strict=False):
                rows = rows * length + numpy.arange(length)[positions]
            rest = array.shape[len(parts) :]
            inside = numpy.arange(math.prod(rest)).reshape(rest)
            flat = rows[(..., *(None,) * len(rest))] * inside.size + inside
        else:
            flat = numpy.arange(array.size).reshape(array.shape)[index]
        spread = numpy.broadcast_to(value, flat.shape)
        numpy.add.at(array.reshape(-1), flat.reshape(-1), spread.reshape(-1))
        return array


ADAPTER = NumPy()


def _register() -> None:
    for cls in (*SCALARS, numpy.ndarray, numpy.generic):
        adapters[cls] = ADAPTER
    inserters[numpy.ndarray] = ADAPTER.add_in


_register()
