"""`custom_vjp`: a function and its two rules, forward and backward, in JAX's spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..arrays import SCALARS, is_array
from ..core import state as _state
from ..core.custom_op import custom_node
from ..core.node import FREED, Node
from ..core.op import OPS
from ..core.record import attach, freed
from ..core.state import Scoped, State
from ..core.tensor import Tensor
from ..errors import ArgumentError, RuleError, RuleTypeError
from ..kinds.vmaps import enter, leave, running
from ..rng_replay import Draws
from ..trees import Rebuild, leaves
from .calls import (
    Call,
    HandWritten,
    check_unwritten,
    fitted,
    outputs,
    plain_tree,
    zeros_like_leaf,
)
from .capture_guard import closed
from .captured_values import unchanged
from .rule import accumulate_checked, enter_rule, outputs_of, rule_name
from .severed import run_forward, run_rule, with_forward
from .taken_values import left_in_residuals

_running: Scoped[Mapping[Any, State]] = Scoped("running fwd", MappingProxyType({}))
"""For each function whose `fwd` runs without being recorded, the state that it started in."""


class Residuals:
    """What a call leaves for its pull.

    call, values, rebuild   its arguments, the residuals, and the value's structure
    draws, maps             the random numbers of `fwd`, and the vmaps that it ran in
    """

    __slots__ = ("call", "draws", "maps", "rebuild", "values")

    def __init__(self, call: Call) -> None:
        self.call, self.draws, self.maps = call, Draws(), running()
        self.values: Any = None
        self.rebuild: Rebuild

    def check(self, node: Node) -> None:
        """Raise an `InplaceError` for an array that was overwritten since the call."""
        self.call.check(node)
        check_unwritten(leaves(self.values), node, "residual")


class CustomVjp(HandWritten):
    """A function whose reverse mode is written by hand; made by `custom_vjp`."""

    kind = "custom_vjp"
    _fwd: Callable[..., Any] | None = None
    _bwd: Callable[..., Any] | None = None

    def defvjp(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the two rules; `optimize_remat` is taken and changes nothing.

        fwd  takes the arguments, and returns the value and the residuals: `(out, res)`
        bwd  takes the arguments in nondiff_argnums, the residuals, and the cotangent in the
             structure of the value; it returns a tuple, for each other argument a gradient in its
             structure, or None for zero
        """
        if symbolic_zeros:
            raise ArgumentError(
                f"defvjp of {self.subject}",
                "symbolic_zeros=False: cotangents are arrays, of zeros "
                "for outputs that are not used",
                "symbolic_zeros=True",
                "leave it out",
            )
        for rule in (fwd, bwd):
            if not callable(rule):
                raise RuleTypeError(
                    f"defvjp of {self.subject}", "two functions, fwd and bwd",
                    f"a {type(rule).__name__}",
                )
        self._fwd, self._bwd = fwd, bwd

    def _recorded(self, call: Call) -> Any:
        """The value of a call that is differentiated, by `fwd`, which is not recorded."""
        if self._fwd is None:
            raise RuleError(
                self.subject, "its rules, as a derivative is wanted", "none",
                f"call {self.name}.defvjp(fwd, bwd)",
            )
        if self._is_of_own_fwd(call):
            return self._unrecorded(call)
        kept = Residuals(call)
        with kept.draws.record():
            values, kept.rebuild, residuals = (
                self._run(call) if all(n is None for n in call.own()) else self._run_in_graph(call)
            )
        kept.values = plain_tree(residuals)
        node = custom_node(self, tuple(call.nodes), kept, call.cls)
        return kept.rebuild(attach(node, values, call.linked(), single=len(values) == 1))

    def _run_in_graph(self, call: Call) -> tuple[list[Any], Rebuild, Any]:
        """Same as `_run`, noting that `fwd` runs, for `_is_of_own_fwd`."""
        now = _state.state()
        rest = {k: v for k, v in now.scoped.items() if k is not _running}
        token = _running.set({**_running.get(), self: now.changed(scoped=rest)})
        try:
            return self._run(call)
        finally:
            _running.set(token)

    def _is_of_own_fwd(self, call: Call) -> bool:
        """Whether `fwd` makes this call, which only seems to be differentiated.

        While a graph is built every tensor has a node, also those of a `fwd` that is not recorded.
        A tape or a transformation that `fwd` itself opens does differentiate the call.
        """
        before, now = _running.get().get(self), _state.state()
        return (
            before is not None and before.tapes is now.tapes
            and before.accumulators is now.accumulators
            and before.scoped == {k: v for k, v in now.scoped.items() if k is not _running}
            and all(n is None or n.level != _state.REQUIRED for n in call.nodes)
        )

    def _residuals(self, kept: Residuals) -> Any:
        """The residuals of a second run of `fwd`, as the first was, on tracked arguments."""
        token = enter(kept.maps)
        try:
            with kept.draws.replay():
                return self._run(kept.call, linked=True)[2]
        finally:
            leave(token)

    def _run(self, call: Call, *, linked: bool = False) -> tuple[list[Any], Rebuild, Any]:
        """The outputs of `fwd`, the function that puts others in their place, the residuals."""
        assert self._fwd is not None
        answer, guard = closed(
            self.subject, self._fwd, call.values(linked=linked),
            call.nodes if linked else call.own(),
        )
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise RuleTypeError(
                f"fwd `{getattr(self._fwd, '__name__', self._fwd)}` of {self.subject}",
                "the value and the residuals: (out, res)", f"a {type(answer).__name__}",
                "return out, res",
            )
        out, residuals = answer
        values, rebuild = outputs(out, call, guard)
        guard.check_values(leaves(residuals), "its residuals")
        return values, rebuild, residuals

    # The pull -----------------------------------------------------------------------------------

    def held(self, node: Any) -> Iterator[tuple[str, Any]]:
        """The arrays among the residuals, in objects that `bwd` reads too."""
        return unchanged(node, leaves(node.saved.values), [self._bwd], "residual")

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: `bwd`; where that is followed, with residuals that have a history.

        They get it by a second run of `fwd`, on the arguments as they are tracked.
        """
        kept = node.saved
        if kept is FREED:
            raise freed(node)
        kept.check(node)
        cotangent = kept.rebuild(outputs_of(g, node, node.cls))
        residuals = kept.values
        assert self._bwd is not None
        again = record and _state.state().differentiates(node.parents)
        before = enter_rule(record)
        try:
            if again:
                residuals, in_forward = run_forward(self._residuals, kept)
            answer, departed = run_rule(
                record, self._bwd, *kept.call.constants(), residuals, cotangent
            )
        finally:
            if before is not None:
                _state.restore(before)
        if again:
            departed = with_forward(
                departed, lambda: left_in_residuals(
                    leaves(residuals), [*kept.call.leaves, *leaves(kept.call.constants())]
                ),
                lambda: in_forward,
            )
        accumulate_checked(
            self._gradients(answer, kept.call, node), node, cotangents, needed, record, self._bwd,
            departures=departed,
        )

    def _gradients(self, answer: Any, call: Call, node: Node) -> list[Any]:
        """What `bwd` returned, in a row: one for each leaf, checked."""
        subject = f"bwd {rule_name(self._bwd, node)}"
        count = len(call.trees)
        if not isinstance(answer, (tuple, list)) or len(answer) != count:
            got = f"{len(answer)}" if isinstance(answer, (tuple, list)) else type(answer).__name__
            raise RuleError(
                subject,
                f"a tuple of {count} gradients, one for each argument (None for zero)",
                got,
                "return (gradient,)" if count == 1 else f"return a tuple of {count}",
            )
        flat: list[Any] = []
        for entry, (place, at, n, rebuild) in zip(answer, call.trees, strict=True):
            whose = f"argument {self.argument(place)}"
            mine = f"gradient of {whose} returned by {subject}"
            parents = node.parents[at : at + n]
            if all(p is None for p in parents):
                flat.extend([None] * n)
                continue
            entries = fitted(entry, rebuild(list(range(n))), mine, whose)
            flat += [
                _checked(e, p, leaf, mine)
                for e, p, leaf in zip(entries, parents, call.leaves[at : at + n], strict=True)
            ]
        return flat


def _checked(entry: Any, parent: Node | None, leaf: Any, subject: str) -> Any:
    """A gradient of its argument's shape, as a tensor or array; None where none is wanted."""
    if entry is None or parent is None:
        return None
    if isinstance(entry, SCALARS):
        entry = OPS["add"](zeros_like_leaf(leaf), entry) if leaf.shape == () else Tensor(entry)
    elif not isinstance(entry, Tensor) and not is_array(entry):
        raise RuleTypeError(subject, "a tensor, or None for zero", f"a {type(entry).__name__}")
    if tuple(entry.shape) != tuple(parent.shape):
        raise RuleError(
            subject, f"the argument's shape {tuple(parent.shape)}", f"shape {tuple(entry.shape)}"
        )
    return entry


