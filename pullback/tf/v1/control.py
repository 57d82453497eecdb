"""Branches, loops, Python functions, printing and assertions, with TensorFlow 1's arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ... import ops
from ...errors import ArgumentError
from ...graphs import control as _control
from ...graphs import folding as _folding
from ...graphs import py as _py
from ...graphs import while_ as _while
from ...trees import mapped
from .. import strict
from ..convert import as_tensor, matched, operand
from ..dtypes import array_dtype
from ..shapes import TensorShape
from ..tensor_array import Carried, TensorArray
from .arrays import convert_to_tensor, identity
from .functions import _older
from .graph import graph_for, opened
from .grouping import control_dependencies, no_op
from .tensor import in_graph

__all__ = [
    "Assert", "Print", "assert_equal", "assert_greater", "assert_greater_equal", "assert_less",
    "assert_less_equal", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_positive", "assert_rank", "case", "check_numerics", "cond", "foldl", "foldr", "map_fn",
    "numpy_function", "print", "py_func", "scan", "switch_case", "verify_tensor_all_finite",
    "while_loop",
]


def _tensors(graph: Any, values: Any) -> Any:
    """Convert numbers and arrays in a nested structure to graph tensors."""
    with opened(graph):
        return mapped(
            lambda v: v if isinstance(v, TensorArray) else in_graph(graph, as_tensor(v)), values
        )


def cond(
    pred: Any, true_fn: Any = None, false_fn: Any = None, strict: bool = False,
    name: str | None = None, fn1: Any = None, fn2: Any = None,
) -> Any:
    """Returns `true_fn()` if pred is true when the graph runs, else `false_fn()`.

    Only the branch that is taken is computed. See `pullback.graphs.control.cond`.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     y = tf.cond(x > 0.0, lambda: x * x, lambda: -x)
    ...     [float(sess.run(y, {x: v})) for v in (3.0, -2.0)]
    [9.0, 2.0]
    """
    yes = _older(true_fn, fn1, "cond", "true_fn")
    no = _older(false_fn, fn2, "cond", "false_fn")
    graph = graph_for((pred,))
    with opened(graph):
        return _control.cond(pred, yes, no, name or "cond")


def case(
    pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False,
    strict: bool = False, name: str = "case",
) -> Any:
    """Calls the function paired with the first true predicate; else `default`."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if default is None:
        *pairs, (_, default) = pairs
    (pred, function), *rest = pairs
    if not rest:
        return cond(pred, function, default, name=name)
    return cond(pred, function, lambda: case(rest, default, name=name), name=name)


def switch_case(branch_index: Any, branch_fns: Any, default: Any = None,
                name: str = "switch_case") -> Any:
    """Calls the function with index `branch_index`."""
    graph = graph_for((branch_index,))
    with opened(graph):
        return _control.switch_case(branch_index, branch_fns, default, name)


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
    shape_invariants: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None, maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Runs `body` while `cond` of the loop variables is true; returns the final loop variables.

    A single loop variable is returned unpacked, unless `return_same_structure`. Loop variables may
    be `TensorArray`s. Derivatives of any order work. `parallel_iterations`, `back_prop` and
    `swap_memory` are accepted and ignored.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     y = tf.while_loop(lambda y: y < 100.0, lambda y: y * y, [x])
    ...     sess.run([y, tf.gradients(y, x)[0]], {x: 3.0})
    [np.float32(6561.0), np.float32(17496.0)]
    """
    graph = graph_for(loop_vars)
    start = _tensors(graph, loop_vars)
    shapes = None if shape_invariants is None else _shapes(shape_invariants)
    with opened(graph):
        carried = Carried(graph, start, body)
        found = carried.opened(_while.while_loop(
            carried.asking(cond), carried.turning(body), carried.start, maximum_iterations,
            carried.invariants(shapes), name or "while_loop",
        )) if carried.arrays else _while.while_loop(
            cond, body, start, maximum_iterations, shapes, name or "while_loop"
        )
    one = isinstance(found, (list, tuple)) and len(found) == 1
    return found[0] if one and not return_same_structure else found


def _shapes(tree: Any) -> Any:
    """Shapes in a nested structure as sequences of lengths; None for an unknown shape."""
    if isinstance(tree, TensorShape):
        return None if tree.rank is None else tuple(tree.as_list())
    if isinstance(tree, dict):
        return {k: _shapes(v) for k, v in tree.items()}
    return type(tree)([_shapes(v) for v in tree])


def map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any = None, parallel_iterations: Any = None,
    back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True,
    name: str | None = None, fn_output_signature: Any = None,
) -> Any:
    """Applies `fn` to each entry along the first axis and stacks the results."""
    graph = graph_for((elems,))
    given = _tensors(graph, elems)
    with opened(graph):
        wanted = _older(dtype, fn_output_signature, "map_fn", "dtype")
        signature = None if wanted is None else mapped(array_dtype, wanted)
        return _folding.map_fn(fn, given, signature, name=name or "map")


def scan(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10,
    back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True,
    reverse: bool = False, name: str | None = None,
) -> Any:
    """All values of a ← fn(a, entry), for each entry along the first axis, stacked."""
    graph = graph_for((elems,))
    start = None if initializer is None else _tensors(graph, initializer)
    given = _tensors(graph, elems)
    with opened(graph):
        return _folding.scan(fn, given, start, reverse, name or "scan")


def _fold(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(
        fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10,
        back_prop: bool = True, swap_memory: bool = False, name: str | None = None,
    ) -> Any:
        graph = graph_for((elems,))
        start = None if initializer is None else _tensors(graph, initializer)
        given = _tensors(graph, elems)
        with opened(graph):
            return function(fn, given, start, name or call.__name__)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (function.__doc__ or "").partition("\n")[0]
    return call


foldl, foldr = _fold(_folding.foldl, "foldl"), _fold(_folding.foldr, "foldr")

# Python functions ---------------------------------------------------------------------------


def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls a function of NumPy arrays each time the graph runs.

    It has no gradient; add one with `gradient_override_map({"PyFunc": name})`.

    >>> import numpy as np
    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.py_func(np.sort, [tf.constant([3.0, 1.0])], tf.float32))
    array([1., 3.], dtype=float32)
    """
    values = inp if isinstance(inp, (list, tuple)) else [inp]
    graph = graph_for(values)
    given = _tensors(graph, list(values))
    many = isinstance(Tout, (list, tuple))
    wanted = [array_dtype(d) for d in Tout] if many else array_dtype(Tout)
    with opened(graph):
        return _py.numpy_function(func, given, wanted, stateful, name or "PyFunc")


