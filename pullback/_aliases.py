"""NumPy's and PyTorch's names of functions of this library, found without loading their chapters.

A name stands with its function, in `known_as` (`ops/declaring.py`); `_places.py` lists them all.
"""

from collections.abc import Sequence
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple

from . import _places
from ._loading import loaded


class Alias(NamedTuple):
    """A function of this library, and its parameters' names in another one, where they are stated.

    `*` among the parameters begins those that are keywords only.
    """

    module: str
    name: str
    parameters: tuple[str, ...]

    def function(self) -> Any:
        """The function; its chapter is loaded."""
        return getattr(loaded(self.module), self.name)


@cache
def aliases(library: str) -> dict[str, Alias]:
    """Name in a library, "numpy" or "torch" -> what it is here.

    >>> aliases("numpy")["arccos"].name, aliases("torch")["roll"].parameters
    ('acos', ('input', 'shifts', 'dims'))
    """
    found = {}
    for entry, module in {"numpy": _places.NUMPY, "torch": _places.TORCH}[library].items():
        theirs, _, own = entry.rpartition("=")
        name, _, parameters = theirs.rstrip(")").partition("(")
        found[name] = Alias(module, own, tuple(parameters.split(",")) if parameters else ())
    return found


class Renamed:
    """A function under the parameter names of another library.

    parameters   those of the other library, with the function's names for them; "" ignores one
    """

    def __init__(self, function: Any, parameters: Sequence[tuple[Parameter, str]]) -> None:
        own = signature(function).parameters.values()
        self.function, self.__signature__ = function, Signature([p for p, _ in parameters])
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.first = sum(p.kind is Parameter.POSITIONAL_ONLY for p in own)
        positional = [name for p, name in parameters if p.kind is not Parameter.KEYWORD_ONLY]
        self.names = positional
        self.places = {
            p.name: (i if i < len(positional) else len(parameters), name)
            for i, (p, name) in enumerate(parameters) if i >= self.first
        }

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's result; a TypeError for arguments that the signature lacks."""
        first, given = self.first, len(args)
        known = self.places
        if not first <= given <= len(self.names) or any(
            k not in known or known[k][0] < given for k in keywords
        ):
            bound = self.__signature__.bind(*args, **keywords)
            args, keywords = bound.args, bound.kwargs
        rest = dict(zip(self.names[first:], args[first:], strict=False))
        for name, value in keywords.items():
            rest[known[name][1]] = value
        rest.pop("", None)
        return self.function(*args[:first], **rest)
