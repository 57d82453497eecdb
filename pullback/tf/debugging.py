"""`tf.debugging`: assertions; in a traced function they run on every call of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import ops
from ..arrays import is_array
from ..core.tensor import raw
from ..errors import ArgumentError, ArgumentTypeError
from . import strict
from .convert import as_tensor, matched, operand
from .dtypes import as_dtype
from .effects import Assert as Assert
from .effects import require
from .errors import invalid

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal",
    "assert_integer", "assert_less", "assert_less_equal", "assert_near", "assert_negative",
    "assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive",
    "assert_proper_iterable", "assert_rank", "assert_rank_at_least", "assert_rank_in",
    "assert_same_float_dtype", "assert_scalar", "assert_shapes", "assert_type", "check_numerics",
    "is_numeric_tensor",
]


def _require(
    holds: Any, message: str | None, subject: str, expected: str, **shown: Any
) -> None:
    """Raise an `InvalidArgumentError` with the tensors' values unless all of `holds` is true."""
    names, tensors = list(shown), list(shown.values())

    def text(*arrays: Any) -> str:
        got = ", ".join(f"{n} = {a}" for n, a in zip(names, arrays, strict=True))
        return str(invalid(message or f"`{subject}`", expected, got))

    require(ops.all(as_tensor(holds)), text, tensors)


def _comparison(name: str, compare: Callable[..., Any], sign: str) -> Callable[..., Any]:
    def call(
        x: Any, y: Any, message: str | None = None, summarize: Any = None, name: str | None = None
    ) -> None:
        x, y = matched(call.__name__, x, y)
        _require(compare(x, y), message, call.__name__, f"x {sign} y everywhere", x=x, y=y)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Raise an `InvalidArgumentError` unless x {sign} y in every entry."
    return call


def _sign(name: str, compare: Callable[..., Any], sign: str) -> Callable[..., Any]:
    def call(
        x: Any, message: str | None = None, summarize: Any = None, name: str | None = None
    ) -> None:
        x = operand(x, "fiu", call.__name__)
        _require(compare(x, 0), message, call.__name__, f"x {sign} 0 everywhere", x=x)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Raise an `InvalidArgumentError` unless x {sign} 0 in every entry."
    return call


assert_equal = _comparison("assert_equal", strict.equal, "==")
assert_none_equal = _comparison("assert_none_equal", strict.not_equal, "!=")
assert_less = _comparison("assert_less", strict.less, "<")
assert_less_equal = _comparison("assert_less_equal", strict.less_equal, "<=")
assert_greater = _comparison("assert_greater", strict.greater, ">")
assert_greater_equal = _comparison("assert_greater_equal", strict.greater_equal, ">=")
assert_positive, assert_negative = (
    _sign("assert_positive", strict.greater, ">"), _sign("assert_negative", strict.less, "<")
)
assert_non_negative = _sign("assert_non_negative", strict.greater_equal, ">=")
assert_non_positive = _sign("assert_non_positive", strict.less_equal, "<=")


def assert_near(
    x: Any, y: Any, rtol: float | None = None, atol: float | None = None,
    message: str | None = None, summarize: Any = None, name: str | None = None,
) -> None:
    """Raise an `InvalidArgumentError` unless |x - y| ≤ atol + rtol · |y| in every entry.

    Both tolerances default to ten times the machine epsilon of the dtype.

    >>> assert_near([1.0], [1.0])
    """
    x, y = matched("assert_near", x, y)
    default = 10 * float(ops.finfo(x._data.dtype).eps)
    rtol, atol = (default if t is None else float(t) for t in (rtol, atol))
    near = ops.less_equal(ops.abs(x - y), ops.abs(y) * rtol + atol)
    _require(near, message, "assert_near", f"x = y within {atol} + {rtol} |y|", x=x, y=y)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """Returns the tensor; raises an `InvalidArgumentError` if an entry is infinite or NaN.

    >>> check_numerics([1.0], "loss").numpy()
    array([1.], dtype=float32)
    """
    x = operand(tensor, "f", "check_numerics")
    _require(ops.isfinite(x), message, "check_numerics", "finite numbers", x=x)
    return x


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Any:
    """`check_numerics` under its older name.

    >>> assert_all_finite(1.0, "loss").numpy()
    np.float32(1.0)
    """
    return check_numerics(x, message)


# Shapes and dtypes --------------------------------------------------------------------------


