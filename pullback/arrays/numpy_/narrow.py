"""Narrow NumPy arrays: float16, and the bfloat16 of `ml_dtypes`, computed in float32.

NumPy's float16 has no linear algebra and no special functions, and NumPy knows bfloat16 only
through `ml_dtypes`: times a Python float it becomes float32. `Narrow` is an `ndarray` whose
operations widen their arguments to float32 and round the result once. Because it is a separate
type, and the array's type selects the kernel, other arrays have no overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

_FLOAT32 = numpy.dtype("float32")
_OF_BFLOAT16 = ("real floating", "numeric")
_KNOWN = (numpy.ndarray, numpy.generic, bool, int, float, complex, list, tuple)

AS_THEY_ARE = frozenset({
    "astype", "broadcast_to", "expand_dims", "flip", "getitem", "imag", "lattice",
    "matrix_transpose", "nextafter", "permute_dims", "real", "reshape", "squeeze",
    "view_as_real",
})
"""Operations not computed in float32: views, which share memory, and `nextafter`."""

HIDING = frozenset({"hide_axis", "show_axis"})
"""Operations of `vmap`, which keep the type of what is inside."""

CASTING = frozenset({"cumulative_prod", "cumulative_sum", "empty_like", "full_like"})
"""Operations that create narrow arrays if their `dtype` says so; those that small computations
call often have kernels in `shapes`."""


def is_narrow(dtype: Any) -> bool:
    """Whether a NumPy dtype is float16 or bfloat16.

    >>> is_narrow(numpy.dtype("float16")), is_narrow(numpy.dtype("float32"))
    (True, False)
    """
    return dtype.itemsize == 2 and (dtype.char == "e" or dtype.name == "bfloat16")


class Narrow(numpy.ndarray):
    """A float16 or bfloat16 ndarray; NumPy's functions compute it in float32."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if not all(isinstance(a, _KNOWN) for a in inputs):
            return NotImplemented  # a Tensor handles the call itself
        if ufunc is numpy.nextafter:
            return fitted(getattr(ufunc, method)(*map(_plain, inputs), **keywords))
        wide = [widened(a) for a in inputs]
        if method == "at":
            ufunc.at(*wide)
            _plain(inputs[0])[...] = wide[0]
            return None
        out = keywords.get("out")
        if out is None:
            return narrowed(getattr(ufunc, method)(*wide, **keywords), inputs, keywords)
        keywords["out"] = tuple([widened(o) for o in out])
        getattr(ufunc, method)(*wide, **keywords)
        for target, made in zip(out, keywords["out"], strict=True):
            if made is not target:
                _plain(target)[...] = made
        return out[0] if len(out) == 1 else out

    def astype(self, *args: Any, **keywords: Any) -> Any:  # else other dtypes would be `Narrow`
        """The array in another dtype."""
        return fitted(super().astype(*args, **keywords))


def _plain(array: Any) -> Any:
    return array.view(numpy.ndarray) if array.__class__ is Narrow else array


def fitted(array: Any) -> Any:
    """An array as the type for its dtype: `Narrow` or plain; also for tuples of arrays."""
    if isinstance(array, (tuple, list)):
        return tuple([fitted(a) for a in array])
    if not hasattr(array, "dtype"):
        return array
    if is_narrow(array.dtype):
        return numpy.asanyarray(array).view(Narrow)
    return _plain(array)


def widened(value: Any) -> Any:
    """A narrow array or scalar in float32; anything else unchanged."""
    if hasattr(value, "dtype") and is_narrow(value.dtype):
        return numpy.asarray(value).astype(_FLOAT32)
    return value


def narrowed(result: Any, args: Sequence[Any], attrs: Any) -> Any:
    """The result for widened arguments, in the dtype that the original arguments imply.

    Narrow, if all floating arguments have the same narrow dtype and the result is float32; with
    an explicit `dtype`, that dtype.
    """
    dtype = None if attrs.get("dtype") is not None else narrow_of([
        a.dtype for a in args if hasattr(a, "dtype")
    ])
    if isinstance(result, (tuple, list)):
        return tuple([_rounded(r, dtype) for r in result])
    return _rounded(result, dtype)


def _rounded(result: Any, dtype: Any) -> Any:
    if dtype is not None and getattr(result, "dtype", None) == _FLOAT32:
        result = numpy.asarray(result).astype(dtype)
    return fitted(result)


def narrow_of(dtypes: Sequence[Any]) -> Any:
    """The only narrow dtype in a list, if the others are integers and booleans; else None."""
    floating = {d for d in dtypes if d.kind not in "biu"}
    found = floating.pop() if len(floating) == 1 else None
    return found if found is not None and is_narrow(found) else None


def kernel_of(name: str, cls: type, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operation for a NumPy type, from the kernel for wide arrays.

    Other arrays use the given kernel, except for operations that create narrow arrays from them.
    """
    if cls is Narrow or (issubclass(cls, numpy.generic) and is_narrow(numpy.dtype(cls))):
        if name in HIDING:
            return kernel
        if name in AS_THEY_ARE:
            return lambda *args, **attrs: fitted(kernel(*args, **attrs))
        return lambda *args, **attrs: narrowed(
            kernel(*[widened(a) for a in args], **attrs), args, attrs
        )
    if name in CASTING and issubclass(cls, (numpy.ndarray, numpy.generic)):

        def casting(*args: Any, **attrs: Any) -> Any:
            made = kernel(*args, **attrs)
            return made if attrs.get("dtype") is None else fitted(made)

        return casting
    return kernel


def result_type(*values: Any) -> Any:
    """NumPy's `result_type`, also for narrow dtypes.

    >>> result_type(numpy.dtype("float16"), 2.0, numpy.dtype("int8"))
    dtype('float16')
    """
    dtypes = [numpy.dtype(getattr(v, "dtype", v)) for v in values if not _is_number(v)]
    wide = [_FLOAT32 if is_narrow(d) else d for d in dtypes]
    numbers = [v for v in values if _is_number(v)]
    found = numpy.result_type(*wide, *numbers)
    narrow = narrow_of(dtypes) if found == _FLOAT32 else None
    return found if narrow is None else narrow


def isdtype(dtype: Any, kind: Any) -> bool:
    """NumPy's `isdtype`; bfloat16, which NumPy has no kind for, is real and floating."""
    if getattr(dtype, "name", None) != "bfloat16":
        return numpy.isdtype(dtype, kind)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(k == dtype or (isinstance(k, str) and k in _OF_BFLOAT16) for k in kinds)


def _is_number(value: Any) -> bool:
    return value.__class__ in (bool, int, float, complex)


def finfo(dtype: Any) -> Any:
    """NumPy's `finfo`; for bfloat16 that of `ml_dtypes`."""
    if numpy.dtype(dtype).name != "bfloat16":
        return numpy.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)
