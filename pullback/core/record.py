"""The recorder: every node is made here, except the plain cases of `core/dispatch.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._user_code import user_line
from ..arrays import dominant
from ..arrays.refusals import REFUSALS, refuse
from ..arrays.symbol import OpenShape
from ..errors import ArgumentTypeError, GraphFreedError
from .above import above
from .inplace import link_view
from .multi_output import SeveralNode, end_of
from .node import CallNode, Node, holders, note, number, object_new, where
from .observe import notify
from .outside import exchanging, traces
from .state import ALL, EVERYTHING, TANGENT, State, state
from .tensor import Tensor, is_inexact, to_array, wrap


def apply(op: Any, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Compute an operation on Tensors or raw arrays, and record it where recording is on.

    Raw arrays in, a raw array out; with a Tensor among the arguments, a Tensor of its class.
    """
    cls = None
    tracked = False
    traced = traces and exchanging() is not None
    kind: Any = None
    data: list[Any] = []
    parents: list[Node | None] = []
    for arg in args:
        if isinstance(arg, Tensor):
            if cls is None:
                cls = arg._out
            if traced:
                value, node = arg._data, arg._node
            else:
                value, node = arg._array, arg._history
            tracked |= node is not None
        else:
            if arg.__class__ in (list, tuple):
                return apply(op, above.unlisted(args), attrs)
            value, node = to_array(arg), None
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
        return unpack_outputs(behind, d, cls)
    made = record(op, tuple(parents), tuple(data), d, attrs, cls) if tracked else None
    out = wrap(cls, d, made)
    if tracked and out._history is None and state().observers:
        above.unrecorded(op, tuple(parents), out)
    if op.view:
        link_view(out, args[0], op, attrs)
    return out


def unpack_outputs(behind: Any, outputs: Sequence[Any], cls: type) -> tuple[Any, ...]:
    """Several outputs as Tensors, each with a node in front of the common one, if there is one."""
    made = []
    for i, data in enumerate(outputs):
        node = None if behind is None else end_of(behind, i, data)
        made.append(wrap(cls, data, node))
        if behind is not None and node is None and state().observers:
            notify("lost", "integer", behind.name(), (behind,), made[-1], False)
    return tuple(made)


def record(
    op: Any, parents: tuple[Node | None, ...], data: tuple[Any, ...], out: Any,
    attrs: Mapping[str, Any], cls: type = Tensor,
) -> Node | None:
    """The node of a computed operation; None if nothing records it.

    data, out  raw arrays: the arguments, and the result (a tuple of them for several)
    """
    if not op.differentiable or (attrs.get("dtype") is not None and not is_inexact(out)):
        return None  # (operations with several outputs have no argument `dtype`)
    level = min([p.level for p in parents if p is not None])
    now = state()
    if now.mode < level:
        return None
    if op.saves_shapes:
        attrs = {**attrs, "shapes": tuple(_plain(getattr(a, "shape", ())) for a in data)}
    if now.mode <= ALL:
        return _node(op, parents, data, out, attrs, level)
    if level == TANGENT and now.sweep is not None:
        dual: Node | None = now.sweep.advanced(op, parents, data, out, attrs)
        if dual is not NotImplemented:
            return dual
    if not _is_wanted(op, parents, level, now):
        return None
    rule = None
    for scope in now.overrides:
        rule = scope.match(op, cls) or rule
    node = _node(op, parents, data, out, attrs, level, now.keep_values or rule is not None)
    if rule is not None:
        node.op = rule
    made = _completed(node, now, out if isinstance(out, (tuple, list)) else (out,), data, cls)
    if now.packing is not None and now.follows(node):
        kept = op.keep(tuple([p is not None for p in parents]))
        now.packing.pack(node, [i for i, k in enumerate(kept) if k], cls)
    return made


def attach(
    node: Any, values: Sequence[Any], inputs: Sequence[Any] = (), *, single: bool = False,
    flat: Sequence[int] = (),
) -> list[Tensor]:
    """The outputs of something with a backward pass of its own, with its node behind them.

    node    a `CustomNode` from `custom_node`
    values  what it computed: Tensors, whose history is dropped
    inputs  the tensors that it was computed from, None for other arguments; overrides see them
    single  the one value gets this very node, without one in front that picks an output
    flat    positions of values that get no history
    """
    now = state()
    node.level = min([p.level for p in node.parents if p is not None], default=EVERYTHING)
    node.seq = number()
    single = single and not flat and is_inexact(values[0]._data)
    if single:
        node.shape, node.dtype = values[0]._data.shape, values[0]._data.dtype
    else:
        node.shape, node.dtype = (), None
        node.spaces = [(v._data.shape, v._data.dtype) for v in values]
    behind: Node | None = node
    if now.mode < node.level:
        behind = None
    elif now.mode > ALL:
        behind = _attached(node, now, values, inputs)
    if single:
        return [wrap(values[0]._out, values[0]._data, behind)]
    made = []
    for i, v in enumerate(values):
        end = None if behind is None or i in flat else end_of(behind, i, v._data)
        made.append(wrap(v._out, v._data, end))
    return made


def _attached(node: Any, now: State, values: Sequence[Any], inputs: Sequence[Any]) -> Node | None:
    """`attach` on the general path: under overrides, observers, tangents, captures."""
    if not _is_wanted(node.op, node.parents, node.level, now):
        return None
    op = node.op
    for scope in now.overrides:
        rule = scope.match(node.op if hasattr(node.op, "overridden") else op, node.cls)
        if rule is not None:
            node.op = rule.holding(list(inputs), list(values))
    return _completed(
        node, now, [v._data for v in values], [getattr(x, "_data", None) for x in inputs], node.cls
    )


def _is_wanted(op: Any, parents: tuple[Node | None, ...], level: int, now: State) -> bool:
    """Whether a node is recorded for reverse mode, or has tangents; captures are told of it."""
    if now.closed is not None and now.closed.check(op, parents):
        return False
    return level <= now.level or bool(now.accumulators)


def _completed(
    node: Node, now: State, outputs: Sequence[Any], inputs: Sequence[Any], cls: type
) -> Node | None:
    """The node that the output gets, once lines, observers and tangents have been dealt with."""
    if now.lines:
        note(node).line = user_line()
    if now.observers:
        notify("recorded", node, outputs, inputs)
    if not now.accumulators:
        return node
    made: Node | None = now.accumulators[-1].push_through(node, now.follows(node), cls)
    return made


def _plain(shape: Any) -> Any:
    """A shape without hidden axes; a symbolic shape as it is."""
    return shape if isinstance(shape, OpenShape) else tuple(shape)


def _node(
    op: Any, parents: tuple[Node | None, ...], data: tuple[Any, ...], d: Any,
    attrs: Mapping[str, Any], level: int, everything: bool = False,
) -> Node:
    keep = op.keep(tuple(p is not None for p in parents))
    node: Any
    several = len(op.outputs) > 1
    if several:
        node = object_new(SeveralNode)
        node.attrs = attrs
    elif attrs:
        node = object_new(CallNode)
        node.attrs = attrs
    else:
        node = object_new(Node)
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
    """The error of a second backward pass through values that the first one freed."""
    return GraphFreedError(
        f"gradient through {where(node)}",
        "the values it saved",
        "nothing: an earlier backward (or gradient of a tape that is not persistent) freed them",
        "the first time, call backward(retain_graph=True) or use GradientTape(persistent=True)",
    )
