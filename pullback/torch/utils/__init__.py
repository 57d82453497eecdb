"""`torch.utils`: what helps training and is no layer."""

from . import checkpoint as checkpoint

__all__ = ["checkpoint"]
