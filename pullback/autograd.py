"""PyTorch-style gradient functions: `backward` and `grad`."""

from .core.backward import backward as backward
from .core.backward import gradients as grad

__all__ = ["backward", "grad"]
