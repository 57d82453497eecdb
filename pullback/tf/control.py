"""Branches and loops: Python control flow for eager tensors, graph operations for symbolic ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.tensor import Tensor as CoreTensor
from ..errors import DtypeError, ShapeError
from ..graphs import control as _control
from ..graphs import folding as _folding
from ..graphs import while_ as _while
from ..kinds.symbols import current_graph
from ..ops import stop_gradient
from ..trees import mapped
from .convert import as_tensor, convert_to_tensor
from .dtypes import array_dtype
from .errors import invalid, translated
from .tensor_array import Carried, TensorArray

__all__ = [
    "case", "cond", "foldl", "foldr", "map_fn", "scan", "switch_case", "while_loop",
]


def cond(
    pred: Any, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Returns `true_fn()` if pred is true, else `false_fn()`.

    In a traced function both branches are traced and one of them runs; see `pullback.graphs.cond`.

    >>> from pullback import tf
    >>> x = tf.constant(3.0)
    >>> tf.cond(x > 2.0, lambda: x * x, lambda: -x).numpy()
    np.float32(9.0)
    """
    return _control.cond(_truth(pred), _given(true_fn, "true_fn"), _given(false_fn, "false_fn"),
                         name or "cond")


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Calls the branch function with the given index, or `default` if no branch has it.

    branch_fns  a list of functions, or pairs or a mapping {index: function}; the last function is
                the default if `default` is not given

    >>> from pullback import tf
    >>> tf.switch_case(tf.constant(1), [lambda: "a", lambda: "b"])
    'b'
    """
    return _control.switch_case(as_tensor(branch_index), branch_fns, default, name)


def case(
    pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False,
    strict: bool = False, name: str = "case",
) -> Any:
    """Calls the function paired with the first predicate that is true.

    default    the function to call if no predicate is true; without it, eager execution raises an
               `InvalidArgumentError` and a traced function calls the last function
    exclusive  raise an error if more than one predicate is true

    >>> from pullback import tf
    >>> x = tf.constant(3.0)
    >>> tf.case([(x < 1.0, lambda: x), (x < 5.0, lambda: -x)], default=lambda: x * x).numpy()
    np.float32(-3.0)
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    pairs = [(_truth(getattr(p, "deref", lambda p=p: p)()), f) for p, f in pairs]
    if not pairs:
        raise invalid(f"`{name}`", "pairs (predicate, function)", "an empty list")
    if current_graph() is None:
        holding = [f for p, f in pairs if p]
        if exclusive and len(holding) > 1:
            raise invalid(
                f"`{name}`", "at most one true predicate", f"{len(holding)} true predicates"
            )
        if not holding and default is None:
            raise invalid(f"`{name}`", "a true predicate, or `default`", "neither")
        return holding[0]() if holding else _given(default, "default")()
    return _chosen(pairs, default, name)


def _chosen(pairs: list[Any], default: Any, name: str) -> Any:
    (pred, function), *rest = pairs
    if not rest:
        return function() if default is None else cond(pred, function, default, name)
    return cond(pred, function, lambda: _chosen(rest, default, name), name)


def _truth(pred: Any) -> Any:
    return pred if isinstance(pred, (bool, CoreTensor)) else as_tensor(pred)


def _given(function: Any, subject: str) -> Any:
    if not callable(function):
        raise TypeError(f"{subject} must be callable, got {function!r}")
    return function


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
    shape_invariants: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, maximum_iterations: Any = None, name: str | None = None,
) -> Any:
    """Runs `body` while `cond` of the loop variables is true; returns the final loop variables.

    See `pullback.graphs.while_loop`. Loop variables may be `TensorArray`s. With `back_prop=False`
    the results are constants. `parallel_iterations` and `swap_memory` are accepted and ignored.

    >>> from pullback import tf
    >>> n, total = tf.while_loop(lambda n, s: n < 4, lambda n, s: (n + 1, s + n), [0, 0])
    >>> n.numpy(), total.numpy()
    (np.int32(4), np.int32(6))
    """
    start, graph = mapped(_loop_variable, loop_vars), current_graph()
    carried = None if graph is None else Carried(graph, start, body)
    try:
        if carried is None:
            found = _while.while_loop(cond, body, start, maximum_iterations, None, "while")
        else:
            found = carried.opened(_while.while_loop(
                carried.asking(cond), carried.turning(body), carried.start, maximum_iterations,
                carried.invariants(shape_invariants), name or "while",
            ))
    except (ShapeError, DtypeError) as error:
        raise translated(error, "while_loop") from None
    return mapped(_loop_variable if back_prop else _constant, found)


