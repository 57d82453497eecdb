"""`torch.nn.utils.parametrizations`: weight norm and spectral norm."""

from __future__ import annotations

from typing import Any

from .... import ops
from ....core.inplace import overwrite
from ....recording import no_grad
from ...creation import randn
from ..functional import normalize
from ..module import Module
from .parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]


def _lengths(v: Any, dim: int | None) -> Any:
    """The norms of the slices along an axis, or of the whole tensor."""
    axes = tuple(i for i in range(len(v.shape)) if dim is None or i != dim % len(v.shape))
    return ops.sqrt(ops.sum(v * v, axis=axes, keepdims=dim is not None))


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, g: Any, v: Any) -> Any:
        return v * (g / _lengths(v, self.dim))

    def right_inverse(self, weight: Any) -> Any:
        return _lengths(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Reparametrize a weight as g · v / |v| with trained g and v (Salimans and Kingma, 2016).

    dim  one g per slice along this axis; None for a single g

    >>> import pullback.torch as torch
    >>> layer = weight_norm(torch.nn.Linear(3, 2))
    >>> [tuple(p.shape) for p in layer.parametrizations.weight.parameters()]
    [(2, 1), (2, 3)]
    """
    return register_parametrization(module, name, _WeightNorm(dim))


class _SpectralNorm(Module):
    def __init__(self, weight: Any, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        self.dim, self.eps, self.n_power_iterations = dim, eps, n_power_iterations
        rows, columns = self._matrix(weight.data).shape
        self.register_buffer("_u", normalize(randn(rows, dtype=weight.dtype), dim=0, eps=eps))
        self.register_buffer("_v", normalize(randn(columns, dtype=weight.dtype), dim=0, eps=eps))
        self._iterate(self._matrix(weight.data), 15)

    def _matrix(self, weight: Any) -> Any:
        if len(weight.shape) > 1 and self.dim:
            weight = ops.moveaxis(weight, self.dim, 0)
        return ops.reshape(weight, (weight.shape[0], -1))

    def _iterate(self, matrix: Any, times: int) -> None:
        with no_grad():
            u, v = self._u, self._v
            for _ in range(times):
                u = normalize(matrix @ v, dim=0, eps=self.eps)
                v = normalize(matrix.T @ u, dim=0, eps=self.eps)
            overwrite(self._u, u, "spectral_norm")
            overwrite(self._v, v, "spectral_norm")

    def forward(self, weight: Any) -> Any:
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = (x.detach().clone() for x in (self._u, self._v))
        return weight / ops.sum(u * ops.matmul(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value (Miyato et al., 2018).

    The singular value is found by power iteration: n_power_iterations steps per training call.
    """
    made_of = _SpectralNorm(module._parameters[name], n_power_iterations, dim or 0, eps)
    return register_parametrization(module, name, made_of)
