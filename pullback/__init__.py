"""Automatic differentiation in which you own the gradient.

The front page: every public name, by task. What a Tensor needs is imported with the package, the
rest when one of its names is first used.
"""

import sys as _sys
from typing import TYPE_CHECKING

from ._loading import Renamed as _Renamed
from ._loading import on_use as _on_use
from ._loading import uncollected as _uncollected
from ._places import APART as _APART
from ._places import FRONT_PAGE as _FRONT_PAGE

with _uncollected():
    from . import errors as errors
    from . import ops as ops
    from . import protocols as _protocols  # noqa: F401  # binds NumPy's protocols to Tensor
    from .core.tensor import Tensor as Tensor
    from .errors import OverrideWarning as OverrideWarning
    from .errors import PullbackError as PullbackError
    from .ops.declaring import op as op
    from .passes import hooks as _hooks  # noqa: F401  # binds `grad` and hooks to Tensor

__version__ = "0.1.0"

_sys.meta_path.insert(0, _Renamed({
    "pullback.checking": "pullback.tools.check", "pullback.explaining": "pullback.tools.explain",
    "pullback.seeing": "pullback.tools.draw", "pullback.drawing": "pullback.tools.draw.layout",
    "pullback.measuring": "pullback.tools.profile",
    "pullback.monitoring": "pullback.tools.monitor",
}))  # first, as the finder of files would load a module of a renamed package again

if TYPE_CHECKING:
    from . import autograd as autograd
    from . import configuration as configuration
    from . import custom as custom
    from . import forward_accumulator as forward_accumulator
    from . import inspection as inspection
    from . import recording as recording
    from . import tape as tape
    from . import transforms as transforms
    from . import trees as trees
    from . import variable as variable
    from .configuration import kernels as kernels
    from .configuration import set_kernels as set_kernels
    from .configuration import show_config as show_config
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
    from .forward_accumulator import ForwardAccumulator as ForwardAccumulator
    from .inspection import __array_api_version__ as __array_api_version__
    from .inspection import __array_namespace_info__ as __array_namespace_info__
    from .ops import *
    from .recording import enable_grad as enable_grad
    from .recording import inference_mode as inference_mode
    from .recording import is_grad_enabled as is_grad_enabled
    from .recording import is_inference_mode_enabled as is_inference_mode_enabled
    from .recording import keep_values as keep_values
    from .recording import no_grad as no_grad
    from .recording import set_grad_enabled as set_grad_enabled
    from .tape import GradientTape as GradientTape
    from .tools.debug import debug as debug
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

if TYPE_CHECKING:  # rooms and tools, which `from pullback import *` leaves out
    from . import distributed as distributed
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
    from .distributed import load_state as load_state
    from .distributed import save_state as save_state
    from .graphs import TensorSpec as TensorSpec
    from .graphs import function as function
    from .graphs.flow import cond as cond
    from .graphs.flow import fori_loop as fori_loop
    from .graphs.flow import map as map
    from .graphs.flow import scan as scan
    from .graphs.flow import while_loop as while_loop
    from .solvers import fixed_point as fixed_point
    from .solvers import linear_solve as linear_solve
    from .solvers import odeint as odeint
    from .solvers import root as root
    from .tools.check import check as check
    from .tools.draw import draw as draw
    from .tools.explain import explain as explain
    from .tools.monitor.monitor import monitor as monitor
    from .tools.profile import peak as peak
    from .tools.profile import profile as profile
    from .tools.profile import residuals as residuals
    from .xla.jit import jit as jit
else:
    __getattr__, __dir__ = _on_use(globals(), _FRONT_PAGE, _APART)
