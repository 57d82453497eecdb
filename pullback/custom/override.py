"""Gradients by name: registered, and put in an operation's place, in a scope or after the fact.

TensorFlow 1 had this for graphs; here it works on operations as they run, and on computations that
are already done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ContextDecorator, nullcontext
from typing import Any
from warnings import warn

from ..arrays import cache_context
from ..core import state as _state
from ..core.cotangent import conjugated, wrapped
from ..core.custom_op import CustomOp
from ..core.node import FREED, Node, where
from ..core.op import OPS
from ..core.record import freed
from ..core.tensor import Tensor, wrap
from ..errors import (
    ArgumentTypeError,
    DuplicateNameError,
    OverrideWarning,
    UnknownNameError,
    suggestion,
)
from .recompute import recall_input, recall_output
from .rule import accumulate_checked, enter_rule
from .severed import run_rule

Rule = Callable[..., Any]
_registered: dict[str, Rule] = {}

OTHERS: dict[str, Callable[..., Any]] = {}
"""name -> the public function of operations that no array library computes: Python functions."""


class register_gradient:
    """Register a gradient function under a name, for `override_gradient` and graphs.

    The function is called as `rule(op, g)`: `op.inputs`, `op.outputs`, `op.name`, `op.type` and
    `op.get_attr(name)` describe the operation it stands in for, `g` is the cotangent of its output.
    It returns a cotangent for each input, None where there is none.

    Raises `DuplicateNameError` for a name that is taken.

    >>> import pullback as pb
    >>> @pb.register_gradient("Doctest.HardTanh")
    ... def hard_tanh(op, g):
    ...     x = op.inputs[0]
    ...     return pb.where(pb.abs(x) <= 1, g, pb.zeros_like(g))
    >>> x = pb.tensor([-2.0, 0.5], requires_grad=True)
    >>> with pb.override_gradient({"sign": "Doctest.HardTanh"}):
    ...     y = pb.sign(x)
    >>> pb.sum(y).backward()
    >>> x.grad
    Tensor([0., 1.])
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError("register_gradient", "a name", f"a {type(name).__name__}",
                                    'write @register_gradient("Name")')
        self.name = name

    def __call__(self, rule: Rule) -> Rule:
        """Put the function under the name and return it as it is."""
        if self.name in _registered:
            raise DuplicateNameError(
                f"gradient {self.name!r}", "a new name", "one that is registered already",
                "choose another name",
            )
        _registered[self.name] = rule
        return rule


def registered_gradient(name: str) -> Rule:
    """The function registered under a name.

    Raises `UnknownNameError` with the closest name.

    >>> import pullback as pb
    >>> @pb.register_gradient("doc.Straight")
    ... def straight(op, g):
    ...     return g
    >>> pb.registered_gradient("doc.Straight") is straight
    True
    """
    rule = _registered.get(name)
    if rule is None:
        raise UnknownNameError(
            f"gradient {name!r}", "a name given to register_gradient",
            "a name that is not registered", suggestion(name, _registered),
        )
    return rule


def _rules(overrides: Mapping[Any, Any]) -> dict[Any, Rule]:
    """{operation: rule}, with names looked up."""
    if not isinstance(overrides, Mapping):
        raise ArgumentTypeError(
            "overrides", "a mapping {operation: registered name or rule}",
            f"a {type(overrides).__name__}",
        )
    rules: dict[Any, Rule] = {}
    for key, value in overrides.items():
        op = find_op(key)
        rule = registered_gradient(value) if isinstance(value, str) else value
        if not callable(rule):
            raise ArgumentTypeError(
                f"override of `{op.name}`", "a registered name or a function rule(op, g)",
                f"a {type(rule).__name__}",
            )
        rules[op] = rule
    return rules


