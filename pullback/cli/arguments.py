"""Function arguments as text (`f64[3,4]`, `i64[5]`, `0.5`, `data.npy`), and functions by name.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

import pullback as pb

from ..errors import ArgumentError, UnknownNameError

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "c128": "complex128", "c64": "complex64",
    "i64": "int64", "i32": "int32", "u8": "uint8", "bool": "bool",
}
"""Short name -> dtype; long names are accepted too."""

HELP = (
    "an argument of the function: f64[3,4] is a random float64 array of that shape (also f32, f16, "
    "c128, c64, i64, i32, u8, bool; f64[3]:0.1:2 draws from 0.1 to 2); 0.5 or (1, 2) is a Python "
    "literal; data.npy is a file"
)

_ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[\d,\s]*)\](?::(?P<low>[^:]+):(?P<high>.+))?")


def parsed(text: str, seed: int = 0) -> Any:
    """Converts a text to an argument; floating arrays become Tensors.

    Raises `ArgumentError` for a text in none of these forms.

    >>> parsed("f32[2,3]").shape, parsed("i64[4]").dtype, parsed("0.5")
    ((2, 3), dtype('int64'), 0.5)
    """
    found = _ARRAY.fullmatch(text.strip())
    if found is not None:
        dtype = DTYPES.get(found["dtype"], found["dtype"])
        if dtype not in DTYPES.values():
            raise _unknown(text)
        shape = tuple(int(n) for n in found["shape"].split(",") if n.strip())
        try:
            bounds = (float(found["low"]), float(found["high"])) if found["low"] else None
        except ValueError:
            raise _unknown(text) from None
        return pb.tensor(_drawn(dtype, shape, bounds, numpy.random.default_rng(seed)))
    if text.endswith(".npy"):
        return pb.tensor(_loaded(text))
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise _unknown(text) from None


def parsed_all(texts: Sequence[str], seed: int = 0) -> list[Any]:
    """Converts several texts, each with its own random seed."""
    return [parsed(text, seed + i) for i, text in enumerate(texts)]


def _loaded(path: str) -> Any:
    try:
        return numpy.load(path)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"--arg {path}", "a file in NumPy's .npy format", f"{type(error).__name__}: {error}"
        ) from None


def _unknown(text: str) -> ArgumentError:
    return ArgumentError(
        f"--arg {text}", "an array like f64[3,4], a Python literal, or a .npy file", repr(text),
        f"dtypes are {', '.join(DTYPES)}",
    )


def _drawn(
    dtype: str, shape: tuple[int, ...], bounds: tuple[float, float] | None, rng: Any
) -> Any:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith(("int", "uint")):
        low, high = bounds or (0, 4)
        return rng.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    values = rng.uniform(*bounds, shape) if bounds else rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def function_named(text: str) -> Any:
    """Imports the object `module:name` or `file.py:name`; also searches the current folder.

    Raises `UnknownNameError` if it does not exist.

    >>> function_named("pullback:exp") is pb.exp
    True
    """
    module, colon, name = text.rpartition(":")
    if not colon:
        fix = f"name a function: {text}:loss" if text.endswith(".py") else "write pullback:exp"
        raise ArgumentError(f"function {text}", "module:name or file.py:name", repr(text), fix)
    found = _module(module, text)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UnknownNameError(f"function {text}", f"a name in {module}", f"no {part!r} there")
        found = getattr(found, part)
    return found


def script(text: str) -> str:
    """Checks that a script exists, as an argparse `type`; returns its path.

    Raises `argparse.ArgumentTypeError` if it does not.
    """
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return text


def call(function: Any, args: Sequence[Any], text: str) -> Any:
    """Calls a function named `text` and returns its result.

    Raises `ArgumentError` if it is not callable, or takes another number of arguments.
    """
    if not callable(function):
        raise ArgumentError(f"function {text}", "a function", f"a {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C, without a signature: the call itself raises
        return function(*args)
    try:
        signature.bind(*args)
    except TypeError as error:
        raise ArgumentError(
            f"function {text}", f"arguments for {signature}", f"{len(args)}: {error}",
            'pass each with --arg, for example --arg "f64[3,4]"',
        ) from None
    return function(*args)


def argument_names(function: Any, count: int) -> list[str]:
    """The names of a function's first arguments; positions if the names are not known.

    >>> argument_names(lambda x, *rest: x, 3)
    ['x', 'argument 1', 'argument 2']
    """
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        known = {}.values()
    found = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [found[i] if i < len(found) else f"argument {i}" for i in range(count)]


def _module(name: str, text: str) -> Any:
    if name.endswith(".py"):
        path = Path(name).resolve()
        if not path.exists():
            raise UnknownNameError(f"function {text}", "an existing file", f"no {name}")
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, name.partition(".")[0]):
            raise
        raise UnknownNameError(
            f"function {text}", "a module that can be imported", str(error)
        ) from None
