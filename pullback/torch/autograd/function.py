"""`torch.autograd.function`: base classes of custom autograd functions."""

from ...custom.function import Context as FunctionCtx
from ...custom.function import Function as Function
from ...custom.function import once_differentiable as once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
