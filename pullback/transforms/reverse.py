"""Reverse-mode transformations: `grad`, `value_and_grad`, `vjp`, `jacrev`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..arrays.batched import adapter_of, counted, zeros_by
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
    """Returns a function that computes the value of `fun` and its gradient; see `grad`.

    The function returns `(value, gradient)`, with has_aux=True `((value, aux), gradient)`.

    >>> import pullback as pb
    >>> pb.value_and_grad(lambda x: pb.sum(x * x))(pb.tensor([1.0, 2.0]))
    (Tensor(5.), Tensor([2., 4.]))
    """
    subject = "value_and_grad"
    check_callable(fun, "grad")
    check_unconnected(unconnected, subject)
    allow = ("complex" if holomorphic else "complex real") + (" int" if allow_int else "")

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **keywords: Any) -> Any:
        wanted, many = places(argnums, len(args), subject)
        trace = Trace("grad", fun, args, keywords, wanted, has_aux=has_aux, allow=allow)
        out = scalar(trace, holomorphic=holomorphic)
        one = wrap(out._out, OPS["ones_like"](out._data))
        outer = trace.is_outer()
        plain = holomorphic or not conjugate
        gradients = trace.pull([one], plain=plain, unconnected=unconnected, outer=outer)
        found = trace.trees(gradients)
        gradient = tuple(found) if many else found[0]
        value = trace.released(outer)[0]
        return ((value, trace.aux) if has_aux else value), gradient

    return value_and_gradient


def grad(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
    holomorphic: bool = False, allow_int: bool = False, *, unconnected: str = "zero",
    conjugate: bool = True,
) -> Callable[..., Any]:
    """Returns a function that computes the gradient of `fun`, which returns one real number.

    argnums      the position of the differentiated argument, or several positions; then the result
                 is a tuple of gradients
    has_aux      fun returns (value, aux), and the result is (gradient, aux)
    holomorphic  fun has a complex derivative, and this is the result
    allow_int    accepts integer arguments; their gradients are zeros
    unconnected  the gradient of an argument that the value does not depend on: "zero", or "error"
    conjugate    False: for a complex argument return dL/dRe - i dL/dIm, which is JAX's convention

    Arguments are numbers, arrays, Tensors and pytrees of them; gradients are Tensors in the same
    structure. `fun` gets Tensors for the differentiated arguments. The gradient with respect to a
    complex argument is dL/dRe + i dL/dIm, the direction in which L rises. Nests in itself and in
    every other transformation.

    Raises `ShapeError` if the value is not a single number, `DtypeError` for an argument or a
    value without derivative; raises `LostGradientError` if a value that depends on the arguments
    leaves the library (`float`, `.numpy()`).

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
    """Returns the value of `fun(*primals)` and its pullback, the function that computes VJPs.

    The pullback takes a cotangent in the structure of the value, and returns a tuple with one
    gradient per primal. It can be called any number of times, and mapped with `vmap`: the pullback
    of a basis is the Jacobian. With has_aux=True, fun returns (value, aux), and vjp returns
    (value, pullback, aux). For complex numbers the pullback is the adjoint, g ↦ g f′(z)*; with
    conjugate=False, as in JAX, it is the transpose, g ↦ g f′(z).

    Raises `ArgumentError` for a cotangent with another structure, `RuleError` for one with another
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
        gradients = trace.pull(gs, plain=not conjugate, unconnected=unconnected)
        return tuple(trace.trees(gradients))

    value = trace.rebuild(trace.released())
    return (value, pull, trace.aux) if has_aux else (value, pull)


def jacrev(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
    holomorphic: bool = False, allow_int: bool = False, *, unconnected: str = "zero",
    chunk_size: int | None = None, conjugate: bool = True,
) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian of `fun` in one batched backward pass.

    For a value of shape s and an argument of shape r, the Jacobian has shape (*s, *r); for pytrees,
    it has the argument's structure at each leaf of the value's structure. Cheaper than `jacfwd` if
    the value has fewer entries than the argument. `chunk_size` rows are computed at a time, to save
    memory; the other arguments are the same as for `grad`.

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
                trace.subject, "an argument that holds an array", "none",
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
    """The unit vectors of the space of all tensors together, which has n dimensions.

    One array per tensor, with a leading axis of length n.
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
