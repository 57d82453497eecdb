"""`Function`: a class with `forward(ctx, …)` and `backward(ctx, …)`, in PyTorch's spelling.

The context is the recorded node itself: one object holds the parents, what was saved, and whatever
attributes the user put on it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from ..core import inplace, writes
from ..core import state as _state
from ..core.cotangent import complex_dtypes
from ..core.node import FREED, Node, new, number, where
from ..core.record import freed, special_node
from ..core.state import QUIET, set_state, state
from ..core.tensor import Tensor, inexact_dtypes, is_inexact, wrap
from ..errors import ArgumentError, ArgumentTypeError, RuleTypeError
from ..trees import leaves
from .context import Context, linked, saved_entry, unknown, untie
from .rule import hand_on, hand_on_one, outputs_of, picked, rule_name


class Function:
    """A gradient written as two static methods; call it by `apply`.

    forward(ctx, *args)           the value: a tensor or a tuple of them. Nothing is recorded
                                  inside. `ctx` takes `save_for_backward`, attributes, and the
                                  `mark_…` calls
    backward(ctx, *cotangents)    one cotangent an output in, one gradient an argument out (None
                                  where there is none)
    setup_context(ctx, inputs, output)   when it is defined, `forward(*args)` gets no `ctx`

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
    _context: ClassVar[type[Context]]
    _separate: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.op = FunctionOp(cls)
        cls._context = type(f"{cls.__name__}Backward", (Context,), {"op": cls.op})
        cls._separate = cls.setup_context is not Function.setup_context
        if "apply" not in cls.__dict__:
            cls.apply = staticmethod(_apply_of(cls))  # type: ignore[method-assign]

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

    @classmethod
    def apply(cls, *args: Any, **keywords: Any) -> Any:
        """Compute the value and, where somebody wants a gradient, record this call."""
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
    context, separate = cls._context, cls._separate

    def apply(*args: Any, **keywords: Any) -> Any:
        if keywords:
            args = cls._positional(args, keywords)
        ctx: Any = new(context)
        ctx._to_save = ()
        parents: list[Node | None] = []
        level = 3
        for a in args:
            if isinstance(a, Tensor):
                node = a._node
                parents.append(node)
                if node is not None and node.level < level:
                    level = node.level
            else:
                parents.append(None)
                if a.__class__ in _CONTAINERS:
                    cls._check_container(a)
        ctx.parents = tuple(parents)
        before = state()
        if before.mode:
            set_state(QUIET)
        try:
            if separate:
                out = cls.forward(*args)
                cls.setup_context(ctx, args, out)
            else:
                out = cls.forward(ctx, *args)
        finally:
            set_state(before)
        mode = before.mode
        if mode < level:
            return out
        if mode > _state.ALL or not isinstance(out, Tensor) or ctx._several:
            return _recorded(ctx, args, level, out, mode)
        ctx.level = level
        ctx.seq = number()
        ctx.cls = out._out
        d = out._data
        ctx.shape = d.shape
        ctx.dtype = dtype = d.dtype
        if not inexact_dtypes[dtype]:
            return out
        ctx.saved = saved = ctx._to_save
        for t in saved:
            if t is not None and (t._node is None or t._assignable):
                ctx.saved = [saved_entry(t, args, (out,)) for t in saved]
                break
        ctx._to_save = ()
        if ctx.__dict__:
            untie(ctx, (out,))
        for a in args:
            if a is out:
                return wrap(ctx.cls, d, ctx)
        out._node = ctx
        return out

    apply.__doc__ = Function.apply.__doc__
    apply.__qualname__ = f"{cls.__qualname__}.apply"
    return apply


