"""PyTorch's way of asking for gradients, on the core's tensors: `backward` and `grad`."""

from .core.backward import backward as backward
from .core.backward import gradients as grad

__all__ = ["backward", "grad"]
