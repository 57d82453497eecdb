"""`custom_gradient`: the forward returns its value and the function that is its gradient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..core import state as _state
from ..core.cotangent import complex_dtypes
from ..core.node import FREED, Leaf, Node, new, number
from ..core.record import freed
from ..core.tensor import Tensor, wrap
from ..errors import ArgumentError, RuleError, RuleTypeError, VariablesError
from ..trees import Rebuild, flatten, leaves
from ..variable import Variable, reads
from .rule import as_tensor, enter_rule, followed, hand_on, outputs_of, rule_name, tied


class GradientNode(Node):
    """A call of a custom gradient; `saved` is its gradient function, with all that holds."""

    __slots__ = ("cls", "plain", "spaces", "variables")

    cls: type
    plain: bool  # one tracked argument, one output, no variables
    variables: tuple[Variable, ...]
    spaces: list[Any]


class CustomGradient:
    """A function whose gradient is written by hand; made by `custom_gradient`."""

    keeps = True
    differentiable = True
    by_hand = True  # see `core.custom_op.ByStep`

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.op = self
        self.name = getattr(function, "__name__", "custom_gradient")
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return f"<custom_gradient {self.name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: `self` is no argument of the gradient."""
        return self if instance is None else functools.partial(self._call, (instance,))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Compute the value; record the gradient function when somebody wants it."""
        # The plain case, tensors in and one tensor out, is `_call` in the fewest steps.
        level: float = 3
        parents: list[Node | None] = []
        for a in args:
            if not isinstance(a, Tensor):
                return self._call((), *args, **keywords)
            p = a._node
            parents.append(p)
            if p is not None and p.level < level:
                level = p.level
        now = _state.state().mode
        if keywords or now > _state.ALL:
            return self._call((), *args, **keywords)
        before = reads[0]
        result = self.function(*args)
        if (
            reads[0] != before or result.__class__ is not tuple or len(result) != 2
            or not isinstance(result[0], Tensor) or not callable(result[1])
        ):
            return self._recorded(result, tuple(parents), args, reads[0] != before)
        y, grad = result
        out = new(y._out)
        out._data = d = y._data
        if now < level:
            out._node = None
            return out
        out._node = node = new(GradientNode)
        node.op = self
        node.parents = tuple(parents)
        node.plain = len(parents) == 1
        node.saved = grad
        node.variables = ()
        node.seq = number()
        node.level = level
        node.cls = y._out
        node.shape = d.shape
        node.dtype = d.dtype
        return out

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
        before = reads[0]
        now = _state.state()
        if now.accumulators:  # without a tape too, the history tells which variables are read
            _state.change(enabled=True, watching=True)
        try:
            result = self.function(*first, *args, **keywords)
        finally:
            if now.accumulators:
                _state.restore(now)
        return self._recorded(result, tuple(nodes), flat, reads[0] != before)

    def _recorded(
        self, result: Any, parents: tuple[Node | None, ...], flat: Sequence[Any], read: bool
    ) -> Any:
        """What the function returned, checked and recorded; `read`: it may have read variables."""
        if result.__class__ is not tuple or len(result) != 2 or not callable(result[1]):
            raise RuleTypeError(
                f"custom_gradient `{self.name}`", "a value and its gradient function: (y, grad)",
                f"a {type(result).__name__}", "return y, grad",
            )
        y, grad = result
        variables = self._variables(y, parents) if read else ()
        if variables:
            parents += tuple([v._leaf for v in variables])
            check_takes_variables(grad, self.name, variables)
        return self._outputs(y, grad, parents, variables, flat)

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

    def _variables(
        self, y: Any, parents: tuple[Node | None, ...]
    ) -> tuple[Variable, ...]:
        """The trainable variables that the value was computed from, apart from the arguments."""
        stack = [v._node for v in leaves(y) if isinstance(v, Tensor) and v._node is not None]
        seen: set[Any] = set(parents)
        found: list[Leaf] = []
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, Leaf):
                if node.trainable and node.variable is not None:
                    found.append(node)
            else:
                stack.extend(p for p in node.parents if p is not None)
        found.sort(key=lambda leaf: leaf.born)
        alive = [leaf.variable() for leaf in found if leaf.variable is not None]
        return tuple([v for v in alive if v is not None])

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
        if not followed(parents):
            outs = [wrap(v._out, v._data) for v in values]
            return outs[0] if rebuild is None else rebuild(outs)
        node = new(GradientNode)
        node.op = self
        node.parents = parents
        node.plain = False
        node.saved = grad
        node.variables = variables
        node.cls = values[0]._out if values else Tensor
        inputs = [a if isinstance(a, Tensor) else None for a in flat]
        outs = tied(node, values, inputs, single=rebuild is None)
        return outs[0] if rebuild is None else rebuild(outs)

    # The pull -------------------------------------------------------------------------------

    def pull(self, node: Any, g: Any, cotangents: dict[Node, Any]) -> None:
        """One step of a first-order pull."""
        grad = node.saved
        if not node.plain or grad is FREED or complex_dtypes[node.dtype]:
            self.step(node, g, cotangents, None, False, node.cls)
            return
        seen = new(node.cls)
        seen._data = g
        seen._node = None
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
        hand_on(_flat(answer), node, cotangents, None, False, grad)

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: call the gradient function and hand on what it returns."""
        grad = node.saved
        if grad is FREED:
            raise freed(node)
        gs = outputs_of(g, node, node.cls)
        before = enter_rule(record)
        try:
            answer = _with_variables(grad, gs, node) if node.variables else grad(*gs)
        finally:
            if before is not None:
                _state.restore(before)
        hand_on(_flat(answer), node, cotangents, needed, record, grad)


def _flat(answer: Any) -> Any:
    """A gradient function's answer in one row, when it came in the arguments' structure."""
    if isinstance(answer, Tensor):
        return answer
    if answer.__class__ is not tuple or any(isinstance(a, (list, tuple, dict)) for a in answer):
        answer = leaves(answer)
    return answer


def _with_variables(grad: Any, gs: list[Any], node: Any) -> Any:
    """Call a gradient function that answers for variables too, and put both answers in a row."""
    answer = grad(*gs, variables=list(node.variables))
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise RuleError(
            rule_name(grad, node), "two results: gradients of the arguments, gradients of "
            "`variables`", "one", "return input_gradients, [gradient of each variable]",
        )
    inputs, of_variables = leaves(answer[0]), leaves(answer[1])
    if len(of_variables) != len(node.variables):
        raise RuleError(
            rule_name(grad, node), f"{len(node.variables)} gradients for `variables`",
            f"{len(of_variables)}",
        )
    count = len(node.parents) - len(node.variables)
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
