"""Rows of `pullback/ops/decompositions.py` and `pullback/ops/spectral.py`.

Each is a function of matrices that are far from repeated eigenvalues, made of the arguments, and of
results that do not depend on phases and bases: vectors stand in products with their adjoints, in
which each has a weight of its own (columns that only complete a basis have one weight).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, real

Call = Callable[..., Any]


def adjoint(x: Any) -> Any:
    return pb.conj(pb.matrix_transpose(x))


def adjoint_of_array(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def numbered(x: Any) -> Any:
    """1, 2, … along the last axis, of an array of any library whose lengths need not be known."""
    return pb.cumulative_sum(pb.ones_like(x), axis=-1)


class Pair:
    """A function, in `pullback` and in NumPy: the same but for what is named here."""

    def __init__(self, module: Any, linalg: Any, turned: Call) -> None:
        self.xp, self.linalg, self.adjoint = module, linalg, turned

    def diagonal(self, x: Any) -> Any:
        """5, 10, …, with falling signs, and an argument that is small beside it."""
        return x / 8 + 5 * pb.tril(pb.triu(pb.ones_like(x))) * numbered(x)

    def hermitian(self, x: Any) -> Any:
        """Positive definite, with eigenvalues near 5, 10, …"""
        x = self.diagonal(x)
        return (x + self.adjoint(x)) / 2

    def weighted(self, q: Any, columns: int | None = None) -> Any:
        """q diag(1, 2, …) qᴴ; from `columns` on, all have one weight."""
        weights = numbered(q)
        if columns is not None:
            weights = self.xp.where(self.xp.real(weights) > columns, columns + 1, weights)
        return self.xp.matmul(q * weights, self.adjoint(q))


OURS = Pair(pb, pb.linalg, adjoint)
NUMPYS = Pair(np, np.linalg, adjoint_of_array)


def row(
    name: str, function: Callable[[Pair, Any], Any], shape: tuple[int, ...], label: str = ""
) -> Row:
    """A function of both, on one argument."""
    return Row(
        name, lambda x: function(OURS, x), lambda x: function(NUMPYS, x), (real(*shape),),
        f"{label}{shape}", complex=True,
    )


def lower(p: Pair, x: Any) -> Any:
    return p.linalg.cholesky(p.hermitian(x))


def upper(p: Pair, x: Any) -> Any:
    return p.linalg.cholesky(p.hermitian(x), upper=True)


def qr(p: Pair, x: Any) -> Any:
    return tuple(p.linalg.qr(p.diagonal(x)))


def qr_complete(p: Pair, x: Any) -> Any:
    q, r = p.linalg.qr(p.diagonal(x), mode="complete")
    k = min(x.shape[-2:])
    return q[..., :k], r, p.weighted(q, k)


def eigh(p: Pair, x: Any) -> Any:
    w, v = p.linalg.eigh(p.hermitian(x))
    return w, p.weighted(v)


def eigvalsh(p: Pair, x: Any) -> Any:
    return p.linalg.eigvalsh(p.hermitian(x))


def eig(p: Pair, x: Any) -> Any:
    w, v = p.linalg.eig(p.diagonal(x))
    return w + 0j, p.weighted(v + 0j)  # NumPy's may be real


def svd(p: Pair, x: Any) -> Any:
    u, s, vh = p.linalg.svd(p.diagonal(x), full_matrices=False)
    falling = pb.flip(numbered(s), axis=-1)
    return p.xp.matmul(u * p.xp.sqrt(falling)[..., None, :], vh)


def svd_full(p: Pair, x: Any) -> Any:
    u, s, vh = p.linalg.svd(p.diagonal(x), full_matrices=True)
    k = s.shape[-1]
    return s, p.weighted(u, k), p.weighted(p.adjoint(vh), k)


def svdvals(p: Pair, x: Any) -> Any:
    return p.linalg.svdvals(p.diagonal(x))


def lu_of(x: Any) -> Any:
    """Rows moved on by one, so that there is something to pivot."""
    return np.roll(x, 1, axis=-2) if isinstance(x, np.ndarray) else pb.roll(x, 1, axis=-2)


def lu(shape: tuple[int, ...]) -> Row:
    def call(x: Any) -> Any:
        return tuple(pb.linalg.lu(lu_of(OURS.diagonal(x))))

    def reference(x: Any) -> Any:
        from scipy.linalg import lu as factored

        stack, (m, n) = x.shape[:-2], x.shape[-2:]
        if not x.size:  # SciPy has other shapes for nothing
            k = min(m, n)
            eyes = np.eye(m, dtype=x.real.dtype), np.eye(m, k, dtype=x.dtype), x[..., :k, :]
            return tuple(np.broadcast_to(e, (*stack, *e.shape[-2:])) for e in eyes)
        p, low, up = factored(lu_of(NUMPYS.diagonal(x)))
        return p.real, low, up

    return Row("lu", call, reference, (real(*shape),), str(shape), complex=True)


SQUARE = [(3, 3), (2, 2, 2), (1, 1), (0, 0), (0, 2, 2)]
OBLONG = [(4, 2), (2, 4), (2, 3, 2), (3, 0)]

ROWS = [
    *[row("cholesky", f, s, f.__name__) for f in (lower, upper) for s in SQUARE],
    *[row("qr", qr, s) for s in SQUARE + OBLONG],
    *[row("qr", qr_complete, s, "complete") for s in [(3, 3), *OBLONG]],
    *[row("eigh", eigh, s) for s in SQUARE],
    *[row("eigvalsh", eigvalsh, s) for s in SQUARE],
    *[row("eig", eig, s) for s in SQUARE],
    *[row("svd", svd, s) for s in SQUARE + OBLONG],
    *[row("svd", svd_full, s, "full") for s in [(3, 3), *OBLONG]],
    *[row("svdvals", svdvals, s) for s in SQUARE + OBLONG],
    *[lu(s) for s in SQUARE + OBLONG],
]
