"""`tf.Variable` of a graph: sessions store its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import is_inexact, raw
from ...errors import ArgumentError
from ...graphs.operation import Kind
from ...graphs.variable import GraphVariable, initializer
from ..convert import as_tensor
from ..dtypes import array_dtype
from ..shapes import TensorShape
from ..values import array_of
from .graph import get_default_graph, graph_for, home, opened
from .keys import GraphKeys
from .shapes import shape_of_symbol
from .tensor import GraphMembers, Tensor, in_graph

__all__ = [
    "Variable", "all_variables", "assign", "assign_add", "assign_sub", "global_variables",
    "global_variables_initializer", "initialize_all_variables", "is_variable_initialized",
    "local_variables", "local_variables_initializer", "model_variables", "moving_average_variables",
    "report_uninitialized_variables", "trainable_variables", "variables_initializer",
]

HANDLE = Kind("variable")
IS_SET = Kind("is_initialized", lambda store, cell: cell in store)
IS_SET.stored = True


class Variable(GraphMembers, GraphVariable):
    """A variable whose value each session stores and graph operations change.

    initial_value  a value for `tf.constant`, a tensor, or a function that returns one
    trainable      whether optimizers change it
    collections    names of the collections to add it to; GLOBAL_VARIABLES by default

    `caching_device`, `variable_def`, `import_scope`, `use_resource`, `synchronization` and
    `aggregation` are accepted and ignored.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable([1.0, 2.0], name="v")
    ...     _ = sess.run(tf.global_variables_initializer())
    ...     print(v, sess.run(v.assign_add([1.0, 1.0])))
    <tf.Variable 'v:0' shape=(2,) dtype=float32> [2. 3.]
    """

    __slots__ = ("_handle", "constraint", "regularizer")
    _out = Tensor

    def __init__(
        self, initial_value: Any = None, trainable: bool | None = None, collections: Any = None,
        validate_shape: bool = True, caching_device: Any = None, name: str | None = None,
        variable_def: Any = None, dtype: Any = None, expected_shape: Any = None,
        import_scope: Any = None, constraint: Any = None, use_resource: Any = None,
        synchronization: Any = None, aggregation: Any = None, shape: Any = None,
    ) -> None:
        if initial_value is None:
            raise ArgumentError("tf.Variable", "an initial value", "None")
        graph = home()
        wanted = array_dtype(dtype)
        trains = trainable is not False
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if trains and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        with opened(graph):
            super().__init__(
                lambda: _initial(graph, initial_value, wanted), trains, name, wanted,
                validate_shape, keys,
            )
        if shape is not None:
            self._take_shape(shape)
        self.constraint, self.regularizer = constraint, None
        self._handle = graph.handle(self, HANDLE)
        self.leave(get_default_graph(), graph)

    def leave(self, inner: Any, graph: Any) -> None:
        """Treat it, in derivatives, as created outside the branch or loop function."""
        while self._leaf is not None and inner is not graph:
            self._leaf.born = min(self._leaf.born, inner.start)
            inner = inner.outer

    def _take_shape(self, shape: Any) -> None:
        given = TensorShape(shape)
        if not given.is_compatible_with(self.shape):
            raise ArgumentError("tf.Variable", f"a value of shape {given}", f"shape {self.shape}")

    @property
    def op(self) -> Any:
        """The operation that represents it; it has its name and computes nothing."""
        return self._handle

    @property
    def name(self) -> str:
        """The name followed by `:0`."""
        return f"{self.cell.label}:0"

    @property
    def initial_shape(self) -> TensorShape:
        """The shape of the initial value."""
        return self.shape

    @property
    def initializer_value(self) -> Any:
        """The initial value."""
        return self.initial_value

    def initialized_value(self) -> Any:
        """The initial value, which an initialized variable starts with."""
        return self.initial_value

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value in a session, by default the default session: `v.eval(session)`."""
        if session is None and feed_dict is not None and not isinstance(feed_dict, Mapping):
            feed_dict, session = None, feed_dict
        return super().eval(feed_dict, session)

    def _assigned(self, value: Any, operation: str | None, name: str | None) -> Any:
        graph = graph_for((self,))
        with opened(graph):
            if not isinstance(value, CoreTensor):
                value = in_graph(graph, as_tensor(array_of(raw(value), self.cell.space[1])))
            return super()._assigned(value, operation, name)

    def is_initialized(self) -> Any:
        """Whether it has a value, as a graph tensor."""
        return is_variable_initialized(self)

    def count_up_to(self, limit: Any) -> Any:
        """The value before an increment by one."""
        before = self.value()
        with self.graph.control_dependencies([before]):
            self.assign_add(1)
        return before

    def __repr__(self) -> str:
        shape = shape_of_symbol(self._data)
        return f"<tf.Variable {self.name!r} shape={shape} dtype={self.dtype.name}>"

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        raise ArgumentError("copy.deepcopy of a variable", "tf.Variable(v.initialized_value())",
                            "a copy of a graph variable")


