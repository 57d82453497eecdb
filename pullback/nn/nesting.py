"""Nested values as the content of a safetensors file: arrays, plus a description in JSON.

Containers are dictionaries, lists and tuples; they hold tensors, arrays and plain Python values.
A file holds no code.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy

from ..core.tensor import Tensor, raw, to_array
from ..errors import ArgumentError, ArgumentTypeError
from .parameter import Parameter
from .saving import _safetensors

__all__ = ["dumps", "loads"]

_KEY = "pullback"
_PLAIN = (str, int, float, bool, type(None))

Make = Callable[[Any, bool, bool], Any]


def dumps(values: Any) -> bytes:
    """A nested value as the bytes of a safetensors file.

    Raises `ArgumentTypeError` for values that are not plain data: instances of classes, functions.

    >>> loads(dumps({"step": 3, "state": [(1.5, None)]}))
    {'step': 3, 'state': [(1.5, None)]}
    """
    arrays: dict[str, Any] = {}
    tree = _described(values, "values", arrays, {})
    return _safetensors().save(arrays, metadata={_KEY: json.dumps(tree)})


def loads(content: bytes, make: Make | None = None) -> Any:
    """The nested value in a file's bytes; for a file from another program, {name: tensor}.

    make  builds a tensor from (array, whether it was a parameter, whether it required gradients)

    Raises `ArgumentError` for another format; pickles are never read.
    """
    make = make or _made
    try:
        arrays = _safetensors().load(content)
        length = int.from_bytes(content[:8], "little")
        text = json.loads(content[8 : 8 + length]).get("__metadata__", {}).get(_KEY)
    except ImportError:
        raise
    except Exception as error:  # safetensors' own class, and errors of its parser
        pickled = content[:2] in (b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05")
        raise ArgumentError(
            "content to load", "a safetensors file", "a pickle" if pickled else str(error),
            "save it again in this format; pickles are not read, because they can run code",
        ) from None
    if text is None:
        return {name: make(array, False, False) for name, array in arrays.items()}
    return _rebuilt(json.loads(text), arrays, make, {})


def _made(array: Any, learnt: bool, requires_grad: bool) -> Tensor:
    return Parameter(array, requires_grad) if learnt else Tensor(array, requires_grad)


def _described(value: Any, where: str, arrays: dict[str, Any], names: dict[int, str]) -> Any:
    """The JSON description of a value; its arrays are added to `arrays`."""
    if isinstance(value, numpy.generic) and not value.shape:
        value = numpy.asarray(value)
    if isinstance(value, (Tensor, numpy.ndarray)):
        return _of_tensor(value, where, arrays, names)
    if isinstance(value, dict):
        kind = "ordered" if isinstance(value, OrderedDict) else "dict"
        return {kind: [
            [_described(k, f"a key of {where}", arrays, names),
             _described(v, f"{where}[{k!r}]", arrays, names)] for k, v in value.items()
        ]}
    if isinstance(value, (list, tuple)):
        parts = [_described(v, f"{where}[{i}]", arrays, names) for i, v in enumerate(value)]
        return {"list" if isinstance(value, list) else "tuple": parts}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, numpy.dtype):
        return {"dtype": value.name}
    if isinstance(value, _PLAIN):
        return value
    raise ArgumentTypeError(
        f"{where} to save", "tensors and plain values in dictionaries, lists and tuples",
        f"a {type(value).__name__}",
        "save module.state_dict()" if hasattr(value, "state_dict") else "",
    )


def _of_tensor(
    value: Any, where: str, arrays: dict[str, Any], names: dict[int, str]
) -> dict[str, Any]:
    name = names.setdefault(id(value), f"{len(names)}")
    array = numpy.array(raw(to_array(value)), order="C")
    split = array.dtype == numpy.complex128  # which safetensors does not support
    if name not in arrays:
        arrays[name] = array.view(numpy.float64).reshape(*array.shape, 2) if split else array
    told = {
        "tensor": name, "parameter": isinstance(value, Parameter), "complex128": split,
        "array": isinstance(value, numpy.ndarray),
        "requires_grad": isinstance(value, Tensor) and value.requires_grad and value.is_leaf,
    }
    return {k: v for k, v in told.items() if v is not False}


def _rebuilt(tree: Any, arrays: dict[str, Any], make: Make, seen: dict[str, Any]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "tensor" in tree:
        name = tree["tensor"]
        if name not in seen:
            array = arrays[name]
            if tree.get("complex128"):
                array = array.view(numpy.complex128)[..., 0]
            seen[name] = array if tree.get("array") else make(
                array, bool(tree.get("parameter")), bool(tree.get("requires_grad"))
            )
        return seen[name]
    ((kind, parts),) = tree.items()
    if kind == "complex":
        return complex(*parts)
    if kind == "dtype":
        return numpy.dtype(parts)
    if kind in ("dict", "ordered"):
        pairs = [[_rebuilt(part, arrays, make, seen) for part in pair] for pair in parts]
        return OrderedDict(pairs) if kind == "ordered" else dict(pairs)
    values = [_rebuilt(part, arrays, make, seen) for part in parts]
    return values if kind == "list" else tuple(values)
