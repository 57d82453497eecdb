"""Convolution, pooling, padding and patch modules."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, ClassVar

from ...errors import ArgumentError
from . import functional as F
from .configured import NEEDED, Configured
from .weighted import Weighted

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
]


def _each(value: Any, d: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * d


class _Conv(Weighted):
    """A convolution over d axes, or a transposed one."""

    _d: ClassVar[int]
    _function: ClassVar[Callable[..., Any]]
    _transposed: ClassVar[bool] = False

    def _build(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        output_padding: Any, dilation: Any, groups: int, bias: bool, padding_mode: str, dtype: Any,
    ) -> None:
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"argument `groups` of {type(self).__name__}",
                "a common divisor of in_channels and out_channels",
                f"{groups}, with {in_channels} and {out_channels}",
            )
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ArgumentError("argument `padding_mode`", "zeros, reflect, replicate or circular",
                                repr(padding_mode))
        d = self._d
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _each(kernel_size, d), _each(stride, d)
        self.padding = padding if isinstance(padding, str) else _each(padding, d)
        self.dilation, self.output_padding = _each(dilation, d), _each(output_padding, d)
        self.padding_mode, self.transposed = padding_mode, self._transposed
        first, second = out_channels, in_channels
        if self._transposed:
            first, second = second, first
        window = (second // groups, *self.kernel_size)
        self._make(math.prod(window), dtype, weight=(first, *window),
                   bias=(out_channels,) if bias else None)

    def extra_repr(self) -> str:
        """The channels, and the non-default options."""
        d = self._d
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}",
                 f"stride={self.stride}"]
        if self.padding != (0,) * d:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * d:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * d:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Forward(_Conv):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self._build(in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups,
                    bias, padding_mode, dtype)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._widths(), self.padding_mode), (0,) * self._d
        return type(self)._function(input, self.weight, self.bias, self.stride, padding,
                                    self.dilation, self.groups)

    def _widths(self) -> list[int]:
        """The widths in the order that `pad` expects: last axis first."""
        if self.padding == "same":
            totals = [a * (n - 1) for a, n in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(t // 2, t - t // 2) for t in totals]
        else:
            pairs = [(p, p) for p in _each(0 if self.padding == "valid" else self.padding, self._d)]
        return [n for pair in reversed(pairs) for n in pair]


class Conv1d(_Forward):
    """1-D convolution of (batch, channels, length)."""

    _d, _function = 1, staticmethod(F.conv1d)


class Conv2d(_Forward):
    """2-D convolution of (batch, channels, height, width).

    >>> import pullback.torch as torch
    >>> torch.nn.Conv2d(3, 8, 5, padding=2)(torch.ones(1, 3, 16, 16)).shape
    torch.Size([1, 8, 16, 16])
    """

    _d, _function = 2, staticmethod(F.conv2d)


class Conv3d(_Forward):
    """3-D convolution of (batch, channels, depth, height, width)."""

    _d, _function = 3, staticmethod(F.conv3d)


class _Backward(_Conv):
    _transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self._build(in_channels, out_channels, kernel_size, stride, padding, output_padding,
                    dilation, groups, bias, padding_mode, dtype)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """Compute the layer's output; output_size optionally gives the lengths of the result."""
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        return type(self)._function(input, self.weight, self.bias, self.stride, self.padding,
                                    extra, self.groups, self.dilation)

    def _extra(self, input: Any, output_size: Any) -> tuple[int, ...]:
        d = self._d
        lengths = zip(tuple(output_size)[-d:], tuple(input.shape)[-d:], self.stride, self.padding,
                      self.dilation, self.kernel_size, strict=True)
        return tuple(
            size - ((n - 1) * s - 2 * p + a * (k - 1) + 1) for size, n, s, p, a, k in lengths
        )


class ConvTranspose1d(_Backward):
    """Transposed 1-D convolution."""

    _d, _function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_Backward):
    """Transposed 2-D convolution."""

    _d, _function = 2, staticmethod(F.conv_transpose2d)


# Pooling, padding, patches: created in a loop, since they differ only in the number of axes ----


def _made(
    base: type, name: str, function: Any, doc: str, options: Any = None, show: str | None = None,
    **members: Any,
) -> None:
    body = {"__doc__": doc, "__module__": __name__, "__qualname__": name, **members}
    how = {"function": function, "options": options, "show": show}
    globals()[name] = types.new_class(name, (base,), how, lambda space: space.update(body))
    __all__.append(name)


