"""`tf.TensorArray` in graphs: a list of graph tensors that loops write to."""

from __future__ import annotations

from typing import Any

from ..tensor_array import TensorArray as EagerTensorArray
from .graph import get_default_graph, opened
from .tensor import in_graph

__all__ = ["TensorArray"]


class TensorArray(EagerTensorArray):
    """A list of tensors of one dtype, each written once; see `pullback.tf.TensorArray`.

    `write` returns a new array, so always write `ta = ta.write(…)`.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     ta = tf.TensorArray(tf.float32, size=3)
    ...     def body(i, p, ta):
    ...         return i + 1, p * x, ta.write(i, p * x)
    ...     _, _, ta = tf.while_loop(lambda i, *_: i < 3, body, [0, 1.0, ta])
    ...     powers = ta.stack()
    ...     sess.run([powers, tf.gradients(powers, x)[0]], {x: 2.0})
    [array([2., 4., 8.], dtype=float32), np.float32(17.0)]
    """

    def size(self, name: str | None = None) -> Any:
        """The number of entries."""
        return _built(super().size, name)

    def read(self, index: Any, name: str | None = None) -> Any:
        """The tensor at an index; see `pullback.tf.TensorArray.read`."""
        return _built(super().read, index, name)

    def stack(self, name: str | None = None) -> Any:
        """All entries stacked along a new first axis."""
        return _built(super().stack, name)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """The entries at the given indices, stacked along a new first axis."""
        return _built(super().gather, indices, name)

    def concat(self, name: str | None = None) -> Any:
        """All entries, concatenated along their first axis."""
        return _built(super().concat, name)


def _built(method: Any, *args: Any) -> Any:
    """Call a method in the current graph, else in the default one."""
    graph = get_default_graph()
    with opened(graph):
        return in_graph(graph, method(*args))
