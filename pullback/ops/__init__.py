"""Operations, by the chapters of the Array API standard; see README.md for how to add one."""

from .arithmetic import *
from .comparing import *
from .complex_ import *
from .exponential import *
from .indexing import *
from .products import *
from .searching import *
from .selecting import *
from .rounding import *
from .trigonometric import *
from .creation import *
from .dtypes import *
from .joining import *
from .norms import *
from .shaping import *
from .statistics import *
from .activations import *
from .losses import *
from .normalising import *
from .convolution import *
from .dropping import *
from . import operators as operators
from . import views as views
