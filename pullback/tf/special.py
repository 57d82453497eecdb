"""`tf.math.special`: Bessel functions."""

from .special_functions import bessel_i0 as bessel_i0
from .special_functions import bessel_i0e as bessel_i0e
from .special_functions import bessel_i1 as bessel_i1
from .special_functions import bessel_i1e as bessel_i1e
from .special_functions import bessel_j0 as bessel_j0
from .special_functions import bessel_j1 as bessel_j1
from .special_functions import bessel_k0 as bessel_k0
from .special_functions import bessel_k0e as bessel_k0e
from .special_functions import bessel_k1 as bessel_k1
from .special_functions import bessel_k1e as bessel_k1e
from .special_functions import bessel_y0 as bessel_y0
from .special_functions import bessel_y1 as bessel_y1

__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0",
    "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1",
]
