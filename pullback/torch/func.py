"""`torch.func`: functions of functions, in PyTorch's names, argument orders and result orders."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import transforms
from ..core import state as _state
from ..core.inplace import overwrite
from ..core.tensor import Tensor as CoreTensor
from ..errors import ArgumentError
from ..transforms.trace import Argnums
from ..trees import leaves
from .errors import as_runtime, guarded_pull
from .shaping import stack

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
    "jvp", "linearize", "stack_module_state", "vjp", "vmap",
]

Function = Callable[..., Any]


def _on_tensors(func: Function, who: str, has_aux: bool = False) -> Function:
    """The function, whose results (but for the auxiliary one) have to be tensors."""

    @functools.wraps(func)
    def checked(*args: Any, **keywords: Any) -> Any:
        out = func(*args, **keywords)
        value = out[0] if has_aux and isinstance(out, tuple) and out else out
        _check(value, f"result of the function given to `{who}`")
        return out

    return checked


def _check(values: Any, who: str) -> None:
    for leaf in leaves(values):
        if not isinstance(leaf, CoreTensor):
            raise ArgumentError(
                who, "tensors, in any nesting", f"a {type(leaf).__name__}",
                "make it one with torch.tensor(…)",
            )


def _of_arguments(function: Function, argnums: Argnums, who: str) -> Function:
    """A transformed function that takes tensors for the arguments that are differentiated."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        for i in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
            if -len(args) <= i < len(args):
                _check(args[i], f"argument {i} of `{who}` of a function")
        return function(*args, **keywords)

    return guarded_pull(call)


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that answers with the gradient of `func`, which returns one number.

    argnums  which argument is differentiated, or a tuple of several: then a tuple of gradients
    has_aux  func returns (value, aux), and the answer is (gradient, aux)

    See `pullback.grad`. A result that is no scalar, and integers, are a `RuntimeError`.

    >>> import pullback.torch as torch
    >>> torch.func.grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    made = transforms.grad(_on_tensors(func, "grad", has_aux), argnums, has_aux)
    return _of_arguments(made, argnums, "grad")


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that answers (gradient, value); with has_aux (gradient, (value, aux)).

    >>> import pullback.torch as torch
    >>> torch.func.grad_and_value(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    (tensor([ 3., 12.]), tensor(9.))
    """
    made = transforms.value_and_grad(
        _on_tensors(func, "grad_and_value", has_aux), argnums, has_aux
    )

    @functools.wraps(func)
    def turned(*args: Any, **keywords: Any) -> Any:
        value, gradient = made(*args, **keywords)
        return gradient, value

    return _of_arguments(turned, argnums, "grad_and_value")


@guarded_pull
def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func(*primals)`, and the function from its cotangents to the primals'.

    The latter returns a tuple, an entry a primal, and may be called any number of times. With
    has_aux, func returns (value, aux), and so does this, at the end.

    >>> import pullback.torch as torch
    >>> value, pull = torch.func.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]))
    >>> pull(torch.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    _check(primals, "primals of `vjp`")
    value, pull, *aux = transforms.vjp(_on_tensors(func, "vjp", has_aux), *primals, has_aux=has_aux)

    @guarded_pull
    def vjp_fn(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> tuple[Any, ...]:
        return pull(cotangents)

    return (value, vjp_fn, *aux)


@guarded_pull
def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The value of `func(*primals)`, and its derivative along the tangents: one forward run.

    primals, tangents  tuples of as many tensors, or structures of them
    has_aux            func returns (value, aux), and so does this, at the end
    strict             accepted: zeros come out where nothing depends on a primal, as otherwise

    >>> import pullback.torch as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    _check(primals, "primals of `jvp`")
    return transforms.jvp(_on_tensors(func, "jvp", has_aux), primals, tangents, has_aux)


@guarded_pull
def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The value of `func(*primals)`, and the function from tangents of the primals to the value's.

    >>> import pullback.torch as torch
    >>> value, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(2.0))
    tensor(2.)
    """
    _check(primals, "primals of `linearize`")
    value, push = transforms.linearize(_on_tensors(func, "linearize"), *primals)
    return value, guarded_pull(push)


def jacrev(
    func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Function:
    """A function that answers with the Jacobian of `func`, by one batched pull.

    chunk_size  so many rows at a time, for less memory. The other arguments are `grad`'s.

    >>> import pullback.torch as torch
    >>> torch.func.jacrev(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    checked = _on_tensors(func, "jacrev", has_aux)
    made = transforms.jacrev(checked, argnums, has_aux, chunk_size=chunk_size)
    return _of_arguments(made, argnums, "jacrev")


def jacfwd(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """A function that answers with the Jacobian of `func`, by one run with batched tangents.

    randomness  what `func` may draw: "error" nothing, "same" for all tangents, or "different"

    >>> import pullback.torch as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    checked = _on_tensors(func, "jacfwd", has_aux)
    made = transforms.jacfwd(checked, argnums, has_aux, randomness=randomness)
    return _of_arguments(made, argnums, "jacfwd")


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """A function that answers with the second derivatives of `func`.

    >>> import pullback.torch as torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return _of_arguments(
        transforms.hessian(_on_tensors(func, "hessian"), argnums), argnums, "hessian"
    )


def vmap(
    func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Function:
    """A function that maps `func` over an axis of its arguments, with no loop.

    in_dims     the axis of each positional argument (None: the same for all), an integer for all,
                or a structure like theirs; keyword arguments are not mapped
    out_dims    where the axis stands in the results
    randomness  "error": nothing may be drawn inside; "different" for each example; or "same"
    chunk_size  so many examples at a time, for less memory

    See `pullback.vmap`; a Python decision about a mapped value is a `RuntimeError`.

    >>> import pullback.torch as torch
    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.tensor([[1.0, 2.0]] * 3))
    tensor([3., 3., 3.])
    """

    @functools.wraps(func)
    def mapped(*args: Any, **keywords: Any) -> Any:
        @functools.wraps(func)
        def one(*examples: Any) -> Any:
            return func(*examples, **keywords)

        return transforms.vmap(
            _on_tensors(one, "vmap"), in_axes=in_dims, out_axes=out_dims, randomness=randomness,
            chunk_size=chunk_size,
        )(*args)

    return guarded_pull(mapped)


def functionalize(func: Function, *, remove: str = "mutations") -> Function:
    """The function itself: here writes in place are part of what is differentiated and mapped.

    >>> functionalize(abs) is abs
    True
    """
    return func


@guarded_pull
def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of modules of one kind, each stacked along a new first axis.

    With `vmap` and `functional_call`, the modules are run as one. The stacked parameters are
    leaves that require gradients where the modules' do.

    >>> import pullback.torch as torch
    >>> parameters, _ = stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> parameters["weight"].shape
    torch.Size([3, 1, 2])
    """
    models = list(models)
    if not models or any(type(m) is not type(models[0]) for m in models):
        raise ArgumentError(
            "argument `models` of stack_module_state", "modules of one class, at least one",
            ", ".join(type(m).__name__ for m in models) or "none",
        )
    found = []
    for of in ("named_parameters", "named_buffers"):
        tables = [dict(getattr(m, of)()) for m in models]
        stacked = {}
        for name, first in tables[0].items():
            made = stack([t[name].detach() for t in tables])
            stacked[name] = made.requires_grad_(first.requires_grad)
        found.append(stacked)
    return found[0], found[1]


Tensors = Mapping[str, Any]


def functional_call(
    module: Any, parameter_and_buffer_dicts: Tensors | Sequence[Tensors], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:
    """What a module computes with other parameters and buffers than its own, which stay the same.

    parameter_and_buffer_dicts  name -> tensor, as `dict(module.named_parameters())` has them; or
                                several such. What is not named is the module's own; a parameter
                                that is shared under several names is changed under all
    args                        a tuple of arguments, or the only one
    strict                      raise an error unless exactly the module's names are given

    A given buffer that the module updates is written to, as PyTorch does.

    >>> import pullback.torch as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> loss = lambda p: torch.func.functional_call(layer, p, torch.tensor([1.0, 2.0])).sum()
    >>> torch.func.grad(loss)({"weight": torch.zeros(1, 2)})
    {'weight': tensor([[1., 2.]])}
    """
    if not tie_weights:
        raise as_runtime(ArgumentError(
            "argument `tie_weights` of functional_call", "True: one tensor is one parameter",
            "False", "copy the parameter in the module",
        ))
    given = _together(parameter_and_buffer_dicts)
    own = dict(module._tensors())
    if strict and given.keys() != own.keys():
        raise as_runtime(ArgumentError(
            "functional_call(…, strict=True)", f"the names {', '.join(own)}", ", ".join(given)
        ))
    swapped = {name: own[name] for name in given if name in own}
    before = {name: (p._data, p._node) for name, p in swapped.items()}
    try:
        for name, p in swapped.items():
            p._data, p._node = given[name]._data, given[name]._node
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for name, p in swapped.items():
            p._data, p._node = before[name]
        _take_back(module, swapped, given)


def _together(dicts: Any) -> dict[str, Any]:
    """One dictionary of all, in which no name comes twice."""
    several = [dicts] if isinstance(dicts, Mapping) else list(dicts)
    given = {name: t for d in several for name, t in d.items()}
    if len(given) != sum(len(d) for d in several):
        raise as_runtime(ArgumentError(
            "argument `parameter_and_buffer_dicts` of functional_call", "each name once",
            "one in two of the dictionaries",
        ))
    _check(given, "tensors given to functional_call")
    return given


def _take_back(module: Any, swapped: Tensors, given: Tensors) -> None:
    """Put the module's own tensors back where it assigned others, and those into what was given."""
    modules = dict(module.named_modules())
    for name, own in swapped.items():
        prefix, _, attribute = name.rpartition(".")
        holder = modules.get(prefix)
        now = vars(holder).get(attribute) if holder is not None else None
        if isinstance(now, CoreTensor) and now is not own:
            setattr(holder, attribute, own)
            with _state.setting(enabled=False):
                overwrite(given[name], now._data, "functional_call")
