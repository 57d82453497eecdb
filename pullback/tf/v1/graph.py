"""`tf.Graph`: the core's graph with TensorFlow's operation types and names; the default graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from ...arrays import is_array
from ...arrays.symbol import Symbol
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import raw
from ...custom.override import override_gradient, registered_gradient
from ...errors import (
    ArgumentTypeError,
    GraphError,
    RuleError,
    RuleTypeError,
    UnknownNameError,
)
from ...graphs.graph import Graph as CoreGraph
from ...graphs.operation import Kind, Operation
from ...kinds.symbols import current_graph
from ..shapes import TensorShape
from ..tape import gradient_under
from .tensor import Tensor, in_graph
from .types import operation_of, type_of

__all__ = ["Graph", "get_default_graph", "reset_default_graph"]


class Graph(CoreGraph):
    """A graph of operations that a session runs later.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [None], name="x")
    ...     y = tf.reduce_sum(x * x, name="y")
    >>> [(op.name, op.type) for op in graph.get_operations()]
    [('x', 'Placeholder'), ('mul', 'Mul'), ('y', 'Sum')]
    """

    tensor_class = Tensor

    def __init__(self) -> None:
        super().__init__()
        self.variable_store: dict[str, Any] = {}
        self.shared: dict[str, Any] = {}
        self.variable_scope: Any = None
        self.scope_names: set[str] = set()
        self.draws = 0

    def type_of(self, op: Any) -> str:
        """The TensorFlow operation type for a kind of operation."""
        return type_of(str(op.name))

    def handle(self, variable: Any, kind: Kind) -> Operation:
        """The operation that represents a new variable; it has the variable's name."""
        label = variable.cell.label
        with self.control_dependencies(None):
            self.append(kind, (), {}, [], numpy.ndarray, name="variable")
        made = self.operations[-1]
        self.free(made.name)
        self._named.pop(made.name)
        made.name = label
        self._named[label] = made
        self.variable_store[label] = variable
        return made

    # Overrides ------------------------------------------------------------------------------

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """A context manager in which new operations of given types use registered gradients.

        op_type_map  {operation type, such as "Sign": name given to RegisterGradient}; the name
                     "Identity" passes gradients through unchanged

        The name is looked up when a gradient is built; if it is not registered, that raises
        `UnknownNameError` (a `LookupError`).

        Raises `UnknownNameError` for an operation type that does not exist here.
        """
        if not isinstance(op_type_map, Mapping):
            raise ArgumentTypeError("gradient_override_map", "a mapping {type: name}",
                                    f"a {type(op_type_map).__name__}")
        rules = {operation_of(k): _ByName(k, v) for k, v in op_type_map.items()}
        with override_gradient(rules):
            yield

    # Lookup ---------------------------------------------------------------------------------

    def get_tensor_by_name(self, name: str) -> Any:
        """The tensor with a name such as `add:0`; for a variable's name, its value."""
        known = self.variable_store.get(name.partition(":")[0])
        if known is not None and name.endswith(":0"):
            return known.value()
        return super().get_tensor_by_name(name)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The tensor or operation for a tensor, operation, variable or name."""
        return super().as_graph_element(obj)

    def get_all_collection_keys(self) -> list[str]:
        """The names of the non-empty collections."""
        return [k for k, v in self.collections.items() if v]

    def clear_collection(self, name: str) -> None:
        """Empty a collection."""
        self.collections.pop(name, None)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Add a value to several collections."""
        for name in (names,) if isinstance(names, str) else names:
            self.add_to_collection(name, value)

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Accepted and ignored: a graph runs where its arrays are."""
        yield

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Accepted and ignored: a graph runs where its arrays are."""
        yield

    @property
    def building_function(self) -> bool:
        """False: this graph does not belong to a function."""
        return False

    @property
    def version(self) -> int:
        """The number of operations."""
        return len(self.operations)


