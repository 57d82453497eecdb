"""NumPy's polynomials in several variables: `numpy.polynomial.polynomial` on Tensors.

Coefficients have one axis for each variable, with the lowest power first; further axes hold further
polynomials. Polynomials in one variable, of the older `numpy.polyval`, are in `elementwise`.
"""

from __future__ import annotations

from typing import Any

from ..arrays import SCALARS
from ..errors import ShapeError
from .table import array, is_floating, pb, rule


def _horner(x: Any, c: Any) -> Any:
    """Σ c[i] xⁱ over the first axis of c, whose other axes are broadcast against those of x."""
    c = c if c.shape else pb.reshape(c, (1,))
    found = c[-1] + x * 0
    for i in range(c.shape[0] - 2, -1, -1):
        found = c[i] + found * x
    return found


def _wide(c: Any, x: Any) -> Any:
    """c with an axis of length 1 for each axis of x, behind its own."""
    return pb.reshape(c, (*(c.shape or (1,)), *(1,) * len(getattr(x, "shape", ()))))


def _coefficients(c: Any) -> Any:
    """c as a Tensor of floats or complex numbers."""
    c = array(c)
    return c if is_floating(c) else pb.astype(c, pb.float64)


@rule("polynomial.polynomial.polyvalnd")
def polyvalnd_of(pts: Any, c: Any) -> Any:
    """The values at points (x, y, …), whose coordinates have the same shape."""
    points = [array(x) for x in pts]
    shapes = {tuple(x.shape) for x in points}
    if len(shapes) > 1:
        raise ShapeError(
            "coordinates of numpy.polynomial.polynomial's points", "one shape",
            " and ".join(map(str, sorted(shapes))), "broadcast them, with numpy.broadcast_arrays",
        )
    found = _wide(_coefficients(c), points[0])
    for x in points:
        found = _horner(x, found)
    return found


@rule("polynomial.polynomial.polyval2d")
def polyval2d_of(x: Any, y: Any, c: Any) -> Any:
    """The values at points (x, y)."""
    return polyvalnd_of((x, y), c)


@rule("polynomial.polynomial.polygrid2d")
def polygrid2d_of(x: Any, y: Any, c: Any) -> Any:
    """The values at all points of a grid: of each x with each y."""
    found = _coefficients(c)
    for place in (x, y):
        place = place if isinstance(place, SCALARS) else array(place)  # a number has no dtype
        found = _horner(place, _wide(found, place))
    return found
