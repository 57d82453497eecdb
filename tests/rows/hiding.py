"""Rows of `pullback/ops/hiding.py`: an axis hidden and shown again, as `vmap` does at its ends.

The tag is that of no vmap: below those of all that run around it.
"""

import numpy as np

from pullback.core.op import OPS
from tests.table import Row, real

TAG = 0


def moved(x, source, destination):
    """An axis hidden, and shown in another place."""
    hidden = OPS["hide_axis"](x, axis=source, tag=TAG)
    return OPS["show_axis"](hidden, axis=destination, tag=TAG, size=x.shape[source])


ROWS = [
    Row("hide_axis", lambda x: moved(x, 1, 0), lambda x: np.moveaxis(x, 1, 0), (real(2, 3, 4),),
        complex=True, analytic=True),
    Row("hide_axis", lambda x: moved(OPS["square"](x), 0, 2),
        lambda x: np.moveaxis(np.square(x), 0, 2), (real(2, 3, 4),), "of a square", complex=True,
        analytic=True),
    Row("show_axis", lambda x: OPS["show_axis"](x, axis=1, tag=TAG, size=3),
        lambda x: np.stack([x, x, x], axis=1), (real(2, 4),), complex=True, analytic=True),
]
