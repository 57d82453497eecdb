"""`torch.cuda`, reported as not available, so that programs fall back to the CPU."""

from __future__ import annotations

from typing import Any

__all__ = [
    "current_device", "device_count", "empty_cache", "is_available", "manual_seed",
    "manual_seed_all", "synchronize",
]


def is_available() -> bool:
    """False: tensors live in CPU memory.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def current_device() -> int:
    """-1: there is no device."""
    return -1


def manual_seed(seed: int) -> None:
    """Has no effect: there is no CUDA generator."""


def manual_seed_all(seed: int) -> None:
    """Has no effect: there are no CUDA generators."""


def synchronize(device: Any = None) -> None:
    """Has no effect: operations have finished when a call returns."""


def empty_cache() -> None:
    """Has no effect: there is no CUDA memory."""
