"""Global settings, most of which have no effect here; and names of typed tensors."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.tensor import raw
from ..errors import ArgumentError
from . import dtypes
from .creation import made, tensor
from .errors import as_runtime, guarded
from .shaping import lengths
from .tensor import device

__all__ = [
    "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "are_deterministic_algorithms_enabled", "compile",
    "get_default_device", "get_num_threads", "set_default_device", "set_default_tensor_type",
    "set_num_threads", "use_deterministic_algorithms",
]


def _typed(name: str) -> Any:
    """A typed tensor constructor, such as `FloatTensor`."""
    dtype = dtypes.of_type(name)

    def call(*data: Any) -> Any:
        if len(data) == 1 and not isinstance(data[0], int):
            return tensor(data[0], dtype=dtype)
        return made(raw(ops.zeros(lengths(data) if data else (0,), dtype=dtype)))

    call.__name__ = name
    call.__doc__ = f"A {dtype} tensor of the data, or zeros of a shape given as ints."
    return guarded(call)


FloatTensor, DoubleTensor = _typed("FloatTensor"), _typed("DoubleTensor")
HalfTensor, BoolTensor = _typed("HalfTensor"), _typed("BoolTensor")
LongTensor, IntTensor = _typed("LongTensor"), _typed("IntTensor")
ShortTensor, CharTensor = _typed("ShortTensor"), _typed("CharTensor")
ByteTensor = _typed("ByteTensor")


def set_default_tensor_type(t: Any) -> None:
    """`set_default_dtype`, with a name such as "torch.DoubleTensor"."""
    dtypes.set_default_dtype(dtypes.of_type(t if isinstance(t, str) else t.__name__))


def set_default_device(device: Any) -> None:
    """No effect for "cpu"; raises an error for other devices."""
    if device is not None and str(device) != "cpu":
        raise as_runtime(ArgumentError("set_default_device", "the device cpu", repr(device)))


def get_default_device() -> Any:
    """Always `device("cpu")`."""
    return device("cpu")


def get_num_threads() -> int:
    """1: array libraries choose their number of threads."""
    return 1


def set_num_threads(num: int) -> None:
    """Has no effect: array libraries choose their number of threads."""


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Has no effect: algorithms are already deterministic."""


def are_deterministic_algorithms_enabled() -> bool:
    """True."""
    return True


def compile(model: Any = None, **how: Any) -> Any:
    """Returns the function or module unchanged, or a decorator that does: nothing is compiled.

    >>> compile(abs) is abs
    True
    """
    return compile if model is None else model
