"""`tf.debugging`: checks that raise an `InvalidArgumentError`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from . import strict
from .convert import convert_to_tensor, matched, operand
from .errors import invalid

__all__ = [
    "assert_all_finite", "assert_equal", "assert_greater", "assert_less", "assert_near",
    "check_numerics",
]


def _assertion(name: str, holds: Callable[..., Any], sign: str) -> Callable[..., Any]:
    def call(
        x: Any, y: Any, message: str | None = None, summarize: Any = None, name: str | None = None
    ) -> None:
        x, y = matched(call.__name__, x, y)
        answer = ops.all(convert_to_tensor(holds(x, y)))
        if not bool(answer):
            raise invalid(message or f"`{call.__name__}`", f"x {sign} y everywhere",
                          f"x = {x.numpy()}, y = {y.numpy()}")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Raise an `InvalidArgumentError` unless x {sign} y in every entry."
    return call


assert_equal = _assertion("assert_equal", strict.equal, "==")
assert_less = _assertion("assert_less", strict.less, "<")
assert_greater = _assertion("assert_greater", strict.greater, ">")


def assert_near(
    x: Any, y: Any, rtol: float | None = None, atol: float | None = None,
    message: str | None = None, summarize: Any = None, name: str | None = None,
) -> None:
    """Raise an `InvalidArgumentError` unless |x - y| ≤ atol + rtol · |y| in every entry.

    Both tolerances are ten times the dtype's precision when left out.

    >>> assert_near([1.0], [1.0])
    """
    x, y = matched("assert_near", x, y)
    default = 10 * float(ops.finfo(x._data.dtype).eps)
    rtol, atol = (default if t is None else float(t) for t in (rtol, atol))
    if not bool(ops.all(ops.less_equal(ops.abs(x - y), ops.abs(y) * rtol + atol))):
        raise invalid(message or "`assert_near`", f"x = y within {atol} + {rtol} |y|",
                      f"x = {x.numpy()}, y = {y.numpy()}")


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """The tensor itself; an `InvalidArgumentError` where an entry is infinite or NaN.

    >>> check_numerics([1.0], "loss").numpy()
    array([1.], dtype=float32)
    """
    x = operand(tensor, "f", "check_numerics")
    if not bool(ops.all(ops.isfinite(x))):
        raise invalid(message, "finite numbers", f"{x.numpy()}")
    return x


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Any:
    """`check_numerics` under its older name.

    >>> assert_all_finite(1.0, "loss").numpy()
    np.float32(1.0)
    """
    return check_numerics(x, message)
