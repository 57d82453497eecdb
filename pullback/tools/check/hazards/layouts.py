"""Cotangents and inputs in every memory layout: the result must not depend on the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from ....core.op import OPS
from ....core.tensor import Tensor, raw
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..subject import Subject, like, numpy_of
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst


def transposed(x: Any) -> Any:
    """In Fortran order: the transpose of a contiguous array."""
    return numpy.ascontiguousarray(x.T).T


def sliced(x: Any) -> Any:
    """Every other entry of an array that is twice as long."""
    whole = numpy.repeat(x, 2, axis=-1) + numpy.arange(2 * x.shape[-1]) % 2
    return numpy.asarray(whole, x.dtype)[..., ::2]


def reversed_(x: Any) -> Any:
    """With negative strides along every axis."""
    back = tuple([slice(None, None, -1)] * x.ndim)
    return numpy.ascontiguousarray(x[back])[back]


def offset(x: Any) -> Any:
    """In the middle of a longer array."""
    return numpy.concatenate([x[:1] + 1, x, x[:1] + 2])[1:-1] if x.shape[0] else x


def read_only(x: Any) -> Any:
    """A read-only array."""
    made = x.copy()
    made.flags.writeable = False
    return made


def stretched(x: Any) -> Any:
    """One number in every entry, with strides of 0."""
    return numpy.broadcast_to(x.ravel()[:1].reshape((1,) * x.ndim), x.shape)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": transposed, "sliced": sliced, "with negative strides": reversed_,
    "in the middle of a longer array": offset, "read-only": read_only,
    "broadcast (stride 0)": stretched,
}
"""Name -> a NumPy array in that layout."""


def _viewed(x: Any, name: str) -> Any:
    """Another library's array in a layout: a view of a larger or differently ordered array."""
    if name == "transposed":
        turned = Tensor(like(x, numpy.ascontiguousarray(numpy_of(x).T)))
        return raw(OPS["permute_dims"](turned, tuple(reversed(range(turned.ndim)))))
    whole = numpy_of(LAYOUTS[name](numpy_of(x)))
    if name == "sliced":
        return raw(Tensor(like(x, numpy.repeat(whole, 2, axis=-1)))[..., ::2])
    if name == "in the middle of a longer array":
        return raw(Tensor(like(x, numpy.concatenate([whole[:1], whole, whole[:1]])))[1:-1])
    if name == "broadcast (stride 0)":
        first = like(x, whole.ravel()[:1].reshape((1,) * whole.ndim))
        return raw(OPS["broadcast_to"](Tensor(first), whole.shape))
    return x


@law("layouts", "a rule that assumes that its cotangent or its input is contiguous or writable")
def layouts(subject: Subject) -> Iterator[Finding]:
    """The gradient does not depend on the strides of cotangents and inputs."""
    point = fresh(subject)
    if not all(numpy_of(x).flags.writeable for x in point):
        yield not_applicable("arrays of this library have no strides")
        return
    run = Run(subject, point)
    cotangents = run.cotangents()
    ours = all(isinstance(x, numpy.ndarray) for x in point)
    names = [name for name in LAYOUTS if ours or name not in _NUMPYS_ONLY]
    for name in names:
        yield _of_cotangents(run, cotangents, name, point)
    if not any(x.ndim for x in point):
        return
    for name in names:
        yield _of_inputs(subject, point, cotangents, name)


_NUMPYS_ONLY = ("with negative strides", "read-only")


def _laid(arrays: Sequence[Any], name: str) -> tuple[list[Any], list[Any]]:
    """Arrays in a layout, and the same numbers in contiguous arrays."""
    laid = [_in_layout(a, name) for a in arrays]
    return laid, [None if a is None else like(a, numpy.array(numpy_of(a), order="C")) for a in laid]


def _in_layout(a: Any, name: str) -> Any:
    if a is None or not a.ndim or not numpy_of(a).size:
        return a
    return LAYOUTS[name](a) if isinstance(a, numpy.ndarray) else _viewed(a, name)


def _of_cotangents(run: Run, cotangents: Sequence[Any], name: str, point: Any) -> Finding:
    laid, copies = _laid(cotangents, name)
    wanted, error = attempted(lambda: run.pull(copies))
    if error is not None:
        return not_applicable(f"the contiguous one raises: {first_of(error)}")
    return _compared(
        lambda: run.pull(laid), wanted, f"gradient of `{run.subject.name}`, cotangent {name}", point
    )


def _of_inputs(
    subject: Subject, point: Sequence[Any], cotangents: Sequence[Any], name: str
) -> Finding:
    laid, copies = _laid(point, name)

    if not subject.accepts(laid):
        return not_applicable(f"the function rejects inputs that are {name}")

    def at(arrays: list[Any]) -> Any:
        run = Run(subject, arrays)
        return [*run.outs, *run.pull(cotangents)]

    wanted, error = attempted(lambda: at(copies))
    if error is not None or any(not _is_moderate(w) for w in wanted):
        return not_applicable(f"the function is not defined at inputs that are {name}")
    return _compared(lambda: at(laid), wanted, f"`{subject.name}` of an input {name}", laid)


def _is_moderate(array: Any) -> bool:
    array = numpy_of(array)
    return bool(numpy.all(numpy.abs(array) < 1e6)) if array.dtype.kind in "fc" else True


def _compared(run: Callable[[], Any], wanted: Any, about: str, point: Any) -> Finding:
    seen, error = attempted(run)
    fix = "follow strides, or copy first: numpy.ascontiguousarray(g)"
    if error is not None:
        return failed(
            about, "the result for a contiguous array", first_of(error), fix, inputs=point
        )
    if agree(wanted, seen):
        return passed(about)
    w, s, gap = worst(wanted, seen)
    return failed(
        about, f"the result for a contiguous array, {in_words(w)}", in_words(s), fix, inputs=point,
        wanted=w, seen=s, difference=gap,
    )
