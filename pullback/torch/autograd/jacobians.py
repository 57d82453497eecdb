"""Jacobians by finite differences, reverse mode and forward mode, and their comparison.

Complex inputs and outputs are treated as pairs of real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from ... import transforms
from ...autograd import gradients
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import is_inexact, raw, wrap
from ...errors import PullbackError
from ...random import Generator


class GradcheckError(PullbackError, RuntimeError):
    """A gradient differs from finite differences."""


class Case(NamedTuple):
    """A function, its inputs, the inputs to check, and the tolerances."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    wanted: list[int]
    eps: float
    atol: float
    rtol: float

    def outputs(self) -> list[Any]:
        """The differentiable outputs."""
        return outputs_of(self.func(*self.inputs))

    def sources(self) -> list[Any]:
        """The inputs to check."""
        return [self.inputs[i] for i in self.wanted]

    def compare(self, got: Any, expected: Any, what: str) -> None:
        """Raise a `GradcheckError` unless two arrays are close."""
        if not numpy.allclose(got, expected, rtol=self.rtol, atol=self.atol):
            raise GradcheckError(
                what, f"the finite-difference Jacobian {expected.tolist()}", f"{got.tolist()}",
                "check the backward rules of the functions that it calls",
            )


# Comparisons ----------------------------------------------------------------------------------


def check_entries(case: Case, reverse: bool, forward: bool) -> None:
    """Compare full Jacobians."""
    numerical = [list(_differences(case.func, case.inputs, i, case.eps)) for i in case.wanted]
    for k, out in enumerate(case.outputs()):
        analytical = _jacobians(out, case.sources()) if reverse else []
        for place, i in enumerate(case.wanted):
            expected = numpy.stack([column[k] for column in numerical[place]], axis=-1)
            where = f"of output {k} with respect to input {i}"
            if reverse:
                case.compare(analytical[place], expected, f"gradient {where}")
            if forward:
                case.compare(_pushed(case, place, k), expected, f"forward mode {where}")


def check_combined(case: Case, reverse: bool, forward: bool) -> None:
    """Compare uᵀ J v for random u and v."""
    source = Generator(1)
    for k, out in enumerate(case.outputs()):
        u = cotangent(out, source).detach()
        for place, i in enumerate(case.wanted):
            x = case.inputs[i]
            v = cotangent(x, source).detach()
            high, low = (_moved(case.func, case.inputs, i, x._data + s * case.eps * v._data)[k]
                         for s in (1, -1))
            expected = (reals(u._data) * (high - low)).sum() / (2 * case.eps)
            where = f"of output {k} with respect to input {i}, combined"
            if reverse:
                (g,) = _pulled([out], [x], [u])
                found = (reals(g) * reals(v._data)).sum()
                case.compare(found, expected, f"gradient {where}")
            if forward:
                t = _push(case, place, v)[k]
                found = (reals(t._data) * reals(u._data)).sum()
                case.compare(found, expected, f"forward mode {where}")


def check_repeated(case: Case, tolerance: float) -> None:
    """Compare two gradients for the same cotangent."""
    source = Generator(2)
    for k, out in enumerate(case.outputs()):
        u = cotangent(out, source).detach()
        first, second = (_pulled([out], case.sources(), [u]) for _ in "ab")
        for i, a, b in zip(case.wanted, first, second, strict=True):
            if abs(a - b).max(initial=0) > tolerance:
                raise GradcheckError(
                    f"gradient of output {k} with respect to input {i}, twice",
                    f"the same values within nondet_tol={tolerance}: backward is not reentrant",
                    f"{a.tolist()} and {b.tolist()}", "check for state that backward modifies",
                )


def check_undefined(case: Case) -> None:
    """Compare gradients with one undefined cotangent to those of the other outputs' sum."""
    outs, source = case.outputs(), Generator(3)
    us = [cotangent(out, source).detach() for out in outs]
    each = [_pulled([o], case.sources(), [u]) for o, u in zip(outs, us, strict=True)]
    for k in range(len(outs) if len(outs) > 1 else 0):
        rest = [j for j in range(len(outs)) if j != k]
        found = _pulled([outs[j] for j in rest], case.sources(), [us[j] for j in rest])
        for place, i in enumerate(case.wanted):
            expected = sum(each[j][place] for j in rest)
            case.compare(found[place], expected, f"gradient of input {i} without output {k}")


def check_batched(case: Case) -> None:
    """Compare gradients of batched cotangents with those computed one by one."""
    source = Generator(4)
    for k, out in enumerate(case.outputs()):
        if out._node is None:
            continue
        us = [cotangent(out, source).detach() for _ in range(2)]
        stacked = wrap(out._out, numpy.stack([u._data for u in us]))

        def pulled(u: Any, out: Any = out) -> Any:
            return gradients(out, case.sources(), u, retain_graph=True, materialize_grads=True)

        found = transforms.vmap(pulled)(stacked)
        for n, u in enumerate(us):
            for i, got, expected in zip(
                case.wanted, found, _pulled([out], case.sources(), [u]), strict=True
            ):
                what = f"gradient of output {k} with respect to input {i}, batched"
                case.compare(raw(got)[n], expected, what)


