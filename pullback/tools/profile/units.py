"""Bytes, times and percentages as text, and the memory of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple

from ...arrays import adapters
from ...arrays.batched import bare


def bytes_text(count: float) -> str:
    """A number of bytes with a decimal unit.

    >>> bytes_text(0), bytes_text(999), bytes_text(8_000), bytes_text(12_345_678)
    ('0 B', '999 B', '8.0 kB', '12.3 MB')
    """
    if abs(count) < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if abs(count) < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"


def seconds_text(seconds: float) -> str:
    """A time with a unit: µs, ms or s.

    >>> seconds_text(0), seconds_text(4.2e-6), seconds_text(0.0123), seconds_text(75)
    ('0 µs', '4.2 µs', '12.3 ms', '75.0 s')
    """
    if abs(seconds) < 5e-8:
        return "0 µs"
    if abs(seconds) < 0.99995e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms" if abs(seconds) < 0.99995 else f"{seconds:.1f} s"


def share_text(part: float, whole: float) -> str:
    """A part of a whole in percent.

    >>> share_text(1, 3), share_text(0, 0)
    ('33 %', '')
    """
    return f"{100 * part / whole:.0f} %" if whole else ""


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the plural if needed.

    >>> counted(1, "array"), counted(1200, "array")
    ('1 array', '1,200 arrays')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_of(texts: Iterable[str]) -> str:
    """The first two distinct texts, with an ellipsis if there are more.

    >>> first_of("a b a".split()), first_of("abc")
    ('a; b', 'a; b; …')
    """
    found = list(dict.fromkeys(t for t in texts if t))
    return "; ".join([*found[:2], *(["…"] if len(found) > 2 else [])])


class Memory(NamedTuple):
    """The object that owns an array's memory, and its size in bytes."""

    owner: Any
    nbytes: int


def memory_of(array: Any) -> Memory:
    """The memory that an array keeps alive: for a view, that of its base.

    >>> import numpy as np
    >>> a = np.ones((100, 100))
    >>> memory_of(a[0]).nbytes, memory_of(a[0]).owner is a
    (80000, True)
    """
    own = bare(array)
    owner = adapters[own.__class__].owner(own)
    owner = own if owner is None else owner
    size = getattr(owner, "nbytes", None)
    if size is None:
        return Memory(owner, extent_of(own))
    return Memory(owner, int(size() if callable(size) else size))


def extent_of(array: Any) -> int:
    """The bytes of an array's entries; for a batched array, of all examples.

    >>> import numpy as np
    >>> extent_of(np.broadcast_to(1.0, (3, 4))), extent_of(2.0)
    (96, 0)
    """
    own = bare(array)
    itemsize = getattr(getattr(own, "dtype", None), "itemsize", 0)
    return int(prod(getattr(own, "shape", ())) * itemsize)


def shape_text(shape: Any, dtype: Any = None) -> str:
    """The shape as text, after the element type.

    >>> shape_text((2, 3), "float64"), shape_text(()), shape_text(None)
    ('float64[2, 3]', '[]', '')
    """
    if shape is None:
        return ""
    name = "" if dtype is None else str(dtype).rpartition(".")[2]
    return f"{name}{list(shape)}"
