"""Cotangents live in the space of their primal: its shape, its dtype, real or complex."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from sys import getrefcount
from typing import Any

import numpy

from ..arrays import adapters
from ..arrays.batched import HiddenShape
from ..arrays.symbol import OpenShape
from ..errors import ArgumentError, DtypeError, RuleError
from .above import above
from .op import OPS
from .tensor import Tensor, raw, to_array, wrap


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


class _Complex(dict[Any, bool]):
    """dtype of any library -> whether it is complex, found out once."""

    def __missing__(self, dtype: Any) -> bool:
        kind = getattr(dtype, "kind", None)
        found = kind == "c" if kind is not None else bool(getattr(dtype, "is_complex", False))
        self[dtype] = found
        return found


complex_dtypes = _Complex()


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


def start(tensor: Any, given: Any, subject: str) -> Any:
    """The cotangent a pull starts with: ones, or what was given, checked against the target."""
    if given is None:
        count = prod(tensor.shape)
        if count != 1:
            raise ArgumentError(
                f"{subject} of a target of shape {tensor.shape}",
                "a target with one entry (a scalar)", f"{count} entries, and no gradient for them",
                "sum it first, or pass a gradient of its shape",
            )
        if is_complex(tensor):
            raise ArgumentError(
                f"{subject} of a complex target", "a real target, such as a loss", "a complex one",
                "take its real part or abs, or pass a gradient",
            )
        return OPS["ones_like"](tensor._data)
    if not isinstance(given, Tensor):
        given = adapters[type(tensor._data)].asarray(to_array(given))
    if is_complex(given) and not is_complex(tensor):
        raise DtypeError(
            f"gradient given to {subject}", f"a real dtype, as the target's {tensor.dtype}",
            f"dtype {given.dtype}", "pass its real part",
        )
    if tuple(given.shape) != tensor.shape:
        raise RuleError(
            f"gradient given to {subject}", f"the target's shape {tensor.shape}",
            f"shape {tuple(given.shape)}", "pass one number for each entry of the target",
        )
    if given.dtype != tensor.dtype:
        given = OPS["astype"](given, tensor.dtype)
    return given


def references(found: dict[Any, Any], node: Any) -> int:
    """The number of references to a found cotangent; `ALONE` if only the dictionary holds it."""
    return getrefcount(found[node])


ALONE = references({None: object()}, None)  # how that counts depends on the interpreter


def settled(found: dict[Any, Any], node: Any, *, plain: bool = False) -> Any:
    """A node's cotangent for its receiver: conjugated, in memory without aliases.

    A backward pass passes arrays on without copies: addition gives both arguments the same array,
    which may be the user's, or a read-only view. The dictionary must hold the only reference.
    """
    if isinstance(found[node], Tensor):
        return found[node] if plain else conjugated(found[node])
    alone = references(found, node) <= ALONE
    g = found[node]
    adapter = adapters[g.__class__]
    g = adapter.own(g) if alone else adapter.copy(g)
    return g if plain else conjugated(g)
