"""Optimizers that update variables and tensors in place, and gradient clipping.

With PyTorch's habits, `loss.backward(); optimizer.step(); optimizer.zero_grad()`; with
TensorFlow's, `optimizer.step(tape.gradient(loss, parameters))`. The formulas and the names of
options are PyTorch's.
"""

from . import schedulers as schedulers
from .adagrad import Adadelta as Adadelta
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .adam_variants import Adamax as Adamax
from .adam_variants import NAdam as NAdam
from .adam_variants import RAdam as RAdam
from .adam_variants import Rprop as Rprop
from .base import Optimizer as Optimizer
from .clipping import clip_by_global_norm as clip_by_global_norm
from .clipping import clip_by_value as clip_by_value
from .clipping import clip_grad_norm_ as clip_grad_norm_
from .clipping import clip_grad_value_ as clip_grad_value_
from .clipping import global_norm as global_norm
from .lbfgs import LBFGS as LBFGS
from .rmsprop import RMSprop as RMSprop
from .sgd import SGD as SGD

__all__ = [
    "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "clip_by_global_norm", "clip_by_value", "clip_grad_norm_",
    "clip_grad_value_", "global_norm", "schedulers",
]