def _refuse_rank(x: Any, expected: str, message: str | None, subject: str) -> Exception:
    return ArgumentError(message or f"`{subject}`", expected, f"shape {x.shape}")


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise an `ArgumentError` (a `ValueError`) unless x has `rank` axes.

    >>> assert_rank([1.0], 1)
    """
    assert_rank_in(x, [rank], message)


def assert_rank_at_least(
    x: Any, rank: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise an `ArgumentError` (a `ValueError`) if x has fewer than `rank` axes.

    >>> assert_rank_at_least([1.0], 1)
    """
    x = as_tensor(x)
    if x.shape.rank is not None and x.shape.rank < int(raw(rank)):
        raise _refuse_rank(x, f"{rank} axes or more", message, "assert_rank_at_least")


def assert_rank_in(
    x: Any, ranks: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise an `ArgumentError` (a `ValueError`) unless the rank of x is one of `ranks`.

    >>> assert_rank_in([1.0], [1, 2])
    """
    x, numbers = as_tensor(x), [int(raw(r)) for r in ranks]
    if x.shape.rank is not None and x.shape.rank not in numbers:
        raise _refuse_rank(x, " or ".join(map(str, numbers)) + " axes", message, "assert_rank")


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Any:
    """Returns the tensor; raises an `ArgumentError` (a `ValueError`) unless it is a scalar.

    >>> assert_scalar(1.0).numpy()
    np.float32(1.0)
    """
    x = as_tensor(tensor)
    assert_rank_in(x, [0], message)
    return x


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise an `ArgumentTypeError` (a `TypeError`) unless the tensor has this dtype.

    >>> assert_type([1.0], "float32")
    """
    x = as_tensor(tensor)
    if x.dtype != as_dtype(tf_type):
        raise ArgumentTypeError(message or "`assert_type`", f"dtype {as_dtype(tf_type).name}",
                                f"dtype {x.dtype.name}")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise an `ArgumentTypeError` (a `TypeError`) unless x has an integer dtype.

    >>> assert_integer([1])
    """
    x = as_tensor(x)
    if not x.dtype.is_integer:
        raise ArgumentTypeError(message or "`assert_integer`", "integers", f"dtype {x.dtype.name}")


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The common floating-point dtype of the tensors; float32 if there are none.

    Raises `ArgumentError` (a `ValueError`) if the dtypes differ or are not floating-point.

    >>> assert_same_float_dtype([[1.0], [2.0]])
    tf.float32
    """
    found = None if dtype is None else as_dtype(dtype)
    for x in tensors or ():
        kind = as_tensor(x).dtype
        found = kind if found is None else found
        if kind != found:
            raise ArgumentError("`assert_same_float_dtype`", f"dtype {found.name}", kind.name)
    found = as_dtype("float32") if found is None else found
    if not found.is_floating:
        raise ArgumentError("`assert_same_float_dtype`", "a floating dtype", found.name)
    return found


def assert_shapes(
    shapes: Any, data: Any = None, summarize: Any = None, message: str | None = None,
    name: str | None = None,
) -> None:
    """Check shapes in which letters stand for lengths; the same letter is the same length.

    shapes  pairs of a tensor and its shape: ints, letters, or None for any length

    Raises `ArgumentError` (a `ValueError`) if a shape does not match.

    >>> assert_shapes([([[1.0, 2.0]], ("n", 2)), ([3.0], ("n",))])
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    known: dict[Any, int] = {}
    for x, wanted in pairs:
        x = as_tensor(x)
        wanted = tuple(wanted) if isinstance(wanted, (list, tuple, str)) else (wanted,)
        assert_rank_in(x, [len(wanted)], message)
        for n, length in zip(wanted, x.shape, strict=True):
            if n in (None, ".") or length is None:
                continue
            expected = n if isinstance(n, int) else known.setdefault(n, length)
            if expected != length:
                raise ArgumentError(message or "`assert_shapes`", f"{n} = {expected}",
                                    f"{length} in shape {x.shape}")


def assert_proper_iterable(values: Any) -> None:
    """Raise an `ArgumentTypeError` (a `TypeError`) for tensors, strings and non-iterables.

    >>> assert_proper_iterable([1.0])
    """
    wrong = isinstance(values, (str, bytes)) or is_array(values) or hasattr(values, "_data")
    if wrong or not hasattr(values, "__iter__"):
        raise ArgumentTypeError("`assert_proper_iterable`", "a list or a tuple",
                                f"a {type(values).__name__}")


def is_numeric_tensor(tensor: Any) -> bool:
    """True for a tensor with a numeric dtype.

    >>> is_numeric_tensor(1.0)
    False
    """
    return hasattr(tensor, "_data") and as_tensor(tensor)._data.dtype.kind in "fciu"
