"""Adjugates (transposed cofactor matrices) for every array library.

Note [the gradient of a determinant]: it is the transposed adjugate: the matrix of minors,
polynomials, which exist where no inverse does. From x = u s vᴴ they are
adj x = det(u vᴴ) · v adj(s) uᴴ, and adj(s) has products of all singular values but one. The
derivative of an adjugate has those of all but two. Nothing is divided by 0.
"""

from __future__ import annotations

from typing import Any


class _Spectrum:
    """Singular vectors of square matrices, and products of singular values.

    left, right     uᴴ and v
    phase           det(u vᴴ)
    before, after   for each singular value, the product of those before it, and after it
    """

    def __init__(self, xp: Any, x: Any) -> None:
        finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
        u, s, vh = xp.linalg.svd(xp.where(finite, x, 0))  # LAPACK may not return for infinities
        s = xp.where(finite[..., 0], s, xp.nan)
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


def adjugate(xp: Any, x: Any) -> Any:
    """The adjugates of square matrices."""
    own = _Spectrum(xp, x)
    return own.phase * xp.matmul(own.right * own.others()[..., None, :], own.left)


def adjugate_along(xp: Any, x: Any, v: Any) -> Any:
    """The derivative of the adjugates of square matrices x along matrices v."""
    own = _Spectrum(xp, x)
    spared = own.all_but_two(xp)
    spared = spared + spared.mT
    turned = xp.matmul(xp.matmul(own.left, v), own.right)
    unit = xp.tril(xp.triu(xp.ones_like(spared)))
    straight = xp.sum(turned * unit, axis=-1)
    middle = unit * xp.matmul(spared, straight[..., None]) - spared * turned
    return own.phase * xp.matmul(xp.matmul(own.right, middle), own.left)
