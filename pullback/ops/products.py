"""Products of vectors, matrices and tensors: `matmul`, `vecdot`, `tensordot`, `einsum`.

For complex numbers only `vecdot` conjugates (its first argument), as in the standard.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from ..arrays.batched import identity_matrix
from ..core.tensor import raw
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..kinds.shapes import broadcast, is_any, shape_of
from ..kinds.symbols import whole
from .complex_ import conj
from .declaring import face_of, known_as, op
from .operands import arrays_of, integer_of, shared_axis
from .shaping import (
    broadcast_to,
    expand_dims,
    moveaxis,
    permute_dims,
    reshape,
    squeeze,
    with_rank,
)
from .subscripts import fresh_letters, parse
from .taking import positive_axis

__all__ = ["einsum", "matmul", "outer", "tensordot", "vecdot"]


@known_as(numpy="linalg.matmul")
@op(native="matmul", linear=True, shape="(m?,n),(n,p?)->(m?,p?)")
def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product over the last two axes; leading axes broadcast; 1-D arrays are vectors.

    >>> import numpy as np
    >>> matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """


@matmul.pullback("x1")
def pullback_matmul_x1(g: Any, x2: Any) -> Any:
    if len(x2.shape) == 1:
        return g[..., None] * x2
    if len(g.shape) < len(x2.shape):  # x1 is a vector
        return matmul(x2, g) if len(x2.shape) == 2 else matmul(x2, g[..., None])[..., 0]
    return matmul(g, x2.mT)


@matmul.pullback("x2")
def pullback_matmul_x2(g: Any, x1: Any, shape: Any) -> Any:
    if len(x1.shape) == 1:
        return g * x1 if len(shape) == 1 else x1[:, None] * g[..., None, :]
    if len(x1.shape) > 2 and len(shape) <= 2:
        return _over_rows(x1, g, shape)
    return matmul(x1.mT, g)


def _over_rows(x: Any, y: Any, shape: Any) -> Any:
    """Σ x[r] ⊗ y[r] over all rows r, in this shape: one matrix product, without a batched sum."""
    rows = prod(x.shape[:-1])
    return matmul(reshape(x, (rows, x.shape[-1])).mT, reshape(y, (rows, *shape[1:])))


@matmul.collapsing("x1")
def collapse_matmul_x1(g: Any, x2: Any, shape: Any) -> Any:
    if len(shape) != 2:
        return None
    if len(x2.shape) > 2:  # treat the columns of all matrices as rows
        g, x2 = g.mT, x2.mT
    return _over_rows(g, x2, shape)


@matmul.collapsing("x2")
def collapse_matmul_x2(g: Any, x1: Any, shape: Any) -> Any:
    return _over_rows(x1, g, shape) if len(shape) <= 2 else None


@matmul.batching
def batch_matmul(x1: Any, x2: Any, *, hidden: tuple[bool, ...]) -> Any:
    rank1, rank2 = len(x1.shape) - hidden[0], len(x2.shape) - hidden[1]
    if not rank1 or not rank2:
        raise ShapeError("`matmul`", "arrays with at least 1 axis", "a number", "multiply with `*`")
    if hidden == (True, False) and min(rank1, rank2) <= 2:
        return _rows_times(x1, x2)
    if hidden == (False, True) and rank2 == 1:
        return _rows_times(x2, x1.mT if rank1 > 1 else x1)
    # One product per example. Vectors become matrices, and the axes of stacks are aligned.
    if rank1 == 1:
        x1 = expand_dims(x1, axis=-2)
    if rank2 == 1:
        x2 = expand_dims(x2, axis=-1)
    rank = max(rank1, rank2, 2) + 1
    out = matmul(
        with_rank(x1, rank) if hidden[0] else x1, with_rank(x2, rank) if hidden[1] else x2
    )
    gone = ((-2,) if rank1 == 1 else ()) + ((-1,) if rank2 == 1 else ())
    return squeeze(out, axis=gone) if gone else out


def _rows_times(x: Any, w: Any) -> Any:
    """x @ w for each x of a batch, at most one of x and w a stack: one product of all rows."""
    stacked = len(w.shape) - 2
    if len(x.shape) == 2 and stacked <= 0:
        return matmul(x, w)
    lead = tuple(x.shape[:-1])
    out = matmul(reshape(x, (prod(lead), x.shape[-1])), w)
    if stacked < 0:
        return reshape(out, lead)
    out = reshape(out, (*out.shape[:-2], *lead, out.shape[-1]))
    return moveaxis(out, stacked, 0) if stacked else out


@op(name="vecdot", linear=True)
def _vecdot(xp: Any, x1: Any, x2: Any, /, *, axis: int) -> Any:
    return xp.vecdot(x1, x2, axis=axis)


