"""Layers of `torch.nn.functional`."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .... import ops
from ....core.inplace import overwrite
from ....core.tensor import raw
from ....errors import ArgumentError, DtypeError, ShapeError
from ....lost_paths import held_fixed
from ....nn import functional as core
from ....random import default_generator
from ....recording import no_grad
from ...creation import made
from ...dtypes import finfo
from ...errors import as_runtime, guarded
from ...products import renorm
from ...reductions import norm
from ...scalars import of_scalars
from ...shaping import lengths
from .activations import placed

__all__ = [
    "alpha_dropout", "batch_norm", "bilinear", "dropout", "dropout1d", "dropout2d", "dropout3d",
    "embedding", "embedding_bag", "feature_alpha_dropout", "group_norm", "instance_norm",
    "layer_norm", "linear", "local_response_norm", "normalize", "one_hot", "rms_norm",
    "scaled_dot_product_attention",
]


@guarded
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias."""
    turned = ops.matrix_transpose(weight) if len(weight.shape) == 2 else weight
    out = ops.matmul(input, turned)
    return out if bias is None else out + bias


@guarded
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1ᵀ weight[k] input2 + bias[k] for each k."""
    out = ops.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


# Dropout ------------------------------------------------------------------------------------


def _check_p(p: float, subject: str) -> None:
    if not 0 <= p <= 1:
        raise as_runtime(
            ArgumentError(f"argument `p` of `{subject}`", "a number in [0, 1]", f"{p}")
        )


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, sets entries to 0 with probability p and scales the others by 1 / (1 - p)."""
    _check_p(p, "dropout")
    return placed(lambda x: ops.dropout(x, p, training=training), input, inplace and training)


def _channels(input: Any, p: float, axes: int) -> Any:
    """A mask: each channel is 0 with probability p, else 1."""
    shape = tuple(input.shape)
    shape = shape[: len(shape) - axes] + (1,) * axes
    return raw(default_generator().bernoulli(1 - p, shape, dtype=input.dtype))


def _dropped(input: Any, p: float, training: bool, inplace: bool, d: int) -> Any:
    """Dropout of whole channels, for inputs with d spatial axes."""
    _check_p(p, f"dropout{d}d")
    if not training or p == 0:
        return input
    axes = min(d, len(input.shape) - 1)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return placed(
        lambda x: x * ops.astype(_channels(x, p, axes) * scale, x.dtype), input, inplace
    )


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of (batch, channels, length)."""
    return _dropped(input, p, training, inplace, 1)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of images."""
    return _dropped(input, p, training, inplace, 2)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of volumes."""
    return _dropped(input, p, training, inplace, 3)


_LOW = -1.7580993408473766  # the limit of selu at -infinity


def _alpha(input: Any, p: float, training: bool, inplace: bool, axes: int) -> Any:
    _check_p(p, "alpha_dropout")
    if not training or p == 0:
        return input
    if p == 1:
        return placed(lambda x: x * 0, input, inplace)
    a = 1 / math.sqrt((1 - p) * (1 + p * _LOW * _LOW))

    def dropped(x: Any) -> Any:
        kept = _channels(x, p, axes)
        return x * ops.astype(kept * a, x.dtype) + ((1 - kept) * (a * _LOW) - a * _LOW * p)

    return placed(dropped, input, inplace)


def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Dropout for `selu` networks: keeps mean 0 and variance 1."""
    return _alpha(input, p, training, inplace, 0)


def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """`alpha_dropout` of whole channels (axis 1)."""
    return _alpha(input, p, training, inplace, max(0, len(input.shape) - 2))


# Normalization ------------------------------------------------------------------------------


@guarded
@of_scalars
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """Divides by the p-norm along an axis, or by eps if that is larger."""
    return input / ops.clip(norm(input, p, dim, keepdim=True), eps)


@guarded
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Layer normalization over the last axes, then an affine map."""
    return ops.layer_norm(input, weight, bias, axes=_last(input, normalized_shape), eps=eps)


@guarded
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """Divides by the root mean square over the last axes, then scales."""
    eps = finfo(input.dtype).eps if eps is None else eps
    return ops.rms_norm(input, weight, axes=_last(input, normalized_shape), eps=float(eps))


def _last(input: Any, shape: Any) -> tuple[int, ...]:
    shape = lengths([shape])
    if tuple(input.shape)[len(input.shape) - len(shape) :] != shape:
        raise ArgumentError("argument `normalized_shape`", f"the trailing axes of {input.shape}",
                            f"{shape}")
    return tuple(range(-len(shape), 0))


@guarded
def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:
    """Batch normalization of each channel (axis 1), then an affine map.

    Training uses the batch's statistics and updates the running ones; evaluation uses those.
    """
    if len(input.shape) < 2:
        raise ShapeError(
            "`batch_norm`", "at least two axes: batch and channels", f"shape {tuple(input.shape)}"
        )
    if not training:
        return ops.batch_norm(input, weight, bias, mean=running_mean, variance=running_var, eps=eps)
    n = math.prod(input.shape) / max(1, input.shape[1])
    if n <= 1:
        raise ArgumentError("`batch_norm` in training", "more than one value per channel",
                            f"shape {tuple(input.shape)}")
    if running_mean is not None:
        mean, variance = ops.batch_statistics(input.detach())
        with no_grad():
            for kept, new in ((running_mean, mean), (running_var, variance * (n / (n - 1)))):
                overwrite(kept, kept * (1 - momentum) + new * momentum, "batch_norm")
    return ops.batch_norm(input, weight, bias, eps=eps)


@guarded
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Group normalization: normalizes each group of channels per example."""
    return core.group_norm(input, num_groups, weight, bias, eps)


