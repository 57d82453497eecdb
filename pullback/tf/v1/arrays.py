"""Creating tensors in a graph, and their shapes, some of which are known only when it runs."""

from __future__ import annotations

from typing import Any

import numpy

from ... import ops
from ...arrays.symbol import AnyShape, OpenShape, Symbol
from ...core.tensor import raw, wrap
from ...errors import ArgumentError
from ...graphs import sources as _sources
from ...graphs.operation import Kind
from ...lost_paths import STOPPED, dropped
from .. import convert as _convert
from .. import shaping as _shaping
from ..convert import operand, shape_of
from ..dtypes import array_dtype
from ..shapes import TensorShape
from ..tensor import Tensor as EagerTensor
from ..values import array_of
from .graph import get_default_graph, graph_for, kind_call, opened
from .naming import built, graphed
from .tensor import in_graph

__all__ = [
    "broadcast_dynamic_shape", "broadcast_static_shape", "constant", "convert_to_tensor", "eye",
    "fill", "identity", "linspace", "ones", "ones_like", "placeholder",
    "placeholder_with_default", "range", "rank", "reshape", "shape", "shape_n", "size",
    "stop_gradient", "zeros", "zeros_like",
]


def _shape_kernel(x: Any, dtype: Any) -> Any:
    return numpy.array(x.shape, dtype)


def _size_kernel(x: Any, dtype: Any) -> Any:
    return numpy.array(numpy.prod(x.shape), dtype)


def _rank_kernel(x: Any, dtype: Any) -> Any:
    return numpy.array(len(x.shape), dtype)


def _range_kernel(start: Any, limit: Any, delta: Any, dtype: Any) -> Any:
    return numpy.arange(start, limit, delta, dtype=dtype)


SHAPE, SIZE, RANK = Kind("shape", _shape_kernel), Kind("size", _size_kernel), Kind(
    "rank", _rank_kernel
)
STOP, RANGE = Kind("stop_gradient", lambda x: x), Kind("range", _range_kernel)
for _kind in (SHAPE, SIZE, RANK, STOP, RANGE):
    _kind.stateful = False