def custom_vjp(
    fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = (),
    nondiff_argnames: str | Sequence[str] = (),
) -> CustomVjp:
    """A function with the value of `fun`, whose gradient is given by its `defvjp(fwd, bwd)`.

    fun               takes and returns nested structures of tensors
    nondiff_argnums   positions of arguments that are not differentiated, and may be anything;
    nondiff_argnames  or their names. `bwd` gets them first

    Where a derivative is wanted, `fwd` computes the value, and what it returns beside it, the
    residuals (any structure, and things that are no tensors), goes to `bwd`. Cotangents of outputs
    that are not used are zeros; gradients are adjoint for complex numbers, as those of `vjp` are.
    `fwd` is not recorded: its operations have no derivative but the one that `bwd`
    gives. Higher orders differentiate `fwd` and `bwd`: a second run of `fwd`, which draws the same
    random numbers. Forward mode transposes `bwd`; inside vmap
    both run as they are, on all examples.

    `fun` and `fwd` must not use tracked tensors that are not their arguments: `CaptureError`.
    Raises `RuleError` for a wrong number, structure or shape of gradients, `ArgumentError` for a
    tracked tensor among the arguments that are not differentiated.

    In the spelling of JAX (`jax.custom_vjp`).

    >>> import pullback as pb
    >>> @pb.custom_vjp
    ... def log1pexp(x):
    ...     return pb.log(1 + pb.exp(x))
    >>> def fwd(x):
    ...     e = pb.exp(x)
    ...     return pb.log(1 + e), e
    >>> def bwd(e, g):
    ...     return (g * (1 - 1 / (1 + e)),)
    >>> log1pexp.defvjp(fwd, bwd)
    >>> pb.grad(log1pexp)(100.0), pb.jvp(log1pexp, (0.0,), (1.0,))[1]
    (Tensor(1.), Tensor(0.5))
    """
    return CustomVjp(fun, nondiff_argnums, nondiff_argnames)
