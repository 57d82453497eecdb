"""How NumPy's functions run on Tensors: by a rule, on plain arrays, or with an error."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy

from .._aliases import Renamed, aliases
from ..core.node import number
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError
from . import elementwise as elementwise
from . import linear as linear
from . import picking as picking
from . import polynomials as polynomials
from . import reducing as reducing
from . import shapes as shapes
from .leaving import looked_at, store, without_rule
from .refused import MAKES, PLAIN, REFUSED, WRITES
from .table import RULES


def key_of(function: Any) -> str:
    """A function's dotted name without `numpy.`; of a private module, its public module's name.

    >>> key_of(numpy.lib.scimath.sqrt)
    'lib.scimath.sqrt'
    """
    module = function.__module__.partition("numpy")[2].lstrip(".")
    module = _MODULES.get(module, module)
    return f"{module}.{function.__name__}" if module else function.__name__


def answer_of(function: Any) -> Callable[[Any, Any], Any]:
    """The implementation of a NumPy function for Tensors, called with (args, kwargs)."""
    key = key_of(function)
    subject = f"numpy.{key}"
    rule = rule_of(_ALIASES.get(key, key), function)
    if rule is not None:
        return partial(_by_rule, subject, function, rule, *_parameters(function, rule))
    if key in PLAIN:
        return lambda args, kwargs: function(*looked_at(args), **looked_at(kwargs))
    if key in MAKES:
        return lambda args, kwargs: Tensor(without_rule(subject, function, args, kwargs))
    return partial(
        without_rule, subject, function, reason=REFUSED.get(key, ""), writes=key in WRITES
    )


def rule_of(key: str, function: Any) -> Any:
    """The rule of a NumPy function, which may be the function of this library itself, or None.

    Of a function that is known under a name in NumPy, the positional parameters are the first ones
    of NumPy's; the others have NumPy's names.
    """
    alias = aliases("numpy").get(key)
    if alias is None:
        return RULES.get(key)
    own = inspect.signature(alias.function()).parameters
    names = {name: name for name in own} | dict.fromkeys(_LAYOUT, "")
    first = [name for name, p in own.items() if p.kind is p.POSITIONAL_ONLY]
    theirs = inspect.signature(function).parameters.values()
    return Renamed(alias.function(), [
        (p, first[i] if i < len(first) else names[p.name])
        for i, p in enumerate(theirs) if i < len(first) or p.name in names
    ])


_LAYOUT = ("order", "subok")
"""Parameters about memory and classes, which are not guaranteed here."""
_MODULES = {"lib._scimath_impl": "lib.scimath"}
"""Private module, which NumPy 2.0 and 2.1 name -> the public one, which later versions name."""
_ALIASES = {"amax": "max", "amin": "min"}


def _parameters(function: Any, rule: Any) -> tuple[int, frozenset[str], Any]:
    """(number of leading parameters that rule and function share, the rule's names, signature).

    The signature is None for compiled functions that do not expose it.
    """
    own = inspect.signature(rule).parameters
    names = frozenset(own)
    try:
        signature = inspect.signature(function)
    except ValueError:
        return len(own), names, None
    alike = 0
    for ours, theirs in zip(own.values(), signature.parameters.values(), strict=False):
        if ours.name != theirs.name or ours.kind is ours.KEYWORD_ONLY:
            break
        alike = 1000 if ours.kind is ours.VAR_POSITIONAL else alike + 1
    return alike, names, signature


def _by_rule(
    subject: str, function: Any, rule: Callable[..., Any], alike: int, names: frozenset[str],
    signature: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any],
) -> Any:
    """The result of a rule, written into `out` if that is given."""
    given, keywords, out = args, kwargs, None
    if len(args) > alike or not kwargs.keys() <= names:
        given, keywords, out = _bind(subject, signature, args, kwargs)
        odd = ", ".join(f"`{k}`" for k in keywords if k not in names)
        if odd:
            return without_rule(subject, function, args, kwargs, f"leave out {odd}")
    start = number()
    found = rule(*given, **keywords)
    if found is NotImplemented:
        return without_rule(
            subject, function, args, kwargs, "use pullback's operations (its rule does not support "
            "arguments)"
        )
    return found if out is None else store(subject, out, found, start)


def _bind(
    subject: str, signature: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The arguments, without `out` and those that equal their default; and `out`."""
    if signature is None:
        rest = dict(kwargs)
        return args, rest, rest.pop("out", None)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(subject, f"arguments as in {signature}", str(error)) from None
    for name, value in list(bound.arguments.items()):
        default = signature.parameters[name].default
        if value is default or value is numpy._NoValue:
            del bound.arguments[name]
    out = bound.arguments.pop("out", None)
    return bound.args, bound.kwargs, out
