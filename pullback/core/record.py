"""The general way through an operation: any arguments, attributes, views, special recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

from .._user_code import user_line
from ..arrays import SCALARS, adapters, dominant
from ..arrays.batched import Batched
from ..arrays.symbol import OpenShape
from ..errors import (
    ArgumentTypeError,
    GraphFreedError,
    PositionError,
    PullbackError,
    ShapeError,
)
from .cuts import INTEGER, cut, lost
from .multi_output import SeveralNode, end_of
from .node import FREED, CallNode, Node, holders, new, note, number, where
from .saved_tensor_hooks import pack_node
from .state import ALL, SPECIAL, state
from .tensor import Tensor, is_inexact, to_array, wrap


def apply(op: Any, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Compute an operation on Tensors or raw arrays, and record it where somebody asked.

    Raw arrays in, a raw array out; with a Tensor among the arguments, a Tensor of its class.
    """
    cls = None
    tracked = False
    kind: Any = None
    data: list[Any] = []
    parents: list[Node | None] = []
    for arg in args:
        if isinstance(arg, Tensor):
            if cls is None:
                cls = arg._out
            value, node = arg._data, arg._node
            tracked |= node is not None
        else:
            like = _companion(args) if arg.__class__ in (list, tuple) else None
            value, node = to_array(arg, like), None
        data.append(value)
        parents.append(node)
        type_ = value.__class__
        kind = type_ if kind is None or kind is type_ else dominant[kind, type_]
    if op.defaults:
        attrs = {**op.defaults, **attrs}
    if len(args) != len(op.arguments) or len(attrs) != len(op.required):
        _check_call(op, args, attrs)
    try:
        d = op.kernels[kind](*data, **attrs)
    except REFUSALS as error:
        refuse(op, data, error)
    if cls is None:
        return d
    if len(op.outputs) > 1:
        behind = record(op, tuple(parents), tuple(data), d, attrs, cls) if tracked else None
        return apart(behind, d, cls)
    out = new(cls)
    out._data = d
    out._node = record(op, tuple(parents), tuple(data), d, attrs, cls) if tracked else None
    if tracked and out._node is None:
        lost(op, tuple(parents), out)
    if op.view:
        from .inplace import link_view

        link_view(out, args[0], op, attrs)
    return out


def _companion(args: Sequence[Any]) -> Any:
    """The first array among arguments, whose library a sequence beside it is an array of."""
    for arg in args:
        data = arg._data if isinstance(arg, Tensor) else arg
        if hasattr(data, "dtype") and data.__class__ not in SCALARS:
            return data
    return None


def apart(behind: Any, outputs: Sequence[Any], cls: type) -> tuple[Any, ...]:
    """Several outputs as Tensors, each with a node in front of the common one, if there is one."""
    made = []
    for i, data in enumerate(outputs):
        node = None
        if behind is not None:
            node = end_of(behind, i, data)
        made.append(wrap(cls, data, node))
        if behind is not None and node is None and state().mode & ~SPECIAL:
            cut(INTEGER, behind.name(), (behind,), made[-1])
    return tuple(made)


advance: Any = None
"""Set by `core.accumulator`: gives a recorded node its tangents."""

REFUSALS = (ValueError, TypeError, IndexError, RuntimeError)
"""What array libraries raise for arguments that they cannot use; the last only some of them."""


def refuse(op: Any, data: Sequence[Any], error: Exception) -> NoReturn:
    """Raise an array library's error anew, in the same family, naming operation and arguments."""
    if isinstance(error, PullbackError) or (
        isinstance(error, RuntimeError) and not _refused(data, error)
    ):
        raise error
    given = ", ".join(
        f"{a.dtype}{list(a.shape)}" if hasattr(a, "dtype") else repr(a)[:40] for a in data
    )
    family = (
        PositionError if isinstance(error, IndexError)
        else ArgumentTypeError if isinstance(error, (TypeError, NotImplementedError))
        else ShapeError
    )
    raise family(
        f"`{op.name}`", "arguments that fit each other", f"{given}: {error}"
    ) from error


def _refused(data: Sequence[Any], error: Exception) -> bool:
    """Whether an exception is what the library of one of some arrays refuses arguments with."""
    return any(
        error.__class__ in getattr(adapters[a.__class__], "refusals", ()) for a in map(_inner, data)
    )


def _inner(array: Any) -> Any:
    while array.__class__ is Batched:
        array = array.value
    return array


def record(
    op: Any, parents: tuple[Node | None, ...], data: tuple[Any, ...], d: Any,
    attrs: Mapping[str, Any], cls: type = Tensor,
) -> Node | None:
    """The node of a computed operation, or None when recording is off for its inputs."""
    if not op.differentiable or (attrs.get("dtype") is not None and not is_inexact(d)):
        return None  # (of several outputs, none has a dtype that is asked for)
    level = min(p.level for p in parents if p is not None)
    mode = state().mode
    if mode < level:
        return None
    if op.saves_shapes:
        attrs = {**attrs, "shapes": tuple(_plain(getattr(a, "shape", ())) for a in data)}
    if mode > ALL:
        return special(op, parents, data, d, attrs, level, cls)
    return _node(op, parents, data, d, attrs, level)


