"""Python in graphs: functions of NumPy arrays and of tensors, printing and assertions.

They run when the graph runs, as often as it does, in the order in which they were built, and are
never left out for another one like them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..arrays import adapters
from ..core import state as _state
from ..core.custom_op import CustomOp, custom_node
from ..core.tensor import Tensor, raw, to_array
from ..custom.override import OTHERS
from ..errors import ArgumentError, ArgumentTypeError
from ..kinds import symbols as _symbols
from .operation import Kind
from .py_calls import PY_FUNCTION, Call
from .region_io import as_tensor, followed_by


class _NumpyFunction(Kind, CustomOp):
    """The operation of `numpy_function`: it has no derivative, unless it is given one."""

    unsteady = True

    def kernel(self, *arrays: Any, call: Call) -> Any:
        """Calls the function on read-only views of the arrays."""
        values = call(*[_sealed(a) for a in arrays])
        library = next((a for a in arrays if not isinstance(a, (numpy.ndarray, numpy.generic))), 0)
        adapter = adapters[library.__class__]
        made = []
        for value, dtype in zip(values, call.dtypes, strict=True):
            array = numpy.array(value)  # of its own: the function may use its memory again
            made.append(adapter.adopt(adapter.asarray(array, dtype)))
        return made[0] if len(made) == 1 else tuple(made)

    def step(self, *args: Any) -> None:
        """No cotangents."""

    def push(self, node: Any, tangents: Any, record: bool, cls: type) -> list[Any]:
        """No tangents."""
        return [None] * len(node.spaces)


def _sealed(array: Any) -> Any:
    view = numpy.asarray(adapters[array.__class__].numpy(array)).view()
    view.flags.writeable = False
    return view


NUMPY_FUNCTION = _NumpyFunction("numpy_function")


def numpy_function(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True,  # noqa: N803
    name: str | None = None,
) -> Any:
    """What a function of NumPy arrays returns, as tensors.

    func  takes an array for each tensor of inp (which it cannot write to); returns an array, or
          as many as Tout has dtypes
    inp   a list of tensors
    Tout  a dtype, to which what func returns is converted, or a list of them

    In a graph it is called whenever the graph runs; the shape of what comes out is not known, and
    can be said with `set_shape`. It has no gradient: give it one with `custom_gradient`, or with
    `override_gradient({"numpy_function": rule})`.

    Raises `ArgumentError` when func returns another number of values.

    >>> import numpy as np
    >>> import pullback as pb
    >>> x = pb.tensor([3.0, 1.0, 2.0], requires_grad=True)
    >>> def rule(op, g):
    ...     return 10.0 * g
    >>> with pb.override_gradient({"numpy_function": rule}):
    ...     y = numpy_function(np.sort, [x], np.float64)
    >>> y.detach()
    Tensor([1., 2., 3.])
    >>> pb.sum(y).backward()
    >>> x.grad
    Tensor([10., 10., 10.])
    """
    values, single, dtypes = _asked("numpy_function", func, inp, Tout)
    call = Call(func, dtypes, "numpy_function")
    graph = _graph(values)
    if graph is None:
        tensors = [v if isinstance(v, Tensor) else Tensor(to_array(v)) for v in values]
        before = _state.quiet()
        try:
            answer = NUMPY_FUNCTION.kernel(*map(raw, tensors), call=call)
        finally:
            _state.restore(before)
        found = (answer,) if len(dtypes) == 1 else answer
        cls = tensors[0]._out if tensors else Tensor
    else:
        cls = graph.tensor_class
        tensors = [as_tensor(graph, v, "`inp` of numpy_function") for v in values]
        kind = raw(tensors[0]).kind if tensors else numpy.ndarray
        found = graph.append(
            NUMPY_FUNCTION, map(raw, tensors), {"call": call}, [(None, d) for d in dtypes], kind,
            name=name,
        )
        if not dtypes:
            return graph.operations[-1]
    saved = (*map(raw, tensors), found[0] if len(found) == 1 else None)
    node = custom_node(NUMPY_FUNCTION, tuple(t._node for t in tensors), saved, cls, call)
    return _result(followed_by(node, found, cls, tensors), single)


numpy_function.op = NUMPY_FUNCTION  # type: ignore[attr-defined]


def py_function(
    func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None,  # noqa: N803
    tensor_class: type = Tensor,
) -> Any:
    """What a function of tensors returns, called with arrays in them when the graph runs.

    func  takes a tensor for each of inp, of tensor_class; may be any Python code; returns a tensor,
          or as many as Tout has dtypes
    inp   a list of tensors
    Tout  a dtype, to which what func returns is converted, or a list of them

    It differentiates, to any order, by what func does with its tensors: it runs once, and what its
    derivatives need of it is kept until they are computed. The shape of what comes out is not
    known, and can be said with `set_shape`. Outside of graphs func is called at once.

    Raises `ArgumentError` when func returns another number of values.

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, Session, gradients, placeholder
    >>> def clipped(x):
    ...     return x if float(pb.sum(x)) < 5 else 2 * x
    >>> with Graph().as_default() as graph:
    ...     x = placeholder(pb.float64, [None])
    ...     dx, = gradients(py_function(clipped, [x], pb.float64), x)
    >>> Session(graph).run(dx, {x: [3.0, 4.0]})
    array([2., 2.])
    """
    values, single, dtypes = _asked("py_function", func, inp, Tout)
    call = Call(func, dtypes, "py_function", tensor_class)
    graph = _graph(values)
    if graph is None:
        tensors = [v if isinstance(v, Tensor) else tensor_class(to_array(v)) for v in values]
        return _result(call.tensors(*tensors), single)
    tensors = [as_tensor(graph, v, "`inp` of py_function") for v in values]
    operation, outs = PY_FUNCTION.append(
        graph, tensors, {"call": call}, [(None, d) for d in dtypes],
        [t._node for t in tensors], graph.tensor_class, name,
    )
    return _result(outs, single) if dtypes else operation


py_function.op = PY_FUNCTION  # type: ignore[attr-defined]


def _asked(subject: str, func: Any, inp: Any, wanted: Any) -> tuple[list[Any], bool, Any]:
    """The tensors passed to a function, whether it returns one value, and the dtypes."""
    if not callable(func):
        raise ArgumentTypeError(f"argument `func` of {subject}", "a function",
                                f"a {type(func).__name__}")
    values = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    single = not isinstance(wanted, (list, tuple)) and wanted is not None
    dtypes = [wanted] if single else list(wanted or ())
    return values, single, tuple(
        numpy.dtype(d) if isinstance(d, (str, type)) else d for d in dtypes
    )


def _graph(values: Sequence[Any]) -> Any:
    return _symbols.current_graph() or _symbols.graph_of(*map(raw, values))


def _result(outs: Sequence[Any], single: bool) -> Any:
    return outs[0] if single else list(outs)


# Printing and assertions ------------------------------------------------------------------------


def print_op(
    *parts: Any, sep: str = " ", end: str = "\n", file: Any = None, summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Print texts and values whenever the graph runs this operation; outside of graphs, at once.

    parts      texts, numbers, tensors
    file       where to; left out, what `sys.stdout` is at that moment
    summarize  how many entries of an axis are shown at its beginning and at its end

    Returns the operation, for `control_dependencies`, or None.

    >>> import pullback as pb
    >>> print_op("x is", pb.tensor([1.0, 2.0]))
    x is [1. 2.]
    """
    return _effect(PRINT, parts, {"sep": sep, "end": end, "file": file, "edge": summarize}, name)


