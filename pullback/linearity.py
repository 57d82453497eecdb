"""Whether a hand-written rule is linear in its cotangent; only such a rule has a transpose.

A linear rule gives zeros for zeros, c times the gradient for c times a cotangent, and for every
cotangent g and tangent t, ⟨rule(g), t⟩ = ⟨g, transpose(t)⟩. So two cotangents suffice to notice
clipping, normalising, taking the sign or the positive part, thresholds, and rules that ignore their
cotangent: what differs from a linear map differs at one of the two, or at zeros.

They are two more runs, so they are left out where the recorded operations show it: the derivative
of each reads nothing that comes from the cotangent (a constant Jacobian), no operation on it went
unrecorded (a comparison, a step), and zeros give zeros. What these cannot show, that Python code
looked at the cotangent (`if np.isclose(g, 0)`), is tried in the first run of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy

from .arrays import adapters, known
from .arrays.batched import bare, zeros_by
from .captures import is_older
from .core import state as _state
from .core.above import above
from .core.node import where
from .core.observe import Observer
from .core.op import OPS, Op
from .core.reverse import reached
from .core.tensor import Tensor, raw
from .errors import NotDifferentiableError
from .rng_replay import Draws

Space = tuple[Any, Any]

_FAR = 2.0**20
"""How much larger the second cotangent is than the first, so that most bounds lie between."""
_FAR_IN_HALF = 2.0**8
_ROUNDING = {"float64": 1e-7, "complex128": 1e-7, "float32": 1e-3, "complex64": 1e-3}
_ROUNDING_IN_HALF = 0.06


_tried: WeakSet[Any] = WeakSet()
"""The hand-written operations whose rule was linear at two cotangents, in some call."""


class Unrecorded(Observer):
    """Sees whether an operation on what is tracked since a number was not recorded."""

    in_rules = True

    def __init__(self, start: int) -> None:
        self.start, self.found = start, False

    def lost(
        self, kind: str, operation: str, parents: Sequence[Any], result: Any, replaces: bool
    ) -> None:
        """Note it."""
        self.found |= any(p is not None and not is_older(p, self.start) for p in parents)


def is_shown_linear(
    node: Any, leaves: Iterable[Any], results: Iterable[Any], start: int, unrecorded: Unrecorded
) -> bool:
    """Whether the operations of a rule that was recorded on zeros show that it is linear.

    node     that of the rule, which must have been tried in another call
    leaves   the nodes of the zeros
    results  the Tensors that the rule gave; None for zero
    start    a number from before the run
    """
    if unrecorded.found or node.op not in _tried:
        return False
    found = [r for r in results if isinstance(r, Tensor)]
    if any(above.holds_symbols(r._data) or known(bare(r._data)) is None for r in found):
        return False  # there are no numbers yet
    live = {leaf for leaf in leaves if leaf is not None}
    roots = {r._node: None for r in found if r._node is not None}
    for step in reversed(reached(roots, [(start, inf)])):
        mask = tuple([parent in live for parent in step.parents])
        if any(mask):
            if not _has_constant_slope(step.op, mask):
                return False
            live.add(step)
    return not _constant(dict(enumerate(found)), FORWARD)


def _has_constant_slope(op: Any, mask: tuple[bool, ...]) -> bool:
    """Whether the rules of an operation read neither some arguments, by which it is, nor a result.

    Several outputs are nodes of their own, whose operations have no rules.
    """
    if not isinstance(op, Op) or op.flat or not is_ours(op) or len(op.outputs) > 1:
        return False
    if any(live and op.rule(i) is None for i, live in enumerate(mask)):
        return False
    keep = op.keep(mask)
    return not any(k for k, live in zip(keep, mask, strict=False) if live) and not keep[len(mask)]


def is_ours(op: Any) -> bool:
    """Whether the rules of an operation are of the library; a law tests that they are linear."""
    functions = [op.function, *[rule.function for rule in op.rules.values()]]
    return all(str(f.__module__).startswith(__name__.partition(".")[0] + ".") for f in functions)


class Words(NamedTuple):
    """How an error says it: the derivative that is refused, what the rule must be, how to mend it.

    name   of what the rule takes, and of what it gives
    """

    subject: str
    expected: str
    got: str
    name: tuple[str, str]
    fix: str


FORWARD = Words(
    "forward mode", "a backward that is linear in its cotangent, to be transposed",
    "one that is not, as clipping or normalising is not", ("cotangent", "gradient"),
    "use reverse mode, where the gradient as written is differentiated (grad of grad); or give the "
    "rule of forward mode: custom_jvp, or `jvp` of a Function",
)
REVERSE = Words(
    "gradient", "a rule that is linear in its tangents, to be transposed",
    "one that is not, as clipping or normalising is not", ("tangent", "tangent"),
    "use forward mode (jvp), where the rule as written gives the tangent; or give the rule of "
    "reverse mode: custom_vjp, or `backward` of a Function",
)


def check_linear(
    words: Words, node: Any, spaces: Sequence[Space | None], like: Any, run: Callable[..., None],
    draws: Draws, at_zero: Mapping[Any, Any], pushed: list[Any], given: Mapping[Any, Any],
) -> list[Any]:
    """The results of a transposed rule; an error in their place if the rule is not linear.

    words    FORWARD for a rule of cotangents, REVERSE for one of tangents, as is said below
    spaces   shape and dtype of each output; None of one that takes no part
    like     an array of the library to compute with
    run      (cotangents, found): calls the rule; it puts the gradients into `found`
    draws    what a run on zeros drew, to be drawn again
    at_zero  the gradients of that run, by parent
    pushed   the tangents of the outputs, by the transpose at zeros; None for zero
    given    the tangents that they came from, by parent; None for zero

    Raises `NotDifferentiableError`; in a graph, when it runs.
    """
    given_and_found = [like, *at_zero.values(), *pushed]
    held = next((a for a in map(raw, given_and_found) if above.holds_symbols(a)), raw(like))
    symbolic = above.holds_symbols(held)
    if not symbolic and known(bare(held)) is None:
        return pushed  # in JAX's programs
    names = [str(s[1]).rpartition(".")[2] for s in spaces if s is not None]
    factor = -(_FAR_IN_HALF if "float16" in names else _FAR)
    rounding = max([_ROUNDING.get(name, _ROUNDING_IN_HALF) for name in names], default=0.0)
    probe = above.deferred().probe if symbolic else probe_of
    near = [None if s is None else probe(s, held, 1.0) for s in spaces]
    far = [None if s is None else probe(s, held, factor) for s in spaces]
    found: list[dict[Any, Any]] = [{}, {}]
    before = _state.pulling()
    try:
        with numpy.errstate(all="ignore"):  # of large cotangents, which the user did not ask for
            for gs, into in zip((near, far), found, strict=True):
                with draws.replay():
                    run(gs, into)
            check = Linearity(words, where(node), factor, rounding)
            if symbolic:  # a tangent of zeros is an operation too, so that the graph looks
                pushed = [
                    zeros_by(s[0], held, s[1]) if t is None and s is not None else t
                    for t, s in zip(pushed, spaces, strict=True)
                ]
            values: Any = (at_zero, *found, near, pushed, given)
            if symbolic:
                return list(above.deferred().checked(check, values))
            check(*values)
            _tried.add(node.op)
    finally:
        _state.restore(before)
    return pushed


class Linearity:
    """Compares the results of a rule; for arrays that have numbers."""

    def __init__(self, words: Words, place: str, factor: float, rounding: float) -> None:
        self.words, self.place = words, place
        self.factor, self.rounding = factor, rounding

    def __call__(
        self, at_zero: Mapping[Any, Any], near: Mapping[Any, Any], far: Mapping[Any, Any],
        probes: Sequence[Any], pushed: Sequence[Any], given: Mapping[Any, Any],
    ) -> None:
        """Raise if they differ from those of a linear rule; see `check_linear`."""
        words = self.words
        wrong = _constant(at_zero, words) or _homogeneous(
            near, far, self.factor, self.rounding, words
        ) or _paired(
            near, given, zip(probes, pushed, strict=True), self.rounding, words
        )
        if wrong:
            raise NotDifferentiableError(
                f"{words.subject} through {self.place}", words.expected,
                f"{words.got}: {wrong}", words.fix,
            )


def probe_of(space: Space, like: Any, scale: float) -> Any:
    """A raw cotangent with entries of both signs, between 1/2 and 3/2 times a scale in size."""
    shape, dtype = tuple(space[0]), space[1]
    own = bare(raw(like))
    count = numpy.arange(1.0, 1.0 + numpy.prod(shape, dtype=int))
    size = 0.5 + numpy.abs(numpy.cos(count * count))
    values = scale * numpy.where(numpy.sin(count * 2.4) < 0, -size, size).reshape(shape)
    return OPS["astype"](adapters[own.__class__].asarray(values, None, own), dtype)


def _constant(found: Mapping[Any, Any], words: Words) -> str:
    for g in found.values():
        if g is None:
            continue
        values = numbers_of(g)
        if numpy.any(numpy.isfinite(values) & (values != 0)):
            return f"for zeros it gives a {words.name[1]} that is not zero"
    return ""


def _homogeneous(
    near: Mapping[Any, Any], far: Mapping[Any, Any], factor: float, rounding: float, words: Words
) -> str:
    for parent in [*near, *far]:
        one, other = near.get(parent), far.get(parent)
        a = numpy.zeros(()) if one is None else numbers_of(one) * factor
        b = numpy.zeros(()) if other is None else numbers_of(other)
        fine = numpy.isfinite(a) & numpy.isfinite(b)
        a, b = numpy.where(fine, a, 0), numpy.where(fine, b, 0)
        size = max(numpy.abs(a).max(initial=0), numpy.abs(b).max(initial=0))
        if numpy.abs(a - b).max(initial=0) > rounding * size:
            given, found = words.name
            return f"a larger {given} of the other sign does not give a {found} in proportion"
    return ""


def _paired(
    near: Mapping[Any, Any], tangents: Mapping[Any, Any], outputs: Any, rounding: float,
    words: Words,
) -> str:
    left, left_size = _inner((near.get(p), t) for p, t in tangents.items())
    right, right_size = _inner(outputs)
    apart = numpy.abs(left - right)
    size = left_size + right_size
    if numpy.any(numpy.isfinite(size) & (apart > rounding * size)):
        return f"its {words.name[1]} for a {words.name[0]} is not that of its derivative at zeros"
    return ""


def _inner(pairs: Any) -> tuple[Any, Any]:
    """The sum of products of some pairs of arrays, and that of their sizes, for each example."""
    products = [
        OPS["multiply"](raw(a), raw(b)) for a, b in pairs if a is not None and b is not None
    ]
    total: Any = sum(numbers_of(OPS["real"](OPS["sum"](p))) for p in products)
    size: Any = sum(numbers_of(OPS["sum"](OPS["abs"](p))) for p in products)
    return total, size


def numbers_of(array: Any) -> Any:
    """The entries as a NumPy array, of all examples."""
    own = bare(raw(array))
    values = numpy.asarray(adapters[own.__class__].numpy(own))
    return values if values.dtype.kind == "c" else values.astype(float)