def _plain(shape: Any) -> Any:
    """A shape without what it hides; one that is not known yet stays as it is."""
    return shape if isinstance(shape, OpenShape) else tuple(shape)


def _node(
    op: Any, parents: tuple[Node | None, ...], data: tuple[Any, ...], d: Any,
    attrs: Mapping[str, Any], level: float, *, everything: bool = False,
) -> Node:
    keep = op.keep(tuple(p is not None for p in parents))
    node: Any
    several = len(op.outputs) > 1
    if several:
        node = new(SeveralNode)
        node.attrs = attrs
    elif attrs:
        node = new(CallNode)
        node.attrs = attrs
    else:
        node = new(Node)
    node.op = op
    node.parents = parents
    values = (*data, *d) if several else (*data, d)
    saved = [v if everything or k else None for v, k in zip(values, keep, strict=True)]
    for i, parent in enumerate(parents):
        if parent is None and saved[i] is None:  # see Note [constants are held weakly]
            hold = holders[data[i].__class__]
            saved[i] = data[i] if hold is None else hold(data[i])
    node.saved = tuple(saved)
    node.seq = number()
    node.level = level
    if several:
        node.shape, node.dtype = (), None
        node.spaces = [(v.shape, v.dtype) for v in d]
    else:
        node.shape = d.shape
        node.dtype = d.dtype
    return node


def special(
    op: Any, parents: tuple[Node | None, ...], data: tuple[Any, ...], d: Any,
    attrs: Mapping[str, Any], level: float, cls: type,
) -> Node | None:
    """Record under an override, with all values kept, the user's line noted, or tangents made."""
    now = state()
    reverse = now.mode & ~SPECIAL >= level
    if not reverse and not now.accumulators:
        return None
    if now.closed is not None and now.closed.check(op, parents):
        return None
    rule = None
    for scope in now.overrides:
        rule = scope.match(op, cls) or rule
    everything = now.keep_values or rule is not None
    node = _node(op, parents, data, d, attrs, level, everything=everything)
    if rule is not None:
        node.op = rule
    if now.lines:
        note(node).line = user_line()
        written_down(node, d, parents, data)
    made = advance(node, reverse, cls) if now.accumulators else node
    if now.packing is not None and reverse:
        kept = op.keep(tuple(p is not None for p in parents))
        pack_node(node, [i for i, k in enumerate(kept) if k], now.packing, cls)
    return made


def special_node(node: Any, op: Any, inputs: list[Any], outputs: list[Any]) -> None:
    """Do to the node of a hand-written gradient what `special` does to an operation's."""
    now = state()
    if now.closed is not None:
        now.closed.check(op, node.parents)
    for scope in now.overrides:
        rule = scope.match(node.op if hasattr(node.op, "overridden") else op, node.cls)
        if rule is not None:
            node.op = rule.holding(inputs, outputs)
    if now.lines:
        note(node).line = user_line()
        for out in outputs:
            written_down(node, getattr(out, "_data", out))


holding: ContextVar[Callable[[Any], None] | None] = ContextVar("pullback_holding", default=None)
"""What keeps the values that a recorded node needs from being written to; see `core.guards`."""


def written_down(node: Any, d: Any, parents: Any = (), data: Any = ()) -> None:
    """Tell the journal of a debug block, if it is kept, as what an operation was recorded."""
    from .journal import current

    hold = holding.get()
    if hold is not None:
        hold(node)

    journal = current()
    if journal is not None:
        for out in d if isinstance(d, (tuple, list)) else (d,):
            journal.recorded(node, out, parents, data)


def _check_call(op: Any, args: tuple[Any, ...], attrs: Mapping[str, Any]) -> None:
    if not op.variadic and len(args) != len(op.arguments):
        raise ArgumentTypeError(
            f"`{op.name}`", f"{len(op.arguments)} arrays ({', '.join(op.arguments)})",
            f"{len(args)}",
        )
    unknown = [k for k in attrs if k not in op.required]
    missing = [k for k in op.required if k not in attrs]
    if unknown or missing:
        raise ArgumentTypeError(
            f"`{op.name}`", f"the arguments {', '.join((*op.arguments, *op.required))}",
            "unknown " + ", ".join(unknown) if unknown else "nothing for " + ", ".join(missing),
        )


def freed(node: Node) -> GraphFreedError:
    """The error of a second pull through values that the first let go of."""
    assert node.saved is FREED
    return GraphFreedError(
        f"gradient through {where(node)}",
        "the values it saved",
        "nothing: an earlier backward (or gradient of a tape that is not persistent) freed them",
        "the first time, call backward(retain_graph=True) or use GradientTape(persistent=True)",
    )
