"""The names of arguments in messages."""

from __future__ import annotations

from typing import Any


def names_of(args: Any, keywords: Any) -> list[str]:
    """The name of each leaf of the arguments, as one would write it in code.

    >>> names_of((1.0, {"a": 2.0}), {"axis": 0})
    ['argument 0', "argument 1['a']", 'argument `axis`']
    """
    import optree

    from ...core.tensor import Tensor

    tree: Any = (args, keywords)
    paths = optree.tree_paths(
        tree, is_leaf=lambda v: v is None or isinstance(v, Tensor), none_is_leaf=True
    )
    return [_name(path) for path in paths]


def _name(path: tuple[Any, ...]) -> str:
    which, first, *rest = path
    start = f"argument `{first}`" if which else f"argument {first}"
    return start + "".join(f"[{key!r}]" for key in rest)
