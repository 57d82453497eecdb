"""Operations, by chapter of the Array API standard; see README.md for how to add one.

Each chapter is imported when one of its names is first used, except those that the operators of
Tensor need.
"""

from typing import TYPE_CHECKING

from .._loading import on_use
from .._places import OPS
from . import operators as operators

if TYPE_CHECKING:
    from . import hiding as hiding
    from . import scattering as scattering
    from . import views as views
    from .activations import *
    from .arithmetic import *
    from .comparing import *
    from .complex_ import *
    from .convolution import *
    from .creation import *
    from .cumulative import *
    from .decompositions import *
    from .dropout_ import *
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
    from .pooling import *
    from .products import *
    from .rounding import *
    from .searching import *
    from .selecting import *
    from .shaping import *
    from .spectral import *
    from .statistics import *
    from .taking import *
    from .tiling import *
    from .trigonometric import *
else:
    __getattr__, __dir__ = on_use(globals(), OPS)
