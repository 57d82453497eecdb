"""Saving and loading as safetensors: numbers and names, no code. Pickles are not read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

from ..core.tensor import Tensor, raw, to_array
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, PullbackError
from .module import Module

Target = str | os.PathLike[str]

_DTYPES = frozenset((
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bfloat16",
    "float16", "float32", "float64", "complex64",
))


class MissingPackageError(PullbackError, ImportError):
    """An optional package is not installed."""


def save(values: Any, path: Target) -> None:
    """Write a module's parameters and buffers, or a dictionary {name: tensor}, to a file.

    An existing file is replaced only when the new one is complete.
    Raises `DtypeError` for dtypes that the format does not support.

    >>> import pathlib, tempfile
    >>> from pullback import nn
    >>> net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "net.safetensors"
    >>> nn.save(net, path)
    >>> other.load_state_dict(nn.load(path))
    ([], [])
    >>> bool((other.weight.numpy() == net.weight.numpy()).all())
    True
    """
    module = _safetensors()
    if isinstance(values, Module):
        values = values.state_dict()
    if not isinstance(values, Mapping):
        raise ArgumentTypeError(
            "argument of `save`", "a module or a dictionary {name: tensor}",
            f"a {type(values).__name__}",
        )
    arrays = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise ArgumentTypeError("names given to `save`", "strings", repr(name))
        # The format writes raw memory, so the array must be C-contiguous.
        array = arrays[name] = numpy.array(raw(to_array(value)), order="C")
        if array.dtype.name not in _DTYPES:
            raise DtypeError(
                f"{name!r} given to `save`", "a dtype that safetensors supports",
                f"dtype {array.dtype.name}", "save real and imaginary parts separately"
                if array.dtype.kind == "c" else "convert it first",
            )
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    os.close(handle)
    try:
        module.save_file(arrays, temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: Target) -> dict[str, Tensor]:
    """The dictionary {name: Tensor} in a file, for `Module.load_state_dict`; see `save`.

    Raises `ArgumentError` for another format, and `FileNotFoundError` for a missing file.
    """
    module = _safetensors()
    content = Path(path).read_bytes()
    try:
        arrays = module.load(content)
    except Exception as error:  # safetensors' own class, and errors of its parser
        raise ArgumentError(
            f"`load` of {os.fspath(path)!r}", "a safetensors file", str(error),
            "write it with pullback.nn.save; pickles are not read, because they can run code",
        ) from None
    return {name: Tensor(array) for name, array in arrays.items()}


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingPackageError(
            "saving and loading", "the package safetensors", "not installed",
            "pip install pullback[save]",
        ) from None
    return safetensors.numpy
