"""The ways to compute a gradient: each a function of a loss, the subject and a point."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ....autograd import backward, gradients
from ....core.op import OPS
from ....core.tensor import Tensor, is_inexact, raw
from ....errors import (
    ArgumentError,
    BatchedValueError,
    GraphError,
    NotDifferentiableError,
    PullbackError,
    SymbolError,
)
from ....graphs import Graph, Session, placeholder
from ....graphs import function as graph_function
from ....graphs import gradients as graph_gradients
from ....tape import GradientTape
from ....transforms import checkpoint, grad, jvp, value_and_grad, vmap
from ..steady import steady
from ..subject import Subject, like, numpy_of
from .comparing import agree

REFUSALS = (NotDifferentiableError, SymbolError, BatchedValueError, GraphError)
"""Errors that the library raises for paths that it does not support; see docs/limits.md."""
Ask = Callable[["Loss", Subject, list[Any]], list[Any]]


class NotAskedError(PullbackError):
    """Raised to skip a way that does not suit this function."""

    def __init__(self, reason: str) -> None:
        super().__init__("a path", "one that suits the function", reason)
        self.reason = reason


class Loss:
    """The product of a subject's outputs with fixed cotangents (raw arrays): a real number.

    call   called in place of the subject, with its arguments
    """

    def __init__(
        self, subject: Subject, cotangents: Sequence[Any], call: Callable[..., Any] | None = None
    ) -> None:
        self.subject, self.cotangents = subject, list(cotangents)
        self.call = subject.f if call is None else call

    def __call__(self, *xs: Any) -> Any:
        """The loss for these differentiated leaves."""
        made = [o for o in self.subject.run(self.call, xs) if is_inexact(raw(o))]
        whole: Any = 0.0
        for o, c in zip(made, self.cotangents, strict=True):
            whole = whole + total(o * OPS["conj"](Tensor(c)))
        return whole


def total(term: Any) -> Any:
    """The sum of the real parts."""
    return OPS["sum"](OPS["real"](term))


def eager(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    """By plain reverse mode."""
    tensors = subject.tensors(point, requires_grad=True)
    with steady(0):
        return numbers(gradients(loss(*tensors), tensors, materialize_grads=True))


def _or_zeros(g: Any, x: Any) -> Any:
    """A gradient; zeros if it is None, as where a rule has None for an argument."""
    return OPS["zeros_like"](x.detach()) if g is None else g


def numbers(found: Sequence[Any]) -> list[Any]:
    """Gradients as NumPy arrays."""
    return [numpy_of(raw(g)) for g in found]


def _backward(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    tensors = subject.tensors(point, requires_grad=True)
    backward([loss(*tensors)])
    return numbers([_or_zeros(t.grad, t) for t in tensors])


def _tape(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    tensors = subject.tensors(point)
    with GradientTape() as tape:
        for t in tensors:
            tape.watch(t)
        value = loss(*tensors)
    return numbers([
        _or_zeros(g, t) for g, t in zip(tape.gradient(value, tensors), tensors, strict=True)
    ])


def _grad(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    return numbers(grad(loss, argnums=tuple(range(len(point))))(*subject.tensors(point)))


def _nested(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    one = Tensor(like(raw(loss(*subject.tensors(point))), numpy.ones(())))
    return _grad(lambda *xs: total(grad(lambda s: loss(*xs) * s)(one)), subject, point)


def _checkpointed(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    return _grad(lambda *xs: checkpoint(loss)(*xs), subject, point)


def _traced(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    return _grad(graph_function(loss), subject, point)


def _mapped(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    """`vmap` of `grad`: as the second of two examples, or as the only one if f draws numbers."""
    beside = [] if _draws(loss, subject, point) else [subject.near(point, subject.rng(81))]
    several = [
        Tensor(like(x, numpy.stack([numpy_of(y) for y in (*others, x)])))
        for x, *others in zip(point, *beside, strict=True)
    ]
    values, found = vmap(value_and_grad(loss, argnums=tuple(range(len(point)))))(*several)
    wanted, seen = (numpy_of(raw(v)) for v in (loss(*subject.tensors(point)), values[-1]))
    if beside and not agree([wanted], [seen]):
        raise ValueError(f"the value itself differs: {seen:.6g}, not {wanted:.6g}")
    return numbers([g[-1] for g in found])


def _draws(loss: Any, subject: Subject, point: list[Any]) -> bool:
    """Whether the value changes with the random seed."""
    values = []
    for seed in (0, 1):
        with steady(seed):
            values.append(numpy_of(raw(loss(*subject.tensors(point)))))
    return bool(values[0] != values[1])


def _forward(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    """By one tangent per entry, for small real arguments."""
    if any(x.size > 32 or x.dtype.kind == "c" for x in map(numpy_of, point)):
        raise NotAskedError("forward mode is tried for few real entries only")
    found = []
    for i, x in enumerate(map(numpy_of, point)):
        slopes = numpy.zeros_like(x)
        for k in range(x.size):
            tangents = [numpy.zeros_like(numpy_of(p)) for p in point]
            tangents[i].flat[k] = 1
            given = [like(p, t) for p, t in zip(point, tangents, strict=True)]
            slopes.flat[k] = numpy_of(jvp(loss, subject.tensors(point), given)[1])
        found.append(slopes)
    return found


def _by_keyword(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    """With every argument passed by name."""
    try:
        signature = inspect.signature(subject.f)
    except (TypeError, ValueError):
        raise NotAskedError("its signature cannot be read") from None
    names = list(signature.parameters)[: len(subject.args)]
    kinds = {signature.parameters[n].kind for n in names}
    if kinds != {inspect.Parameter.POSITIONAL_OR_KEYWORD} or len(names) < len(subject.args):
        raise NotAskedError("its arguments have no names")

    def call(*args: Any, **keywords: Any) -> Any:
        return subject.f(**dict(zip(names, args, strict=True)), **keywords)

    try:
        return eager(Loss(subject, loss.cotangents, call), subject, point)
    except ArgumentError as error:  # these arguments have no gradient
        raise NotAskedError(error.got) from None


def _in_graph(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    """Placeholders, `gradients` and a session, as in TensorFlow 1, fed with NumPy arrays."""
    arrays = [numpy_of(x) for x in point]
    own = loss
    if not all(isinstance(x, numpy.ndarray) for x in point):
        own = _loss_of(arrays, [numpy_of(c) for c in loss.cotangents], subject, "NumPy")
    with Graph().as_default():
        xs = [placeholder(x.dtype, list(x.shape)) for x in arrays]
        found = graph_gradients(own(*xs), xs, unconnected_gradients="zero")
        fed = dict(zip(xs, arrays, strict=True))
        return numbers(Session().run(found, fed))


def _compiled(loss: Any, subject: Subject, point: list[Any]) -> list[Any]:
    """Inside `jax.jit`, if a call is fast and the program has imported JAX."""
    if "jax" not in sys.modules:  # importing it takes seconds, and memory of a GPU
        raise NotAskedError("JAX is not imported")
    start = time.perf_counter()
    eager(loss, subject, point)
    if time.perf_counter() - start > _QUICK or sum(numpy_of(x).size for x in point) > _FEW:
        raise NotAskedError("jax.jit is tried for small, fast functions only")
    import jax

    with jax.enable_x64(True):
        arrays, cotangents = (
            [jax.numpy.asarray(numpy_of(x)) for x in of] for of in (point, loss.cotangents)
        )
        own = _loss_of(arrays, cotangents, subject, "JAX")
        asked = grad(own, argnums=tuple(range(len(point))))
        return numbers(jax.jit(lambda *xs: [raw(g) for g in asked(*map(Tensor, xs))])(*arrays))


_QUICK, _FEW = 0.02, 1000


def _loss_of(arrays: list[Any], cotangents: list[Any], subject: Subject, library: str) -> Loss:
    """The same loss with another library's arrays, if the function accepts these."""
    own = Loss(subject, cotangents)
    try:
        own(*map(Tensor, arrays))
    except Exception:  # any error means that the function rejects them
        raise NotAskedError(f"it does not accept {library}'s arrays") from None
    return own


PATHS: dict[str, Ask] = {
    "backward()": _backward, "tape": _tape, "grad": _grad, "grad of grad": _nested,
    "jvp": _forward, "vmap of grad": _mapped, "checkpoint": _checkpointed,
    "called by keyword": _by_keyword, "function (graph)": _traced,
    "gradients (graph)": _in_graph, "jax.jit": _compiled,
}
"""Name -> function that computes the gradients of a loss at a point in this way."""
