"""Functions of nested structures with rules of their own: what `custom_vjp` and `custom_jvp` share.

JAX's conventions: arguments that are not differentiated are named beforehand, all others are
structures of arrays, and keyword arguments are put in their positions.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..arrays import SCALARS, is_array, outer
from ..core import versions
from ..core.custom_op import CustomOp
from ..core.node import Node
from ..core.op import OPS
from ..core.state import state
from ..core.tensor import Tensor, to_array, wrap
from ..errors import ArgumentError, ArgumentTypeError, PositionError, RuleError, suggestion
from ..trees import Rebuild, flatten
from .capture_guard import Guard, closed
from .rule import as_tensor, refuse_outer


class HandWritten(CustomOp, ABC):
    """A function of pytrees with a hand-written derivative."""

    kind: ClassVar[str]

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        if not callable(fun):
            raise ArgumentTypeError(self.kind, "a function", f"a {type(fun).__name__}")
        self.function = fun
        self.op = self
        self.name = getattr(fun, "__name__", "function")
        self.subject = f"{self.kind} `{self.name}`"
        functools.update_wrapper(self, fun, updated=())
        self._signature = _signature(fun)
        names = self._signature.parameters if self._signature is not None else {}
        self.arguments = tuple(names)
        self._nondiff = self._places(nondiff_argnums, nondiff_argnames)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: `self` is argument 0."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The value, recorded with its rule if it is differentiated."""
        call = Call(self._positional(args, keywords), self._nondiff, self)
        if outer:
            refuse_outer(call.leaves)
        if state().differentiates(call.nodes):
            return self._recorded(call)
        return self._unrecorded(call)

    def _unrecorded(self, call: Call) -> Any:
        """The value of a call that is not differentiated."""
        out, guard = closed(self.subject, self.function, call.values(), call.own())
        values, rebuild = outputs(out, call, guard)
        return rebuild([wrap(v._out, v._data) for v in values])

    @abstractmethod
    def _recorded(self, call: Call) -> Any:
        """The value of a call that is differentiated."""

    def argument(self, place: int) -> str:
        """How errors call an argument."""
        return f"`{self.arguments[place]}`" if place < len(self.arguments) else str(place)

    def _places(self, argnums: int | Sequence[int], argnames: str | Sequence[str]) -> set[int]:
        """The positions of the arguments that are not differentiated."""
        nums = [argnums] if isinstance(argnums, int) else list(argnums)
        count = len(self.arguments)
        fixed = count and not _takes_any(self._signature)
        for n in nums:
            if not isinstance(n, int) or not (-count <= n < count if fixed else n >= 0):
                raise PositionError(
                    f"argument `nondiff_argnums` of {self.subject}",
                    f"positions of its {count} arguments" if fixed else "positions from the front",
                    repr(n),
                )
        for name in [argnames] if isinstance(argnames, str) else argnames:
            if name not in self.arguments:
                raise ArgumentError(
                    f"argument `nondiff_argnames` of {self.subject}", "names of its arguments",
                    repr(name), suggestion(name, self.arguments),
                )
            nums.append(self.arguments.index(name))
        return {n % count if fixed else n for n in nums}

    def _positional(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Arguments given by keyword, and defaults, in their positions."""
        if self._signature is None:
            if keywords:
                raise ArgumentError(
                    self.subject, "arguments by position, as its signature cannot be read",
                    f"keywords {', '.join(keywords)}",
                )
            return args
        if not keywords and len(args) == len(self.arguments) and not _takes_any(self._signature):
            return args
        bound = self._signature.bind(*args, **keywords)
        if bound.kwargs:
            raise ArgumentError(
                self.subject, "parameters that can be positional",
                f"keyword-only {', '.join(bound.kwargs)}", "take the `*` out of its signature",
            )
        bound.apply_defaults()
        return bound.args  # keyword-only parameters keep their defaults


def _signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):  # some built-in functions have none
        return None


def _takes_any(signature: inspect.Signature | None) -> bool:
    kinds = [] if signature is None else [p.kind for p in signature.parameters.values()]
    return any(k is not inspect.Parameter.POSITIONAL_OR_KEYWORD
               and k is not inspect.Parameter.POSITIONAL_ONLY for k in kinds)


class Call:
    """The arguments of one call, taken apart.

    nondiff   those that are passed on as they are
    leaves    what is in the others, in a row; tensors without their history
    nodes     the node of each leaf, None where nothing is tracked
    trees     for each of the others: its position, its first leaf's, how many, and their structure
    """

    __slots__ = ("count", "leaves", "nodes", "nondiff", "trees")

    def __init__(self, args: tuple[Any, ...], nondiff: set[int], owner: HandWritten) -> None:
        self.count = len(args)
        self.nondiff: dict[int, Any] = {}
        self.leaves: list[Any] = []
        self.nodes: list[Node | None] = []
        self.trees: list[tuple[int, int, int, Rebuild]] = []
        for place, value in enumerate(args):
            if place in nondiff:
                self._constant(place, value, owner)
                continue
            flat, rebuild = _flat(value)
            self.trees.append((place, len(self.leaves), len(flat), rebuild))
            for leaf in flat:
                tensor = isinstance(leaf, Tensor)
                self.nodes.append(leaf._node if tensor else None)
                self.leaves.append(_plain(leaf))

    def _constant(self, place: int, value: Any, owner: HandWritten) -> None:
        nodes = [v._node if isinstance(v, Tensor) else None for v in _flat(value)[0]]
        if state().differentiates(nodes):
            raise ArgumentError(
                f"argument {owner.argument(place)} of {owner.subject}",
                "a constant, as nondiff_argnums has it", "a tracked tensor",
                "pass stop_gradient(x), or take it out of nondiff_argnums",
            )
        self.nondiff[place] = value

    @property
    def cls(self) -> type:
        """The class of the results."""
        return next((v._out for v in self.leaves if isinstance(v, Tensor)), Tensor)

    def constants(self) -> list[Any]:
        """The arguments that are not differentiated, in order."""
        return [self.nondiff[i] for i in sorted(self.nondiff)]

    def linked(self) -> list[Any]:
        """The leaves, tracked ones with their nodes."""
        return [
            leaf if node is None else wrap(leaf._out, leaf._data, node)
            for leaf, node in zip(self.leaves, self.nodes, strict=True)
        ]

    def structures(self, flat: Sequence[Any]) -> list[Any]:
        """Something for each leaf, in the structures of the differentiated arguments."""
        return [rebuild(flat[at : at + n]) for _, at, n, rebuild in self.trees]

    def values(self, *, linked: bool = False) -> list[Any]:
        """All arguments, in order."""
        whole: list[Any] = [self.nondiff.get(i) for i in range(self.count)]
        given = self.structures(self.linked() if linked else self.leaves)
        for (place, *_), value in zip(self.trees, given, strict=True):
            whole[place] = value
        return whole

    def own(self) -> list[Node | None]:
        """The nodes of the leaves without their history: in a graph every tensor has one."""
        return [v._node for v in self.leaves if isinstance(v, Tensor)]

    def check(self, node: Node) -> None:
        """Raise an `InplaceError` for an argument that was overwritten since the call."""
        check_unwritten(self.leaves, node, "argument")


def check_unwritten(values: Sequence[Any], node: Node, role: str) -> None:
    """Raise an `InplaceError` for a value that was overwritten since a node was recorded."""
    if versions.latest[0] <= node.seq:
        return
    for v in values:
        data = v._data if isinstance(v, Tensor) else v
        if is_array(data):
            versions.check_array(data, node, node.seq, role)


def _flat(value: Any) -> tuple[list[Any], Rebuild]:
    """`flatten`, which for one number or array need not load what nested structures need."""
    if isinstance(value, SCALARS) or is_array(value):
        return [value], _only
    return flatten(value)


def _only(values: Sequence[Any]) -> Any:
    return values[0]


def _plain(value: Any) -> Any:
    """A tensor without its history, and that cannot be assigned another array."""
    if isinstance(value, Tensor) and (value._node is not None or value._assignable):
        return wrap(value._out, value._data)
    return value


def plain_tree(tree: Any) -> Any:
    """A structure whose tensors have no history."""
    flat, rebuild = flatten(tree)
    return rebuild([_plain(v) for v in flat])


def outputs(out: Any, call: Call, guard: Guard) -> tuple[list[Any], Rebuild]:
    """The tensors in what a function returned, and the function that puts others there.

    Numbers and arrays become tensors; None is no output, and stays.
    """
    flat, rebuild = flatten(out)
    guard.check_values(flat, "its outputs")
    there = [i for i, v in enumerate(flat) if v is not None]
    values = [as_tensor(flat[i], call.cls) for i in there]
    if len(there) == len(flat):
        return values, rebuild
    count = len(flat)

    def put(values: Sequence[Any]) -> Any:
        whole: list[Any] = [None] * count
        for i, v in zip(there, values, strict=True):
            whole[i] = v
        return rebuild(whole)

    return values, put


def fitted(entry: Any, tree: Any, subject: str, like: str) -> list[Any]:
    """What a rule answered for each leaf of a structure; None, for zero, may stand for a part.

    Raises `RuleError` for another structure; `like` says whose it should be.
    """
    flat, _ = _flat(tree)
    if entry is None:
        return [None] * len(flat)
    if isinstance(entry, (Tensor, *SCALARS)) or is_array(entry):
        if len(flat) == 1 and flat[0] is tree:
            return [entry]
        raise RuleError(subject, f"the structure of {like}", f"one {type(entry).__name__}")
    import optree

    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, Tensor)

    entries, spec = optree.tree_flatten(entry, is_leaf=is_leaf, none_is_leaf=True)
    try:
        parts = spec.flatten_up_to(tree)
    except ValueError as error:
        raise RuleError(
            subject, f"the structure of {like}", str(error).splitlines()[0]
        ) from None
    return [
        r for e, part in zip(entries, parts, strict=True) for r in _fitted_part(e, part, subject)
    ]


def _fitted_part(entry: Any, part: Any, subject: str) -> list[Any]:
    flat, _ = _flat(part)
    if entry is None:
        return [None] * len(flat)
    if len(flat) != 1 or flat[0] is not part:
        raise RuleError(
            subject, f"a structure of {len(flat)} leaves in this place", f"a {type(entry).__name__}"
        )
    return [entry]


def zeros_like_leaf(leaf: Any) -> Any:
    """The tangent zero of an argument's leaf: a tensor; None for what is no number."""
    if isinstance(leaf, Tensor):
        return wrap(leaf._out, OPS["zeros_like"](leaf._data))
    if isinstance(leaf, SCALARS) or is_array(leaf):
        return wrap(Tensor, OPS["zeros_like"](to_array(leaf)))
    return None
