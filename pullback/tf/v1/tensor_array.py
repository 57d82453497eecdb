"""`tf.TensorArray` in graphs: the list of tensors that loops write to, on a graph's tensors."""

from __future__ import annotations

from typing import Any

from ..tensor_array import TensorArray as EagerTensorArray
from .graph import get_default_graph, opened
from .tensor import in_graph

__all__ = ["TensorArray"]


class TensorArray(EagerTensorArray):
    """Tensors of one dtype, written once each, in any order; see `pullback.tf.TensorArray`.

    `write` returns another array, so always write `ta = ta.write(…)`.

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
        """The tensor in a place; see `pullback.tf.TensorArray.read`."""
        return _built(super().read, index, name)

    def stack(self, name: str | None = None) -> Any:
        """All entries in one tensor, along a new first axis."""
        return _built(super().stack, name)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """The entries in some places, along a new first axis."""
        return _built(super().gather, indices, name)

    def concat(self, name: str | None = None) -> Any:
        """All entries, one after the other along their first axis."""
        return _built(super().concat, name)


def _built(method: Any, *args: Any) -> Any:
    """What a method builds, as a tensor of the graph that is open, or else of the default one."""
    graph = get_default_graph()
    with opened(graph):
        return in_graph(graph, method(*args))