@_vecdot.pullback("x1")
def pullback_vecdot_x1(g: Any, x2: Any, *, axis: int) -> Any:
    return conj(expand_dims(g, axis=axis) * x2)


@_vecdot.pullback("x2")
def pullback_vecdot_x2(g: Any, x1: Any, *, axis: int) -> Any:
    return expand_dims(g, axis=axis) * conj(x1)


@_vecdot.batching
def batch_vecdot(x1: Any, x2: Any, *, axis: int) -> Any:
    rank = max(len(x1.shape), len(x2.shape))
    return _vecdot(with_rank(x1, rank), with_rank(x2, rank), axis=axis)


@_vecdot.shaping
def shape_vecdot(x1: Any, x2: Any, *, axis: int) -> Any:
    both = list(broadcast([shape_of(x1), shape_of(x2)], "vecdot"))
    del both[axis]
    return tuple(both)


@known_as(numpy="linalg.vecdot", torch="linalg.vecdot(x,y,*,dim)")
@face_of(_vecdot, "vecdot")
@whole
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Σ conj(x1) · x2 along an axis; the other axes broadcast.

    axis   a negative number; or one in [0, ndim) if x1 and x2 have the same number of axes
    Raises `ShapeError` for shapes that do not match, `PositionError` for an axis out of range,
    `ArgumentError` for an axis ≥ 0 with different numbers of axes.

    >>> import numpy as np
    >>> vecdot(np.array([1j, 2.0]), np.array([1j, 3.0]))
    np.complex128(7+0j)
    """
    x1, x2 = arrays_of(x1, x2)
    if axis.__class__ is not int or axis >= 0:
        axis = shared_axis(axis, x1, x2, "vecdot")
    return _vecdot(x1, x2, axis=axis)


@known_as(numpy="linalg.outer", torch="outer(input,vec2)")
@whole
def outer(x1: Any, x2: Any, /) -> Any:
    """The outer product x1[i] · x2[j] of two vectors.

    Raises `ShapeError` unless both have exactly one axis.

    >>> import numpy as np
    >>> outer(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([[3., 4.],
           [6., 8.]])
    """
    x1, x2 = arrays_of(x1, x2)
    for name, x in (("x1", x1), ("x2", x2)):
        if len(x.shape) != 1:
            raise ShapeError(f"argument `{name}` of `outer`", "a vector", f"shape {x.shape}")
    return expand_dims(x1, axis=1) * x2


@known_as(numpy="tensordot linalg.tensordot", torch="tensordot(a,b,dims)")
@whole
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The tensor contraction: the sum of products over some axes of each; nothing is conjugated.

    axes   an int n: the last n axes of x1 with the first n of x2; or two lists of equal length:
           axis axes[0][k] of x1 with axis axes[1][k] of x2
    The result has the other axes of x1, then those of x2. Raises `ArgumentError` for invalid axes,
    `ShapeError` for axes of different lengths.

    >>> import numpy as np
    >>> tensordot(np.ones((2, 3)), np.ones((3, 2)), axes=([0, 1], [1, 0])).item()
    6.0
    """
    x1, x2 = arrays_of(x1, x2)
    first, second = _contracted(axes, tuple(x1.shape), tuple(x2.shape))
    left = [i for i in range(len(x1.shape)) if i not in first]
    right = [i for i in range(len(x2.shape)) if i not in second]
    rows, columns = [x1.shape[i] for i in left], [x2.shape[i] for i in right]
    inner = prod(x1.shape[i] for i in first)
    a = reshape(permute_dims(x1, (*left, *first)), (prod(rows), inner))
    b = reshape(permute_dims(x2, (*second, *right)), (inner, prod(columns)))
    return reshape(matmul(a, b), (*rows, *columns))


def _contracted(
    axes: Any, shape1: tuple[int, ...], shape2: tuple[int, ...]
) -> tuple[list[int], list[int]]:
    """The validated axes of each operand that a tensor product sums over, counted from 0."""
    ranks = len(shape1), len(shape2)
    if isinstance(axes, Iterable):
        given = [list(a) if isinstance(a, Iterable) else [a] for a in axes]
        if len(given) != 2 or len(given[0]) != len(given[1]):
            raise ArgumentError(
                "argument `axes` of `tensordot`", "an int, or two lists of axes of equal length",
                repr(axes),
            )
        pair = _axes(given[0], ranks[0]), _axes(given[1], ranks[1])
    else:
        n = integer_of(axes, "axes", "tensordot")
        if not 0 <= n <= min(ranks):
            raise ArgumentError(
                "argument `axes` of `tensordot`", f"an int in [0, {min(ranks)}]", str(n)
            )
        pair = list(range(ranks[0] - n, ranks[0])), list(range(n))
    for i, j in zip(*pair, strict=True):
        if shape1[i] != shape2[j]:
            raise ShapeError(
                "`tensordot`", f"axis {j} of x2 as long as axis {i} of x1, {shape1[i]}",
                f"{shape2[j]}",
            )
    return pair


def _axes(axes: list[Any], rank: int) -> list[int]:
    """The axes of one operand, counted from 0; each may occur once."""
    found = [positive_axis(integer_of(a, "axes", "tensordot"), rank, "tensordot") for a in axes]
    if len(set(found)) != len(found):
        raise ArgumentError("argument `axes` of `tensordot`", "each axis once", str(axes))
    return found


# Einstein summation -------------------------------------------------------------------------


@op(name="einsum", linear=True)
def _einsum(xp: Any, /, *operands: Any, subscripts: str) -> Any:
    return xp.einsum(subscripts, *operands)


@_einsum.pullback("operands")
def pullback_einsum(g: Any, operands: Any, shape: Any, i: int, *, subscripts: str) -> Any:
    before, _, out = subscripts.partition("->")
    terms = before.split(",")
    wanted = list(terms.pop(i))
    factors = [g, *(x for j, x in enumerate(operands) if j != i)]
    terms.insert(0, out)
    # A letter that occurs twice in an operand takes its diagonal: the second one becomes a fresh
    # letter, tied to the first by an identity matrix.
    fresh = fresh_letters(subscripts)
    for k, letter in enumerate(wanted):
        if letter in wanted[:k]:
            wanted[k] = next(fresh)
            terms.append(letter + wanted[k])
            factors.append(identity_matrix(shape[k], raw(g)))
    there = "".join(terms)
    kept = [letter for letter in wanted if letter in there]
    r = _einsum(*factors, subscripts=",".join(terms) + "->" + "".join(kept))
    # Letters that occur only in this operand were summed over: broadcast their cotangent.
    r = r[tuple(slice(None) if letter in kept else None for letter in wanted)]
    full = tuple(n if m == 1 else m for n, m in zip(shape, r.shape, strict=True))
    return r if tuple(r.shape) == full else broadcast_to(r, full)


@_einsum.collapsing("operands")
def collapse_einsum(g: Any, operands: Any, shape: Any, i: int, *, subscripts: str) -> Any:
    before, _, out = subscripts.partition("->")
    letter = next(fresh_letters(subscripts))
    terms = [term if j == i else letter + term for j, term in enumerate(before.split(","))]
    with_examples = ",".join(terms) + "->" + letter + out
    return pullback_einsum(g, operands, shape, i, subscripts=with_examples)


@_einsum.batching
def batch_einsum(*operands: Any, subscripts: str, hidden: tuple[bool, ...]) -> Any:
    before, _, out = subscripts.partition("->")
    letter = next(fresh_letters(subscripts))
    terms = [
        letter + term if has else term
        for term, has in zip(before.split(","), hidden, strict=True)
    ]
    return _einsum(*operands, subscripts=",".join(terms) + "->" + letter + out)


@_einsum.shaping
def shape_einsum(*operands: Any, subscripts: str) -> Any:
    before, _, out = subscripts.partition("->")
    known: dict[str, int | None] = {}
    for term, x in zip(before.split(","), operands, strict=True):
        lengths = (None,) * len(term) if is_any(x) else shape_of(x)
        for letter, n in zip(term, lengths, strict=True):
            if known.get(letter, 1) == 1 or (n is not None and n != 1):
                known[letter] = n
    return tuple([known[letter] for letter in out])


@face_of(_einsum)
@whole
def einsum(subscripts: str, /, *operands: Any) -> Any:
    """The Einstein summation given by subscripts: "ij,jk->ik" is the matrix product.

    A letter names an axis; letters that are missing right of `->` are summed over; a repeated
    letter in one operand takes its diagonal; `...` stands for any other axes, which broadcast.
    Without `->` the result has the letters that occur once, in alphabetical order.
    Raises `ArgumentError` for invalid subscripts, `ShapeError` for axes of different lengths.

    >>> import numpy as np
    >>> einsum("ii->i", np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    if not isinstance(subscripts, str):
        raise ArgumentTypeError(
            "argument `subscripts` of `einsum`", "a string such as 'ij,jk->ik'", repr(subscripts)
        )
    operands = tuple(arrays_of(*operands))
    shapes = tuple([tuple(x.shape) for x in operands])
    return _einsum(*operands, subscripts=parse(subscripts, shapes))
