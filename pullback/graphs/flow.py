"""`cond`, `scan`, `while_loop`, `fori_loop` and `map`: control flow in the manner of `jax.lax`.

They have one meaning in three places. On arrays they are Python: a branch is called, a loop runs.
In a graph they are its operations, `Choice` and `Loop`. On arrays that JAX traces, the functions
are traced into a graph, which runs at once, and whose operations are XLA's (`compiled_flow.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..arrays import SCALARS, adapters, compiler_of, is_array, tracing
from ..arrays.batched import Batched
from ..arrays.symbol import Symbol
from ..core import state as _state
from ..core.op import OPS
from ..core.tensor import Tensor, raw, to_array
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..kinds import symbols as _symbols
from ..trees import flatten, leaves
from . import control as _control
from . import while_ as _while
from .function import Function
from .hidden_axes import mapped_cond, mapped_while
from .region_io import plain
from .scanning import AtOnce, in_graph, while_at_once


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any],
         *operands: Any) -> Any:
    """Returns `true_fun(*operands)` where pred is true, else `false_fun(*operands)`.

    pred                 one truth value, a number or a tensor of shape ()
    true_fun, false_fun  functions that return pytrees of one structure, with the same shapes and
                         dtypes; they may close over tensors, which get gradients

    On arrays, one function is called. In `pullback.function` and while JAX traces, both are
    traced, and one runs. Inside `vmap`, where pred differs between examples, both are computed, and
    selected by example. Differentiable in both modes, to any order.

    Raises `ShapeError` for a pred of another shape; where both functions are traced,
    `ArgumentError` for other structures, `DtypeError` and `ShapeError` for other arrays.

    Same as `jax.lax.cond`.

    >>> import pullback as pb
    >>> f = lambda x: pb.cond(x > 0, pb.sin, lambda x: 2 * x, x)
    >>> pb.grad(f)(0.0), pb.grad(f)(-1.0)
    (Tensor(2.), Tensor(2.))
    """
    _check_functions("cond", true_fun=true_fun, false_fun=false_fun)

    def chosen(pred: Any, *operands: Any) -> Any:
        branches = (lambda: true_fun(*operands)), (lambda: false_fun(*operands))
        graph = _graph_of(pred, operands)
        if graph is None or raw(pred).__class__ is Batched:
            return _control.cond(pred, *branches)
        return mapped_cond(graph, lambda *both: _control.cond(pred, *both), branches)

    return _at_once_or_compiled(chosen, pred, *operands)


def scan(
    f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None,
    reverse: bool = False, unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """A loop over the entries of arrays, with values that are carried: returns (carry, ys).

    For each entry x of xs along axis 0, `carry, y = f(carry, x)`. Returns the last carry, and the
    ys stacked along a new axis 0.

    f        returns a pair; the carry keeps its structure, shapes and dtypes
    init     the first carry, a pytree. Python numbers take on the dtype of the arrays
    xs       a pytree of arrays with first axes of one length; None needs `length`
    reverse  from the last entry to the first; each y stands where its x does
    unroll   turns per iteration that a compiler writes out

    In graphs and while JAX traces, it is one operation, which keeps the carry of each turn for
    reverse mode, and computes the turn again. On arrays it is a Python loop; wrap f in
    `pullback.checkpoint` for as little memory. Tensors that f closes over get gradients.
    Differentiable in both modes, to any order.

    Raises `ArgumentTypeError` unless f returns a pair, `ArgumentError` for another structure of the
    carry or no length, `DtypeError` and `ShapeError` for a carry of another dtype or shape and
    for xs of different lengths.

    Same as `jax.lax.scan`.

    >>> import pullback as pb
    >>> xs = pb.tensor([1.0, 2.0, 3.0])
    >>> pb.scan(lambda total, x: (total + x, total * x), 0.0, xs)
    (Tensor(6.), Tensor([0., 2., 9.]))
    >>> pb.grad(lambda xs: pb.scan(lambda c, x: (c * x, None), 1.0, xs)[0])(xs)
    Tensor([6., 3., 2.])
    """
    _check_functions("scan", f=f)
    return _scan("scan", f, init, xs, length, reverse=reverse, unroll=unroll)


def _scan(
    name: str, f: Callable[..., Any], init: Any, xs: Any, length: Any, *, reverse: bool = False,
    unroll: int | bool = 1,
) -> Any:
    count = _length(name, xs, length)
    init = _started(init, xs)

    def run(init: Any, xs: Any) -> Any:
        graph = _graph_of(init, xs)
        if graph is not None:
            return in_graph(graph, name, f, init, xs, count, reverse, unroll)
        return AtOnce(name, init, xs, count).run(f, reverse)

    return _at_once_or_compiled(run, init, xs)


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *,
    max_steps: int | None = None,
) -> Any:
    """Returns val after `while cond_fun(val): val = body_fun(val)`.

    init_val   a pytree, whose structure, shapes and dtypes body_fun keeps
    max_steps  the loop ends after so many turns, whatever cond_fun says

    Differentiable in both modes, to any order. While JAX traces, the number of turns is unknown, so
    reverse mode needs `max_steps`; it keeps room for the values of so many turns. Inside `vmap`,
    each example has as many turns as it needs.

    Raises `NotDifferentiableError` for reverse mode without `max_steps` while JAX traces,
    `ArgumentError`, `DtypeError` or `ShapeError` for a value of another structure, dtype or shape.

    Same as `jax.lax.while_loop`, except for `max_steps`.

    >>> import pullback as pb
    >>> double = lambda x: pb.while_loop(lambda y: y < 100, lambda y: y * 2, x)
    >>> pb.value_and_grad(double)(3.0)
    (Tensor(192.), Tensor(64.))
    """
    _check_functions("while_loop", cond_fun=cond_fun, body_fun=body_fun)
    limit = None if max_steps is None else _integer(max_steps, "max_steps", "while_loop")
    if limit is not None and (limit.__class__ is not int or limit < 0):
        raise ArgumentTypeError("argument `max_steps` of while_loop", "a Python integer, 0 or more",
                                repr(max_steps))
    return _while_loop("while_loop", cond_fun, body_fun, _started(init_val), limit)


def _while_loop(name: str, more: Any, turn: Any, init: Any, limit: int | None) -> Any:
    def run(init: Any) -> Any:
        graph = _graph_of(init)
        if graph is None:
            return while_at_once(name, more, turn, init, limit)

        def loop(more: Any, turn: Any, init: Any) -> Any:
            return _while.while_loop(more, lambda v: [turn(v)], (init,), limit, None, name)[0]

        return mapped_while(graph, loop, more, turn, init)

    if not leaves(init):
        raise ArgumentError(f"first value of {name}", "one array or more", "none")
    return _at_once_or_compiled(run, init)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
    max_steps: int | None = None,
) -> Any:
    """Returns val after `for i in range(lower, upper): val = body_fun(i, val)`.

    lower, upper  integers. While JAX traces, and in graphs, they may be tensors of integers; then
                  it is a `while_loop`, and `max_steps` bounds the number of turns
    init_val      a pytree, whose structure, shapes and dtypes body_fun keeps

    Between Python integers it is a `scan`: differentiable in both modes, to any order.

    Raises as `scan` and `while_loop` do.

    Same as `jax.lax.fori_loop`, except for `max_steps`.

    >>> import pullback as pb
    >>> power = lambda x: pb.fori_loop(0, 3, lambda i, y: y * x, 1.0)
    >>> pb.grad(power)(2.0)
    Tensor(12.)
    """
    name = "fori_loop"
    _check_functions(name, body_fun=body_fun)
    lower, upper = _integer(lower, "lower", name), _integer(upper, "upper", name)
    if lower.__class__ is not int or upper.__class__ is not int:
        start = _like(lower, upper)
        val = _while_loop(
            name, lambda state: state[0] < upper,
            lambda state: (state[0] + 1, body_fun(state[0], state[1])),
            (start, _started(init_val)), max_steps,
        )
        return val[1]
    numbers = range(lower, upper)

    def turn(val: Any, i: Any) -> Any:
        return body_fun(i, val), None

    return _scan(name, turn, init_val, numbers, None)[0]


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Returns f of each entry of xs along axis 0, stacked: one entry after the other.

    xs   a pytree of arrays with first axes of one length

    `pullback.vmap` computes all entries at once, which is faster, and needs memory for all.

    Raises as `scan` does. Same as `jax.lax.map`.

    >>> import pullback as pb
    >>> pb.map(lambda x: x * x, pb.tensor([1.0, 2.0, 3.0]))
    Tensor([1., 4., 9.])
    """
    _check_functions("map", f=f)
    return _scan("map", lambda _, x: ((), f(x)), (), xs, None)[1]


