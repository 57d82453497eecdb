"""The library in PyTorch's spelling: `import pullback.torch as torch`.

Names, defaults, argument orders and error families over the core, which computes everything.
Dtypes are NumPy's, memory is the processor's, and random streams are this library's own.
"""

from ..core.state import enable_grad as enable_grad
from ..core.state import inference_mode as inference_mode
from ..core.state import is_grad_enabled as is_grad_enabled
from ..core.state import is_inference_mode_enabled as is_inference_mode_enabled
from ..core.state import no_grad as no_grad
from ..core.state import set_grad_enabled as set_grad_enabled
from ..ops import e as e
from ..ops import inf as inf
from ..ops import nan as nan
from ..ops import newaxis as newaxis
from ..ops import pi as pi
from . import autograd as autograd
from . import func as func
from . import methods as methods
from . import nn as nn
from . import optim as optim
from . import utils as utils
from .creation import *
from .dtypes import *
from .elementwise import *
from .func import vmap as vmap
from .indexing import *
from .reductions import *
from .shaping import *
from .tensor import Size as Size
from .tensor import Tensor as Tensor
from .tensor import device as device


def is_floating_point(input: Tensor) -> object:
    """Whether the entries of a tensor are real floating numbers."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> object:
    """Whether the entries of a tensor are complex."""
    return input.is_complex()


def numel(input: Tensor) -> object:
    """The number of entries of a tensor."""
    return input.numel()


def detach(input: Tensor) -> object:
    """The same values, sharing memory, with no history."""
    return input.detach()
