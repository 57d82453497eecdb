"""TensorFlow 2 front end: TensorFlow's names, defaults, argument orders and dtype strictness.

    import pullback.tf as tf

Tensors are float32 unless another dtype is given, and operations never mix dtypes. Only what the
core differentiates is differentiated here: this package renames and adapts.
"""

from importlib import import_module as _import_module
from typing import Any

from ..kinds.symbols import current_graph as _current_graph
from . import autodiff as autodiff
from . import config as config
from . import debugging as debugging
from . import dtypes as _dtypes
from . import errors as errors
from . import linalg as linalg
from . import math as math
from . import nest as nest
from . import nn as nn
from . import optimizers as optimizers
from . import random as random
from . import signal as signal
from . import train as train
from .absent import absent as _absent
from .control import *
from .convert import constant as constant
from .convert import convert_to_tensor as convert_to_tensor
from .convert import is_tensor as is_tensor
from .debugging import assert_equal as assert_equal
from .debugging import assert_greater as assert_greater
from .debugging import assert_less as assert_less
from .debugging import assert_rank as assert_rank
from .differentiation import *
from .dtypes import *
from .effects import *
from .function import *
from .gathering import *
from .indexed_slices import IndexedSlices as IndexedSlices
from .initial_values import *
from .joining import *
from .linalg import clip_by_global_norm as clip_by_global_norm
from .linalg import clip_by_norm as clip_by_norm
from .linalg import eig as eig
from .linalg import eigvals as eigvals
from .linalg import einsum as einsum
from .linalg import matmul as matmul
from .linalg import norm as norm
from .linalg import tensordot as tensordot
from .math import abs as abs
from .math import acos as acos
from .math import acosh as acosh
from .math import add as add
from .math import add_n as add_n
from .math import argmax as argmax
from .math import argmin as argmin
from .math import asin as asin
from .math import asinh as asinh
from .math import atan as atan
from .math import atan2 as atan2
from .math import atanh as atanh
from .math import clip_by_value as clip_by_value
from .math import complex as complex
from .math import cos as cos
from .math import cosh as cosh
from .math import cumsum as cumsum
from .math import divide as divide
from .math import equal as equal
from .math import exp as exp
from .math import floor as floor
from .math import greater as greater
from .math import greater_equal as greater_equal
from .math import less as less
from .math import less_equal as less_equal
from .math import logical_and as logical_and
from .math import logical_not as logical_not
from .math import logical_or as logical_or
from .math import maximum as maximum
from .math import minimum as minimum
from .math import multiply as multiply
from .math import negative as negative
from .math import not_equal as not_equal
from .math import pow as pow
from .math import reduce_all as reduce_all
from .math import reduce_any as reduce_any
from .math import reduce_logsumexp as reduce_logsumexp
from .math import reduce_max as reduce_max
from .math import reduce_mean as reduce_mean
from .math import reduce_min as reduce_min
from .math import reduce_prod as reduce_prod
from .math import reduce_sum as reduce_sum
from .math import round as round
from .math import scalar_mul as scalar_mul
from .math import sigmoid as sigmoid
from .math import sign as sign
from .math import sin as sin
from .math import sinh as sinh
from .math import sqrt as sqrt
from .math import square as square
from .math import subtract as subtract
from .math import tan as tan
from .math import tanh as tanh
from .math import truediv as truediv
from .module import Module as Module
from .scattering import *
from .scopes import *
from .selecting import *
from .shapes import TensorShape as TensorShape
from .shaping import *
from .tape import *
from .tensor import Tensor as Tensor
from .tensor_array import TensorArray as TensorArray
from .transforms import recompute_grad as recompute_grad
from .transforms import vectorized_map as vectorized_map
from .variable import *

newaxis = None

__version__ = "2.21.0"
"""The TensorFlow version that this package follows."""


def executing_eagerly() -> Any:
    """True while operations run immediately; False while a function is being traced.

    >>> executing_eagerly()
    True
    """
    return _current_graph() is None


def __getattr__(name: str) -> Any:
    """Load rarely used submodules on first access; suggest replacements for missing names."""
    if name in ("compat", "v1"):
        return _import_module(f".{name}", __name__)
    if name == "bfloat16":
        return getattr(_dtypes, name)
    raise _absent(__name__, name)
