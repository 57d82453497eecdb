"""`backward` and `grad`: PyTorch's two ways to compute a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arrays import adapters
from .arrays.kept import check_kept
from .core import versions
from .core.above import above, provide
from .core.cotangent import conjugated, wrapped
from .core.node import Leaf, Node, note, notes
from .core.op import OPS
from .core.reverse import pull
from .core.state import REQUIRED, pulling, restore, setting, state
from .core.tensor import Tensor, raw, wrap
from .errors import ArgumentError, DisconnectedError, SymbolError
from .kinds.vmaps import of_all_examples, running
from .passes import hooks
from .passes.ends import ALONE, check_inside, notify_gradient, references, settled, start

__all__ = ["backward", "grad"]


@provide
def backward(
    tensors: Sequence[Any],
    gradients: Sequence[Any] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    overrides: Any = None,
) -> None:
    """Add the gradient of the tensors' sum to the `grad` of every leaf; see `Tensor.backward`.

    gradients  a cotangent for each tensor, of its shape; may be left out for one entry each

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> pb.autograd.backward([pb.sum(x), x * x], [None, pb.tensor([1.0, 10.0])])
    >>> x.grad
    Tensor([ 3., 41.])
    """
    roots = _roots(tensors, gradients, create_graph, "backward()")
    if any(map(above.holds_symbols, roots.values())):
        raise SymbolError(
            "backward()", "gradients that are numbers, to add to `grad`",
            "a tensor of a graph, whose gradients are tensors of the graph too",
            "use autograd.grad or a tape inside the function, or call backward() outside",
        )
    wanted = None
    if inputs is not None:
        inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        if not inputs:
            raise ArgumentError("argument `inputs` of backward()", "at least one tensor", "none")
        wanted = [_source(x, i, "backward()") for i, x in enumerate(inputs)]
    keep = create_graph if retain_graph is None else retain_graph
    found = _pull(roots, wanted, create_graph, keep, overrides, tensors[0]._out)
    targets = found if wanted is None else wanted
    out = tensors[0]._out
    reached = list(targets)
    for node in reached:
        if node.level == REQUIRED and found.get(node) is not None:
            if notes and isinstance(node, Leaf):
                found[node] = hooks.before(node, found[node], create_graph, out)
            _add_to_grad(node, found, out, create_graph)
            if notes:
                hooks.arrived(node, out)
    if state().observers:
        own = [n for n in reached if isinstance(n, Leaf)]
        sources = [wrap(out, n.data, n) for n in own]
        notify_gradient("backward()", tensors, sources, [n.grad for n in own])


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
    overrides: Any = None,
) -> tuple[Any, ...]:
    """The gradients of the outputs' sum with respect to each input, leaving `grad` alone.

    grad_outputs       a cotangent of each output's shape; may be left out for scalars
    allow_unused       return None for an input that no output depends on
    materialize_grads  return zeros for it
    The other arguments are those of `Tensor.backward`.

    Raises `DisconnectedError` for an input that no output depends on.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> pb.autograd.grad(pb.sum(x * x), x)
    (Tensor([2., 4.]),)
    """
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if grad_outputs is not None and not isinstance(grad_outputs, (list, tuple)):
        grad_outputs = [grad_outputs]
    roots = _roots(outputs, grad_outputs, create_graph, "autograd.grad()")
    wanted = [_source(x, i, "autograd.grad()") for i, x in enumerate(inputs)]
    keep = create_graph if retain_graph is None else retain_graph
    found = _pull(roots, wanted, create_graph, keep, overrides, outputs[0]._out)
    answers = []
    for i, (x, node) in enumerate(zip(inputs, wanted, strict=True)):
        if found.get(node) is not None:
            answers.append(wrapped(x._out, settled(found, node)))
        elif materialize_grads:
            answers.append(wrapped(x._out, OPS["zeros_like"](x._data)))
        elif allow_unused:
            answers.append(None)
        else:
            notify_gradient("autograd.grad()", outputs, [x], [None])
            raise DisconnectedError(
                f"input {i} of autograd.grad()", "a tensor that the outputs were computed from",
                "one that they do not depend on (or only through something not differentiable)",
                "pass allow_unused=True for None, or materialize_grads=True for zeros; "
                "pullback.explain(y, x) says why",
            )
    notify_gradient("autograd.grad()", outputs, inputs, answers)
    return tuple(answers)


def _rules(overrides: Any) -> Any:
    """What `pull` asks for each node, of {operation: rule}."""
    from .custom.override import Overrides

    return Overrides(overrides)


def _pull(
    roots: dict[Node, Any], wanted: list[Node] | None, create: bool, keep: bool, overrides: Any,
    cls: type,
) -> dict[Node, Any]:
    free = 0 if keep else REQUIRED
    rules = _rules(overrides) if overrides else None
    # In a graph, gradients may be asked for of whatever is there when it is done.
    if any(map(above.holds_symbols, roots.values())):
        create, roots = True, {node: wrapped(cls, g) for node, g in roots.items()}
    if create or state().accumulators:  # tangents of gradients are computed without being asked for
        with setting(enabled=create):
            return pull(roots, wanted, record=True, free=free, overrides=rules, cls=cls)
    before = pulling()
    try:
        return pull(roots, wanted, free=free, overrides=rules, cls=cls)
    finally:
        restore(before)


def _roots(
    tensors: Sequence[Any], cotangents: Sequence[Any] | None, create: bool, subject: str
) -> dict[Node, Any]:
    """target node -> cotangent in the inner convention, checked."""
    if cotangents is None:
        cotangents = [None] * len(tensors)
    if len(cotangents) != len(tensors):
        raise ArgumentError(
            subject, f"{len(tensors)} gradients, one a target", f"{len(cotangents)}"
        )
    roots: dict[Node, Any] = {}
    check_inside(tensors, subject)
    for tensor, given in zip(tensors, cotangents, strict=True):
        node = tensor._node
        if node is None:
            notify_gradient(subject, [tensor], (), ())
            raise DisconnectedError(
                subject, "a target that was computed from a tensor that requires a gradient (grad)",
                "one that has no history",
                "make an input with requires_grad=True, and compute outside no_grad and detach; "
                "pullback.explain(y, x) says where the history was lost",
            )
        g = start(tensor, given, subject)
        g = wrapped(tensor._out, g) if create or state().accumulators else raw(g)
        g = conjugated(g)
        roots[node] = g if node not in roots else roots[node] + g
    return roots


def _source(x: Any, i: int, subject: str) -> Node:
    node = x._node if isinstance(x, Tensor) else None
    if node is None:
        raise DisconnectedError(
            f"input {i} of {subject}", "a tensor that requires a gradient",
            "one that does not" if isinstance(x, Tensor) else f"a {type(x).__name__}",
            "make it with requires_grad=True before computing with it",
        )
    return node


def _add_to_grad(node: Node, found: dict[Node, Any], cls: type, create: bool) -> None:
    # The array may be shared: with another leaf (addition passes the same one to both), with
    # a saved value, with what the user passed.
    alone = references(found, node) <= ALONE
    g = found.pop(node)
    if running() and isinstance(node, Leaf):
        g = of_all_examples(g, node)
    owned = alone and not isinstance(g, Tensor)
    recorded = isinstance(g, Tensor) and g._node is not None
    g = conjugated(g if recorded else raw(g))
    if not isinstance(node, Leaf):
        kept = note(node)
        if not kept.retains:  # hooks have kept it already when it does
            old = kept.retained
            kept.retained = wrapped(cls, g) if old is None else old + wrapped(cls, g)
        return
    check_kept(node.data, "accumulation of .grad")
    old = node.grad
    if recorded:
        node.grad = g if old is None else old + g
    elif old is None:
        adapter = adapters[g.__class__]
        node.grad = wrap(cls, adapter.own(g) if owned else adapter.copy(g))
    elif create or old._node is not None:  # what was computed from it must stay right
        node.grad = old + wrap(cls, g)
    else:
        adapter = adapters[old._data.__class__]
        old._data = adapter.write(old._data, old._data + g)
        versions.written(old._data, "accumulation of grad", line=False)


gradients = grad
"""The same; a name that is easier to tell from `pullback.grad` and `x.grad`."""
