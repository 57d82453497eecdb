"""Rules of NumPy's and SciPy's ufuncs: calls with keywords, and `reduce` and other methods."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from .._aliases import aliases
from ..arrays import SCALARS
from ..core.node import number
from ..core.op import OPS
from ..core.tensor import Tensor, to_array
from ..errors import ArgumentError, DtypeError
from . import reducing
from .elementwise import COMPOSED
from .leaving import store, without_rule
from .table import cast, pb

REFUSED_UFUNCS = {
    "bitwise_count": "it counts bits of integers",
    "frexp": "use x / 2**k with a constant k",
    "gcd": "it takes integers",
    "isnat": "it takes dates",
    "lcm": "it takes integers",
    "spacing": "its derivative is 0: use pullback.stop_gradient(x)",
}
"""Numeric ufuncs without a rule -> why, or what to use instead."""

_REDUCED = {
    "add": reducing.sum_of, "multiply": reducing.prod_of, "maximum": reducing.max_of,
    "minimum": reducing.min_of, "logical_and": reducing.all_of, "logical_or": reducing.any_of,
    "logaddexp": reducing.logsumexp_of,
}

_ACCUMULATED = {"add": "cumulative_sum", "multiply": "cumulative_prod"}

_BEHIND = frozenset({"clip", "imag", "real"})
"""NumPy's functions that are no ufuncs, but have one of the same name behind them.

`numpy.real` and `numpy.imag` have them from NumPy 2.5 on.
"""

_SAFE = {"arctanh": 0}
"""ufunc -> a safe input where a mask excludes an entry; 1 for ufuncs that are not listed."""


def _is_of(module: Any, ufunc: Any) -> bool:
    """Whether a module, which may not be loaded, has this ufunc under its name."""
    return module is not None and vars(module).get(ufunc.__name__) is ufunc


def _is_special(ufunc: Any) -> bool:
    return _is_of(sys.modules.get("scipy.special"), ufunc)


def name_of(ufunc: Any) -> str:
    """The full name of a ufunc, for error messages."""
    return f"{'scipy.special' if _is_special(ufunc) else 'numpy'}.{ufunc.__name__}"


def rule_of(ufunc: Any) -> Any:
    """The function of Tensors that implements a ufunc, or None."""
    name = ufunc.__name__
    if _is_special(ufunc):
        return getattr(pb.special, name, None)
    if _is_of(numpy, ufunc):
        alias = aliases("numpy").get(name)
        return COMPOSED.get(name) or (alias.function() if alias else OPS.get(name))
    behind = name in _BEHIND and _is_of(sys.modules.get("numpy._core.umath"), ufunc)
    return getattr(pb, name) if behind else None


def call_of(ufunc: Any) -> Callable[..., Any]:
    """The function that a plain call of a ufunc runs."""
    rule = rule_of(ufunc)
    if rule is None:
        return partial(_without_rule, ufunc, "__call__", REFUSED_UFUNCS.get(ufunc.__name__, ""))
    if ufunc.nin == 1:
        return rule

    def checked(*inputs: Any) -> Any:
        for x in inputs:
            if x.__class__ is numpy.ndarray and x.dtype.hasobject:
                _check_numbers(name_of(ufunc), inputs)
        return rule(*inputs)

    return checked


def _check_numbers(subject: str, inputs: tuple[Any, ...]) -> None:
    """Raise a `DtypeError` for an array of Python objects."""
    for x in inputs:
        if getattr(getattr(x, "dtype", None), "kind", "") == "O":
            raise DtypeError(
                f"{subject} of a Tensor", "arrays of numbers", f"an array of dtype {x.dtype}",
                "convert it first, for example with a.astype(float)",
            )


def _without_rule(ufunc: Any, method: str, reason: str, *inputs: Any, **how: Any) -> Any:
    """The result of NumPy's own ufunc, if no Tensor is tracked."""
    out = how.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        how["out"] = out[0]
    subject = name_of(ufunc) + ("" if method == "__call__" else f".{method}")
    return without_rule(
        subject, getattr(ufunc, method), inputs, how, reason, writes=method == "at"
    )


