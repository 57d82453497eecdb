"""Nested values as the content of a safetensors file: arrays, plus a description in JSON.

Containers are dictionaries, lists, tuples and sets; they hold tensors, arrays, NumPy scalars and
plain Python values. What is loaded equals what was saved, in class, dtype and in which parts are
one object; everything else is refused on saving. A file holds no code.
"""

from __future__ import annotations

import base64
import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy

from ..core.tensor import Tensor
from ..errors import ArgumentError, ArgumentTypeError
from .parameter import Parameter
from .saving import DTYPES, dtype_named, format_error, packed, plain_array, unpacked

__all__ = ["described", "dumps", "loads", "packed_text", "rebuilt"]

_KEY = "pullback"
_PLAIN = (str, float, bool, type(None))
_STORED = frozenset(DTYPES.values())
_AS_MEMORY = "SUmM"  # kinds of dtypes that NumPy alone has, stored as bytes: text and times
_SEQUENCES: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_MAPPINGS: dict[str, type] = {"dict": dict, "ordered": OrderedDict, "counter": Counter}
_BYTES: dict[str, type] = {"bytes": bytes, "bytearray": bytearray, "numpy_bytes": numpy.bytes_}

Make = Callable[[Any, bool, bool], Any]
Classes = Mapping[str, type]
Plain = Callable[[Any, str], Any]


def dumps(values: Any, classes: Classes | None = None) -> bytes:
    """A nested value as the bytes of a safetensors file.

    classes  subclasses of tuple to accept, by their names in the file

    Raises `ArgumentTypeError` for values that are not plain data, such as instances of classes
    (of subclasses of dict, list and tuple too, which would come back as something else) and
    functions; `ArgumentError` for values that are nested too deeply.

    >>> loads(dumps({"step": 3, "state": [(1.5, None)]}))
    {'step': 3, 'state': [(1.5, None)]}
    """
    return packed_text(*described(values, classes))


def packed_text(text: str, arrays: dict[str, Any]) -> bytes:
    """The bytes of a safetensors file with the result of `described`."""
    return packed(arrays, {_KEY: text})


def described(
    values: Any, classes: Classes | None = None, plain: Plain = plain_array
) -> tuple[str, dict[str, Any]]:
    """A nested value as a description in JSON and the arrays that it refers to; see `dumps`.

    plain  (array, where it is) -> what stands for it among the arrays
    """
    writer = _Writer(classes or {}, plain)
    try:
        return json.dumps(writer.described(values, "values")), writer.arrays
    except RecursionError:
        raise ArgumentError(
            "values to save", "containers nested some hundred levels deep at most", "deeper ones"
        ) from None


def loads(
    content: bytes, make: Make | None = None, classes: Classes | None = None,
    subject: str = "content to load",
) -> Any:
    """The nested value in a file's bytes; for a file from another program, {name: tensor}.

    make  builds a tensor from (array, whether it was a parameter, whether it required gradients)

    Raises `FileFormatError` for damaged content and for another format; pickles are never read.
    """
    make = make or _made
    arrays, metadata = unpacked(content, subject)
    text = metadata.get(_KEY)
    if text is None:
        return {name: make(array, False, False) for name, array in arrays.items()}
    try:
        return rebuilt(text, arrays, make, classes)
    except ImportError:
        raise
    except Exception as error:  # whatever a wrong description runs into
        raise format_error(
            subject, content, ValueError(f"its description is damaged: {error!r}")
        ) from None


def rebuilt(
    text: str, arrays: dict[str, Any], make: Make | None = None, classes: Classes | None = None
) -> Any:
    """The nested value that `described` took apart."""
    return _Reader(arrays, make or _made, classes or {}).rebuilt(json.loads(text))


def _made(array: Any, learnt: bool, requires_grad: bool) -> Tensor:
    return Parameter(array, requires_grad) if learnt else Tensor(array, requires_grad)


class _Writer:
    """Describes values in JSON; `arrays` has the numbers that a description refers to.

    A container or array that occurs again is described once and referred to by a number.
    """

    def __init__(self, classes: Classes, plain: Plain) -> None:
        self.arrays: dict[str, Any] = {}
        self._plain = plain
        self._names = {cls: kind for kind, cls in {**_SEQUENCES, **_MAPPINGS, **classes}.items()}
        # The value is kept with its description: the id of a freed one would be given again.
        self._seen: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._count = 0

    def described(self, value: Any, where: str) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is int:
            return value if value.bit_length() < 1000 else {"int": hex(value)}
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind in (bytes, bytearray):
            return {kind.__name__: base64.b64encode(value).decode()}
        if kind is numpy.str_:  # in an array both would lose NULs at the end
            return {"numpy_str": str(value)}
        if kind is numpy.bytes_:
            return {"numpy_bytes": base64.b64encode(value).decode()}
        if isinstance(value, numpy.dtype):
            return {"dtype": _dtype_text(value, where)}
        if isinstance(value, numpy.generic):
            return self._numbers(numpy.asarray(value), where, {"scalar": True})
        if id(value) in self._seen:
            return self._again(value, where)
        if isinstance(value, Tensor) or _is_plain_array(value):
            told = self._numbers(value, where, _told(value))
            self._seen[id(value)] = value, told
            return told
        if kind in self._names:
            return self._container(value, where)
        _refuse(value, where)

    def _again(self, value: Any, where: str) -> Any:
        told = self._seen[id(value)][1]
        if not told:
            raise ArgumentError(f"{where} to save", "no tuple or set that contains itself", "one")
        if "tensor" in told:  # a name is reference enough
            return told
        if "mark" not in told:
            told["mark"] = self._count
            self._count += 1
        return {"same": told["mark"]}

    def _container(self, value: Any, where: str) -> dict[str, Any]:
        kind = self._names[type(value)]
        told: dict[str, Any] = {}
        self._seen[id(value)] = value, told
        parts: list[Any] = []
        if kind in ("list", *_MAPPINGS):  # these can be referred to while they are filled
            told[kind] = parts
        if kind in _MAPPINGS:
            for k, v in value.items():
                parts.append([self.described(k, f"a key of {where}"),
                              self.described(v, f"{where}[{k!r}]")])
        else:
            for i, v in enumerate(value):
                parts.append(self.described(v, f"{where}[{i}]"))
        told[kind] = parts
        return told

    def _numbers(self, value: Any, where: str, told: dict[str, Any]) -> dict[str, Any]:
        array = self._plain(value, where)
        name = f"{len(self.arrays)}"
        if array.dtype == numpy.complex128:  # which safetensors does not support
            told["complex128"] = True
            array = array.ravel().view(numpy.float64).reshape(*array.shape, 2)
        elif array.dtype.name not in _STORED:
            if array.dtype.kind not in _AS_MEMORY:
                raise ArgumentTypeError(
                    f"{where} to save", f"an array of numbers, text or times of dtype "
                    f"{', '.join(sorted(_STORED))} or complex128", f"dtype {array.dtype}",
                    "convert it first",
                )
            told["memory"], told["shape"] = array.dtype.str, list(array.shape)
            array = numpy.frombuffer(array.tobytes(), numpy.uint8)
        self.arrays[name] = array
        return {"tensor": name, **told}


