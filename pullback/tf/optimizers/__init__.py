"""`tf.optimizers`: the usual optimizers, with Keras's names, arguments and formulas."""

from . import schedules as schedules
from .base import Optimizer as Optimizer
from .descents import SGD as SGD
from .descents import Adadelta as Adadelta
from .descents import Adagrad as Adagrad
from .descents import Lion as Lion
from .descents import RMSprop as RMSprop
from .moments import Adam as Adam
from .moments import Adamax as Adamax
from .moments import AdamW as AdamW
from .moments import Nadam as Nadam
