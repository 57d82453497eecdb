"""The trainable parameters of modules, pytrees and single tensors, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentError, ArgumentTypeError, suggestion
from .measures import is_learnt

Named = list[tuple[str, Any]]


def parameters_of(watched: Any, subject: str) -> Named:
    """(name, tensor or array) of every trainable value in modules and pytrees.

    Names come from `named_parameters`, else from the path in the pytree, else from the variable.
    Raises `ArgumentTypeError` for an optimizer and `ArgumentError` if there are none.

    >>> import numpy as np
    >>> tree = {"layers": [{"w": np.ones(2)}, {"w": np.ones(3)}], "step": 3}
    >>> [name for name, _ in parameters_of(tree, "doctest")]
    ['layers.0.w', 'layers.1.w']
    """
    if hasattr(watched, "param_groups"):
        raise ArgumentTypeError(
            subject, "a module, or a pytree of tensors", f"an optimizer ({type(watched).__name__})",
            "pb.monitor(model, optimizer=optimizer)",
        )
    found = [(name, value) for name, value in entries(watched) if is_learnt(value)]
    if not found:
        raise ArgumentError(
            subject, "parameters of real or complex floating numbers", "none",
            "pass the module, or a list or dictionary of its tensors",
        )
    return _distinct(found)


def modules_of(watched: Any) -> Named:
    """(name, module) of each module in a pytree, including modules inside modules."""
    found: Named = []
    for name, leaf in _leaves(watched):
        if hasattr(leaf, "named_modules"):
            found += [(_joined(name, n), m) for n, m in leaf.named_modules()]
        elif hasattr(leaf, "trainable_variables"):
            found += [(n, m) for n, m in _attributes(leaf, name, set()) if _is_holder(m)]
    return found


def entries(watched: Any) -> Named:
    """(name, leaf) of a pytree; replaces modules by their parameters."""
    found: Named = []
    for name, leaf in _leaves(watched):
        if hasattr(leaf, "named_parameters"):
            found += [(_joined(name, n), p) for n, p in leaf.named_parameters()]
        elif hasattr(leaf, "trainable_variables"):
            known = {id(v) for v in leaf.trainable_variables}
            by_id = {id(v): n for n, v in _attributes(leaf, name, set()) if id(v) in known}
            found += [(by_id[id(v)], v) for v in leaf.trainable_variables]
        else:
            found.append((name or _own_name(leaf), leaf))
    own = [_own_name(leaf) for _, leaf in found]
    flat = isinstance(watched, (list, tuple)) and all(n.isdigit() for n, _ in found)
    if flat and all(own) and len(set(own)) == len(own):
        return [(name, leaf) for name, (_, leaf) in zip(own, found, strict=True)]
    return found


def matched(gradients: Any, parameters: Named) -> list[Any]:
    """A gradient, or None, for each parameter: matched by name or path, else by order.

    Raises `ArgumentError` if the structures do not fit.
    """
    given = _leaves(gradients)
    names = [name for name, _ in parameters]
    by_name = dict(given)
    if len(given) == len(by_name) and set(by_name) <= set(names) and (
        isinstance(gradients, Mapping) or len(given) == len(names)
    ):
        return [by_name.get(name) for name in names]
    if isinstance(gradients, Mapping) and (odd := [n for n in by_name if n not in names]):
        raise ArgumentError(
            "argument `gradients` of a monitor's step", "the names of the parameters",
            repr(odd[0]), suggestion(odd[0], names),
        )
    learnt = given if len(given) == len(names) else [
        pair for pair in given if pair[1] is None or is_learnt(pair[1])
    ]
    if len(learnt) != len(names):
        raise ArgumentError(
            "argument `gradients` of a monitor's step", f"{len(names)} gradients, one each",
            f"{len(learnt)}", "pass None for a parameter without gradient",
        )
    return [leaf for _, leaf in learnt]


def _leaves(tree: Any) -> Named:
    if isinstance(tree, Iterator):  # for PyTorch's `parameters()` and `named_parameters()`
        tree = list(tree)
    if isinstance(tree, list) and tree and all(_is_pair(v) for v in tree):
        return list(tree)
    if _is_leaf(tree):
        return [("", tree)]
    import optree

    ways, leaves, _ = optree.tree_flatten_with_accessor(tree, is_leaf=_is_leaf, none_is_leaf=True)
    return [(".".join(_step(e) for e in way), leaf) for way, leaf in zip(ways, leaves, strict=True)]


def _is_leaf(value: Any) -> bool:
    return value is None or isinstance(value, Tensor) or _is_holder(value)


def _is_holder(value: Any) -> bool:
    return hasattr(value, "named_parameters") or hasattr(value, "trainable_variables")


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _step(entry: Any) -> str:
    return str(entry.field if hasattr(entry, "field") else entry.entry)


def _attributes(holder: Any, name: str, seen: set[int]) -> Named:
    """(path, value) of attributes that hold a value or trainable variables, recursively."""
    found: Named = [(name, holder)]
    seen.add(id(holder))
    for attribute, value in sorted(vars(holder).items()):
        nested = isinstance(value, (list, tuple, dict))
        for way, leaf in _leaves(value) if nested else [("", value)]:
            path = _joined(name, _joined(attribute, way) if way else attribute)
            if id(leaf) in seen:
                continue
            if _is_holder(leaf):
                found += _attributes(leaf, path, seen)
            elif isinstance(leaf, Tensor):
                seen.add(id(leaf))
                found.append((path, leaf))
    return found


def _own_name(leaf: Any) -> str:
    name = getattr(leaf, "name", None) if isinstance(leaf, Tensor) else None
    return name.partition(":")[0] if isinstance(name, str) else ""


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _distinct(named: Named) -> Named:
    """The same with unique names: numbers duplicates, and names values without a name."""
    count: Counter[str] = Counter()
    made: Named = []
    for name, value in named:
        name = name or "parameter"
        count[name] += 1
        made.append((name if count[name] == 1 else f"{name} ({count[name]})", value))
    return made
