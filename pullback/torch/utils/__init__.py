"""`torch.utils`: what helps training and is no layer."""

from . import checkpoint as checkpoint
from . import data as data
from . import hooks as hooks

__all__ = ["checkpoint", "data", "hooks"]
