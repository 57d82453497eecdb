"""`tf.nest`: nested structures (pytrees) of lists, tuples and dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import trees
from ..errors import ArgumentError

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves in order; dictionaries in the order of their sorted keys.

    >>> flatten({"b": 1, "a": [2, 3]})
    [2, 3, 1]
    """
    return trees.leaves(structure)


def is_nested(structure: Any) -> bool:
    """True for a list, a tuple or a dictionary.

    >>> is_nested([1]), is_nested(1)
    (True, False)
    """
    return isinstance(structure, (list, tuple, dict))


def pack_sequence_as(
    structure: Any, flat_sequence: Any, expand_composites: bool = False
) -> Any:
    """Packs a flat list into the given structure.

    >>> pack_sequence_as({"b": 0, "a": [0, 0]}, [1, 2, 3])
    {'b': 3, 'a': [1, 2]}
    """
    flat, rebuild = trees.flatten(structure)
    values = list(flat_sequence)
    if len(values) != len(flat):
        raise ArgumentError(
            "tf.nest.pack_sequence_as", f"{len(flat)} leaves", f"{len(values)} leaves"
        )
    return rebuild(values)


def map_structure(func: Callable[..., Any], *structure: Any, **keywords: Any) -> Any:
    """Applies a function to corresponding leaves; returns the same structure.

    >>> map_structure(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    for other in structure[1:]:
        assert_same_structure(structure[0], other)
    _, rebuild = trees.flatten(structure[0])
    columns = [trees.leaves(s) for s in structure]
    return rebuild([func(*leaf, **keywords) for leaf in zip(*columns, strict=True)])


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise an `ArgumentError` (a `ValueError`) unless two structures match.

    >>> assert_same_structure([1, 2], [3, 4])
    """
    outline = [_outline(n) for n in (nest1, nest2)]
    if outline[0] != outline[1]:
        raise ArgumentError("tf.nest", f"the structure {outline[0]}", f"{outline[1]}")


def _outline(structure: Any) -> Any:
    flat, rebuild = trees.flatten(structure)
    return rebuild(["."] * len(flat))
