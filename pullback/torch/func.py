"""`torch.func`: function transforms with PyTorch's names, argument orders and result orders."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import transforms
from ..core import state as _state
from ..core.inplace import overwrite
from ..core.tensor import Tensor as CoreTensor
from ..errors import ArgumentError
from ..nn.device import swapped
from ..transforms.trace import Argnums
from ..trees import leaves
from .errors import as_runtime, guarded_pull
from .shaping import stack

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
    "jvp", "linearize", "stack_module_state", "vjp", "vmap",
]

Function = Callable[..., Any]


def _on_tensors(func: Function, subject: str, has_aux: bool = False) -> Function:
    """Check that the function's results (except the auxiliary one) are tensors."""

    @functools.wraps(func)
    def checked(*args: Any, **keywords: Any) -> Any:
        out = func(*args, **keywords)
        value = out[0] if has_aux and isinstance(out, tuple) and out else out
        _check(value, f"result of the function given to `{subject}`")
        return out

    return checked


def _check(values: Any, subject: str) -> None:
    for leaf in leaves(values):
        if not isinstance(leaf, CoreTensor):
            raise ArgumentError(
                subject, "a pytree of tensors", f"a {type(leaf).__name__}",
                "convert it with torch.tensor(…)",
            )


def _of_arguments(function: Function, argnums: Argnums, subject: str) -> Function:
    """Check that the arguments to differentiate with respect to are tensors."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        for i in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
            if -len(args) <= i < len(args):
                _check(args[i], f"argument {i} of `{subject}` of a function")
        return function(*args, **keywords)

    return guarded_pull(call)


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Returns a function that computes the gradient of `func`, which returns a scalar.

    argnums  the argument to differentiate with respect to, or a tuple: then a tuple of gradients
    has_aux  func returns (value, aux); the result is (gradient, aux)

    See `pullback.grad`. A non-scalar result and integer arguments raise a `RuntimeError`.

    >>> import pullback.torch as torch
    >>> torch.func.grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    made = transforms.grad(_on_tensors(func, "grad", has_aux), argnums, has_aux)
    return _of_arguments(made, argnums, "grad")


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Returns a function that computes (gradient, value); with has_aux (gradient, (value, aux)).

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
    """Returns `func(*primals)` and its VJP function, from the output's cotangents to the primals'.

    The VJP function returns a tuple, one entry per primal, and may be called repeatedly. With
    has_aux, func returns (value, aux), and aux is the last result.

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
    """Returns `func(*primals)` and its JVP with the tangents, in one forward run.

    primals, tangents  tuples of the same length, of tensors or pytrees of them
    has_aux            func returns (value, aux), and aux is the last result
    strict             accepted: outputs that do not depend on a primal always give zeros

    >>> import pullback.torch as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    _check(primals, "primals of `jvp`")
    return transforms.jvp(_on_tensors(func, "jvp", has_aux), primals, tangents, has_aux)


@guarded_pull
def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Returns `func(*primals)` and its linearization: the function from tangents to the JVP.

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
    """Returns a function that computes the Jacobian of `func` in one batched reverse pass.

    chunk_size  compute this many rows at a time, to save memory. Other arguments: see `grad`.

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
    """Returns a function that computes the Jacobian of `func` in one batched forward run.

    randomness  random samples in `func`: "error", "same" for all tangents, or "different"

    >>> import pullback.torch as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    checked = _on_tensors(func, "jacfwd", has_aux)
    made = transforms.jacfwd(checked, argnums, has_aux, randomness=randomness)
    return _of_arguments(made, argnums, "jacfwd")


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """Returns a function that computes the Hessian of `func`.

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
    """Vectorizes `func` over an axis of its arguments, without a loop.

    in_dims     the mapped axis per positional argument (None: not mapped), one int for all,
                or a pytree like the arguments; keyword arguments are not mapped
    out_dims    the position of the mapped axis in the results
    randomness  random samples: "error" forbids them; "different" per example; or "same"
    chunk_size  run this many examples at a time, to save memory

    See `pullback.vmap`; Python control flow on a mapped value raises a `RuntimeError`.

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
    """Returns the function itself: here in-place writes can be differentiated and mapped.

    >>> functionalize(abs) is abs
    True
    """
    return func


@guarded_pull
def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stacks the parameters and the buffers of modules of one class along a new first axis.

    Use it with `vmap` and `functional_call` to run the modules as one. The stacked parameters are
    leaves that require gradients if the modules' do.

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
    """Calls a module with other parameters and buffers; the module itself is unchanged.

    parameter_and_buffer_dicts  name -> tensor, as in `dict(module.named_parameters())`, or a tuple
                                of such; names that are not given use the module's own tensors; a
                                parameter shared under several names is replaced under all of them
    args                        a tuple of arguments, or a single one
    strict                      raise an error unless exactly the module's names are given

    If the module updates a buffer, it writes to the given one, as in PyTorch.

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
    known = {name: own[name] for name in given if name in own}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        with swapped([(p, given[name]) for name, p in known.items()]):
            return module(*args, **(kwargs or {}))
    finally:
        _take_back(module, known, given)


def _together(dicts: Any) -> dict[str, Any]:
    """Merge the dictionaries; a name may occur only once."""
    several = [dicts] if isinstance(dicts, Mapping) else list(dicts)
    given = {name: t for d in several for name, t in d.items()}
    if len(given) != sum(len(d) for d in several):
        raise as_runtime(ArgumentError(
            "argument `parameter_and_buffer_dicts` of functional_call", "each name once",
            "a name in two of the dictionaries",
        ))
    _check(given, "tensors given to functional_call")
    return given


def _take_back(module: Any, swapped: Tensors, given: Tensors) -> None:
    """Restore the module's own tensors; tensors that it assigned go to the given dictionary."""
    modules = dict(module.named_modules())
    for name, own in swapped.items():
        prefix, _, attribute = name.rpartition(".")
        holder = modules.get(prefix)
        now = vars(holder).get(attribute) if holder is not None else None
        if isinstance(now, CoreTensor) and now is not own:
            setattr(holder, attribute, own)
            with _state.setting(enabled=False):
                overwrite(given[name], now._data, "functional_call")