def _initial(graph: Any, value: Any, dtype: Any) -> Any:
    """An initial value as a graph tensor."""
    with graph.name_scope("Initializer"):
        if callable(value) and not isinstance(value, CoreTensor):
            value = value()
        if not isinstance(value, CoreTensor):
            value = array_of(value, dtype).copy()
            return graph.tensor(graph.constant(value, "initial_value"))
        return in_graph(graph, as_tensor(value), "initial_value")


def is_float(variable: Any) -> bool:
    """True if a variable's dtype is differentiable."""
    return is_inexact(variable._data)


# Assignments as functions -------------------------------------------------------------------


def assign(ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None,
           name: str | None = None) -> Any:
    """`ref.assign(value)`."""
    return ref.assign(value, name=name)


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """`ref.assign_add(value)`."""
    return ref.assign_add(value, name=name)


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """`ref.assign_sub(value)`."""
    return ref.assign_sub(value, name=name)


# Collections of variables -------------------------------------------------------------------


def global_variables(scope: str | None = None) -> list[Any]:
    """The global variables of the current graph.

    scope  a regular expression, matched at the start of the names
    """
    return list(home().get_collection(GraphKeys.GLOBAL_VARIABLES, scope))


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The trainable variables of the current graph."""
    return list(home().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope))


def local_variables(scope: str | None = None) -> list[Any]:
    """The variables in the collection LOCAL_VARIABLES."""
    return list(home().get_collection(GraphKeys.LOCAL_VARIABLES, scope))


def model_variables(scope: str | None = None) -> list[Any]:
    """The variables in the collection MODEL_VARIABLES."""
    return list(home().get_collection(GraphKeys.MODEL_VARIABLES, scope))


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables that have moving averages."""
    return list(home().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope))


all_variables = global_variables


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Any:
    """The operation that initializes the given variables."""
    graph = graph_for(var_list)
    with opened(graph):
        return initializer(var_list, name)


def global_variables_initializer() -> Any:
    """The operation that initializes all global variables.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.global_variables_initializer().type
    'NoOp'
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Any:
    """The operation that initializes all local variables."""
    return variables_initializer(local_variables())


initialize_all_variables = global_variables_initializer


def is_variable_initialized(variable: Any) -> Any:
    """Whether a variable has a value, as a graph tensor."""
    graph = graph_for((variable,))
    with opened(graph):
        return in_graph(graph, graph.source(IS_SET, (), numpy.dtype(bool), {"cell": variable.cell}))


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Any:
    """The names of the uninitialized variables, as a string tensor."""
    variables = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    cells = tuple(v.cell for v in variables)
    graph = get_default_graph()
    with opened(graph):
        return in_graph(graph, graph.source(
            REPORT, (None,), numpy.dtype(object), {"cells": cells}, name=name
        ))


def _missing(store: Any, cells: tuple[Any, ...]) -> Any:
    found = numpy.empty(len([c for c in cells if c not in store]), object)
    found[:] = [c.label.encode() for c in cells if c not in store]
    return found


REPORT = Kind("report_uninitialized", _missing)
REPORT.stored = True