# Arguments ----------------------------------------------------------------------------------------


def _check_functions(name: str, **functions: Any) -> None:
    for label, function in functions.items():
        if not callable(function):
            raise ArgumentTypeError(f"argument `{label}` of {name}", "a function",
                                    f"a {type(function).__name__}")


def _integer(value: Any, label: str, name: str) -> Any:
    """A Python integer, or a tensor of one integer whose number is not known yet."""
    data = raw(value)
    if data.__class__ is Symbol or compiler_of(data) is not None or data.__class__ is Batched:
        return value if isinstance(value, Tensor) else Tensor(data)
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"argument `{label}` of {name}", "an integer",
                                repr(value)) from None


def _length(name: str, xs: Any, length: Any) -> int | None:
    """The number of turns; None if a graph knows it when it runs. Checks the lengths of xs."""
    given = None if length is None else _integer(length, "length", name)
    if xs.__class__ is range:
        return len(xs)
    found: set[Any] = {given}
    for x in leaves(xs):
        if x is None:
            continue
        shape = plain(getattr(raw(x), "shape", ()))
        if shape == ():
            raise ShapeError(f"argument `xs` of {name}", "arrays with one axis or more", "shape ()",
                             "close over what is the same in each turn")
        found.add(None if shape is None else shape[0])
    known = found - {None}
    if len(known) > 1:
        raise ShapeError(f"`{name}`", "arrays of one length along axis 0",
                         " and ".join(str(n) for n in sorted(known)))
    if not known and all(x is None for x in leaves(xs)):
        raise ArgumentError(f"arguments of {name}", "`xs` with an array, or `length`", "neither")
    return known.pop() if known else None


