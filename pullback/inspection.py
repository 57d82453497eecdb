"""What this namespace supports: the inspection interface of the Array API standard.

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


def _check_device(device: Any, subject: str) -> None:
    if device not in (None, _DEVICE):
        raise ArgumentError(f"argument `device` of `{subject}`", repr(_DEVICE), repr(device))


def _of_kind(kind: Any) -> set[str]:
    """The names of the dtypes of one kind, or of a tuple of kinds."""
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
    """The inspection object of the Array API standard, returned by `__array_namespace_info__`."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """The optional features of the standard: boolean indexing, data-dependent shapes, ranks.

        >>> NamespaceInfo().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device on which creation functions put new arrays.

        >>> NamespaceInfo().default_device()
        'cpu'
        """
        return _DEVICE

    def devices(self) -> list[str]:
        """A list of all devices.

        >>> NamespaceInfo().devices()
        ['cpu']
        """
        return [_DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The default dtypes, by kind: of Python numbers, and of indices.

        Raises `ArgumentError` for an unknown device.

        >>> NamespaceInfo().default_dtypes()["real floating"]
        dtype('float64')
        """
        _check_device(device, "default_dtypes")
        return {kind: getattr(_names, name) for kind, name in _DEFAULTS.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes by name: all, or those of one kind or of a tuple of kinds.

        Kinds are those of `isdtype`. Raises `ArgumentError` for an unknown kind or device.

        >>> NamespaceInfo().dtypes(kind=("bool", "real floating"))
        {'bool': dtype('bool'), 'float32': dtype('float32'), 'float64': dtype('float64')}
        """
        _check_device(device, "dtypes")
        wanted = _of_kind(kind)
        return {n: getattr(_names, n) for n in ("bool", *KINDS["numeric"]) if n in wanted}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  # the standard's name
    """The inspection object of this namespace: its devices, dtypes and capabilities.

    >>> sorted(__array_namespace_info__().dtypes(kind="complex floating"))
    ['complex128', 'complex64']
    """
    return NamespaceInfo()
