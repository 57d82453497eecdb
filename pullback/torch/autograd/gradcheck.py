"""Gradients against finite differences: `gradcheck` and `gradgradcheck`.

Complex inputs and outputs are treated as pairs of real numbers, so that one comparison suffices:
the gradient for a cotangent v is that of Re(v* · out), in the real and the imaginary direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import gradients
from ...core.tensor import Tensor as CoreTensor
from ...errors import ArgumentError
from ...random import Generator
from ..errors import as_runtime
from .jacobians import (
    Case,
    GradcheckError,
    check_batched,
    check_batched_forward,
    check_combined,
    check_entries,
    check_repeated,
    check_undefined,
    cotangent,
    outputs_of,
)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradients of a function with central differences; returns True if they agree.

    inputs                tensors; those that require gradients are checked. Use float64: finite
                          differences in float32 are too inaccurate
    nondet_tol            how much two gradients at the same point may differ
    check_undefined_grad  for several outputs, also check with one cotangent undefined (None)
    check_batched_grad    also check gradients of batched cotangents (`vmap`)
    check_forward_ad      check forward mode; check_batched_forward_grad: also under `vmap`
    check_backward_ad     check reverse mode
    fast_mode             check only a random combination of the entries
    `check_grad_dtypes` is always on; `masked` is for sparse tensors, which are not supported.

    Raises `GradcheckError` if they differ by more than atol + rtol · |difference| and
    `raise_exception` is set; a `ValueError` if no input requires a gradient.

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, x, check_forward_ad=True)
    True
    """
    inputs = (inputs,) if isinstance(inputs, CoreTensor) else tuple(inputs)
    case = Case(func, inputs, _wanted(inputs, "gradcheck"), eps, atol, rtol)
    try:
        if fast_mode:
            check_combined(case, check_backward_ad, check_forward_ad)
        else:
            check_entries(case, check_backward_ad, check_forward_ad)
        if check_backward_ad:
            check_repeated(case, nondet_tol)
            if check_undefined_grad:
                check_undefined(case)
            if check_batched_grad:
                check_batched(case)
        if check_batched_forward_grad:
            check_batched_forward(case)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
    atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compares second derivatives with central differences of the gradient.

    grad_outputs                 the cotangents; random by default
    gen_non_contig_grad_outputs  make the random cotangents non-contiguous
    check_fwd_over_rev, check_rev_over_rev   the modes that differentiate the gradient
    The other arguments are those of `gradcheck`.

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, x)
    True
    """
    inputs = (inputs,) if isinstance(inputs, CoreTensor) else tuple(inputs)
    wanted = _wanted(inputs, "gradgradcheck")
    outs = outputs_of(func(*inputs))
    if grad_outputs is None:
        source = Generator(0)
        grad_outputs = [cotangent(out, source, gen_non_contig_grad_outputs) for out in outs]
    grad_outputs = [grad_outputs] if isinstance(grad_outputs, CoreTensor) else list(grad_outputs)
    count = len(inputs)

    def slope(*args: Any) -> tuple[Any, ...]:
        # Detached from the history of the caller's tensors, but not from the tensors themselves.
        found = outputs_of(func(*args[:count]))
        pairs = [(o, g) for o, g in zip(found, args[count:], strict=True) if o.requires_grad]
        return gradients(
            [o for o, _ in pairs], [args[i] for i in wanted], [g for _, g in pairs],
            create_graph=True, materialize_grads=True,
        )

    return gradcheck(
        slope, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _wanted(inputs: tuple[Any, ...], subject: str) -> list[int]:
    found = [i for i, x in enumerate(inputs) if isinstance(x, CoreTensor) and x.requires_grad]
    if not found:
        raise as_runtime(ArgumentError(
            f"inputs of `{subject}`", "at least one that requires a gradient", "none that does",
            "create them with requires_grad=True",
        ))
    return found
