"""Adjugates (transposed cofactor matrices) for every array library.

Note [the gradient of a determinant]: it is the transposed adjugate: the matrix of minors,
polynomials, which exist where no inverse does. From x = u s vᴴ they are
adj x = det(u vᴴ) · v adj(s) uᴴ, and adj(s) has products of all singular values but one. The
derivative of an adjugate has those of all but two. Nothing is divided by 0. Before, rows and
columns are scaled by powers of 2: products of large singular values would overflow, and the
rounding errors of large entries would cover the minors of small ones.
"""

from __future__ import annotations

import math
from typing import Any


class _Spectrum:
    """Singular vectors of square matrices, and products of singular values.

    left, right     uᴴ and v
    phase           det(u vᴴ)
    before, after   for each singular value, the product of those before it, and after it
    """

    def __init__(self, xp: Any, x: Any) -> None:
        u, s, vh = xp.linalg.svd(x)
        conjugate = xp.conj if xp.isdtype(x.dtype, "complex floating") else _same
        self.values, self.left, self.right = s, conjugate(u.mT), conjugate(vh.mT)
        self.phase = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]
        self.before = _running(xp, s)[..., :-1]
        self.after = xp.flip(_running(xp, xp.flip(s, axis=-1)), axis=-1)[..., 1:]

    def others(self) -> Any:
        """The products of all singular values but one."""
        return self.before * self.after

    def all_but_two(self, xp: Any) -> Any:
        """The products of all but two singular values, below the diagonal; 0 elsewhere."""
        n = self.values.shape[-1]
        later = xp.triu(xp.ones_like(self.left, dtype=xp.bool), k=1)
        between = _running(xp, xp.where(later, self.values[..., None, :], 1))[..., :n]
        return xp.where(later, self.before[..., None] * between * self.after[..., None, :], 0)


def _same(x: Any) -> Any:
    return x


def _running(xp: Any, s: Any) -> Any:
    """The products of the first 0, 1, 2, … entries."""
    return xp.cumulative_prod(s, axis=-1, include_initial=True)


class _Balanced:
    """Square matrices of finite numbers, with rows and columns scaled to a largest entry about 1.

    Products of their singular values neither overflow nor lose what small entries contribute.

    unknown          where a minor has an entry that is not finite
    scaled           the matrices; LAPACK may not return for infinities, which are 0 in them
    rows, columns    the exponents of 2 by which their rows and columns were divided
    """

    def __init__(self, xp: Any, x: Any) -> None:
        finite = xp.isfinite(x)
        odd = xp.astype(~finite, xp.int32)
        rows, columns = (xp.sum(odd, axis=axis, keepdims=True) for axis in (-1, -2))
        self.unknown = (xp.sum(rows, axis=-2, keepdims=True) - rows - columns + odd).mT > 0
        x = xp.where(finite, x, 0)
        self.rows = _exponents(xp, x, -1)
        x = _times_power(xp, x, -self.rows)
        self.columns = _exponents(xp, x, -2)
        self.scaled = _times_power(xp, x, -self.columns)

    def like(self, xp: Any, v: Any) -> Any:
        """Other matrices, scaled in the same way."""
        return _times_power(xp, v, -(self.rows + self.columns))

    def back(self, xp: Any, found: Any) -> Any:
        """The adjugates of the matrices, or their derivatives, from those of the scaled ones."""
        rows, columns = self.rows.mT, self.columns.mT  # an adjugate has columns for rows
        others = xp.sum(rows, axis=-1, keepdims=True) - rows
        others = others + xp.sum(columns, axis=-2, keepdims=True) - columns
        return xp.where(self.unknown, xp.nan, _times_power(xp, found, others))


def _exponents(xp: Any, x: Any, axis: int) -> Any:
    """The exponents of the largest entries along an axis; 0 for those that are all 0.

    Those of tiny entries are cut off, so that what is divided by their powers does not overflow.
    """
    size = xp.max(xp.abs(x), axis=axis, keepdims=True)
    found = xp.floor(xp.log2(xp.where(size > 0, size, 1)))
    least = -math.log2(xp.finfo(found.dtype).max) / 4
    return xp.where(found < least, least, found)


def _times_power(xp: Any, x: Any, exponents: Any) -> Any:
    """x · 2^exponents, in steps that overflow only if the product does."""
    most = int(2.3 * math.log2(xp.finfo(exponents.dtype).max))  # more than from least to largest
    exponents = xp.clip(exponents, -most, most)
    part = xp.trunc(exponents / 4)
    for power in (part, part, part, exponents - 3 * part):
        x = x * 2.0**power
    return x


def adjugate(xp: Any, x: Any) -> Any:
    """The adjugates of square matrices."""
    if x.shape[-1] == 0:
        return x
    balanced = _Balanced(xp, x)
    own = _Spectrum(xp, balanced.scaled)
    found = own.phase * xp.matmul(own.right * own.others()[..., None, :], own.left)
    return balanced.back(xp, found)


def adjugate_along(xp: Any, x: Any, v: Any) -> Any:
    """The derivative of the adjugates of square matrices x along matrices v."""
    if x.shape[-1] == 0:
        return x + v
    balanced = _Balanced(xp, x)
    own, v = _Spectrum(xp, balanced.scaled), balanced.like(xp, v)
    spared = own.all_but_two(xp)
    spared = spared + spared.mT
    turned = xp.matmul(xp.matmul(own.left, v), own.right)
    unit = xp.tril(xp.triu(xp.ones_like(spared)))
    straight = xp.sum(turned * unit, axis=-1)
    middle = unit * xp.matmul(spared, straight[..., None]) - spared * turned
    return balanced.back(xp, own.phase * xp.matmul(xp.matmul(own.right, middle), own.left))