def _recorded(ctx: Any, args: tuple[Any, ...], level: int, out: Any, mode: int) -> Any:
    """Record a call the general way: several outputs, inputs changed in place, overrides."""
    if level == 3 or mode & ~_state.SPECIAL < level:
        return out
    single = not isinstance(out, tuple)
    outs = [out] if single else list(out)
    tensors = [o for o in outs if isinstance(o, Tensor)]
    dirty, flat = ctx._dirty, ctx._flat
    for d in dirty:
        if not any(d is o for o in outs):
            raise ArgumentError(
                f"ctx.mark_dirty in {ctx.name()}", "inputs that forward returns",
                "one that it does not return", "return it from forward",
            )
        inplace.check_writable(d, ctx.op.name)
    if not tensors:
        return out
    ctx.level, ctx.seq = level, number()
    ctx.cls = tensors[0]._out
    ctx.saved = [saved_entry(t, args, tuple(tensors)) for t in ctx._to_save]
    for name in ("_dirty", "_flat", "_several"):
        ctx.__dict__.pop(name, None)
    ctx._to_save = ()
    untie(ctx, tuple(tensors))
    if mode > _state.ALL:
        special_node(ctx, ctx.op, list(args), tensors)
    only = tensors[0]._data if single and not dirty and not flat else None
    if only is not None and inexact_dtypes[only.dtype]:
        ctx.shape, ctx.dtype = only.shape, only.dtype
        return wrap(ctx.cls, only, ctx)
    ctx.shape, ctx.dtype = (), None
    ctx.spaces = [(o._data.shape, o._data.dtype) for o in tensors]
    made: list[Any] = []
    for o in outs:
        if isinstance(o, Tensor):
            index = next(i for i, t in enumerate(tensors) if t is o)
            o = _output(ctx, o, index, args, dirty, flat)
        made.append(o)
    return made[0] if single else tuple(made)


def _output(
    ctx: Any, o: Any, index: int, args: tuple[Any, ...], dirty: tuple[Any, ...],
    flat: tuple[Any, ...],
) -> Any:
    """One output among several, with its node, if it has one."""
    given = any(o is a for a in args)
    if any(o is f for f in flat) or not is_inexact(o._data):
        return wrap(o._out, o._data) if given else o
    node = picked(ctx, index, o._data)
    if any(o is d for d in dirty):
        writes.written(o._data, ctx.op.name)
        inplace.rewrite(o, node)
        return o
    if given:
        return wrap(o._out, o._data, node)
    o._node = node
    return o


class FunctionOp:
    """The operation of all calls of one `Function`."""

    keeps = True
    differentiable = True

    def __init__(self, function: type[Function]) -> None:
        self.function = function
        self.name = function.__name__

    def pull(self, node: Any, g: Any, cotangents: dict[Node, Any]) -> None:
        """One step of a first-order pull."""
        if (
            node.saved is FREED or g.__class__ is list or len(node.parents) != 1
            or complex_dtypes[node.dtype]
        ):
            self.step(node, g, cotangents, None, False, node.cls)
            return
        seen = new(node.cls)
        seen._data = g
        seen._node = None
        backward = self.function.backward
        before = _state.quiet()
        try:
            answer = backward(node, seen)
        finally:
            if before.mode:
                _state.restore(before)
        hand_on_one(answer, node, cotangents, backward)

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: call `backward` and hand on what it returns."""
        if node.saved is FREED:
            raise freed(node)
        gs = outputs_of(g, node, node.cls, zeros=node._materialize)
        backward = self.function.backward
        if record:
            restore = linked(node)
            node._recording = True
            try:
                answer = backward(node, *gs)
            finally:
                node._recording = False
                node.__dict__.update(restore)
        else:
            before = _state.quiet()
            try:
                answer = backward(node, *gs)
            finally:
                _state.restore(before)
        if answer is None:
            answer = (None,) * len(node.parents)
        hand_on(answer, node, cotangents, needed, record, backward)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that must not be differentiated: it runs with recording off.

    A second derivative through it raises `NotDifferentiableError`.
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
        message = (
            f"second derivative through {where(ctx)}", "a backward that can be differentiated",
            "one marked @once_differentiable", "write it with tensor operations, unmarked",
        )
        parents = (*ctx.parents, *(c._node for c in cotangents if isinstance(c, Tensor)))
        answers = answer if isinstance(answer, tuple) else (answer,)
        for r in answers:
            if r is not None and not isinstance(r, Tensor):
                raise RuleTypeError(
                    rule_name(backward, ctx), "tensors or None", f"a {type(r).__name__}"
                )
        return tuple(
            None if r is None else wrap(r._out, r._data, unknown(parents, r._data, message))
            for r in answers
        )

    return run
