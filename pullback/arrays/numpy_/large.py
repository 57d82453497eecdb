"""Large NumPy arrays: results in pooled memory, computed on two threads.

From about a megabyte on, elementwise operations spend most of their time on fresh pages from the
operating system. `Large` is an `ndarray` whose elementwise results use a small pool of memory
blocks instead, and are computed on two threads. It is a separate type, and the array's type selects
the kernel, so small arrays have no overhead.
"""

from __future__ import annotations

import os
from sys import getrefcount
from threading import Lock
from typing import Any

import numpy

from .. import Splitter, splitters
from . import nn
from .blocks import in_blocks as computed_in_blocks
from .blocks import straight_line
from .second_thread import begin

SMALLEST = 1 << 19
"""The minimum size in bytes of a `Large` array (`NumPy.adopt` has the same number)."""

_SPLIT = 1 << 21
"""The minimum size in bytes of a result that is computed on two threads."""

_IDLE = 1 << 29
"""The maximum size in bytes of all unused blocks together."""


def _references(blocks: list[Any], i: int) -> int:
    return getrefcount(blocks[i])


def _of_base(array: Any) -> int:
    return getrefcount(array.base)


_FREE = _references([object()], 0)  # the count depends on the interpreter
_ONE_VIEW = _of_base(numpy.empty(1).view())


def _is_free(blocks: list[Any], i: int) -> bool:
    return _references(blocks, i) == _FREE


class _Pool:
    """Blocks of memory that are reused when only the pool refers to them.

    Every array in a block has it as its base, so the block's reference count tells whether it is
    free; arrays need not be returned to the pool.

    The pool never waits for its lock, as a signal handler, a `__del__` or the child of a fork could
    wait for ever: where the lock is taken, the array gets memory of its own.
    """

    def __init__(self) -> None:
        self._held: tuple[Any, dict[int, list[Any]]] = (Lock(), {})

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An uninitialized array, as from `numpy.empty`."""
        count = 1
        for n in shape:
            count *= n
        size = count * dtype.itemsize
        lock, table = self._held
        if not lock.acquire(blocking=False):
            return numpy.empty(size, numpy.uint8).view(dtype).reshape(shape)
        try:
            blocks = table.setdefault(size, [])
            free = next((i for i in range(len(blocks)) if _is_free(blocks, i)), None)
            if free is None:
                self._trim(table, size)
                free = len(blocks)
                blocks.append(numpy.empty(size, numpy.uint8))
            return blocks[free].view(dtype).reshape(shape)
        finally:
            lock.release()

    @staticmethod
    def _trim(table: dict[int, list[Any]], size: int) -> None:
        """Frees unused blocks of other sizes if they take too much memory."""
        idle = sum(n * sum(_is_free(bs, i) for i in range(len(bs))) for n, bs in table.items())
        if idle + size <= _IDLE:
            return
        for n, blocks in list(table.items()):
            if n != size:
                blocks[:] = [blocks[i] for i in range(len(blocks)) if not _is_free(blocks, i)]
                if not blocks:
                    del table[n]

    def holds(self, array: Any) -> bool:
        """Whether an array is the only one in its memory, inside or outside the pool."""
        link = array
        while isinstance(link.base, numpy.ndarray):  # a view that only changed the type
            pooled = any(link.base is block for block in self._held[1].get(array.nbytes, ()))
            if link.base.nbytes != array.nbytes or _of_base(link) > _ONE_VIEW + pooled:
                return False
            link = link.base
        return bool(link.flags.owndata and array.flags.writeable)

    def clear(self) -> None:
        """Drops all blocks; those in use stay alive with their arrays."""
        self._held = (Lock(), {})


POOL = _Pool()
if hasattr(os, "register_at_fork"):  # another thread may have held the lock
    os.register_at_fork(after_in_child=POOL.clear)


class Large(numpy.ndarray):
    """An ndarray of a megabyte or more whose elementwise results are pooled and threaded."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        plain = [_plain(a) for a in inputs]
        if method == "__call__" and not keywords and ufunc.nout == 1 and not ufunc.signature:
            return _elementwise(ufunc, plain)
        if method == "reduce" and ufunc is numpy.add:
            return _sum(plain[0], keywords)
        out = keywords.get("out")
        if out is not None:
            keywords["out"] = tuple(_plain(o) for o in out)
        result = getattr(ufunc, method)(*plain, **keywords)
        return out[0] if out is not None and len(out) == 1 else adopt(result)

    def __getitem__(self, index: Any) -> Any:
        return adopt(super().__getitem__(index))


def _plain(array: Any) -> Any:
    return array.view(numpy.ndarray) if array.__class__ is Large else array


