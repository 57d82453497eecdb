"""`torch.optim`: the library's optimizers, which have PyTorch's formulas and options."""

from ..optim import SGD as SGD
from ..optim import Adam as Adam
from ..optim import AdamW as AdamW
from ..optim import Optimizer as Optimizer
from ..optim import RMSprop as RMSprop

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "RMSprop"]
