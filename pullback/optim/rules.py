"""Update rules: the formula of each optimizer, for this library and for its front ends.

A rule takes a parameter x, its gradient g and a list of the arrays kept for it (`slots`), and
returns the new x and the new slots. Rules use augmented assignment: arrays that can be written
change in place, tensors that cannot (TensorFlow's, a graph's) are replaced. A slot that is returned
as another object is for the caller to store. Options are numbers or scalar tensors. The arguments
after the star are the points in which frameworks differ; their defaults are PyTorch's.

    lerp        a running mean is computed as kept + (1 - keep) · (value - kept)
    eps_inside  eps is added under the square root, or to the maximum, and not to the result
    scaled      the momentum buffer holds steps, with the learning rate in them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arrays import movers
from ..ops import abs as absolute
from ..ops import clip, maximum, sign, sqrt, where

Slots = Sequence[Any]
Updated = tuple[Any, Slots]


def decayed(x: Any, g: Any, lr: Any, decay: Any, *, decoupled: bool = False) -> tuple[Any, Any]:
    """x and g after weight decay: x ← (1 - lr · decay) · x if decoupled, else g ← g + decay · x."""
    if not decay:
        return x, g
    if not decoupled:
        return x, g + decay * x
    x *= 1 - lr * decay
    return x, g


def mean(kept: Any, value: Any, keep: Any, *, lerp: bool = True) -> Any:
    """A running mean: keep · kept + (1 - keep) · value."""
    if lerp:
        kept += (value - kept) * (1 - keep)
    else:
        kept *= keep
        kept += value * (1 - keep)
    return kept


def _root(squares: Any, eps: Any, inside: bool) -> Any:
    if inside:
        return sqrt(squares + eps)
    root = sqrt(squares)
    root += eps
    return root


def sgd(
    x: Any, g: Any, slots: Slots, lr: Any, *, momentum: Any = 0.0, dampening: Any = 0.0,
    nesterov: bool = False, scaled: bool = False,
) -> Updated:
    """Slots: the momentum buffer v ← momentum · v + (1 - dampening) · g, or none; x ← x - lr · v.

    scaled    v ← momentum · v - lr · g, x ← x + v, as in Keras
    nesterov  x moves by g + momentum · v, with the new v
    """
    if scaled:
        g = -lr * g
    if slots:
        (v,) = slots
        v *= momentum
        v += g if dampening.__class__ is float and not dampening else (1 - dampening) * g
        slots, g = (v,), g + momentum * v if nesterov else v
    if scaled:
        x += g
    elif x.__class__ in movers:
        movers[x.__class__](x, g, -lr)
    else:
        x -= lr * g
    return x, slots


def adam(
    x: Any, g: Any, slots: Slots, lr: Any, betas: Slots, powers: Slots, eps: Any, *,
    eps_hat: bool = False, lerp: bool = False,
) -> Updated:
    """Slots: means m of g, v of g², and, for amsgrad, the largest v; x ← x - lr · m̂ / (√v̂ + eps).

    powers   betas to the power of the step's number: m̂ = m / (1 - powers[0]), v̂ likewise
    eps_hat  eps is added to the root of v as it is, not of v̂ ("epsilon hat" in the paper)
    """
    m, v, *top = slots
    m = mean(m, g, betas[0])
    v = mean(v, g * g, betas[1], lerp=lerp)
    if top:
        top = [maximum(top[0], v)]
    root = sqrt(top[0] if top else v)
    correction = (1 - powers[1]) ** 0.5
    if eps_hat:
        lr = lr * correction
    else:
        root /= correction
    root += eps
    x -= m / root * (lr / (1 - powers[0]))
    return x, (m, v, *top)


def adamax(
    x: Any, g: Any, slots: Slots, lr: Any, betas: Slots, count: Any, eps: Any, *,
    eps_inside: bool = True,
) -> Updated:
    """Slots: the mean m of g, u ← max(betas[1] · u, |g| + eps); x ← x - lr · m̂ / u.

    eps_inside  False: u ← max(betas[1] · u, |g|), x ← x - lr · m̂ / (u + eps)
    """
    m, u = slots
    m = mean(m, g, betas[0])
    size = absolute(g)
    u = maximum(u * betas[1], size + eps if eps_inside else size)
    x -= m / (u if eps_inside else u + eps) * (lr / (1 - betas[0] ** count))
    return x, (m, u)


def nadam_momentum(beta: Any, count: Any, decay: float) -> Any:
    """The momentum of NAdam's step number `count`."""
    return beta * (1 - 0.5 * 0.96 ** (count * decay))