def adopt(array: Any) -> Any:
    """An array as the type for its size: `Large` or plain."""
    cls = array.__class__
    if cls is Large:
        return array if array.nbytes >= SMALLEST else array.view(numpy.ndarray)
    if cls is numpy.ndarray and array.nbytes >= SMALLEST:
        return array.view(Large)
    return array


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros in a block of the pool: clearing it is faster than fresh pages from the system."""
    made = POOL.empty(shape, dtype)
    made.fill(0)
    return made.view(Large)


def product(x1: Any, x2: Any) -> Any:
    """The product of two matrices in a block of the pool."""
    x1, x2 = _plain(x1), _plain(x2)
    if x1.dtype != x2.dtype or x1.dtype.kind not in "fc" or x1.shape[1] != x2.shape[0]:
        return adopt(numpy.matmul(x1, x2))
    out = POOL.empty((x1.shape[0], x2.shape[1]), x1.dtype)
    return numpy.matmul(x1, x2, out=out).view(Large)


def copy(array: Any) -> Any:
    """A contiguous copy in a block of the pool."""
    made = POOL.empty(array.shape, array.dtype)
    made[...] = _plain(array)
    return made.view(Large)


_results: dict[Any, Any] = {}
"""(ufunc, dtypes of its arguments) -> dtype of its result; asking NumPy takes 2 µs."""


def _elementwise(ufunc: Any, inputs: list[Any]) -> Any:
    shapes = {getattr(a, "shape", ()) for a in inputs}
    shape = shapes.pop() if len(shapes) == 1 else numpy.broadcast_shapes(*shapes)
    kinds = tuple([a.dtype if hasattr(a, "dtype") else type(a) for a in inputs])
    dtype = _results.get((ufunc, kinds))
    if dtype is None:
        known = [numpy.dtype(bool) if kind is bool else kind for kind in kinds]
        dtype = _results[ufunc, kinds] = ufunc.resolve_dtypes((*known, None))[-1]
    out = POOL.empty(shape, dtype)
    if out.nbytes < SMALLEST:
        return ufunc(*inputs, out=out)
    parts = _halves([*inputs, out], shape) if out.nbytes >= _SPLIT else None
    if parts is None:
        ufunc(*inputs, out=out)
    else:
        first, second = parts
        finish = begin(lambda: ufunc(*second[:-1], out=second[-1]))
        ufunc(*first[:-1], out=first[-1])
        finish()
    return out.view(Large)


_BLOCK = 1 << 15
"""Entries per step of `blockwise`: they fit into a core's cache, with temporaries."""


def blockwise(function: Any, *arrays: Any) -> Any:
    """Applies an elementwise function to arrays of equal shape, block by block on two threads.

    The function's temporaries stay in the cache. The result has the first array's
    dtype.
    """
    shape, dtype = arrays[0].shape, arrays[0].dtype
    flats = [_flat(_plain(a)) for a in arrays]
    out = POOL.empty(shape, dtype)
    result = out.reshape(-1)
    n = result.size

    def run(first: int, last: int) -> None:
        for start in range(first, last, _BLOCK):
            stop = min(start + _BLOCK, last)
            result[start:stop] = function(*(f[start:stop] for f in flats))

    if out.nbytes < _SPLIT:
        run(0, n)
    else:
        finish = begin(lambda: run(n // 2, n))
        run(0, n // 2)
        finish()
    return adopt(out)


def in_blocks(arrays: Any, shape: tuple[int, ...], make: Any) -> list[Any] | None:
    """What `blocks.py::in_blocks` computes, in memory of the pool."""
    found = computed_in_blocks(arrays, shape, make, POOL.empty)
    if found is None:
        return None
    return [
        r if r is None else arrays[r] if r.__class__ is int else r.view(Large) for r in found
    ]


splitters[Large] = Splitter(in_blocks, straight_line)


def _gate(x: Any, control: Any) -> Any:
    if x.nbytes >= _SPLIT and x.shape == control.shape:
        return blockwise(nn.gate, x, control)
    return adopt(nn.gate(_plain(x), _plain(control)))


def _relu(x: Any) -> Any:
    return blockwise(nn.relu, x) if x.nbytes >= _SPLIT else adopt(nn.relu(_plain(x)))


def _larger_share(x: Any, x1: Any, x2: Any) -> Any:
    arrays = [a for a in (x, x1, x2) if getattr(a, "shape", ())]
    if x.nbytes < _SPLIT or any(a.shape != x.shape for a in arrays):
        return adopt(nn.larger_share(_plain(x), _plain(x1), _plain(x2)))
    if x1.__class__ in (int, float):
        return blockwise(lambda g, b: nn.larger_share(g, x1, b), x, x2)
    if x2.__class__ in (int, float):
        return blockwise(lambda g, a: nn.larger_share(g, a, x2), x, x1)
    if len(arrays) < 3:
        return adopt(nn.larger_share(_plain(x), _plain(x1), _plain(x2)))
    return blockwise(nn.larger_share, x, x1, x2)


KERNELS: dict[str, Any] = {"gate": _gate, "larger_share": _larger_share, "relu": _relu}
"""Kernels of large arrays that need more than one NumPy call: name -> function."""


def _flat(array: Any) -> Any:
    """A view with one axis, for contiguous arrays and broadcast numbers."""
    if array.size and not any(array.strides):
        return numpy.broadcast_to(array[(0,) * array.ndim], (array.size,))
    return array.reshape(-1)


def _halves(arrays: list[Any], shape: tuple[int, ...]) -> tuple[list[Any], list[Any]] | None:
    """The first and second half, along the first axis, of arrays that broadcast to a shape."""
    if shape[0] < 2:
        return None
    middle = shape[0] // 2
    first, second = [], []
    for a in arrays:
        if getattr(a, "ndim", 0) == len(shape) and a.shape[0] == shape[0]:
            first.append(a[:middle])
            second.append(a[middle:])
        else:
            first.append(a)
            second.append(a)
    return first, second


def _sum(array: Any, keywords: dict[str, Any]) -> Any:
    """The sum of all entries, as the sum of two halves; NumPy's reduction otherwise."""
    whole = (
        keywords.get("axis", 0) is None
        and all(keywords.get(k) is None for k in ("dtype", "out"))
        and not keywords.get("keepdims")
        and array.flags.c_contiguous
        and array.dtype.kind in "fc"
    )
    if not whole or array.nbytes < _SPLIT:
        return adopt(numpy.add.reduce(array, **keywords))
    flat = array.reshape(-1)
    middle = flat.size // 2
    finish = begin(lambda: numpy.add.reduce(flat[middle:]))
    return numpy.add.reduce(flat[:middle]) + finish()
