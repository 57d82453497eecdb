"""Layers, activations and losses as functions that are compositions of a few operations.

Functions that are operations of their own (`relu`, `conv2d`, `layer_norm`, `cross_entropy`, …) are
in `pullback`. The functions here call such operations, so overrides, forward mode and batching
apply inside them.
"""

from .activations import *
from .attention import *
from .losses import *
from .margins import *
from .normalising import *
from .recurrent import *
from .resizing import *
from .windows import *
