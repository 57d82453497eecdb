"""`tf.train`: global step, learning-rate schedules, and moving averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ...errors import ArgumentError, ArgumentTypeError
from ...optim import decays, rules
from ..convert import as_tensor, operand
from .graph import graph_for, home, opened
from .grouping import group, name_scope
from .keys import GraphKeys
from .naming import graphed
from .variable import Variable, trainable_variables

__all__ = [
    "ExponentialMovingAverage", "cosine_decay", "create_global_step", "exponential_decay",
    "get_global_step", "get_or_create_global_step", "global_step", "inverse_time_decay",
    "natural_exp_decay", "piecewise_constant", "piecewise_constant_decay", "polynomial_decay",
]


def get_global_step(graph: Any = None) -> Any:
    """The global step variable (number of training steps), or None if the graph has none."""
    found = (graph or home()).get_collection(GraphKeys.GLOBAL_STEP)
    return found[0] if found else None


def create_global_step(graph: Any = None) -> Any:
    """Creates the global step variable, which counts training steps.

    Raises `ArgumentError` (a `ValueError`) if the graph already has one.
    """
    if get_global_step(graph) is not None:
        raise ArgumentError("create_global_step", "a graph without a global step",
                            "a graph that already has one", "use get_or_create_global_step")
    chosen = graph or home()
    with opened(chosen), chosen.name_scope(None):
        return Variable(0, trainable=False, name="global_step", dtype="int64", collections=[
            GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP,
        ])


def get_or_create_global_step(graph: Any = None) -> Any:
    """The global step variable; created if the graph has none.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.train.get_or_create_global_step()
    <tf.Variable 'global_step:0' shape=() dtype=int64>
    """
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of training steps done in a session."""
    return int(sess.run(global_step_tensor))


# Learning rates -----------------------------------------------------------------------------


def _first(learning_rate: Any, step: Any) -> tuple[Any, Any]:
    """A learning rate as a tensor, and the number of steps in its dtype."""
    rate = as_tensor(learning_rate)
    return rate, ops.astype(operand(step), rate._data.dtype)


def _exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Any:
    """learning_rate · decay_rate ^ (global_step / decay_steps)."""
    return decays.exponential(
        *_first(learning_rate, global_step), decay_steps, as_tensor(decay_rate), staircase
    )


def _natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Any:
    """learning_rate · exp(-decay_rate · global_step / decay_steps)."""
    return decays.natural_exponential(
        *_first(learning_rate, global_step), decay_steps, decay_rate, staircase
    )


def _inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Any:
    """learning_rate / (1 + decay_rate · global_step / decay_steps)."""
    return decays.inverse_time(
        *_first(learning_rate, global_step), decay_steps, decay_rate, staircase
    )


def _polynomial_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: float = 0.0001,
    power: float = 1.0, cycle: bool = False, name: str | None = None,
) -> Any:
    """From learning_rate to end_learning_rate in decay_steps, along (1 - part) ^ power."""
    return decays.polynomial(
        *_first(learning_rate, global_step), decay_steps, end_learning_rate, power, cycle
    )


def _cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0,
    name: str | None = None,
) -> Any:
    """From learning_rate to alpha · learning_rate in decay_steps, along a half cosine."""
    return decays.cosine(*_first(learning_rate, global_step), decay_steps, alpha)


def _piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Any:
    """Piecewise constant: values[0] up to the first boundary, values[1] up to the second, …"""
    if len(boundaries) != len(values) - 1:
        raise ArgumentError("piecewise_constant", "len(values) - 1 boundaries",
                            f"{len(boundaries)} and {len(values)}")
    first = as_tensor(values[0])
    others = [as_tensor(value, first._data.dtype) for value in values[1:]]
    return decays.piecewise(operand(x), boundaries, [first, *others])


def _scheduled(function: Callable[..., Any], scope: str) -> Callable[..., Any]:
    return graphed(function, None, scope)


exponential_decay = _scheduled(_exponential_decay, "ExponentialDecay")
natural_exp_decay = _scheduled(_natural_exp_decay, "ExponentialDecay")
inverse_time_decay = _scheduled(_inverse_time_decay, "InverseTimeDecay")
polynomial_decay = _scheduled(_polynomial_decay, "PolynomialDecay")
cosine_decay = _scheduled(_cosine_decay, "CosineDecay")
piecewise_constant = piecewise_constant_decay = _scheduled(_piecewise_constant, "PiecewiseConstant")

# Moving averages ----------------------------------------------------------------------------


class ExponentialMovingAverage:
    """Moving averages of variables: shadow ← shadow - (1 - decay) · (shadow - variable).

    num_updates  a step counter n, which limits decay to (1 + n) / (10 + n)

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0)
    ...     ema = tf.train.ExponentialMovingAverage(0.5)
    ...     update = ema.apply([v])
    ...     _ = sess.run(tf.global_variables_initializer())
    ...     _ = sess.run(v.assign(3.0))
    ...     _ = sess.run(update)
    ...     sess.run(ema.average(v))
    np.float32(2.0)
    """

    def __init__(self, decay: float, num_updates: Any = None, zero_debias: bool = False,
                 name: str = "ExponentialMovingAverage") -> None:
        if zero_debias:
            raise ArgumentError("ExponentialMovingAverage", "zero_debias=False", "True")
        self._decay, self._updates, self._name = decay, num_updates, name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The name, which is the suffix of the averages' names."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Any:
        """The operation that updates the averages; creates them on the first call."""
        found = trainable_variables() if var_list is None else list(var_list)
        graph = graph_for(found)
        with opened(graph):
            for v in found:
                self._start(graph, v)
            with name_scope(self._name):
                decay = self._factor()
                return group(*[
                    a.assign(rules.mean(a.value(), v.value(), decay)).op
                    for v, a in ((v, self._averages[v]) for v in found)
                ], name="update")

    def _start(self, graph: Any, v: Any) -> None:
        if not isinstance(v, Variable):
            raise ArgumentTypeError("ExponentialMovingAverage.apply", "variables",
                                    f"a {type(v).__name__}")
        if v not in self._averages:
            with graph.name_scope(None), graph.control_dependencies(None):
                self._averages[v] = Variable(
                    v.initialized_value(), trainable=False, name=self.average_name(v),
                )
            graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, v)

    def _factor(self) -> Any:
        if self._updates is None:
            return self._decay
        return decays.averaging(ops.astype(operand(self._updates), "float32"), self._decay)

    def average(self, var: Any) -> Any:
        """The variable that holds the average of a variable; None if there is none."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of the average of a variable."""
        return f"{var.op.name}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """{name of the average: variable}, for a Saver that restores averages into variables."""
        found = {self.average_name(v): v for v in self._averages}
        kept = {id(v) for v in (*self._averages, *self._averages.values())}
        for v in home().get_collection(GraphKeys.GLOBAL_VARIABLES):
            if id(v) not in kept:
                found[v.op.name] = v
        return found
