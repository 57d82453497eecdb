"""Cotangents live in the space of their primal: its shape, its dtype, real or complex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..arrays.batched import HiddenShape
from ..arrays.inexact import ByDtype, kind_of
from ..arrays.symbol import OpenShape
from ..errors import RuleError
from .above import above
from .op import OPS
from .tensor import Tensor, raw, wrap


def _cotangent() -> str:
    return "cotangent"


def project(g: Any, node: Any, subject: Callable[[], str] = _cotangent) -> Any:
    """Bring what a rule returned into the space of the node it belongs to.

    Axes that broadcasting added or stretched are summed, a real space takes the real part, the
    dtype becomes the node's. Works on raw arrays and on Tensors. `subject` begins an error.

    Raises `RuleError` when the shape cannot have come from broadcasting.
    """
    shape = node.shape
    seen = raw(g).shape
    if seen != shape:
        if isinstance(seen, OpenShape) or isinstance(shape, OpenShape):
            return above.deferred().project(g, node)
        if seen.__class__ is HiddenShape:
            g = above.summed(g, seen, shape)
        if tuple(g.shape) != tuple(shape):
            g = unbroadcast(g, tuple(shape), subject)
    if g.dtype != node.dtype:
        g = cast(g, node.dtype)
    return g


def unbroadcast(
    g: Any, shape: tuple[int, ...], subject: Callable[[], str] = _cotangent
) -> Any:
    """Sum over the axes along which `shape` was stretched to become `g.shape`."""
    extra = len(g.shape) - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, g.shape[extra:], strict=True)):
        raise RuleError(
            subject(), f"shape {tuple(shape)}", f"shape {tuple(g.shape)}",
            "return a gradient of the shape of the argument",
        )
    if extra:
        g = OPS["sum"](g, axis=tuple(range(extra)))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    if stretched:
        g = OPS["sum"](g, axis=stretched, keepdims=True)
    return g


def cast(g: Any, dtype: Any) -> Any:
    """Change the dtype; from complex to real keeps the real part, which is the adjoint."""
    if is_complex(g) and not is_complex_dtype(dtype):
        g = OPS["real"](g)
    return g if g.dtype == dtype else OPS["astype"](g, dtype)


complex_dtypes = ByDtype(lambda dtype: kind_of(dtype) == "c")
"""dtype of any library -> whether it is complex."""


def is_complex(value: Any) -> bool:
    """Whether an array or Tensor holds complex numbers."""
    return complex_dtypes[value.dtype]


def is_complex_dtype(dtype: Any) -> bool:
    """Whether a dtype, as any library names it, is complex."""
    return complex_dtypes[numpy.dtype(dtype) if isinstance(dtype, (str, type)) else dtype]


def conjugated(g: Any) -> Any:
    """g*, for complex g; real values as they are. See Note [transposes inside, adjoints outside].

    Note [transposes inside, adjoints outside]: rules are plain transposes (for y = f(z) complex
    differentiable, g ↦ g f'(z), JAX's convention): shorter, and shared with forward mode. What
    people see is PyTorch's and TensorFlow's convention, the adjoint g ↦ g f'(z)*, for which
    descent goes down. The two differ by a conjugation where a cotangent enters or leaves a pull
    (targets, sources, hooks, hand-written gradient functions), and that is where it is done.
    """
    return OPS["conj"](g) if complex_dtypes[g.dtype] else g


def wrapped(cls: type, g: Any) -> Any:
    """A cotangent, or a tangent, as a Tensor of a class."""
    if isinstance(g, Tensor):
        return g if g._out is cls else wrap(cls, g._data, g._node)
    return wrap(cls, g)


def accumulate(
    cotangents: dict[Any, Any], node: Any, g: Any, subject: Callable[[], str] = _cotangent
) -> None:
    """Project a cotangent into a node's space and add it to what is there."""
    if raw(g).shape != node.shape or g.dtype != node.dtype:
        g = project(g, node, subject)
    old = cotangents.get(node)
    cotangents[node] = g if old is None else old + g
