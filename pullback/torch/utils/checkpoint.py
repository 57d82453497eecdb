"""`torch.utils.checkpoint`: save memory by recomputing in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nn.module import Module
from ...transforms.checkpoint import checkpoint as _checkpoint
from ...transforms.checkpoint import checkpoint_sequential as _sequential
from ..errors import guarded_pull

__all__ = ["checkpoint", "checkpoint_sequential"]


@guarded_pull
def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    preserve_rng_state: bool = True, context_fn: Any = None, determinism_check: str = "default",
    debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:
    """Runs `function(*args, **kwargs)`; saves only the arguments for the backward pass.

    The backward pass recomputes the rest, with the same random samples. Captured parameters of
    the function also receive gradients.

    The other arguments are accepted and ignored: the only implementation here covers every use
    (nested, higher order, forward mode).

    >>> import pullback.torch as torch
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([ 0.5403, -2.4784])
    """
    return _checkpoint(function)(*args, **kwargs)


@guarded_pull
def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Runs functions (or the modules of a `Sequential`) one after another, with checkpoints.

    segments  split the chain into this many parts; only the inputs of the parts are saved
    """
    parts = list(functions.children() if isinstance(functions, Module) else functions)
    return _sequential(parts, input, segments=segments)
