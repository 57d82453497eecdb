"""Samples of further distributions: multinomial, Poisson, binomial."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy

from .. import ops
from .. import random as _core
from ..arrays.batched import bare
from ..core.tensor import raw, wrap
from ..errors import ArgumentError
from ..kinds.batching import drawn
from .dtypes import float64
from .errors import guarded
from .tensor import Tensor

__all__ = ["binomial", "multinomial", "poisson"]


@guarded
def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Any:
    """Samples indices along the last axis, with probabilities proportional to the weights.

    >>> import pullback.torch as torch
    >>> torch.multinomial(torch.tensor([0.0, 3.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """
    weights = raw(ops.astype(input, float64))
    source = generator or _core.default_generator()
    values = bare(weights)  # of all examples of a vmap
    if (values < 0).any() or (values.sum(-1) <= 0).any():
        raise ArgumentError(
            "`multinomial`", "weights ≥ 0 with a sum > 0", "a negative weight, or only zeros"
        )
    if not replacement and (num_samples > (values > 0).sum(-1)).any():
        raise ArgumentError(
            "`multinomial` without replacement", "no more samples than positive weights",
            f"{num_samples}",
        )
    shape = (*tuple(weights.shape)[:-1], num_samples if replacement else weights.shape[-1])
    drawn = 1 - raw(source.uniform(shape, dtype=float64))
    if not replacement:  # the smallest of exponential variables with the weights as rates
        some = weights > 0
        times = ops.where(some, -ops.log(drawn) / ops.where(some, weights, 1.0), inf)
        return wrap(Tensor, ops.argsort(times, axis=-1)[..., :num_samples])
    rising = ops.cumulative_sum(weights, axis=-1) / ops.sum(
        weights, axis=-1, keepdims=True
    )
    found = ops.sum(ops.astype(drawn[..., None] > rising[..., None, :], "int64"), axis=-1)
    return wrap(Tensor, ops.clip(found, None, weights.shape[-1] - 1))


@guarded
def poisson(input: Any, generator: Any = None) -> Any:
    """Poisson samples whose rates are the entries."""
    source = generator or _core.default_generator()
    return _sampled("poisson", lambda: source._numpy.poisson, [input])


@guarded
def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """Binomial samples: successes among `count` trials with probability `prob`."""
    source = generator or _core.default_generator()
    return _sampled("binomial", lambda: source._numpy.binomial, [count, prob])


def _sampled(subject: str, sampler: Any, given: list[Any]) -> Any:
    """Samples of NumPy's generator for parameters that broadcast, as `given[0]` in dtype.

    Inside vmap, others for each example, also where the parameters are the same for all.
    """
    parameters = [numpy.asarray(p.detach()) for p in given]
    dtype = given[0].dtype
    if subject == "binomial":
        parameters[0] = parameters[0].astype(numpy.int64)

    def draw(size: tuple[int, ...]) -> Any:
        return numpy.asarray(sampler()(*parameters, size)).astype(dtype)

    shape = numpy.broadcast_shapes(*[p.shape for p in parameters])
    return wrap(Tensor, drawn(draw, shape, subject, dtype))
