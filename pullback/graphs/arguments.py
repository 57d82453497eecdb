"""Arguments of traced functions: which are tensors, and what tells one call from another."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ..arrays import SCALARS, adapters, is_array
from ..arrays.batched import bare
from ..arrays.symbol import AnyShape, Symbol
from ..core.tensor import Tensor, raw, wrap
from ..errors import ArgumentTypeError
from ..trees import flatten
from ..variable import Variable
from .tensor import eager_class


class TensorSpec:
    """What a tensor argument looks like: shape (None for lengths that may be any) and dtype.

    >>> TensorSpec([None, 3], "float64")
    TensorSpec(shape=(None, 3), dtype=float64)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any = None, dtype: Any = "float64", name: str | None = None) -> None:
        self.shape = None if shape is None else tuple(shape)
        self.dtype = numpy.dtype(dtype) if isinstance(dtype, (str, type)) else dtype
        self.name = name

    def _key(self) -> tuple[Any, ...]:
        return (self.shape, str(self.dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype})"

    def takes(self, shape: Any, dtype: Any) -> bool:
        """Whether a tensor of a shape and dtype is one of these."""
        if str(dtype) != str(self.dtype):
            return False
        if self.shape is None:
            return True
        return shape is not None and len(shape) == len(self.shape) and all(
            n is None or n == m for n, m in zip(self.shape, shape, strict=True)
        )


