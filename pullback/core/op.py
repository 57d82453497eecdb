"""Operations: a name, a forward by array type, and a rule for each array argument.

An operation is written as one block (see `ops/README.md`): the decorated function is its forward
in terms of an Array API namespace `xp`, and rules hang on it. Rules name what they read, and that
is all that a recorded node saves:

    @op
    def bump(xp, x, /):
        return x * x / (1 + x * x)

    @bump.pullback("x")
    def pullback_bump(g, x):
        return g * 2 * x / (1 + x * x) ** 2

Parameters before the `/` are arrays and can have rules; the others are attributes, which rules
take as keyword-only parameters. A rule may read `g`, array arguments by name, `out`, `shape` and
`dtype` (of its own argument), `shapes` (of all of them), and, for a variadic operation, `i` (which
of them). Forward mode and batching: see `ops/README.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Protocol, TypeVar

from .._parameters import name_of, parameters_of
from .._registry import OPS as OPS
from ..arrays import Kernels
from ..errors import DuplicateNameError, RuleError, suggestion
from .node import Node


class OpFunction(Protocol):
    """The public function of an operation: it is called, and rules are hung on it."""

    op: Op
    pullback: Callable[..., Any]
    partial: Callable[..., Any]
    pushforward: Callable[..., Any]
    collapsing: Callable[..., Any]
    batching: Callable[..., Any]
    shaping: Callable[..., Any]
    __module__: str
    __doc__: str | None

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        """The result: raw of raw arrays, a Tensor of Tensors."""


Face = TypeVar("Face", bound=Callable[..., Any])

SHAPE, DTYPE, SHAPES, INDEX, ALL_ARRAYS = -1, -2, -3, -4, -5
_SPECIAL_READS = {"shape": SHAPE, "dtype": DTYPE, "shapes": SHAPES, "i": INDEX}


def _same(value: Any) -> Any:
    return value


class Rule:
    """How a cotangent of the output becomes one of an argument.

    function   what its author wrote, under `name`
    reads      for each parameter after `g`: a position among the saved values (inputs, then the
               output), or one of the negative marks above
    keywords   the attributes it takes
    partial    it returns the partial derivative, to be multiplied with `g` (elementwise only)
    same       it returns its one parameter as it is, as that of a sum does, and need not be called
    """

    __slots__ = ("function", "keywords", "name", "partial", "reads", "same")

    def __init__(
        self, function: Callable[..., Any], reads: tuple[int, ...], keywords: tuple[str, ...],
        partial: bool,
    ) -> None:
        self.function, self.reads, self.keywords, self.partial = function, reads, keywords, partial
        self.name = name_of(function)
        code = getattr(function, "__code__", None)
        self.same = (
            code is not None and code.co_argcount == 1 and code.co_code == _same.__code__.co_code
        )

    def __call__(self, g: Any, saved: tuple[Any, ...], node: Node, index: int) -> Any:
        """The cotangent of argument `index`, from the output's and the saved values."""
        parent = node.parents[index]
        args = [
            saved[r] if r >= 0 else _special(r, saved, node, parent, index) for r in self.reads
        ]
        keywords = {k: node.attrs[k] for k in self.keywords}
        if self.partial:
            return g * self.function(*args, **keywords)
        return self.function(g, *args, **keywords)

    def saved(self, count: int, index: int) -> set[int]:
        """Which saved values it reads, for argument `index` of so many."""
        found = {r for r in self.reads if r >= 0}
        if ALL_ARRAYS in self.reads:
            found.update(i for i in range(count) if i != index)
        return found


def pullback_flat(g: Any) -> Any:
    """Zeros: the rule of every operation that is flat wherever it has a derivative."""
    return OPS["zeros_like"](g)


def _nothing() -> None:
    """An operation whose calling path depends on no rule."""