def assert_that(
    condition: Any, data: Any = (), message: str = "", summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Raise an error when the graph runs this operation, unless all of a condition is true.

    data     tensors and texts that the error shows
    message  what it says

    Returns the operation, for `control_dependencies`, or None. Raises `ArgumentError` (a
    `ValueError`), outside of graphs at once.

    >>> assert_that(True)
    """
    shown = list(data) if isinstance(data, (list, tuple)) else [data]
    return _effect(ASSERT, [condition, *shown], {"message": message, "edge": summarize}, name)


def _effect(kind: Kind, parts: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
    """Append an operation that computes nothing, or do at once what it does."""
    graph = _graph(parts)
    if graph is None:
        kind.kernel(*map(raw, parts), **attrs)
        return None
    args = [graph.own(raw(p)) for p in parts]
    graph.append(kind, args, attrs, [], numpy.ndarray, name=name or graph.type_of(kind))
    return graph.operations[-1]


def _print(*parts: Any, sep: str, end: str, file: Any, edge: int | None) -> None:
    print(*[_text(p, edge) for p in parts], sep=sep, end=end, file=file or sys.stdout)


def _assert(condition: Any, *parts: Any, message: str, edge: int | None) -> None:
    if not bool(_values(condition).all()):
        raise ArgumentError(
            message or "assertion", "a condition that is true everywhere",
            ", ".join(_text(p, edge) for p in parts) or _text(condition, edge),
        )


def _values(part: Any) -> Any:
    return numpy.asarray(adapters[part.__class__].numpy(part))


def _text(part: Any, edge: int | None) -> str:
    if not hasattr(part, "dtype"):
        return str(part)
    if edge is None:
        return str(_values(part))
    return numpy.array2string(_values(part), threshold=2 * edge, edgeitems=edge)


PRINT, ASSERT = Kind("print", _print), Kind("assert", _assert)
PRINT.effect = ASSERT.effect = True
OTHERS.update(numpy_function=numpy_function, py_function=py_function)
