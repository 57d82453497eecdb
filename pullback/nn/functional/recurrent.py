"""Recurrent cells: one step on an input (examples, inputs) and a state (examples, hidden)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops

__all__ = ["gru_cell", "lstm_cell", "rnn_cell"]


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    out = ops.matmul(x, ops.matrix_transpose(weight))
    return out if bias is None else out + bias


def rnn_cell(
    x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None,
    function: Callable[[Any], Any] = ops.tanh,
) -> Any:
    """function(w_x x + b_x + w_h h + b_h): the next state.

    >>> import numpy as np
    >>> rnn_cell(np.ones((1, 1)), np.zeros((1, 2)), np.zeros((2, 1)), np.zeros((2, 2))).shape
    (1, 2)
    """
    return function(_affine(x, w_x, b_x) + _affine(h, w_h, b_h))


def lstm_cell(
    x: Any, h: Any, c: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None
) -> tuple[Any, Any]:
    """The next state and cell; weight rows are ordered as input, forget, cell and output gate.

    >>> import numpy as np
    >>> state = np.zeros((1, 2)), np.zeros((1, 2))
    >>> h, c = lstm_cell(np.ones((1, 1)), *state, np.zeros((8, 1)), np.zeros((8, 2)))
    >>> h.shape, c.shape
    ((1, 2), (1, 2))
    """
    gates = _affine(x, w_x, b_x) + _affine(h, w_h, b_h)
    size = gates.shape[-1] // 4
    i, f, g, o = ops.split(gates, [size] * 4, axis=-1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(c), c


def gru_cell(
    x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None
) -> Any:
    """The next state; weight rows are ordered as reset gate, update gate, new state.

    >>> import numpy as np
    >>> gru_cell(np.ones((1, 1)), np.zeros((1, 2)), np.zeros((6, 1)), np.zeros((6, 2))).shape
    (1, 2)
    """
    inner, outer = _affine(x, w_x, b_x), _affine(h, w_h, b_h)
    size = inner.shape[-1] // 3
    (rx, zx, nx), (rh, zh, nh) = (ops.split(v, [size] * 3, axis=-1) for v in (inner, outer))
    r, z = ops.sigmoid(rx + rh), ops.sigmoid(zx + zh)
    n = ops.tanh(nx + r * nh)
    return n + z * (h - n)
