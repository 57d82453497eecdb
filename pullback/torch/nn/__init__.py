"""`torch.nn`: modules, layers and losses with PyTorch's names and argument orders."""

from . import functional as functional
from . import init as init
from . import parameter as parameter
from . import utils as utils
from .activations import *
from .attention import *
from .containers import *
from .layers import *
from .losses import *
from .module import Module as Module
from .norms import *
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .recurrent import *
from .windows import *
