"""Adam and its kin: running means of gradients and of their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...optim import rules
from ..variable import Variable
from .base import Optimizer, Rate

__all__ = ["Adam", "AdamW", "Adamax", "Nadam"]


class _Moments(Optimizer):
    """With running means m of g (`beta_1`) and another of the size of g (`beta_2`)."""

    _names = ("momentum", "velocity")

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    @property
    def _betas(self) -> tuple[float, float]:
        return self.beta_1, self.beta_2


class Adam(_Moments):
    """v ← v - α · m / (√s + epsilon), with running means m of g and s of g².

    α is learning_rate · √(1 - beta_2ᵗ) / (1 - beta_1ᵗ) in step t.

    amsgrad  take the largest s there was

    >>> from pullback import tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = Adam(0.5, epsilon=0.0).apply_gradients([(tf.constant([100.0, -0.01]), v)])
    >>> v.numpy().round(3)
    array([0.5, 2.5], dtype=float32)
    """

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, amsgrad: bool = False, **options: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = amsgrad

    def _slot_names(self) -> tuple[str, ...]:
        return (*self._names, *("velocity_hat",) * self.amsgrad)

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        powers = [beta**count for beta in self._betas]
        return rules.adam(x, g, slots, rate, self._betas, powers, self.epsilon, eps_hat=True,
                          lerp=True)


class AdamW(Adam):
    """`Adam` with weights that decay on their own: weight_decay is 0.004 if not said.

    >>> from pullback import tf
    >>> v = tf.Variable(2.0)
    >>> _ = AdamW(0.5, weight_decay=1.0).apply_gradients([(tf.constant(0.0), v)])
    >>> v.numpy()
    np.float32(1.0)
    """

    def __init__(
        self, learning_rate: Rate = 0.001, weight_decay: float = 0.004, beta_1: float = 0.9,
        beta_2: float = 0.999, epsilon: float = 1e-7, amsgrad: bool = False, **options: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad,
                         weight_decay=weight_decay, **options)


class Adamax(_Moments):
    """v ← v - learning_rate / (1 - beta_1ᵗ) · m / (u + epsilon), u the largest |g|, fading.

    >>> from pullback import tf
    >>> v = tf.Variable(1.0)
    >>> _ = Adamax(0.5, epsilon=0.0).apply_gradients([(tf.constant(9.0), v)])
    >>> round(float(v), 3)
    0.5
    """

    _names = ("momentum", "norm")

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        return rules.adamax(x, g, slots, rate, self._betas, count, self.epsilon, eps_inside=False)


class Nadam(_Moments):
    """`Adam` with Nesterov's momentum (Dozat, 2016).

    >>> from pullback import tf
    >>> v = tf.Variable(1.0)
    >>> _ = Nadam(0.5).apply_gradients([(tf.constant(9.0), v)])
    >>> v.numpy() < 1.0
    np.True_
    """

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, **options: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self._product = Variable(1.0, trainable=False, name="u_product")

    def _scalars(self) -> list[Any]:
        rate, count = super()._scalars()
        momentum = rules.nadam_momentum(self.beta_1, count, 1.0)
        self._product.assign(self._product.value() * momentum)
        return [rate, count, self._product.value()]

    def _rule(
        self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any, product: Any = 1.0
    ) -> Any:
        return rules.nadam(x, g, slots, rate, self._betas, count, product, self.epsilon,
                           momentum_decay=1.0, lerp=True)
