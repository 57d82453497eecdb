"""Batched: an array with a hidden leading axis, one entry an example; the data of `vmap`.

It is an array type like any other: a `Tensor` may hold one, rules run on it, and each operation
has a kernel for it (`core/batching.py`). Each `vmap` has a number, its tag. Batched arrays nest,
the innermost `vmap` (the largest tag) outermost: `Batched(Batched(x, 3), 5)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import BatchedValueError
from . import adapters
from .symbol import Symbol


class HiddenShape(tuple[int, ...]):
    """The shape that is seen of a batched array, and the tags of the axes that are not.

    It equals the shape of another array only if the hidden axes agree too, so that a cotangent
    that is batched at a node that is not is noticed where shapes are compared anyway.
    """

    tags: tuple[int, ...]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, HiddenShape) and tuple.__eq__(self, other)
            and self.tags == other.tags
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class Batched:
    """An array whose leading axis is hidden: see the module's text.

    value   the array with the axis in front; itself `Batched` inside a vmap in a vmap
    tag     which vmap hides the axis
    """

    __slots__ = ("__weakref__", "tag", "value")
    __array_ufunc__ = None  # NumPy's operators leave the work to ours

    def __init__(self, value: Any, tag: int) -> None:
        self.value, self.tag = value, tag

    @property
    def shape(self) -> HiddenShape:
        """The lengths of the axes that are seen."""
        whole = self.value.shape
        seen = HiddenShape(whole[1:])
        seen.tags = (self.tag, *whole.tags) if whole.__class__ is HiddenShape else (self.tag,)
        return seen

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.value.dtype

    @property
    def ndim(self) -> int:
        """The number of axes that are seen."""
        return len(self.value.shape) - 1

    @property
    def size(self) -> int:
        """The number of entries of one example."""
        total = 1
        for length in self.value.shape[1:]:
            total *= length
        return total

    @property
    def device(self) -> Any:
        """Where the array lives."""
        return getattr(self.value, "device", "cpu")

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} for each of {self.value.shape[0]} examples>"

    def __len__(self) -> int:
        return int(self.value.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise BatchedValueError(
            "a value inside vmap", "operations of pullback",
            "a conversion to numbers (by float, bool, `if`, .item() or .numpy()), of which there "
            "is one for each example",
            "use pullback.where for choices, and pullback.asarray(a)[i] for a NumPy array a, or "
            "take the conversion out of the function that vmap maps; a Function may say with "
            "`vmap` how its NumPy code runs on all examples",
        )

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __array__


def tags_of(shape: Any) -> tuple[int, ...]:
    """The tags of the axes that a shape hides, the innermost vmap's first.

    >>> import numpy as np
    >>> tags_of(Batched(np.ones((5, 3)), 7).shape), tags_of((3,))
    ((7,), ())
    """
    return shape.tags if shape.__class__ is HiddenShape else ()


def hide(array: Any, axis: int, tag: int) -> Batched:
    """The array with an axis hidden under a tag, below the tags that are larger.

    A view that cannot be written to: the array belongs to whoever called vmap.

    >>> import numpy as np
    >>> hide(np.ones((3, 5)), 1, 7)
    <float64[3] for each of 5 examples>
    """
    if array.__class__ is Batched and array.tag > tag:
        return Batched(hide(array.value, axis + 1 if axis >= 0 else axis, tag), array.tag)
    moved = move(array, axis, 0)
    adapter = adapters[moved.__class__]
    return Batched(adapter.adopt(adapter.sealed(moved)), tag)


def show(array: Any, axis: int, tag: int, size: int) -> Any:
    """The array with the axis that a tag hides in its place; repeated where it hides none.

    >>> import numpy as np
    >>> show(hide(np.ones((3, 5)), 1, 7), 0, 7, 5).shape
    (5, 3)
    """
    if array.__class__ is Batched and array.tag > tag:
        return Batched(show(array.value, axis + 1 if axis >= 0 else axis, tag, size), array.tag)
    if array.__class__ is Batched and array.tag == tag:
        return move(array.value, 0, axis)
    return move(spread(array, size), 0, axis)


def spread(array: Any, size: int) -> Any:
    """The array repeated along a new leading axis, in no new memory where the library can."""
    if array.__class__ is Batched:
        inner = move(spread(array.value, size), 0, 1)
        return Batched(inner, array.tag)
    adapter = adapters[array.__class__]
    array = adapter.asarray(array)
    return adapter.namespace.broadcast_to(array, (size, *array.shape))


def repeated(array: Any, like: Any) -> Any:
    """A copy of the array for each of the examples that another array is for.

    >>> import numpy as np
    >>> repeated(np.zeros(4), Batched(np.ones((5, 3)), 7))
    <float64[4] for each of 5 examples>
    """
    if like.__class__ is not Batched:
        return array
    many = spread(repeated(array, like.value), like.value.shape[0])
    return Batched(adapters[many.__class__].copy(many), like.tag)


def move(array: Any, source: int, destination: int) -> Any:
    """The array with one axis (of those that are seen) elsewhere."""
    if array.__class__ is Batched:
        rank = array.ndim
        return Batched(
            move(array.value, source % rank + 1, destination % rank + 1), array.tag
        )
    rank = len(array.shape)
    source, destination = source % rank, destination % rank
    if source == destination:
        return array
    order = [axis for axis in range(rank) if axis != source]
    order.insert(destination, source)
    return adapters[array.__class__].namespace.permute_dims(array, tuple(order))


def reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    """The array with other axes (of those that are seen)."""
    if tuple(array.shape) == shape:
        return array
    if array.__class__ is Batched:
        return Batched(reshaped(array.value, (array.value.shape[0], *shape)), array.tag)
    return adapters[array.__class__].namespace.reshape(array, shape)


def permuted(array: Any, order: tuple[int, ...]) -> Any:
    """The array with its axes (those that are seen) in another order."""
    if array.__class__ is Batched:
        return Batched(permuted(array.value, (0, *[i + 1 for i in order])), array.tag)
    return adapters[array.__class__].namespace.permute_dims(array, order)


def moved_to(array: Any, like: Any, dtype: Any = None) -> Any:
    """An array, whatever axes it hides, as one of the library of another.

    >>> import numpy as np
    >>> moved_to(Batched(np.ones((5, 3)), 7), np.float32(1), np.float32)
    <float32[3] for each of 5 examples>
    """
    if array.__class__ is Batched:
        return Batched(moved_to(array.value, like, dtype), array.tag)
    while like.__class__ is Batched:
        like = like.value
    cls = Symbol if array.__class__ is Symbol else like.__class__
    return adapters[cls].asarray(array, dtype, like)


class _Adapter:
    """The adapter of batched arrays: what it does, it does to the array inside."""

    name = "batched"
    hosts = 2  # its kernels take arrays of every library

    @property
    def namespace(self) -> Any:
        """That of constants, which are the same for all examples."""
        return adapters[float].namespace

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """Each operation brings its own (`core/batching.py`)."""
        return None

    def rank(self, cls: type) -> int:
        """One kind."""
        return 0

    def owner(self, array: Any) -> Any:
        """That of the array inside."""
        inner = array.value
        return adapters[inner.__class__].owner(inner)

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """A batched array as it is, in another dtype if asked; anything else as a constant."""
        if value.__class__ is not Batched:
            while like.__class__ is Batched:
                like = like.value
            some = value if like is None else like
            cls = some.__class__ if some.__class__ in adapters else float
            return adapters[cls].asarray(value, dtype, like)
        inner = value.value
        if dtype is None or inner.dtype == dtype:
            return value
        return Batched(adapters[inner.__class__].asarray(inner, dtype), value.tag)

    def dtype(self, dtype: Any) -> Any:
        """As it is: the array inside knows."""
        return dtype

    def numpy(self, array: Any) -> Any:
        """An error: there is one for each example."""
        return array.__array__()

    def place(self, array: Any, device: Any = None) -> Any:
        """Each example's on a device."""
        return Batched(adapters[array.value.__class__].place(array.value, device), array.tag)

    def adopt(self, array: Any) -> Any:
        """As it is."""
        return array

    plain = adopt

    def sealed(self, array: Any) -> Any:
        """A view that cannot be written to."""
        return Batched(adapters[array.value.__class__].sealed(array.value), array.tag)

    def own(self, array: Any) -> Any:
        """In memory of its own."""
        return Batched(adapters[array.value.__class__].own(array.value), array.tag)

    def copy(self, array: Any) -> Any:
        """A copy."""
        return Batched(adapters[array.value.__class__].copy(array.value), array.tag)

    def is_sealed(self, array: Any) -> bool:
        """Whether nobody can write through this view."""
        return bool(adapters[array.value.__class__].is_sealed(array.value))

    def write(self, array: Any, value: Any) -> Any:
        """`array[...] = value`, for each example its own."""
        return self.assign(array, ..., value)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`, for each example its own."""
        inner, index, value = _inside(array, index, value)
        return Batched(adapters[inner.__class__].assign(inner, index, value), array.tag)

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`, for each example its own."""
        inner, index, value = _inside(array, index, value)
        return Batched(adapters[inner.__class__].accumulate(inner, index, value), array.tag)


def _inside(array: Any, index: Any, value: Any) -> tuple[Any, Any, Any]:
    """The array inside, the index there, and the value as it is written there."""
    from .batched_index import opened, plan

    tag, inner = array.tag, array.value
    where = plan(opened(index, tag), len(inner.shape) - 1, True, inner.shape[0])
    hidden = tag in tags_of(getattr(value, "shape", None))
    if hidden:
        value = show(value, 0, tag, 0)
    return inner, where.parts, where.placed(value, hidden)


adapters[Batched] = _Adapter()
