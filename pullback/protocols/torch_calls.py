"""PyTorch's protocol: what `torch.sin(t)` and `torch_tensor * t` do when t is a Tensor.

The rules are the functions of the same names in the front end `pullback.torch`. A function with a
rule returns a Tensor, recorded as the operations that the rule consists of. A function without a
rule raises an error if an argument is tracked; for untracked arguments PyTorch computes it and
returns its own tensors.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..arrays import adapters, is_array
from ..core.tensor import Tensor, raw, wrap
from ..departures import left
from ..errors import ArgumentTypeError
from .leaving import is_followed, tensors_in

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "matmul": operator.matmul, "pow": operator.pow, "remainder": operator.mod,
    "__floordiv__": operator.floordiv, "__and__": operator.and_, "__or__": operator.or_,
    "__xor__": operator.xor, "__lshift__": operator.lshift, "__rshift__": operator.rshift,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "__getitem__": operator.getitem,
}
"""Names of tensor methods that operators call -> the operator."""

_DETACH = "pass x.detach().data where no derivative is needed"


def answer(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The result of a PyTorch function with Tensors among its arguments."""
    name = function.__name__
    out = next(t._out for t in tensors_in([args, kwargs]))
    plain = _OPERATORS.get(name)
    if plain is not None and len(args) == 2 and not kwargs:
        return plain(*[_to_tensors(a, out) for a in args])
    from ..torch.rules import rule as rule_of

    subject = f"torch.{name}"
    rule = rule_of(name)
    if rule is None:
        return _without_rule(subject, function, args, kwargs)
    kwargs = _without_defaults(function, kwargs)
    try:
        bound = rule.parameters.bind(*args, **kwargs)
    except TypeError as error:
        return _without_rule(subject, function, args, kwargs, f"leave out arguments: {error}")
    _refuse_parameters(subject, [args, kwargs])
    given = [_to_tensors(a, out) for a in bound.args]
    return rule(*given, **{k: _to_tensors(v, out) for k, v in bound.kwargs.items()})


def _to_tensors(value: Any, out: type) -> Any:
    """PyTorch tensors, also in nested sequences, converted to Tensors of a class."""
    if isinstance(value, Tensor):
        return value
    if is_array(value):
        return wrap(out, adapters[value.__class__].adopt(value))
    if value.__class__ in (tuple, list):
        return value.__class__([_to_tensors(v, out) for v in value])
    return value


def _without_defaults(function: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords without those with default values, which PyTorch's own code adds."""
    try:
        own = inspect.signature(function).parameters
    except ValueError:  # compiled functions have no signature; none are added for them
        return dict(kwargs)
    return {
        k: v for k, v in kwargs.items()
        if k != "_stacklevel" and not (k in own and v is own[k].default)
    }


def _arrays_in(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _arrays_in(part)
    elif isinstance(value, Mapping):
        yield from _arrays_in(list(value.values()))
    elif not isinstance(value, Tensor) and is_array(value):
        yield value


def _refuse_parameters(subject: str, values: Any) -> None:
    """Raise for a tensor that PyTorch's autograd tracks, because its gradient would be lost."""
    if any(getattr(a, "requires_grad", False) for a in _arrays_in(values)):
        raise ArgumentTypeError(
            f"{subject} of a Tensor", "tensors that PyTorch's autograd does not track",
            "one that requires a gradient, or a parameter of torch.nn, which would receive none",
            "make it pullback's, with pullback.tensor(w, requires_grad=True), or detach() it",
        )


def _without_rule(
    subject: str, function: Any, args: Any, kwargs: Mapping[str, Any], reason: str = ""
) -> Any:
    """The result of PyTorch's own function; an error if a Tensor is tracked."""
    if any(is_followed(x) for x in tensors_in([args, kwargs])):
        writes = (subject.endswith("_") and not subject.endswith("__")) or subject.endswith(
            "setitem__"
        )
        reason = reason or (
            "write t = t + x instead of t += x" if writes else "use pullback's operations"
        )
        raise ArgumentTypeError(
            f"{subject} of a Tensor",
            "a Tensor to write to" if writes else "a function with a gradient rule",
            "a PyTorch tensor, which has no history" if writes
            else "one without, on a Tensor that is tracked or has a tangent",
            f"{reason}, or {_DETACH}",
        )
    return function(*_to_plain(args, subject), **_to_plain(kwargs, subject))


def _to_plain(value: Any, by: str) -> Any:
    """Nested values with Tensors replaced by plain arrays."""
    if isinstance(value, Tensor):
        left(value._node, by)
        return adapters[raw(value).__class__].plain(raw(value))
    if isinstance(value, (tuple, list)):
        parts = [_to_plain(part, by) for part in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, Mapping):
        return {name: _to_plain(part, by) for name, part in value.items()}
    return value
