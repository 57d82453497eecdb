"""`torch.utils.checkpoint`: less memory, by computing again in the backward pass."""

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
    """`function(*args, **kwargs)`, of which only the arguments are kept for the gradient.

    What the gradient needs is computed again when it is asked for, with the random numbers drawn
    again as they were. Gradients also go to the parameters that the function uses.

    The other arguments are accepted, with no effect: there is one way here, and it is right for
    every use (nested, of higher order, in forward mode).

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
    """The functions (or the modules of a `Sequential`) one after the other on an input.

    segments  what goes between so many pieces of the chain is kept, and nothing else
    """
    parts = list(functions.children() if isinstance(functions, Module) else functions)
    return _sequential(parts, input, segments=segments)
