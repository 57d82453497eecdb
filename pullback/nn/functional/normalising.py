"""Group, instance and local response normalisation."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...errors import ArgumentError
from .windows import avg_pool

__all__ = ["group_norm", "instance_norm", "local_response_norm"]


def group_norm(
    x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Normalise each group of channels of each example to mean 0 and variance 1.

    Then scale and shift with one weight and bias per channel. Raises `ArgumentError` unless the
    number of channels (axis 1) is a multiple of `groups`.

    >>> import numpy as np
    >>> group_norm(np.array([[1.0, 3.0, 5.0, 5.0]]), 2, eps=1e-9).round(3)
    array([[-1.,  1.,  0.,  0.]])
    """
    n, channels, *rest = x.shape
    if groups < 1 or channels % groups:
        raise ArgumentError("argument `groups` of `group_norm`", f"a divisor of {channels}",
                            f"{groups}")
    parts = ops.reshape(x, (n, groups, channels // groups * math.prod(rest)))
    out = ops.reshape(ops.layer_norm(parts, eps=eps), tuple(x.shape))
    shape = (channels,) + (1,) * len(rest)
    if weight is not None:
        out = out * ops.reshape(weight, shape)
    return out if bias is None else out + ops.reshape(bias, shape)


def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise each channel of each example to mean 0 and variance 1, then scale and shift.

    >>> import numpy as np
    >>> instance_norm(np.array([[[1.0, 3.0], [5.0, 5.0]]]), eps=1e-9).round(3)
    array([[[-1.,  1.],
            [ 0.,  0.]]])
    """
    return group_norm(x, x.shape[1], weight, bias, eps)


def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """x / (k + alpha · mean of x² over `size` neighbouring channels)^beta.

    >>> import numpy as np
    >>> local_response_norm(np.ones((1, 1, 2)), 1, alpha=3.0, beta=0.5)
    array([[[0.5, 0.5]]])
    """
    n, channels, *rest = x.shape
    squares = ops.reshape(x * x, (n, 1, channels, math.prod(rest)))
    padded = ops.pad(squares, [(0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    means = ops.reshape(avg_pool(padded, (size, 1), stride=1), tuple(x.shape))
    return x / (means * alpha + k) ** beta
