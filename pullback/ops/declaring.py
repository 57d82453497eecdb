"""How operations are declared: `op` and what it is decorated with, and the checks of rules.

An operation is written as one block (see `README.md`): the decorated function is its forward
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
of them). Forward mode and batching: see `README.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Protocol, TypeVar

from .._parameters import name_of, parameters_of
from ..core.above import provide
from ..core.dispatch import call_of, pull_of, step_of
from ..core.op import ALL_ARRAYS, DTYPE, INDEX, OPS, SHAPE, SHAPES, Op, Rule
from ..errors import DuplicateNameError, RuleError, suggestion


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

_SPECIAL_READS = {"shape": SHAPE, "dtype": DTYPE, "shapes": SHAPES, "i": INDEX}


@provide
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
        _check_options(made, shape, dtype, reduction)
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


def _check_options(made: Op, shape: Any, dtype: Any, reduction: bool) -> None:
    for option in (shape, dtype):
        if isinstance(option, str) and "->" not in option and option not in made.arguments:
            raise RuleError(
                f"option `shape` or `dtype` of `{made.name}`",
                f"an array argument: {', '.join(made.arguments)}", repr(option),
                suggestion(option, made.arguments),
            )
    if reduction and (len(made.arguments) != 1 or "axis" not in made.required):
        raise RuleError(
            f"option `reduction` of `{made.name}`", "one array argument, and an attribute `axis`",
            f"{made.arguments} and {made.required}", "state the result's shape with `shape`",
        )


def _attacher(made: Op, prefix: str, *, partial: bool) -> Callable[..., Any]:
    def attach(*arguments: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def take(function: Callable[..., Any]) -> Callable[..., Any]:
            for argument in arguments or made.arguments[:1]:
                add_rule(made, function, argument, prefix, partial=partial)
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
        made.changed()
        return function

    return take


def add_rule(
    made: Op, function: Callable[..., Any], argument: str, prefix: str, *, partial: bool
) -> None:
    """Check a rule against an operation and make it the rule of an argument."""
    own = name_of(function)
    subject = f"rule `{own}` of `{made.name}`"
    push = prefix == "pushforward"
    first = "t" if push else "g"
    wanted = (f"{prefix}_{made.name}", f"{prefix}_{made.name}_{argument}")
    if own not in wanted:
        raise RuleError(
            subject, f"the name `{wanted[0]}` or `{wanted[1]}`", f"`{own}`",
            "rename the function; its name is what a traceback shows",
        )
    if argument not in made.arguments:
        raise RuleError(
            subject, f"an array argument: {', '.join(made.arguments)}", repr(argument),
            suggestion(argument, made.arguments),
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
    reads = tuple(_read(made, name, subject) for name in names)
    for keyword in keywords:
        if keyword not in made.required:
            raise RuleError(
                subject, f"keyword-only parameters among {', '.join(made.required) or 'none'}",
                repr(keyword), suggestion(keyword, made.required),
            )
    made.saves_shapes |= SHAPES in reads
    index = made.arguments.index(argument)
    rule = Rule(function, reads, keywords, partial)
    if together:
        made.together = rule
    elif push:
        made.pushes[index] = rule
    elif prefix == "collapse":
        made.collapses[index] = rule
    else:
        made.rules[index] = rule
    made.keeps |= any(r >= 0 or r == ALL_ARRAYS for r in reads)
    made.keeps |= made.linear and len(made.arguments) > 1
    made.pull = pull_of(made)
    made.changed()


def _read(made: Op, name: str, subject: str) -> int:
    if name in _SPECIAL_READS:
        return _SPECIAL_READS[name]
    if name in made.outputs:
        return len(made.arguments) + made.outputs.index(name)
    if name in made.arguments:
        return ALL_ARRAYS if made.variadic else made.arguments.index(name)
    readable = (*made.arguments, *made.outputs, *_SPECIAL_READS)
    raise RuleError(
        subject,
        f"parameters among {', '.join(readable)}",
        repr(name),
        suggestion(name, readable),
    )


def known_as(*, numpy: str = "", torch: str = "") -> Callable[[Face], Face]:
    """State the names that a function has in NumPy and PyTorch, where only names differ.

    numpy   names in `numpy`, separated by spaces; NumPy tells the names of their parameters
    torch   names in `pullback.torch`, with those of the parameters in the order of the function's:
            "roll(input,shifts,dims)"; without parameters, an elementwise function

    The names stay at the function as `known_as`. `docs/make_places.py` collects them from the
    source, so that none of the chapters need be loaded; `_aliases.py` looks them up.
    """

    def take(function: Face) -> Face:
        named: Any = function
        named.known_as = {"numpy": tuple(numpy.split()), "torch": tuple(torch.split())}
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
