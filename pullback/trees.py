"""Pytrees: flatten nested containers of tensors into a list of leaves, and rebuild them.

Containers are lists, tuples, dictionaries and all types that optree knows
(`optree.register_pytree_node` adds one). A Tensor and None are leaves. optree is imported when the
first nested container is flattened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core.tensor import Tensor
from .errors import ArgumentError

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of a pytree, and a function that rebuilds the pytree from new leaves.

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


class WithoutNone:
    """A pytree in which None is not a leaf.

    leaves   the leaves that are not None
    """

    def __init__(self, tree: Any) -> None:
        flat, self._rebuild = flatten(tree)
        self._there = [i for i, v in enumerate(flat) if v is not None]
        self._count = len(flat)
        self.leaves = [flat[i] for i in self._there]

    def rebuild(self, values: Sequence[Any]) -> Any:
        """The pytree with new leaves; each None stays where it was."""
        whole: list[Any] = [None] * self._count
        for i, v in zip(self._there, values, strict=True):
            whole[i] = v
        return self._rebuild(whole)

    def select(self, flat: Sequence[Any]) -> list[Any]:
        """From one item per leaf, None included, the items of the leaves that are not None."""
        return [flat[i] for i in self._there]

    def like(self, tree: Any) -> list[Any] | None:
        """The items of another pytree at these leaves; None if its number of leaves differs."""
        flat = leaves(tree)
        return self.select(flat) if len(flat) == self._count else None


def _only(values: Sequence[Any]) -> Any:
    return values[0]


def leaves(tree: Any) -> list[Any]:
    """The leaves of a pytree, in order."""
    return flatten(tree)[0]


def spread_prefix(prefix: Any, tree: Any, subject: str) -> list[Any]:
    """One value per leaf of `tree`, where `prefix` is a pytree prefix of it (as `in_axes` of vmap).

    Raises `ArgumentError` when `prefix` is not a prefix of the tree.

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
            f"axes of {subject}", "an axis, None, or a pytree prefix of the values",
            str(error).splitlines()[0],
        ) from None


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to each leaf of a pytree (or of several pytrees of one structure)."""
    flat, rebuild = flatten(tree)
    return rebuild([function(*v) for v in zip(flat, *map(leaves, others), strict=True)])
