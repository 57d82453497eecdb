"""`torch.autograd.grad_mode`: whether operations are recorded."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from ...recording import enable_grad as enable_grad
from ...recording import inference_mode as inference_mode
from ...recording import no_grad as no_grad
from ...recording import set_grad_enabled as set_grad_enabled

__all__ = [
    "enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]


@contextmanager
def set_multithreading_enabled(mode: bool) -> Any:
    """Context manager without effect: a backward pass runs in the calling thread."""
    yield
