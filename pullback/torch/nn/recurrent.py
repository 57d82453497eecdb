"""Recurrent cells and layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ... import ops
from ...errors import ArgumentError, ShapeError
from ...nn import functional as core
from ..creation import zeros
from ..errors import guarded
from . import functional as F
from .weighted import Weighted

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]

_rnn: Any = core.rnn_cell
_FUNCTIONS: dict[str, Any] = {"tanh": ops.tanh, "relu": ops.relu}


def _function(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise ArgumentError("argument `nonlinearity`", "'tanh' or 'relu'", repr(name))
    return _FUNCTIONS[name]


class _Recurrent(Weighted):
    _gates: ClassVar[int] = 1
    hidden_size: int

    def _shapes(self, inputs: int, outputs: int, bias: bool) -> dict[str, Any]:
        rows = self._gates * self.hidden_size
        shift = (rows,) if bias else None
        return {"weight_ih": (rows, inputs), "weight_hh": (rows, outputs), "bias_ih": shift,
                "bias_hh": shift}


# Cells --------------------------------------------------------------------------------------


class _Cell(_Recurrent):
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._make(hidden_size, dtype, **self._shapes(input_size, hidden_size, bias))

    def _start(self, input: Any) -> Any:
        return zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype)

    @property
    def _given(self) -> Any:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        """The sizes."""
        shown = f"{self.input_size}, {self.hidden_size}"
        return shown if self.bias else f"{shown}, bias={self.bias}"


class RNNCell(_Cell):
    """Elman cell: tanh(W x + b + U h + c), or relu instead of tanh."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
        self.nonlinearity = nonlinearity

    @guarded
    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        hx = self._start(input) if hx is None else hx
        return _rnn(input, hx, *self._given, function=_function(self.nonlinearity))

    def extra_repr(self) -> str:
        """The sizes, and the nonlinearity if it is relu."""
        tail = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + tail


class GRUCell(_Cell):
    """Gated recurrent unit (Cho et al., 2014)."""

    _gates = 3

    @guarded
    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        hx = self._start(input) if hx is None else hx
        return core.gru_cell(input, hx, *self._given)


class LSTMCell(_Cell):
    """Long short-term memory cell (Hochreiter and Schmidhuber, 1997)."""

    _gates = 4

    @guarded
    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state and cell state."""
        h, c = (self._start(input), self._start(input)) if hx is None else hx
        return core.lstm_cell(input, h, c, *self._given)


# Layers -------------------------------------------------------------------------------------


class _Layers(_Recurrent):
    """Runs cells along a sequence: stacked layers, one or both directions."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        outputs = proj_size or hidden_size
        shapes: dict[str, Any] = {}
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else outputs * (2 if bidirectional else 1)
            own = self._shapes(inputs, outputs, bias)
            own["weight_hr"] = (proj_size, hidden_size) if proj_size else None
            for suffix in self._suffixes(layer):
                shapes |= {name + suffix: shape for name, shape in own.items() if shape}
        self._make(hidden_size, dtype, **shapes)

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 2 if self.bidirectional else 1]

    def _of(self, suffix: str) -> Any:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return tuple(self._parameters.get(name + suffix) for name in names)

    def _step(self, suffix: str) -> Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]:
        """The step function (input, state) -> next state, whose first part is the output."""
        raise NotImplementedError

    def flatten_parameters(self) -> None:
        """Has no effect: the memory layout of weights does not matter here."""

    def _run(self, input: Any, states: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """The outputs (steps, batch, size) and the final states; `states` are the initial ones."""
        firsts = list(zip(*(s.unbind(0) for s in states), strict=True))
        lasts, number = [], 0
        for layer in range(self.num_layers):
            directions = []
            for suffix in self._suffixes(layer):
                steps = list(input.unbind(0))
                backwards = suffix.endswith("reverse")
                step, state, outs = self._step(suffix), firsts[number], []
                for x in reversed(steps) if backwards else steps:
                    state = step(x, state)
                    outs.append(state[0])
                directions.append(ops.stack(outs[::-1] if backwards else outs))
                lasts.append(state)
                number += 1
            input = directions[0] if len(directions) == 1 else ops.concat(directions, axis=-1)
            if self.dropout and layer + 1 < self.num_layers:
                input = F.dropout(input, self.dropout, self.training)
        return input, tuple(ops.stack(parts) for parts in zip(*lasts, strict=True))

    @guarded
    def forward(self, input: Any, hx: Any = None) -> Any:
        """Returns the outputs of all steps, and the final state per layer and direction."""
        if len(input.shape) not in (2, 3) or input.shape[-1] != self.input_size:
            raise ShapeError(f"input of {type(self).__name__}",
                             f"2 or 3 axes, the last of {self.input_size}", f"{input.shape}")
        single = len(input.shape) == 2
        x = input.unsqueeze(1) if single else (
            input.transpose(0, 1) if self.batch_first else input
        )
        states = self._start(x) if hx is None else hx if isinstance(hx, tuple) else (hx,)
        if single and hx is not None:
            states = tuple(s.unsqueeze(1) for s in states)
        out, states = self._run(x, states)
        if single:
            out, states = out.squeeze(1), tuple(s.squeeze(1) for s in states)
        elif self.batch_first:
            out = out.transpose(0, 1)
        return out, states if len(states) > 1 else states[0]

    def _start(self, x: Any) -> tuple[Any, ...]:
        count = self.num_layers * (2 if self.bidirectional else 1)
        size = self.proj_size or self.hidden_size
        return (zeros(count, x.shape[1], size, dtype=x.dtype),)

    def extra_repr(self) -> str:
        """The sizes, and the non-default options."""
        shown = f"{self.input_size}, {self.hidden_size}"
        usual = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
            "bidirectional": False,
        }
        for name, value in usual.items():
            if getattr(self, name) != value:
                shown += f", {name}={getattr(self, name)}"
        return shown


class RNN(_Layers):
    """Elman network: `RNNCell` along sequences (steps, batch, inputs).

    >>> import pullback.torch as torch
    >>> out, last = torch.nn.RNN(3, 5)(torch.ones(7, 2, 3))
    >>> out.shape, last.shape
    (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **keywords: Any) -> None:
        if len(args) > 3:  # the 4th argument is nonlinearity, only here
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        super().__init__(*args, **keywords)
        self.nonlinearity = nonlinearity
        _function(nonlinearity)

    def _step(self, suffix: str) -> Any:
        weights, function = self._of(suffix), _function(self.nonlinearity)
        return lambda x, state: (_rnn(x, state[0], *weights, function=function),)


class GRU(_Layers):
    """Gated recurrent network: `GRUCell` along sequences."""

    _gates = 3

    def _step(self, suffix: str) -> Any:
        weights = self._of(suffix)
        return lambda x, state: (core.gru_cell(x, state[0], *weights),)


class LSTM(_Layers):
    """LSTM network: `LSTMCell` along sequences; the state is (h, c).

    proj_size  project h to this size with a matrix
    """

    _gates = 4

    def _step(self, suffix: str) -> Any:
        weights = self._of(suffix)
        projection = self._parameters.get("weight_hr" + suffix)

        def step(x: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
            h, c = core.lstm_cell(x, *state, *weights)
            return (h if projection is None else F.linear(h, projection)), c

        return step

    def _start(self, x: Any) -> tuple[Any, ...]:
        (h,) = super()._start(x)
        return h, zeros(h.shape[0], h.shape[1], self.hidden_size, dtype=x.dtype)
