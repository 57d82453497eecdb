"""Saving and loading as safetensors: numbers and names, no code. Pickles are not read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

from .._files import write_file
from ..core.tensor import Tensor, raw, to_array
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    FileFormatError,
    PullbackError,
)
from .module import Module

Target = str | os.PathLike[str]

DTYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8",
    "U16": "uint16", "U32": "uint32", "U64": "uint64", "BF16": "bfloat16", "F16": "float16",
    "F32": "float32", "F64": "float64", "C64": "complex64",
}
"""The dtypes of the format that NumPy has, bfloat16 with `ml_dtypes`."""

_NAMES = frozenset(DTYPES.values())
_RESERVED = "__metadata__"


class MissingPackageError(PullbackError, ImportError):
    """An optional package is not installed."""


def save(values: Any, path: Target) -> None:
    """Write a module's parameters and buffers, or a dictionary {name: tensor}, to a file.

    An existing file is replaced only when the new one is complete and on the disk.
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
    if isinstance(values, Module):
        values = values.state_dict()
    if not isinstance(values, Mapping):
        raise ArgumentTypeError(
            "argument of `save`", "a module or a dictionary {name: tensor}",
            f"a {type(values).__name__}",
        )
    arrays = {}
    for name, value in values.items():
        _check_name(name)
        array = arrays[name] = plain_array(value, repr(name))
        if array.dtype.name not in _NAMES:
            raise DtypeError(
                f"{name!r} given to `save`", "a dtype that safetensors supports",
                f"dtype {array.dtype.name}", "save real and imaginary parts separately"
                if array.dtype.kind == "c" else "convert it first",
            )
    write_file(path, packed(arrays))


def load(path: Target) -> dict[str, Tensor]:
    """The dictionary {name: Tensor} in a file, for `Module.load_state_dict`; see `save`.

    Raises `FileFormatError` (a `ValueError`) for a damaged or truncated file and for another
    format, and `FileNotFoundError` for a missing file.
    """
    arrays, _ = unpacked(Path(path).read_bytes(), f"`load` of {os.fspath(path)!r}")
    return {name: Tensor(array) for name, array in arrays.items()}


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise ArgumentTypeError("names given to `save`", "strings", repr(name))
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ArgumentError("names given to `save`", "Unicode text", repr(name)) from None
    if name == _RESERVED:
        raise ArgumentError(
            "names given to `save`", "other names: the format reserves this one", repr(name)
        )


# The format --------------------------------------------------------------------------------------


def plain_array(value: Any, where: str) -> Any:
    """The numbers of a tensor or an array as a C-contiguous NumPy array, as the format needs.

    Raises `ArgumentTypeError` for a masked array, whose mask would be lost.
    """
    if isinstance(value, numpy.ma.MaskedArray):
        raise ArgumentTypeError(
            f"{where} to save", "an array of numbers", "a masked array",
            "save value.data and value.mask",
        )
    return numpy.array(raw(to_array(value)), order="C")


def packed(arrays: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file with some arrays of the dtypes in `DTYPES`."""
    content: bytes = _safetensors().numpy.save(arrays, metadata=metadata)
    return content


def unpacked(content: Any, subject: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays and the metadata in the bytes of a safetensors file.

    Raises `FileFormatError` for anything else.
    """
    module = _safetensors()
    if not isinstance(content, (bytes, bytearray)):
        raise ArgumentTypeError(
            subject, "bytes", f"a {type(content).__name__}", "open the file in mode 'rb'"
        )
    try:
        arrays = {name: _array(told) for name, told in module.deserialize(bytes(content))}
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get(_RESERVED, {})
    except ImportError:
        raise
    except Exception as error:  # safetensors' own class, and errors of its parser
        raise format_error(subject, content, error) from None
    return arrays, metadata


def format_error(subject: str, content: Any, error: Exception) -> FileFormatError:
    """The error for content that is damaged, truncated or of another format."""
    if bytes(content[:2]) in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        return FileFormatError(
            subject, "a safetensors file", "a pickle",
            "save it again in this format; pickles are not read, because they can run code",
        )
    reason = " ".join(str(error).split()) or type(error).__name__
    return FileFormatError(
        subject, "a complete safetensors file", f"{len(content)} bytes: {reason}"[:300],
        "the file is damaged, truncated or of another format; write it again",
    )


def _array(told: Mapping[str, Any]) -> Any:
    """One tensor of a file: its dtype, shape and bytes."""
    name = DTYPES.get(told["dtype"])
    if name is None:
        raise ValueError(f"dtype {told['dtype']}, which NumPy does not have")
    # A copy, because the array must own memory that can be written.
    return numpy.frombuffer(told["data"], dtype_named(name)).reshape(told["shape"]).copy()


def dtype_named(name: str) -> Any:
    """NumPy's dtype of a name, of `ml_dtypes` too.

    >>> dtype_named("int8")
    dtype('int8')
    """
    if name == "bfloat16":
        import ml_dtypes

        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(name)


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingPackageError(
            "saving and loading", "the package safetensors", "not installed",
            "pip install pullback[save]",
        ) from None
    return safetensors
