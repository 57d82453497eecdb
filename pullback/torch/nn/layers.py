"""Linear layers, embeddings, dropout, reshaping layers."""

from __future__ import annotations

from typing import Any

from ..creation import empty
from ..shaping import flatten
from . import functional as F
from . import init
from .configured import Configured
from .functional.layers import _check_p
from .module import Module
from .parameter import Parameter
from .weighted import Weighted

__all__ = [
    "AlphaDropout", "Bilinear", "CosineSimilarity", "Dropout", "Dropout1d", "Dropout2d",
    "Dropout3d", "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "Identity",
    "Linear", "PairwiseDistance", "Unflatten",
]


class Identity(Module):
    """Returns its input."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        """Accepts and ignores any arguments."""
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return input


class Linear(Weighted):
    """x @ weight.T + bias; weight has shape (out_features, in_features).

    Initialized uniformly in ±1 / √in_features.

    >>> import pullback.torch as torch
    >>> torch.nn.Linear(3, 2)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._make(in_features, dtype, weight=(out_features, in_features),
                   bias=(out_features,) if bias else None)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Bilinear(Weighted):
    """x1ᵀ weight[k] x2 + bias[k] for each k."""

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self._make(in1_features, dtype, weight=(out_features, in1_features, in2_features),
                   bias=(out_features,) if bias else None)

    def forward(self, input1: Any, input2: Any) -> Any:
        """Compute the layer's output."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        names = ("in1_features", "in2_features", "out_features")
        sizes = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"{sizes}, bias={self.bias is not None}"


class Embedding(Module):
    """Looks up rows of a table for integer indices; initialized from a normal distribution.

    padding_idx  a row that is initialized to 0 and receives no gradient
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Any = None, _freeze: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            _weight = empty(num_embeddings, embedding_dim, dtype=dtype)
            self.weight = Parameter(_weight, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Any:
        """A layer with the given table; frozen by default."""
        count, size = embeddings.shape
        made = cls(count, size, _weight=embeddings, **options)
        made.weight.requires_grad_(not freeze)
        return made

    def reset_parameters(self) -> None:
        """Initialize the table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        """The sizes, and the non-default options."""
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        for name, value in usual.items():
            if getattr(self, name) != value:
                shown += f", {name}={getattr(self, name)}"
        return shown + (", sparse=True" if self.sparse else "")


class EmbeddingBag(Embedding):
    """Sums or means of table rows."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, _weight: Any = None, include_last_offset: bool = False,
        padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq,
            sparse, _weight, dtype=dtype,
        )
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Compute the layer's output."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes and the mode."""
        return f"{super().extra_repr()}, mode={self.mode!r}"


class Flatten(Configured, function=flatten, options={"start_dim": 1, "end_dim": -1}):
    """Flattens adjacent axes into one, by default all but the first."""


class Unflatten(Module):
    """Unflattens one axis into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The axis and its new lengths."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class _Dropout(Configured, options={"p": 0.5, "inplace": False}, show="p inplace"):
    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        _check_p(self.p, type(self).__name__)

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return type(self)._function(input, self.p, self.training, self.inplace)


class Dropout(_Dropout, function=F.dropout):
    """In training, sets entries to 0 with probability p and scales the others by 1 / (1 - p)."""


class Dropout1d(_Dropout, function=F.dropout1d):
    """Dropout of whole channels of (batch, channels, length)."""


class Dropout2d(_Dropout, function=F.dropout2d):
    """Dropout of whole channels of images."""


class Dropout3d(_Dropout, function=F.dropout3d):
    """Dropout of whole channels of volumes."""


class AlphaDropout(_Dropout, function=F.alpha_dropout):
    """Dropout for `SELU` networks: keeps mean 0 and variance 1."""


class FeatureAlphaDropout(_Dropout, function=F.feature_alpha_dropout):
    """`AlphaDropout` of whole channels."""


class CosineSimilarity(Configured, function=F.cosine_similarity, inputs=2, show=""):
    """Cosine similarity x1 · x2 / (|x1| |x2|) along an axis."""


class PairwiseDistance(Configured, function=F.pairwise_distance, inputs=2, show=""):
    """The p-norm of x1 - x2 + eps along the last axis."""
