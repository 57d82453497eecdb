"""What the operations need beyond the standard, made of its functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import SCALARS, adapters

_Kernels = dict[str, Callable[..., Any]]


def made_of(xp: Any) -> _Kernels:
    """Kernels by the names of operations, of functions of a namespace."""
    def rsqrt(x: Any) -> Any:
        return 1 / xp.sqrt(x)

    def exp2(x: Any) -> Any:
        return xp.exp(x * math.log(2.0))

    def cbrt(x: Any) -> Any:
        return xp.sign(x) * xp.abs(x) ** (1 / 3)

    def pad(x: Any, widths: Any, constant_values: Any = 0) -> Any:
        for axis, (before, after) in enumerate(widths):
            parts = [
                x if n is None else xp.full(
                    (*x.shape[:axis], n, *x.shape[axis + 1 :]), constant_values, dtype=x.dtype
                ) for n in (before, None, after) if n is None or n
            ]
            x = xp.concat(parts, axis=axis) if len(parts) > 1 else x
        return x

    def einsum(*operands: Any, subscripts: str) -> Any:
        return _einsum(xp, operands, subscripts)

    def make_complex(re: Any, im: Any) -> Any:
        re, im = xp.broadcast_arrays(re, im)
        return re + im * 1j

    def angle(x: Any) -> Any:
        if _kind(x.dtype) == "c":
            return xp.atan2(xp.imag(x), xp.real(x))
        return xp.atan2(xp.zeros_like(x), x)

    def take(x: Any, indices: Any, axis: Any) -> Any:
        axis %= x.ndim
        if indices.ndim == 1:
            return xp.take(x, indices, axis=axis)
        found = xp.take(x, xp.reshape(indices, (-1,)), axis=axis)
        return xp.reshape(found, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))

    def reshape(x: Any, shape: Any, copy: Any = None) -> Any:
        return xp.reshape(x, shape if isinstance(shape, tuple) else (shape,))

    def isin(x1: Any, x2: Any, invert: bool = False) -> Any:
        found = xp.any(xp.expand_dims(x1, axis=-1) == xp.reshape(x2, (-1,)), axis=-1)
        return xp.logical_not(found) if invert else found

    return {
        f.__name__: f for f in (
            angle, cbrt, einsum, exp2, isin, make_complex, pad, reshape, rsqrt, take,
        )
    }


def together(adapter: Any, name: str, args: Any) -> list[Any]:
    """Operands of one library: NumPy's scalars and arrays without axes become numbers of Python.

    The standard has no mixed kinds: integers beside floating-point numbers take on their dtype.
    """
    found: list[Any] = []
    if name in _COMPLEX and _kind(args[0].dtype) == "f":
        wide = "complex64" if str(args[0].dtype).endswith("32") else "complex128"
        return [adapter.namespace.astype(args[0], adapter.dtype(wide)), *args[1:]]
    for a in args:
        if isinstance(a, numpy.generic) or (isinstance(a, numpy.ndarray) and a.ndim == 0):
            a = a.item()
        found.append(a)
    if name in _COUNTING and _kind(found[0].dtype) == "b":
        return [adapter.namespace.astype(found[0], adapter.dtype("int64")), *found[1:]]
    arrays = [a for a in found if a.__class__ not in SCALARS and hasattr(a, "dtype")
              and a.__class__ in adapters and adapters[a.__class__] is adapter]
    if name not in _ARITHMETIC:
        return found
    if name != "where" and any(_kind(a.dtype) in "iufc" for a in arrays):
        found = [int(a) if a.__class__ is bool else a for a in found]
    if len(arrays) < 2:
        return found
    kinds = {_kind(a.dtype) for a in arrays}
    if len(kinds) < 2 or not kinds <= {"i", "u", "f", "c"} or not kinds & {"f", "c"}:
        return found
    widest = next(a.dtype for a in arrays if _kind(a.dtype) == ("c" if "c" in kinds else "f"))
    xp = adapter.namespace
    return [xp.astype(a, widest) if any(a is b for b in arrays) and _kind(a.dtype) in "iu" else a
            for a in found]


_COMPLEX = frozenset({"fftn", "ifftn", "irfftn"})
"""Operations on complex numbers, which take real ones as such."""
_COUNTING = frozenset({"sum", "prod", "cumulative_sum"})
"""Operations on numbers, which take truth values as 0 and 1."""
_ARITHMETIC = frozenset({
    "add", "atan2", "divide", "floor_divide", "hypot", "logaddexp", "matmul", "maximum", "minimum",
    "multiply", "pow", "product_or_zero", "quotient", "remainder", "subtract", "tensordot",
    "vecdot", "where",
})
"""Operations of two operands, of which integers take on the dtype of floating-point numbers."""


def _kind(dtype: Any) -> str:
    name = str(dtype).rpartition(".")[2]
    return "c" if "complex" in name else "f" if "float" in name else name[0]


def _einsum(xp: Any, operands: Any, subscripts: str) -> Any:
    """Sums of products: axes in one order, products, and a sum over those that do not remain."""
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    letters = sorted(set("".join(terms)) - set(output))
    order = [*output, *letters]
    total: Any = None
    for term, x in zip(terms, operands, strict=True):
        x, term = _diagonal(xp, x, term)
        axes = tuple(sorted(range(len(term)), key=lambda i: order.index(term[i])))
        x = xp.permute_dims(x, axes) if len(axes) > 1 else x
        lengths = dict(zip([term[i] for i in axes], x.shape, strict=True))
        x = xp.reshape(x, tuple([lengths.get(c, 1) for c in order]))
        total = x if total is None else total * x
    summed = tuple(range(len(output), len(order)))
    return xp.sum(total, axis=summed, dtype=total.dtype) if summed else total


def _diagonal(xp: Any, x: Any, term: str) -> tuple[Any, str]:
    """An operand without repeated letters: along both axes of one, the entries of the diagonal."""
    for c in sorted(set(term)):
        while term.count(c) > 1:
            i = term.index(c)
            j = term.index(c, i + 1)
            n = x.shape[i]
            rest = [k for k in range(x.ndim) if k not in (i, j)]
            x = xp.permute_dims(x, (i, j, *rest))
            x = xp.reshape(x, (n * n, *x.shape[2:]))
            x = xp.take(x, xp.arange(n) * (n + 1), axis=0)
            term = c + "".join(t for k, t in enumerate(term) if k not in (i, j))
    return x, term
