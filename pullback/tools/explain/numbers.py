"""Explains zero, NaN and infinite gradients by repeating the backward pass step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy

from ...arrays import adapters, is_array
from ...core import state as _state
from ...core.cotangent import accumulate, conjugated
from ...core.multi_output import Pick
from ...core.node import FREED, Leaf, Node
from ...core.op import OPS, Op
from ...core.reverse import reached
from ...core.tensor import Tensor, raw
from ...core.versions import version
from ...errors import GraphFreedError
from ..debug.journal import Event, latest
from .causes import CURES
from .explanation import Explanation, Place
from .origins import Forward, Origin, as_numpy, bad_event, bad_values, is_finite, is_written
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
    "acos": "bound", "asin": "bound", "acosh": "bound", "atanh": "bound", "cbrt": "sqrt(0)",
}


LOGARITHMS = {"log", "log2", "log10", "log1p"}
DIVISIONS = {"divide", "reciprocal", "rsqrt", "remainder", "quotient", "mean", "std", "var"}
POWERS = {"pow", "power"}
DOMAINS = {*POWERS, "sqrt", "root", "acos", "asin", "acosh", "atanh"}


_INSIDE = ("An operation inside `{}` passed on nothing. Call `explain` on the Python function, "
           "without tracing or checkpoint, to find it.")


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
    values = as_numpy(found)
    if not numpy.isfinite(values).all():
        return _not_finite(
            steps, roots, "nan" if numpy.isnan(values).any() else "inf", Forward(order))
    if values.size and not values.any():
        return _zero(steps, roots, Forward(order))
    norm = float(numpy.sqrt((abs(values.astype(numpy.complex128)) ** 2).sum()))
    text = f"The gradient is finite and not zero: norm {norm:.6g} over {values.size} entries."
    if all(is_finite(t._data) for t, _ in roots.values()):
        return Explanation("fine", "fine", text)
    found = _first_forward(roots, "fine", Forward(order), steps) or Explanation(
        "fine", "not finite", "", fix=CURES["not finite"])
    found.text = f"The target is not finite, although the gradient is. {found.text}".rstrip()
    return found


def _freed(node: Node) -> Explanation:
    """Explains a freed graph: nothing can be recomputed, but `.grad` may hold the result."""
    text = ("The path is connected, but an earlier backward pass freed the values that the "
            "gradient needs.")
    g = node.grad if isinstance(node, Leaf) else None
    if g is not None:
        values = as_numpy(g)
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
            written = is_written(step.node)
            if step.node.name() == "numpy_function":
                return _at_node("None", "left", step.node, "Computations in NumPy have no history.",
                                steps)
            if not written and not isinstance(step.node.op, Op):
                return _at_node("None", "inside", step.node, _INSIDE.format(step.node.name()),
                                steps)
            cause = "rule" if written else "no derivative"
            subject = "The custom gradient of" if written else "The rule of"
            return _at_node(
                "None", cause, step.node, f"{subject} `{step.node.name()}` returned None.", steps
            )
    return Explanation("None", "unused", "No cotangent arrives at the source.",
                       fix=CURES["unused"])


# Zeros --------------------------------------------------------------------------------------


def _zero(steps: list[Step], roots: Mapping[Node, Any], forward: Forward) -> Explanation:
    if not any(as_numpy(s.g).any() for s in steps):
        return Explanation("zero", "zero", "The initial cotangent is zero.")
    for step in steps:
        if _is_last(step):
            made = forward.origin(bad_values(step.node, forward))
            if made is not None and made.proved and made.word == "inf":
                return _at_node("zero", _forward_cause(*made[:2]), made.node, _overflow_text(
                    made, f"at infinity `{step.node.name()}` passes on zeros"), steps)
            cause = "cancelled" if _is_constant(step) else _why_zero(step.node)
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
    g, given = as_numpy(step.g), [as_numpy(r) for r in step.given.values()]
    return (g.any() or not g.size) and any(r.size for r in given) and not any(
        r.any() for r in given)


def _is_constant(step: Step) -> bool:
    """Whether a softmax got equal cotangents: its results add up to 1, whatever its argument is."""
    g = as_numpy(step.g)
    axis = step.node.attrs.get("axis") if step.node.name() == "softmax" else None
    return axis is not None and bool(numpy.all(g == numpy.take(g, [0], axis=axis)))


def _why_zero(node: Node) -> str:
    name = getattr(node.op, "name", "")
    if is_written(node):
        return "rule"
    if not isinstance(node.op, Op):
        return "inside"
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
    name, g = step.node.name(), as_numpy(step.g)
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
        "cancelled": "All results of `softmax` get the same cotangent, and their sum is constant."
        if name == "softmax" else
        f"The gradients that `{name}` passes to the same argument add up to zero.",
        "norm(0)": f"`{name}` is at zero, where its derivative is defined as zero.",
        "rule": f"The custom gradient of `{name}` returned zeros.",
        "inside": _INSIDE.format(name),
    }.get(cause, f"`{name}` passed on zeros.")


# NaN and infinity ---------------------------------------------------------------------------


def _not_finite(
    steps: list[Step], roots: Mapping[Node, Any], word: str, forward: Forward
) -> Explanation:
    finite = all(is_finite(t._data) for t, _ in roots.values())
    if not finite:
        found = _first_forward(roots, word, forward, steps)
        if found is not None:
            return found
    for i, step in enumerate(steps):
        if not is_finite(step.g):
            return Explanation(word, "not finite", "The initial cotangent is not finite.",
                               fix=CURES["not finite"])
        for parent, r in step.given.items():
            if not is_finite(r):
                found = _first_bad(steps, i, parent, r, word, finite)
                found.text += _also(steps[i + 1 :])
                made = forward.origin(bad_values(step.node, forward))
                if found.cause == "where" or made is None or not made.proved:
                    return found
                return _at_node(word, _forward_cause(*made[:2]), made.node, _overflow_text(
                    made, f"there the derivative of `{step.node.name()}` is not finite"), steps)
    return Explanation(word, "overflow", "The sum of the gradients of all paths is not finite.",
                       fix=CURES["overflow"])


def _overflow_text(made: Origin, then: str) -> str:
    return (f"The forward pass was not finite: `{made.node.name()}` had finite inputs and a result "
            f"of {made.word}; {then}.")


def _first_bad(
    steps: list[Step], i: int, parent: Node, r: Any, word: str, forward: bool
) -> Explanation:
    node, g = steps[i].node, as_numpy(steps[i].g)
    values = as_numpy(r)
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
        inside = not isinstance(node.op, Op) and not is_written(node)
        written = "rule not finite" if is_written(node) else ""
        cause = "not finite" if given else written or zero or ("inside" if inside else (
            "domain" if name in POWERS and _has_negative_base(node) else
            "0*inf" if numpy.isnan(values[index]) else "overflow"))
    text = (
        f"`{name}` is the first to pass on a value that is not finite: {values[index]} for "
        f"argument `{argument}`, entry {list(index)}{_forward_values(node, index, values.shape)}, "
        f"for the cotangent {g[index] if g.shape == values.shape else 'it got'}. "
        + ("The target is finite." if forward else "The target is not finite.")
    )
    if cause == "where":
        text += " That entry was not selected: its cotangent is zero, and 0 * inf is NaN."
    return _at_node(word, cause, node, text, steps)


def _has_zero_base(node: Any) -> bool:
    """Whether the base of a power has a zero, if the base was saved."""
    base = node.saved[0] if node is not None and node.saved.__class__ is tuple else None
    return is_array(base) and not as_numpy(base).all()


def _has_negative_base(node: Any) -> bool:
    """Whether the base of a power has a negative real number, if the base was saved."""
    base = node.saved[0] if node is not None and node.saved.__class__ is tuple else None
    return is_array(base) and bool((as_numpy(base).real < 0).any())


def _also(steps: Sequence[Step]) -> str:
    """What to say of the steps that turned finite cotangents into others, beside the first."""
    names = dict.fromkeys(
        f"`{s.node.name()}`" for s in steps
        if is_finite(s.g) and not all(map(is_finite, s.given.values()))
    )
    return f" On other paths, so do: {', '.join(names)}." if names else ""


def _arguments(node: Node) -> list[Any]:
    """The saved arguments of an operation that are not finite."""
    names = getattr(node.op, "arguments", ())
    saved = node.saved if node.saved.__class__ is tuple else ()
    return [v for _, v in zip(names, saved, strict=False)
            if v is not None and is_array(v) and not is_finite(v)]


def _forward_values(node: Node, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    if node.saved.__class__ is not tuple:
        return ""
    names = (*getattr(node.op, "arguments", ()), "out")
    shown = []
    for name, value in zip(names, node.saved, strict=False):
        if value is not None and is_array(value) and tuple(value.shape) == tuple(shape):
            shown.append(f"{name} = {as_numpy(value)[index]}")
    return f" (where {', '.join(shown)})" if shown else ""


def _given(event: Event, journal: Any, word: str) -> Explanation:
    """Explains an input array that is not finite."""
    users = (e.operation for e in journal.events.values() if event.number in e.inputs)
    name = next(users, "")
    return Explanation(
        word, "not finite", f"An input of `{name}` is already not finite.",
        operation=name, at=(event.file, event.line), fix=CURES["not finite"],
    )


def _first_forward(
    roots: Mapping[Node, Any], word: str, forward: Forward, steps: list[Step]
) -> Explanation | None:
    """The operation that made the first value that is not finite, on the way to the targets."""
    journal = latest()
    if journal is not None:
        event = bad_event(journal.events, [journal.find(t._data) for t, _ in roots.values()])
        if event is not None:
            return _of_event(event, journal, word)
    for node, (target, _) in roots.items():
        forward.values[node] = target._data
    made = forward.origin(roots)
    if made is None or (not made.proved and made.node in roots and any(
            p is not None and forward.is_bad(p) is None for p in made.node.parents)):
        return None  # nothing is known of the way to the target
    name = made.node.name()
    if made.node.__class__ is Leaf:
        user = min((s.node for s in steps if made.node in s.node.parents), key=lambda n: n.seq)
        return _at_node(word, "not finite", user, "The forward pass was not finite: an input of "
                        f"`{user.name()}` already is NaN or infinite.", steps)
    if made.proved:
        return _at_node(word, _forward_cause(made.node, made.word), made.node, "The forward pass "
                        f"was not finite: `{name}` had finite inputs and a non-finite result.",
                        steps)
    cause = _forward_cause(made.node, made.word) if name not in MASKS | WRITES else "not finite"
    return _at_node(word, cause, made.node, "The forward pass was not finite: the result of "
                    f"`{name}` is the first that is known not to be.", steps)


def _of_event(event: Event, journal: Any, word: str) -> Explanation:
    if not event.operation:
        return _given(event, journal, word)
    node = event.node and event.node()
    cause = _cause_of(event.operation, event.bad, node)
    return Explanation(
        word, cause, f"The forward pass was not finite: `{event.operation}` is the first "
        "operation with finite inputs and a non-finite result.", operation=event.operation,
        at=(event.file, event.line), fix=CURES[cause],
    )


def _forward_cause(node: Node, bad: str) -> str:
    return _cause_of(node.name(), bad, node)


def _cause_of(name: str, bad: str, node: Any) -> str:
    """The cause of a non-finite result of finite inputs."""
    if name in DIVISIONS:
        return "0/0"
    if name == "atanh" and bad == "inf":
        return "bound"
    if name in LOGARITHMS:
        return "log(0)" if bad == "inf" else "domain"
    if name in POWERS and bad == "inf":
        return "0/0" if _has_zero_base(node) else "overflow"
    return "domain" if bad == "nan" and name in DOMAINS else "overflow"
