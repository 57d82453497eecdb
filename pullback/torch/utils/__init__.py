"""`torch.utils`: training utilities that are not layers."""

from . import checkpoint as checkpoint
from . import data as data
from . import hooks as hooks

__all__ = ["checkpoint", "data", "hooks"]
