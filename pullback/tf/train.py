"""`tf.train`: save variables, modules and optimizers to files, and restore them.

The files are safetensors: names and numbers, no code.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from .._files import write_file
from ..core.tensor import raw
from ..errors import ArgumentError, ArgumentTypeError, FileFormatError
from ..nn.saving import load, save
from .errors import DataLossError, NotFoundError
from .module import Module
from .optimizers import Optimizer
from .variable import Variable

__all__ = [
    "Checkpoint", "CheckpointManager", "latest_checkpoint", "list_variables", "load_variable",
]

SUFFIX = ".safetensors"


class Checkpoint:
    """Saves and restores the variables of several objects together.

    root, objects  variables, modules, optimizers, checkpoints, and lists and dictionaries of them;
                   a variable's key is the path of attribute names and indices to it

    >>> import pathlib, tempfile
    >>> from pullback import tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> path = tf.train.Checkpoint(v=v).save(pathlib.Path(tempfile.mkdtemp()) / "model")
    >>> _ = v.assign([0.0, 0.0])
    >>> _ = tf.train.Checkpoint(v=v).restore(path)
    >>> v.numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, root: Any = None, **objects: Any) -> None:
        for name, value in objects.items():
            if not isinstance(value, (Variable, Module, Optimizer, Checkpoint, list, tuple, dict)):
                raise ArgumentTypeError(
                    f"argument `{name}` of tf.train.Checkpoint",
                    "variables, modules, optimizers, or lists and dictionaries of them",
                    f"a {type(value).__name__}",
                )
            setattr(self, name, value)
        self.root = root
        self.save_counter = Variable(0, dtype="int64", trainable=False, name="save_counter")

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Write to `{file_prefix}-{number}` and return that path; the number increases by 1.

        `latest_checkpoint` of the directory then returns this path.
        """
        self.save_counter.assign_add(1)
        path = f"{file_prefix}-{int(self.save_counter)}"
        self.write(path)
        note_latest(path)
        return path

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Write to a path and return it; the file name is the path plus `.safetensors`."""
        path = Path(f"{file_prefix}{SUFFIX}")
        path.parent.mkdir(parents=True, exist_ok=True)
        save(self._named(), path)
        return str(file_prefix)

    def restore(self, save_path: Any, options: Any = None) -> Status:
        """Assign the values that `save` or `write` wrote; does nothing if the path is None.

        Optimizer slots that do not exist yet receive their values on creation.
        Raises `NotFoundError` for a missing path, `ArgumentError` (a `ValueError`) for
        another shape.
        """
        if save_path is None:
            return Status(set(), set())
        return self.read(save_path)

    def read(self, save_path: Any, options: Any = None) -> Status:
        """`restore`, for a path returned by `write`."""
        found = variables_in(save_path)
        own = self._named()
        for name in own.keys() & found.keys():
            own[name].assign(raw(found[name]))
        unused = found.keys() - own.keys()
        for place, optimizer in self._optimizers():
            for name in [n for n in unused if n.startswith(place)]:
                optimizer.awaited[name.removeprefix(place)] = raw(found[name])
        return Status(set(unused), set(own.keys() - found.keys()) - {"save_counter"})

    def _named(self) -> dict[str, Any]:
        """The variables by name; an error where two have one name, and one would be lost."""
        found: dict[str, Any] = {}
        for name, v in self._variables():
            if name in found:
                raise ArgumentError(
                    "objects of tf.train.Checkpoint", "another path to each variable",
                    f"two variables at {name!r}", "rename an attribute or a key",
                )
            found[name] = v
        return found

    def _held(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "root"}

    def _variables(self) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for value in (self.root, self._held()):
            for name, v in _walk(value, ""):
                if isinstance(v, Variable) and id(v) not in seen:
                    seen.add(id(v))
                    yield name, v

    def _optimizers(self) -> Iterator[tuple[str, Any]]:
        for value in (self.root, self._held()):
            for name, v in _walk(value, ""):
                if isinstance(v, Optimizer):
                    yield f"{name}/" if name else "", v


