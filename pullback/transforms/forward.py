"""Forward-mode transformations: `jvp`, `linearize`, `jacfwd`; and `hessian`, `hvp`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..arrays import adapters
from ..core import state as _state
from ..core.cotangent import is_complex, wrapped
from ..core.forward import into, push
from ..core.node import number
from ..core.op import OPS
from ..core.tensor import Tensor, is_inexact, raw, to_array, wrap
from ..departures import Refusing, begins, follow, followed, warn_of_lost
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from ..passes.accumulator import Accumulator, untracked
from ..passes.ends import check_inside
from ..trees import WithoutNone, flatten
from .mapping import vmap
from .reverse import bases, grad, jacrev
from .trace import END, Argnums, Trace, as_output, check_callable, places


@begins
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:
    """Returns the value of `fun(*primals)` and its derivative along the tangents (the JVP).

    primals, tangents  tuples or lists of pytrees with equal structures; a tangent has its primal's
                       shape, and is converted to its dtype
    has_aux            fun returns (value, aux); then jvp returns (value, tangent, aux)

    Computes tangents while `fun` runs and saves nothing: memory does not grow with the length of
    the program. Functions with only a VJP rule work too: their JVP is the transposed rule.
    Raises `ArgumentError` if the structures differ, `ShapeError` if the shapes do.

    >>> import pullback as pb
    >>> pb.jvp(pb.sin, (0.0,), (2.0,))
    (Tensor(0.), Tensor(2.))
    """
    check_callable(fun, "jvp")
    subject = f"jvp of `{getattr(fun, '__name__', 'a function')}`"
    for given, name in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(given, (tuple, list)):
            raise ArgumentTypeError(
                f"argument `{name}` of {subject}", "a tuple or list, one entry per argument",
                f"a {type(given).__name__}", f"write jvp(f, (x,), (t,)): {name}=({name[0]},)",
            )
    flat, rebuild = flatten(tuple(primals))
    ts, _ = flatten(tuple(tangents))
    if len(flat) != len(ts):
        raise ArgumentError(
            f"argument `tangents` of {subject}",
            f"a structure like the primals', with {len(flat)} leaves",
            f"one with {len(ts)}",
        )
    sweep = Accumulator()
    seen = [
        _watched(sweep, x, t, i, subject) for i, (x, t) in enumerate(zip(flat, ts, strict=True))
    ]
    start = number()
    before = sweep.activate()
    try:
        departed, _ = follow()
        followed.set((*followed.get(), Refusing(subject, sweep.tangents, start)))
        out = fun(*rebuild(seen))
    finally:
        _state.restore(before)
    aux = None
    if has_aux:
        if not isinstance(out, tuple) or len(out) != 2:
            raise ArgumentTypeError(
                subject, "a function that returns (value, aux), for has_aux=True",
                f"one that returns a {type(out).__name__}",
            )
        out, aux = out[0], _released(out[1])
    tree = WithoutNone(out)
    outs = [as_output(v, subject) for v in tree.leaves]
    if any(sweep.tangent(o) is None for o in outs):
        warn_of_lost(departed, sweep.tangents, start, subject)
    value = tree.rebuild([untracked(o) for o in outs])
    given = [sweep.tangent(x) for x in seen]
    tangent = tree.rebuild(_without_aliases([_tangent(sweep, o) for o in outs], given))
    return (value, tangent, aux) if has_aux else (value, tangent)


def _released(aux: Any) -> Any:
    flat, rebuild = flatten(aux)
    return rebuild([untracked(v) for v in flat])


def _watched(sweep: Accumulator, x: Any, t: Any, i: int, subject: str) -> Any:
    """A primal with its tangent; unchanged if it has none (None, or integers)."""
    if x is None:
        return None
    x = x if isinstance(x, Tensor) else Tensor(to_array(x))
    if t is None:
        return x
    return sweep.watch(x, tangent_of(x, t, f"tangent {i} of {subject}"))


def tangent_of(x: Any, t: Any, subject: str) -> Any:
    """A tangent in the shape and dtype of its primal; a raw array unless it is tracked.

    Raises `ShapeError` or `DtypeError` if it does not fit.
    """
    t = t if isinstance(t, Tensor) else Tensor(to_array(t))
    if not is_inexact(x._data):
        raise DtypeError(
            subject, "None, because the primal has integers", f"dtype {t.dtype} for {x.dtype}",
            "pass floats as primals: 3.0 and not 3, or pullback.astype(x, pullback.float64)",
        )
    if t.shape != x.shape:
        raise ShapeError(subject, f"the primal's shape {x.shape}", f"shape {t.shape}")
    if t.dtype != x.dtype:
        if is_complex(t) and not is_complex(x):
            raise DtypeError(
                subject, f"a real dtype, like the primal's {x.dtype}", f"dtype {t.dtype}"
            )
        t = OPS["astype"](t, x.dtype)
    return t if t._node is not None else t._data


def _tangent(sweep: Accumulator, out: Any) -> Any:
    t = sweep.tangent(out)
    if t is None:
        return wrap(out._out, OPS["zeros_like"](out._data))
    return untracked(wrapped(out._out, t))


def _without_aliases(tangents: Sequence[Any], given: Iterable[Any]) -> list[Any]:
    """Copies tangents that alias the inputs or each other."""
    known = {id(raw(t)) for t in given if t is not None}
    copies = []
    for t in tangents:
        if t._node is None:
            data = t._data
            adapter = adapters[data.__class__]
            data = adapter.copy(data) if id(data) in known else adapter.own(data)
            known.add(id(data))
            t = wrap(t._out, data)
        copies.append(t)
    return copies


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Returns the value of `fun(*primals)` and the linear function from tangents to tangents.

    `fun` runs once; the linear function can be called with any number of tangents, one per primal
    and in the primals' structures. With has_aux=True, fun returns (value, aux), and linearize
    returns (value, linear function, aux).

    >>> import pullback as pb
    >>> value, push = pb.linearize(pb.sin, 0.0)
    >>> push(2.0), push(3.0)
    (Tensor(2.), Tensor(3.))
    """
    trace = Trace(
        "linearize", fun, primals, {}, range(len(primals)), has_aux=has_aux, allow="complex int"
    )

    def pushed(*tangents: Any) -> Any:
        check_inside(trace.outs, trace.subject)
        ts, _ = flatten(tuple(tangents))
        if len(ts) != len(trace.leaves):
            raise ArgumentError(
                f"tangents of {trace.subject}",
                f"as many leaves as the primals, {len(trace.leaves)}",
                f"{len(ts)}",
            )
        given = {}
        for i, (x, t) in enumerate(zip(trace.leaves, ts, strict=True)):
            if x is not None and t is not None:
                t = tangent_of(x, t, f"tangent {i} of {trace.subject}")
                given[x._node] = t
        before = _state.state()
        level = before.level
        outer = trace.is_outer() or any(
            isinstance(t, Tensor) and t._node is not None and t._node.level <= level
            for t in given.values()
        ) or trace.tangents_lead_out()
        record = outer or bool(before.accumulators)
        given = {n: wrapped(Tensor, t) if record else raw(t) for n, t in given.items()}
        targets = [o._node for o in trace.outs if o._node is not None]
        if not outer:
            before = _state.change(enabled=False) if record else _state.pulling()
        try:
            found = push(given, targets, record=record, spans=[(trace.start, END)])
        finally:
            _state.restore(before)
        arrived = [_arrived(o, found) for o in trace.outs]
        return trace.rebuild(_without_aliases(arrived, given.values()))

    value = trace.rebuild(trace.released())
    return (value, pushed, trace.aux) if has_aux else (value, pushed)