def _special(mark: int, saved: tuple[Any, ...], node: Node, parent: Any, index: int) -> Any:
    if mark == SHAPE:
        return parent.shape
    if mark == DTYPE:
        return parent.dtype
    if mark == SHAPES:
        return node.attrs["shapes"]
    if mark == INDEX:
        return index
    return saved[:-1]


class Op:
    """One operation; see the module's text for how it is written."""

    __slots__ = (
        "__weakref__", "_keep", "arguments", "batch", "collapses", "defaults", "differentiable",
        "dtype", "elementwise", "flat", "function", "keeps", "kernels", "linear", "looped", "name",
        "operate", "outputs", "positional", "pull", "pushes", "refresh", "required", "rules",
        "saves_shapes", "shape", "step", "together", "variadic", "view",
    )

    def __init__(
        self, forward: Callable[..., Any], native: str | None, *, name: str, elementwise: bool,
        view: bool, differentiable: bool, flat: bool, linear: bool, outputs: tuple[str, ...],
        reduction: bool, shape: str | None, dtype: Any,
    ) -> None:
        found = parameters_of(forward)
        skip = 0 if native is not None else 1  # the namespace
        self.name = name
        self.elementwise, self.view = elementwise, view
        self.differentiable, self.flat = differentiable, flat
        self.variadic = found.variadic is not None
        self.arguments = (
            found.positional_only[skip:] if found.variadic is None else (found.variadic,)
        )
        self.defaults: dict[str, Any] = found.defaults
        self.positional = found.positional
        self.required = (*found.positional, *found.keyword_only)
        self.kernels = Kernels(name, None if native else forward, native)
        self.rules: dict[int, Rule] = {}
        if flat:
            self.rules = {i: Rule(pullback_flat, (), (), False) for i in range(len(self.arguments))}
        self.pushes: dict[int, Rule] = {}
        self.collapses: dict[int, Rule] = {}
        self.linear, self.outputs = linear, outputs
        self.together: Rule | None = None
        self.batch: Any = None
        self.shape: Any = "reduced" if reduction else shape
        self.dtype = dtype
        for option in (shape, dtype):
            if isinstance(option, str) and "->" not in option and option not in self.arguments:
                raise RuleError(
                    f"option `shape` or `dtype` of `{name}`",
                    f"an array argument: {', '.join(self.arguments)}", repr(option),
                    suggestion(option, self.arguments),
                )
        if reduction and (len(self.arguments) != 1 or "axis" not in self.required):
            raise RuleError(
                f"option `reduction` of `{name}`", "one array argument, and an attribute `axis`",
                f"{self.arguments} and {self.required}", "state the result's shape with `shape`",
            )
        self.looped = False
        self.saves_shapes = False
        self._keep: dict[tuple[bool, ...], tuple[bool, ...]] = {}
        self.keeps = flat
        self.pull: Callable[[Node, Any, dict[Node, Any]], None]
        self.step: Callable[[Node, Any, dict[Node, Any], Any, bool, type], None]
        self.function: Callable[..., Any]
        self.operate: Callable[..., Any]
        self.refresh: Callable[[], None] = _nothing

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    def rule(self, index: int) -> Rule | None:
        """The rule of an argument, or None when it has no derivative."""
        return self.rules.get(0 if self.variadic else index)

    def keep(self, tracked: tuple[bool, ...]) -> tuple[bool, ...]:
        """Which of (inputs…, output) to save when these inputs are tracked."""
        found = self._keep.get(tracked)
        if found is None:
            n = len(tracked)
            wanted: set[int] = set()
            if self.flat:
                # A step is recorded only to override its gradient, and the override may read the
                # input, also on a finished computation.
                wanted.update(range(n))
            for index, needed in enumerate(tracked):
                if not needed:
                    continue
                for r in self._reads(index):
                    if r == ALL_ARRAYS:
                        wanted.update(j for j in range(n) if j != index)
                    elif r >= 0:
                        beyond = r - len(self.arguments)
                        wanted.add(n + beyond if beyond >= 0 else r)
            found = self._keep[tracked] = tuple(i in wanted for i in range(n + len(self.outputs)))
        return found

    def _reads(self, index: int) -> list[int]:
        """What the rules of an argument read, of both directions."""
        key = 0 if self.variadic else index
        rules = (
            self.rules.get(key), self.pushes.get(key), self.collapses.get(key), self.together
        )
        reads = [r for rule in rules if rule is not None for r in rule.reads]
        if self.linear and len(self.arguments) > 1:  # pushed by itself, with the others as saved
            reads.extend(i for i in range(len(self.arguments)) if i != index)
        return reads

    def add_rule(
        self, function: Callable[..., Any], argument: str, prefix: str, *, partial: bool
    ) -> None:
        """Check a rule against this operation and make it the rule of an argument."""
        own = name_of(function)
        subject = f"rule `{own}` of `{self.name}`"
        push = prefix == "pushforward"
        first = "t" if push else "g"
        wanted = (f"{prefix}_{self.name}", f"{prefix}_{self.name}_{argument}")
        if own not in wanted:
            raise RuleError(
                subject, f"the name `{wanted[0]}` or `{wanted[1]}`", f"`{own}`",
                "rename the function; its name is what a traceback shows",
            )
        if argument not in self.arguments:
            raise RuleError(
                subject, f"an array argument: {', '.join(self.arguments)}", repr(argument),
                suggestion(argument, self.arguments),
            )
        try:
            found = parameters_of(function)
        except (TypeError, ValueError) as error:
            raise RuleError(
                subject, "a callable whose parameters can be read", f"one for which {error}",
                "wrap it in a function that names what it reads",
            ) from error
        names, keywords = (*found.positional_only, *found.positional), found.keyword_only
        together = push and names[:1] == ("ts",)
        if not partial:
            if names[:1] != (first,) and not together:
                raise RuleError(
                    subject, f"a first parameter `{first}`", str(names[:1]), f"put `{first}` first"
                )
            names = names[1:]
        reads = tuple(self._read(name, subject) for name in names)
        for keyword in keywords:
            if keyword not in self.required:
                raise RuleError(
                    subject, f"keyword-only parameters among {', '.join(self.required) or 'none'}",
                    repr(keyword), suggestion(keyword, self.required),
                )
        self.saves_shapes |= SHAPES in reads
        index = self.arguments.index(argument)
        rule = Rule(function, reads, keywords, partial)
        if together:
            self.together = rule
        elif push:
            self.pushes[index] = rule
        elif prefix == "collapse":
            self.collapses[index] = rule
        else:
            self.rules[index] = rule
        self._keep.clear()
        self.keeps |= any(r >= 0 or r == ALL_ARRAYS for r in reads)
        self.keeps |= self.linear and len(self.arguments) > 1
        from .dispatch import pull_of

        self.pull = pull_of(self)
        self.refresh()

    def _read(self, name: str, subject: str) -> int:
        if name in _SPECIAL_READS:
            return _SPECIAL_READS[name]
        if name in self.outputs:
            return len(self.arguments) + self.outputs.index(name)
        if name in self.arguments:
            return ALL_ARRAYS if self.variadic else self.arguments.index(name)
        readable = (*self.arguments, *self.outputs, *_SPECIAL_READS)
        raise RuleError(
            subject,
            f"parameters among {', '.join(readable)}",
            repr(name),
            suggestion(name, readable),
        )


