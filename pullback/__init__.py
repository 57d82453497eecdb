"""Automatic differentiation in which you own the gradient."""

from .core.state import enable_grad as enable_grad
from .core.state import inference_mode as inference_mode
from .core.state import is_grad_enabled as is_grad_enabled
from .core.state import no_grad as no_grad
from .core.state import set_grad_enabled as set_grad_enabled
from .core.tensor import Tensor as Tensor
from .ops import *
