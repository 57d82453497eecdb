"""SGD and the optimizers that divide by running sizes of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...optim import rules
from .base import Optimizer, Rate

__all__ = ["SGD", "Adadelta", "Adagrad", "Lion", "RMSprop"]


class SGD(Optimizer):
    """v ← v - learning_rate · g; with momentum, m ← momentum · m - learning_rate · g, v ← v + m.

    nesterov  v ← v + momentum · m - learning_rate · g, with the new m

    The other arguments are `Optimizer`'s. Slices (`tf.IndexedSlices`) change only themselves, if
    there is no momentum.

    >>> from pullback import tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = SGD(0.5).apply_gradients([(tf.constant([2.0, 2.0]), v)])
    >>> v.numpy()
    array([0., 1.], dtype=float32)
    """

    def __init__(
        self, learning_rate: Rate = 0.01, momentum: float = 0.0, nesterov: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.momentum, self.nesterov = momentum, nesterov

    def _slot_names(self) -> tuple[str, ...]:
        return ("momentum",) if self.momentum else ()

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        return rules.sgd(x, g, slots, rate, momentum=self.momentum, nesterov=self.nesterov,
                         scaled=bool(slots))


class RMSprop(Optimizer):
    """v ← v - learning_rate · g / √(s + epsilon), with a running mean s of g².

    rho       how slowly s forgets
    momentum  of the steps, as in `SGD`
    centered  divide by the standard deviation: s less the square of a running mean of g

    >>> from pullback import tf
    >>> v = tf.Variable(1.0)
    >>> _ = RMSprop(0.1, rho=0.75, epsilon=0.0).apply_gradients([(tf.constant(5.0), v)])
    >>> round(float(v), 4)
    0.8
    """

    def __init__(
        self, learning_rate: Rate = 0.001, rho: float = 0.9, momentum: float = 0.0,
        epsilon: float = 1e-7, centered: bool = False, **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def _slot_names(self) -> tuple[str, ...]:
        return ("velocity", *("momentum",) * bool(self.momentum),
                *("average_gradient",) * self.centered)

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        return rules.rmsprop(
            x, g, slots, rate, self.rho, self.epsilon, momentum=self.momentum,
            centered=self.centered, eps_inside=True, lerp=True, scaled=True,
        )


class Adagrad(Optimizer):
    """v ← v - learning_rate · g / √(s + epsilon), with the sum s of all g² so far.

    initial_accumulator_value  what s begins with

    >>> from pullback import tf
    >>> v = tf.Variable(1.0)
    >>> _ = Adagrad(0.5, 0.0, 0.0).apply_gradients([(tf.constant(5.0), v)])
    >>> v.numpy()
    np.float32(0.5)
    """

    _names = ("accumulator",)

    def __init__(
        self, learning_rate: Rate = 0.001, initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7, **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def _first(self, name: str) -> Any:
        return self.initial_accumulator_value

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        return rules.adagrad(x, g, slots, rate, self.epsilon, eps_inside=True)


class Adadelta(Optimizer):
    """Steps of the size of earlier ones: g · √(d + ε) / √(s + ε), with means s of g², d of steps².

    >>> from pullback import tf
    >>> v = tf.Variable(1.0)
    >>> _ = Adadelta(1.0, rho=0.5).apply_gradients([(tf.constant(1.0), v)])
    >>> v.numpy() < 1.0
    np.True_
    """

    _names = ("accumulated_grad", "accumulated_delta_var")

    def __init__(
        self, learning_rate: Rate = 0.001, rho: float = 0.95, epsilon: float = 1e-7,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho, self.epsilon = rho, epsilon

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        return rules.adadelta(x, g, slots, rate, self.rho, self.epsilon, lerp=True)


class Lion(Optimizer):
    """v ← v - learning_rate · sign(beta_1 · m + (1 - beta_1) · g), with a running mean m of g.

    >>> from pullback import tf
    >>> v = tf.Variable(1.0)
    >>> _ = Lion(0.5).apply_gradients([(tf.constant(9.0), v)])
    >>> v.numpy()
    np.float32(0.5)
    """

    _names = ("momentum",)

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.99,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1, self.beta_2 = beta_1, beta_2

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        return rules.lion(x, g, slots, rate, (self.beta_1, self.beta_2))
