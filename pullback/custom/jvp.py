"""`custom_jvp`: a function and its rule of forward mode, in JAX's spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..core import state as _state
from ..core.cotangent import wrapped
from ..core.custom_op import custom_node
from ..core.node import FREED, Node
from ..core.record import attach, freed
from ..core.state import Scoped
from ..core.tensor import Tensor, raw
from ..departures import may_leave
from ..errors import ArgumentError, RuleError, RuleTypeError
from ..rng_replay import Draws
from ..transposition import pull_transposed
from ..trees import Rebuild, flatten, leaves, mapped
from .calls import Call, HandWritten, fitted, outputs, zeros_like_leaf
from .capture_guard import closed
from .rule import as_tensor, enter_rule, rule_name, tangent_of
from .severed import RULE, in_result, run_rule, severed

_pulled: Scoped[Mapping[Any, set[Any]]] = Scoped("pulled", MappingProxyType({}))
"""For each function whose rule is being pulled, the nodes of the rule's tangents."""


def _descends(node: Node | None, leaves: set[Any]) -> bool:
    """Whether a node comes from one of some leaves."""
    first = min(leaf.seq for leaf in leaves)
    seen: set[Any] = set()
    stack = [node]
    while stack:
        now = stack.pop()
        if now is None or now.seq < first or now in seen:
            continue
        if now in leaves:
            return True
        seen.add(now)
        stack.extend(now.parents)
    return False


