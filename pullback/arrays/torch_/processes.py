"""PyTorch's processes; see `arrays/processes.py`."""

from __future__ import annotations

from typing import Any

from torch import distributed

from .adapter import ADAPTER


def connected() -> bool:
    """Whether `torch.distributed.init_process_group` has connected several."""
    return distributed.is_available() and distributed.is_initialized() \
        and distributed.get_world_size() > 1


def rank() -> int:
    """The number of this process."""
    return distributed.get_rank()


def agree(error: str) -> str:
    """Wait for all; the text of process 0."""
    told: list[Any] = [error]
    distributed.broadcast_object_list(told, src=0)
    return str(told[0])


def whole(array: Any) -> Any:
    """All entries of an array as a NumPy array, in each process."""
    full = getattr(array, "full_tensor", None)  # of a DTensor
    return ADAPTER.numpy(array if full is None else full())


def is_spread(array: Any) -> bool:
    """Whether a tensor is a DTensor on several devices."""
    mesh = getattr(array, "device_mesh", None)
    return mesh is not None and mesh.size() > 1
