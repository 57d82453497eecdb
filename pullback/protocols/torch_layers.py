"""Rules of PyTorch's functions for shapes, products, layers and losses."""

from __future__ import annotations

from typing import Any

from .table import pb
from .torch_rules import axes_of, rule

# Shapes -------------------------------------------------------------------------------------


@rule("reshape")
def _reshape(input: Any, shape: Any) -> Any:
    return pb.reshape(input, tuple(shape))


@rule("flatten")
def _flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape, last = input.shape, end_dim % max(1, input.ndim)
    return pb.reshape(input, (*shape[:start_dim], -1, *shape[last + 1 :]))


@rule("transpose", "swapaxes", "swapdims")
def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    axes = list(range(input.ndim))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return pb.permute_dims(input, tuple(axes))


@rule("t")
def _t(input: Any) -> Any:
    return input if input.ndim < 2 else input.T


@rule("permute")
def _permute(input: Any, dims: Any) -> Any:
    return pb.permute_dims(input, tuple(dims))


@rule("movedim", "moveaxis")
def _movedim(input: Any, source: Any, destination: Any) -> Any:
    return pb.moveaxis(input, source, destination)


@rule("squeeze")
def _squeeze(input: Any, dim: Any = None) -> Any:
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return pb.squeeze(input, tuple([d for d in dims if input.shape[d] == 1]))


@rule("unsqueeze")
def _unsqueeze(input: Any, dim: int) -> Any:
    return pb.expand_dims(input, axis=dim)


@rule("broadcast_to")
def _broadcast_to(input: Any, size: Any) -> Any:
    return pb.broadcast_to(input, tuple(size))


@rule("cat", "concat", "concatenate")
def _cat(tensors: Any, dim: int = 0) -> Any:
    return pb.concat(list(tensors), axis=dim)


@rule("stack")
def _stack(tensors: Any, dim: int = 0) -> Any:
    return pb.stack(list(tensors), axis=dim)


@rule("unbind")
def _unbind(input: Any, dim: int = 0) -> Any:
    return tuple(pb.unstack(input, axis=dim))


@rule("split")
def _split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        n = tensor.shape[dim]
        sizes = [min(sizes, n - start) for start in range(0, n, sizes)]
    return pb.split(tensor, tuple(sizes), axis=dim)


@rule("flip")
def _flip(input: Any, dims: Any) -> Any:
    return pb.flip(input, axis=axes_of(dims))


@rule("roll")
def _roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    return pb.roll(input, shifts, axis=axes_of(dims))


@rule("tile")
def _tile(input: Any, dims: Any) -> Any:
    return pb.tile(input, tuple(dims))


@rule("tril")
def _tril(input: Any, diagonal: int = 0) -> Any:
    return pb.tril(input, k=diagonal)


@rule("triu")
def _triu(input: Any, diagonal: int = 0) -> Any:
    return pb.triu(input, k=diagonal)


@rule("gather")
def _gather(input: Any, dim: int, index: Any) -> Any:
    if tuple(index.shape[:dim]) != tuple(input.shape[:dim]) or dim % input.ndim < input.ndim - 1:
        here = tuple([slice(n) for n in index.shape])
        input = input[tuple([slice(None) if i == dim % input.ndim else s
                             for i, s in enumerate(here)])]
    return pb.take_along_axis(input, index, axis=dim)


@rule("index_select")
def _index_select(input: Any, dim: int, index: Any) -> Any:
    return pb.take(input, index, axis=dim)


@rule("diff")
def _diff(input: Any, n: int = 1, dim: int = -1) -> Any:
    return pb.diff(input, n=n, axis=dim)


# Products, layers, losses -------------------------------------------------------------------


@rule("einsum")
def _einsum(equation: str, *operands: Any) -> Any:
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    return pb.einsum(equation.replace(" ", ""), *operands)


@rule("tensordot")
def _tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    return pb.tensordot(a, b, axes=dims)


@rule("inner")
def _inner(input: Any, other: Any) -> Any:
    return pb.tensordot(input, other, axes=((-1,), (-1,)))


@rule("addmm")
def _addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return input * beta + (mat1 @ mat2) * alpha


@rule("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    found = input @ (weight.mT if weight.ndim > 1 else weight)
    return found if bias is None else found + bias


@rule("conv1d")
def _conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:
    return pb.conv1d(
        input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


@rule("conv2d")
def _conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:
    return pb.conv2d(
        input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


@rule("embedding")
def _embedding(input: Any, weight: Any) -> Any:
    return pb.embedding(weight, input)


@rule("layer_norm")
def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    axes = tuple(range(-len(normalized_shape), 0))
    return pb.layer_norm(input, weight, bias, axes=axes, eps=eps)


@rule("mse_loss")
def _mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    return pb.mse_loss(input, target, reduction=reduction)


@rule("l1_loss")
def _l1_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    return pb.l1_loss(input, target, reduction=reduction)


@rule("huber_loss")
def _huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0
) -> Any:
    return pb.huber_loss(input, target, delta=delta, reduction=reduction)


@rule("cross_entropy")
def _cross_entropy(
    input: Any, target: Any, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    return pb.cross_entropy(
        input, target, axis=1 if input.ndim > 1 else 0, reduction=reduction,
        label_smoothing=label_smoothing,
    )


@rule("nll_loss")
def _nll_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    return pb.nll_loss(input, target, axis=1 if input.ndim > 1 else 0, reduction=reduction)
