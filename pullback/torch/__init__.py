"""PyTorch front end: `import pullback.torch as torch`.

PyTorch's names, defaults, argument orders and error types; the core computes everything.
Dtypes are NumPy's, tensors live in CPU memory, and random streams differ from PyTorch's.
"""

from typing import Any as _Any

from ..ops import e as e
from ..ops import inf as inf
from ..ops import nan as nan
from ..ops import newaxis as newaxis
from ..ops import pi as pi
from ..recording import enable_grad as enable_grad
from ..recording import inference_mode as inference_mode
from ..recording import is_grad_enabled as is_grad_enabled
from ..recording import is_inference_mode_enabled as is_inference_mode_enabled
from ..recording import no_grad as no_grad
from ..recording import set_grad_enabled as set_grad_enabled
from . import autograd as autograd
from . import cuda as cuda
from . import dtypes as _dtypes
from . import fft as fft
from . import func as func
from . import linalg as linalg
from . import methods as methods
from . import nn as nn
from . import optim as optim
from . import random as random
from . import special as special
from . import utils as utils
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .creation import *
from .draws import *
from .dtypes import *
from .elementwise import *
from .func import vmap as vmap
from .functions import *
from .index_updates import *
from .indexing import *
from .inplace import *
from .joining import *
from .nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from .nn.functional import avg_pool1d as avg_pool1d
from .nn.functional import bilinear as bilinear
from .nn.functional import celu as celu
from .nn.functional import channel_shuffle as channel_shuffle
from .nn.functional import conv1d as conv1d
from .nn.functional import conv2d as conv2d
from .nn.functional import conv3d as conv3d
from .nn.functional import conv_transpose1d as conv_transpose1d
from .nn.functional import conv_transpose2d as conv_transpose2d
from .nn.functional import cosine_similarity as cosine_similarity
from .nn.functional import dropout as dropout
from .nn.functional import group_norm as group_norm
from .nn.functional import hardshrink as hardshrink
from .nn.functional import layer_norm as layer_norm
from .nn.functional import max_pool1d as max_pool1d
from .nn.functional import max_pool2d as max_pool2d
from .nn.functional import max_pool3d as max_pool3d
from .nn.functional import pairwise_distance as pairwise_distance
from .nn.functional import pixel_shuffle as pixel_shuffle
from .nn.functional import pixel_unshuffle as pixel_unshuffle
from .nn.functional import prelu as prelu
from .nn.functional import rms_norm as rms_norm
from .nn.functional import selu as selu
from .ordering import *
from .products import *
from .random import *
from .reductions import *
from .serialization import load as load
from .serialization import save as save
from .settings import *
from .shaping import *
from .statistics import *
from .tensor import Size as Size
from .tensor import Tensor as Tensor
from .tensor import device as device
from .views import *


def is_floating_point(input: Tensor) -> object:
    """True if the tensor has a real floating-point dtype."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> object:
    """True if the tensor has a complex dtype."""
    return input.is_complex()


def numel(input: Tensor) -> object:
    """The number of entries of a tensor."""
    return input.numel()


def detach(input: Tensor) -> object:
    """A view of the same data, detached from the graph."""
    return input.detach()


def is_signed(input: _Any) -> object:
    """True if the tensor has a signed dtype."""
    return input.is_signed()


def is_nonzero(input: _Any) -> object:
    """True if the only entry of a tensor is not zero."""
    return input.is_nonzero()


def is_same_size(input: _Any, other: _Any) -> object:
    """True if two tensors have the same shape."""
    return input.is_same_size(other)


def __getattr__(name: str) -> _Any:
    """Load bfloat16 on first access: it needs the package ml_dtypes."""
    if name == "bfloat16":
        return _dtypes.of_bfloat16()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
