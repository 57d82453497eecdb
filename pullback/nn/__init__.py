"""Neural networks: modules with parameters, layers, losses, initialisation, saving."""

from . import functional as functional
from . import init as init
from .activations import GELU as GELU
from .activations import LeakyReLU as LeakyReLU
from .activations import ReLU as ReLU
from .activations import Sigmoid as Sigmoid
from .activations import SiLU as SiLU
from .activations import Softmax as Softmax
from .activations import Softplus as Softplus
from .activations import Tanh as Tanh
from .device import functional_call as functional_call
from .layers import Conv2d as Conv2d
from .layers import Dropout as Dropout
from .layers import Embedding as Embedding
from .layers import Flatten as Flatten
from .layers import Linear as Linear
from .layers import Sequential as Sequential
from .losses import CrossEntropyLoss as CrossEntropyLoss
from .losses import MSELoss as MSELoss
from .module import Module as Module
from .normalising import BatchNorm as BatchNorm
from .normalising import LayerNorm as LayerNorm
from .parameter import Parameter as Parameter
from .saving import load as load
from .saving import save as save

__all__ = [
    "GELU", "BatchNorm", "Conv2d", "CrossEntropyLoss", "Dropout", "Embedding", "Flatten",
    "LayerNorm", "LeakyReLU", "Linear", "MSELoss", "Module", "Parameter", "ReLU", "Sequential",
    "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh", "functional", "functional_call", "init",
    "load", "save",
]
