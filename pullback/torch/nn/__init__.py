"""`torch.nn`: the library's modules in PyTorch's names and argument orders."""

from __future__ import annotations

from typing import Any

from ... import nn as _nn
from ...core.tensor import Tensor as _CoreTensor
from ...core.tensor import wrap as _wrap
from ...nn.module import Module as _CoreModule
from ..tensor import Tensor as _Tensor
from ..tensor import tensor_of as _tensor_of
from . import functional as functional
from . import init as init
from . import utils as utils

__all__ = [
    "GELU",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "MSELoss",
    "Module",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "functional",
    "init",
    "utils",
]


class Parameter(_nn.Parameter, _Tensor):
    """A tensor that a module learns; it shares memory with the tensor it is made of.

    >>> import pullback.torch as torch
    >>> torch.nn.Parameter(torch.zeros(2)).requires_grad
    True
    """

    __slots__ = ()
    _out = _Tensor

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        _CoreTensor.__init__(self, _tensor_of(data)._data, requires_grad)

    __repr__ = _Tensor.__repr__


class Module(_CoreModule):
    """Base of layers and networks: give it attributes and a method `forward`, and call it.

    >>> import pullback.torch as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = torch.nn.Parameter(torch.ones(2))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> [name for name, _ in Scale().named_parameters()]
    ['scale']
    """

    def register_buffer(self, name: str, tensor: Any) -> None:
        """Keep a tensor that is not learnt."""
        setattr(self, name, tensor)

    def register_parameter(self, name: str, param: Any) -> None:
        """Keep a tensor that is learnt."""
        setattr(self, name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Keep a module inside."""
        setattr(self, name, module)

    def apply(self, fn: Any) -> Module:
        """Call a function with every module inside and this one; returns the module."""
        for module in reversed(self.modules()):
            fn(module)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of its parameters, or make them zeros."""
        for p in self.parameters():
            p.grad = None if set_to_none or p.grad is None else p.grad * 0

    def to(self, dtype: Any) -> Module:
        """Convert its floating parameters and buffers, in place; returns the module."""
        for _, t in self._tensors():
            if t.is_floating_point() and dtype != "cpu":
                t.data = t.detach().to(dtype)
                t.grad = None
        return self

    def state_dict(self) -> dict[str, Any]:
        """A snapshot of parameters and buffers by name: copies."""
        return {name: _wrap(_Tensor, t._data) for name, t in super().state_dict().items()}

    def double(self) -> Module:
        """Convert its parameters to float64."""
        return self.to("float64")

    def float(self) -> Module:
        """Convert its parameters to float32."""
        return self.to("float32")

    def _take_over(self) -> None:
        """Make what the core's constructor made tensors of this door."""
        for name, value in list(vars(self).items()):
            if isinstance(value, _CoreTensor) and not isinstance(value, _Tensor):
                mine = _wrap(_Tensor, value._data)
                learnt = isinstance(value, _nn.Parameter)
                setattr(self, name, Parameter(mine, value.requires_grad) if learnt else mine)


class Linear(Module, _nn.Linear):
    """x @ weight.T + bias; weight is (out_features, in_features).

    >>> import pullback.torch as torch
    >>> torch.nn.Linear(3, 2)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        _nn.Linear.__init__(self, in_features, out_features, bias, dtype=dtype or "float32")
        self._take_over()
        self.in_features, self.out_features = in_features, out_features

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        return functional.linear(x, self.weight, self.bias)


class Conv2d(Module, _nn.Conv2d):
    """The convolution of (examples, channels, height, width)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        _nn.Conv2d.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            dtype=dtype or "float32",
        )
        self._take_over()

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        return functional.conv2d(x, self.weight, self.bias, self.stride, self.padding,
                                 self.dilation, self.groups)


