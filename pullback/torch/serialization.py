"""`torch.save` and `torch.load`: pytrees of tensors and plain values, as safetensors files."""

from __future__ import annotations

import os
from typing import Any

from .._files import write_file
from ..nn.nesting import dumps, loads
from .creation import made
from .errors import guarded_pull
from .nn.parameter import Parameter
from .tensor import Size

__all__ = ["load", "save"]

_CLASSES = {"size": Size}


@guarded_pull
def save(obj: Any, f: Any, **how: Any) -> None:
    """Saves dictionaries, lists, tuples and sets of tensors and plain values to a file.

    Plain values are Python's and NumPy's numbers, text, bytes, dtypes and None. What `load` returns
    equals what was saved, in classes and dtypes; an object that occurs twice is one object again.

    f  a path, or an object with `write`; an existing file is replaced only when the new one
       is complete and on the disk

    Raises `ArgumentTypeError` for anything else, such as a whole module: save its `state_dict()`.

    >>> import io
    >>> import pullback.torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"epoch": 3, "weights": [torch.ones(2)]}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'epoch': 3, 'weights': [tensor([1., 1.])]}
    """
    content = dumps(obj, _CLASSES)
    if not hasattr(f, "write"):
        write_file(f, content)
        return
    rest = memoryview(content)
    while rest:
        count = f.write(rest)  # an unbuffered file may take a part
        if not count or count >= len(rest):
            break
        rest = rest[count:]


@guarded_pull
def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True,
    mmap: bool | None = None, **how: Any,
) -> Any:
    """Loads the result of `save`, or the dictionary of tensors of any safetensors file.

    map_location  accepted and ignored: tensors live in CPU memory

    Raises `FileFormatError` (a RuntimeError here) for damaged and truncated files and for other
    formats: pickles are not read, because they can run code.
    """
    if hasattr(f, "read"):
        return loads(f.read(), _made, _CLASSES)
    with open(f, "rb") as file:
        return loads(file.read(), _made, _CLASSES, f"`load` of {os.fspath(f)!r}")


def _made(array: Any, learnt: bool, requires_grad: bool) -> Any:
    tensor = made(array)
    return Parameter(tensor, requires_grad) if learnt else tensor.requires_grad_(requires_grad)