class _MaxPool(Configured, show="kernel_size stride padding dilation ceil_mode"):
    kernel_size: Any
    stride: Any

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.stride = self.kernel_size if self.stride is None else self.stride


class _AvgPool(_MaxPool, show="kernel_size stride padding"):
    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if "divisor_override" not in self._chosen():  # 1-D pooling keeps tuples
            for name in ("kernel_size", "stride", "padding"):
                setattr(self, name, _each(getattr(self, name), 1))


class _MaxUnpool(_MaxPool, show="kernel_size stride padding"):
    _d: ClassVar[int]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, _each(getattr(self, name), self._d))

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """Compute the layer's output."""
        unpool = type(self)._function
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _Pad(Configured):
    padding: Any
    _d: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.padding = _each(self.padding, 2 * self._d)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.pad(input, self.padding, self._mode, getattr(self, "value", 0.0))

    def extra_repr(self) -> str:
        """The widths and the fill value."""
        if "value" in self._chosen():
            return f"padding={self.padding}, value={self.value}"
        return f"{self.padding}"


_WINDOW = {"kernel_size": NEEDED, "stride": None, "padding": 0}
_PADS = {
    "ConstantPad": "constant", "ZeroPad": "constant", "ReflectionPad": "reflect",
    "ReplicationPad": "replicate", "CircularPad": "circular",
}


def _make_all() -> None:
    for d in (1, 2, 3):
        _made(_MaxPool, f"MaxPool{d}d", getattr(F, f"max_pool{d}d"), "The maximum of each window.",
              options={**_WINDOW, "dilation": 1, "return_indices": False, "ceil_mode": False})
        more: dict[str, Any] = {"ceil_mode": False, "count_include_pad": True}
        more |= {"divisor_override": None} if d > 1 else {}
        _made(_AvgPool, f"AvgPool{d}d", getattr(F, f"avg_pool{d}d"), "The mean of each window.",
              options={**_WINDOW, **more})
        _made(Configured, f"LPPool{d}d", getattr(F, f"lp_pool{d}d"), "(Σ xᵖ)^(1/p) of each window.")
        _made(_MaxUnpool, f"MaxUnpool{d}d", getattr(F, f"max_unpool{d}d"),
              "The inverse of max pooling.", options=_WINDOW, _d=d)
        _made(Configured, f"AdaptiveAvgPool{d}d", getattr(F, f"adaptive_avg_pool{d}d"),
              "The means over a given number of windows.", options={"output_size": NEEDED})
        _made(Configured, f"AdaptiveMaxPool{d}d", getattr(F, f"adaptive_max_pool{d}d"),
              "The maxima over a given number of windows.",
              options={"output_size": NEEDED, "return_indices": False}, show="output_size")
        for name, mode in _PADS.items():
            options = {"padding": NEEDED, "value": NEEDED} if name == "ConstantPad" else {
                "padding": NEEDED
            }
            _made(_Pad, f"{name}{d}d", F.pad, f"Pads the last axes with mode {mode!r}.",
                  options=options, _mode=mode, _d=d)


_make_all()


class Unfold(Configured, function=F.unfold):
    """Extracts sliding windows, each as a column (im2col)."""


class Fold(Configured, function=F.fold):
    """Sums columns into an image, the transpose of `Unfold` (col2im)."""


class PixelShuffle(Configured, function=F.pixel_shuffle):
    """Moves channels to space."""


class PixelUnshuffle(Configured, function=F.pixel_unshuffle):
    """Moves space to channels."""


class ChannelShuffle(Configured, function=F.channel_shuffle):
    """Interleaves the channels of several groups."""


class Upsample(Configured, function=F.interpolate, options={
    "size": None, "scale_factor": None, "mode": "nearest", "align_corners": None,
    "recompute_scale_factor": None,
}):
    """Resizes the spatial axes."""

    def extra_repr(self) -> str:
        """The factor or the lengths, and the mode."""
        factor = self.scale_factor
        shown = f"size={self.size}" if factor is None else f"scale_factor={float(factor)}"
        return f"{shown}, mode={self.mode!r}"


__all__ += [
    "ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample",
]
