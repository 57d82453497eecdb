"""The hot path: what an operation and its rules are compiled into when they are registered.

Three shapes are written out because nearly every operation has one of them: one array, two arrays,
and one array with attributes. The rest goes through `record.apply`. What is done here is what
`apply` and `Rule.__call__` do, in the fewest steps: no wrapper functions, no packed arguments,
tensors and nodes made by `object.__new__`, nothing computed for a constant. Figures and the
reasons for each step: docs/performance.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays import adders, dominant, entrances, is_array, scalers
from ..arrays.batched import Batched
from ..arrays.refusals import REFUSALS, refuse
from .above import above
from .compiled.wiring import wired
from .cotangent import accumulate, project
from .inplace import link_view
from .multi_output import gathered, linked
from .node import FREED, CallNode, Node, holders, number, object_new
from .op import Op, who
from .outside import exchanging, traces
from .record import apply, freed, record
from .state import ALL, state
from .tensor import Tensor, is_inexact


def call_of(op: Op) -> Callable[..., Any]:
    """The public function of an operation, compiled if there is a compiled core."""
    return wired(op, _closure_of(op), _general_node, _without_derivative)


def _closure_of(op: Op) -> Callable[..., Any]:
    if len(op.outputs) > 1:
        return _general(op)
    if not op.variadic and not op.required and not op.view:
        if len(op.arguments) == 1:
            return _unary(op)
        if len(op.arguments) == 2:
            return _binary(op)
    if len(op.arguments) == 1 and not op.variadic:
        return _single(op)
    return _general(op)


def _general(op: Op) -> Callable[..., Any]:
    count, names = len(op.arguments), op.positional
    most = count + len(names)
    if op.variadic:

        def call(*args: Any, **attrs: Any) -> Any:
            return apply(op, args, attrs)

    else:

        def call(*args: Any, **attrs: Any) -> Any:
            if count < len(args) <= most:
                attrs.update(zip(names, args[count:], strict=False))
                args = args[:count]
            return apply(op, args, attrs)

    return call


def _general_node(
    op: Op, parents: tuple[Any, ...], data: tuple[Any, ...], out: Any, attrs: dict[str, Any]
) -> Node | None:
    made = record(op, parents, data, out._array, attrs, out.__class__)
    if made is None and state().observers:
        above.unrecorded(op, parents, out)
    return made


def _without_derivative(op: Op, parents: tuple[Any, ...], out: Any) -> Any:
    out._history = None
    if state().observers and parents != (None,) * len(parents):
        above.unrecorded(op, parents, out)
    return out


def _unary(op: Op) -> Callable[..., Any]:
    kernels = op.kernels
    differentiable = op.differentiable
    keep_x, keep_out, keeps = False, False, False
    nothing = (None, None)

    def call(x: Any, /) -> Any:
        if not isinstance(x, Tensor):
            return kernels[x.__class__](x) if is_array(x) else apply(op, (x,), {})
        if traces and exchanging() is not None:
            return apply(op, (x,), {})
        a = x._array
        out = object_new(x._out)
        try:
            out._array = d = kernels[a.__class__](a)
        except REFUSALS as error:
            refuse(op, (a,), error)
        parent = x._history
        if parent is None:
            out._history = None
            return out
        if not differentiable:
            return _without_derivative(op, (parent,), out)
        level = parent.level
        mode = state().mode
        if mode < level:
            out._history = None
            return out
        if mode > ALL:
            out._history = _general_node(op, (parent,), (a,), out, {})
            return out
        out._history = node = object_new(Node)
        node.op = op
        node.parents = (parent,)
        node.saved = (a if keep_x else None, d if keep_out else None) if keeps else nothing
        node.seq = number()
        node.level = level
        node.shape = d.shape
        node.dtype = d.dtype
        return out

    def refresh() -> None:
        nonlocal keep_x, keep_out, keeps
        keep_x, keep_out = op.keep((True,))
        keeps = keep_x or keep_out

    refresh()
    op.refresh = refresh
    return call


def _single(op: Op) -> Callable[..., Any]:
    """One array and attributes: reductions, shapes, indexing."""
    kernels, defaults, names = op.kernels, op.defaults, op.positional
    count, view, differentiable = len(op.required), op.view, op.differentiable
    casts = "dtype" in op.required
    general = _general(op)
    keep_x, keep_out, shapes = False, False, False

    def call(*args: Any, **attrs: Any) -> Any:
        x: Any = args[0] if args else None
        tensor = isinstance(x, Tensor)
        if len(args) > 1:
            if len(args) > 1 + len(names):
                return general(*args, **attrs)
            attrs.update(zip(names, args[1:], strict=False))
        attrs = {**defaults, **attrs} if attrs else defaults  # a node's attrs are never written to
        if (
            len(attrs) != count or shapes or not (tensor or is_array(x))
            or (traces and exchanging() is not None)
        ):
            return general(args[0], **attrs) if args else general(**attrs)
        a = x._array if tensor else x
        try:
            d = kernels[a.__class__](a, **attrs)
        except REFUSALS as error:
            refuse(op, (a,), error)
        if not tensor:
            return d
        out = object_new(x._out)
        out._array = d
        parent = x._history
        if parent is None:
            out._history = None
        elif (mode := state().mode) > ALL:
            out._history = _general_node(op, (parent,), (a,), out, attrs)
        elif mode < parent.level or not differentiable or (casts and not is_inexact(d)):
            out._history = None
        else:
            out._history = node = object_new(CallNode)
            node.attrs = attrs
            node.op = op
            node.parents = (parent,)
            node.saved = (a if keep_x else None, d if keep_out else None)
            node.seq = number()
            node.level = parent.level
            node.shape = d.shape
            node.dtype = d.dtype
        if view:
            link_view(out, x, op, attrs)
        return out

    def refresh() -> None:
        nonlocal keep_x, keep_out, shapes
        keep_x, keep_out = op.keep((True,))
        shapes = op.saves_shapes

    refresh()
    op.refresh = refresh
    return call


_SECOND: tuple[bool, ...] = (False, True, False)
"""The commonest set of saved values as a single object, told by identity."""


def _binary(op: Op) -> Callable[..., Any]:
    kernels = op.kernels
    differentiable = op.differentiable
    first: tuple[bool, ...] = ()
    second: tuple[bool, ...] = ()
    both: tuple[bool, ...] = ()
    keeps = False
    nothing = (None, None, None)

    def operate(x1: Any, x2: Any, /) -> Any:
        if traces and exchanging() is not None:
            return apply(op, (x1, x2), {})
        a, p = x1._array, x1._history
        if x2.__class__ is x1.__class__ or isinstance(x2, Tensor):
            b, q = x2._array, x2._history
        elif x2.__class__ is float or x2.__class__ is int or is_array(x2):
            b = x2 if x2.__class__ not in entrances else entrances[x2.__class__](x2)
            q = None
        else:
            return apply(op, (x1, x2), {})
        cls = a.__class__
        out = object_new(x1._out)
        try:
            kind = cls if b.__class__ is cls else dominant[cls, b.__class__]
            out._array = d = kernels[kind](a, b)
        except REFUSALS as error:
            refuse(op, (a, b), error)
        if not differentiable:
            return _without_derivative(op, (p, q), out)
        if p is None:
            if q is None:
                out._history = None
                return out
            level = q.level
            keep = second
        elif q is None:
            level = p.level
            keep = first
        else:
            level = p.level if p.level <= q.level else q.level
            keep = both
        mode = state().mode
        if mode < level:
            out._history = None
            return out
        if mode > ALL:
            out._history = _general_node(op, (p, q), (a, b), out, {})
            return out
        out._history = node = object_new(Node)
        node.op = op
        node.parents = (p, q)
        if keep is _SECOND:  # as of a product: what it multiplies with
            node.saved = (None, b, None)
        elif keeps:
            ka, kb, kd = keep
            node.saved = (a if ka else None, b if kb else None, d if kd else None)
        elif q is None:  # see Note [constants are held weakly]
            hold = holders[b.__class__]
            node.saved = (None, b if hold is None else hold(b), None)
        elif p is None:
            hold = holders[cls]
            node.saved = (a if hold is None else hold(a), None, None)
        else:
            node.saved = nothing
        node.seq = number()
        node.level = level
        node.shape = d.shape
        node.dtype = d.dtype
        return out

    def call(x1: Any, x2: Any, /) -> Any:
        if isinstance(x1, Tensor):
            return operate(x1, x2)
        cls = x1.__class__  # raw arrays, as rules pass them: straight to the kernel
        if x2.__class__ is not cls:
            cls = dominant.get((cls, x2.__class__))
        if cls in kernels:
            return kernels[cls](x1, x2)
        return apply(op, (x1, x2), {})

    def refresh() -> None:
        nonlocal first, second, both, keeps
        first, second, both = op.keep((True, False)), op.keep((False, True)), op.keep((True, True))
        first = _SECOND if first == _SECOND else first
        keeps = any(both)

    refresh()
    op.refresh = refresh
    op.operate = operate
    return call


def pull_of(op: Op) -> Callable[[Node, Any, dict[Node, Any]], None]:
    """The step of a first-order pull at a node of this operation, on raw arrays."""
    return _step_of(op) if op.around is None else op.around(_step_of(op))


def _step_of(op: Op) -> Callable[[Node, Any, dict[Node, Any]], None]:
    short = not op.variadic and not op.collapses and op.rules and len(op.outputs) == 1
    if short and all(rule.is_short() for rule in op.rules.values()):
        if len(op.arguments) == 1:
            return _pull_unary(op)
        if len(op.arguments) == 2 and len(op.rules) == 2:
            return _pull_binary(op)
    return _pull_general(op)


def _pull_general(op: Op) -> Callable[[Node, Any, dict[Node, Any]], None]:
    def pull(node: Node, g: Any, cotangents: dict[Node, Any]) -> None:
        if g.__class__ is Batched and op.collapses:
            op.step(node, g, cotangents, None, False, Tensor)
            return
        saved = node.saved
        if saved is FREED:
            raise freed(node)
        if g.__class__ is list:
            g = gathered(g, node)
        for index, parent in enumerate(node.parents):
            if parent is None:
                continue
            rule = op.rule(index)
            if rule is None:
                continue
            r = rule(g, saved, node, index)
            if r.shape != parent.shape or r.dtype != parent.dtype:
                r = project(r, parent, who(rule, node, index))
            if parent not in cotangents:
                cotangents[parent] = r
            elif r.__class__ in adders:
                cotangents[parent] = adders[r.__class__](cotangents.pop(parent), r)
            else:
                cotangents[parent] = cotangents[parent] + r

    return pull


def _pull_unary(op: Op) -> Callable[[Node, Any, dict[Node, Any]], None]:
    rule = op.rules[0]
    function, partial, same = rule.function, rule.partial, rule.same
    read = rule.reads[0] if rule.reads else -1
    parted = rule.is_parted()

    def pull(node: Node, g: Any, cotangents: dict[Node, Any]) -> None:
        saved = node.saved
        if saved is FREED:
            raise freed(node)
        parent: Any = node.parents[0]
        if same:
            r = g * saved[read] if partial else g
        elif parted and g.__class__ in scalers:
            r = scalers[g.__class__](g, function, saved[read])
        elif partial:
            r = g * (function(saved[read]) if read >= 0 else function())
        else:
            r = function(g, saved[read]) if read >= 0 else function(g)
        if r.shape != parent.shape or r.dtype is not parent.dtype:
            r = project(r, parent, who(rule, node, 0))
        if parent not in cotangents:
            cotangents[parent] = r
        elif r.__class__ in adders:
            cotangents[parent] = adders[r.__class__](cotangents.pop(parent), r)
        else:
            cotangents[parent] = cotangents[parent] + r

    return pull


def _pull_binary(op: Op) -> Callable[[Node, Any, dict[Node, Any]], None]:
    rule1, rule2 = op.rules[0], op.rules[1]
    function1, function2 = rule1.function, rule2.function
    partial1, partial2 = rule1.partial, rule2.partial
    same1, same2 = rule1.same, rule2.same
    read1 = rule1.reads[0] if rule1.reads else -1
    read2 = rule2.reads[0] if rule2.reads else -1

    def pull(node: Node, g: Any, cotangents: dict[Node, Any]) -> None:
        saved = node.saved
        if saved is FREED:
            raise freed(node)
        p, q = node.parents
        if p is not None:
            if same1:
                r = g * saved[read1] if partial1 else g
            elif partial1:
                r = g * (function1(saved[read1]) if read1 >= 0 else function1())
            else:
                r = function1(g, saved[read1]) if read1 >= 0 else function1(g)
            if r.shape != p.shape or r.dtype is not p.dtype:
                r = project(r, p, who(rule1, node, 0))
            if p not in cotangents:
                cotangents[p] = r
            elif r.__class__ in adders:
                cotangents[p] = adders[r.__class__](cotangents.pop(p), r)
            else:
                cotangents[p] = cotangents[p] + r
        if q is not None:
            if same2:
                r = g * saved[read2] if partial2 else g
            elif partial2:
                r = g * (function2(saved[read2]) if read2 >= 0 else function2())
            else:
                r = function2(g, saved[read2]) if read2 >= 0 else function2(g)
            if r.shape != q.shape or r.dtype is not q.dtype:
                r = project(r, q, who(rule2, node, 1))
            if q not in cotangents:
                cotangents[q] = r
            elif r.__class__ in adders:
                cotangents[q] = adders[r.__class__](cotangents.pop(q), r)
            else:
                cotangents[q] = cotangents[q] + r

    return pull


def step_of(op: Op) -> Callable[[Node, Any, dict[Node, Any], Any, bool, type], None]:
    """The step of any pull: on Tensors when it is recorded, only for the parents needed."""

    def step(
        node: Node, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None, record: bool,
        cls: type,
    ) -> None:
        saved = node.saved
        if saved is FREED:
            raise freed(node)
        parents = node.parents
        if g.__class__ is list:
            kind = cls if record else None
            g = gathered(g, node, kind)
        else:
            kind = g.__class__ if record else None
        if kind is not None:
            saved = linked(node, saved, kind, node)
        for index, parent in enumerate(parents):
            if parent is None or (needed is not None and parent not in needed):
                continue
            rule = op.rule(index)
            if rule is not None:
                r = above.batched_reduce(op, node, g, saved, index) if op.collapses else None
                r = rule(g, saved, node, index) if r is None else r
                accumulate(cotangents, parent, r, who(rule, node, index))

    return step
