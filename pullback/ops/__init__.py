"""Operations, by the chapters of the Array API standard; see README.md for how to add one."""

from . import convolution_batching as convolution_batching
from . import hiding as hiding
from . import methods as methods
from . import operators as operators
from . import views as views
from .activations import *
from .arithmetic import *
from .comparing import *
from .complex_ import *
from .convolution import *
from .creation import *
from .decompositions import *
from .dropping import *
from .dtypes import *
from .exponential import *
from .fourier import *
from .indexing import *
from .joining import *
from .lengths import *
from .linalg import *
from .losses import *
from .normalising import *
from .norms import *
from .products import *
from .rounding import *
from .running import *
from .searching import *
from .selecting import *
from .shaping import *
from .spectral import *
from .statistics import *
from .trigonometric import *
