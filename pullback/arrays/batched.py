"""Batched: an array with a hidden leading axis, one entry per example; the data of `vmap`.

It is an array type like any other: a `Tensor` can hold one, rules run on it, and each operation has
a kernel for it (`kinds/batching.py`). Each `vmap` has a number, its tag. Batched arrays nest; the
innermost `vmap` (the largest tag) is outermost: `Batched(Batched(x, 3), 5)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..errors import BatchedValueError
from . import adapters
from .symbol import Symbol


class HiddenShape(tuple[int, ...]):
    """The visible shape of a batched array, and the tags of its hidden axes.

    It equals another array's shape only if the hidden axes agree too, so that the usual shape
    checks detect a batched cotangent at a node that is not batched.
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
    """An array with a hidden leading axis; see the module's docstring.

    value   the array including the hidden axis; itself `Batched` inside nested vmaps
    tag     the vmap that hides the axis
    """

    __slots__ = ("__weakref__", "tag", "value")
    __array_ufunc__ = None  # NumPy's operators defer to this class

    def __init__(self, value: Any, tag: int) -> None:
        self.value, self.tag = value, tag

    @property
    def shape(self) -> HiddenShape:
        """The lengths of the visible axes."""
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
        """The number of visible axes."""
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
        """The array's device."""
        return getattr(self.value, "device", "cpu")

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} for each of {self.value.shape[0]} examples>"

    def __len__(self) -> int:
        return int(self.value.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise BatchedValueError(
            "a value inside vmap", "operations of pullback",
            "a conversion to numbers (by float, bool, `if`, .item() or .numpy()); a batched value "
            "has one number per example",
            "use pullback.where for choices, and pullback.asarray(a)[i] for a NumPy array a, or "
            "move the conversion out of the function that vmap maps; a Function can define its "
            "NumPy code for whole batches with `vmap`",
        )

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __array__


def tags_of(shape: Any) -> tuple[int, ...]:
    """The tags of the hidden axes of a shape, the innermost vmap's first.

    >>> import numpy as np
    >>> tags_of(Batched(np.ones((5, 3)), 7).shape), tags_of((3,))
    ((7,), ())
    """
    return shape.tags if shape.__class__ is HiddenShape else ()


def hide(array: Any, axis: int, tag: int) -> Batched:
    """The array with an axis hidden under a tag, below larger tags.

    Returns a read-only view: the array belongs to the caller of vmap.

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
    """The array with the axis hidden by a tag made visible; repeated if the tag hides none.

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
    """The array repeated along a new leading axis; without a copy if the library allows it."""
    if array.__class__ is Batched:
        inner = move(spread(array.value, size), 0, 1)
        return Batched(inner, array.tag)
    adapter = adapters[array.__class__]
    array = adapter.asarray(array)
    return adapter.namespace.broadcast_to(array, (size, *array.shape))


def repeated(array: Any, like: Any) -> Any:
    """A copy of the array for each example of another array.

    >>> import numpy as np
    >>> repeated(np.zeros(4), Batched(np.ones((5, 3)), 7))
    <float64[4] for each of 5 examples>
    """
    if like.__class__ is not Batched:
        return array
    many = spread(repeated(array, like.value), like.value.shape[0])
    return Batched(adapters[many.__class__].copy(many), like.tag)


def move(array: Any, source: int, destination: int) -> Any:
    """The array with one visible axis moved."""
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
    """The array with other visible axes."""
    if tuple(array.shape) == shape:
        return array
    if array.__class__ is Batched:
        return Batched(reshaped(array.value, (array.value.shape[0], *shape)), array.tag)
    return adapters[array.__class__].namespace.reshape(array, shape)


def permuted(array: Any, order: tuple[int, ...]) -> Any:
    """The array with its visible axes permuted."""
    if array.__class__ is Batched:
        return Batched(permuted(array.value, (0, *[i + 1 for i in order])), array.tag)
    return adapters[array.__class__].namespace.permute_dims(array, order)


def moved_to(array: Any, like: Any, dtype: Any = None) -> Any:
    """An array, with its hidden axes, converted to the library of another array.

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
    """The adapter of batched arrays: applies each function to the array inside."""

    name = "batched"
    hosts = 2  # its kernels take arrays of every library

    @property
    def namespace(self) -> Any:
        """The namespace of constants, which all examples share."""
        return adapters[float].namespace

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """None; see `kinds/batching.py`, which adds the kernels of operations."""
        return None

    def rank(self, cls: type) -> int:
        """Constant: there is only one type."""
        return 0

    def owner(self, array: Any) -> Any:
        """The owner of the array inside."""
        inner = array.value
        return adapters[inner.__class__].owner(inner)

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """A batched array, converted if `dtype` is given; any other value as a constant."""
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
        """The dtype unchanged: the array inside interprets it."""
        return dtype

    def numpy(self, array: Any) -> Any:
        """Raises: a batched value has one array per example."""
        return array.__array__()

    def place(self, array: Any, device: Any = None) -> Any:
        """The arrays of all examples on a device."""
        return Batched(adapters[array.value.__class__].place(array.value, device), array.tag)

    def adopt(self, array: Any) -> Any:
        """The array unchanged."""
        return array

    plain = adopt

    def sealed(self, array: Any) -> Any:
        """A read-only view."""
        return Batched(adapters[array.value.__class__].sealed(array.value), array.tag)

    def own(self, array: Any) -> Any:
        """A copy, if its memory is shared."""
        return Batched(adapters[array.value.__class__].own(array.value), array.tag)

    def copy(self, array: Any) -> Any:
        """A copy."""
        return Batched(adapters[array.value.__class__].copy(array.value), array.tag)

    def is_sealed(self, array: Any) -> bool:
        """Whether the array is read-only."""
        return bool(adapters[array.value.__class__].is_sealed(array.value))

    def write(self, array: Any, value: Any) -> Any:
        """`array[...] = value`, per example."""
        return self.assign(array, ..., value)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`, per example."""
        inner, index, value = _inside(array, index, value)
        return Batched(adapters[inner.__class__].assign(inner, index, value), array.tag)

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`, per example."""
        inner, index, value = _inside(array, index, value)
        return Batched(adapters[inner.__class__].accumulate(inner, index, value), array.tag)


def _inside(array: Any, index: Any, value: Any) -> tuple[Any, Any, Any]:
    """The array inside, its index, and the value in the shape to write."""
    from .batched_index import opened, plan

    tag, inner = array.tag, array.value
    where = plan(opened(index, tag), len(inner.shape) - 1, True, inner.shape[0])
    hidden = tag in tags_of(getattr(value, "shape", None))
    if hidden:
        value = show(value, 0, tag, 0)
    return inner, where.parts, where.placed(value, hidden)


adapters[Batched] = _Adapter()


# For rules and transformations --------------------------------------------------------------------


def hidden_under(array: Any, tags: Sequence[int]) -> Any:
    """The array with its leading axes hidden, the first under the first (outermost) tag."""
    if not tags:
        return array
    # Outermost tag innermost: Batched(Batched(array[outer, inner, …], outer), inner).
    inner = array
    for tag in tags:
        inner = Batched(inner, tag)
    return inner


def plain_of(array: Any, tags: Sequence[int], sizes: Sequence[int]) -> Any:
    """The array with all its hidden axes in front, the outermost first: what solvers work on."""
    for tag, size in sorted(zip(tags, sizes, strict=True), reverse=True):
        array = show(array, 0, tag, size)
    return array


def bare(array: Any) -> Any:
    """The array below all hidden axes."""
    while array.__class__ is Batched:
        array = array.value
    return array


def adapter_of(array: Any) -> Any:
    """The adapter of the library an array is of, below all hidden axes."""
    return adapters[bare(array).__class__]


def zeros_by(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """Zeros of a shape, where an array is, in its dtype unless another is given; all examples'."""
    own = bare(like)
    return adapters[own.__class__].zeros(shape, own.dtype if dtype is None else dtype, own)


def counted(n: int, like: Any) -> Any:
    """0, 1, … n - 1, where an array is; the same for all examples."""
    own = bare(like)
    return adapters[own.__class__].asarray(numpy.arange(n), None, own)


def identity_matrix(n: int, like: Any) -> Any:
    """The identity matrix of n rows, where an array is, in its dtype; the same for all examples."""
    own = bare(like)
    return adapters[own.__class__].asarray(numpy.eye(n), own.dtype, own)
