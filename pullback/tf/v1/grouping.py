"""Name scopes, control dependencies and collections of the current graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ...core.tensor import Tensor as CoreTensor
from ...errors import ArgumentTypeError
from ...graphs.operation import Operation
from .arrays import identity
from .graph import get_default_graph, graph_for, home, opened

__all__ = [
    "add_to_collection", "add_to_collections", "container", "control_dependencies", "device",
    "get_collection", "get_collection_ref", "group", "name_scope", "no_op", "op_scope", "tuple",
    "with_dependencies",
]


class name_scope:
    """A context manager that prefixes names with this name and `/`; yields the full prefix.

    name          None: use `default_name`; a name that ends with `/` is absolute
    values        tensors; the first one determines the graph

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.name_scope("layer") as scope:
    ...     print(scope, tf.zeros([2]).name)
    layer/ layer/zeros:0
    """

    def __init__(self, name: str | None, default_name: str | None = None,
                 values: Sequence[Any] | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise ArgumentTypeError("argument `name` of name_scope", "a name",
                                    f"a {type(name).__name__}")
        self._name = default_name if name is None else name
        self._values = values or ()
        self._held: list[Any] = []

    @property
    def name(self) -> str | None:
        """The name as given."""
        return self._name

    def __enter__(self) -> str:
        graph = graph_for(self._values)
        block, scope = opened(graph), graph.name_scope(self._name)
        block.__enter__()
        self._held.append((block, scope))
        return str(scope.__enter__())

    def __exit__(self, *exc: Any) -> None:
        block, scope = self._held.pop()
        scope.__exit__(*exc)
        block.__exit__(*exc)


def op_scope(values: Any, name: Any, default_name: Any = None) -> name_scope:
    """`name_scope` with its older argument order."""
    return name_scope(name, default_name, values)


def control_dependencies(control_inputs: Sequence[Any] | None) -> AbstractContextManager[None]:
    """A context manager whose operations run after the given ones; None clears all dependencies.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0)
    ...     with tf.control_dependencies([v.initializer]):
    ...         y = tf.identity(v.read_value())
    ...     sess.run(y)
    np.float32(1.0)
    """
    return _controlled(get_default_graph(), control_inputs)


@contextmanager
def _controlled(graph: Any, inputs: Sequence[Any] | None) -> Iterator[None]:
    with opened(graph), graph.control_dependencies(
        None if inputs is None else [graph.as_graph_element(i) for i in inputs]
    ):
        yield


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Accepted and ignored: a graph runs where its arrays are."""
    return get_default_graph().device(device_name_or_function)


def container(container_name: str) -> AbstractContextManager[None]:
    """Accepted and ignored: variables live in their session."""
    return get_default_graph().device(container_name)


def _flat(inputs: Any) -> list[Any]:
    found: list[Any] = []
    for value in inputs:
        if isinstance(value, (list, _tuple)):
            found += _flat(value)
        elif isinstance(value, dict):
            found += _flat(value.values())
        elif value is not None:
            found.append(value)
    return found


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation without effect that runs after its inputs.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     a, b = tf.Variable(1.0), tf.Variable(2.0)
    ...     tf.group(a.initializer, b.initializer, name="both").name
    'both'
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ArgumentTypeError("group", "the keyword `name`", f"{', '.join(kwargs)}")
    flat = _flat(inputs)
    graph = graph_for(flat)
    with opened(graph):
        made: Operation = graph.group(flat, name or "group_deps")
    return made


def no_op(name: str | None = None) -> Operation:
    """An operation without effect, for use with control dependencies."""
    graph = get_default_graph()
    with opened(graph):
        made: Operation = graph.group([], name)
    return made


_tuple = tuple


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Tensors that are available only after all of them have been computed; None stays None."""
    given = [t for t in tensors if t is not None]
    if not given:
        raise ArgumentTypeError("tuple", "at least one tensor or operation", "none")
    with name_scope(name, "tuple", given):
        gate = group(*given, *(control_inputs or ()))
        with control_dependencies([gate]):
            return [identity(t) if isinstance(t, CoreTensor) else gate if t is not None else None
                    for t in tensors]


def with_dependencies(dependencies: Sequence[Any], output_tensor: Any,
                      name: str | None = None) -> Any:
    """A tensor whose value waits for other operations."""
    with control_dependencies(dependencies):
        return identity(output_tensor, name)


def add_to_collection(name: str, value: Any) -> None:
    """Add a value to a collection of the current graph."""
    home().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Add a value to several collections of the current graph."""
    home().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """The values in a collection of the current graph, filtered by a scope."""
    return list(home().get_collection(key, scope))


def get_collection_ref(key: str) -> list[Any]:
    """The list behind a collection of the current graph; changing it changes the collection."""
    found: list[Any] = home().get_collection_ref(key)
    return found
