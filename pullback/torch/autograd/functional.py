"""`torch.autograd.functional`: derivatives of functions, whole or times a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ... import ops
from ...core.backward import gradients
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import wrap
from ...errors import ArgumentError
from ..errors import as_runtime, guarded_pull

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vjp"]


def _fresh(inputs: Any, create_graph: bool) -> tuple[tuple[Any, ...], bool]:
    """Inputs to differentiate by: the user's own where a graph is to reach them, else leaves."""
    single = isinstance(inputs, CoreTensor)
    given = (inputs,) if single else tuple(inputs)
    if create_graph:
        return tuple([x if x.requires_grad else x.detach().requires_grad_() for x in given]), single
    return tuple([x.detach().requires_grad_() for x in given]), single


def _slopes(out: Any, inputs: tuple[Any, ...], v: Any, create: bool) -> tuple[Any, ...]:
    if not out.requires_grad:
        return tuple([wrap(x._out, numpy.zeros_like(x._data)) for x in inputs])
    return gradients(
        out, inputs, v, retain_graph=True, create_graph=create, materialize_grads=True
    )


def _handed(found: tuple[Any, ...], single: bool) -> Any:
    return found[0] if single else tuple(found)


@guarded_pull
def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False,
) -> Any:
    """d output / d input, of shape (*output, *input); nested tuples for several of either.

    >>> import pullback.torch as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    args, single = _fresh(inputs, create_graph)
    outs = func(*args)
    if isinstance(outs, CoreTensor):
        return _handed(_rows(outs, args, create_graph), single)
    return tuple([_handed(_rows(out, args, create_graph), single) for out in outs])


def _rows(out: Any, inputs: tuple[Any, ...], create: bool) -> tuple[Any, ...]:
    basis = numpy.eye(max(1, out._data.size), dtype=out.dtype)
    rows = [
        _slopes(out, inputs, wrap(out._out, row.reshape(out.shape)), create)
        for row in basis[: out._data.size]
    ]
    return tuple([
        ops.reshape(ops.stack(list(column)), (*out.shape, *x.shape))
        for column, x in zip(zip(*rows, strict=True), inputs, strict=True)
    ])


@guarded_pull
def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False
) -> Any:
    """The second derivatives of a function with one entry, of shape (*input, *input).

    >>> import pullback.torch as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    single = isinstance(inputs, CoreTensor)

    def slope(*args: Any) -> tuple[Any, ...]:
        return _slopes(_one_entry(func(*args), "hessian"), args, None, True)

    found = jacobian(slope, inputs, create_graph)
    return found[0] if single else found


def _one_entry(out: Any, who: str) -> Any:
    if not isinstance(out, CoreTensor) or out._data.size != 1:
        raise as_runtime(ArgumentError(
            f"function given to `{who}`", "a tensor with one entry as its result",
            f"shape {tuple(out.shape)}" if isinstance(out, CoreTensor) else type(out).__name__,
        ))
    return ops.reshape(out, ())


@guarded_pull
def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The function's result, and the product of v (of its shape) and the Jacobian."""
    args, single = _fresh(inputs, create_graph)
    out = func(*args)
    found = _handed(_slopes(out, args, v, create_graph), single)
    return (out if create_graph else out.detach()), found


@guarded_pull
def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The function's result, and the product of the Jacobian and v (of the inputs' shapes).

    By two reverse passes: the first is linear in its cotangent, and the second differentiates it.
    """
    args, _ = _fresh(inputs, create_graph)
    out = func(*args)
    u = wrap(out._out, numpy.zeros_like(out._data)).requires_grad_()
    slopes = _slopes(out, args, u, True)
    given = [v] if isinstance(v, CoreTensor) else v
    pairs = [(s, given[i] if given is not None else None)
             for i, s in enumerate(slopes) if s.requires_grad]
    if not pairs:
        return (out if create_graph else out.detach()), out * 0
    (found,) = gradients(
        [s for s, _ in pairs], [u], None if given is None else [w for _, w in pairs],
        create_graph=create_graph, materialize_grads=True,
    )
    return (out if create_graph else out.detach()), found


@guarded_pull
def hvp(func: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """The function's result, and the product of its second derivatives and v."""
    args, single = _fresh(inputs, create_graph=False)
    out = _one_entry(func(*args), "hvp")
    slopes = _slopes(out, args, None, True)
    given = [v] if isinstance(v, CoreTensor) else list(v)
    pairs = [(s, w) for s, w in zip(slopes, given, strict=True) if s.requires_grad]
    found = gradients(
        [s for s, _ in pairs], args, [w for _, w in pairs], materialize_grads=True
    ) if pairs else tuple([x.detach() * 0 for x in args])
    return out.detach(), _handed(found, single)
