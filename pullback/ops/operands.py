"""Arguments before computing: lists as arrays; validation of matrices, integers, tolerances."""

from __future__ import annotations

import operator
from typing import Any

from ..arrays import SCALARS, adapters
from ..arrays.matrices import check_matrices
from ..core.above import provide
from ..core.op import OPS
from ..core.tensor import Tensor, raw, to_array
from ..errors import ArgumentError, ArgumentTypeError, PositionError, ShapeError


def holds_tensor(value: Any) -> bool:
    """Whether a nested sequence holds a Tensor."""
    return isinstance(value, (list, tuple)) and any(
        isinstance(v, Tensor) or holds_tensor(v) for v in value
    )


def stacked(value: Any) -> Any:
    """A nested sequence that holds Tensors as one Tensor, with their history; else as it is.

    >>> import pullback as pb
    >>> stacked([pb.tensor(1.0), 2.0])
    Tensor([1., 2.])
    """
    if not holds_tensor(value):
        return value
    return OPS["stack"]([v if isinstance(v, SCALARS) else stacked(v) for v in value])


@provide
def unlisted(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of an operation, with arrays for the lists among them, or Tensors, which they hold.

    The arrays are of the library of an array beside them.
    """
    like = next((a for a in map(raw, args) if hasattr(a, "dtype")), None)
    return tuple([
        stacked(a) if holds_tensor(a) else to_array(a, like) if isinstance(a, (list, tuple)) else a
        for a in args
    ])


def array_of(x: Any) -> Any:
    """A Tensor or an array unchanged; numbers, and sequences of them, as an array.

    >>> array_of([1.0, 2.0])
    array([1., 2.])
    """
    return arrays_of(x)[0]


def arrays_of(*operands: Any) -> list[Any]:
    """`array_of` for several operands: new arrays are of the library of an array among them.

    >>> arrays_of(2, [1.0, 2.0])
    [array(2), array([1., 2.])]
    """
    operands = tuple([stacked(x) for x in operands])
    like = next((raw(x) for x in operands if hasattr(x, "shape")), None)
    adapter = adapters[float if like is None else like.__class__]
    found = [x if hasattr(x, "shape") else to_array(x, like) for x in operands]
    return [x if hasattr(x, "shape") else adapter.asarray(x, None, like) for x in found]


def matrices_of(x: Any, subject: str, *, square: bool = False, argument: str = "x") -> Any:
    """x as an array, if it is a matrix or a stack of them.

    Raises `ShapeError` for fewer than two axes and, with `square`, for last two axes of different
    lengths.

    >>> matrices_of([[1.0, 2.0]], "trace").shape
    (1, 2)
    """
    x = array_of(x)
    check_matrices(x.shape, subject, square=square, argument=argument)
    return x


def matrix_examples(x: Any, subject: str, *, square: bool = False, argument: str = "x") -> Any:
    """x, with a hidden axis in front, if each example is a matrix or a stack of them.

    Without this check, batched vectors would pass as rows of one matrix. Raises `ShapeError`.

    >>> import numpy as np
    >>> matrix_examples(np.ones((4, 2, 3)), "trace").shape
    (4, 2, 3)
    """
    check_matrices(tuple(x.shape)[1:], subject, square=square, argument=argument)
    return x


def tolerance_of(rtol: Any, x: Any, subject: str) -> Any:
    """A raw relative tolerance for a stack of matrices: a number, or one per matrix.

    Raises `ArgumentTypeError` if it is not numeric, `ShapeError` for a shape that does not
    broadcast to that of the stack.
    """
    rtol = raw(rtol)
    shape, stack = tuple(array_of(rtol).shape), tuple(x.shape)[:-2]
    ends = zip(reversed(shape), reversed(stack), strict=False)
    if len(shape) > len(stack) or any(n not in (1, m) for n, m in ends):
        raise ShapeError(
            f"argument `rtol` of `{subject}`", f"a number, or one per matrix of the stack {stack}",
            f"shape {shape}",
        )
    return rtol


def integer_of(value: Any, argument: str, subject: str) -> int:
    """An integer argument of any library, as a Python int.

    Raises `ArgumentTypeError`.

    >>> integer_of(3, "offset", "trace")
    3
    """
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"argument `{argument}` of `{subject}`", "an integer", repr(value)
        ) from None


def shared_axis(axis: Any, x1: Any, x2: Any, subject: str) -> int:
    """An axis common to two arrays, as a negative number, so that their other axes broadcast.

    Raises `ArgumentError` for an axis ≥ 0 of arrays with different numbers of axes (it would mean
    two different axes), and `PositionError` for an axis out of range.

    >>> import numpy as np
    >>> shared_axis(1, np.ones((2, 3)), np.ones((4, 3)), "vecdot")
    -1
    """
    axis, ranks = integer_of(axis, "axis", subject), (len(x1.shape), len(x2.shape))
    if axis >= 0 and ranks[0] != ranks[1]:
        raise ArgumentError(
            f"argument `axis` of `{subject}`",
            "a negative number, because the arrays have different numbers of axes", str(axis),
            f"axis={axis - ranks[0]} counts from the end of x1",
        )
    found = axis - ranks[0] if axis >= 0 else axis
    if not -min(ranks) <= found < 0:
        raise PositionError(
            f"argument `axis` of `{subject}`",
            f"an axis in [-{min(ranks)}, {min(ranks)})",
            str(axis),
        )
    return found
