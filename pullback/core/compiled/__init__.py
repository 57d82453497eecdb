"""The compiled core, if it was built and is wanted, and the slots of its classes otherwise.

It does the common case of the hot path in the same way as the core in Python, and hands everything
else to it; see README.md. `PULLBACK_PURE=1` in the environment leaves it out.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy


def _load() -> Any:
    if os.environ.get("PULLBACK_PURE", "0") not in ("", "0"):
        return None
    try:
        found = importlib.import_module(f"{__name__}._core")
    except ImportError:
        return None
    if getattr(found, "interface", 0) == INTERFACE:
        return found
    warnings.warn(
        f"the compiled core ({found.__file__}) was built from other sources, and the core in "
        "Python runs in its place; build it again: pip install --editable .",
        RuntimeWarning, stacklevel=2,
    )
    return None


INTERFACE = 3
"""A compiled core with another number belongs to another version of these files."""

compiled: Any = _load()
"""The module in C, or None."""


NODE_SLOTS = ("dtype", "level", "noted", "op", "parents", "saved", "seq", "shape")


class _Node:
    __slots__ = ("__weakref__", *NODE_SLOTS)


class _Tensor:
    __slots__ = ("__weakref__", "_array", "_history", "_view_of", "_views")


class _Context:
    __slots__ = ("__dict__", "_nodes", "_parents", "_saved")


if TYPE_CHECKING:
    NodeBase = _Node
    TensorBase = _Tensor
    ContextBase = _Context
    GradientBase = object
else:
    NodeBase = _Node if compiled is None else compiled.NodeBase
    TensorBase = _Tensor if compiled is None else compiled.TensorBase
    ContextBase = _Context if compiled is None else compiled.ContextBase
    GradientBase = object if compiled is None else compiled.GradientBase
if compiled is not None:  # the names of the fields, for those who look at objects
    NodeBase.__slots__, TensorBase.__slots__ = _Node.__slots__, _Tensor.__slots__
    ContextBase.__slots__ = _Context.__slots__
    compiled.GradientBase.__slots__ = ("function",)


def loops_of(kernel: Any, count: int) -> tuple[Any, Any]:
    """NumPy's inner loops of a ufunc on float32 and on float64, for contiguous arrays.

    count   the number of arguments
    Returns for each of the two dtypes a capsule with the loop and the dtype of its result, or None.
    The loop is the one that NumPy itself would run, so that the results have the same bits. Its
    methods for that have underscores; without them there is no loop.
    """
    found: list[Any] = []
    for dtype in (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64)):
        try:
            if kernel.nin != count or kernel.nout != 1 or kernel.signature is not None:
                raise TypeError
            wanted = (dtype,) * count
            dtypes, capsule = kernel._resolve_dtypes_and_context((*wanted, None))
            steps = tuple(d.itemsize for d in dtypes)
            kernel._get_strided_loop(capsule, fixed_strides=steps)
        except (AttributeError, TypeError, ValueError):
            found.append(None)
        else:
            found.append((capsule, dtypes[-1]) if dtypes[:-1] == wanted else None)
    return found[0], found[1]


def provide(**objects: Any) -> None:
    """Give the compiled core objects of the core in Python, by their names there."""
    if compiled is not None:
        compiled.provide(objects)


provide(find_loops=loops_of, numpy_add=numpy.add, numpy_multiply=numpy.multiply)
