"""Normalization layers."""

from __future__ import annotations

from typing import Any, ClassVar

from ...errors import ShapeError
from .. import dtypes
from ..creation import ones, zeros
from . import functional as F
from .configured import Configured
from .module import Module
from .parameter import Parameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "LocalResponseNorm", "RMSNorm",
]


class _Norm(Module):
    def _affine(self, shape: Any, weight: bool, bias: bool, dtype: Any) -> None:
        for name, made, wanted in (("weight", ones, weight), ("bias", zeros, bias)):
            value = Parameter(made(shape, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)

    def reset_parameters(self) -> None:
        """Reset weights to 1 and biases to 0."""
        for name, value in (("weight", 1), ("bias", 0)):
            p = self._parameters.get(name)
            if p is not None:
                p.data.fill_(value)


class LayerNorm(_Norm):
    """Layer normalization over the last axes, then an affine map per entry.

    >>> import pullback.torch as torch
    >>> torch.nn.LayerNorm(2, eps=0.0)(torch.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        single = isinstance(normalized_shape, int)
        self.normalized_shape = (normalized_shape,) if single else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The shape and the options."""
        shown = f"{self.normalized_shape}, eps={self.eps}"
        bias = f", bias={self.bias is not None}" if hasattr(self, "bias") else ""
        return f"{shown}, elementwise_affine={self.elementwise_affine}{bias}"


class RMSNorm(LayerNorm):
    """Divides by the root mean square over the last axes, then scales."""

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, 0.0, elementwise_affine, False, dtype=dtype)
        self.eps = eps  # type: ignore[assignment]
        del self.bias

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Norm):
    """Normalizes each group of channels per example."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"argument `num_groups` of GroupNorm: expected a divisor of {num_channels}, "
                f"got {num_groups}"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._affine((num_channels,), affine, affine and bias, dtype)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The sizes and the options."""
        shown = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{shown}, bias={self.bias is not None}"


class _Running(_Norm):
    """Base class of layers with running statistics."""

    _axes: ClassVar[tuple[int, ...]]

    def _make(
        self, num_features: int, eps: float, momentum: Any, affine: bool, track: bool, dtype: Any,
        bias: bool,
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track
        self._affine((num_features,), affine, affine and bias, dtype)
        buffers = {
            "running_mean": zeros(num_features, dtype=dtype),
            "running_var": ones(num_features, dtype=dtype),
            "num_batches_tracked": zeros((), dtype=dtypes.int64),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value if track else None)

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        if self.track_running_stats:
            for name, value in (("running_mean", 0), ("running_var", 1),
                                ("num_batches_tracked", 0)):
                self._buffers[name].fill_(value)

    def reset_parameters(self) -> None:
        """Reset the parameters and the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check(self, input: Any) -> None:
        shape = tuple(input.shape)
        if len(shape) not in self._axes:
            wanted = " or ".join(map(str, self._axes))
            raise ShapeError(f"input of {type(self).__name__}", f"{wanted} axes", f"shape {shape}")

    def extra_repr(self) -> str:
        """The size and the options."""
        options = f"eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        options += f", bias={self.bias is not None}"
        return f"{self.num_features}, {options}, track_running_stats={self.track_running_stats}"


class _BatchNorm(_Running):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__()
        self._make(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        self._check(input)
        share, mean, variance = self.momentum, self.running_mean, self.running_var
        if self.training and mean is not None:
            self.num_batches_tracked += 1
            share = 1 / self.num_batches_tracked.item() if share is None else share
        return F.batch_norm(
            input, mean, variance, self.weight, self.bias, self.training or mean is None,
            share or 0.0, self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of each channel (axis 1); training uses the batch's statistics."""

    _axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images."""

    _axes = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes."""

    _axes = (5,)


class _InstanceNorm(_Running):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self._make(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        self._check(input)
        single = len(input.shape) == self._axes[0]
        x = input.unsqueeze(0) if single else input
        own = self.training or not self.track_running_stats
        out = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own,
                              self.momentum or 0.0, self.eps)
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel per example."""

    _axes = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images."""

    _axes = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes."""

    _axes = (4, 5)


class LocalResponseNorm(Configured, function=F.local_response_norm):
    """Local response normalization: x / (k + alpha · mean of adjacent channels' squares)^beta."""

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
