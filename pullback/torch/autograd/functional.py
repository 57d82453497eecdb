"""`torch.autograd.functional`: Jacobians, Hessians, and their products with vectors.

The functions record what they differentiate, also inside `no_grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ... import ops, transforms
from ...autograd import gradients
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import raw, wrap
from ...errors import ArgumentError, DisconnectedError
from ...recording import enable_grad
from ...transforms.reverse import bases
from ...trees import mapped
from ..errors import as_runtime, guarded_pull

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_STRATEGIES = ("reverse-mode", "forward-mode")


def _fresh(inputs: Any, create_graph: bool) -> tuple[tuple[Any, ...], bool]:
    """The inputs to differentiate by: the user's tensors if create_graph, else leaves."""
    single = isinstance(inputs, CoreTensor)
    given = (inputs,) if single else tuple(inputs)
    if create_graph:
        return tuple([x if x.requires_grad else x.detach().requires_grad_() for x in given]), single
    return tuple([x.detach().requires_grad_() for x in given]), single


def _slopes(out: Any, inputs: tuple[Any, ...], v: Any, create: bool) -> tuple[Any, ...]:
    if not out.requires_grad:
        return tuple([wrap(x._out, ops.zeros_like(x._data)) for x in inputs])
    return gradients(
        out, inputs, v, retain_graph=True, create_graph=create, materialize_grads=True
    )


def _depends(outs: tuple[Any, ...], inputs: tuple[Any, ...], what: str = "output") -> None:
    """Raise a `DisconnectedError` for an output that does not depend on some input."""
    for k, out in enumerate(outs):
        grads: tuple[Any, ...] = (None,) * len(inputs)
        if out.requires_grad:
            seed = ops.ones_like(out.detach())
            grads = gradients(out, inputs, seed, retain_graph=True, allow_unused=True)
        for i, g in enumerate(grads):
            if g is None:
                raise DisconnectedError(
                    f"{what} {k} of a function, with strict=True",
                    "an output that depends on each input",
                    f"an output that is independent of input {i}" if out.requires_grad
                    else "an output that does not require grad: no input reaches it",
                    "pass strict=False for zeros",
                )


def _strictly(func: Callable[..., Any], inputs: Any, *, twice: str = "") -> None:
    """Check that outputs (with `twice`, "all" or "each" gradients) depend on all inputs."""
    args, _ = _fresh(inputs, False)
    outs = func(*args)
    several = (outs,) if isinstance(outs, CoreTensor) else tuple(outs)
    _depends(several, args)
    if twice:
        slopes = gradients(several[0], args, create_graph=True)
        total = [ops.sum(s * s) for s in slopes if s.requires_grad]
        _depends((sum(total[1:], total[0]),) if total and twice == "all" else slopes, args,
                 "gradient")


def _unpacked(found: tuple[Any, ...], single: bool) -> Any:
    return found[0] if single else tuple(found)


def batched_gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], **how: Any
) -> tuple[Any, ...]:
    """`autograd.grad` for cotangents along a first axis, in one batched pass; None stays None."""
    reached: list[bool] = []

    def grad(*gs: Any) -> list[Any]:
        found = gradients(outputs, inputs, gs, **how)
        reached[:] = [g is not None for g in found]
        return [g for g in found if g is not None]

    axes = tuple([None if g is None else 0 for g in cotangents])
    rows = iter(transforms.vmap(grad, in_axes=axes)(*cotangents))
    return tuple([next(rows) if r else None for r in reached])


