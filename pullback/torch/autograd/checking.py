"""Gradients against finite differences: `gradcheck` and `gradgradcheck`.

Complex inputs and outputs are looked at as pairs of real numbers, so that one comparison serves:
the gradient for a cotangent v is that of Re(v* · out), in the real and the imaginary direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from ...core.backward import gradients
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import is_inexact, wrap
from ...errors import ArgumentError, PullbackError
from ...random import Generator
from ..errors import as_runtime


class GradcheckError(PullbackError, RuntimeError):
    """A gradient is not what finite differences say."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True, **ignored: Any,
) -> bool:
    """Whether the gradient of a function's outputs agrees with central differences.

    inputs  tensors, of which those that require gradients are looked at: of float64, since
            differences in float32 are too coarse to tell
    Other options of PyTorch's are accepted and have no effect.

    Raises `GradcheckError` where they disagree by more than atol + rtol · |difference|, if
    `raise_exception`; a `ValueError` if no input requires a gradient.

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, x)
    True
    """
    inputs = (inputs,) if isinstance(inputs, CoreTensor) else tuple(inputs)
    wanted = _wanted(inputs, "gradcheck")
    numerical = [list(_differences(func, inputs, i, eps)) for i in wanted]
    outs = _outputs(func(*inputs))
    for k, out in enumerate(outs):
        analytical = _jacobians(out, [inputs[i] for i in wanted])
        for place, i in enumerate(wanted):
            expected = numpy.stack([column[k] for column in numerical[place]], axis=-1)
            got = analytical[place]
            if not numpy.allclose(got, expected, rtol=rtol, atol=atol):
                if not raise_exception:
                    return False
                raise GradcheckError(
                    f"gradient of output {k} with respect to input {i}",
                    f"the Jacobian of differences {expected.tolist()}", f"{got.tolist()}",
                    "look at the rule (backward) of what the function calls",
                )
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
    atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True, **ignored: Any,
) -> bool:
    """Whether the gradient's gradient agrees with differences of the gradient.

    grad_outputs  the cotangents it is taken at; random ones if left out
    The other arguments are those of `gradcheck`.

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, x)
    True
    """
    inputs = (inputs,) if isinstance(inputs, CoreTensor) else tuple(inputs)
    wanted = _wanted(inputs, "gradgradcheck")
    outs = _outputs(func(*inputs))
    if grad_outputs is None:
        source = Generator(0)
        grad_outputs = [_cotangent(out, source) for out in outs]
    grad_outputs = [grad_outputs] if isinstance(grad_outputs, CoreTensor) else list(grad_outputs)
    count = len(inputs)

    def slope(*args: Any) -> tuple[Any, ...]:
        # Cut off from what the caller's tensors were computed from, but not from the tensors.
        found = _outputs(func(*args[:count]))
        pairs = [(o, g) for o, g in zip(found, args[count:], strict=True) if o.requires_grad]
        return gradients(
            [o for o, _ in pairs], [args[i] for i in wanted], [g for _, g in pairs],
            create_graph=True, materialize_grads=True,
        )

    return gradcheck(
        slope, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception,
    )


def _wanted(inputs: tuple[Any, ...], who: str) -> list[int]:
    found = [i for i, x in enumerate(inputs) if isinstance(x, CoreTensor) and x.requires_grad]
    if not found:
        raise as_runtime(ArgumentError(
            f"inputs of `{who}`", "at least one that requires a gradient", "none",
            "make them with requires_grad=True",
        ))
    return found


def _outputs(found: Any) -> list[Any]:
    """The outputs that can have a derivative."""
    given = found if isinstance(found, (tuple, list)) else (found,)
    return [out for out in given if isinstance(out, CoreTensor) and is_inexact(out._data)]


def _cotangent(out: Any, source: Generator) -> Any:
    made = source.normal(out.shape).numpy()
    if out._data.dtype.kind == "c":
        made = made + 1j * source.normal(out.shape).numpy()
    return wrap(out._out, numpy.asarray(made, out.dtype)).requires_grad_()


def _reals(array: Any) -> Any:
    """The numbers in an array, real and imaginary parts one after the other, in one axis."""
    flat = numpy.array(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _basis(data: Any) -> Iterator[Any]:
    """For each real number in an array, an array like it with a 1 there."""
    for i in range(_reals(data).size):
        made = numpy.zeros_like(numpy.asarray(data), order="C")
        made.reshape(-1).view(made.real.dtype)[i] = 1
        yield made


def _differences(
    func: Callable[..., Any], inputs: tuple[Any, ...], place: int, eps: float
) -> Iterator[list[Any]]:
    """For each real number in an input, how the outputs' numbers move with it."""
    x = inputs[place]

    def at(data: Any) -> list[Any]:
        # A leaf, because the function may itself ask for gradients.
        moved = wrap(x._out, data).requires_grad_()
        found = _outputs(func(*inputs[:place], moved, *inputs[place + 1 :]))
        return [_reals(out._data) for out in found]

    for direction in _basis(x._data):
        above, below = at(x._data + eps * direction), at(x._data - eps * direction)
        yield [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def _jacobians(out: Any, inputs: list[Any]) -> list[Any]:
    """A row for each real number of the output: the gradients of each input."""
    rows: list[list[Any]] = [[] for _ in inputs]
    for v in _basis(out._data):
        if out._node is None:
            found: tuple[Any, ...] = (None,) * len(inputs)
        else:
            found = gradients(
                out, inputs, wrap(out._out, v), retain_graph=True, allow_unused=True
            )
        for row, g, x in zip(rows, found, inputs, strict=True):
            row.append(_reals(numpy.zeros_like(x._data) if g is None else g._data))
    return [numpy.array(row) for row in rows]
