"""TensorFlow 1 front end: graphs that are built first, and sessions that run them.

    import pullback.tf.v1 as tf

The names of `tensorflow.compat.v1` for graphs and gradients. Only what the core differentiates is
differentiated here: this package renames and adapts.
"""

from ...custom.gradient import custom_gradient as custom_gradient
from ...graphs.operation import Operation as Operation
from .. import nest as nest
from ..convert import is_tensor as is_tensor
from ..dtypes import *
from ..indexed_slices import IndexedSlices as IndexedSlices
from ..shapes import TensorShape as TensorShape
from . import errors as errors
from . import initializers as initializers
from . import layers as layers
from . import linalg as linalg
from . import logging as logging
from . import losses as losses
from . import math as math
from . import nn as nn
from . import random as random
from . import testing as test
from . import train as train
from .arrays import *
from .control import *
from .differentiation import *
from .functions import FUNCTIONS as _FUNCTIONS
from .graph import *
from .grouping import *
from .initializers import Constant as constant_initializer
from .initializers import GlorotNormal as glorot_normal_initializer
from .initializers import GlorotUniform as glorot_uniform_initializer
from .initializers import Identity as identity_initializer
from .initializers import Ones as ones_initializer
from .initializers import Orthogonal as orthogonal_initializer
from .initializers import RandomNormal as random_normal_initializer
from .initializers import RandomUniform as random_uniform_initializer
from .initializers import TruncatedNormal as truncated_normal_initializer
from .initializers import VarianceScaling as variance_scaling_initializer
from .initializers import Zeros as zeros_initializer
from .keys import *
from .random import get_seed as get_seed
from .random import multinomial as multinomial
from .random import random_normal as random_normal
from .random import random_shuffle as random_shuffle
from .random import random_uniform as random_uniform
from .random import set_random_seed as set_random_seed
from .random import truncated_normal as truncated_normal
from .scopes import *
from .session import *
from .settings import *
from .shapes import Dimension as Dimension
from .shapes import dimension_at_index as dimension_at_index
from .shapes import dimension_value as dimension_value
from .tensor import *
from .tensor_array import *
from .variable import *

globals().update(_FUNCTIONS)
newaxis = None

__version__ = "2.21.0"
"""The TensorFlow version of the `compat.v1` API that this package follows."""


def __getattr__(name: str) -> object:
    """Raise an AttributeError that names the replacement for a missing part of TensorFlow."""
    from ..absent import absent

    raise absent(__name__, name)