@guarded
def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:
    """Instance normalization: normalizes each channel per example, then an affine map.

    Updates the running statistics with means over the batch; uses them if not use_input_stats.
    """
    if not use_input_stats:
        return ops.batch_norm(input, weight, bias, mean=running_mean, variance=running_var, eps=eps)
    if running_mean is not None:
        axes = tuple(range(2, len(input.shape)))
        x = input.detach()
        found = ops.mean(x, axis=axes), ops.var(x, axis=axes, correction=1)
        with no_grad():
            for kept, new in zip((running_mean, running_var), found, strict=True):
                now = kept * (1 - momentum) + ops.mean(new, axis=0) * momentum
                overwrite(kept, now, "instance_norm")
    return core.instance_norm(input, weight, bias, eps)


@guarded
def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """Local response normalization: x / (k + alpha · mean of adjacent channels' squares)^beta."""
    return core.local_response_norm(input, size, alpha, beta, k)


# Embeddings ---------------------------------------------------------------------------------


def _cut_rows(weight: Any, indices: Any, max_norm: float, order: float) -> None:
    """Scale the rows to look up to norms of at most max_norm, in place."""
    with no_grad():
        rows = ops.unique_values(indices)
        cut = renorm(ops.take(weight.detach(), rows, axis=0), order, 0, max_norm)
        overwrite(weight, ops.set_at(weight.detach(), cut, rows), "embedding")


@guarded
def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:
    """Looks up rows of a table for integer indices.

    padding_idx  a row that receives no gradient
    max_norm     scale the rows that are looked up to at most this norm, in place
    sparse       accepted and ignored: gradients are dense

    Raises an error for scale_grad_by_freq=True.
    """
    if scale_grad_by_freq:
        raise ArgumentError("argument `scale_grad_by_freq` of `embedding`", "False", "True")
    if max_norm is not None:
        _cut_rows(weight, input, max_norm, norm_type)
    out = ops.embedding(weight, input)
    if padding_idx is None:
        return out
    padding_idx %= weight.shape[0]
    still = ops.expand_dims(input == padding_idx, axis=-1)
    return ops.where(still, held_fixed(out), out)


@guarded
def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums or means of table rows: one bag per row of indices, or bags that begin at the offsets
    in a vector of indices.

    Raises an error for the mode "max".
    """
    if mode not in ("sum", "mean"):
        raise ArgumentError("argument `mode` of `embedding_bag`", "'sum' or 'mean'", repr(mode))
    if len(input.shape) == 2:
        bags = input.shape[0]
        places = numpy.repeat(numpy.arange(bags), input.shape[1])
        per_sample_weights = None if per_sample_weights is None else ops.reshape(
            per_sample_weights, (-1,)
        )
        input = ops.reshape(input, (-1,))
    else:
        starts = numpy.asarray(raw(offsets))
        starts = starts[:-1] if include_last_offset else starts
        bags = len(starts)
        places = numpy.searchsorted(starts, numpy.arange(input.shape[0]), side="right") - 1
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    counted = numpy.ones(len(places), dtype=weight.dtype)
    if padding_idx is not None:
        counted = counted * (numpy.asarray(raw(input)) != padding_idx % weight.shape[0])
        rows = rows * counted[:, None].astype(weight.dtype)
    if per_sample_weights is not None:
        rows = rows * ops.expand_dims(per_sample_weights, axis=-1)
    zeros = made(numpy.zeros((bags, weight.shape[1]), weight.dtype))
    out = ops.add_at(zeros, rows, places)
    if mode == "sum":
        return out
    counts = numpy.bincount(places, counted, bags).clip(1)
    return out / counts[:, None].astype(weight.dtype)


@guarded
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """One-hot encoding: a row of zeros with a 1 at the class, for each integer.

    >>> import pullback.torch as torch
    >>> one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    classes = numpy.asarray(raw(tensor))
    if classes.dtype.kind != "i":
        raise DtypeError("`one_hot`", "integers", f"{classes.dtype}", "write x.long()")
    count = int(classes.max()) + 1 if num_classes == -1 else num_classes
    if classes.size and not 0 <= classes.min() <= classes.max() < count:
        raise ArgumentError("`one_hot`", f"classes in [0, {count})", f"{classes.tolist()}")
    return made((classes[..., None] == numpy.arange(count)).astype(numpy.int64))


@guarded
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:
    """softmax(query keyᵀ / √d + mask) value; a boolean mask is True where attention is allowed.

    enable_gqa  key and value have fewer heads; each serves several adjacent query heads
    """
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = (ops.repeat(v, times, axis=-3) for v in (key, value))
    return core.attention(
        query, key, value, attn_mask, dropout=dropout_p, causal=is_causal, scale=scale
    )[0]
