"""`torch.save` and `torch.load`: pytrees of tensors and plain values, as safetensors files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..nn.nesting import dumps, loads
from .creation import made
from .errors import as_runtime, guarded_pull
from .nn.parameter import Parameter

__all__ = ["load", "save"]


@guarded_pull
def save(obj: Any, f: Any, **how: Any) -> None:
    """Saves dictionaries, lists and tuples of tensors and plain values to a file.

    f  a path, or an object with `write`; an existing file is replaced only when the new one
       is complete

    Raises `ArgumentTypeError` for anything else, such as a whole module: save its `state_dict()`.

    >>> import io
    >>> import pullback.torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"epoch": 3, "weights": [torch.ones(2)]}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'epoch': 3, 'weights': [tensor([1., 1.])]}
    """
    content = dumps(obj)
    if hasattr(f, "write"):
        f.write(content)
        return
    path = Path(f)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True,
    mmap: bool | None = None, **how: Any,
) -> Any:
    """Loads the result of `save`, or the dictionary of tensors of any safetensors file.

    map_location  accepted and ignored: tensors live in CPU memory

    Raises a RuntimeError subclass for other files: pickles are not read, because they can
    run code.
    """
    content = f.read() if hasattr(f, "read") else Path(f).read_bytes()
    try:
        return loads(content, _made)
    except ArgumentError as error:
        raise as_runtime(error) from None


def _made(array: Any, learnt: bool, requires_grad: bool) -> Any:
    tensor = made(array)
    return Parameter(tensor, requires_grad) if learnt else tensor.requires_grad_(requires_grad)