class CustomJvp(HandWritten):
    """A function whose forward mode is written by hand; made by `custom_jvp`."""

    kind = "custom_jvp"
    _rule: Callable[..., Any] | None = None
    _terms: tuple[Callable[..., Any] | None, ...] | None = None

    def defjvp(self, rule: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Give the rule, and return it.

        rule  takes the arguments in nondiff_argnums, then a tuple of the others and one of their
              tangents, and returns the value and its tangent, which is linear in those
        """
        if symbolic_zeros:
            raise ArgumentError(
                f"defjvp of {self.subject}", "symbolic_zeros=False: tangents are arrays, of zeros "
                "for arguments that have none", "symbolic_zeros=True", "leave it out",
            )
        if not callable(rule):
            raise RuleTypeError(
                f"defjvp of {self.subject}", "a function", f"a {type(rule).__name__}"
            )
        self._rule, self._terms = rule, None
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Give a rule for each argument: `rule(t, ans, *primals)`, or None where it is zero.

        Each returns its part of the value's tangent, from the tangent of its argument, the
        value and the arguments.
        """
        if self._nondiff:
            raise ArgumentError(
                f"defjvps of {self.subject}", "a function without nondiff_argnums", "one with",
                "use defjvp",
            )
        self._rule, self._terms = None, rules

    def _recorded(self, call: Call) -> Any:
        """The value of a call that is differentiated."""
        if self._rule is None and self._terms is None:
            raise RuleError(
                self.subject, "its rule, as a derivative is wanted", "none",
                f"call {self.name}.defjvp(rule)",
            )
        draws = Draws()
        with draws.record():
            out, guard = closed(self.subject, self.function, call.values(), call.own())
        values, rebuild = outputs(out, call, guard)
        node = custom_node(self, tuple(call.nodes), _Kept(call, rebuild, draws), call.cls)
        return rebuild(attach(node, values, call.linked(), single=len(values) == 1))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The value; of what comes from the tangents of a rule that is being pulled, by `fun`.

        A rule that calls its own function on a tangent states that the function is linear.
        """
        leaves = _pulled.get().get(self)
        if leaves and any(
            isinstance(v, Tensor) and _descends(v._node, leaves)
            for v in flatten((args, keywords))[0]
        ):
            return self.function(*args, **keywords)
        return super().__call__(*args, **keywords)

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangents of the outputs, by the rule."""
        before = enter_rule(record)
        try:
            ts = self._along(node, tangents, record)
        finally:
            if before is not None:
                _state.restore(before)
        if not record:
            ts = [None if t is None else raw(t) for t in ts]
        return ts if node.dtype is None else ts[0]

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: the rule on tangents of zeros, pulled back to them."""

        def along(ts: list[Any]) -> Any:
            leaves = {t._node for t in ts if t is not None}
            token = _pulled.set({**_pulled.get(), self: leaves})
            try:
                return self._along(node, ts, record)
            finally:
                _pulled.set(token)

        pull_transposed(node, g, cotangents, needed, record, node.cls, along)

    @may_leave
    def _along(self, node: Any, tangents: Sequence[Any], record: bool) -> list[Any]:
        """The tangents of all outputs, as the rule says, checked."""
        kept = node.saved
        if kept is FREED:
            raise freed(node)
        kept.call.check(node)
        def run() -> list[Any]:
            with kept.draws.replay():  # the rule may compute the value again
                return self._answer(kept, node, tangents, record)

        live = record or bool(_state.state().accumulators)
        found, departed = run_rule(live, run)
        if departed and in_result(departed, found, run):
            return [None if t is None else severed(t, departed, node, RULE) for t in found]
        return list(found)

    def _answer(
        self, kept: _Kept, node: Any, tangents: Sequence[Any], record: bool
    ) -> list[Any]:
        call = kept.call
        again = record and _state.state().differentiates(node.parents)
        flat = call.linked() if again else call.leaves
        primals = tuple(call.structures(flat))
        if self._rule is None:
            tangent, rule = self._summed(call, primals, tangents, node)
        else:
            rule = self._rule
            ts = [
                zeros_like_leaf(leaf) if t is None else wrapped(node.cls, t)
                for leaf, t in zip(call.leaves, tangents, strict=True)
            ]
            answer = rule(*call.constants(), primals, tuple(call.structures(ts)))
            if not isinstance(answer, (tuple, list)) or len(answer) != 2:
                raise RuleTypeError(
                    rule_name(rule, node), "the value and its tangent: (out, tangent)",
                    f"a {type(answer).__name__}", "return out, tangent",
                )
            tangent = answer[1]
            if answer[0] is None and tangent is None:
                raise RuleTypeError(
                    rule_name(rule, node), "the value and its tangent", "None and None",
                    "compute them with operations: a tape records nothing while a rule is looked "
                    "at; use pullback.grad inside the function",
                )
        return self._checked(tangent, kept.rebuild, node, rule_name(rule, node))

    def _summed(
        self, call: Call, primals: tuple[Any, ...], tangents: Sequence[Any], node: Any
    ) -> tuple[Any, Any]:
        """The sum of what the rules of `defjvps` return, and one of the rules."""
        rules = self._terms or ()
        if len(rules) != len(call.trees):
            raise RuleError(
                f"defjvps of {self.subject}", f"{len(call.trees)} rules, one for each argument",
                f"{len(rules)}", "give None for an argument whose derivative is zero",
            )
        ans = self(*primals)
        total = None
        for rule, (_, at, n, rebuild) in zip(rules, call.trees, strict=True):
            given = tangents[at : at + n]
            if rule is None or all(t is None for t in given):
                continue
            ts = [
                zeros_like_leaf(leaf) if t is None else wrapped(node.cls, t)
                for leaf, t in zip(call.leaves[at : at + n], given, strict=True)
            ]
            part = rule(rebuild(ts), ans, *primals)
            total = part if total is None else mapped(_sum, total, part)
        return total, next((r for r in rules if r is not None), self.function)

    def _checked(self, tangent: Any, rebuild: Rebuild, node: Any, subject: str) -> list[Any]:
        spaces = [(node.shape, node.dtype)] if node.dtype is not None else node.spaces
        tree = rebuild(list(range(len(spaces))))
        flat = fitted(tangent, tree, f"tangent returned by {subject}", "the value")
        there = [t for t, i in zip(flat, leaves(tree), strict=True) if i is not None]
        return [
            None if t is None else tangent_of(as_tensor(t, node.cls), space, i, subject)
            for i, (t, space) in enumerate(zip(there, spaces, strict=True))
        ]


class _Kept:
    """What a call leaves for its rule."""

    __slots__ = ("call", "draws", "rebuild")

    def __init__(self, call: Call, rebuild: Rebuild, draws: Draws) -> None:
        self.call, self.rebuild, self.draws = call, rebuild, draws


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def custom_jvp(
    fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = (),
    nondiff_argnames: str | Sequence[str] = (),
) -> CustomJvp:
    """A function with the value of `fun`, whose derivative is given by its `defjvp(rule)`.

    fun               takes and returns nested structures of tensors
    nondiff_argnums   positions of arguments that are not differentiated, and may be anything;
    nondiff_argnames  or their names. The rule gets them first

    Forward mode calls the rule, with tangents of zeros for arguments that have none. Reverse mode
    transposes it: it must be linear in the tangents. Higher orders differentiate it; inside vmap
    it runs as it is, on all examples.

    `fun` must not use tracked tensors that are not its arguments: `CaptureError`. Raises
    `RuleError` for a tangent of another structure, shape or kind than the value.

    In the spelling of JAX (`jax.custom_jvp`).

    >>> import pullback as pb
    >>> @pb.custom_jvp
    ... def f(x, y):
    ...     return pb.sin(x) * y
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x, y), (x_dot, y_dot) = primals, tangents
    ...     return f(x, y), pb.cos(x) * x_dot * y + pb.sin(x) * y_dot
    >>> pb.jvp(f, (0.0, 3.0), (1.0, 0.0))[1], pb.grad(f)(0.0, 3.0)
    (Tensor(3.), Tensor(3.))
    """
    return CustomJvp(fun, nondiff_argnums, nondiff_argnames)
