"""The operation behind a `Function`: how its calls are pulled, and pushed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress
from typing import Any

from ..core import state as _state
from ..core.cotangent import complex_dtypes, wrapped
from ..core.custom_op import CustomOp
from ..core.node import FREED, Node, latest
from ..core.record import freed
from ..core.tensor import raw, wrap
from ..departures import departed_in, may_leave
from ..errors import RuleError
from ..transposition import pull_transposed, zeros_for
from .captured_values import unchanged
from .context import linked
from .rule import accumulate_checked, accumulate_one, outputs_of, rule_name, tangent_of
from .severed import run_rule, with_forward
from .taken_values import left_on_context


class FunctionOp(CustomOp):
    """The operation of all calls of one `Function` that has a `backward` only."""

    has_jvp = False

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name = function.__name__

    def held(self, node: Any) -> Iterator[tuple[str, Any]]:
        """The arrays among the context's attributes; saved tensors are checked when read."""
        own = [v for name, v in node.saved.__dict__.items() if not name.startswith("_")]
        return unchanged(node, own, [self.function.backward], "attribute of `ctx`")

    def _saver(self) -> Any:
        """The function that puts attributes on `ctx`."""
        own = self.function
        return own.setup_context if own._separate else own.forward

    def pull(self, node: Any, g: Any, cotangents: dict[Node, Any]) -> None:
        """One step of a first-order pull."""
        ctx = node.saved
        if (
            ctx is FREED or g.__class__ is list or latest[0] > node.seq
            or complex_dtypes[node.dtype]
        ):
            super().pull(node, g, cotangents)
            return
        seen = wrap(node.cls, g)
        backward = self.function.backward
        before = _state.quiet()
        try:
            answer = backward(ctx, seen)
        finally:
            if before.mode:
                _state.restore(before)
        if len(node.parents) == 1:
            accumulate_one(answer, node, cotangents, backward)
        else:
            self.hand_on(answer, node, cotangents, backward)

    def hand_on(
        self, answer: Any, node: Any, cotangents: dict[Node, Any], rule: Callable[..., Any]
    ) -> None:
        """Check what `backward` returned in a first-order pull, and add it to the cotangents."""
        if answer is None:
            answer = (None,) * len(node.parents)
        accumulate_checked(answer, node, cotangents, None, False, rule)

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: call `backward` and accumulate its results."""
        if node.saved is FREED:
            raise freed(node)
        gs = outputs_of(g, node, node.cls, zeros=node.saved._materialize)
        kinds = _kinds(node)
        if kinds:
            arrived = iter(gs)
            gs = [next(arrived) if is_tensor else None for is_tensor in kinds]
        backward = self.function.backward
        answer, departed = run_rule(record, _asked, backward, node, gs, record)
        if record:
            departed = with_forward(
                departed, lambda: left_on_context(node.saved.__dict__, self._saver()),
                lambda: departed_in([self._saver()], node.parents),
            )
        if answer is None:
            answer = (None,) * len(node.parents)
        accumulate_checked(
            answer, node, cotangents, needed, record, backward, departures=departed
        )


class PushedFunctionOp(FunctionOp):
    """That of one that has a `jvp`, which is used in forward mode."""

    has_jvp = True

    def push(self, node: Any, tangents: Any, record: bool, cls: type) -> Any:
        """The tangents of the outputs: call `jvp`, and check what it returns."""
        return self._along(node, tangents, record, quiet=not record)

    @may_leave
    def _along(self, node: Any, tangents: Any, record: bool, *, quiet: bool) -> Any:
        if node.saved is FREED:
            raise freed(node)
        jvp = self.function.jvp
        like = next((t for t in tangents if t is not None), None)
        answer = _asked(jvp, node, _shown(node, tangents, like), record, quiet=quiet, push=True)
        several = node.dtype is None
        spaces = node.spaces if several else [(node.shape, node.dtype)]
        answers = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        if len(answers) == len(_kinds(node)):  # one for each output, tensor or not
            answers = [*compress(answers, _kinds(node))]
        if len(answers) != len(spaces):
            raise RuleError(
                rule_name(jvp, node), f"{len(spaces)} tangents, one for each output tensor",
                f"{len(answers)}",
            )
        ts = [
            tangent_of(t, space, i, rule_name(jvp, node))
            for i, (t, space) in enumerate(zip(answers, spaces, strict=True))
        ]
        if not record and quiet:
            ts = [None if t is None else raw(t) for t in ts]
        return ts if several else ts[0]


class JvpFunctionOp(PushedFunctionOp):
    """That of one that has a `jvp` and no `backward`: pulled by transposing it."""

    pull = CustomOp.pull

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull: `jvp` on tangents of zeros, pulled back to them."""

        def along(ts: list[Any]) -> Any:
            return self._along(node, ts, record, quiet=False)

        pull_transposed(node, g, cotangents, needed, record, node.cls, along)


def _kinds(node: Any) -> tuple[bool, ...]:
    """For each output whether it is a tensor, if one is none; else empty."""
    kinds: tuple[bool, ...] = getattr(node, "details", ())  # unset by the hot path
    return kinds


_CALL = ("_node", "_pushing", "_recording")  # what a context knows while a rule runs


def _asked(
    rule: Any, node: Any, given: list[Any], record: bool, *, quiet: bool = True,
    push: bool = False,
) -> Any:
    """What `backward` or `jvp` says; recorded, the context's tensors have their history."""
    ctx = node.saved
    fields = ctx.__dict__
    held = {name: fields[name] for name in _CALL if name in fields}
    restore = linked(ctx, node) if record else {}
    ctx._node, ctx._pushing, ctx._recording = node, push, record
    before = _state.quiet() if quiet and not record else None
    try:
        return rule(ctx, *given)
    finally:
        if before is not None:
            _state.restore(before)
        fields.update(restore)
        for name in _CALL:
            fields.pop(name, None)
        fields.update(held)


def _shown(node: Any, tangents: Any, like: Any) -> list[Any]:
    """The tangents of all arguments, zeros for a tensor that has none (where wanted so)."""
    shown: list[Any] = []
    for t, space in zip(tangents, node.saved._spaces, strict=True):
        if t is not None:
            shown.append(wrapped(node.cls, t))
        elif space is None or not node.saved._materialize:
            shown.append(None)
        else:
            shown.append(wrap(node.cls, zeros_for(space, like)))
    return shown
