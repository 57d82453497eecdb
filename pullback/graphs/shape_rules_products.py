"""Shapes of products, of solutions, of factorisations and of transforms."""

from __future__ import annotations

from typing import Any

from ..arrays.symbol import Symbol
from ..errors import ShapeError
from .shape_rules import LEAST, TRY, are_square, axes_of, is_any, rule, shape_of
from .spaces import broadcast


@rule("matmul")
def matmul(x1: Symbol, x2: Symbol) -> Any:
    """Of matrices, vectors and stacks of them."""
    if is_any(x1, x2):
        return None
    a, b = shape_of(x1), shape_of(x2)
    if not a or not b:
        return TRY  # an error, which the kernel words
    inner, other = a[-1], b[-2] if len(b) > 1 else b[0]
    if inner is not None and other is not None and inner != other:
        raise ShapeError("`matmul`", "inner lengths that are equal", f"{list(a)} and {list(b)}")
    stacks = broadcast([a[:-2], b[:-2]], "matmul") if a[:-2] or b[:-2] else ()
    rows = a[-2:-1] if len(a) > 1 else ()
    return (*stacks, *rows, *(b[-1:] if len(b) > 1 else ()))


@rule("vecdot")
def vecdot(x1: Symbol, x2: Symbol, /, *, axis: int) -> Any:
    """What is broadcast, without the axis."""
    if is_any(x1, x2):
        return None
    both = list(broadcast([shape_of(x1), shape_of(x2)], "vecdot"))
    del both[axis]
    return tuple(both)


@rule("cross")
def cross(x1: Symbol, x2: Symbol, /, *, axis: int) -> Any:
    """What is broadcast."""
    return None if is_any(x1, x2) else broadcast([shape_of(x1), shape_of(x2)], "cross")


@rule("einsum")
def einsum(*operands: Symbol, subscripts: str) -> Any:
    """The length of each letter of the result."""
    before, _, out = subscripts.partition("->")
    known: dict[str, int | None] = {}
    for term, x in zip(before.split(","), operands, strict=True):
        lengths = (None,) * len(term) if is_any(x) else shape_of(x)
        for letter, n in zip(term, lengths, strict=True):
            if known.get(letter, 1) == 1 or (n is not None and n != 1):
                known[letter] = n
    return tuple([known[letter] for letter in out])


# Linear algebra -----------------------------------------------------------------------------


@rule("solve", "triangular_solve")
def solve(a: Symbol, b: Symbol, /, **attrs: Any) -> Any:
    """That of the right sides, for each matrix of a stack."""
    if is_any(a, b):
        return None
    left, right = shape_of(a), shape_of(b)
    if len(left) < 2 or not right:
        return TRY
    if not are_square(a):
        return TRY
    fits = left[-1] if left[-2] is None else left[-2]
    if len(right) == 1:
        return (*left[:-2], _agreeing(fits, right[0], left, right))
    stacks = broadcast([left[:-2], right[:-2]], "solve")
    return (*stacks, _agreeing(fits, right[-2], left, right), right[-1])


def _agreeing(n: int | None, m: int | None, left: Any, right: Any) -> int | None:
    if n is not None and m is not None and n != m:
        raise ShapeError("`solve`", "as many rows on both sides", f"{list(left)} and {list(right)}")
    return m if n is None else n


@rule("det")
def det(x: Symbol, /) -> Any:
    """The stack's."""
    return _stack(x)


@rule("slogdet")
def slogdet(x: Symbol, /) -> Any:
    """The stack's, twice."""
    found = _stack(x)
    return TRY if found is TRY else [found, found]


def _stack(x: Symbol) -> Any:
    if is_any(x):
        return None
    return tuple(x.shape)[:-2] if are_square(x) else TRY


