"""`tf.variable_scope` and `tf.get_variable`: variables shared by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...core.tensor import Tensor as CoreTensor
from ...errors import ArgumentError, ArgumentTypeError
from ..dtypes import as_dtype
from ..shapes import TensorShape
from ..values import array_of
from . import initializers as _initializers
from .graph import get_default_graph, home, opened
from .grouping import name_scope
from .keys import GraphKeys
from .variable import Variable

__all__ = [
    "AUTO_REUSE", "VariableScope", "get_local_variable", "get_variable", "get_variable_scope",
    "no_regularizer", "variable_op_scope", "variable_scope",
]


class _Reuse:
    def __repr__(self) -> str:
        return "<_ReuseMode.AUTO_REUSE: 1>"


AUTO_REUSE = _Reuse()
"""`reuse` mode: create a variable on first use, and share it afterwards."""


def no_regularizer(_: Any) -> None:
    """A regularizer that adds no loss."""


class VariableScope:
    """The state of a variable scope: the name prefix and the defaults of `get_variable`.

    name      the name prefix, without the slash
    reuse     False, True (variables must exist) or AUTO_REUSE
    """

    def __init__(
        self, reuse: Any, name: str = "", initializer: Any = None, regularizer: Any = None,
        dtype: Any = "float32", constraint: Any = None, name_scope: str = "",
        custom_getter: Any = None,
    ) -> None:
        self.reuse, self.name = reuse, name
        self.initializer, self.regularizer = initializer, regularizer
        self.dtype, self.constraint = as_dtype(dtype), constraint
        self.original_name_scope, self.custom_getter = name_scope, custom_getter

    def reuse_variables(self) -> None:
        """From now on, variables of this scope must already exist."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        """Set the default dtype."""
        self.dtype = as_dtype(dtype)

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set a function that wraps `get_variable`."""
        self.custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """The values in a collection, filtered by this scope's name."""
        scope = self.name + "/" if self.name else ""
        return list(home().get_collection(name, scope))

    def global_variables(self) -> list[Any]:
        """The global variables in this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables in this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)


def get_variable_scope() -> VariableScope:
    """The current variable scope of the current graph."""
    graph = home()
    if graph.variable_scope is None:
        graph.variable_scope = VariableScope(False)
    scope: VariableScope = graph.variable_scope
    return scope


class variable_scope:
    """A context manager in which `get_variable` creates and shares variables under a prefix.

    name_or_scope  a name, appended to the current scope's, or a VariableScope, used as it is
    default_name   used, and made unique, if `name_or_scope` is None
    reuse          None: inherit; True: variables must exist; AUTO_REUSE: create or share

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     with tf.variable_scope("layer"):
    ...         w = tf.get_variable("w", [2])
    ...     with tf.variable_scope("layer", reuse=True):
    ...         print(w.name, tf.get_variable("w", [2]) is w)
    layer/w:0 True
    """

    def __init__(
        self, name_or_scope: Any, default_name: str | None = None, values: Any = None,
        initializer: Any = None, regularizer: Any = None, caching_device: Any = None,
        partitioner: Any = None, custom_getter: Any = None, reuse: Any = None, dtype: Any = None,
        use_resource: Any = None, constraint: Any = None, auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise ArgumentTypeError("variable_scope", "name_or_scope or default_name", "neither")
        if name_or_scope is None and reuse is True:
            raise ArgumentError("variable_scope", "name_or_scope, for reuse=True", "default_name")
        self._given, self._default, self._values = name_or_scope, default_name, values
        self._reuse, self._named = reuse, auxiliary_name_scope
        self._changes = {
            "initializer": initializer, "regularizer": regularizer, "constraint": constraint,
            "dtype": None if dtype is None else as_dtype(dtype), "custom_getter": custom_getter,
        }
        self._held: list[Any] = []

    def __enter__(self) -> VariableScope:
        graph = home()
        block = opened(get_default_graph())  # the graph of a branch, if one is being built
        block.__enter__()
        outer = get_variable_scope()
        given = self._given
        base = given if isinstance(given, VariableScope) else outer
        if isinstance(given, VariableScope):
            name = given.name
        else:
            own = given if given is not None else _unique(graph, outer.name, self._default)
            name = f"{outer.name}/{own}" if outer.name else str(own)
        last = name.rpartition("/")[2]
        names = name_scope(last, values=self._values) if self._named and last else None
        prefix = names.__enter__() if names is not None else (
            f"{get_default_graph().get_name_scope()}/"
        )
        made = VariableScope(
            base.reuse or outer.reuse if self._reuse is None else self._reuse or outer.reuse,
            name, base.initializer, base.regularizer, base.dtype, base.constraint,
            given.original_name_scope if isinstance(given, VariableScope) else prefix,
            base.custom_getter,
        )
        for key, value in self._changes.items():
            if value is not None:
                setattr(made, key, value)
        graph.variable_scope = made
        self._held.append((graph, outer, block, names))
        return made

    def __exit__(self, *exc: Any) -> None:
        graph, outer, block, names = self._held.pop()
        graph.variable_scope = outer
        if names is not None:
            names.__exit__(*exc)
        block.__exit__(*exc)


def _unique(graph: Any, outer: str, name: Any) -> str:
    """A name under which no scope has been opened."""
    used = graph.scope_names
    whole = f"{outer}/{name}"
    count, found = 0, name
    while f"{outer}/{found}" in used:
        count += 1
        found = f"{name}_{count}"
    used.update((whole, f"{outer}/{found}"))
    return str(found)


def variable_op_scope(values: Any, name_or_scope: Any, default_name: Any = None,
                      **how: Any) -> variable_scope:
    """`variable_scope` with its older argument order."""
    return variable_scope(name_or_scope, default_name, values, **how)


def get_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
    regularizer: Any = None, trainable: bool | None = None, collections: Any = None,
    caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True,
    use_resource: Any = None, custom_getter: Any = None, constraint: Any = None,
    synchronization: Any = None, aggregation: Any = None,
) -> Any:
    """Gets the existing variable with this name in the current scope, or creates one.

    initializer  called with shape and dtype, or a value; glorot_uniform by default
    regularizer  a function of the variable; its result is added to REGULARIZATION_LOSSES

    Raises `ArgumentError` (a `ValueError`) if the variable exists and reuse is off, if it does not
    exist and reuse=True, or if it has another shape or dtype.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.get_variable("w", [2, 3])
    <tf.Variable 'w:0' shape=(2, 3) dtype=float32>
    """
    scope = get_variable_scope()
    getter = custom_getter or scope.custom_getter
    whole = f"{scope.name}/{name}" if scope.name else name
    how = {
        "shape": shape, "dtype": dtype, "initializer": initializer, "regularizer": regularizer,
        "trainable": trainable, "collections": collections, "validate_shape": validate_shape,
        "constraint": constraint,
    }
    if getter is not None:
        return getter(_got, whole, **how)
    return _got(whole, **how)


def _got(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
    regularizer: Any = None, trainable: Any = None, collections: Any = None,
    validate_shape: bool = True, constraint: Any = None, **ignored: Any,
) -> Any:
    """The variable with a full name."""
    graph, scope = home(), get_variable_scope()
    known = graph.shared.get(name)
    if known is not None:
        if not scope.reuse:
            _refuse(name, "a new name", f"an existing variable, created at {known.op.line}",
                    "set reuse=True or reuse=tf.AUTO_REUSE in variable_scope")
        _check_same(known, name, shape, dtype)
        return known
    if scope.reuse is True:
        _refuse(name, "a variable created with get_variable", "no such variable",
                "set reuse=tf.AUTO_REUSE in variable_scope")
    start = _start(name, shape, scope.dtype if dtype is None else as_dtype(dtype), dtype,
                   scope.initializer if initializer is None else initializer)
    with opened(graph), graph.name_scope(None):
        made = Variable(start[0], trainable, collections, validate_shape, name=name,
                        dtype=start[1], constraint=constraint or scope.constraint)
    made.leave(get_default_graph(), graph)
    graph.shared[name] = made
    _regularize(graph, made, regularizer or scope.regularizer)
    return made


def _start(name: str, shape: Any, dtype: Any, asked: Any, initializer: Any) -> tuple[Any, Any]:
    """The initial value, or a function that returns it; and the dtype."""
    if initializer is not None and not callable(initializer):
        if shape is not None:
            _refuse(name, "no shape: the initializer is a value", f"shape {shape}")
        if isinstance(initializer, CoreTensor):
            return initializer, None
        return array_of(initializer, None if asked is None else dtype.dtype), None
    if shape is None:
        _refuse(name, "a shape", "none")
    size = TensorShape(shape)
    if not size.is_fully_defined():
        _refuse(name, "a fully defined shape", f"{size}")
    if initializer is None:
        initializer = (
            _initializers.GlorotUniform() if dtype.is_floating else _initializers.Zeros()
        )
    made: Callable[[], Any] = lambda: _initializers.value_of(  # noqa: E731
        initializer, list(size), dtype
    )
    return made, dtype


def _check_same(known: Any, name: str, shape: Any, dtype: Any) -> None:
    if shape is not None and not TensorShape(shape).is_compatible_with(known.shape):
        _refuse(name, f"its shape {known.shape}", f"shape {TensorShape(shape)}")
    if dtype is not None and as_dtype(dtype) != known.dtype:
        _refuse(name, f"its dtype {known.dtype.name}", f"dtype {as_dtype(dtype).name}")


def _regularize(graph: Any, variable: Any, regularizer: Any) -> None:
    if regularizer is None or regularizer is no_regularizer:
        return
    with opened(graph), graph.name_scope(f"{variable.cell.label}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _refuse(name: str, expected: str, got: str, fix: str = "") -> NoReturn:
    raise ArgumentError(f"Variable {name}", expected, got, fix)


def get_local_variable(name: str, shape: Any = None, **how: Any) -> Any:
    """`get_variable` for a variable that is not trainable and is in LOCAL_VARIABLES."""
    how.pop("trainable", None)
    collections = [*(how.pop("collections", None) or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, trainable=False, collections=collections, **how)