class Given:
    """The arguments of one call, taken apart: tensors, and everything else, which is a key."""

    def __init__(self, owner: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        bound = owner.bound(args, keywords)
        flat, self.rebuild = flatten((bound.args, bound.kwargs))
        self.flat = flat
        self.tensors: list[Any] = []
        self.places: list[int] = []
        parts: list[Any] = []
        for place, value in enumerate(flat):
            if is_tensor(value):
                self.tensors.append(value)
                self.places.append(place)
                parts.append(space_of(value))
            else:
                parts.append(_constant_key(value))
        self.specs = [p for p in parts if p.__class__ is Space]
        self.tree = structure_of((bound.args, bound.kwargs))
        self.eager = eager_class(self.tensors, owner.eager_tensor)
        self.key: tuple[Any, ...] = ((str(self.tree), self.eager), tuple(parts))
        kinds = owner.signature.parameters
        self._names = [n for n in bound.arguments if kinds[n].kind < inspect.Parameter.KEYWORD_ONLY]

    def widen(self, shapes: Mapping[int, Any]) -> None:
        """Take the shapes of some tensors, by their ids, to be others than they have."""
        structure, parts = self.key
        wide = iter([
            Space((s[0], shapes.get(id(t), s[1]), s[2]))
            for t, s in zip(self.tensors, self.specs, strict=True)
        ])
        found = tuple([next(wide) if p.__class__ is Space else p for p in parts])
        self.specs = [p for p in found if p.__class__ is Space]
        self.key = (structure, found)

    def names(self) -> list[str]:
        """For each tensor, the parameter it was given for, and where in it."""
        found = []
        for place, path in enumerate(self.tree.paths()):
            if place not in self.places:
                continue
            kind, first, *rest = path
            name = first if kind == 1 else self._names[min(first, len(self._names) - 1)]
            found.append("_".join(re.sub(r"\W", "", str(p)) for p in (name, *rest)))
        return found


class Slots:
    """Where the tensors are among the arguments of calls like the one a function was traced for."""

    def __init__(self, owner: Any, given: Given) -> None:
        self.owner, self.tree, self.places = owner, given.tree, given.places
        flat: list[Any] = list(given.flat)
        for place in given.places:
            flat[place] = MISSING
        self.flat = flat
        args, keywords = given.rebuild(flat)
        self.example = owner.signature.bind(*args, **keywords)

    def tensors(self, args: tuple[Any, ...], keywords: dict[str, Any], specs: Any) -> list[Any]:
        """The tensors of a call, in order; numbers and arrays are converted, as `specs` say.

        Raises `ArgumentTypeError` for other arguments than those of the function, and for another
        value of one that is no tensor: that value is in the graph.
        """
        subject = f"call of the graph of `{self.owner.name}`"
        try:
            flat = self.tree.flatten_up_to(self._bound(args, keywords))
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(
                subject, f"arguments as it was traced for, ({', '.join(self.example.arguments)})",
                str(error).splitlines()[0], "call the function itself, which traces anew",
            ) from None
        found: list[Any] = []
        for place, (value, traced) in enumerate(zip(flat, self.flat, strict=True)):
            if value is MISSING:
                raise ArgumentTypeError(subject, f"{len(self.places)} tensors", "fewer")
            if traced is MISSING:
                found.append(self.owner.tensor_of(value, specs[len(found)][1]))
            elif _constant_key(value) != _constant_key(traced):
                raise ArgumentTypeError(
                    subject, f"{traced!r} as argument {place}, as it was traced for", f"{value!r}",
                    "call the function itself, which traces anew",
                )
        return found

    def _bound(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        bound = self.owner.signature.bind_partial(*args, **keywords)
        for name, value in self.example.arguments.items():
            bound.arguments.setdefault(name, value)
        bound.arguments = {k: bound.arguments[k] for k in self.example.arguments}
        return bound.args, bound.kwargs


MISSING = object()
"""Stands for a tensor that is to be given."""


def structure_of(tree: Any) -> Any:
    """What tells one structure of arguments from another."""
    import optree

    return optree.tree_structure(
        tree, is_leaf=lambda v: v is None or isinstance(v, Tensor), none_is_leaf=True
    )


class Space(tuple[Any, ...]):
    """Of a tensor argument: the class of its array, its shape, its dtype."""

    __slots__ = ()


def plain_key(args: tuple[Any, ...]) -> Any:
    """What tells calls with nothing but tensors from each other; None of other calls."""
    parts = []
    for value in args:
        if not isinstance(value, Tensor) or isinstance(value, Variable):
            return None
        data = value._data
        parts.append((value._out, data.__class__, data.shape, data.dtype))
    return tuple(parts)


def is_tensor(value: Any) -> bool:
    """Whether an argument is one by its shape and dtype; a variable is one by itself."""
    if isinstance(value, Tensor):
        return not isinstance(value, Variable)
    return value.__class__ not in SCALARS and is_array(value)


def space_of(value: Any) -> Space:
    """What a tensor argument looks like; `vmap` shows one example's."""
    data = raw(value)
    if data.__class__ is Symbol:
        shape = None if isinstance(data.shape, AnyShape) else tuple(data.shape)
        return Space((data.kind, shape, data.dtype))
    own = bare(data)
    kind = numpy.ndarray if isinstance(own, (numpy.generic, numpy.ndarray)) else own.__class__
    return Space((kind, tuple(data.shape), data.dtype))


def _constant_key(value: Any) -> Any:
    if isinstance(value, Variable):
        return ("variable", _ById(value))
    try:
        hash(value)
    except TypeError:
        return ("object", _ById(value))
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))  # 0.0 and -0.0 are two, and NaN is one
    return (type(value), value)


def same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two sequences hold the same objects."""
    return len(some) == len(others) and all(map(operator.is_, some, others))


class _ById:
    """Something that is equal to itself only, and is kept."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def is_spec(value: Any) -> bool:
    """Whether something stands for a tensor."""
    return isinstance(value, TensorSpec)


def example(spec: TensorSpec) -> Any:
    """A tensor of a spec's dtype, to bind arguments with; its lengths are not looked at."""
    shape = () if spec.shape is None else tuple(0 if n is None else n for n in spec.shape)
    base = numpy.broadcast_to(numpy.zeros(()), shape)
    kind = float if isinstance(spec.dtype, numpy.dtype) else spec.dtype.__class__
    return wrap(Tensor, adapters[kind].asarray(base, spec.dtype))
