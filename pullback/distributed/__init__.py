"""Programs of several processes and devices: one checkpoint of everything that a run needs."""

from .saved_state import load_state, save_state

__all__ = ["load_state", "save_state"]
