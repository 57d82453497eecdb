"""`Function`: a class with `forward(ctx, …)` and `backward(ctx, …)`, in PyTorch's spelling.

Where a call is recorded, its node holds the context, with what was saved and whatever attributes
the user put on it, and lets go of it as one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from ..arrays import outer
from ..core import inplace, versions
from ..core import state as _state
from ..core.compiled import compiled
from ..core.node import Node, number, object_new, where
from ..core.outside import exchanging, traces
from ..core.record import attach
from ..core.state import QUIET, set_state, state
from ..core.tensor import Tensor, inexact_dtypes, wrap
from ..departures import is_forward, may_leave
from ..errors import ArgumentError, ArgumentTypeError, RuleTypeError
from ..trees import leaves
from .context import Context, FunctionNode, saved_entry, unknown, untie
from .function_op import FunctionOp, JvpFunctionOp, PushedFunctionOp
from .function_vmap import VmapInfo, is_mapped, mapped_forward
from .rule import refuse_outer, rule_name


class Function:
    """A gradient written as two static methods; call it by `apply`.

    forward(ctx, *args)           the value: a tensor or a tuple of them. Nothing is recorded
                                  inside. `ctx` takes `save_for_backward`, attributes, and the
                                  `mark_…` calls
    backward(ctx, *cotangents)    one cotangent an output in (None for what is no tensor), one
                                  gradient an argument out (None where there is none)
    setup_context(ctx, inputs, output)   when it is defined, `forward(*args)` gets no `ctx`
    jvp(ctx, *tangents)           for forward mode: one tangent an argument in (zeros for a tensor
                                  that has none, None for what is no tensor), one an output out
    vmap(info, in_dims, *args)    for a forward that cannot run as it is inside vmap: the value for
                                  all examples from arguments that have the examples' axis in
                                  `in_dims` (None: the same for all), and where the value has it.
                                  `info` has `batch_size` and `randomness`

    Forward mode without a `jvp` transposes `backward`; reverse mode without a `backward`
    transposes `jvp`. Inside vmap, without a `vmap`, forward and backward run on all examples at
    once as they are; one with `vmap` needs `setup_context`.

    A `backward` made of differentiable operations can be differentiated itself. A tensor made
    inside `forward` and saved has lost how it depends on the inputs: a second derivative that
    needs this raises `NotDifferentiableError` instead of leaving it out.

    Raises `RuleError` for a wrong number or shape of gradients, `RuleTypeError` for what is no
    tensor, `ArgumentError` for tracked tensors inside a list, tuple or dictionary argument.

    >>> import pullback as pb
    >>> class Square(pb.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 2 * x
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    Tensor(6.)
    """

    op: ClassVar[FunctionOp]
    generate_vmap_rule: ClassVar[bool] = False
    _context: ClassVar[type[Context]]
    _recorded: ClassVar[type[FunctionNode]]
    _separate: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.jvp is Function.jvp:
            cls.op = FunctionOp(cls)
        elif cls.backward is Function.backward:
            cls.op = JvpFunctionOp(cls)
        else:
            cls.op = PushedFunctionOp(cls)
        cls._context = type(f"{cls.__name__}Context", (Context,), {
            "_has_jvp": cls.op.has_jvp, "__slots__": (),
        })
        cls._recorded = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})
        is_forward(cls.forward)
        cls._separate = cls.setup_context is not Function.setup_context
        if "apply" not in cls.__dict__:
            made: Any = cls
            made.apply = staticmethod(_apply_of(cls))

    def __init__(self) -> None:
        raise ArgumentTypeError(
            f"`{type(self).__name__}()`", "a call of its `apply`", "an instance",
            f"write {type(self).__name__}.apply(…)",
        )

    @staticmethod
    def forward(*args: Any, **keywords: Any) -> Any:
        """The value; to be written by the subclass."""
        raise ArgumentTypeError("Function.forward", "a static method of the subclass", "none")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what `backward` needs, when `forward` takes no `ctx`."""

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """The gradients; to be written by the subclass."""
        raise ArgumentTypeError("Function.backward", "a static method of the subclass", "none")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs; may be written by the subclass."""
        raise ArgumentTypeError("Function.jvp", "a static method of the subclass", "none")

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """The value for all examples, and where their axis is; may be written by the subclass."""
        raise ArgumentTypeError("Function.vmap", "a static method of the subclass", "none")

    @classmethod
    def apply(cls, *args: Any, **keywords: Any) -> Any:
        """Compute the value, and record this call if it is differentiated."""
        # Every subclass gets a plain function of its own in this place; see `_apply_of`.
        raise ArgumentTypeError("Function.apply", "a subclass with forward and backward", "none")

    @classmethod
    def _positional(cls, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Arguments given by keyword in their positions."""
        first = () if cls._separate else (None,)
        bound = inspect.signature(cls.forward).bind(*first, *args, **keywords)
        bound.apply_defaults()
        if bound.kwargs:
            raise ArgumentError(
                f"`{cls.__name__}.apply`", "parameters of `forward` that can be positional",
                f"keyword-only {', '.join(bound.kwargs)}",
            )
        return bound.args[len(first) :]

    @classmethod
    def _check_container(cls, value: Any) -> None:
        if any(isinstance(v, Tensor) and v._node is not None for v in leaves(value)):
            raise ArgumentError(
                f"argument of `{cls.__name__}.apply`",
                "tracked tensors as arguments of their own",
                f"some inside a {type(value).__name__}, where their gradient would be lost",
                "pass them one by one: apply(*tensors)",
            )


_CONTAINERS = frozenset({list, tuple, dict})


def _apply_of(cls: type[Function]) -> Callable[..., Any]:
    """`apply` of one class, as a plain function that need not look its class up (hot path)."""
    context, recorded, op, general = cls._context, cls._recorded, cls.op, cls.op.has_jvp
    apart = cls._separate or cls.vmap is not Function.vmap

    @may_leave
    def apply(*args: Any, **keywords: Any) -> Any:
        if keywords:
            args = cls._positional(args, keywords)
        ctx: Any = object_new(context)
        ctx._saved = ()
        parents: list[Node | None] = []
        level = _state.TANGENT  # above the levels of what the plain case records
        traced = traces and exchanging() is not None
        for a in args:
            if isinstance(a, Tensor):
                p = a._node if traced else a._history
                parents.append(p)
                if p is not None and p.level < level:
                    level = p.level
            else:
                parents.append(None)
                if a.__class__ in _CONTAINERS:
                    cls._check_container(a)
        if outer:
            refuse_outer(args)
        ctx._parents = tuple(parents)
        before = state()
        if before.mode:
            set_state(before.form(QUIET))
        try:
            out = _apart(cls, ctx, args) if apart else cls.forward(ctx, *args)
        finally:
            set_state(before)
        return finish(ctx, args, out, before.mode, level)

    def finish(ctx: Any, args: tuple[Any, ...], out: Any, mode: int, level: int) -> Any:
        if mode < level:
            return out
        if (
            mode > _state.ALL or not isinstance(out, Tensor) or ctx._several or general
            or (traces and exchanging() is not None)
        ):
            return _recorded(cls, ctx, args, out)
        d = out._array
        dtype = d.dtype
        if not inexact_dtypes[dtype]:
            return out
        node: Any = object_new(recorded)
        node.op = op
        node.saved = ctx
        node.parents = ctx._parents
        node.level = level
        node.seq = number()
        node.cls = out._out
        node.shape = d.shape
        node.dtype = dtype
        nodes: list[Any] = []
        for t in ctx._saved:
            for a, p in zip(args, ctx._parents, strict=True):
                if a is t and (t is None or not t._assignable):
                    nodes.append(p)
                    break
            else:  # an output, None, a Variable, or made inside
                ctx._saved = [saved_entry(t, args, (out,)) for t in ctx._saved]
                break
        ctx._nodes = tuple(nodes)
        if ctx.__dict__:
            untie(ctx, (out,))
        for a in args:
            if a is out:
                return wrap(node.cls, d, node)
        out._history = node
        return out

    found: Any = apply
    if compiled is not None and not apart and not general:
        found = compiled.Apply(cls, op, apply, finish, context, recorded)
    found.__doc__ = Function.apply.__doc__
    found.__name__, found.__qualname__ = "apply", f"{cls.__qualname__}.apply"
    if found is not apply:
        found.__wrapped__ = apply  # for `inspect.signature`
    return found


def _apart(cls: type[Function], ctx: Any, args: tuple[Any, ...]) -> Any:
    """The value, where forward takes no context or does not run on all examples of a vmap."""
    if cls.vmap is not Function.vmap and is_mapped(args):
        out = mapped_forward(cls, args)
    elif cls._separate:
        out = cls.forward(*args)
    else:
        return cls.forward(ctx, *args)
    cls.setup_context(ctx, _with_defaults(cls.forward, args), out)
    return out


def _with_defaults(forward: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call, and the defaults of the parameters that it leaves out."""
    defaults = getattr(forward, "__defaults__", None) or ()
    missing = forward.__code__.co_argcount - len(args) if defaults else 0
    return (*args, *defaults[-missing:]) if missing > 0 else args


def _recorded(cls: type[Function], ctx: Any, args: tuple[Any, ...], out: Any) -> Any:
    """Record a call the general way: several outputs, inputs changed in place, forward mode."""
    if not state().differentiates(ctx._parents):
        return out
    single = not isinstance(out, tuple)
    outs = [out] if single else list(out)
    tensors = [o for o in outs if isinstance(o, Tensor)]
    dirty, flat = ctx._dirty, ctx._flat
    for d in dirty:
        if not any(d is o for o in outs):
            raise ArgumentError(
                f"ctx.mark_dirty in {cls.__name__}", "inputs that forward returns",
                "one that it does not return", "return it from forward",
            )
        inplace.check_writable(d, cls.__name__)
    if not tensors:
        return out
    node: Any = object_new(cls._recorded)
    node.op, node.saved, node.parents, node.details = cls.op, ctx, ctx._parents, ()
    if len(tensors) < len(outs):  # `backward` gets None in the places of the others
        node.details = tuple([isinstance(o, Tensor) for o in outs])
    node.cls = tensors[0]._out
    _settle(ctx, args, tuple(tensors))
    plain = single and not dirty and not flat and inexact_dtypes[tensors[0]._data.dtype]
    without = [i for i, t in enumerate(tensors) if any(t is f for f in flat)]
    for d in dirty:  # before the node gets its number: its own write makes nothing stale
        versions.written(d._data, cls.__name__)
    attached = attach(node, tensors, args, single=plain, flat=without)
    if plain:
        return attached[0]
    made = [
        _output(o, attached[_position(o, tensors)]._node, args, dirty)
        if isinstance(o, Tensor) else o for o in outs
    ]
    return made[0] if single else tuple(made)


def _position(tensor: Any, tensors: list[Any]) -> int:
    return next(i for i, t in enumerate(tensors) if t is tensor)


def _settle(ctx: Any, args: tuple[Any, ...], outs: tuple[Any, ...]) -> None:
    """Keep of what a context holds what a rule needs, and nothing that makes a cycle."""
    ctx._saved = [saved_entry(t, args, outs) for t in ctx._saved]
    if ctx._has_jvp:
        if ctx._ahead is not None:
            ctx._ahead = [saved_entry(t, args, outs) for t in ctx._ahead]
        ctx._spaces = tuple([
            (a._data.shape, a._data.dtype) if isinstance(a, Tensor) else None for a in args
        ])
    for name in ("_dirty", "_flat", "_several"):
        ctx.__dict__.pop(name, None)
    untie(ctx, outs)


def _output(
    o: Any, node: Node | None, args: tuple[Any, ...], dirty: tuple[Any, ...]
) -> Any:
    """One output among several, with its node, if it has one."""
    given = any(o is a for a in args)
    if any(o is d for d in dirty):
        inplace.rewrite(o, node)
        return o
    if given:
        return wrap(o._out, o._data, node)
    o._node = node
    return o


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that must not be differentiated: it runs with recording off.

    A second derivative through it raises `NotDifferentiableError`.

    >>> import numpy as np
    >>> import pullback as pb
    >>> class Exp(pb.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return pb.exp(x)
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * pb.tensor(np.exp(x.numpy()))       # any code
    >>> pb.grad(Exp.apply)(0.0)
    Tensor(1.)
    """

    @functools.wraps(backward)
    def run(ctx: Any, *cotangents: Any) -> Any:
        before = _state.quiet()
        try:
            answer = backward(ctx, *cotangents)
        finally:
            _state.restore(before)
        if not ctx._recording:
            return answer
        node = ctx._node
        message = (
            f"second derivative through {where(node)}", "a backward that can be differentiated",
            "one marked @once_differentiable", "write it with tensor operations, unmarked",
        )
        parents = (*node.parents, *(c._node for c in cotangents if isinstance(c, Tensor)))
        answers = answer if isinstance(answer, tuple) else (answer,)
        for r in answers:
            if r is not None and not isinstance(r, Tensor):
                raise RuleTypeError(
                    rule_name(backward, node), "tensors or None", f"a {type(r).__name__}"
                )
        return tuple(
            None if r is None else wrap(r._out, r._data, unknown(parents, r._data, message))
            for r in answers
        )

    return run

