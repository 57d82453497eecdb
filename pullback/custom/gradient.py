"""`custom_gradient`: the forward returns its value and the function that is its gradient."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..arrays import outer
from ..captures import is_older
from ..core import state as _state
from ..core.compiled import GradientBase, compiled, provide
from ..core.cotangent import accumulate, complex_dtypes
from ..core.custom_op import CustomNode, custom_node
from ..core.node import FREED, Leaf, Node, number, object_new
from ..core.outside import exchanging, traces
from ..core.record import attach, freed
from ..core.reverse import pull
from ..core.tensor import Tensor, wrap
from ..departures import departed_in, is_forward, may_leave
from ..errors import ArgumentError, RuleError, RuleTypeError, VariablesError
from ..trees import Rebuild, flatten, leaves
from ..variable import Variable, reads
from .capture_guard import older_ends, reaches_older
from .captured_values import unchanged
from .rule import accumulate_checked, as_tensor, enter_rule, outputs_of, refuse_outer, rule_name
from .severed import run_rule, with_forward
from .taken_values import left_in_closure


class CustomGradient(GradientBase):
    """A function whose gradient is written by hand; made by `custom_gradient`."""

    keeps = True
    differentiable = True
    by_hand = True  # see `core.custom_op.CustomOp`

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.op = self
        self.name = getattr(function, "__name__", "custom_gradient")
        is_forward(function, recorded=True)
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return f"<custom_gradient {self.name}>"

    def __reduce__(self) -> str:
        return str(getattr(self, "__qualname__", self.name))  # by name, as functions are

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: `self` is no argument of the gradient."""
        return self if instance is None else functools.partial(self._call, (instance,))

    def general(self, /, *args: Any, **keywords: Any) -> Any:
        """Compute the value, and record the gradient function if it is differentiated."""
        return self._call((), *args, **keywords)

    @may_leave
    def _called(self, *args: Any, **keywords: Any) -> Any:
        """The same."""
        # The plain case, tensors in and one tensor out, is `_call` in the fewest steps.
        if traces and exchanging() is not None:
            return self._call((), *args, **keywords)
        level = _state.TANGENT  # above the levels of what the plain case records
        parents: list[Node | None] = []
        for a in args:
            if not isinstance(a, Tensor):
                return self._call((), *args, **keywords)
            p = a._history
            parents.append(p)
            if p is not None and p.level < level:
                level = p.level
        now = _state.state().mode
        if keywords or now > _state.ALL or outer:
            return self._call((), *args, **keywords)
        before = reads[0]
        start = number()
        result = self.function(*args)
        if (
            reads[0] != before or result.__class__ is not tuple or len(result) != 2
            or not isinstance(result[0], Tensor) or not callable(result[1])
        ):
            return self._recorded(result, tuple(parents), args, start)
        y, grad = result
        inner = y._history
        if inner is not None and inner not in parents and reaches_older(inner, parents, start):
            return self._recorded(result, tuple(parents), args, start)
        out = object_new(y._out)
        out._array = d = y._array
        if now < level:
            out._history = None
            return out
        out._history = node = object_new(CustomNode)
        node.op = self
        node.parents = tuple(parents)
        node.saved = grad
        node.details = ()
        node.seq = number()
        node.level = level
        node.cls = y._out
        node.shape = d.shape
        node.dtype = d.dtype
        return out

    if TYPE_CHECKING or compiled is None:
        __call__ = _called

    @may_leave
    def _call(self, first: tuple[Any, ...], /, *args: Any, **keywords: Any) -> Any:
        if keywords:
            args, keywords = self._bound(first, args, keywords)
        flat: Sequence[Any] = args
        nodes: list[Node | None] = []
        for a in args:
            if isinstance(a, Tensor):
                nodes.append(a._node)
            else:
                flat = leaves(args)
                nodes = [a._node if isinstance(a, Tensor) else None for a in flat]
                break
        if outer:
            refuse_outer(flat)
        now = _state.state()
        start = number()
        if now.accumulators:  # without a tape too, the history tells which tensors are captured
            _state.change(enabled=True, watching=_state.EVERYTHING)
        try:
            result = self.function(*first, *args, **keywords)
        finally:
            if now.accumulators:
                _state.restore(now)
        return self._recorded(result, tuple(nodes), flat, start)

    def _recorded(
        self, result: Any, parents: tuple[Node | None, ...], flat: Sequence[Any], start: int
    ) -> Any:
        """What the function returned, checked and recorded.

        start   a number from before the call: what was recorded earlier and is no argument was
                captured
        """
        if result.__class__ is not tuple or len(result) != 2 or not callable(result[1]):
            raise RuleTypeError(
                f"custom_gradient `{self.name}`", "a value and its gradient function: (y, grad)",
                f"a {type(result).__name__}", "return y, grad",
            )
        y, grad = result
        roots = [v._node if isinstance(v, Tensor) else None for v in leaves(y)]
        ends = older_ends([n for n in roots if n is not None], parents, start)
        variables = _variables(ends)
        if variables:
            of_variables = [v._leaf for v in variables]
            ends = [n for n in ends if n not in of_variables]
            parents += tuple(of_variables)
            check_takes_variables(grad, self.name, variables)
        now = _state.state()
        followed = tuple([n for n in ends if now.follows(n) or now.pushes(n)])
        if followed:
            grad = Following(grad, roots, followed, start)
        return self._outputs(y, grad, parents + followed, variables, flat)

    def _bound(
        self, first: tuple[Any, ...], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments given by keyword in their positions; keyword-only ones stay, and constants."""
        if not any(isinstance(v, Tensor) for v in leaves(keywords)):
            return args, keywords
        bound = inspect.signature(self.function).bind(*first, *args, **keywords)
        for name, value in bound.kwargs.items():
            if any(isinstance(v, Tensor) and v._node is not None for v in leaves(value)):
                raise ArgumentError(
                    f"keyword argument `{name}` of custom_gradient `{self.name}`",
                    "a constant: keyword-only arguments have no gradient",
                    "a tracked tensor", "make the parameter positional, or pass stop_gradient(…)",
                )
        return bound.args[len(first) :], bound.kwargs

    def _outputs(
        self, y: Any, grad: Any, parents: tuple[Node | None, ...],
        variables: tuple[Variable, ...], flat: Sequence[Any],
    ) -> Any:
        """The value with the gradient function recorded behind it."""
        rebuild: Rebuild | None
        if isinstance(y, Tensor):
            values, rebuild = [y], None
        else:
            cls = next((a._out for a in flat if isinstance(a, Tensor)), Tensor)
            values, rebuild = flatten(y)
            values = [as_tensor(v, cls) for v in values]
        if not _state.state().differentiates(parents):
            outs = [wrap(v._out, v._data) for v in values]
            return outs[0] if rebuild is None else rebuild(outs)
        node = custom_node(self, parents, grad, values[0]._out if values else Tensor, variables)
        inputs = [a if isinstance(a, Tensor) else None for a in flat]
        outs = attach(node, values, inputs, single=rebuild is None)
        return outs[0] if rebuild is None else rebuild(outs)

    def held(self, node: Any) -> Iterator[tuple[str, Any]]:
        """The arrays that the gradient function reads, so far as its closure shows them."""
        return unchanged(node, [_rule(node)])

    # The pull -------------------------------------------------------------------------------

    def pull(self, node: Any, g: Any, cotangents: dict[Node, Any]) -> None:
        """One step of a first-order pull."""
        grad = node.saved
        if (
            len(node.parents) != 1 or node.details or grad.__class__ is not FunctionType
            or node.dtype is None or complex_dtypes[node.dtype]
        ):
            self.step(node, g, cotangents, None, False, node.cls)
            return
        seen = wrap(node.cls, g)
        if _state.state().mode == _state.REQUIRED:  # nothing to leave
            answer = grad(seen)
        else:
            before = _state.forget_tapes()
            try:
                answer = grad(seen)
            finally:
                if before is not None:
                    _state.restore(before)
        parent = node.parents[0]
        if isinstance(answer, Tensor) and parent not in cotangents:
            r = answer._data
            dtype = r.dtype
            if dtype is parent.dtype and r.shape == parent.shape and not complex_dtypes[dtype]:
                cotangents[parent] = r
                return
        accumulate_checked(_flat(answer), node, cotangents, None, False, grad)

    def hand_on(
        self, answer: Any, node: Any, cotangents: dict[Node, Any], rule: Callable[..., Any]
    ) -> None:
        """Check what the gradient function returned in a first-order pull, and add it."""
        accumulate_checked(_flat(answer), node, cotangents, None, False, rule)

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: call the gradient function and accumulate its results."""
        if node.saved is FREED:
            raise freed(node)
        grad = _rule(node)
        gs = outputs_of(g, node, node.cls)
        own = node.parents
        if node.saved is not grad:
            own = node.saved.step(g, own, cotangents, needed, record, cls)
        before = enter_rule(record)
        try:
            answer, departed = (
                run_rule(record, _with_variables, grad, gs, node, len(own)) if node.details
                else run_rule(record, grad, *gs)
            )
        finally:
            if before is not None:
                _state.restore(before)
        if record:
            departed = with_forward(
                departed, lambda: left_in_closure(grad, self.function),
                lambda: departed_in([self.function], node.parents),
            )
        accumulate_checked(
            _flat(answer), node, cotangents, needed, record, grad, own, departed
        )


class Following:
    """What a call saves beside its gradient function when it captured tracked tensors.

    The gradient function has no gradients for these: they are those of the recorded forward.

    roots   the node of each output, None where nothing was tracked
    nodes   the nodes of the captured tensors: the last parents of the call's node
    start   a number from before the call
    """

    __slots__ = ("grad", "nodes", "roots", "start")

    def __init__(
        self, grad: Any, roots: list[Node | None], nodes: tuple[Node, ...], start: int
    ) -> None:
        self.grad, self.roots, self.nodes, self.start = grad, roots, nodes, start

    def step(
        self, g: Any, parents: tuple[Node | None, ...], cotangents: dict[Node, Any],
        needed: set[Node] | None, record: bool, cls: type,
    ) -> tuple[Node | None, ...]:
        """Pull through the forward to the captured tensors; returns the other parents."""
        arriving: dict[Node, Any] = {}
        for root, c in zip(self.roots, g if g.__class__ is list else [g], strict=True):
            if root is not None and c is not None:
                old = arriving.get(root)
                arriving[root] = c if old is None else old + c
        wanted = [n for n in self.nodes if needed is None or n in needed]
        if arriving and wanted:
            spans = [(self.start, math.inf)]
            found = pull(arriving, wanted, record=record, spans=spans, cls=cls, inner=True)
            for node in wanted:
                if found.get(node) is not None:
                    accumulate(cotangents, node, found[node])
        return parents[: len(parents) - len(self.nodes)]


def _rule(node: Any) -> Any:
    """The gradient function of a call."""
    saved = node.saved
    return saved.grad if saved.__class__ is Following else saved


def _variables(nodes: Sequence[Node]) -> tuple[Variable, ...]:
    """The trainable variables among captured nodes, in the order of their making."""
    found = [
        n for n in nodes if isinstance(n, Leaf) and n.trainable and n.variable is not None
    ]
    alive = [n.variable() for n in sorted(found, key=lambda n: n.born) if n.variable is not None]
    return tuple([v for v in alive if v is not None])


def _flat(answer: Any) -> Any:
    """The gradients that a gradient function returned, as a flat sequence."""
    if isinstance(answer, Tensor):
        return answer
    if answer.__class__ is not tuple or any(isinstance(a, (list, tuple, dict)) for a in answer):
        answer = leaves(answer)
    return answer


def _with_variables(grad: Any, gs: list[Any], node: Any, parents: int) -> Any:
    """Call a gradient function with `variables`; returns both groups of gradients in a row.

    parents   the number of arguments and variables
    """
    answer = grad(*gs, variables=list(node.details))
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise RuleError(
            rule_name(grad, node), "two results: gradients of the arguments, gradients of "
            "`variables`", "one", "return input_gradients, [gradient of each variable]",
        )
    inputs, of_variables = leaves(answer[0]), leaves(answer[1])
    if len(of_variables) != len(node.details):
        raise RuleError(
            rule_name(grad, node), f"{len(node.details)} gradients for `variables`",
            f"{len(of_variables)}",
        )
    count = parents - len(node.details)
    if not count and inputs == [None]:
        inputs = []
    if len(inputs) != count:
        raise RuleError(
            rule_name(grad, node), f"{count} gradients, one for each argument", f"{len(inputs)}"
        )
    return (*inputs, *of_variables)


def check_takes_variables(grad: Any, name: str, variables: Sequence[Variable]) -> None:
    """Raise a `VariablesError` unless a gradient function has a parameter `variables`."""
    parameters = inspect.signature(grad).parameters
    if "variables" in parameters or any(
        p.kind is p.VAR_KEYWORD for p in parameters.values()
    ):
        return
    raise VariablesError(
        f"gradient function of custom_gradient `{name}`",
        "a keyword parameter `variables`, because the function reads "
        + ", ".join(repr(v.name) for v in variables),
        f"the parameters ({', '.join(parameters)})",
        "def grad(dy, variables=None): return input_gradients, variable_gradients",
    )


def custom_gradient(function: Callable[..., Any]) -> Any:
    """Decorate a function that returns `(y, grad)`: `grad` becomes the gradient of `y`.

    function  takes tensors in any nesting (and anything else); returns its value, a tensor or a
              nested structure of them, and `grad`
    grad      takes one cotangent for each output tensor and returns one for each argument, None
              where there is none. When the function reads trainable variables that are not its
              arguments, `grad` must have a parameter `variables`, and returns a pair: gradients
              of the arguments, gradients of the variables

    A tracked tensor that the function uses and that is no argument gets the gradient of the
    forward, as it was computed.

    The derivative of `grad` itself gives higher orders, through everything it reads; for a second
    derivative of one's own, use a custom gradient inside it. Keyword arguments are put in their
    positions; keyword-only ones have no gradient.

    Raises `RuleError` for a wrong number or shape of gradients, `RuleTypeError` for what is no
    tensor, `VariablesError` when variables are read and `grad` does not take them.

    In the spelling of TensorFlow 2 (`tf.custom_gradient`).

    >>> import pullback as pb
    >>> @pb.custom_gradient
    ... def log1pexp(x):
    ...     e = pb.exp(x)
    ...     def grad(upstream):
    ...         return upstream * (1 - 1 / (1 + e))
    ...     return pb.log(1 + e), grad
    >>> x = pb.tensor(100.0, requires_grad=True)
    >>> log1pexp(x).backward()
    >>> x.grad
    Tensor(1.)
    """
    return CustomGradient(function)


provide(reads=reads, is_older=is_older)