def op(
    forward: Callable[..., Any] | None = None, *, native: str | None = None,
    name: str | None = None, elementwise: bool = False, view: bool = False,
    differentiable: bool = True, flat: bool = False, linear: bool = False,
    outputs: tuple[str, ...] = ("out",), reduction: bool = False, shape: str | None = None,
    dtype: str | Callable[..., Any] | None = None,
) -> Any:
    """Register an operation from its forward and return the function that users call.

    native          the namespace's function of this name is the forward; the decorated function
                    gives the signature and the docstring only, and takes no `xp`
    name            the operation's name, when it is not the function's
    elementwise     each output entry depends on one entry of each input
    view            the output may share the input's memory
    differentiable  False where a derivative makes no sense (comparisons, integers): never recorded
    flat            the derivative is zero wherever it exists: the rule is made, inputs are saved
    linear          linear in each array argument by itself: a tangent goes through the operation
                    in the place of its argument
    outputs         names of its results, when they are several: then it returns a tuple of them,
                    a pullback receives a tuple of their cotangents, and a pushforward returns a
                    tuple of their tangents; rules read them by these names
    reduction       over the axes in the attribute `axis` (one, several, None: all): the result
                    lacks them, or has length 1 there if `keepdims`
    shape           for graphs: the array argument whose shape the result has, or the shapes in the
                    notation of NumPy's generalised functions, as "(m,n)->(n,m)"; `shaping` else
    dtype           for graphs: the array argument whose dtype the result has, or a function of the
                    arrays that has a result of the same dtype; None: found by running the
                    operation on small arrays

    The function returned takes raw arrays (and returns them) and Tensors (and records). It has
    `pullback(argument)`, `partial(argument)`, `pushforward(argument)`, `batching`, `shaping` and
    `collapsing(argument)` to hang rules on, and `op`, the `Op`.
    """

    def register(forward: Callable[..., Any]) -> Any:
        own = name or name_of(forward)
        if OPS.is_taken(own, forward.__module__):
            raise DuplicateNameError(
                f"operation `{own}`", "a new name", "a registered one", "choose another name"
            )
        made = Op(
            forward, native, name=own, elementwise=elementwise, view=view,
            differentiable=differentiable, flat=flat, linear=linear, outputs=outputs,
            reduction=reduction, shape=shape, dtype=dtype,
        )
        from .dispatch import call_of, pull_of, step_of

        made.pull, made.step = pull_of(made), step_of(made)
        function: Any = call_of(made)
        made.function = function
        function.__name__ = function.__qualname__ = own
        function.__doc__ = forward.__doc__
        function.__module__ = forward.__module__
        # What `help` and `inspect.signature` show; bound, so that they leave `xp` out.
        seen = forward if native else MethodType(forward, made)
        function.__wrapped__ = seen
        function.op = made
        function.pullback = _attacher(made, "pullback", partial=False)
        function.partial = _attacher(made, "partial", partial=True)
        function.pushforward = _attacher(made, "pushforward", partial=False)
        function.collapsing = _attacher(made, "collapse", partial=False)
        function.batching, function.shaping = _setter(made, "batch"), _setter(made, "shape")
        OPS.enter(own, function)
        return function

    return register if forward is None else register(forward)


