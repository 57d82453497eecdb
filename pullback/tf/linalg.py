"""`tf.linalg`: products, norms and parts of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..core.op import OPS
from ..kinds.symbols import whole
from . import strict
from .convert import axis_of, checked, matched, operand
from .errors import invalid
from .indexed_slices import IndexedSlices, values_of
from .math import l2_normalize as l2_normalize
from .shaping import eye as eye
from .solving import (
    adjoint,
    cholesky,
    cholesky_solve,
    cross,
    det,
    diag,
    diag_part,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    expm,
    inv,
    logdet,
    lstsq,
    matrix_rank,
    normalize,
    pinv,
    qr,
    set_diag,
    slogdet,
    solve,
    svd,
    tensor_diag,
    tensor_diag_part,
    triangular_solve,
)

__all__ = [
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part",
    "eig", "eigh", "eigvals", "eigvalsh", "einsum", "expm", "eye", "global_norm", "inv",
    "l2_normalize", "logdet", "lstsq", "matmul", "matrix_rank", "matrix_transpose", "matvec",
    "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve", "svd", "tensor_diag",
    "tensor_diag_part", "tensordot", "trace", "triangular_solve",
]


@checked
def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False,
    adjoint_a: bool = False, adjoint_b: bool = False, a_is_sparse: bool = False,
    b_is_sparse: bool = False, output_type: Any = None, grad_a: bool = False,
    grad_b: bool = False, name: str | None = None,
) -> Any:
    """Matrix product, also of stacks; either operand may be transposed or conjugate-transposed.

    The arguments after `adjoint_b` are accepted and ignored.
    Raises an `InvalidArgumentError` for vectors: use `tf.linalg.matvec`.

    >>> matmul([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True).numpy()
    array([[11.]], dtype=float32)
    """
    a, b = matched("matmul", a, b)
    return strict.matmul(_turned(a, transpose_a, adjoint_a), _turned(b, transpose_b, adjoint_b))


def _turned(x: Any, transposed: bool, adjoint: bool) -> Any:
    if not (transposed or adjoint) or x.ndim < 2:
        return x
    x = ops.matrix_transpose(x)
    return ops.conj(x) if adjoint else x


@checked
def matvec(
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False,
    a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None,
) -> Any:
    """Matrix-vector product, also of stacks.

    >>> matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    a, b = matched("matvec", a, b)
    product = strict.matmul(_turned(a, transpose_a, adjoint_a), ops.expand_dims(b, axis=-1))
    return ops.squeeze(product, axis=-1)


@checked
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Sums products over axes: the last `axes` axes of a with the first of b, or two lists.

    >>> tensordot([1.0, 2.0], [3.0, 4.0], 1).numpy()
    np.float32(11.0)
    """
    a, b = matched("tensordot", a, b)
    axes = axis_of(axes) if not isinstance(axes, (list, tuple)) else tuple(
        v if isinstance(v, int) else tuple(v) for v in axes
    )
    if isinstance(axes, tuple):
        axes = tuple((v,) if isinstance(v, int) else v for v in axes)
    return ops.tensordot(a, b, axes=axes)


@checked
def einsum(equation: str, *inputs: Any, optimize: str = "greedy", name: str | None = None) -> Any:
    """Sum of products in Einstein notation, such as "ij,jk->ik".

    >>> einsum("ij,j->i", [[1.0, 2.0]], [3.0, 4.0]).numpy()
    array([11.], dtype=float32)
    """
    return ops.einsum(equation, *matched("einsum", *inputs))


@checked
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Any:
    """Transposes the last two axes.

    >>> matrix_transpose([[1.0, 2.0]]).shape
    TensorShape([2, 1])
    """
    out = ops.matrix_transpose(operand(a))
    return ops.conj(out) if conjugate else out


@checked
def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False,
    name: str | None = None,
) -> Any:
    """The norm of vectors along an axis, or of all entries; its gradient at 0 is 0.

    ord   "euclidean" (or "fro", also for a pair of axes), a positive number, or infinity

    >>> norm([3.0, 4.0]).numpy()
    np.float32(5.0)
    """
    x, axis = operand(tensor, "fc", "norm"), axis_of(axis)
    pair = isinstance(axis, tuple) and len(axis) == 2
    if ord in ("euclidean", "fro"):
        ord = 2
    elif pair or isinstance(ord, str):
        raise invalid("argument `ord` of `norm`", "'euclidean' or 'fro' for a pair of axes, a "
                      "number for one", f"{ord!r} for axis {axis}")
    elif not ord > 0:
        raise invalid("argument `ord` of `norm`", "a positive number", f"{ord}")
    return OPS["vector_norm"](x, axis=axis, keepdims=bool(keepdims), ord=ord)


@checked
def band_part(input: Any, num_lower: int, num_upper: int, name: str | None = None) -> Any:
    """A band matrix: keeps `num_lower` and `num_upper` diagonals below and above the main; -1: all.

    >>> band_part([[1.0, 2.0], [3.0, 4.0]], 0, -1).numpy()
    array([[1., 2.],
           [0., 4.]], dtype=float32)
    """
    x = operand(input)
    if num_lower >= 0:
        x = ops.triu(x, k=-num_lower)
    return ops.tril(x, k=num_upper) if num_upper >= 0 else x


@checked
@whole
def trace(x: Any, name: str | None = None) -> Any:
    """The trace of each matrix: the sum of its main diagonal.

    >>> trace([[1.0, 2.0], [3.0, 4.0]]).numpy()
    np.float32(5.0)
    """
    x = operand(x)
    rows, columns = x.shape[-2:]
    on = ops.eye(rows, columns, dtype=ops.dtypes.bool)._data
    return ops.sum(ops.where(on, x, 0), axis=(-2, -1), dtype=x._data.dtype)


# Gradient clipping --------------------------------------------------------------------------


@checked
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Scales t down to norm `clip_norm` if its norm (over all axes, or `axes`) is larger.

    >>> clip_by_norm([3.0, 4.0], 1.0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_norm(t.values, clip_norm, axes))
    t, limit = matched("clip_by_norm", t, clip_norm)
    size = norm(t, axis=axes, keepdims=True)
    return t * limit / ops.maximum(size, limit)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """The 2-norm of all entries of several tensors; None entries are skipped.

    >>> global_norm([[3.0], None, [4.0]]).numpy()
    np.float32(5.0)
    """
    given = [operand(values_of(t)) for t in t_list if t is not None]
    return OPS["vector_norm"](ops.concat([ops.reshape(t, (-1,)) for t in given], axis=0))


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Scales tensors by one factor so that their global norm is at most clip_norm; returns it too.

    >>> clipped, norm_before = clip_by_global_norm([[3.0], [4.0]], 1.0)
    >>> [t.numpy() for t in clipped], norm_before.numpy()
    ([array([0.6], dtype=float32), array([0.8], dtype=float32)], np.float32(5.0))
    """
    size = global_norm(t_list) if use_norm is None else operand(use_norm)
    size, limit = matched("clip_by_global_norm", size, clip_norm)
    scale = limit / ops.maximum(size, limit)
    return [t.with_values(t.values * scale) if isinstance(t, IndexedSlices) else
            None if t is None else operand(t) * scale for t in t_list], size