def _walk(value: Any, name: str, seen: tuple[int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Variables and optimizers in an object, with their paths."""
    if id(value) in seen:
        return
    seen = (*seen, id(value))
    parts: Any = ()
    if isinstance(value, Variable):
        yield name, value
    elif isinstance(value, Optimizer):
        yield name, value
        parts = value.kept().items()
    elif isinstance(value, Checkpoint):
        parts = value._held().items() if value.root is None else {
            **value._held(), "root": value.root}.items()
    elif isinstance(value, Module):
        parts = sorted((k, v) for k, v in vars(value).items() if not k.startswith("__"))
    elif isinstance(value, dict):
        parts = sorted(((str(k), v) for k, v in value.items()), key=itemgetter(0))
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    for key, part in parts:
        yield from _walk(part, f"{name}/{key}" if name else str(key), seen)


class Status:
    """The values that `restore` did not use, and the variables that it did not find."""

    def __init__(self, unused: set[str], missing: set[str]) -> None:
        self._unused, self._missing = unused, missing

    def assert_consumed(self) -> Status:
        """Raise an `AssertionError` unless every variable was found and every value used."""
        self.assert_existing_objects_matched()
        if self._unused:
            raise AssertionError(f"in the checkpoint but not used: {sorted(self._unused)}")
        return self

    def assert_existing_objects_matched(self) -> Status:
        """Raise an `AssertionError` unless every variable was in the checkpoint."""
        if self._missing:
            raise AssertionError(f"not in the checkpoint: {sorted(self._missing)}")
        return self

    def assert_nontrivial_match(self) -> Status:
        """Same as `assert_existing_objects_matched`."""
        return self.assert_existing_objects_matched()

    def expect_partial(self) -> Status:
        """Has no effect: unused values are never reported."""
        return self


# Files ------------------------------------------------------------------------------------------


def variables_in(path: Any) -> dict[str, Any]:
    """The variables of a checkpoint, by name.

    Raises `NotFoundError` if there is no file, and `DataLossError` if it is damaged.
    """
    try:
        return load(f"{path}{SUFFIX}")
    except FileFormatError as error:
        raise DataLossError(None, None, str(error)) from None
    except FileNotFoundError:
        raise NotFoundError(None, None, f"no checkpoint at {path}") from None


def note_latest(path: Any, state_filename: str | None = None) -> None:
    """Records a checkpoint as the latest of its directory."""
    state = Path(path).parent / (state_filename or "checkpoint")
    name = json.dumps(Path(path).name, ensure_ascii=False)
    write_file(state, os.fsencode(f"model_checkpoint_path: {name}\n"))


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The path of the latest checkpoint in a directory; None if there is none.

    >>> latest_checkpoint("no/such/folder")
    """
    note = Path(checkpoint_dir) / (latest_filename or "checkpoint")
    if not note.exists():
        return None
    try:
        named = re.search(r'".*"', os.fsdecode(note.read_bytes()))
        path = note.parent / (json.loads(named[0]) if named else "")
    except (ValueError, TypeError):  # a damaged note names no checkpoint
        return None
    return str(path) if Path(f"{path}{SUFFIX}").exists() else None


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Names and shapes of a checkpoint's variables, sorted by name."""
    path = latest_checkpoint(ckpt_dir_or_file) or ckpt_dir_or_file
    return [(n, list(v.shape)) for n, v in sorted(variables_in(path).items())]


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """A checkpoint's variable as an array.

    Raises `NotFoundError` for a missing name.
    """
    found = variables_in(latest_checkpoint(ckpt_dir_or_file) or ckpt_dir_or_file)
    if name not in found:
        raise NotFoundError(None, None, f"no {name!r} in the checkpoint; it has {sorted(found)}")
    return found[name].numpy()


class CheckpointManager:
    """Keeps the latest checkpoints in a directory.

    max_to_keep  the number of checkpoints to keep; None for all

    >>> import tempfile
    >>> from pullback import tf
    >>> manager = tf.train.CheckpointManager(
    ...     tf.train.Checkpoint(v=tf.Variable(1.0)), tempfile.mkdtemp(), max_to_keep=2)
    >>> [manager.save()[-2:] for _ in range(3)], len(manager.checkpoints)
    (['-1', '-2', '-3'], 2)
    """

    def __init__(
        self, checkpoint: Checkpoint, directory: Any, max_to_keep: int | None,
        checkpoint_name: str = "ckpt", **options: Any,
    ) -> None:
        self.checkpoint, self.directory = checkpoint, str(directory)
        self._most, self._prefix = max_to_keep, Path(directory) / checkpoint_name

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the existing checkpoints, oldest first."""
        names = [str(p)[: -len(SUFFIX)]
                 for p in self._prefix.parent.glob(f"{self._prefix.name}-*{SUFFIX}")]
        return sorted(names, key=lambda n: int(n.rpartition("-")[2]))

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint; None if there is none."""
        return next(reversed(self.checkpoints), None)

    def save(self, checkpoint_number: int | None = None, **options: Any) -> str:
        """Save a new checkpoint, and delete the oldest ones beyond max_to_keep."""
        if checkpoint_number is None:
            path = self.checkpoint.save(self._prefix)
        else:
            path = self.checkpoint.write(f"{self._prefix}-{int(checkpoint_number)}")
            note_latest(path)
        kept = self.checkpoints
        for old in kept[: len(kept) - self._most] if self._most else []:
            Path(f"{old}{SUFFIX}").unlink()
        return path

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its path; None if there is none."""
        latest = self.latest_checkpoint
        if latest is not None:
            self.checkpoint.restore(latest)
        return latest
