"""Multi-head attention and transformer layers."""

from __future__ import annotations

import copy
import math
from typing import Any

from ...errors import ArgumentError
from ...nn import functional as core
from .. import dtypes
from ..creation import empty, full, zeros
from ..elementwise import where
from ..errors import guarded
from . import functional as F
from . import init
from .containers import ModuleList
from .layers import Dropout, Linear
from .module import Module
from .norms import LayerNorm
from .parameter import Parameter

__all__ = [
    "MultiheadAttention", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _added(mask: Any, dtype: Any) -> Any:
    """An additive mask; a boolean mask is True where attention is not allowed."""
    if mask.dtype != dtypes.bool:
        return mask
    return where(mask, full((), -math.inf, dtype=dtype), zeros((), dtype=dtype))


class MultiheadAttention(Module):
    """Multi-head attention; each head has its share of embed_dim (Vaswani et al., 2017).

    Masks are True, or -infinity, where attention is not allowed.

    >>> import pullback.torch as torch
    >>> x = torch.randn(5, 2, 8)
    >>> out, weights = torch.nn.MultiheadAttention(8, 2)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads or add_bias_kv or add_zero_attn:
            raise ArgumentError("MultiheadAttention", "heads that divide embed_dim, no added k, v",
                                f"{embed_dim}, {num_heads}, {add_bias_kv=}, {add_zero_attn=}")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.batch_first, self.head_dim = batch_first, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        same = self.kdim == self.vdim == embed_dim
        shapes = {
            "q_proj_weight": None if same else (embed_dim, embed_dim),
            "k_proj_weight": None if same else (embed_dim, self.kdim),
            "v_proj_weight": None if same else (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim) if same else None,
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        for name, shape in shapes.items():
            value = None if shape is None else Parameter(empty(shape, dtype=dtype))
            self.register_parameter(name, value)
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype)
        for name in shapes:
            p = self._parameters[name]
            if p is not None:
                init.zeros_(p) if "bias" in name else init.xavier_uniform_(p)
        if bias:
            init.zeros_(self.out_proj.bias)

    def _projected(self, query: Any, key: Any, value: Any) -> list[Any]:
        biases: Any = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3)
        rows = zip((query, key, value), weights, biases, strict=True)
        return [F.linear(x, w, b) for x, w, b in rows]

    def _heads(self, x: Any) -> Any:
        """Reshape (batch, steps, embed_dim) to (batch, heads, steps, head_dim)."""
        return x.reshape(*x.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)

    def _mask(self, mask: Any, padding: Any, dtype: Any) -> Any:
        """Both masks combined, to add to (batch, heads, queries, keys)."""
        found = None
        if mask is not None:
            found = _added(mask, dtype)
            if len(mask.shape) == 3:
                found = found.reshape(-1, self.num_heads, *mask.shape[1:])
        if padding is not None:
            hidden = _added(padding, dtype)[:, None, None, :]
            found = hidden if found is None else found + hidden
        return found

    @guarded
    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None,
        need_weights: bool = True, attn_mask: Any = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Returns the output, and the attention weights (averaged over heads, or per head)."""
        single = len(query.shape) == 2
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = (self._heads(x) for x in self._projected(query, key, value))
        out, weights = core.attention(
            q, k, v, self._mask(attn_mask, key_padding_mask, query.dtype),
            dropout=self.dropout if self.training else 0.0,
        )
        out = self.out_proj(out.transpose(1, 2).reshape(*query.shape[:2], self.embed_dim))
        if single:
            out, weights = out.squeeze(0), weights.squeeze(0)
        elif not self.batch_first:
            out = out.transpose(0, 1)
        if not need_weights:
            return out, None
        return out, weights.mean(-3) if average_attn_weights else weights


class _Layer(Module):
    """Shared by encoder and decoder layers."""

    def _make(
        self, d_model: int, nhead: int, dim_feedforward: int, dropout: float, activation: Any,
        eps: float, batch_first: bool, norm_first: bool, bias: bool, dtype: Any, norms: int,
    ) -> None:
        for name in ("self_attn", "multihead_attn")[: norms - 1]:
            setattr(self, name, MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype
            ))
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        for i in range(1, norms + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps, bias=bias, dtype=dtype))
        for i in range(1, norms + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.norm_first = norm_first
        self.activation = getattr(F, activation) if isinstance(activation, str) else activation

    def _feed(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _around(self, x: Any, number: int, block: Any) -> Any:
        """x + dropout(block(x)), with the norm before the block or after the sum."""
        norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + drop(block(norm(x)))
        return norm(x + drop(block(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual connection and a norm."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self._make(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                   batch_first, norm_first, bias, dtype, 2)

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Any:
        """Compute the layer's output."""
        def look(x: Any) -> Any:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0]

        return self._around(self._around(src, 1, look), 2, self._feed)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self._make(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                   batch_first, norm_first, bias, dtype, 3)

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:
        """Compute the layer's output."""
        def look(x: Any) -> Any:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0]

        def recall(x: Any) -> Any:
            return self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask
            )[0]

        x = self._around(self._around(tgt, 1, look), 2, recall)
        return self._around(x, 3, self._feed)


class _Stack(Module):
    def __init__(self, layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x: Any, *args: Any, **keywords: Any) -> Any:
        for layer in self.layers:
            x = layer(x, *args, **keywords)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of copies of an encoder layer."""

    def __init__(
        self, encoder_layer: Any, num_layers: int, norm: Any = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Any:
        """Compute the layer's output."""
        return self._through(src, mask, src_key_padding_mask)


class TransformerDecoder(_Stack):
    """A stack of copies of a decoder layer, which share the encoder's output `memory`."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Any, memory: Any, *masks: Any, **keywords: Any) -> Any:
        """Compute the layer's output."""
        return self._through(tgt, memory, *masks, **keywords)
