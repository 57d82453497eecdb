"""What this namespace has, for code that asks: the Array API standard's inspection.

    info = pullback.__array_namespace_info__()
    info.dtypes(kind="real floating")
"""

from __future__ import annotations

from typing import Any

from .errors import ArgumentError, suggestion
from .ops import dtypes as _names
from .ops.dtypes import KINDS
from .ops.operators import API_VERSIONS

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = API_VERSIONS[-1]

_DEFAULTS = {
    "real floating": "float64", "complex floating": "complex128", "integral": "int64",
    "indexing": "int64",
}

_DEVICE = "cpu"


def _check_device(device: Any, who: str) -> None:
    if device not in (None, _DEVICE):
        raise ArgumentError(f"argument `device` of `{who}`", repr(_DEVICE), repr(device))


def _of_kind(kind: Any) -> set[str]:
    """The names of the dtypes of a kind, or of several in a tuple."""
    if isinstance(kind, tuple):
        return {name for one in kind for name in _of_kind(one)}
    if kind is None:
        return {"bool", *KINDS["numeric"]}
    if not isinstance(kind, str) or kind not in KINDS:
        raise ArgumentError(
            "argument `kind` of `dtypes`", "a kind of dtype, or a tuple of kinds", repr(kind),
            suggestion(str(kind), KINDS),
        )
    return set(KINDS[kind])


class NamespaceInfo:
    """What `__array_namespace_info__` answers; the standard's questions are its methods."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """What not every library can: masks as indices, shapes that depend on values, many axes.

        >>> NamespaceInfo().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of what is made of nothing.

        >>> NamespaceInfo().default_device()
        'cpu'
        """
        return _DEVICE

    def devices(self) -> list[str]:
        """All devices.

        >>> NamespaceInfo().devices()
        ['cpu']
        """
        return [_DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of what is made of Python's numbers and of positions, by their kind.

        Raises `ArgumentError` for a device that is not there.

        >>> NamespaceInfo().default_dtypes()["real floating"]
        dtype('float64')
        """
        _check_device(device, "default_dtypes")
        return {kind: getattr(_names, name) for kind, name in _DEFAULTS.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes by name: all, or those of a kind, or of one of several in a tuple.

        Kinds are those of `isdtype`. Raises `ArgumentError` for another, or for a device that is
        not there.

        >>> NamespaceInfo().dtypes(kind=("bool", "real floating"))
        {'bool': dtype('bool'), 'float32': dtype('float32'), 'float64': dtype('float64')}
        """
        _check_device(device, "dtypes")
        wanted = _of_kind(kind)
        return {n: getattr(_names, n) for n in ("bool", *KINDS["numeric"]) if n in wanted}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  # the standard's name
    """What this namespace has: its devices, dtypes and capabilities.

    >>> sorted(__array_namespace_info__().dtypes(kind="complex floating"))
    ['complex128', 'complex64']
    """
    return NamespaceInfo()
