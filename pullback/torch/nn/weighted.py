"""Modules with parameters of given shapes, which begin with uniform numbers."""

from __future__ import annotations

import math
from typing import Any

from ..creation import empty
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["Weighted"]


class Weighted(Module):
    """A module whose parameters are at first uniform in ±1 / √inputs.

    >>> class Scale(Weighted):
    ...     def __init__(self, size):
    ...         super().__init__()
    ...         self._make(4, None, weight=(size,), bias=None)
    >>> scale = Scale(3)
    >>> scale.bias, scale.weight.shape, bool((scale.weight.abs() <= 0.5).all())
    (None, torch.Size([3]), True)
    """

    _inputs: int

    def _make(self, inputs: int, dtype: Any, **shapes: tuple[int, ...] | None) -> None:
        """Register parameters, None for those without a shape, and initialize them."""
        self._inputs = inputs
        for name, shape in shapes.items():
            value = None if shape is None else Parameter(empty(shape, dtype=dtype))
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters uniformly in ±1 / √inputs."""
        bound = 1 / math.sqrt(self._inputs) if self._inputs else 0.0
        for p in self.parameters(recurse=False):
            init.uniform_(p, -bound, bound)
