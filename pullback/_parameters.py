"""The parameters of forwards and rules, read from any callable.

A plain function is read from its code object, since importing the library reads hundreds of them.
Functions behind `functools.wraps`, `functools.partial` objects and callable objects are read with
`inspect.signature`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

_VARIADIC = 0x04  # in `code.co_flags`


class Parameters(NamedTuple):
    """Names of parameters by kind, and the defaults of those that have one."""

    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    variadic: str | None
    keyword_only: tuple[str, ...]
    defaults: dict[str, Any]


def parameters_of(function: Callable[..., Any]) -> Parameters:
    """The parameters of a callable.

    Raises `ValueError` or `TypeError` where they cannot be read, as of some built-in functions.

    >>> parameters_of(lambda g, /, x, *, axis=0: g)
    Parameters(positional_only=('g',), positional=('x',), variadic=None, keyword_only=('axis',), \
defaults={'axis': 0})
    """
    if isinstance(function, FunctionType) and "__wrapped__" not in function.__dict__:
        return _of_code(function)
    return _of_signature(function)


def _of_code(function: FunctionType) -> Parameters:
    code = function.__code__
    names = code.co_varnames
    only, plain = code.co_posonlyargcount, code.co_argcount
    end = plain + code.co_kwonlyargcount
    given = function.__defaults__ or ()
    defaults = dict(zip(names[plain - len(given) : plain], given, strict=True))
    defaults.update(function.__kwdefaults__ or {})
    variadic = names[end] if code.co_flags & _VARIADIC else None
    return Parameters(names[:only], names[only:plain], variadic, names[plain:end], defaults)


def _of_signature(function: Callable[..., Any]) -> Parameters:
    import inspect  # importing it takes longer than reading all the code objects

    kinds: dict[Any, list[str]] = {kind: [] for kind in inspect._ParameterKind}
    defaults = {}
    for p in inspect.signature(function).parameters.values():
        kinds[p.kind].append(p.name)
        if p.default is not p.empty:
            defaults[p.name] = p.default
    variadic = kinds[inspect.Parameter.VAR_POSITIONAL]
    return Parameters(
        tuple(kinds[inspect.Parameter.POSITIONAL_ONLY]),
        tuple(kinds[inspect.Parameter.POSITIONAL_OR_KEYWORD]),
        variadic[0] if variadic else None,
        tuple(kinds[inspect.Parameter.KEYWORD_ONLY]),
        defaults,
    )


def name_of(function: Any) -> str:
    """The name of a callable: of a `partial`, its function's; of other objects, their class's.

    >>> name_of(partial(max, 1))
    'max'
    """
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))
