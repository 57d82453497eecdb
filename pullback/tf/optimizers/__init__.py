"""`tf.optimizers`: the usual optimizers, with Keras's names, arguments and formulas."""

from . import schedules as schedules
from .base import Optimizer as Optimizer
from .moments import Adam as Adam
from .moments import Adamax as Adamax
from .moments import AdamW as AdamW
from .moments import Nadam as Nadam
from .sgd import SGD as SGD
from .sgd import Adadelta as Adadelta
from .sgd import Adagrad as Adagrad
from .sgd import Lion as Lion
from .sgd import RMSprop as RMSprop