def check_batched_forward(case: Case) -> None:
    """Compare forward mode with batched tangents to that with one tangent at a time."""
    source = Generator(5)
    for place, i in enumerate(case.wanted):
        x = case.inputs[i]
        vs = [cotangent(x, source).detach() for _ in range(2)]
        stacked = wrap(x._out, numpy.stack([v._data for v in vs]))
        found = transforms.vmap(lambda v, place=place: tuple(_push(case, place, v)))(stacked)
        for n, v in enumerate(vs):
            for k, (got, t) in enumerate(zip(found, _push(case, place, v), strict=True)):
                what = f"forward mode of output {k} with respect to input {i}, batched"
                case.compare(raw(got)[n], t._data, what)


# Jacobians ------------------------------------------------------------------------------------


def outputs_of(found: Any) -> list[Any]:
    """The differentiable outputs."""
    given = found if isinstance(found, (tuple, list)) else (found,)
    return [out for out in given if isinstance(out, CoreTensor) and is_inexact(out._data)]


def cotangent(out: Any, source: Generator, gaps: bool = False) -> Any:
    """A random cotangent like a tensor, that requires a gradient; non-contiguous with `gaps`."""
    shape = (*out.shape, 2) if gaps else tuple(out.shape)
    made = source.normal(shape).numpy()
    if out._data.dtype.kind == "c":
        made = made + 1j * source.normal(shape).numpy()
    made = numpy.asarray(made, out.dtype)
    return wrap(out._out, made[..., 0] if gaps else made).requires_grad_()


def reals(array: Any) -> Any:
    """The entries as a flat real array; each complex entry gives its real and imaginary part."""
    flat = numpy.array(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _basis(data: Any) -> Iterator[Any]:
    """The basis vectors of an array's real entries."""
    for i in range(reals(data).size):
        made = numpy.zeros_like(numpy.asarray(data), order="C")
        made.reshape(-1).view(made.real.dtype)[i] = 1
        yield made


def _moved(func: Callable[..., Any], inputs: tuple[Any, ...], place: int, data: Any) -> list[Any]:
    """The outputs' real entries with one input's array replaced."""
    # A leaf, because the function may itself compute gradients.
    moved = wrap(inputs[place]._out, data).requires_grad_()
    found = outputs_of(func(*inputs[:place], moved, *inputs[place + 1 :]))
    return [reals(out._data) for out in found]


def _differences(
    func: Callable[..., Any], inputs: tuple[Any, ...], place: int, eps: float
) -> Iterator[list[Any]]:
    """The finite-difference Jacobian with respect to one input, one row per real entry."""
    data = inputs[place]._data
    for direction in _basis(data):
        above, below = (_moved(func, inputs, place, data + s * eps * direction) for s in (1, -1))
        yield [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def _pulled(outs: list[Any], sources: list[Any], us: list[Any]) -> list[Any]:
    """The gradients as arrays; zeros for None."""
    live = [(o, u) for o, u in zip(outs, us, strict=True) if o._node is not None]
    if not live:
        return [numpy.zeros_like(x._data) for x in sources]
    found = gradients(
        [o for o, _ in live], sources, [u for _, u in live], retain_graph=True, allow_unused=True
    )
    pairs = zip(found, sources, strict=True)
    return [numpy.zeros_like(x._data) if g is None else raw(g) for g, x in pairs]


def _jacobians(out: Any, sources: list[Any]) -> list[Any]:
    """One row per real entry of the output: the gradients of each input."""
    rows = [_pulled([out], sources, [wrap(out._out, v)]) for v in _basis(out._data)]
    return [numpy.array([reals(g) for g in column]) for column in zip(*rows, strict=True)]


def _push(case: Case, place: int, v: Any) -> list[Any]:
    """The outputs' tangents for a tangent of one input."""
    i = case.wanted[place]
    # Leaves, because the function may itself compute gradients.
    rest = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, CoreTensor) else x
            for x in case.inputs]

    def of(x: Any) -> Any:
        return tuple(outputs_of(case.func(*rest[:i], x, *rest[i + 1 :])))

    _, tangents = transforms.jvp(of, (rest[i],), (v,))
    return list(tangents)


def _pushed(case: Case, place: int, k: int) -> Any:
    """The Jacobian of one output by forward mode, one column at a time."""
    x = case.inputs[case.wanted[place]]
    columns = [_push(case, place, wrap(x._out, v))[k] for v in _basis(x._data)]
    return numpy.stack([reals(t._data) for t in columns], axis=-1)
