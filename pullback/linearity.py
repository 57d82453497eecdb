"""Whether a hand-written rule is linear in its cotangent; only such a rule has a transpose.

A linear rule gives zeros for zeros, c times the gradient for c times a cotangent, and for every
cotangent g and tangent t, ⟨rule(g), t⟩ = ⟨g, transpose(t)⟩. So two cotangents suffice to notice
clipping, normalising, taking the sign or the positive part, thresholds, and rules that ignore their
cotangent: what differs from a linear map differs at one of the two, or at zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from .arrays import adapters, known
from .arrays.batched import bare
from .core import state as _state
from .core.node import where
from .core.op import OPS
from .core.tensor import raw
from .errors import NotDifferentiableError
from .rng_replay import Draws

Space = tuple[Any, Any]

_FAR = 2.0**20
"""How much larger the second cotangent is than the first, so that most bounds lie between."""
_FAR_IN_HALF = 2.0**8
_ROUNDING = {"float64": 1e-7, "complex128": 1e-7, "float32": 1e-3, "complex64": 1e-3}
_ROUNDING_IN_HALF = 0.06


def check_linear(
    node: Any, spaces: Sequence[Space], like: Any, run: Callable[..., None], draws: Draws,
    at_zero: Mapping[Any, Any], pushed: Sequence[Any], tangents: Mapping[Any, Any],
) -> None:
    """Raise a `NotDifferentiableError` if the rule of a node is not linear in its cotangent.

    spaces    shape and dtype of each output
    like      an array of the library to compute with; if it has no numbers yet, nothing is checked
    run       (cotangents, found, record): calls the rule; it puts the gradients into `found`
    draws     what a run on zeros drew, to be drawn again
    at_zero   the gradients of that run, by parent
    pushed    the tangents of the outputs, by the transpose at zeros; None for zero
    tangents  the tangents that they came from, by parent; None for zero
    """
    if known(bare(raw(like))) is None:
        return
    names = [str(dtype).rpartition(".")[2] for _, dtype in spaces]
    factor = -(_FAR_IN_HALF if "float16" in names else _FAR)
    rounding = max(_ROUNDING.get(name, _ROUNDING_IN_HALF) for name in names)
    near = [_probe(space, like, 1.0) for space in spaces]
    far = [_probe(space, like, factor) for space in spaces]
    found: list[dict[Any, Any]] = [{}, {}]
    before = _state.pulling()
    try:
        with numpy.errstate(all="ignore"):  # of large cotangents, which the user did not ask for
            for gs, into in zip((near, far), found, strict=True):
                with draws.replay():
                    run(gs, into, False)
            wrong = _constant(at_zero) or _homogeneous(
                found[0], found[1], factor, rounding
            ) or _paired(
                found[0], tangents, zip(near, pushed, strict=True), rounding
            )
    finally:
        _state.restore(before)
    if wrong:
        raise NotDifferentiableError(
            f"forward mode through {where(node)}",
            "a backward that is linear in its cotangent, to be transposed",
            f"one that is not, as clipping or normalising is not: {wrong}",
            "use reverse mode, where the gradient as written is differentiated (grad of grad); or "
            "give the rule of forward mode: custom_jvp, or `jvp` of a Function",
        )


def _probe(space: Space, like: Any, scale: float) -> Any:
    """A raw cotangent with entries of both signs, between 1/2 and 3/2 times a scale in size."""
    shape, dtype = tuple(space[0]), space[1]
    own = bare(raw(like))
    count = numpy.arange(1.0, 1.0 + numpy.prod(shape, dtype=int))
    size = 0.5 + numpy.abs(numpy.cos(count * count))
    values = scale * numpy.where(numpy.sin(count * 2.4) < 0, -size, size).reshape(shape)
    return OPS["astype"](adapters[own.__class__].asarray(values, None, own), dtype)


def _constant(found: Mapping[Any, Any]) -> str:
    for g in found.values():
        values = _numbers(g)
        if numpy.any(numpy.isfinite(values) & (values != 0)):
            return "for zeros it gives a gradient that is not zero"
    return ""


def _homogeneous(
    near: Mapping[Any, Any], far: Mapping[Any, Any], factor: float, rounding: float
) -> str:
    for parent in [*near, *far]:
        one, other = near.get(parent), far.get(parent)
        a = numpy.zeros(()) if one is None else _numbers(one) * factor
        b = numpy.zeros(()) if other is None else _numbers(other)
        fine = numpy.isfinite(a) & numpy.isfinite(b)
        a, b = numpy.where(fine, a, 0), numpy.where(fine, b, 0)
        size = max(numpy.abs(a).max(initial=0), numpy.abs(b).max(initial=0))
        if numpy.abs(a - b).max(initial=0) > rounding * size:
            return "a larger cotangent of the other sign does not give a gradient in proportion"
    return ""


def _paired(
    near: Mapping[Any, Any], tangents: Mapping[Any, Any], outputs: Any, rounding: float
) -> str:
    left, left_size = _inner((near.get(p), t) for p, t in tangents.items())
    right, right_size = _inner(outputs)
    apart = numpy.abs(left - right)
    size = left_size + right_size
    if numpy.any(numpy.isfinite(size) & (apart > rounding * size)):
        return "its gradient for a cotangent is not that of its derivative at zeros"
    return ""


def _inner(pairs: Any) -> tuple[Any, Any]:
    """The sum of products of some pairs of arrays, and that of their sizes, for each example."""
    products = [
        OPS["multiply"](raw(a), raw(b)) for a, b in pairs if a is not None and b is not None
    ]
    total: Any = sum(_numbers(OPS["real"](OPS["sum"](p))) for p in products)
    size: Any = sum(_numbers(OPS["sum"](OPS["abs"](p))) for p in products)
    return total, size


def _numbers(array: Any) -> Any:
    """The entries as a NumPy array, of all examples."""
    own = bare(raw(array))
    values = numpy.asarray(adapters[own.__class__].numpy(own))
    return values if values.dtype.kind == "c" else values.astype(float)
