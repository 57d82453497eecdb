"""Layers, activations and losses as functions, where a short composition of operations is enough.

What is an operation of its own (`relu`, `conv2d`, `layer_norm`, `cross_entropy`, …) is in
`pullback`; these are made of such, so overrides, forward mode and batching reach into them.
"""

from .activations import *
from .attention import *
from .losses import *
from .margins import *
from .normalising import *
from .recurrent import *
from .resizing import *
from .windows import *