def _loop_variable(value: Any) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _constant(value: Any) -> Any:
    return value if isinstance(value, TensorArray) else stop_gradient(value)


# Loops over the first axis ------------------------------------------------------------------------


def map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any = None, parallel_iterations: int | None = None,
    back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True,
    name: str | None = None, fn_output_signature: Any = None,
) -> Any:
    """Applies fn to each entry along the first axis and stacks the results.

    dtype, fn_output_signature  the dtypes of fn's result, in its structure; checked

    The other arguments are those of `while_loop`.

    >>> from pullback import tf
    >>> tf.map_fn(lambda x: x * x, tf.constant([1.0, 2.0, 3.0])).numpy()
    array([1., 4., 9.], dtype=float32)
    """
    signature = dtype if fn_output_signature is None else fn_output_signature
    if signature is not None:
        signature = mapped(lambda d: array_dtype(getattr(d, "dtype", d)), signature)
    return _over(
        lambda tensors: _folding.map_fn(
            lambda x: mapped(as_tensor, fn(x)), tensors, dtype=signature
        ), elems, back_prop, "map_fn",
    )


def foldl(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10,
    back_prop: bool = True, swap_memory: bool = False, name: str | None = None,
) -> Any:
    """Left fold: the last value of a ← fn(a, entry), from the first entry to the last.

    initializer  the first value of a; by default the first entry

    >>> from pullback import tf
    >>> tf.foldl(lambda a, x: 10.0 * a + x, tf.constant([1.0, 2.0, 3.0])).numpy()
    np.float32(123.0)
    """
    return _over(lambda xs: _folding.foldl(_step(fn), xs, _start(initializer)), elems, back_prop,
                 "foldl")


def foldr(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10,
    back_prop: bool = True, swap_memory: bool = False, name: str | None = None,
) -> Any:
    """Right fold: as `foldl`, from the last entry to the first.

    >>> from pullback import tf
    >>> tf.foldr(lambda a, x: 10.0 * a + x, tf.constant([1.0, 2.0, 3.0])).numpy()
    np.float32(321.0)
    """
    return _over(lambda xs: _folding.foldr(_step(fn), xs, _start(initializer)), elems, back_prop,
                 "foldr")


def scan(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10,
    back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True,
    reverse: bool = False, name: str | None = None,
) -> Any:
    """All values of a ← fn(a, entry), stacked along the first axis.

    initializer  the first value of a; by default the first entry, which is then the first result
    reverse      from the last entry to the first; result i still belongs to entry i

    >>> from pullback import tf
    >>> tf.scan(lambda a, x: a + x, tf.constant([1.0, 2.0, 3.0])).numpy()
    array([1., 3., 6.], dtype=float32)
    """
    return _over(
        lambda xs: _folding.scan(_step(fn), xs, _start(initializer), reverse), elems, back_prop,
        "scan",
    )


def _step(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, x: mapped(as_tensor, fn(a, x))


def _start(initializer: Any) -> Any:
    return None if initializer is None else mapped(convert_to_tensor, initializer)


def _over(run: Callable[[Any], Any], elems: Any, back_prop: bool, subject: str) -> Any:
    """Run a loop over entries; translate its errors to TensorFlow's."""
    try:
        found = run(mapped(convert_to_tensor, elems))
    except (ShapeError, DtypeError) as error:
        raise translated(error, subject) from None
    return found if back_prop else mapped(stop_gradient, found)
