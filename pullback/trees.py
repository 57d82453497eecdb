"""Nested structures of tensors: taken apart into a flat list, and put together again.

Lists, tuples, dictionaries and what optree knows or was told about (`optree.register_pytree_node`).
A Tensor and None are leaves. optree is loaded when a structure is first nested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core.tensor import Tensor
from .errors import ArgumentError

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of a structure, and the function that puts others in their places.

    >>> leaves, rebuild = flatten({"b": 1, "a": (2, 3)})
    >>> leaves, rebuild([20, 30, 10])
    ([2, 3, 1], {'b': 10, 'a': (20, 30)})
    """
    if tree is None or isinstance(tree, Tensor):
        return [tree], _only
    if (tree.__class__ is list or tree.__class__ is tuple) and not any(
        isinstance(v, (list, tuple, dict)) for v in tree
    ):
        return list(tree), tree.__class__
    import optree

    leaves, spec = optree.tree_flatten(
        tree, is_leaf=lambda v: v is None or isinstance(v, Tensor), none_is_leaf=True
    )
    return leaves, lambda values: optree.tree_unflatten(spec, values)


class Present:
    """A structure in which None is no leaf: what a function returns, or is handed for that.

    leaves   those that are there
    """

    def __init__(self, tree: Any) -> None:
        flat, self._rebuild = flatten(tree)
        self._there = [i for i, v in enumerate(flat) if v is not None]
        self._count = len(flat)
        self.leaves = [flat[i] for i in self._there]

    def rebuild(self, values: Sequence[Any]) -> Any:
        """The structure with others in place of the leaves, None where it was."""
        whole: list[Any] = [None] * self._count
        for i, v in zip(self._there, values, strict=True):
            whole[i] = v
        return self._rebuild(whole)

    def select(self, flat: Sequence[Any]) -> list[Any]:
        """Of one thing for each leaf, None included, those for the leaves that are there."""
        return [flat[i] for i in self._there]

    def like(self, tree: Any) -> list[Any] | None:
        """What another structure of this form has in the leaves' places; None for another form."""
        flat = leaves(tree)
        return self.select(flat) if len(flat) == self._count else None


def _only(values: Sequence[Any]) -> Any:
    return values[0]


def leaves(tree: Any) -> list[Any]:
    """The leaves of a structure, in order."""
    return flatten(tree)[0]


def spread_prefix(prefix: Any, tree: Any, who: str) -> list[Any]:
    """For each leaf of a structure, what a structure that begins as it does has in its place.

    Raises `ArgumentError` when the prefix goes otherwise.

    >>> spread_prefix((0, None), ([1, 2], {"a": 3}), "doctest")
    [0, 0, None]
    """
    count = len(leaves(tree))
    if prefix is None or isinstance(prefix, int):
        return [prefix] * count
    import optree

    try:
        return optree.broadcast_prefix(
            prefix, tree, is_leaf=lambda v: v is None or isinstance(v, Tensor), none_is_leaf=True
        )
    except ValueError as error:
        raise ArgumentError(
            f"axes of {who}", "an axis, None, or a structure that begins as the values do",
            str(error).splitlines()[0],
        ) from None


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A structure of what a function makes of each leaf (of several structures of one form)."""
    flat, rebuild = flatten(tree)
    return rebuild([function(*v) for v in zip(flat, *map(leaves, others), strict=True)])