@guarded_pull
@enable_grad
def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:
    """Returns the Jacobian, of shape (*output, *input); nested tuples for several of either.

    create_graph  the result is differentiable
    vectorize     one batched backward pass instead of one pass per output entry: much faster,
                  but needs the memory of all of them
    strategy      "forward-mode", with `vectorize`: one forward run with a batch of all tangents
    strict        raise an error for an output that does not depend on an input; otherwise its
                  derivatives are zeros

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jacobian(torch.square, x, vectorize=True)
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strict and vectorize:
        raise as_runtime(ArgumentError(
            "argument `strict` of `jacobian`", "False, with vectorize=True", "True",
            "strict=True checks the outputs one by one",
        ))
    if _is_forward(strategy, vectorize, create_graph):
        return _forward_jacobian(func, inputs)
    args, single = _fresh(inputs, create_graph)
    outs = func(*args)
    several = (outs,) if isinstance(outs, CoreTensor) else tuple(outs)
    if strict:
        _depends(several, args)
    if vectorize:
        found = _batched_rows(several, args, create_graph)
    else:
        found = [_rows(out, args, create_graph) for out in several]
    jacobians = tuple([_unpacked(row, single) for row in found])
    return jacobians[0] if isinstance(outs, CoreTensor) else jacobians


def _is_forward(strategy: str, vectorize: bool, create_graph: bool) -> bool:
    """True for forward mode; raises an error for the options that PyTorch refuses with it."""
    if strategy not in _STRATEGIES:
        raise as_runtime(ArgumentError(
            "argument `strategy`", " or ".join(map(repr, _STRATEGIES)), repr(strategy)
        ))
    if strategy == "forward-mode" and (create_graph or not vectorize):
        raise as_runtime(ArgumentError(
            'strategy="forward-mode"', "vectorize=True and create_graph=False", "other options",
            "use torch.func.jacfwd, which has no such restriction",
        ))
    return strategy == "forward-mode"


def _forward_jacobian(func: Callable[..., Any], inputs: Any) -> Any:
    single = isinstance(inputs, CoreTensor)
    given = (inputs,) if single else tuple(inputs)
    made = transforms.jacfwd(func, 0 if single else tuple(range(len(given))))
    return mapped(lambda j: j.detach(), made(*[x.detach() for x in given]))


def _rows(out: Any, inputs: tuple[Any, ...], create: bool) -> tuple[Any, ...]:
    basis = raw(ops.eye(max(1, out._data.size), dtype=out.dtype))
    rows = [
        _slopes(out, inputs, wrap(out._out, row.reshape(out.shape)), create)
        for row in basis[: out._data.size]
    ]
    return tuple([
        ops.reshape(ops.stack(list(column)), (*out.shape, *x.shape))
        for column, x in zip(zip(*rows, strict=True), inputs, strict=True)
    ])


def _batched_rows(
    outs: tuple[Any, ...], inputs: tuple[Any, ...], create: bool
) -> list[tuple[Any, ...]]:
    """`jacobian` for all outputs in one batched pass."""
    live = [out for out in outs if out.requires_grad]
    columns = batched_gradients(
        live, inputs, bases(live), retain_graph=True, create_graph=create, materialize_grads=True
    ) if live else ()
    found, start = [], 0
    for out in outs:
        if not out.requires_grad:
            found.append(tuple([
                wrap(out._out, raw(ops.zeros((*out.shape, *x.shape), dtype=x.dtype)))
                for x in inputs
            ]))
            continue
        end = start + prod(out.shape)
        found.append(tuple([
            ops.reshape(c[start:end], (*out.shape, *x.shape))
            for c, x in zip(columns, inputs, strict=True)
        ]))
        start = end
    return found


@guarded_pull
@enable_grad
def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Returns the Hessian of a function with a scalar result, of shape (*input, *input).

    The other arguments are those of `jacobian`, applied to the Jacobian of the gradient.

    >>> import pullback.torch as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    single = isinstance(inputs, CoreTensor)
    if strict:
        _strictly(func, inputs, twice="each")
    if _is_forward(outer_jacobian_strategy, vectorize, create_graph):
        found = _forward_jacobian(_gradient(func, "hessian"), inputs)
        return found[0] if single else found

    def slope(*args: Any) -> tuple[Any, ...]:
        return _slopes(_one_entry(func(*args), "hessian"), args, None, True)

    found = jacobian(slope, inputs, create_graph, vectorize=vectorize)
    return found[0] if single else found


def _gradient(func: Callable[..., Any], subject: str, *, value: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient, as a tuple, of a scalar-valued function.

    value  return (value, gradient)
    """

    def of(*args: Any) -> Any:
        make = transforms.value_and_grad if value else transforms.grad
        return make(lambda *xs: _one_entry(func(*xs), subject), tuple(range(len(args))))(*args)

    return of


def _one_entry(out: Any, subject: str) -> Any:
    if not isinstance(out, CoreTensor) or prod(out.shape) != 1:
        raise as_runtime(ArgumentError(
            f"function given to `{subject}`", "a result with one entry",
            f"shape {tuple(out.shape)}" if isinstance(out, CoreTensor) else type(out).__name__,
        ))
    return ops.reshape(out, ())


@guarded_pull
@enable_grad
def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Returns the function's result and the vector-Jacobian product (VJP) with v.

    v  has the result's shape; optional for a result with one entry
    """
    if strict:
        _strictly(func, inputs)
    args, single = _fresh(inputs, create_graph)
    out = func(*args)
    found = _unpacked(_slopes(out, args, v, create_graph), single)
    return (out if create_graph else out.detach()), found


@guarded_pull
@enable_grad
def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Returns the function's result and the Jacobian-vector product (JVP) with v.

    v  has the inputs' shapes; optional for one input with one entry

    Runs forward mode once. If a function has only a custom VJP, its transpose gives the JVP.
    """
    if strict:
        _strictly(func, inputs)
    args, tangents = _directions(inputs, v, create_graph, "jvp")
    return _settled(transforms.jvp(func, args, tangents), create_graph)


@guarded_pull
@enable_grad
def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Returns the function's result and the Hessian-vector product with v: forward over reverse.

    v  optional for one input with one entry

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, torch.tensor([1.0, 0.0]))
    (tensor(9.), tensor([6., 0.]))
    """
    if strict:
        _strictly(func, inputs, twice="all")
    args, tangents = _directions(inputs, v, create_graph, "hvp")
    (out, _), (_, found) = transforms.jvp(_gradient(func, "hvp", value=True), args, tangents)
    return _settled((out, _unpacked(found, isinstance(inputs, CoreTensor))), create_graph)


@guarded_pull
@enable_grad
def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Returns the function's result and the vector-Hessian product with v: reverse over reverse.

    v  optional for one input with one entry
    """
    if strict:
        _strictly(func, inputs, twice="all")
    args, tangents = _directions(inputs, v, create_graph, "vhp")
    (out, _), pull = transforms.vjp(_gradient(func, "vhp", value=True), *args)
    found = pull((ops.zeros_like(out), tangents))
    return _settled((out, _unpacked(found, isinstance(inputs, CoreTensor))), create_graph)


def _directions(
    inputs: Any, v: Any, create_graph: bool, subject: str
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The inputs, detached unless create_graph, and one vector per input."""
    given = (inputs,) if isinstance(inputs, CoreTensor) else tuple(inputs)
    if v is None:
        if len(given) != 1 or prod(given[0].shape) != 1:
            raise as_runtime(ArgumentError(
                f"argument `v` of `{subject}`", "vectors of the inputs' shapes", "None",
                "v is optional only for one input with one entry",
            ))
        v = ops.ones_like(given[0])
    vectors = (v,) if isinstance(v, CoreTensor) else tuple(v)
    return tuple([x if create_graph else x.detach() for x in given]), vectors


def _settled(pair: tuple[Any, Any], create_graph: bool) -> tuple[Any, Any]:
    found: tuple[Any, Any] = pair if create_graph else mapped(lambda t: t.detach(), pair)
    return found
