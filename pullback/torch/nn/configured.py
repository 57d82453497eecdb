"""Modules that store their options as attributes and pass them to a function."""

from __future__ import annotations

from typing import Any

from ...nn import configured as core
from ...nn.configured import NEEDED as NEEDED
from .module import Module

__all__ = ["NEEDED", "Configured"]


class Configured(Module, core.Configured):
    """A `torch.nn.Module` that applies a function with fixed options."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        Module.__init__(self)
        core.Configured.__init__(self, *args, **keywords)