def _started(init: Any, *others: Any) -> Any:
    """What is carried at the start: numbers as arrays, with the precision of the arrays beside."""
    flat, rebuild = flatten(init)
    arrays = [raw(v) for tree in (init, *others) if tree.__class__ is not range
              for v in leaves(tree) if isinstance(v, Tensor) or _is_array(v)]
    like = next((a for a in arrays if "float" in str(a.dtype)), arrays[0] if arrays else None)
    return rebuild([_number(v, like) if v.__class__ in SCALARS else v for v in flat])


def _number(value: Any, like: Any) -> Any:
    """A number as a tensor of an array's library; a float in its precision."""
    while like.__class__ is Batched:
        like = like.value
    if like is None:
        return Tensor(to_array(value))
    real = value.__class__ is float and "float" in str(like.dtype)
    adapter = adapters[getattr(like, "kind", like.__class__)]
    return Tensor(adapter.asarray(value, like.dtype if real else None))


def _like(value: Any, other: Any) -> Any:
    """One bound of a loop as a tensor, in the dtype of the other if that is one."""
    if not isinstance(other, Tensor):
        return OPS["identity"](value)
    if isinstance(value, Tensor):
        return value if value.dtype == other.dtype else OPS["astype"](value, other.dtype)
    return OPS["astype"](_number(value, raw(other)), other.dtype)


def _is_array(value: Any) -> bool:
    return value.__class__ not in SCALARS and is_array(value)


def _graph_of(*trees: Any) -> Any:
    flat = [raw(v) for tree in trees if tree.__class__ is not range for v in leaves(tree)]
    return _symbols.current_graph() or _symbols.graph_of(*flat)


# While JAX traces ---------------------------------------------------------------------------------


def _at_once_or_compiled(run: Callable[..., Any], *operands: Any) -> Any:
    """Call a function; on arrays that a compiler traces, as a graph, whose loops it compiles."""
    flat = [raw(v) for o in operands if o.__class__ is not range for v in leaves(o)]
    if _symbols.current_graph() is not None or _symbols.graph_of(*flat) is not None:
        return run(*operands)
    if compiler_of(*flat) is None and not tracing():
        return run(*operands)
    overrides = _state.state().overrides

    def traced(*operands: Any) -> Any:
        before = _state.change(overrides=overrides)
        try:
            return run(*operands)
        finally:
            _state.restore(before)

    return Function(traced)(*operands)
