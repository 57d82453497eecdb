"""`torch.autograd.function`: what a gradient written by hand is made with."""

from ...custom.function import Context as FunctionCtx
from ...custom.function import Function as Function
from ...custom.function import once_differentiable as once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