def call(ufunc: Any, method: str, inputs: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """A ufunc method, or a call of a ufunc with keywords."""
    implementation = {
        "__call__": _called, "outer": _outer, "reduce": _reduced, "accumulate": _accumulated,
    }.get(method)
    found = NotImplemented if implementation is None else implementation(ufunc, inputs, dict(how))
    if found is not NotImplemented:
        return found
    reason = ""
    if method == "at":
        reason = "use pullback.add_at or pullback.set_at, which make a new tensor"
    elif method != "__call__":
        reason = "use pullback's reductions"
    elif how:
        reason = f"leave out {', '.join(f'`{k}`' for k in how)}"
    return _without_rule(ufunc, method, reason, *inputs, **how)


# Calls with keywords ------------------------------------------------------------------------


def _called(ufunc: Any, inputs: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """A call with `out`, `where` or `dtype`."""
    rule = rule_of(ufunc)
    outs, mask = how.pop("out", None), how.pop("where", True)
    dtype, casting = how.pop("dtype", None), how.pop("casting", "same_kind")
    how.pop("subok", None), how.pop("order", None)  # memory layout is not guaranteed
    if rule is None or (how and not (ufunc is numpy.vecdot and set(how) == {"axis"})):
        return NotImplemented
    subject = name_of(ufunc)
    _check_numbers(subject, inputs)
    if dtype is not None:
        inputs, results = _cast(ufunc, inputs, dtype, casting)
    if mask is not True:
        if outs is None:
            raise ArgumentError(
                f"`where` in {subject} of a Tensor",
                "an `out`, whose entries are kept where `where` is False",
                "no `out`, so those entries would be uninitialised",
                "pass out=numpy.zeros_like(x), or use pullback.where",
            )
        inputs = tuple([pb.where(mask, x, _SAFE.get(ufunc.__name__, 1)) for x in inputs])
    start = number()
    found = rule(*inputs, **how)
    values = found if ufunc.nout > 1 else (found,)
    if dtype is not None:
        values = tuple([cast(x, d) for x, d in zip(values, results, strict=True)])
    if outs is not None:
        values = tuple([
            x if out is None else _stored(subject, out, x, mask, start, casting)
            for out, x in zip(outs, values, strict=True)
        ])
    return values if ufunc.nout > 1 else values[0]


def _stored(subject: str, out: Any, x: Any, mask: Any, start: int, casting: str) -> Any:
    if mask is not True:
        x = cast(pb.where(mask, x, out), x.dtype)
    return store(subject, out, x, start, casting)


def _cast(
    ufunc: Any, inputs: tuple[Any, ...], dtype: Any, casting: str
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The inputs cast to the dtypes of the ufunc loop for `dtype`, and the result dtypes."""
    inputs = tuple([x if isinstance(x, (Tensor, *SCALARS)) else to_array(x) for x in inputs])
    given = tuple([getattr(x, "dtype", x.__class__) for x in inputs])
    wanted = (None,) * ufunc.nin + (numpy.dtype(dtype),) * ufunc.nout
    try:
        found = ufunc.resolve_dtypes(
            given + (None,) * ufunc.nout, signature=wanted, casting=casting
        )
    except TypeError as error:
        raise DtypeError(
            f"argument `dtype` of {name_of(ufunc)}", "a dtype that the ufunc supports",
            f"{numpy.dtype(dtype)}: {error}",
        ) from None
    ready = [
        x if isinstance(x, SCALARS) else cast(x, d) for x, d in zip(inputs, found, strict=False)
    ]
    return tuple(ready), found[ufunc.nin :]


# Methods ------------------------------------------------------------------------------------


def _outer(ufunc: Any, inputs: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """ufunc.outer: ufunc(a[…, None, …], b), all pairs of entries."""
    if ufunc.nin != 2 or ufunc.signature is not None:
        return NotImplemented
    a, b = [x if hasattr(x, "shape") else numpy.asarray(x) for x in inputs]
    a = pb.reshape(a, (*a.shape, *(1,) * len(b.shape)))
    return _called(ufunc, (a, b), how) if how else call_of(ufunc)(a, b)


def _reduced(ufunc: Any, inputs: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """ufunc.reduce; along axis 0 by default."""
    rule = _REDUCED.get(ufunc.__name__) if _is_of(numpy, ufunc) else None
    return NotImplemented if rule is None else _along(ufunc, rule, inputs, how, "reduce")


def _accumulated(ufunc: Any, inputs: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """ufunc.accumulate; along axis 0 by default."""
    name = _ACCUMULATED.get(ufunc.__name__)
    return NotImplemented if name is None else _along(
        ufunc, getattr(pb, name), inputs, how, "accumulate"
    )


def _along(
    ufunc: Any, rule: Callable[..., Any], inputs: tuple[Any, ...], how: dict[str, Any], method: str
) -> Any:
    names = ("axis", "dtype", "out", "keepdims", "initial", "where")
    how = {**dict(zip(names, inputs[1:], strict=False)), **how}
    out = how.pop("out", None)
    out = out[0] if isinstance(out, tuple) else out
    how = {
        k: v for k, v in how.items()
        if not (v is None and k == "dtype") and v is not numpy._NoValue
    }
    known = ("axis", "dtype") if method == "accumulate" else inspect.signature(rule).parameters
    if any(k not in known for k in how):
        return NotImplemented
    start = number()
    found = rule(inputs[0], **{"axis": 0, **how})
    if out is None:
        return found
    return store(f"{name_of(ufunc)}.{method}", out, found, start)