def _arrived(out: Any, found: dict[Any, Any]) -> Any:
    t = found.get(out._node)
    if t is None:
        return wrap(out._out, OPS["zeros_like"](out._data))
    return wrapped(out._out, into(t, out._node))


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., tuple[Any, ...]]:
    """Returns the transpose of a linear function: maps cotangents of its value to its arguments'.

    primals  only their shapes and dtypes are used
    Does not conjugate complex numbers: this is the transpose, not the adjoint.

    >>> import pullback as pb
    >>> transposed = pb.linear_transpose(lambda x: 3.0 * x, pb.tensor([0.0, 0.0]))
    >>> transposed(pb.tensor([1.0, 2.0]))
    (Tensor([3., 6.]),)
    """
    flat, rebuild = flatten(tuple(primals))
    zeros = [OPS["zeros_like"](x if isinstance(x, Tensor) else Tensor(to_array(x))) for x in flat]
    trace = Trace("linear_transpose", fun, rebuild(zeros), {}, range(len(primals)))

    def transposed(cotangent: Any) -> tuple[Any, ...]:
        return tuple(trace.trees(trace.pull(trace.cotangents(cotangent), plain=True)))

    return transposed


def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
    holomorphic: bool = False, *, chunk_size: int | None = None, randomness: str = "same",
) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian of `fun` in one pass with batched tangents.

    Cheaper than `jacrev` if the argument has fewer entries than the value; shapes and arguments are
    the same as for `jacrev`. `randomness` is the same as for `vmap`: by default all tangents share
    the random numbers that `fun` draws.

    >>> import pullback as pb
    >>> pb.jacfwd(lambda x: pb.stack([x, x * x]))(3.0)
    Tensor([1., 6.])
    """

    check_callable(fun, "jacfwd")

    @functools.wraps(fun)
    def jacobian(*args: Any, **keywords: Any) -> Any:
        wanted, many = places(argnums, len(args), "jacfwd")
        flat, rebuild = flatten([args[i] for i in wanted])
        leaves = [x if isinstance(x, Tensor) else Tensor(to_array(x)) for x in flat]
        if not leaves:
            raise ArgumentError(
                f"jacfwd of `{getattr(fun, '__name__', 'it')}`", "an argument that holds an array",
                "none", "choose other arguments with argnums",
            )
        _check_arguments(leaves, fun, holomorphic)
        kept: list[Any] = []

        def along(*ts: Any) -> Any:
            def of(*xs: Any) -> Any:
                seen = list(args)
                for i, x in zip(wanted, rebuild(list(xs)), strict=True):
                    seen[i] = x
                return fun(*seen, **keywords)

            _, tangent, *aux = jvp(of, leaves, ts, has_aux)
            kept[:] = aux
            tree = WithoutNone(tangent)
            kept.append(tree.rebuild)
            return tree.leaves

        along_all = vmap(along, out_axes=-1, chunk_size=chunk_size, randomness=randomness)
        columns = along_all(*bases(leaves))
        rebuild_out = kept.pop()
        answer = rebuild_out([_split(c, leaves, rebuild, many) for c in columns])
        return (answer, kept[0]) if has_aux else answer

    return jacobian


def _check_arguments(leaves: list[Any], fun: Any, holomorphic: bool) -> None:
    for i, x in enumerate(leaves):
        if not is_inexact(x._data) or is_complex(x) != holomorphic:
            raise DtypeError(
                f"leaf {i} of the arguments of jacfwd of `{getattr(fun, '__name__', 'it')}`",
                "a complex dtype, for holomorphic=True" if holomorphic else "a real floating dtype",
                f"dtype {x.dtype}",
            )


def _split(column: Any, leaves: list[Any], rebuild: Any, many: bool) -> Any:
    """Splits the Jacobian of one output, whose last axis runs over all arguments, by argument."""
    parts, start = [], 0
    shape = column.shape[:-1]
    for x in leaves:
        size = math.prod(x.shape)
        parts.append(OPS["reshape"](column[..., start : start + size], (*shape, *x.shape)))
        start += size
    found = rebuild(parts)
    return tuple(found) if many else found[0]


def hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
    holomorphic: bool = False, *, chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Returns a function that computes the second derivatives of `fun` in one batched pass.

    For a scalar function and an argument of shape r, the result has shape (*r, *r); for pytrees, it
    has the argument's structure at each leaf of the argument's structure.

    >>> import pullback as pb
    >>> pb.hessian(lambda x: x[0] * x[0] * x[1])(pb.tensor([1.0, 2.0]))
    Tensor([[4., 2.],
            [2., 0.]])
    """
    first = jacrev(fun, argnums, has_aux, holomorphic)
    return jacrev(first, argnums, has_aux, holomorphic, chunk_size=chunk_size)


def hvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any],
    argnums: Argnums = 0,
) -> Any:
    """Returns the Hessian of `fun` at the primals times the tangents: forward over reverse.

    The result has the structure of the differentiated argument (a tuple for several argnums).

    >>> import pullback as pb
    >>> pb.hvp(lambda x: pb.sum(x * x * x), (pb.tensor([1.0, 2.0]),), (pb.tensor([1.0, 0.0]),))
    Tensor([6., 0.])
    """
    return jvp(grad(fun, argnums), primals, tangents)[1]