numpy_function = py_func

# Printing and assertions --------------------------------------------------------------------


def print(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that prints strings and values to standard error on each run.

    output_stream, summarize, sep, end, name  as in TensorFlow
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    graph = graph_for(inputs)
    with opened(graph):
        return _py.print_op(
            *inputs, sep=kwargs.get("sep", " "), end=kwargs.get("end", "\n"), file=stream,
            summarize=kwargs.get("summarize", 3), name=kwargs.get("name") or "print",
        )


def Print(
    input_: Any, data: Any, message: str | None = None, first_n: int | None = None,
    summarize: int | None = None, name: str | None = None,
) -> Any:
    """Returns `input_`; prints `data` to standard error each time it is computed.

    first_n  accepted and ignored: it prints each time
    """
    graph = graph_for((input_,))
    with opened(graph):
        x = in_graph(graph, operand(input_))
        done = print(message or "", *data, sep="", summarize=summarize or 3)
        with control_dependencies([done]):
            return identity(x, name or "Print")


def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """An operation that raises an `InvalidArgumentError` on a run in which the condition is false.

    Build operations that must run after it in a `control_dependencies` block.
    """
    graph = graph_for((condition, *data))
    with opened(graph):
        held = in_graph(graph, operand(condition, "b", "Assert"))
        return _py.assert_that(held, list(data), summarize=summarize, name=name or "Assert")


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """Returns the tensor; running it raises an `InvalidArgumentError` if it has NaN or infinity."""
    graph = graph_for((tensor,))
    with opened(graph):
        x = in_graph(graph, operand(tensor, "f", "check_numerics"))
        finite = in_graph(graph, ops.all(ops.isfinite(x)))
        done = _py.assert_that(finite, [f"{message} : Tensor had NaN or Inf values"], message)
        with control_dependencies([done]):
            return identity(x, name or "CheckNumerics")


def verify_tensor_all_finite(t: Any = None, msg: Any = None, name: str | None = None, x: Any = None,
                             message: Any = None) -> Any:
    """Alias of `check_numerics`."""
    tensor = _older(t, x, "verify_tensor_all_finite", "t")
    return check_numerics(tensor, _older(msg, message, "verify_tensor_all_finite", "msg"), name)


def _assertion(name: str, holds: Callable[..., Any], sign: str) -> Callable[..., Any]:
    def call(
        x: Any, y: Any, data: Any = None, summarize: Any = None, message: str | None = None,
        name: str | None = None,
    ) -> Any:
        graph = graph_for((x, y))
        with opened(graph):
            x, y = (in_graph(graph, v) for v in matched(call.__name__, x, y))
            holding = in_graph(graph, ops.all(holds(x, y)))
            shown = [f"x {sign} y did not hold element-wise:", x, y] if data is None else data
            return _py.assert_that(holding, shown, message or call.__name__, summarize, name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The operation that raises an error unless x {sign} y in every entry."
    return call


assert_equal = _assertion("assert_equal", ops.equal, "==")
assert_less = _assertion("assert_less", strict.less, "<")
assert_less_equal = _assertion("assert_less_equal", strict.less_equal, "<=")
assert_greater = _assertion("assert_greater", strict.greater, ">")
assert_greater_equal = _assertion("assert_greater_equal", strict.greater_equal, ">=")


def _sign_assertion(name: str, other: Callable[..., Any], sign: str) -> Callable[..., Any]:
    def call(
        x: Any, data: Any = None, summarize: Any = None, message: str | None = None,
        name: str | None = None,
    ) -> Any:
        return other(x, 0, data, summarize, message, name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The operation that raises an error unless x {sign} 0 in every entry."
    return call


assert_positive = _sign_assertion("assert_positive", assert_greater, ">")
assert_negative = _sign_assertion("assert_negative", assert_less, "<")
assert_non_negative = _sign_assertion("assert_non_negative", assert_greater_equal, ">=")
assert_non_positive = _sign_assertion("assert_non_positive", assert_less_equal, "<=")


def assert_rank(x: Any, rank: int, data: Any = None, summarize: Any = None,
                message: str | None = None, name: str | None = None) -> Any:
    """Raise an `ArgumentError` (a `ValueError`) while building if the rank differs."""
    known = convert_to_tensor(x).shape.rank
    if known is not None and known != rank:
        raise ArgumentError(message or "assert_rank", f"rank {rank}", f"rank {known}")
    return no_op(name)
