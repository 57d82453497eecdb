"""`tf.IndexedSlices`: some slices of a tensor along its first axis; also as a form of gradient.

The core's gradient of a lookup is a dense array with zeros where nothing was looked up. A tape of
the TensorFlow front end returns only the slices for a source that was looked up directly: it
replaces the VJP of the lookup with its own (`Sparse`), as a gradient override does. Other users
of the core are not affected and pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

import numpy

from .. import ops
from ..arrays.batched import Batched
from ..core.cotangent import complex_dtypes
from ..core.node import Leaf, Node, notes
from ..core.op import OPS
from ..core.tensor import raw, wrap
from ..custom.recompute import recall_input
from .convert import as_tensor
from .dtypes import DType
from .errors import invalid
from .shapes import TensorShape
from .tensor import Tensor

__all__ = ["IndexedSlices"]


class IndexedSlices:
    """A sparse tensor: zeros, with `values[i]` added at index `indices[i]` of the first axis.

    dense_shape  the shape of the dense tensor that `tf.convert_to_tensor` returns

    >>> from pullback import tf
    >>> v = tf.Variable([[1.0], [2.0], [3.0]])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.gather(v, [0, 2, 0])
    >>> g = tape.gradient(y, v)
    >>> g.indices.numpy(), g.values.shape
    (array([0, 2, 0], dtype=int32), TensorShape([3, 1]))
    >>> tf.convert_to_tensor(g).numpy().ravel()
    array([2., 0., 1.], dtype=float32)
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values, self._indices = as_tensor(values), as_tensor(indices)
        self._dense_shape = None if dense_shape is None else as_tensor(dense_shape)

    @property
    def values(self) -> Any:
        """The slices."""
        return self._values

    @property
    def indices(self) -> Any:
        """Their indices along the first axis; an index may be repeated."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The shape of the dense tensor, as a tensor; None if it was not given."""
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        """The dtype of the entries."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the dense tensor; without dense_shape, its first length is unknown."""
        if self._dense_shape is None:
            return TensorShape([None, *self._values.shape[1:]])
        return TensorShape(self._dense_shape.numpy().tolist())

    def __neg__(self) -> IndexedSlices:
        return self.with_values(-self._values)

    def with_values(self, values: Any) -> IndexedSlices:
        """The same indices with other slices."""
        return IndexedSlices(values, self._indices, self._dense_shape)

    def _as_tensor(self) -> Any:
        """The dense tensor; slices of a repeated index add up."""
        if self._dense_shape is None:
            raise invalid("conversion of IndexedSlices to a tensor", "a dense_shape", "None")
        zeros = ops.zeros(tuple(self.shape), dtype=self._values._data.dtype)
        return ops.add_at(wrap(Tensor, zeros._data), self._values, (self._indices._data,))

    def __repr__(self) -> str:
        return (f"IndexedSlices(indices={self._indices!r}, values={self._values!r}, "
                f"dense_shape={self._dense_shape!r})")


def values_of(x: Any) -> Any:
    """The entries of a tensor, or the slices of IndexedSlices, to compute a norm of."""
    return x.values if isinstance(x, IndexedSlices) else x


# As gradients -----------------------------------------------------------------------------------

_looked_up: WeakSet[Leaf] = WeakSet()
"""Leaves that were looked up: only their gradients can be IndexedSlices."""


def looked_up(x: Any) -> None:
    """Record that slices of a variable or a watched tensor were looked up."""
    node = x._leaf if hasattr(x, "_leaf") else x._node
    if isinstance(node, Leaf):
        _looked_up.add(node)


def slicewise(sources: Iterable[Any]) -> set[Node]:
    """The leaves among the sources whose gradients can be IndexedSlices."""
    if not _looked_up:
        return set()
    nodes = [s._leaf if hasattr(s, "_leaf") else s._node for s in sources]
    return {
        n for n in nodes
        if isinstance(n, Leaf) and n in _looked_up and n not in notes
        and not complex_dtypes[n.dtype]
    }


class Slices:
    """A cotangent in slices; it stays sparse while only slices are added to it."""

    __slots__ = ("dtype", "parts", "shape")
    __array_ufunc__ = None  # so that array + slices calls this class

    def __init__(self, parts: list[tuple[Any, Any]], shape: Any, dtype: Any) -> None:
        self.parts, self.shape, self.dtype = parts, shape, dtype

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Slices):
            return Slices(self.parts + other.parts, self.shape, self.dtype)
        return self.added_to(other)

    __radd__ = __add__

    def added_to(self, dense: Any) -> Any:
        """The sum with a dense array or tensor."""
        for values, indices in self.parts:
            dense = OPS["add_at"](dense, values, index=(indices,))
        return dense

    def public(self) -> IndexedSlices:
        """The public IndexedSlices."""
        values = [wrap(Tensor, v._data, v._node) if hasattr(v, "_node") else wrap(Tensor, v)
                  for v, _ in self.parts]
        places = [numpy.asarray(i) for _, i in self.parts]
        one = len(values) == 1
        return IndexedSlices(
            values[0] if one else ops.concat(values, axis=0),
            places[0] if one else numpy.concatenate(places),
            numpy.asarray(self.shape, "int32"),
        )


class Sparse:
    """The VJPs of one pull that keep gradients sparse; gradient overrides take precedence."""

    def __init__(self, leaves: set[Node], others: Any) -> None:
        self._leaves, self._others = leaves, others

    def prepare(self, nodes: Any) -> None:
        """See `pull`."""
        if self._others is not None:
            self._others.prepare(nodes)

    def __call__(self, node: Any, cls: type) -> Any:
        """The operation to use instead of the node's own, or None."""
        found = None if self._others is None else self._others(node, cls)
        if found is None and node.op.name == "take" and node.parents[0] in self._leaves and (
            node.attrs["axis"] == 0
        ):
            return self
        return found

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: Any, record: bool, cls: type
    ) -> None:
        """One step of a pull, through a lookup."""
        if isinstance(raw(g), Batched):
            node.op.step(node, g, cotangents, needed, record, cls)
            return
        leaf, places = node.parents[0], raw(recall_input(node, 1))
        flat = OPS["reshape"](g, shape=(places.size, *leaf.shape[1:]))
        made = Slices([(flat, places.reshape(-1))], leaf.shape, leaf.dtype)
        old = cotangents.get(leaf)
        cotangents[leaf] = made if old is None else made + old
