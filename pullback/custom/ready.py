"""Custom gradients that people write again and again, ready to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError
from ..lost_paths import held_fixed
from ..ops import clip, conj, real, sum, where
from ..ops.declaring import op

__all__ = ["clip_gradient", "reverse_gradient", "scale_gradient", "straight_through"]


@op(elementwise=True)
def scale_gradient(xp: Any, x: Any, /, factor: float) -> Any:
    """x, with its derivative multiplied by a factor, in both modes; its value does not change.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> pb.sum(pb.scale_gradient(x, 0.1)).backward()
    >>> x.grad
    Tensor([0.1, 0.1])
    """
    return xp.asarray(x, copy=True)


@scale_gradient.pullback("x")
def pullback_scale_gradient(g: Any, *, factor: float) -> Any:
    return g * factor


def reverse_gradient(x: Any, /, strength: float = 1.0) -> Any:
    """x, with its gradient multiplied by -strength (Ganin and Lempitsky, 2015).

    >>> import pullback as pb
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> (pb.reverse_gradient(x) * 2).backward()
    >>> x.grad
    Tensor(-2.)
    """
    return scale_gradient(x, -strength)


@op(shape="x", dtype="x")
def clip_gradient(
    xp: Any, x: Any, /, low: float | None = None, high: float | None = None, *,
    norm: float | None = None,
) -> Any:
    """x, with its gradient clipped on the way back: entries to [low, high], or its norm.

    low, high  bounds of each entry; `clip_gradient(x, c)` alone means [-c, c]
    norm       largest 2-norm of the whole gradient; inside vmap, of each example's

    In forward mode it is the identity: a tangent passes as it is. Clipping is no linear map, so it
    has no transpose; and where it does nothing, for small gradients, the two modes agree. (The size
    of a tangent is that of the direction asked about: a bound of gradients says nothing of it.)

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> pb.sum(pb.clip_gradient(x, 0.5) * pb.tensor([0.1, 7.0])).backward()
    >>> x.grad
    Tensor([0.1, 0.5])
    """
    if low is None and high is None and norm is None:
        raise ArgumentError("clip_gradient", "bounds, or a norm", "neither",
                            "write clip_gradient(x, 1.0) or clip_gradient(x, norm=1.0)")
    return xp.asarray(x, copy=True)


@clip_gradient.pullback("x")
def pullback_clip_gradient(g: Any, *, low: Any, high: Any, norm: Any) -> Any:
    if high is None and low is not None:
        low, high = -low, low
    if low is not None or high is not None:
        g = clip(g, low, high)
    if norm is not None:
        square = sum(real(conj(g) * g))
        over = square > norm * norm
        g = where(over, g * (norm / where(over, square, 1.0) ** 0.5), g)
    return g


@clip_gradient.pushforward("x")
def pushforward_clip_gradient(t: Any) -> Any:
    return t


@clip_gradient.batching
def batch_clip_gradient(x: Any, *, low: Any, high: Any, norm: Any) -> Any:
    return clip_gradient(x, low, high, norm=norm)


def straight_through(
    forward: Callable[..., Any], surrogate: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A function with the value of `forward` and the gradient of `surrogate` (default: identity).

    Bengio, Léonard and Courville, 2013. Both take the same tensors and give one shape.

    >>> import pullback as pb
    >>> binarise = pb.straight_through(pb.sign, lambda x: pb.clip(x, -1, 1))
    >>> x = pb.tensor([-2.0, 0.5], requires_grad=True)
    >>> y = binarise(x)
    >>> pb.sum(y).backward()
    >>> y.detach(), x.grad
    (Tensor([-1.,  1.]), Tensor([0., 1.]))
    """

    def both(*args: Any) -> Any:
        soft = args[0] if surrogate is None else surrogate(*args)
        hard = forward(*(held_fixed(a) for a in args))
        # soft - stop(soft) is exactly zero where soft is finite, and carries soft's gradient.
        return held_fixed(hard) + (soft - held_fixed(soft))

    both.__name__ = f"straight_through_{getattr(forward, '__name__', 'function')}"
    return both
