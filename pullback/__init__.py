"""Automatic differentiation in which you own the gradient.

The front page: every public name, by task. Heavy parts load on first use.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from . import _loading as _loading
from . import autograd as autograd
from . import errors as errors
from .core.op import op as op
from .core.state import enable_grad as enable_grad
from .core.state import inference_mode as inference_mode
from .core.state import is_grad_enabled as is_grad_enabled
from .core.state import is_inference_mode_enabled as is_inference_mode_enabled
from .core.state import no_grad as no_grad
from .core.state import set_grad_enabled as set_grad_enabled
from .core.tensor import Tensor as Tensor
from .custom.function import Function as Function
from .custom.function import once_differentiable as once_differentiable
from .custom.gradient import custom_gradient as custom_gradient
from .custom.jvp import custom_jvp as custom_jvp
from .custom.override import Operation as Operation
from .custom.override import override_gradient as override_gradient
from .custom.override import register_gradient as register_gradient
from .custom.override import registered_gradient as registered_gradient
from .custom.ready import *
from .custom.vjp import custom_vjp as custom_vjp
from .errors import OverrideWarning as OverrideWarning
from .errors import PullbackError as PullbackError
from .forward_accumulator import ForwardAccumulator as ForwardAccumulator
from .inspection import __array_api_version__ as __array_api_version__
from .inspection import __array_namespace_info__ as __array_namespace_info__
from .ops import *
from .recording import debug as debug
from .recording import keep_values as keep_values
from .tape import GradientTape as GradientTape
from .transforms import checkpoint as checkpoint
from .transforms import checkpoint_sequential as checkpoint_sequential
from .transforms import grad as grad
from .transforms import hessian as hessian
from .transforms import hvp as hvp
from .transforms import jacfwd as jacfwd
from .transforms import jacobian as jacobian
from .transforms import jacrev as jacrev
from .transforms import jvp as jvp
from .transforms import linear_transpose as linear_transpose
from .transforms import linearize as linearize
from .transforms import safe_where as safe_where
from .transforms import value_and_grad as value_and_grad
from .transforms import vjp as vjp
from .transforms import vmap as vmap
from .variable import Variable as Variable

if TYPE_CHECKING:
    from . import fft as fft
    from . import graphs as graphs
    from . import linalg as linalg
    from . import nn as nn
    from . import optim as optim
    from . import random as random
    from . import solvers as solvers
    from . import special as special
    from . import tf as tf
    from . import torch as torch
    from .checking import check as check
    from .explaining import explain as explain
    from .graphs import TensorSpec as TensorSpec
    from .graphs import function as function
    from .measuring import peak as peak
    from .measuring import profile as profile
    from .measuring import residuals as residuals
    from .monitoring import monitor as monitor
    from .seeing import draw as draw
    from .solvers import fixed_point as fixed_point
    from .solvers import linear_solve as linear_solve
    from .solvers import odeint as odeint
    from .solvers import root as root

__version__ = "0.1.0"

for _name, _value in list(globals().items()):
    if getattr(_value, "__name__", "").startswith(f"{__name__}.ops."):
        del globals()[_name]  # a chapter's module, which the star import brought along

_LAZY = {"fft", "graphs", "linalg", "nn", "optim", "random", "solvers", "special", "tf", "torch"}
_PARTS = {
    **dict.fromkeys(("fixed_point", "linear_solve", "odeint", "root"), "solvers"),
    **dict.fromkeys(("TensorSpec", "function"), "graphs"),
    **dict.fromkeys(("peak", "profile", "residuals"), "measuring"),
    "check": "checking", "draw": "seeing", "explain": "explaining", "monitor": "monitoring",
}
"""Name -> the part that is loaded for it."""


def __getattr__(name: str) -> object:
    """Load a part of the library that not everybody needs."""
    if name in _LAZY:
        return _import_module(f".{name}", __name__)
    if name in _PARTS:
        return getattr(_import_module(f".{_PARTS[name]}", __name__), name)
    raise AttributeError(f"module 'pullback' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_PARTS})
