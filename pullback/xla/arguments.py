"""The arguments of a compiled function: which are inputs of the compiled code, which are fixed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy
import optree

from ..core import state as _state
from ..core.tensor import Tensor
from ..errors import ArgumentError, ArgumentTypeError
from ..nn.parameter import Parameter
from ..variable import Variable
from .trace import concrete

NUMBERS = (int, float, complex)
INPUTS = (jax.Array, numpy.ndarray, numpy.generic)


def is_leaf(value: Any) -> bool:
    """Whether a value is a leaf of a pytree where others would look inside."""
    return value is None or isinstance(value, Tensor)


class Arguments:
    """The arguments of one call.

    key      equal for calls that one compiled function can do
    inputs   raw arrays and Python numbers, for the compiled code
    inline   whether the function must run as it is, on tracers or examples of a vmap
    """

    __slots__ = ("flat", "inline", "inputs", "key", "kinds", "spec", "tracked")

    def __init__(self, args: tuple[Any, ...], keywords: dict[str, Any], static: Any) -> None:
        given: Any = (args, keywords)
        self.flat: list[Any]
        self.flat, self.spec = optree.tree_flatten(given, is_leaf=is_leaf, none_is_leaf=True)
        fixed = () if static is None else static(args, keywords)
        self.inputs: list[Any] = []
        self.kinds: list[Any] = []  # the class of a Tensor, True for another input, False
        self.inline, self.tracked = False, False
        self.key = (self.spec, *[self._taken(value, fixed) for value in self.flat])

    def _taken(self, value: Any, fixed: Sequence[Any]) -> Any:
        if isinstance(value, Tensor) and not isinstance(value, (Variable, Parameter)):
            data, node = value._array, value._history
            self.inline |= not concrete(data)
            followed = False
            if node is not None:
                now = _state.state()
                followed = now.follows(node) or now.pushes(node)
            self.tracked |= followed
            self.inputs.append(data)
            self.kinds.append(type(value))
            return type(value), data.shape, data.dtype, followed
        if any(value is f for f in fixed):
            self.kinds.append(False)
            return "static", type(value), _hashable(value)
        if isinstance(value, INPUTS) or type(value) in NUMBERS:
            if type(value) in NUMBERS:
                kind: Any = type(value)
            else:
                self.inline |= not concrete(value)
                kind = (value.shape, value.dtype)
            self.inputs.append(value)
            self.kinds.append(True)
            return kind
        if isinstance(value, Tensor):
            self.inline |= not concrete(value._array)
        self.kinds.append(False)
        return type(value), _hashable(value)

    def rebuilt(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other values for the inputs."""
        rest = iter(values)
        leaves = [next(rest) if k else v for k, v in zip(self.kinds, self.flat, strict=True)]
        whole: Any = optree.tree_unflatten(self.spec, leaves)
        return whole[0], whole[1]


class _Same:
    """An object without a hash, equal to itself only."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _hashable(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _Same(value)
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return value


def static_values(function: Any, names: Sequence[str]) -> Callable[..., list[Any]] | None:
    """A function of a call's arguments that returns the values of the named ones."""
    if not names:
        return None
    signature = inspect.signature(function)
    unknown = [n for n in names if n not in signature.parameters]
    if unknown:
        raise ArgumentError(
            "argument `static_argnames` of pullback.jit",
            f"names among {', '.join(signature.parameters)}", ", ".join(unknown),
        )

    def find(args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        given = signature.bind(*args, **keywords)
        given.apply_defaults()
        named: Any = [given.arguments[n] for n in names]
        found: list[Any] = optree.tree_leaves(named, is_leaf=is_leaf, none_is_leaf=True)
        for value in found:
            if isinstance(value, (Tensor, *INPUTS)):
                raise ArgumentTypeError(
                    "argument named by `static_argnames` of pullback.jit",
                    "a Python value, for each of which the function is traced",
                    f"a {type(value).__name__}", "leave its name out",
                )
        return found

    return find