def nadam(
    x: Any, g: Any, slots: Slots, lr: Any, betas: Slots, count: Any, product: Any, eps: Any, *,
    momentum_decay: float, lerp: bool = False,
) -> Updated:
    """Slots: means m of g and v of g². x moves by both g and m, as Nesterov's momentum does.

    product  the product of `nadam_momentum` over the steps up to this one
    """
    m, v = slots
    now, after = (nadam_momentum(betas[0], n, momentum_decay) for n in (count, count + 1))
    m = mean(m, g, betas[0])
    v = mean(v, g * g, betas[1], lerp=lerp)
    root = _root(v / (1 - betas[1] ** count), eps, False)
    x -= g / root * (lr * (1 - now)) / (1 - product)
    x -= m / root * (lr * after) / (1 - product * after)
    return x, (m, v)


def radam(
    x: Any, g: Any, slots: Slots, lr: float, betas: Slots, count: int, eps: float
) -> Updated:
    """Slots: means m of g and v of g². Adam's step, by m alone until v has seen enough."""
    (first, second), (m, v) = betas, slots
    m = mean(m, g, first)
    v = mean(v, g * g, second, lerp=False)
    step = m * (lr / (1 - first**count))
    longest = 2 / (1 - second) - 1
    length = longest - 2 * count * second**count / (1 - second**count)
    if length > 5:
        share = (length - 4) * (length - 2) * longest
        share /= (longest - 4) * (longest - 2) * length
        step = step / _root(v, eps, False) * (share * (1 - second**count)) ** 0.5
    x -= step
    return x, (m, v)


def rprop(x: Any, g: Any, slots: Slots, etas: Slots, step_sizes: Slots) -> Updated:
    """Slots: the gradient before and the sizes of steps; x ← x - size · sign(g)."""
    (before, size), (less, more) = slots, etas
    same = before * g
    size = clip(size * where(same > 0, more, where(same < 0, less, 1.0)), *step_sizes)
    g = where(same < 0, g * 0, g)
    x -= sign(g) * size
    return x, (g, size)


def adagrad(
    x: Any, g: Any, slots: Slots, lr: Any, eps: Any, *, eps_inside: bool = False
) -> Updated:
    """Slots: the sum s of g²; x ← x - lr · g / (√s + eps)."""
    (total,) = slots
    total += g * g
    x -= g / _root(total, eps, eps_inside) * lr
    return x, (total,)


def adadelta(
    x: Any, g: Any, slots: Slots, lr: Any, rho: Any, eps: Any, *, lerp: bool = False
) -> Updated:
    """Slots: means v of g² and u of d², d = g · √(u + eps) / √(v + eps); x ← x - lr · d."""
    v, u = slots
    v = mean(v, g * g, rho, lerp=lerp)
    delta = g * sqrt(u + eps) / sqrt(v + eps)
    u = mean(u, delta * delta, rho, lerp=lerp)
    x -= lr * delta
    return x, (v, u)


def rmsprop(
    x: Any, g: Any, slots: Slots, lr: Any, rho: Any, eps: Any, *, momentum: Any = 0.0,
    centered: bool = False, eps_inside: bool = False, lerp: bool = False, scaled: bool = False,
) -> Updated:
    """Slots: the mean v of g², a momentum buffer or none, and, if centered, the mean of g.

    x ← x - lr · g / (√v + eps); centered takes the variance in the place of v.
    """
    v, *others = slots
    size = v = mean(v, g * g, rho, lerp=lerp)
    averages = []
    if centered:
        *others, average = others
        averages = [mean(average, g, rho)]
        size = maximum(v - averages[0] * averages[0], 0.0)  # rounding may take it below
    g = g / _root(size, eps, eps_inside)
    if scaled:
        g = lr * g
    for buffer in others:
        buffer *= momentum
        buffer += g
        others = [g := buffer]
    x -= g if scaled else lr * g
    return x, (v, *others, *averages)


def lion(x: Any, g: Any, slots: Slots, lr: Any, betas: Slots) -> Updated:
    """Slots: the mean m of g; x ← x - lr · sign(betas[0] · m + (1 - betas[0]) · g)."""
    (m,) = slots
    x -= lr * sign(m * betas[0] + g * (1 - betas[0]))
    return x, (mean(m, g, betas[1], lerp=False),)
