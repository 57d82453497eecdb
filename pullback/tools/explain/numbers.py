"""Explains zero, NaN and infinite gradients by repeating the backward pass step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy

from ...arrays import adapters, is_array
from ...arrays.batched import Batched
from ...core import state as _state
from ...core.cotangent import accumulate, conjugated
from ...core.multi_output import Pick
from ...core.node import FREED, Leaf, Node, line_of
from ...core.op import OPS, Op
from ...core.reverse import reached
from ...core.tensor import Tensor, raw
from ...core.versions import version
from ...errors import GraphFreedError
from ..debug.journal import Event, latest
from .causes import CURES
from .explanation import Explanation, Place
from .severed import HINT, STEPS, line_from

DEAD = {"relu", "relu6", "maximum", "minimum", "leaky_relu", "hard_tanh", "hard_sigmoid", "max"}
FLAT = {"sign", "round", "floor", "ceil", "trunc", "floor_divide", "heaviside"}
SATURATED = {"sigmoid", "tanh", "softmax", "log_softmax", "erf", "erfc", "exp", "log_sigmoid",
             "softplus", "atan", "silu", "gelu", "softsign"}
FACTORS = {"multiply", "matmul", "tensordot", "vecdot", "einsum", "square", "pow", "power"}
MASKS = {"where", "getitem", "take", "take_along_axis", "compress", "where_zero"}
WRITES = {"set_at", "put_view", "setitem"}
AT_ZERO = {
    "sqrt": "sqrt(0)", "rsqrt": "sqrt(0)", "pow": "sqrt(0)", "power": "sqrt(0)", "log": "log(0)",
    "log2": "log(0)", "log10": "log(0)", "log1p": "log(0)", "divide": "0/0", "reciprocal": "0/0",
    "vector_norm": "norm(0)", "matrix_norm": "norm(0)", "norm": "norm(0)", "hypot": "norm(0)",
}


LOGARITHMS = {"log", "log2", "log10", "log1p"}
DIVISIONS = {"divide", "reciprocal", "rsqrt", "remainder", "quotient", "mean", "std", "var"}
POWERS = {"pow", "power"}
DOMAINS = {*POWERS, "sqrt", "root", "acos", "asin", "acosh", "atanh"}


class Step(NamedTuple):
    """One step of the backward pass: the cotangent of a node, the gradients that it passed to its
    parents, and whether a parent that needs a gradient got none."""

    node: Node
    g: Any
    given: dict[Node, Any]
    withheld: bool


def of_numbers(
    roots: Mapping[Node, Any], x: Any, node: Node, spans: Any
) -> Explanation:
    """Explains a gradient when the graph has a path to the source."""
    order = reached(roots, spans)
    if is_replaced(node) and any(n.saved is FREED for n in order):
        return replaced(node)
    journal = latest()
    kept: AbstractContextManager[list[Node]] = nullcontext([])
    with kept if journal is None else journal.restored(order) as restored:
        found = _of_order(order, roots, node)
        if any(map(_is_changed, restored)):
            found.text += (" Arrays that the gradient needs were modified in place since then, as "
                           "an optimizer does: the numbers here use their current values.")
        return found


def _is_changed(node: Node) -> bool:
    """Whether a value that a node saved was modified after the node was recorded."""
    saved = node.saved if node.saved.__class__ is tuple else ()
    return any(v is not None and is_array(v) and version(v) > node.seq for v in saved)


def _of_order(order: Sequence[Node], roots: Mapping[Node, Any], node: Node) -> Explanation:
    steps: list[Step] = []
    before = _state.pulling()
    try:
        found = _sweep(order, roots, node, steps)
    except GraphFreedError:
        return _freed(node)
    finally:
        _state.restore(before)
    if found is None:
        return _withheld(steps)
    values = _numpy(found)
    if not numpy.isfinite(values).all():
        return _not_finite(steps, roots, "nan" if numpy.isnan(values).any() else "inf")
    if values.size and not values.any():
        return _zero(steps, roots)
    norm = float(numpy.sqrt((abs(values.astype(numpy.complex128)) ** 2).sum()))
    text = f"The gradient is finite and not zero: norm {norm:.6g} over {values.size} entries."
    if not all(_is_finite(t._data) for t, _ in roots.values()):
        text += " The target itself is not finite: `debug(nan=True, inf=True)` finds where."
    return Explanation("fine", "fine", text)


def _freed(node: Node) -> Explanation:
    """Explains a freed graph: nothing can be recomputed, but `.grad` may hold the result."""
    text = ("The path is connected, but an earlier backward pass freed the values that the "
            "gradient needs.")
    g = node.grad if isinstance(node, Leaf) else None
    if g is not None:
        values = _numpy(g)
        kind = ("NaN or infinite" if not numpy.isfinite(values).all() else
                "finite and not zero" if values.any() else "zero")
        text += (f" The gradient accumulated in `grad` is {kind}: for the cause, call explain "
                 "before backward, or compute inside `with pullback.debug():`, which keeps values.")
    elif not isinstance(node, Leaf):
        text += " A result keeps its `grad` only after retain_grad()."
    return Explanation("None", "freed", text, fix=CURES["freed"])


def is_replaced(node: Node) -> bool:
    """Whether a node is an update of a leaf of the same shape, which it may have replaced."""
    return node.name() in STEPS and any(
        p.__class__ is Leaf and p.shape == node.shape for p in node.parents)


def replaced(node: Node) -> Explanation:
    """Explains a source that is a result of an update step: only leaves have a `.grad`."""
    at = line_from(node)
    text = (f"The source is itself a result, of `{node.name()}`, and replaced the variable that "
            "it was computed from: backward() gives gradients to variables only.")
    return Explanation("None", "replaced", text + ("" if at[1] else HINT), operation=node.name(),
                       at=at, fix=CURES["replaced"])


def _sweep(
    order: Sequence[Node], roots: Mapping[Node, Any], wanted: Node, steps: list[Step]
) -> Any:
    cotangents: dict[Node, Any] = {}
    for node, (target, g) in roots.items():
        g = OPS["ones_like"](target._data) if g is None else raw(g)
        g = g if is_array(g) else adapters[target._data.__class__].asarray(g, None, target._data)
        cotangents[node] = conjugated(OPS["astype"](OPS["broadcast_to"](
            g, shape=tuple(target._data.shape)), target._data.dtype))
    needed = {wanted}
    for node in reversed(order):
        if any(p in needed for p in node.parents):
            needed.add(node)
    for node in order:
        g = cotangents.get(node)
        if g is None or node not in needed or node is wanted:
            continue
        own: dict[Node, Any] = cotangents if node.__class__ is Pick else {}
        node.op.step(node, g, own, needed, False, Tensor)
        if own is cotangents:
            continue
        steps.append(Step(node, g, own, any(p in needed and p not in own for p in node.parents)))
        for parent, r in own.items():
            accumulate(cotangents, parent, r, lambda: "explain")
    return cotangents.get(wanted)


def _numpy(value: Any) -> Any:
    if isinstance(value, list):
        parts = [_numpy(v).ravel() for v in value if v is not None]
        return numpy.concatenate(parts) if parts else numpy.zeros(0)
    value = raw(value)
    while isinstance(value, Batched):  # vmap: look at all examples
        value = value.value
    return numpy.asarray(adapters[value.__class__].numpy(value))


def _at_node(
    gradient: str, cause: str, node: Node, text: str, steps: list[Step]
) -> Explanation:
    at = line_from(node)
    path = tuple(Place(s.node.name(), *line_from(s.node), s.node is node) for s in reversed(steps))
    fix = CURES.get(cause, "")
    if node.name() in FLAT - {"floor_divide", "heaviside"}:
        fix = fix.replace("pb.round", f"pb.{node.name()}")
    return Explanation(
        gradient, cause, text + ("" if at[1] else HINT), operation=node.name(), at=at,
        fix=fix, path=path,
    )


def _withheld(steps: list[Step]) -> Explanation:
    """Explains a gradient that no rule passed on."""
    for step in steps:
        if step.withheld:
            written = not isinstance(step.node.op, Op)
            if step.node.name() == "numpy_function":
                return _at_node("None", "left", step.node, "Computations in NumPy have no history.",
                                steps)
            cause = "rule" if written else "no derivative"
            subject = "The custom gradient of" if written else "The rule of"
            return _at_node(
                "None", cause, step.node, f"{subject} `{step.node.name()}` returned None.", steps
            )
    return Explanation("None", "unused", "No cotangent arrives at the source.",
                       fix=CURES["unused"])


# Zeros --------------------------------------------------------------------------------------


def _zero(steps: list[Step], roots: Mapping[Node, Any]) -> Explanation:
    if not any(_numpy(s.g).any() for s in steps):
        return Explanation("zero", "zero", "The initial cotangent is zero.")
    for step in steps:
        if _is_last(step):
            cause = _why_zero(step.node)
            other = [p for p in step.node.parents if p is not None and p.op.name in DEAD]
            if cause == "zero factor" and other:
                return _at_node("zero", "dead", other[0], f"`{step.node.name()}` multiplied by the "
                                f"result of `{other[0].name()}`, which is zero: 100% of its units "
                                "are dead.", steps)
            return _at_node("zero", cause, step.node, _zero_text(step, cause), steps)
    return Explanation("zero", "cancelled", "The gradients of several paths add up to zero.",
                       fix=CURES["cancelled"])


def _is_last(step: Step) -> bool:
    """Whether a step turned a non-zero cotangent (or an empty selection) into zeros only."""
    g, given = _numpy(step.g), [_numpy(r) for r in step.given.values()]
    return (g.any() or not g.size) and any(r.size for r in given) and not any(
        r.any() for r in given)


def _why_zero(node: Node) -> str:
    name = getattr(node.op, "name", "")
    if not isinstance(node.op, Op):
        return "rule"
    if node.op.flat or name in FLAT:
        return "flat"
    if len({p for p in node.parents if p}) < sum(p is not None for p in node.parents):
        return "cancelled"
    for names, cause in ((DEAD, "dead"), (SATURATED, "saturated"), ({"clip"}, "clipped"),
                         (MASKS, "masked"), (WRITES, "overwritten"), (FACTORS, "zero factor"),
                         ({"vector_norm", "matrix_norm"}, "norm(0)")):
        if name in names:
            return cause
    return "zero"


def _zero_text(step: Step, cause: str) -> str:
    name, g = step.node.name(), _numpy(step.g)
    count = int((g != 0).sum())
    asked = f"{count} of {g.size}, {100 * count / max(g.size, 1):.0f}%"
    return {
        "flat": f"The derivative of `{name}` is zero wherever it exists.",
        "dead": f"All units of `{name}` that get a cotangent ({asked}) are inactive: dead.",
        "saturated": f"`{name}` is saturated at all entries that get a cotangent ({asked}).",
        "clipped": f"All entries with a cotangent ({asked}) lie outside the bounds of `{name}`.",
        "masked": f"`{name}` did not select the entries that depend on the source.",
        "overwritten": f"`{name}` overwrote all entries that the target depends on.",
        "zero factor": f"`{name}` multiplied by zeros.",
        "cancelled": f"The gradients that `{name}` passes to the same argument add up to zero.",
        "norm(0)": f"`{name}` is at zero, where its derivative is defined as zero.",
        "rule": f"The custom gradient of `{name}` returned zeros.",
    }.get(cause, f"`{name}` passed on zeros.")


# NaN and infinity ---------------------------------------------------------------------------


def _is_finite(value: Any) -> bool:
    return bool(numpy.isfinite(_numpy(value)).all())


def _not_finite(steps: list[Step], roots: Mapping[Node, Any], word: str) -> Explanation:
    forward = all(_is_finite(t._data) for t, _ in roots.values())
    if not forward:
        found = _first_forward(steps, word)
        if found is not None:
            return found
    for i, step in enumerate(steps):
        if not _is_finite(step.g):
            return Explanation(word, "not finite", "The initial cotangent is not finite.",
                               fix=CURES["not finite"])
        for parent, r in step.given.items():
            if not _is_finite(r):
                return _first_bad(steps, i, parent, r, word, forward)
    return Explanation(word, "overflow", "The sum of the gradients of all paths is not finite.",
                       fix=CURES["overflow"])


def _first_bad(
    steps: list[Step], i: int, parent: Node, r: Any, word: str, forward: bool
) -> Explanation:
    node, g = steps[i].node, _numpy(steps[i].g)
    values = _numpy(r)
    index = tuple(int(k) for k in numpy.argwhere(~numpy.isfinite(values))[0])
    place = node.parents.index(parent)
    names = getattr(node.op, "arguments", ())
    argument = names[place] if place < len(names) else str(place)
    silent = g.shape == values.shape and g[index] == 0
    name = node.name()
    if silent and any(s.node.name() in ("where", "put_view", "getitem") for s in steps[:i]):
        cause = "where"
    else:
        given = [] if forward else _arguments(node)
        zero = AT_ZERO.get(name) if name not in POWERS or _has_zero_base(node) else None
        cause = "not finite" if given else zero or (
            "0*inf" if numpy.isnan(values[index]) else "overflow")
    text = (
        f"`{name}` is the first to pass on a value that is not finite: {values[index]} for "
        f"argument `{argument}`, entry {list(index)}{_forward_values(node, index, values.shape)}, "
        f"for the cotangent {g[index] if g.shape == values.shape else 'it got'}. "
        + ("The forward pass was finite." if forward else "The forward pass was not finite.")
    )
    if cause == "where":
        text += " That entry was not selected: its cotangent is zero, and 0 * inf is NaN."
    return _at_node(word, cause, node, text, steps)


def _has_zero_base(node: Any) -> bool:
    """Whether the base of a power has a zero, if the base was saved."""
    base = node.saved[0] if node is not None and node.saved.__class__ is tuple else None
    return is_array(base) and not _numpy(base).all()


def _arguments(node: Node) -> list[Any]:
    """The saved arguments of an operation that are not finite."""
    names = getattr(node.op, "arguments", ())
    saved = node.saved if node.saved.__class__ is tuple else ()
    return [v for _, v in zip(names, saved, strict=False)
            if v is not None and is_array(v) and not _is_finite(v)]


def _forward_values(node: Node, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    if node.saved.__class__ is not tuple:
        return ""
    names = (*getattr(node.op, "arguments", ()), "out")
    shown = []
    for name, value in zip(names, node.saved, strict=False):
        if value is not None and is_array(value) and tuple(value.shape) == tuple(shape):
            shown.append(f"{name} = {_numpy(value)[index]}")
    return f" (where {', '.join(shown)})" if shown else ""


def _given(event: Event, journal: Any, word: str) -> Explanation:
    """Explains an input array that is not finite."""
    users = (e.operation for e in journal.events.values() if event.number in e.inputs)
    name = next(users, "")
    return Explanation(
        word, "not finite", f"An input of `{name}` is already not finite.",
        operation=name, at=(event.file, event.line), fix=CURES["not finite"],
    )


def _first_forward(steps: list[Step], word: str) -> Explanation | None:
    """The first operation of the forward pass with finite inputs and a non-finite result."""
    journal = latest()
    lines = {line_of(s.node) for s in steps}
    for event in journal.events.values() if journal is not None else ():
        inputs = [journal.events[i] for i in event.inputs if i in journal.events] if journal else []
        if event.bad and f"{event.file}:{event.line}" in lines and not any(e.bad for e in inputs):
            if not event.operation:
                return _given(event, journal, word)
            cause = _forward_cause(event.operation, event.bad, event.node and event.node())
            return Explanation(
                word, cause, f"The forward pass was not finite: `{event.operation}` is the first "
                "operation with finite inputs and a non-finite result.", operation=event.operation,
                at=(event.file, event.line), fix=CURES[cause],
            )
    made, taken = _known_bad(steps)
    first = min((n for n in made if n.parents and n not in taken), key=lambda n: n.seq,
                default=None)
    if first is None:
        return None
    return _at_node(word, _forward_cause(first.name(), made[first], first), first, "The forward "
                    f"pass was not finite: `{first.name()}` had finite inputs and a non-finite "
                    "result.", steps)


def _known_bad(steps: list[Step]) -> tuple[dict[Node, str], set[Node]]:
    """Nodes whose results are known to be non-finite, and nodes with such an input.

    An operation's result is often saved by the next operation only.
    """
    made: dict[Node, str] = {}
    taken: set[Node] = set()
    for node in (s.node for s in steps):
        for i, value in enumerate(node.saved if node.saved.__class__ is tuple else ()):
            if value is None or not is_array(value) or _is_finite(value):
                continue
            maker = node.parents[i] if i < len(node.parents) else node
            if maker is not node:
                taken.add(node)
            if maker is not None:
                made[maker] = "nan" if numpy.isnan(_numpy(value)).any() else "inf"
    return made, taken


def _forward_cause(name: str, bad: str, node: Any) -> str:
    """The cause of a non-finite result of finite inputs."""
    if name in DIVISIONS:
        return "0/0"
    if name in LOGARITHMS:
        return "log(0)" if bad == "inf" else "domain"
    if name in POWERS and bad == "inf":
        return "0/0" if _has_zero_base(node) else "overflow"
    return "domain" if bad == "nan" and name in DOMAINS else "overflow"