class Operation:
    """What a gradient function sees of the operation it stands in for.

    >>> import pullback as pb
    >>> def rule(op, g):
    ...     print(op.type, op.get_attr("axis"), op.inputs[0].shape, op.outputs[0].shape, g.shape)
    ...     return pb.zeros_like(op.inputs[0])
    >>> x = pb.tensor([[1.0, 2.0]], requires_grad=True)
    >>> pb.sum(x, axis=1).backward(pb.ones(1), overrides={"sum": rule})
    sum 1 (1, 2) (1,) (1,)
    """

    __slots__ = ("_cls", "_held", "_node", "_op", "_record")

    def __init__(self, node: Node, op: Any, record: bool, cls: type, held: Any = None) -> None:
        self._node, self._op, self._record, self._cls, self._held = node, op, record, cls, held

    def __repr__(self) -> str:
        return f"<Operation {where(self._node)}>"

    @property
    def name(self) -> str:
        """The operation's name with its number, unique in the program."""
        return f"{self._op.name}_{self._node.seq}"

    @property
    def type(self) -> str:
        """The operation's name."""
        return str(self._op.name)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The tensors it was computed from."""
        if self._held is not None:
            return tuple(self._held[0])
        return tuple(
            self._tensor(recall_input(self._node, i), p)
            for i, p in enumerate(self._node.parents)
        )

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The tensors it computed."""
        if self._held is not None:
            return tuple(wrap(v._out, v._data) for v in self._held[1])
        return (self._tensor(recall_output(self._node), self._node),)

    def get_attr(self, name: str) -> Any:
        """The value of a keyword argument of the call, such as `axis`.

        Raises `UnknownNameError` when it has none of that name.
        """
        if name not in self._node.attrs:
            raise UnknownNameError(
                f"attribute {name!r} of `{self.type}`", "one of the call's arguments", "no such",
                suggestion(name, self._node.attrs),
            )
        return self._node.attrs[name]

    def _tensor(self, data: Any, node: Node | None) -> Any:
        if not hasattr(data, "dtype"):
            return data  # a Python number
        return wrap(self._cls, data, node if self._record else None)