def _matrix(x: Symbol) -> Any:
    """The stack's shape, rows, columns, and the fewer of them; None for what is not known."""
    stack, (rows, columns) = tuple(x.shape)[:-2], tuple(x.shape)[-2:]
    return stack, rows, columns, None if rows is None or columns is None else min(rows, columns)


def _no_matrix(x: Symbol) -> bool:
    return not is_any(x) and len(x.shape) < 2


@rule("eigvalsh")
def eigvalsh(x: Symbol, /) -> Any:
    """A vector for each matrix."""
    return None if is_any(x) else tuple(x.shape)[:-1] if are_square(x) else TRY


@rule("eigh", "eig")
def eigh(x: Symbol, /) -> Any:
    """A vector and a matrix for each."""
    if not are_square(x):
        return TRY
    return [None, None] if is_any(x) else [tuple(x.shape)[:-1], tuple(x.shape)]


@rule("svdvals")
def svdvals(x: Symbol, /) -> Any:
    """As many as there are rows or columns."""
    if _no_matrix(x) or is_any(x):
        return TRY if _no_matrix(x) else None
    stack, _, _, k = _matrix(x)
    return (*stack, k)


@rule("svd")
def svd(x: Symbol, /, *, full_matrices: bool) -> Any:
    """Both bases and the values."""
    if _no_matrix(x) or is_any(x):
        return TRY if _no_matrix(x) else [None, None, None]
    stack, m, n, k = _matrix(x)
    return [
        (*stack, m, m if full_matrices else k), (*stack, k), (*stack, n if full_matrices else k, n)
    ]


@rule("lu")
def lu(x: Symbol, /) -> Any:
    """The permutation and both factors."""
    if _no_matrix(x) or is_any(x):
        return TRY if _no_matrix(x) else [None, None, None]
    stack, m, n, k = _matrix(x)
    return [(*stack, m, m), (*stack, m, k), (*stack, k, n)]


@rule("pinv")
def pinv(x: Symbol, /, **attrs: Any) -> Any:
    """Rows and columns exchanged."""
    if _no_matrix(x) or is_any(x):
        return TRY if _no_matrix(x) else None
    stack, m, n, _ = _matrix(x)
    return (*stack, n, m)


@rule("matrix_rank")
def matrix_rank(sizes: Symbol, /, **attrs: Any) -> Any:
    """A number for each matrix."""
    return None if is_any(sizes) else tuple(sizes.shape)[:-1]


LEAST["pinv"] = LEAST["matrix_rank"] = lambda attrs: {"rtol": 0.5}


@rule("qr")
def qr(x: Symbol, /, *, mode: str) -> Any:
    """Both factors."""
    if _no_matrix(x) or is_any(x):
        return TRY if _no_matrix(x) else [None, None]
    stack, m, n, k = _matrix(x)
    inner = m if mode == "complete" else k
    return [(*stack, m, inner), (*stack, inner, n)]


# Transforms ---------------------------------------------------------------------------------


@rule("fftn", "ifftn")
def fftn(x: Symbol, /, *, axes: Any, **attrs: Any) -> Any:
    """The argument's."""
    return None if is_any(x) else tuple(x.shape)


@rule("rfftn")
def rfftn(x: Symbol, /, *, axes: Any, **attrs: Any) -> Any:
    """Half of the last axis that is transformed."""
    if is_any(x):
        return None
    own = list(x.shape)
    (last,) = axes_of(axes[-1], len(own), "rfftn")
    n = own[last]
    own[last] = None if n is None else n // 2 + 1
    return tuple(own)


@rule("irfftn")
def irfftn(x: Symbol, /, *, n: Any, axes: Any, **attrs: Any) -> Any:
    """As many along the last axis as were asked for."""
    if is_any(x):
        return None
    own = list(x.shape)
    (last,) = axes_of(axes[-1], len(own), "irfftn")
    own[last] = n if isinstance(n, int) else None
    return tuple(own)


LEAST["irfftn"] = lambda attrs: {**attrs, "n": 2}