def _is_plain_array(value: Any) -> bool:
    """True for NumPy's own arrays and this library's; others have more than numbers (masks)."""
    kind = type(value)
    return kind in (numpy.ndarray, numpy.memmap) or (
        isinstance(value, numpy.ndarray) and kind.__module__.startswith("pullback."))


def _told(value: Any) -> dict[str, Any]:
    """What a tensor or array was besides its numbers."""
    if isinstance(value, Tensor):
        told = {"parameter": isinstance(value, Parameter), "requires_grad": value.requires_grad}
    else:
        told = {"array": True}
    return {k: v for k, v in told.items() if v}


def _dtype_text(dtype: Any, where: str) -> str:
    """The text of a dtype that makes the same one when it is read."""
    for text in (dtype.name, dtype.str):
        try:
            if dtype_named(text) == dtype:
                return str(text)
        except TypeError:
            continue
    raise ArgumentTypeError(f"{where} to save", "a dtype without fields", f"{dtype}")


def _refuse(value: Any, where: str) -> NoReturn:
    name = type(value).__name__
    fix = "save module.state_dict()" if hasattr(value, "state_dict") else ""
    for plain in (dict, list, tuple, str, int, float):
        if isinstance(value, plain):
            fix = f"save {plain.__name__}(…) of it; what is loaded would not be a {name}"
            break
    raise ArgumentTypeError(
        f"{where} to save", "tensors and plain values in dictionaries, lists and tuples",
        f"a {name}", fix,
    )


class _Reader:
    """Rebuilds values from their description."""

    def __init__(self, arrays: dict[str, Any], make: Make, classes: Classes) -> None:
        self._arrays, self._make = arrays, make
        self._sequences = {**_SEQUENCES, **classes}
        self._tensors: dict[str, Any] = {}
        self._marked: dict[Any, Any] = {}

    def rebuilt(self, tree: Any) -> Any:
        if not isinstance(tree, dict):
            if tree.__class__ is list:
                raise ValueError("a list without a kind")
            return tree
        if "tensor" in tree:
            return self._tensor(tree)
        if "same" in tree:
            return self._marked[tree["same"]]
        mark = tree.pop("mark", None)
        ((kind, parts),) = tree.items()
        if kind == "int":
            return int(parts, 16)
        if kind == "complex":
            real, imag = parts
            return complex(real, imag)
        if kind in _BYTES:
            return _BYTES[kind](base64.b64decode(parts, validate=True))
        if kind == "numpy_str":
            return numpy.str_(parts)
        if kind == "dtype":
            return dtype_named(str(parts))
        return self._container(kind, parts, mark)

    def _container(self, kind: str, parts: Any, mark: Any) -> Any:
        if kind in _MAPPINGS or kind == "list":
            made: Any = _MAPPINGS.get(kind, list)()
            if mark is not None:
                self._marked[mark] = made
            if kind == "list":
                for part in parts:
                    made.append(self.rebuilt(part))
                return made
            for key, value in parts:
                rebuilt = self.rebuilt(key)
                made[rebuilt] = self.rebuilt(value)
            return made
        made = self._sequences[kind]([self.rebuilt(part) for part in parts])
        if mark is not None:
            self._marked[mark] = made
        return made

    def _tensor(self, told: dict[str, Any]) -> Any:
        name = told["tensor"]
        if name not in self._tensors:
            self._tensors[name] = self._new(name, told)
        return self._tensors[name]

    def _new(self, name: str, told: dict[str, Any]) -> Any:
        array = self._arrays[name]
        if told.get("complex128"):
            array = array.view(numpy.complex128).reshape(array.shape[:-1])
        elif "memory" in told:
            dtype = numpy.dtype(told["memory"])
            if dtype.kind not in _AS_MEMORY:
                raise ValueError(f"memory of dtype {dtype}")
            array = _from_memory(array, dtype, told["shape"])
        if told.get("scalar"):
            return array[()]
        if told.get("array"):
            return array
        return self._make(array, bool(told.get("parameter")), bool(told.get("requires_grad")))


def _from_memory(array: Any, dtype: Any, shape: Any) -> Any:
    if not dtype.itemsize:  # text of no characters
        return numpy.zeros(shape, dtype)
    return numpy.frombuffer(array.tobytes(), dtype).reshape(shape).copy()
