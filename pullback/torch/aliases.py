"""Functions of this library under PyTorch's names, where only the names differ.

The names, and those of the parameters, stand with the functions, in `known_as` (`pullback/ops`).
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from .. import ops
from .._aliases import Renamed, aliases
from .errors import guarded

__all__ = ["alias", "here"]


def here(name: str, home: Any = ops) -> Any:
    """The elementwise function of this library that has a name in PyTorch, as "sin" or "lgamma".

    >>> here("arcsin").__name__
    'asin'
    """
    found = aliases("torch").get(name)
    return getattr(home, name.rpartition(".")[2]) if found is None else found.function()


def alias(name: str) -> Any:
    """The function with a name and parameters of PyTorch's; "linalg.inv" is in a namespace.

    >>> import pullback.torch as torch
    >>> alias("roll")(torch.tensor([1, 2, 3]), shifts=1)
    tensor([3, 1, 2])
    """
    found = aliases("torch")[name]
    function, kind = found.function(), "POSITIONAL_OR_KEYWORD"
    own, parameters = iter(signature(function).parameters.values()), []
    for given in found.parameters:
        if given == "*":
            kind = "KEYWORD_ONLY"
        else:
            p = next(own)
            theirs = Parameter(given, getattr(Parameter, kind), default=p.default)
            parameters.append((theirs, p.name))
    call = Renamed(function, parameters)
    call.__doc__ = (function.__doc__ or "").partition("\n")[0]
    return guarded(call, name.rpartition(".")[2])
