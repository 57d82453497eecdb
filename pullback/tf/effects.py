"""Operations with side effects: printing, assertions, Python functions, groups."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .. import ops
from ..arrays.inexact import kind_of
from ..core.tensor import raw
from ..graphs import py as _py
from ..graphs.tracing import effect
from ..kinds.symbols import current_graph
from ..trees import leaves, mapped
from .convert import as_tensor, convert_to_tensor
from .dtypes import array_dtype
from .errors import InvalidArgumentError
from .tensor import Tensor
from .variable import Variable

__all__ = [
    "Assert", "group", "identity_n", "no_op", "numpy_function", "print", "py_function", "tuple",
]

_TUPLE = type(())  # the name `tuple` is TensorFlow's function here


def print(
    *inputs: Any, output_stream: Any = None, summarize: int = 3, sep: str = " ", end: str = "\n",
    name: str | None = None,
) -> None:
    """Print strings, numbers and tensors; in a traced function, on every call of the graph.

    output_stream  a stream (sys.stderr by default), or `file://` and a path, which is appended to
    summarize      how many entries to show at each end of an axis; -1 for all

    >>> from pullback import tf
    >>> import sys
    >>> tf.print("x is", tf.constant([1.0, 2.5]), output_stream=sys.stdout)
    x is [1 2.5]
    """
    tensors = [as_tensor(v) if isinstance(v, Variable) else v
               for i in inputs for v in leaves(i) if isinstance(v, (Tensor, Variable))]

    def show(*arrays: Any) -> None:
        rest = iter(arrays)
        text = sep.join(_text(
            mapped(lambda v: next(rest) if isinstance(v, (Tensor, Variable)) else v, i), summarize
        ) for i in inputs)
        if isinstance(output_stream, str):
            with open(output_stream.removeprefix("file://"), "a", encoding="utf-8") as file:
                file.write(text + end)
        else:
            (sys.stderr if output_stream is None else output_stream).write(text + end)

    perform("print", show, tensors)


def _text(value: Any, edge: int) -> str:
    """A value in TensorFlow's format: no commas, and no zeros after the decimal point."""
    if isinstance(value, (list, _TUPLE)):
        inner = ", ".join(_text(v, edge) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict):
        inner = ", ".join(f"{k!r}: {_text(v, edge)}" for k, v in value.items())
        return "{" + inner + "}"
    if not isinstance(value, (numpy.ndarray, numpy.generic)):
        return str(value)
    return _entries(numpy.asarray(value), edge, 0)


def _entries(array: Any, edge: int, depth: int) -> str:
    if array.ndim == 0:
        return _number(array[()])
    parts = [_entries(a, edge, depth + 1) for a in _ends(array, edge)]
    if edge != -1 and len(array) > 2 * edge:
        parts.insert(edge, "...")
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (depth + 1)
    return f"[{between.join(parts)}]"


def _ends(array: Any, edge: int) -> list[Any]:
    if edge == -1 or len(array) <= 2 * edge:
        return list(array)
    return [*array[:edge], *array[len(array) - edge :]]


