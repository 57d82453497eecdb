"""What every hand-written gradient has in common: outputs with one node, answers checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..arrays import adapters, is_array, namespace
from ..core.cotangent import accumulate, complex_dtypes, conjugated, wrapped
from ..core.node import Node, new, number, where
from ..core.tensor import Tensor, wrap
from ..errors import RuleError, RuleTypeError


class PickOp:
    """The operation of one output among several: it puts its cotangent in the right place."""

    name = "output"
    keeps = False

    def pull(self, node: Pick, g: Any, cotangents: dict[Node, Any]) -> None:
        """Fill this output's place in the list of cotangents of the node behind."""
        parent = node.parents[0]
        slots = cotangents.get(parent)
        if slots is None:
            slots = cotangents[parent] = [None] * len(parent.spaces)
        slots[node.index] = g

    def step(
        self, node: Pick, g: Any, cotangents: dict[Node, Any], needed: Any, record: bool, cls: Any
    ) -> None:
        """The same in every kind of pull."""
        self.pull(node, g, cotangents)


PICK: Final = PickOp()


class Pick(Node):
    """The node of one output of an operation that has several."""

    __slots__ = ("index",)

    op = PICK
    saved = ()
    index: int
    parents: tuple[Any]


def picked(node: Any, index: int, data: Any) -> Pick:
    """The node of output `index` of a node whose `spaces` lists what its outputs look like."""
    made = new(Pick)
    made.parents = (node,)
    made.index = index
    made.seq = number()
    made.level = node.level
    made.shape = data.shape
    made.dtype = data.dtype
    return made


def outputs_of(g: Any, node: Any, cls: type, *, zeros: bool = True) -> list[Any]:
    """The cotangents of all outputs as Tensors, in the convention that people write in.

    A missing one is zeros of its output's space, or None when not `zeros`.
    """
    if g.__class__ is not list:
        return [wrapped(cls, conjugated(g) if complex_dtypes[g.dtype] else g)]
    some = next(v for v in g if v is not None)
    xp = namespace(some._data if isinstance(some, Tensor) else some)
    answers: list[Any] = []
    for v, (shape, dtype) in zip(g, node.spaces, strict=True):
        if v is not None:
            answers.append(wrapped(cls, conjugated(v)))
        else:
            answers.append(wrap(cls, xp.zeros(shape, dtype=dtype)) if zeros else None)
    return answers


def hand_on(
    answer: Any, node: Node, cotangents: dict[Node, Any], needed: set[Node] | None, record: bool,
    rule: Callable[..., Any],
) -> None:
    """Check what a hand-written rule returned and add it to the cotangents of the parents."""
    parents = node.parents
    answers: Sequence[Any] = answer if isinstance(answer, (tuple, list)) else (answer,)
    if len(answers) != len(parents):
        answers = _counted(answers, node, rule)
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
        dtype = r.dtype
        if complex_dtypes[dtype]:
            r = conjugated(r)
        if dtype is parent.dtype and parent not in cotangents and r.shape == parent.shape:
            cotangents[parent] = r
        else:
            accumulate(cotangents, parent, r, _Who(index, rule, node))


def hand_on_one(
    answer: Any, node: Node, cotangents: dict[Node, Any], rule: Callable[..., Any]
) -> None:
    """`hand_on` for the commonest case, one real gradient for one argument (hot path)."""
    parent = node.parents[0]
    if isinstance(answer, Tensor) and parent is not None and parent not in cotangents:
        r = answer._data
        dtype = r.dtype
        if dtype is parent.dtype and r.shape == parent.shape and not complex_dtypes[dtype]:
            cotangents[parent] = r
            return
    hand_on(answer, node, cotangents, None, False, rule)


class _Who:
    """The first line of an error about a gradient, made when there is one."""

    def __init__(self, index: int, rule: Callable[..., Any], node: Node) -> None:
        self.index, self.rule, self.node = index, rule, node

    def __call__(self) -> str:
        return f"gradient {self.index} returned by {rule_name(self.rule, self.node)}"


def _counted(answers: Sequence[Any], node: Node, rule: Callable[..., Any]) -> Sequence[Any]:
    count = len(node.parents)
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