# Sources ------------------------------------------------------------------------------------


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """A symbolic tensor that is fed through `feed_dict` when the graph runs.

    shape  the lengths of its axes, None for any length; by default the shape is unknown

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.placeholder(tf.float32, [None, 3], name="x")
    <tf.Tensor 'x:0' shape=(None, 3) dtype=float32>
    """
    given = TensorShape(shape)
    known = None if given.rank is None else tuple(given)
    with opened(get_default_graph()):
        return _sources.placeholder(array_dtype(dtype), known, name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor with a default value, which `feed_dict` can replace.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder_with_default([1.0, 2.0], [None])
    ...     sess.run(x), sess.run(x, {x: [5.0]})
    (array([1., 2.], dtype=float32), array([5.], dtype=float32))
    """
    given = TensorShape(shape)
    known = None if given.rank is None else tuple(given)
    graph = graph_for((input,))
    with opened(graph):
        value = in_graph(graph, operand(input), None)
        return _sources.placeholder_with_default(value, known, name)


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const",
    verify_shape: bool = False,
) -> Any:
    """A constant in the graph; if the shape has more entries than the value, the last one repeats.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.constant(1.0, shape=[2, 2], name="ones")
    <tf.Tensor 'ones:0' shape=(2, 2) dtype=float32>
    """
    array = array_of(raw(value), array_dtype(dtype))
    if shape is not None:
        size = tuple(TensorShape(shape))
        if verify_shape and array.shape != size:
            raise ArgumentError("tf.constant", f"values of shape {size}", f"{array.shape}")
        count = int(numpy.prod(size))
        flat = array.reshape(-1)
        if flat.size > count or not flat.size:
            raise ArgumentError(
                "tf.constant", f"values that fit shape {size}", f"{flat.size} of them"
            )
        array = numpy.append(flat, numpy.repeat(flat[-1:], count - flat.size)).reshape(size)
    graph = get_default_graph()
    with opened(graph):
        return graph.tensor(graph.constant(array.copy(), name))


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Any:
    """A graph tensor from a tensor, variable, array, number or nested sequence of these."""
    graph = graph_for((value,))
    hint = dtype_hint if dtype_hint is not None else preferred_dtype
    with opened(graph):
        return built(graph, lambda: _convert.convert_to_tensor(value, dtype, hint), name, "Const")


# Filled tensors -----------------------------------------------------------------------------


def _filled(shape: Any, value: Any, dtype: Any) -> Any:
    """A tensor filled with one number; an operation if its shape is symbolic."""
    size = shape_of(shape)
    number = numpy.asarray(value, array_dtype(dtype))
    if size.__class__ is tuple and all(n.__class__ is int for n in size):
        return wrap(EagerTensor, numpy.full(size, number))
    graph = get_default_graph()
    return ops.broadcast_to(graph.tensor(graph.constant(number)), size)


def _zeros(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """A tensor of zeros; the shape may be a graph tensor."""
    return _filled(shape, 0, dtype)


def _ones(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """A tensor of ones; the shape may be a graph tensor."""
    return _filled(shape, 1, dtype)


def _zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Zeros with the shape and dtype of a tensor (or another dtype)."""
    return _shaping.zeros_like(tensor, dtype)


def _ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Ones with the shape and dtype of a tensor (or another dtype)."""
    return _shaping.ones_like(tensor, dtype)


def _range_of(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range"
) -> Any:
    """Numbers in [start, limit); with one argument, in [0, start). All may be graph tensors."""
    if limit is None:
        start, limit = 0, start
    bounds = [_convert.length_of(v) if raw(v).__class__ is Symbol and raw(v).dtype.kind in "iu"
              else raw(v) for v in (start, limit, delta)]
    if not any(b.__class__ is Symbol for b in bounds):
        return _shaping.range(bounds[0], bounds[1], bounds[2], dtype)
    wanted = array_dtype(dtype) or next(b.dtype for b in bounds if b.__class__ is Symbol)
    return kind_call(RANGE, bounds, (None,), wanted, "range", {"dtype": wanted})


zeros, ones = graphed(_zeros, "zeros", "zeros"), graphed(_ones, "ones", "ones")
zeros_like = graphed(_zeros_like, "zeros_like", "zeros_like")
ones_like = graphed(_ones_like, "ones_like", "ones_like")
eye = graphed(_shaping.eye, "eye", "eye")
range = graphed(_range_of, "range")
linspace = graphed(_shaping.linspace, "linspace", "linspace")


def _fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """A tensor filled with one number; the shape may be a graph tensor."""
    number = in_graph(get_default_graph(), operand(value))
    return ops.broadcast_to(number, shape_of(dims))


fill = graphed(_fill, "Fill")

# Shapes and sizes ---------------------------------------------------------------------------


def _asked(kind: Kind, x: Any, known: Any, length: Any, out_type: Any) -> Any:
    """A property of a shape: a constant if it is known, else an operation."""
    dtype = array_dtype(out_type)
    if known is not None:
        return wrap(EagerTensor, numpy.array(known, dtype))
    return kind_call(kind, [x], length, dtype, None, {"dtype": dtype})


def _shape(input: Any, name: str | None = None, out_type: Any = "int32") -> Any:
    """The shape, as a tensor, evaluated when the graph runs."""
    x = operand(input)
    own = x._data.shape
    known = None if isinstance(own, OpenShape) else tuple(own)
    rank = None if isinstance(own, AnyShape) else len(own)
    return _asked(SHAPE, x, known, (rank,), out_type)


def _size(input: Any, name: str | None = None, out_type: Any = "int32") -> Any:
    """The number of entries, evaluated when the graph runs."""
    x = operand(input)
    own = x._data.shape
    known = None if isinstance(own, OpenShape) else int(numpy.prod(own))
    return _asked(SIZE, x, known, (), out_type)


def _rank(input: Any, name: str | None = None) -> Any:
    """The number of axes, evaluated when the graph runs."""
    x = operand(input)
    own = x._data.shape
    return _asked(RANK, x, None if isinstance(own, AnyShape) else len(own), (), "int32")


shape, size, rank = graphed(_shape, "Shape"), graphed(_size, "Size"), graphed(_rank, "Rank")


def shape_n(input: Any, out_type: Any = "int32", name: str | None = None) -> list[Any]:
    """The shapes of several tensors."""
    return [shape(x, name, out_type) for x in input]


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape to which two known shapes broadcast.

    >>> broadcast_static_shape((2, 1), (3,))
    TensorShape([2, 3])
    """
    from ...kinds.shapes import broadcast

    return TensorShape(broadcast([tuple(shape_x), tuple(shape_y)]))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape to which two shapes, given as graph tensors, broadcast."""
    x, y = (convert_to_tensor(s) for s in (shape_x, shape_y))
    return shape(zeros(x) + zeros(y))


# Identity, stop_gradient, reshape -----------------------------------------------------------


def identity(input: Any, name: str | None = None) -> Any:
    """An operation that returns its input.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.identity(tf.zeros([2]), name="y").op.type
    'Identity'
    """
    graph = graph_for((input,))
    with opened(graph):
        x = in_graph(graph, operand(input), None)
        return built(graph, lambda: ops.identity(x), name)


def stop_gradient(input: Any, name: str | None = None) -> Any:
    """The same values, treated as a constant by every derivative.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [])
    ...     tf.gradients(tf.stop_gradient(x) * 2.0, x)
    [None]
    """
    graph = graph_for((input,))
    with opened(graph):
        x = in_graph(graph, operand(input), None)
        made = graph.source(STOP, x._data.shape, x._data.dtype, {}, [x], name)
        dropped(STOPPED, x._node, "stop_gradient", made)
        return made


def _reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The same entries in another shape, which may be a tensor; one length may be -1."""
    return _shaping.reshape(tensor, shape)


reshape = graphed(_reshape)
