"""Adam and its kin: running means of gradients and of their squares."""

from __future__ import annotations

from typing import Any

from ..math import abs as absolute
from ..math import maximum, pow, sqrt, square
from ..shaping import cast
from ..variable import Variable
from .base import Optimizer, Rate, moved
from .descents import larger

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

    def _means(self, g: Any, slots: dict[str, Any]) -> tuple[Any, Any]:
        return (moved(slots["momentum"], g, self.beta_1),
                moved(slots["velocity"], square(g), self.beta_2))


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

    def _step(self, g: Any, v: Variable, slots: dict[str, Any], rate: Any, count: Any) -> None:
        alpha = rate * sqrt(1 - pow(self._beta(self.beta_2, count), count)) / (
            1 - pow(self._beta(self.beta_1, count), count)
        )
        m, size = self._means(g, slots)
        if self.amsgrad:
            size = larger(slots["velocity_hat"], size)
        v.assign_sub(m * alpha / (sqrt(size) + self.epsilon))

    def _beta(self, beta: float, count: Any) -> Any:
        return cast(beta, count.dtype)


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

    def _step(self, g: Any, v: Variable, slots: dict[str, Any], rate: Any, count: Any) -> None:
        m = moved(slots["momentum"], g, self.beta_1)
        u = slots["norm"]
        u.assign(maximum(u.value() * self.beta_2, absolute(g)))
        fade = 1 - pow(cast(self.beta_1, count.dtype), count)
        v.assign_sub(rate * m / (fade * (u.value() + self.epsilon)))


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

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """See `Optimizer.apply`."""
        self._product.assign(self._product.value() * self._weight(
            cast(self.iterations, "float32") + 1.0
        ))
        super().apply(grads, trainable_variables)

    def _weight(self, count: Any) -> Any:
        return self.beta_1 * (1.0 - 0.5 * pow(cast(0.96, count.dtype), count))

    def _step(self, g: Any, v: Variable, slots: dict[str, Any], rate: Any, count: Any) -> None:
        m, size = self._means(g, slots)
        now, after = self._weight(count), self._weight(count + 1.0)
        product = cast(self._product, g.dtype)
        m = after * m / (1 - product * after) + (1 - now) * g / (1 - product)
        size = size / (1 - pow(cast(self.beta_2, count.dtype), count))
        v.assign_sub(m * rate / (sqrt(size) + self.epsilon))