def _attacher(made: Op, prefix: str, *, partial: bool) -> Callable[..., Any]:
    def attach(*arguments: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def take(function: Callable[..., Any]) -> Callable[..., Any]:
            for argument in arguments or made.arguments[:1]:
                made.add_rule(function, argument, prefix, partial=partial)
            return function

        return take

    return attach


def _setter(made: Op, kind: str) -> Callable[..., Any]:
    """A decorator that makes a function the batching rule or the shape rule."""

    def take(function: Callable[..., Any]) -> Callable[..., Any]:
        wanted, own = f"{kind}_{made.name}", name_of(function)
        if own != wanted:
            raise RuleError(
                f"rule `{own}` of `{made.name}`", f"the name `{wanted}`", f"`{own}`",
                "rename the function",
            )
        setattr(made, kind, function)
        return function

    return take


def face_of(operation: OpFunction, name: str = "") -> Callable[[Face], Face]:
    """Make a plain function, which prepares the arguments, stand for an operation in public.

    name   under which `OPS` has it, for the rules that call it so
    Its `op` is the operation, and its docstring the operation's.
    """

    def take(function: Face) -> Face:
        face: Any = function
        face.op = operation.op
        operation.__doc__ = function.__doc__
        if name:
            OPS.enter(name, face)
        return function

    return take
