"""One checkpoint of a run: modules, optimizers, schedulers, generators, tensors, plain values."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from .._files import write_file
from ..arrays import adapters, processes
from ..core import versions
from ..core.tensor import Tensor, raw
from ..errors import ArgumentError, FileFormatError, PullbackError, ShapeError, suggestion
from ..nn.nesting import described, loads, packed_text
from ..nn.saving import plain_array
from ..random import Generator
from ..variable import Variable

__all__ = ["load_state", "save_state"]

Target = str | os.PathLike[str]


class SaveError(PullbackError, OSError):
    """Process 0 could not write a checkpoint, which it writes for all."""


def save_state(path: Target, *, format: str = "auto", **parts: Any) -> None:
    """Write all that a run needs to go on to one checkpoint, which `load_state` reads.

    parts   by name: objects with `state_dict` and `load_state_dict` (modules, optimizers,
            schedulers), generators (`pullback.random` for the default one, NumPy's), Variables and
            tensors, which `load_state` restores in place; and plain values, which it returns:
            numbers, text, arrays, and containers of these
    format  "safetensors", one file; "orbax", a folder, in which each process writes what its
            devices have; "auto" takes the format of a checkpoint that exists, else Orbax if it is
            installed and an array is spread over devices

    Every process calls it, with the same parts. A checkpoint that exists is replaced when the new
    one is complete and on the disk: a run that is killed at any moment leaves the old one or the
    new one. Raises `ArgumentTypeError` for a part that is none of these, and `OSError` in every
    process if it cannot be written.

    >>> import pathlib, tempfile
    >>> import pullback as pb
    >>> net = pb.nn.Linear(3, 2)
    >>> optimizer = pb.optim.Adam(net.parameters(), lr=0.01)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.state"
    >>> pb.save_state(path, net=net, optimizer=optimizer, random=pb.random, step=7)
    >>> pb.load_state(path, net=net, optimizer=optimizer, random=pb.random)
    {'step': 7}
    """
    content = {name: _kind_of(part).saved(part) for name, part in parts.items()}
    kinds = {name: _kind_of(part).name for name, part in parts.items()}
    if format not in ("auto", "safetensors", "orbax"):
        raise ArgumentError(
            "argument `format` of `save_state`", "'auto', 'safetensors' or 'orbax'", repr(format)
        )
    if _with_orbax(format, path, content):
        from . import orbax

        orbax.save(path, {"kinds": kinds, "parts": content})
        return
    text, arrays = described({"kinds": kinds, "parts": content}, plain=_whole)
    _by_the_first(lambda: write_file(path, packed_text(text, arrays)), path)


def load_state(path: Target, **parts: Any) -> dict[str, Any]:
    """Restore parts in place from a checkpoint of `save_state`; returns its plain values.

    parts  objects like those that were saved, under the same names; those that are left out are
           not restored. Arrays keep the library, the devices and the sharding that they have now,
           so that a run can go on with another number of processes.

    Every process calls it. Raises `ArgumentError` for a name that the checkpoint does not have,
    or has as another kind of part, `FileFormatError` for a damaged file and `FileNotFoundError`;
    after an error all parts are as they were.
    """
    subject = f"`load_state` of {os.fspath(path)!r}"
    if os.path.isdir(path):
        from . import orbax

        content = orbax.load(path)
    else:
        content = loads(Path(path).read_bytes(), subject=subject)
    if not isinstance(content, dict) or set(content) != {"kinds", "parts"}:
        raise FileFormatError(
            subject, "a checkpoint of `save_state`", "another file",
            "a file of `nn.save` is read by `nn.load`",
        )
    kinds, saved = content["kinds"], content["parts"]
    for name, part in parts.items():
        _check(name, _kind_of(part).name, kinds, subject)
    before = {name: _kind_of(part).saved(part) for name, part in parts.items()}
    try:
        for name, part in parts.items():
            _kind_of(part).restore(part, saved[name])
    except BaseException:
        for name, part in parts.items():
            _kind_of(part).restore(part, before[name])
        raise
    return {name: saved[name] for name, kind in kinds.items() if kind == "value"}


def _check(name: str, kind: str, kinds: dict[str, str], subject: str) -> None:
    if name not in kinds:
        raise ArgumentError(
            f"part `{name}` of {subject}", f"a part of the checkpoint: {', '.join(kinds)}",
            "a name that it does not have", suggestion(name, kinds),
        )
    if kinds[name] != kind:
        raise ArgumentError(f"part `{name}` of {subject}", _WORDS[kinds[name]], _WORDS[kind])
    if kind == "value":
        raise ArgumentError(
            f"part `{name}` of {subject}", "a part that is restored in place",
            "a plain value", "leave it out; it is among the values that `load_state` returns",
        )


# Kinds of parts ----------------------------------------------------------------------------------


class _Kind:
    """How a kind of part is saved and restored."""

    def __init__(
        self, name: str, saved: Callable[[Any], Any], restore: Callable[[Any, Any], Any]
    ) -> None:
        self.name, self.saved, self.restore = name, saved, restore


def _copied(tensor: Tensor) -> Any:
    return adapters[raw(tensor).__class__].copy(raw(tensor))


def _overwrite(tensor: Tensor, value: Any) -> None:
    if tuple(value.shape) != tensor.shape:
        raise ShapeError(
            "tensor given to `load_state`", f"shape {tuple(value.shape)}", f"shape {tensor.shape}"
        )
    if isinstance(tensor, Variable):
        tensor.assign(raw(value))
        return
    tensor._data = adapters[tensor._data.__class__].write(tensor._data, raw(value))
    versions.written(tensor._data, "load_state", line=False)


_STATEFUL = _Kind("state", lambda p: p.state_dict(), lambda p, saved: p.load_state_dict(saved))
_GENERATOR = _Kind("generator", lambda p: p.get_state(), lambda p, saved: p.set_state(saved))
_NUMPY = _Kind(
    "generator", lambda p: p.bit_generator.state,
    lambda p, saved: setattr(p.bit_generator, "state", saved),
)
_TENSOR = _Kind("tensor", _copied, _overwrite)
_VALUE = _Kind("value", lambda p: p, lambda p, saved: None)
_WORDS = {
    "state": "an object with `state_dict`", "generator": "a generator", "tensor": "a tensor",
    "value": "a plain value",
}


def _kind_of(part: Any) -> _Kind:
    if hasattr(part, "state_dict") and hasattr(part, "load_state_dict"):
        return _STATEFUL
    if isinstance(part, Generator) or (hasattr(part, "get_state") and hasattr(part, "set_state")):
        return _GENERATOR
    if isinstance(part, numpy.random.Generator):
        return _NUMPY
    return _TENSOR if isinstance(part, Tensor) else _VALUE


# Processes ---------------------------------------------------------------------------------------


def _whole(value: Any, where: str) -> Any:
    """All entries of an array, also of one that is spread over processes."""
    return plain_array(processes.whole(raw(value)), where)


def _by_the_first(write: Callable[[], None], path: Target) -> None:
    """Let process 0 write; every process goes on when that is done, or raises."""
    if processes.rank() == 0:
        try:
            write()
        except OSError as failed:
            processes.agree(repr(failed))
            raise
    error = processes.agree()
    if error:
        raise SaveError(
            f"`save_state` to {os.fspath(path)!r}", "a checkpoint written by process 0", error
        )


def _with_orbax(format: str, path: Target, content: Any) -> bool:
    if format != "auto":
        return format == "orbax"
    if os.path.exists(path):
        return os.path.isdir(path)
    return _spread(content) and _orbax_is_here()


def _spread(content: Any) -> bool:
    """Whether an array in a nested value is on several devices."""
    if isinstance(content, dict):
        return any(_spread(part) for part in content.values())
    if isinstance(content, (list, tuple)):
        return any(_spread(part) for part in content)
    return processes.is_spread(raw(content))


def _orbax_is_here() -> bool:
    from importlib.util import find_spec

    return find_spec("orbax") is not None
