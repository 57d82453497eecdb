"""`torch.cuda`, which is not available: programs that ask are told so, and go on."""

from __future__ import annotations

from typing import Any

__all__ = [
    "current_device", "device_count", "empty_cache", "is_available", "manual_seed",
    "manual_seed_all", "synchronize",
]


def is_available() -> bool:
    """False: memory is the processor's.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def current_device() -> int:
    """-1: there is none."""
    return -1


def manual_seed(seed: int) -> None:
    """Nothing: there is no such stream."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there are no such streams."""


def synchronize(device: Any = None) -> None:
    """Nothing: all is done when a call returns."""


def empty_cache() -> None:
    """Nothing: there is no such memory."""
