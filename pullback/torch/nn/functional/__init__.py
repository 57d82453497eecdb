"""`torch.nn.functional`: activations, losses and layers as functions of tensors."""

from . import activations, layers, losses, sampling, windows
from .activations import *
from .layers import *
from .losses import *
from .sampling import *
from .windows import *

__all__ = [
    *activations.__all__, *layers.__all__, *losses.__all__, *sampling.__all__, *windows.__all__,
]