class Embedding(Module, _nn.Embedding):
    """A row of a table for each integer; the first values are normal."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, device: Any = None, dtype: Any = None
    ) -> None:
        _nn.Embedding.__init__(self, num_embeddings, embedding_dim, dtype=dtype or "float32")
        self._take_over()


class LayerNorm(Module, _nn.LayerNorm):
    """Normalises each example over its last axes, then scales and shifts each entry."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        _nn.LayerNorm.__init__(
            self, normalized_shape, eps, elementwise_affine, dtype=dtype or "float32"
        )
        self._take_over()


class BatchNorm1d(Module, _nn.BatchNorm):
    """Normalises each channel (axis 1), in training by the batch's statistics."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: Any = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        _nn.BatchNorm.__init__(
            self, num_features, eps, momentum, affine, track_running_stats,
            dtype=dtype or "float32",
        )
        self._take_over()

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        out = _nn.BatchNorm.forward(self, x)
        self._take_over()  # the running averages are new tensors
        return out


class BatchNorm2d(BatchNorm1d):
    """The same for images."""


class Flatten(Module):
    """Some neighbouring axes as one, by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        return x.flatten(self.start_dim, self.end_dim)


class Dropout(Module, _nn.Dropout):
    """In training, entries are 0 with probability p and the others divided by 1 - p."""

    def __init__(self, p: Any = 0.5, inplace: bool = False) -> None:
        _nn.Dropout.__init__(self, p)
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        return functional.dropout(x, self.p, self.training, self.inplace)


class Sequential(Module, _nn.Sequential):
    """Layers one after the other."""


class ModuleList(Module, _nn.Sequential):
    """Modules in a list."""

    def __init__(self, modules: Any = ()) -> None:
        _nn.Sequential.__init__(self, *modules)

    def append(self, module: Any) -> ModuleList:
        """Take one more module; returns the list."""
        self.layers.append(module)
        return self


class Identity(Module):
    """x."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        """Takes whatever another layer would take."""

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        return x


class ReLU(Module):
    """max(x, 0), if asked for written over x."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        return functional.relu(x, self.inplace)


class LeakyReLU(Module):
    """x where it is positive, else slope · x."""

    def __init__(self, negative_slope: Any = 0.01, inplace: bool = False) -> None:
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, x: Any) -> Any:
        """What calling it computes."""
        return functional.leaky_relu(x, self.negative_slope, self.inplace)


class Tanh(Module, _nn.Tanh):
    """tanh(x)."""


class Sigmoid(Module, _nn.Sigmoid):
    """1 / (1 + exp(-x))."""


class SiLU(Module, _nn.SiLU):
    """x · sigmoid(x)."""


class Softplus(Module, _nn.Softplus):
    """log(1 + exp(beta · x)) / beta."""


class GELU(Module, _nn.GELU):
    """x · Φ(x), or its approximation by a tanh."""


class Softmax(Module, _nn.Softmax):
    """exp(x) / Σ exp(x) along an axis."""

    def __init__(self, dim: int) -> None:
        _nn.Softmax.__init__(self, dim)


class _Loss(Module):
    def __init__(self, *, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: Any, target: Any) -> Any:
        """What calling it computes."""
        return type(self)._function(input, target, reduction=self.reduction)  # type: ignore[attr-defined]


class MSELoss(_Loss):
    """(input - target)²."""

    _function = staticmethod(functional.mse_loss)


class L1Loss(_Loss):
    """|input - target|."""

    _function = staticmethod(functional.l1_loss)


class NLLLoss(_Loss):
    """-input of the target's class."""

    _function = staticmethod(functional.nll_loss)


class BCEWithLogitsLoss(_Loss):
    """-t log(p) - (1 - t) log(1 - p) with p = sigmoid(input)."""

    _function = staticmethod(functional.binary_cross_entropy_with_logits)


class CrossEntropyLoss(Module):
    """-log(softmax(input)) of the target's class."""

    def __init__(self, *, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        self.reduction, self.label_smoothing = reduction, label_smoothing

    def forward(self, input: Any, target: Any) -> Any:
        """What calling it computes."""
        return functional.cross_entropy(
            input, target, reduction=self.reduction, label_smoothing=self.label_smoothing
        )
