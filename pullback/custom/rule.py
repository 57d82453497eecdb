"""Shared by all hand-written gradients: how cotangents are shown, and gradients checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..arrays import adapters, is_array, outer
from ..core import state as _state
from ..core.cotangent import accumulate, complex_dtypes, conjugated, wrapped
from ..core.forward import Space, into
from ..core.node import Node, where
from ..core.tensor import Tensor, inexact_dtypes, raw, wrap
from ..errors import RuleError, RuleTypeError
from ..transposition import zeros_for
from .severed import severed


def refuse_outer(values: Iterable[Any]) -> None:
    """Raise a `NotDifferentiableError` where a foreign engine differentiates a hand-written rule.

    JAX would differentiate what the function computes, and never meet its rule.

    values   the arguments of the function; what is no tensor or array is passed over
    """
    for value in values:
        array = raw(value)
        refuse = outer.get(array.__class__)
        if refuse is not None:
            refuse(array)


def outputs_of(g: Any, node: Any, cls: type, *, zeros: bool = True) -> list[Any]:
    """The cotangents of all outputs as Tensors, in the convention that people write in.

    A missing one is zeros of its output's space, or None when not `zeros`.
    """
    if g.__class__ is not list:
        return [wrapped(cls, conjugated(g) if complex_dtypes[g.dtype] else g)]
    some = next(v for v in g if v is not None)
    answers: list[Any] = []
    for v, (shape, dtype) in zip(g, node.spaces, strict=True):
        if v is not None:
            answers.append(wrapped(cls, conjugated(v)))
        else:
            answers.append(wrap(cls, zeros_for((shape, dtype), some)) if zeros else None)
    return answers


def accumulate_checked(
    answer: Any, node: Node, cotangents: dict[Node, Any], needed: set[Node] | None, record: bool,
    rule: Callable[..., Any], parents: tuple[Node | None, ...] | None = None,
    departures: Sequence[Any] = (),
) -> None:
    """Check what a hand-written rule returned and add it to the cotangents of the parents.

    parents     those that the rule has gradients for, where these are not all of the node's
    departures  of tracked tensors, in the rule: a derivative of the gradients needs them
    """
    if parents is None:
        parents = node.parents
    answers: Sequence[Any] = answer if isinstance(answer, (tuple, list)) else (answer,)
    if len(answers) != len(parents):
        answers = _counted(answers, len(parents), node, rule)
    index = -1
    for parent, r in zip(parents, answers, strict=True):
        index += 1
        if r is None or parent is None or (needed is not None and parent not in needed):
            continue
        if isinstance(r, Tensor):
            if not record:
                r = r._data
        elif is_array(r):
            r = wrap(Tensor, r) if record else r
        else:
            raise RuleTypeError(
                f"gradient {index} returned by {rule_name(rule, node)}",
                "a tensor, or None for no gradient", f"{r!r} (a {type(r).__name__})",
                "return zeros_like(x) where the gradient is zero",
            )
        if departures:
            r = severed(r, departures, node)
        dtype = r.dtype
        if complex_dtypes[dtype]:
            r = conjugated(r)
        if (
            dtype is parent.dtype and parent not in cotangents and raw(r).shape == parent.shape
        ):
            cotangents[parent] = r
        else:
            accumulate(cotangents, parent, r, _Who(index, rule, node))


def accumulate_one(
    answer: Any, node: Node, cotangents: dict[Node, Any], rule: Callable[..., Any]
) -> None:
    """`accumulate_checked` for one real gradient of one argument, the commonest case (hot path)."""
    parent = node.parents[0]
    if isinstance(answer, Tensor) and parent is not None and parent not in cotangents:
        r = answer._data
        dtype = r.dtype
        if dtype is parent.dtype and r.shape == parent.shape and not complex_dtypes[dtype]:
            cotangents[parent] = r
            return
    accumulate_checked(answer, node, cotangents, None, False, rule)


def enter_rule(record: bool) -> _state.State | None:
    """Enter the state in which a hand-written rule runs; returns the argument of `restore`.

    Recording is possible in it, so that a rule may open a tape of its own.
    """
    return _state.recording(fresh=False) if record else _state.forget_tapes()


class _Who:
    """The first line of an error about a gradient, made when there is one."""

    def __init__(self, index: int, rule: Callable[..., Any], node: Node) -> None:
        self.index, self.rule, self.node = index, rule, node

    def __call__(self) -> str:
        return f"gradient {self.index} returned by {rule_name(self.rule, self.node)}"


def _counted(
    answers: Sequence[Any], count: int, node: Node, rule: Callable[..., Any]
) -> Sequence[Any]:
    if len(answers) > count and all(r is None for r in answers[count:]):
        return answers[:count]
    raise RuleError(
        rule_name(rule, node),
        f"{count} gradients, one for each argument (None where there is none)", f"{len(answers)}",
        f"return a tuple of {count}" if count != 1 else "return one gradient",
    )


def rule_name(function: Any, node: Node) -> str:
    """How error messages call a hand-written rule."""
    return f"`{getattr(function, '__qualname__', function)}` for {where(node)}"


def as_tensor(value: Any, cls: type) -> Any:
    """An output as a Tensor: arrays and numbers are wrapped.

    Raises `RuleTypeError` for anything else.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex)) or is_array(value):
        return wrap(cls, adapters[type(value)].asarray(value))
    raise RuleTypeError(
        "output of a custom gradient", "tensors, in any nesting", f"a {type(value).__name__}"
    )


def tangent_of(t: Any, space: tuple[Any, Any], index: int, subject: str) -> Any:
    """A tangent that a hand-written rule returned, in the space of its output; None stays None.

    Raises `RuleError` when it is not in that space, `RuleTypeError` for what is no tensor.
    """
    shape, dtype = space
    if t is None or not inexact_dtypes[dtype]:
        return None
    if not isinstance(t, Tensor):
        raise RuleTypeError(
            f"tangent {index} returned by {subject}", "a tensor, or None for no tangent",
            f"{t!r} (a {type(t).__name__})", "return zeros_like(y) where the tangent is zero",
        )
    wrong = complex_dtypes[t.dtype] and not complex_dtypes[dtype]
    if t.shape != tuple(shape) or wrong:
        raise RuleError(
            f"tangent {index} returned by {subject}", f"the output's shape {tuple(shape)}, {dtype}",
            f"shape {t.shape}, {t.dtype}",
        )
    return into(t, Space(shape, dtype))
