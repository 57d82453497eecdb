"""`tf.gradients`, `tf.hessians`, and gradients registered under names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import is_inexact
from ...custom.override import register_gradient
from ...errors import ArgumentError, ArgumentTypeError, DuplicateNameError
from ...graphs.gradients import gradients as _gradients
from ..convert import as_tensor
from ..tape import UnconnectedGradients
from .graph import graph_for, opened
from .tensor import in_graph
from .types import is_type

__all__ = [
    "AggregationMethod", "NoGradient", "NotDifferentiable", "RegisterGradient",
    "UnconnectedGradients", "gradients", "hessians",
]


class AggregationMethod:
    """How to sum gradients; accepted and ignored."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class RegisterGradient(register_gradient):
    """Registers a gradient function under a name, for use with `gradient_override_map`.

    The function is called as `function(op, grad)` with one cotangent per output of the
    operation `op`; it returns one gradient (a tensor or None) per input of the operation.

    Raises `DuplicateNameError` (a `KeyError`) if the name is taken, also by an operation type.

    >>> import pullback.tf.v1 as tf
    >>> @tf.RegisterGradient("Doctest.Twice")
    ... def twice(op, grad):
    ...     return 2.0 * grad
    >>> with tf.Graph().as_default() as graph, tf.Session() as sess:
    ...     x = tf.constant(1.0)
    ...     with graph.gradient_override_map({"Identity": "Doctest.Twice"}):
    ...         y = tf.identity(x)
    ...     sess.run(tf.gradients(y, x))
    [np.float32(2.0)]
    """

    def __init__(self, op_type: str) -> None:
        super().__init__(op_type)
        if is_type(op_type):
            raise DuplicateNameError(
                f"gradient {op_type!r}", "a new name", "an operation type, which has a gradient",
                "choose another name, and apply it with gradient_override_map",
            )


def NotDifferentiable(op_type: str) -> None:
    """Register a name whose gradient is None: operations overridden with it have no gradient.

    Raises `DuplicateNameError` (a `KeyError`) if the name is taken, also by an operation type.
    """
    RegisterGradient(op_type)(_none)


def _none(op: Any, *gradients: Any) -> Any:
    return [None] * len(op.inputs)


NoGradient = NotDifferentiable


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients",
    colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
    aggregation_method: Any = None, stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of sum(ys) with respect to each of xs, as graph tensors.

    grad_ys          one cotangent per y; ones by default
    stop_gradients   tensors to treat as constants
    unconnected_gradients  the result for an x that no y depends on: NONE or ZERO

    `colocate_gradients_with_ops`, `gate_gradients` and `aggregation_method` are ignored.
    Raises `ArgumentTypeError` (a `TypeError`) for values that are not tensors, `UnknownNameError`
    (a `LookupError`) for an override whose gradient is not registered.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [None])
    ...     sess.run(tf.gradients(tf.reduce_sum(x * x), [x]), {x: [1.0, 2.0]})
    [array([2., 4.], dtype=float32)]
    """
    targets, sources = _listed(ys, "ys"), _listed(xs, "xs")
    graph = graph_for((*targets, *sources))
    with opened(graph):
        given = [None] * len(targets) if grad_ys is None else _as_list(grad_ys)
        if len(given) != len(targets):
            raise ArgumentError("argument `grad_ys` of gradients", f"{len(targets)}, one per y",
                                f"{len(given)} cotangents")
        pairs = [
            (y, None if g is None else in_graph(graph, as_tensor(g, y._data.dtype)))
            for y, g in zip(targets, given, strict=True) if is_inexact(y._data)
        ]
        found = _gradients(
            [y for y, _ in pairs], sources, [g for _, g in pairs], stop_gradients,
            unconnected_gradients, name=name,
        )
        return [in_graph(graph, a) for a in found]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _listed(value: Any, subject: str) -> list[Any]:
    values = _as_list(value)
    for v in values:
        if not isinstance(v, CoreTensor):
            raise ArgumentTypeError(f"argument `{subject}` of gradients", "graph tensors",
                                    f"a {type(v).__name__}")
    return values


def hessians(
    ys: Any, xs: Any, name: str = "hessians", colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False, aggregation_method: Any = None,
) -> list[Any]:
    """The Hessian of sum(ys) with respect to each of xs, of shape x.shape + x.shape.

    Raises `ArgumentTypeError` for values that are not tensors, `SymbolError` for an x of unknown
    shape.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant([1.0, 2.0])
    ...     sess.run(tf.hessians(tf.reduce_sum(x ** 3), x)[0])
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    sources = _listed(xs, "xs")
    graph = graph_for(sources)
    with opened(graph), graph.name_scope(name):
        return [in_graph(graph, _hessian(ys, x)) for x in sources]


def _hessian(ys: Any, x: Any) -> Any:
    (first,) = gradients(ys, x)
    size = x._data.size
    flat = ops.reshape(first, (size,))
    rows: Sequence[Any] = [
        gradients(flat[i], x, unconnected_gradients=UnconnectedGradients.ZERO)[0]
        for i in range(size)
    ]
    return ops.reshape(ops.stack(rows), (*x._data.shape, *x._data.shape))