def _number(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value.dtype.kind == "b":
        return str(int(value))
    if kind_of(value.dtype) != "f":
        return str(value)
    few, all_ = (6, 9) if value.dtype.itemsize <= 4 else (15, 17)
    short = f"{float(value):.{few}g}"
    return short if value.dtype.type(short) == value else f"{float(value):.{all_}g}"


def perform(name: str, run: Callable[..., None], tensors: Sequence[Any]) -> None:
    """Call a function of arrays: now, or each time the graph that is being traced runs."""
    if current_graph() is None:
        run(*map(raw, tensors))
    else:
        effect(name, run, [raw(t) for t in tensors], [])


def require(condition: Any, message: Callable[..., str], tensors: Sequence[Any] = ()) -> None:
    """Raise an `InvalidArgumentError` unless all entries of a condition are true, once known.

    message  a function of the tensors' arrays
    """

    def check(holds: Any, *arrays: Any) -> None:
        if not numpy.all(numpy.asarray(holds)):
            raise InvalidArgumentError(None, None, message(*arrays))

    perform("assert", check, [as_tensor(condition), *tensors])


def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an `InvalidArgumentError` that shows the data, unless the condition is true everywhere.

    >>> Assert(True, ["fine"])
    """
    shown = [as_tensor(d) if isinstance(d, (Tensor, Variable)) else d for d in data]
    tensors = [d for d in shown if isinstance(d, Tensor)]

    def message(*arrays: Any) -> str:
        rest = iter(arrays)
        edge = 3 if summarize is None else summarize
        lines = [_text(next(rest) if isinstance(d, Tensor) else d, edge) for d in shown]
        return "\n".join(["assertion failed:", *lines])

    require(condition, message, tensors)


# Python functions ------------------------------------------------------------------------------


def py_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Calls a Python function of tensors, in a graph on each run; it can be differentiated.

    inp   the tensors to pass
    Tout  the dtype, or the list of dtypes, of the result

    Without `func` it is a decorator: `@tf.py_function(Tout=tf.float32)`.

    >>> from pullback import tf
    >>> tf.py_function(lambda x: x * x, [tf.constant(3.0)], tf.float32).numpy()
    np.float32(9.0)
    """
    if func is None:
        return _decorator(py_function, Tout=Tout, name=name)

    def call(*tensors: Any) -> Any:
        found = func(*tensors)
        return mapped(lambda v: v if isinstance(v, Tensor) else as_tensor(v), found)

    return _py.py_function(call, mapped(convert_to_tensor, list(inp)), _dtypes(Tout), name, Tensor)


def numpy_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None,
    stateful: bool = True, name: str | None = None,
) -> Any:
    """Calls a Python function of NumPy arrays, in a graph on each run; it has no gradient.

    Without `func` it is a decorator: `@tf.numpy_function(Tout=tf.float32)`.

    >>> import numpy as np
    >>> from pullback import tf
    >>> tf.numpy_function(np.sort, [tf.constant([2.0, 1.0])], tf.float32).numpy()
    array([1., 2.], dtype=float32)
    """
    if func is None:
        return _decorator(numpy_function, Tout=Tout, stateful=stateful, name=name)

    def call(*arrays: Any) -> Any:
        found = func(*arrays)
        return mapped(lambda v: v if hasattr(v, "dtype") else raw(as_tensor(v)), found)

    return _py.numpy_function(call, mapped(convert_to_tensor, list(inp)), _dtypes(Tout), stateful,
                              name)


def _decorator(function: Callable[..., Any], **keywords: Any) -> Any:
    """A decorator that wraps a Python function in `py_function` or `numpy_function`."""

    def decorate(func: Callable[..., Any]) -> Any:
        @functools.wraps(func)
        def call(*inp: Any) -> Any:
            return function(func, inp, **keywords)

        return call

    return decorate


def _dtypes(wanted: Any) -> Any:
    if isinstance(wanted, (list, _TUPLE)):
        return [array_dtype(d) for d in wanted]
    return array_dtype(wanted)


# Groups ----------------------------------------------------------------------------------------


def group(*inputs: Any, **keywords: Any) -> None:
    """Returns None: the inputs have already run.

    >>> group()
    """


def no_op(name: str | None = None) -> None:
    """Returns None.

    >>> no_op()
    """


def tuple(
    tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None
) -> list[Any]:
    """Returns the tensors, all of which have been computed.

    >>> [x.numpy() for x in tuple([1.0])]
    [np.float32(1.0)]
    """
    return [None if t is None else as_tensor(t) for t in tensors]


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Any]:
    """The same values in new tensors.

    >>> [x.numpy() for x in identity_n([1.0])]
    [np.float32(1.0)]
    """
    return [ops.identity(as_tensor(x)) for x in input]
