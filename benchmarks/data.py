"""Inputs that all systems share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy

RATE = 0.01


def entries(count: int) -> Any:
    """Normally distributed float32."""
    return numpy.random.default_rng(0).standard_normal(count, numpy.float32)


def network(batch: int, layers: Sequence[int]) -> tuple[Any, Any, list[Any]]:
    """A batch of inputs, their classes, and [weight, bias, weight, …] of a network."""
    rng = numpy.random.default_rng(0)
    x = rng.standard_normal((batch, layers[0]), numpy.float32)
    classes = rng.integers(0, layers[-1], batch)
    parameters = []
    for before, after in pairwise(layers):
        scale = numpy.float32((2 / before) ** 0.5)
        parameters.append(scale * rng.standard_normal((before, after), numpy.float32))
        parameters.append(numpy.zeros(after, numpy.float32))
    return x, classes, parameters


def images(batch: int, channels: int, size: int) -> Any:
    """Square images of so many channels, normally distributed float32."""
    shape = (batch, channels, size, size)
    return numpy.random.default_rng(0).standard_normal(shape, numpy.float32)


def filters(outputs: int, channels: int, size: int) -> Any:
    """Weights of a convolution with square windows, float32."""
    scale = numpy.float32((2 / (channels * size * size)) ** 0.5)
    shape = (outputs, channels, size, size)
    return scale * numpy.random.default_rng(1).standard_normal(shape, numpy.float32)


def prey(count: int) -> tuple[Any, Any, Any]:
    """The beginning, the four rates and the output times of a Lotka-Volterra equation."""
    times = numpy.linspace(0.0, 10.0, count)
    return numpy.array([10.0, 5.0]), numpy.array([1.1, 0.4, 0.4, 0.1]), times
