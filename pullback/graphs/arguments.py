"""Arguments of traced functions: which are tensors, and what tells one call from another."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ..arrays import SCALARS, adapters, is_array
from ..arrays.symbol import AnyShape, Symbol
from ..core.batching import bare
from ..core.tensor import Tensor, raw, wrap
from ..trees import flatten
from ..variable import Variable


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
        self.key: tuple[Any, ...] = (str(self.rebuild_key(bound)), tuple(parts))

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

    @staticmethod
    def rebuild_key(bound: Any) -> Any:
        """What tells one structure of arguments from another."""
        import optree

        tree: Any = (bound.args, bound.kwargs)
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
        parts.append((data.__class__, data.shape, data.dtype))
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
