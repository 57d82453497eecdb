"""The marker: does every way to ask for a gradient really use the rule that was written by hand?

Each rule is made to answer with a known multiple of its result. The gradient of every path must
then be the marked one; a path that has lost the rule shows another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ...core.backward import backward, gradients
from ...core.node import Node
from ...core.op import OPS
from ...core.tensor import Tensor, is_inexact, raw
from ...custom.function import Function
from ...custom.gradient import CustomGradient
from ...custom.jvp import CustomJvp
from ...custom.vjp import CustomVjp
from ...errors import PullbackError
from ...graphs import function as graph_function
from ...tape import GradientTape
from ...transforms import checkpoint, grad, jvp, vmap
from ...trees import mapped
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject, numpy_of
from .comparing import agree, attempted, first_of, fresh, in_words, worst

MARK = 1.5


@law("paths", "a rule that is lost on a path: tape, grad, jvp, vmap, checkpoint, or a graph")
def paths(subject: Subject) -> Iterator[Finding]:
    """With a marked rule, every way to ask for the gradient shows the mark."""
    point = fresh(subject)
    tensors = subject.tensors(point, requires_grad=True)
    with steady(0):
        outs = [o for o in subject.of(*tensors) if is_inexact(raw(o))]
    rules = _rules([o._node for o in outs])
    cotangents = [Tensor(c) for c in subject.cotangents(outs, subject.rng(80))]
    if not rules or not cotangents:
        yield not_applicable("no rule in it is written by hand")
        return

    def loss(*xs: Any) -> Any:
        made = [o for o in subject.of(*xs) if is_inexact(raw(o))]
        total: Any = 0.0
        for o, c in zip(made, cotangents, strict=True):
            total = total + _sum(o * OPS["conj"](c))
        return total

    plain = _eager(loss, subject, point)
    with marked(rules):
        wanted = _eager(loss, subject, point)
        if agree(plain, wanted):
            yield not_applicable("the marked rule changes nothing here")
            return
        for name, ask in PATHS.items():
            yield _path(subject, name, lambda ask=ask: ask(loss, subject, point), wanted)  # type: ignore[misc]


def _sum(term: Any) -> Any:
    return OPS["sum"](OPS["real"](term))


def _path(subject: Subject, name: str, ask: Callable[[], Any], wanted: list[Any]) -> Finding:
    with steady(0):
        seen, error = attempted(ask)
    if error is not None:
        return not_applicable(f"refused: {first_of(error)}", path=name)
    if agree(wanted, seen):
        return passed("it uses the rule", path=name)
    w, s, gap = worst(wanted, seen)
    return failed(
        f"gradient of `{subject.name}`, by {name}, with a rule that is marked",
        f"the marked gradient, {in_words(w)}", in_words(s),
        "call the function with the rule on every path; do not ask how it is recorded",
        path=name, inputs=subject.point, wanted=w, seen=s, difference=gap,
    )


def _rules(nodes: Sequence[Any]) -> list[Any]:
    """What holds the hand-written rules that some nodes were recorded by."""
    found: dict[int, Any] = {}
    stack, seen = [n for n in nodes if n is not None], set()
    while stack:
        node: Node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack += [p for p in node.parents if p is not None]
        owner = node.op if isinstance(node.op, (CustomGradient, CustomVjp, CustomJvp)) else (
            getattr(node.op, "function", None))
        is_class = isinstance(owner, type) and issubclass(owner, Function)
        if is_class or isinstance(owner, (CustomGradient, CustomVjp, CustomJvp)):
            found[id(owner)] = owner
    return list(found.values())


# Marking ----------------------------------------------------------------------------------------


def _times(tree: Any) -> Any:
    return mapped(lambda g: None if g is None else g * MARK, tree)


def _marked_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*args: Any, **keywords: Any) -> Any:
        value, rule = function(*args, **keywords)
        return value, lambda *gs, **more: _times(rule(*gs, **more))

    return forward


def _marked_rule(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **keywords: _times(function(*args, **keywords))


def _marked_jvp(rule: Callable[..., Any]) -> Callable[..., Any]:
    def along(*args: Any) -> Any:
        value, tangent = rule(*args)
        return value, _times(tangent)

    return along


@contextmanager
def marked(rules: Sequence[Any]) -> Iterator[None]:
    """Inside the block these rules answer with `MARK` times what they answer."""
    with ExitStack() as undo:
        for owner in rules:
            if isinstance(owner, CustomGradient):
                _put(undo, owner, "function", _marked_gradient(owner.function))
            elif isinstance(owner, CustomVjp) and owner._bwd is not None:
                _put(undo, owner, "_bwd", _marked_rule(owner._bwd))
            elif isinstance(owner, CustomJvp) and owner._rule is not None:
                _put(undo, owner, "_rule", _marked_jvp(owner._rule))
            elif isinstance(owner, type):
                for name in ("backward", "jvp"):
                    own = getattr(owner, name)
                    if own is not getattr(Function, name):
                        _put(undo, owner, name, staticmethod(_marked_rule(own)))
        yield


def _put(undo: ExitStack, owner: Any, name: str, value: Any) -> None:
    before = vars(owner).get(name)
    undo.callback(lambda: delattr(owner, name) if before is None else setattr(owner, name, before))
    setattr(owner, name, value)


# Ways to ask ------------------------------------------------------------------------------------


def _eager(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    tensors = subject.tensors(point, requires_grad=True)
    with steady(0):
        return _numbers(gradients(loss(*tensors), tensors, materialize_grads=True))


def _numbers(found: Sequence[Any]) -> list[Any]:
    return [numpy_of(raw(g)) for g in found]


def _backward(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    tensors = subject.tensors(point, requires_grad=True)
    backward([loss(*tensors)])
    return _numbers([t.grad for t in tensors])


def _tape(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    tensors = subject.tensors(point)
    with GradientTape() as tape:
        for t in tensors:
            tape.watch(t)
        value = loss(*tensors)
    return _numbers(tape.gradient(value, tensors))


def _grad(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    return _numbers(grad(loss, argnums=tuple(range(len(point))))(*subject.tensors(point)))


def _nested(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    return _grad(lambda *xs: _sum(grad(lambda s: loss(*xs) * s)(1.0)), subject, point)


def _checkpointed(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    return _grad(lambda *xs: checkpoint(loss)(*xs), subject, point)


def _traced(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    return _grad(graph_function(loss), subject, point)


def _mapped(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    several = [Tensor(raw(t)[None]) for t in subject.tensors(point)]
    found = vmap(grad(loss, argnums=tuple(range(len(point)))))(*several)
    return _numbers([g[0] for g in found])


def _forward(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    """By one tangent an entry; of small real arguments."""
    if any(raw(t).size > 32 or raw(t).dtype.kind == "c" for t in subject.tensors(point)):
        raise PullbackError("jvp", "few real entries", "more")
    found = []
    for i, x in enumerate(map(numpy_of, point)):
        slopes = x * 0
        for k in range(x.size):
            tangents = [Tensor(numpy_of(p) * 0) for p in point]
            tangents[i]._data.flat[k] = 1
            slopes.flat[k] = numpy_of(jvp(loss, subject.tensors(point), tangents)[1])
        found.append(slopes)
    return found


PATHS: dict[str, Callable[[Any, Subject, list[Any]], list[Any]]] = {
    "backward()": _backward, "tape": _tape, "grad": _grad, "grad of grad": _nested,
    "jvp": _forward, "vmap of grad": _mapped, "checkpoint": _checkpointed,
    "function (graph)": _traced,
}
"""Name -> gradients of a loss at a point, asked for in that way."""