class _ByName:
    """A gradient override that looks up its registered name when the gradient is built."""

    def __init__(self, type_name: str, name: Any) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"gradient_override_map of {type_name!r}", "a registered name",
                                    f"a {type(name).__name__}",
                                    "register the function with @tf.RegisterGradient(name)")
        self.type, self.name = type_name, name
        self.__name__ = name

    def __call__(self, op: Any, *gradients: Any) -> Any:
        symbol = raw(op.outputs[0])
        operation = symbol.operation if symbol.__class__ is Symbol else op
        try:
            named = gradient_under(self.name)
            rule = registered_gradient(named) if isinstance(named, str) else named
        except UnknownNameError as error:
            raise UnknownNameError(
                f"gradient of operation {operation.name!r} ({operation.type}), overridden by "
                f"{self.name!r}", error.expected, error.got, error.fix,
            ) from None
        returned = rule(operation, *gradients)
        count = len(op.inputs)
        if isinstance(returned, (list, tuple)) and len(returned) > count and not any(
            a is not None for a in returned[count:]
        ):
            return list(returned[:count])  # TensorFlow ops have more inputs, such as an axis
        results = returned if isinstance(returned, (list, tuple)) else [returned]
        self._check(results, count, operation)
        return returned

    def _check(self, gradients: Any, count: int, operation: Any) -> None:
        """Raise for a wrong number of gradients, or values that are not tensors."""
        subject = f"gradient {self.name!r} of operation {operation.name!r} ({operation.type})"
        if len(gradients) != count:
            raise RuleError(
                subject, f"{count} gradients, one per input (None for no gradient)",
                f"{len(gradients)} gradients",
            )
        for g in gradients:
            if g is not None and not isinstance(g, CoreTensor) and not is_array(g):
                raise RuleTypeError(
                    subject, "a tensor, or None for no gradient", f"{g!r} (a {type(g).__name__})",
                    "return tf.zeros_like(x) where the gradient is zero",
                )


# The default graph ------------------------------------------------------------------------------

_root: list[Graph | None] = [None]


def get_default_graph() -> Any:
    """The graph to which operations are added: the innermost open one, else the global default.

    >>> get_default_graph() is get_default_graph()
    True
    """
    graph = current_graph()
    if graph is None:
        if _root[0] is None:
            _root[0] = Graph()
        return _root[0]
    return graph


def home() -> Any:
    """The graph that owns variables and collections: the open one, or the one around it."""
    graph = get_default_graph()
    while getattr(graph, "outer", None) is not None:
        graph = graph.outer
    return graph


def reset_default_graph() -> None:
    """Replace the global default graph with a new one.

    Raises `GraphError` (a `ValueError`) inside `with graph.as_default():`.
    """
    if current_graph() is not None:
        raise GraphError("reset_default_graph", "a call outside all graphs",
                         "a call inside `with graph.as_default():`")
    _root[0] = None


@contextmanager
def opened(graph: Any) -> Iterator[Any]:
    """A context manager that makes a graph the current one, unless it already is."""
    if current_graph() is graph:
        yield graph
    else:
        with graph.as_default():
            yield graph


def graph_for(values: Any) -> Any:
    """The open graph, else that of the first tensor among the values, else the default graph."""
    graph = current_graph()
    if graph is not None:
        return graph
    for value in values:
        if isinstance(value, (list, tuple)):
            value = next((v for v in value if isinstance(v, Tensor)), None)
        owner = getattr(value, "graph", None)
        if owner is not None:
            return owner
    return get_default_graph()


# Building operations --------------------------------------------------------------------------


def kind_call(
    kind: Kind, values: Sequence[Any], shape: Any, dtype: Any, name: str | None,
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """The output of a new operation whose inputs need no gradient."""
    graph = graph_for(values)
    known = None if isinstance(shape, TensorShape) and shape.rank is None else shape
    with opened(graph):
        return in_graph(graph, graph.source(
            kind, known, numpy.dtype(dtype), attrs, values, name or graph.type_of(kind)
        ))
