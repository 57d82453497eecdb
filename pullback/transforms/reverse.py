"""Transformations by reverse mode: `grad`, `value_and_grad`, `vjp`, `jacrev`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..core.batching import adapter_of, counted, zeros_by
from ..core.op import OPS
from ..core.tensor import Tensor, raw, wrap
from ..errors import ArgumentError
from .mapping import vmap
from .trace import (
    Argnums,
    Trace,
    check_callable,
    check_kind,
    check_unconnected,
    places,
    scalar,
)


def value_and_grad(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
    holomorphic: bool = False, allow_int: bool = False, *, unconnected: str = "zero",
    conjugate: bool = True,
) -> Callable[..., Any]:
    """A function that answers with the value of `fun` and its gradient; see `grad`.

    It answers `(value, gradient)`, with has_aux `((value, aux), gradient)`.

    >>> import pullback as pb
    >>> pb.value_and_grad(lambda x: pb.sum(x * x))(pb.tensor([1.0, 2.0]))
    (Tensor(5.), Tensor([2., 4.]))
    """
    who = "value_and_grad"
    check_callable(fun, "grad")
    check_unconnected(unconnected, who)
    allow = ("complex" if holomorphic else "complex real") + (" int" if allow_int else "")

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **keywords: Any) -> Any:
        wanted, many = places(argnums, len(args), who)
        trace = Trace("grad", fun, args, keywords, wanted, has_aux=has_aux, allow=allow)
        out = scalar(trace, holomorphic=holomorphic)
        one = wrap(out._out, OPS["ones_like"](out._data))
        outer = trace.is_outer()
        plain = holomorphic or not conjugate
        answers = trace.pull([one], plain=plain, unconnected=unconnected, outer=outer)
        found = trace.trees(answers)
        gradient = tuple(found) if many else found[0]
        value = trace.released(outer)[0]
        return ((value, trace.aux) if has_aux else value), gradient

    return value_and_gradient


def grad(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
    holomorphic: bool = False, allow_int: bool = False, *, unconnected: str = "zero",
    conjugate: bool = True,
) -> Callable[..., Any]:
    """A function that answers with the gradient of `fun`, which returns one real number.

    argnums      which positional argument is differentiated, or several: then a tuple of gradients
    has_aux      fun returns (value, aux), and the answer is (gradient, aux)
    holomorphic  fun has a complex derivative, which is the answer
    allow_int    arguments of integers are taken, and have gradients of zeros
    unconnected  what an argument gets on which the value does not depend: "zero", or "error"
    conjugate    False: of a complex argument, dL/dRe - i dL/dIm, which is JAX's convention

    Arguments are numbers, arrays, Tensors and nested structures of them; gradients are Tensors in
    the same structure. `fun` is handed Tensors for the arguments that are differentiated. Of a
    complex argument the gradient is dL/dRe + i dL/dIm, along which L rises. Nests in itself and in
    every other transformation.

    Raises `ShapeError` where the value is no single number, `DtypeError` for an argument or a
    value that has no derivative; warns with `LostGradientWarning` where the derivative is zero
    because a tensor left the library (`float`, `.numpy()`).

    >>> import pullback as pb
    >>> pb.grad(pb.tanh)(0.0)
    Tensor(1.)
    >>> pb.grad(pb.grad(lambda x: x * x * x))(2.0)
    Tensor(12.)
    >>> pb.grad(lambda p: p["w"] * p["b"])({"w": 2.0, "b": 3.0})
    {'w': Tensor(3.), 'b': Tensor(2.)}
    """
    both = value_and_grad(
        fun, argnums, has_aux, holomorphic, allow_int, unconnected=unconnected,
        conjugate=conjugate,
    )

    @functools.wraps(fun)
    def gradient(*args: Any, **keywords: Any) -> Any:
        value, found = both(*args, **keywords)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, unconnected: str = "zero",
    conjugate: bool = True,
) -> Any:
    """The value of `fun(*primals)`, and the function that pulls a cotangent back.

    It takes a cotangent in the structure of the value, and answers with a tuple of one for each
    primal. It may be called any number of times, and mapped with `vmap`: a Jacobian is the
    pullback of a basis. With has_aux, fun returns (value, aux), and so does this, at the end. It
    is the adjoint, g ↦ g f′(z)* for complex numbers; with conjugate=False, as in JAX, the
    transpose, g ↦ g f′(z).

    Raises `ArgumentError` for a cotangent in another structure, `RuleError` for one of another
    shape.

    >>> import pullback as pb
    >>> value, pull = pb.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> value, pull(10.0)
    (Tensor(6.), (Tensor(30.), Tensor(20.)))
    """
    check_callable(fun, "vjp")
    check_unconnected(unconnected, "vjp")
    trace = Trace(
        "vjp", fun, primals, {}, range(len(primals)), has_aux=has_aux, allow="complex int"
    )

    def pull(cotangent: Any) -> tuple[Any, ...]:
        gs = trace.cotangents(cotangent)
        answers = trace.pull(gs, plain=not conjugate, unconnected=unconnected)
        return tuple(trace.trees(answers))

    value = trace.rebuild(trace.released())
    return (value, pull, trace.aux) if has_aux else (value, pull)


def jacrev(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
    holomorphic: bool = False, allow_int: bool = False, *, unconnected: str = "zero",
    chunk_size: int | None = None, conjugate: bool = True,
) -> Callable[..., Any]:
    """A function that answers with the Jacobian of `fun`, by one batched pull.

    For a value of shape s and an argument of shape r it has shape (*s, *r); for structures, the
    value's structure with the argument's in each place. Cheaper than `jacfwd` where the value has
    fewer entries than the argument. `chunk_size` pulls so many rows at a time, for less memory;
    the other arguments are `grad`'s.

    >>> import pullback as pb
    >>> pb.jacrev(lambda x: x * x)(pb.tensor([1.0, 2.0]))
    Tensor([[2., 0.],
            [0., 4.]])
    """
    check_callable(fun, "jacrev")
    check_unconnected(unconnected, "jacrev")
    allow = "complex" + (" int" if allow_int else "")

    @functools.wraps(fun)
    def jacobian(*args: Any, **keywords: Any) -> Any:
        wanted, many = places(argnums, len(args), "jacrev")
        trace = Trace("jacrev", fun, args, keywords, wanted, has_aux=has_aux, allow=allow)
        if all(x is None for x in trace.leaves):
            raise ArgumentError(
                trace.who, "an argument with an array in it", "none",
                "choose other arguments with argnums",
            )
        for out in trace.outs:
            check_kind(trace, out, holomorphic=holomorphic)

        def pull(*gs: Any) -> list[Any]:
            plain = holomorphic or not conjugate
            return trace.pull(gs, plain=plain, unconnected=unconnected)

        basis = bases(trace.outs)
        if len(basis) == 1 and basis[0].shape[0] == 1:  # one row: no batch
            row = pull(OPS["getitem"](basis[0], 0))
            columns = [c if c is None else OPS["expand_dims"](c, axis=0) for c in row]
        else:
            columns = vmap(pull, chunk_size=chunk_size)(*basis)
        rows, start = [], 0
        for out in trace.outs:
            size = math.prod(out.shape)
            blocks = [
                None if c is None else OPS["reshape"](
                    c[start : start + size], (*out.shape, *c.shape[1:])
                )
                for c in columns
            ]
            found = trace.trees(blocks)
            rows.append(tuple(found) if many else found[0])
            start += size
        answer = trace.rebuild(rows)
        return (answer, trace.aux) if has_aux else answer

    return jacobian


def bases(tensors: list[Any]) -> list[Tensor]:
    """For tensors of n entries in all, n vectors of the space of them all, the unit vectors.

    An array each, with a leading axis of length n.
    """
    total = sum(math.prod(t.shape) for t in tensors)
    made, start = [], 0
    for t in tensors:
        size = math.prod(t.shape)
        adapter = adapter_of(raw(t))
        at = counted(size, raw(t))
        block = adapter.assign(zeros_by((total, size), raw(t)), (at + start, at), 1)
        made.append(wrap(t._out, OPS["reshape"](block, (total, *t.shape))))
        start += size
    return made