class Overridden(CustomOp):
    """Stands in for an operation at a node whose gradient was overridden."""

    def __init__(self, base: Any, rule: Rule, cls: type, held: Any = None) -> None:
        self.base, self.rule_function, self.cls, self.ends = base, rule, cls, held
        self.name = base.name
        self.arguments = getattr(base, "arguments", ())
        self.kernels = getattr(base, "kernels", None)

    def holding(self, inputs: list[Any], outputs: list[Any]) -> Overridden:
        """The same for one call of a hand-written gradient, whose inputs are kept here."""
        return Overridden(self.base, self.rule_function, self.cls, (inputs, outputs))

    def step(
        self, node: Node, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: ask the rule in place of the operation."""
        if node.saved is FREED:
            raise freed(node)
        cls = self.cls
        seen = Operation(node, self.base, record, cls, self.ends)
        gs = g if isinstance(g, list) else [g]
        shown = [None if v is None else wrapped(cls, conjugated(v)) for v in gs]
        before = enter_rule(record)
        try:
            answer, departed = run_rule(record, self.rule_function, seen, *shown)
        finally:
            if before is not None:
                _state.restore(before)
        accumulate_checked(
            answer, node, cotangents, needed, record, self.rule_function, departures=departed
        )


class override_gradient(ContextDecorator):
    """Give operations other gradients: those computed inside the block, whenever they are pulled.

    overrides  {operation: rule}: an operation's name or function, or a custom gradient or
               `Function`; and a name given to `register_gradient`, or a function `rule(op, g)`

    Scopes nest, the innermost wins, and each thread has its own. Also a decorator. To override
    gradients of a computation that is already done, pass the same mapping as `overrides=` to
    `tape.gradient`, `backward` or `autograd.grad`.

    Raises `UnknownNameError` (with a suggestion) for an operation or a gradient that is not
    registered; warns with `OverrideWarning` on leaving a block in which operations were recorded
    but none of those that are overridden.

    >>> import pullback as pb
    >>> def straight_through(op, g):
    ...     return g
    >>> x = pb.tensor([0.2, 1.7], requires_grad=True)
    >>> with pb.override_gradient({"round": straight_through}):
    ...     y = pb.round(x)
    >>> pb.sum(y * y).backward()
    >>> x.grad
    Tensor([0., 4.])
    """

    def __init__(self, overrides: Mapping[Any, Any]) -> None:
        self._rules = _rules(overrides)
        self._held: tuple[tuple[_Scope, _state.State, _state.State, Any], ...] = ()

    def _recreate_cm(self) -> override_gradient:
        return self

    def __enter__(self) -> None:
        scope, before = _Scope(self._rules), _state.state()
        inside = before.changed(overrides=(*before.overrides, scope))
        foreign = _foreign_key(inside.overrides)
        held = (*self._held, (scope, before, inside, foreign))
        try:
            _state.set_state(inside)
            self._held = held
        except BaseException:  # Ctrl-C
            _state.set_state(before)
            foreign.__exit__(None, None, None)
            raise

    def __exit__(self, kind: Any, *exc: object) -> None:
        scope, before, inside, foreign = self._held[-1]
        old = _state.set_state(before).old_value  # first of all, as Ctrl-C may follow
        self._held = self._held[:-1]
        foreign.__exit__(None, None, None)
        if old is not inside:
            _state.amend(old)
            left = tuple(s for s in _state.state().overrides if s is not scope)
            _state.change(overrides=left)
        if kind is None:
            scope.report()


def _foreign_key(scopes: tuple[_Scope, ...]) -> Any:
    """An entered context: what a foreign engine compiles inside is kept for these rules only."""
    context = cache_context()
    if context is None:
        entered: Any = nullcontext()
    else:
        entered = context(tuple([
            (op, _hashable(rule)) for scope in scopes for op, rule in scope.rules.items()
        ]))
    entered.__enter__()
    return entered


def _hashable(rule: Rule) -> Any:
    """The rule, or an object that equals no other, with which nothing is found again."""
    try:
        hash(rule)
    except TypeError:
        return object()
    return rule


class _Scope:
    """One entered `override_gradient`, and what was seen inside."""

    def __init__(self, rules: dict[Any, Rule]) -> None:
        self.rules = rules
        self.met: set[Any] = set()
        self.others: set[str] = set()

    def match(self, op: Any, cls: type) -> Any:
        """What stands in for an operation, or None."""
        rule = self.rules.get(op)
        if rule is None:
            inside = op.overridden(self.rules) if hasattr(op, "overridden") else None
            if inside is None:
                if not hasattr(op, "rerun_with"):  # the operations inside were met themselves
                    self.others.add(op.name)
            else:
                self.met |= op.contents()
            return inside
        self.met.add(op)
        return Overridden(op, rule, cls)

    def report(self) -> None:
        """Warn of overrides that met nothing while other operations were recorded."""
        missed = [op.name for op in self.rules if op not in self.met]
        if missed and self.others and not self.met:
            warn(
                f"override_gradient: nothing recorded in the block was {_listed(missed)}; "
                f"recorded were {_listed(sorted(self.others))}",
                OverrideWarning, stacklevel=3,
            )


class RuleOverrides:
    """For a node, what is pulled in its place; of rules {operation: function}.

    An operation that holds others (a traced function, a checkpoint) may have rules for these.
    """

    def __init__(self, rules: Mapping[Any, Rule]) -> None:
        self.rules = dict(rules)
        self.key = tuple(sorted((op.name, id(op), id(rule)) for op, rule in rules.items()))

    def prepare(self, nodes: Iterable[Node]) -> None:
        """Nothing: rules that match no node are no error here."""

    def __call__(self, node: Node, cls: type = Tensor) -> Any:
        """What stands in for the operation of a node, or None."""
        op = getattr(node.op, "base", node.op)
        rule = self.rules.get(op)
        if rule is not None:
            return Overridden(op, rule, cls, getattr(node.op, "ends", None))
        inside = getattr(node.op, "overridden", None)
        if inside is not None:
            return inside(self.rules)
        rerun_with = getattr(node.op, "rerun_with", None)
        return None if rerun_with is None else rerun_with(RuleOverrides(self.rules))


class Overrides(RuleOverrides):
    """`overrides=` of one pull; one that matches no node is an error."""

    def __init__(self, overrides: Mapping[Any, Any]) -> None:
        super().__init__(_rules(overrides))

    def prepare(self, nodes: Iterable[Node]) -> None:
        """Raise an `UnknownNameError` for an override that no node of the graph matches."""
        present = {getattr(n.op, "base", n.op) for n in nodes}
        for op in [op for op in present if hasattr(op, "contents")]:
            present |= op.contents()
        for op in self.rules:
            if op not in present:
                names = sorted({o.name for o in present})
                raise UnknownNameError(
                    f"override of `{op.name}`", "an operation between the target and the sources",
                    f"none there; the operations there: {', '.join(names) or 'none'}",
                    suggestion(op.name, names) if names else "",
                )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def find_op(key: Any) -> Any:
    """The `Op` for a name, or for the function of an operation.

    Raises `UnknownNameError` with the closest name.
    """
    if isinstance(key, str):
        function: Any = OPS.get(key) or OTHERS.get(key)
        if function is None:
            raise UnknownNameError(
                f"operation {key!r}", "the name of an operation", "a name that is not registered",
                suggestion(key, OPS),
            )
        return function.op
    found = getattr(key, "op", None)
    if found is None or not hasattr(found, "pull"):
        raise UnknownNameError(
            f"operation {key!r}", "the name or the function of an operation",
            f"a {type(key).__name__}", "pass a name such as 'sign'",
        )
    return found
