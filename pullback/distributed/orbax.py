"""Checkpoints through Orbax: each process writes the parts of arrays that its devices have.

A checkpoint is a folder with one text file, `state.json`, and a folder of arrays that the file
names. The file is replaced last and in one step, so a reader finds the old checkpoint or the new.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import numpy

from .._files import write_file
from ..arrays import processes
from ..core.tensor import raw
from ..errors import FileFormatError
from ..nn.nesting import described, rebuilt
from ..nn.saving import MissingPackageError, plain_array

_TEXT = "state.json"


def save(path: Any, content: Any) -> None:
    """Write a nested value; every process calls it."""
    folder = Path(os.path.abspath(path))
    text, arrays = described(content, plain=_as_it_is)
    name = processes.agree(f"arrays-{secrets.token_hex(8)}")
    if processes.rank() == 0:
        folder.mkdir(parents=True, exist_ok=True)
    processes.agree()
    with _orbax().PyTreeCheckpointer() as writer:
        writer.save(folder / name, arrays or {"none": numpy.zeros(())})
    if processes.rank() == 0:
        write_file(folder / _TEXT, json.dumps({"arrays": name, "content": text}))
        for old in folder.glob("arrays-*"):
            if not old.name.startswith(name):
                shutil.rmtree(old, ignore_errors=True)
    processes.agree()


def load(path: Any) -> Any:
    """The nested value of a folder, with whole arrays of NumPy."""
    folder = Path(os.path.abspath(path))
    subject = f"`load_state` of {os.fspath(path)!r}"
    try:
        told = json.loads((folder / _TEXT).read_text())
        arrays = _arrays(folder / told["arrays"])
        return rebuilt(told["content"], arrays)
    except ImportError:
        raise
    except Exception as error:
        raise FileFormatError(
            subject, "a folder that `save_state` wrote", f"{error!r}"[:300],
            "the folder is damaged or something else",
        ) from None


def _arrays(folder: Path) -> dict[str, Any]:
    checkpoint = _orbax()
    with checkpoint.PyTreeCheckpointer() as reader:
        names = reader.metadata(folder).item_metadata.tree
        as_numpy = {name: checkpoint.RestoreArgs(restore_type=numpy.ndarray) for name in names}
        arrays: dict[str, Any] = reader.restore(folder, restore_args=as_numpy)
    return arrays


def _as_it_is(value: Any, where: str) -> Any:
    """An array that is spread over devices as it is, any other in NumPy's memory."""
    array = raw(value)
    return array if processes.is_spread(array) else plain_array(array, where)


def _orbax() -> Any:
    try:
        return importlib.import_module("orbax.checkpoint")
    except ImportError:
        raise MissingPackageError(
            "a checkpoint in Orbax's format", "the package orbax-checkpoint", "not installed",
            "pip install orbax-checkpoint, or save_state(…, format='safetensors')",
        ) from None
