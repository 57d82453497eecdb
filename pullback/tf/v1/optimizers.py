"""`tf.train`'s optimizers: operations that change variables by their gradients.

Each update is TensorFlow 1's, slots and their initial values included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import raw
from ...errors import ArgumentError, ArgumentTypeError
from ...graphs.variable import GraphVariable
from ...optim import rules
from ..convert import as_tensor
from .differentiation import gradients
from .graph import get_default_graph, graph_for, home, opened
from .grouping import group, name_scope
from .keys import GraphKeys
from .tensor import in_graph
from .variable import Variable, trainable_variables

__all__ = [
    "AdadeltaOptimizer", "AdagradOptimizer", "AdamOptimizer", "GradientDescentOptimizer",
    "MomentumOptimizer", "Optimizer", "RMSPropOptimizer",
]


class Optimizer:
    """Base class; a subclass has the options, slots and `_rule` of its update.

    `_kept` has the first value of each slot, in the order of their creation; `_hyper` the names of
    the options, which are passed to `_rule` in the variable's dtype.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable([1.0, 2.0])
    ...     train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    ...     _ = sess.run(tf.global_variables_initializer())
    ...     _ = sess.run(train)
    ...     sess.run(v)
    array([0.8, 1.6], dtype=float32)
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2
    _hyper: tuple[str, ...] = ("learning_rate",)

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ArgumentError("optimizer", "a name", repr(name))
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._own: list[Any] = []
        self._kept: dict[str, float] = {}

    def get_name(self) -> str:
        """Its name."""
        return self._name

    # Asking ---------------------------------------------------------------------------------

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: int = 1,
        aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
        name: str | None = None, grad_loss: Any = None,
    ) -> Any:
        """The operation of one step down a loss; it counts `global_step` up by one.

        Raises `ArgumentError` (a `ValueError`) where the loss depends on none of the variables.
        """
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if all(g is None for g, _ in pairs):
            raise ArgumentError(
                "No gradients provided for any variable", "a loss that depends on one of "
                f"{[str(v) for _, v in pairs]}", f"{loss}",
                "check for operations that no gradient goes through",
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: int = 1,
        aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Pairs of a gradient (None where there is none) and its variable.

        var_list  variables, those to be trained when left out
        """
        if not isinstance(loss, CoreTensor):
            raise ArgumentTypeError("argument `loss` of compute_gradients", "a tensor of a graph",
                                    f"a {type(loss).__name__}")
        graph = graph_for((loss,))
        with opened(graph):
            found = trainable_variables() if var_list is None else _flat(var_list)
            if not found:
                raise ArgumentError("No variables to optimize", "trainable variables", "none")
            return list(zip(gradients(loss, found, grad_loss), found, strict=True))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The operation that changes variables by gradients; what has none stays as it is."""
        pairs = [(g, v) for g, v in grads_and_vars]
        if not pairs:
            raise ArgumentError("No variables provided", "pairs of a gradient and a variable",
                                "none")
        given = [(g, v) for g, v in pairs if g is not None]
        if not given:
            raise ArgumentError("No gradients provided for any variable",
                                "a gradient for one of the variables",
                                f"None for {[str(v) for _, v in pairs]}")
        graph = graph_for(v for _, v in given)
        with opened(graph):
            self._create([v for _, v in given])
            with name_scope(name or self._name) as scope:
                self._prepare()
                updates = [self._updated(g, v) for g, v in given]
                updates += self._finish()
                done = scope if global_step is None else None
                made = _group(graph, updates, done)
                if global_step is not None:
                    with graph.control_dependencies([made]):
                        step = global_step.assign_add(1)
                    graph.settle(step.op, scope[:-1])
                    made = step.op
            graph.add_to_collection(GraphKeys.TRAIN_OP, made)
            return made

    def _updated(self, g: Any, v: Any) -> Any:
        if not isinstance(v, GraphVariable):
            raise ArgumentTypeError("grads_and_vars", "variables of a graph",
                                    f"a {type(v).__name__}")
        graph = v.graph
        g = in_graph(graph, as_tensor(g, v._data.dtype))
        with graph.name_scope(f"update_{v.cell.label}"):
            made = self._step(g, v)
            constraint = getattr(v, "constraint", None)
            if constraint is not None:
                with graph.control_dependencies([made]):
                    made = v.assign(constraint(v.read_value()))
            return made

    # Slots ----------------------------------------------------------------------------------

    def get_slot(self, var: Any, name: str) -> Any:
        """What is kept beside a variable under a name, a variable; None where there is none."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """The names of what is kept beside each variable."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """All variables of the optimizer's own."""
        return [*self._own, *[v for table in self._slots.values() for v in table.values()]]

    def _slot(self, var: Any, name: str, start: float = 0.0, label: str | None = None) -> Any:
        table = self._slots.setdefault(name, {})
        if var not in table:
            value = ops.full(_lengths(var), start, dtype=var._data.dtype)._data
            table[var] = _made(value, f"{var.cell.label}/{label or self._name}")
        return table[var]

    def _create(self, variables: Sequence[Any]) -> None:
        """Make what is kept beside variables."""
        for v in variables:
            for name, start in self._kept.items():
                self._slot(v, name, start)

    def _prepare(self) -> None:
        """Make the tensors that all updates read."""

    def _step(self, g: Any, v: Any) -> Any:
        """The update of one variable and its slots."""
        slots = [self.get_slot(v, name) for name in self._kept]
        options = [_number(getattr(self, name), v) for name in self._hyper]
        value, made = self._rule(v.value(), g, [s.value() for s in slots], *options)
        done = [slot.assign(new) for slot, new in zip(slots, made, strict=True)]
        with v.graph.control_dependencies(done):
            return v.assign(value)

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], *options: Any) -> Any:
        """The new value and slots of a variable, as tensors."""
        raise NotImplementedError

    def _finish(self) -> list[Any]:
        """Updates that come after those of the variables."""
        return []


def _flat(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return [v for value in values for v in _flat(value)]
    return [values]


def _lengths(var: Any) -> tuple[int, ...]:
    shape = var.shape
    if not shape.is_fully_defined():
        raise ArgumentError(f"optimizer of {var.name!r}", "a variable of known shape", f"{shape}")
    return tuple(int(n) for n in shape.as_list())


def _made(value: Any, name: str) -> Any:
    """A variable of an optimizer, outside of all scopes."""
    graph = home()
    with graph.name_scope(None), graph.control_dependencies(None):
        return Variable(value, trainable=False, name=name)


def _group(graph: Any, updates: Sequence[Any], name: str | None) -> Any:
    made = group(*[u.op for u in updates], name="update")
    if name is not None:
        graph.settle(made, name[:-1])
    return made


def _number(value: Any, like: Any) -> Any:
    """A hyperparameter: a number, a tensor (cast to a dtype), or a function that gives one."""
    if callable(value) and not isinstance(value, CoreTensor):
        value = value()
    if isinstance(value, CoreTensor) and value._data.dtype != like._data.dtype:
        return ops.astype(value, like._data.dtype)
    return value


class GradientDescentOptimizer(Optimizer):
    """v ← v - learning_rate · g."""

    def __init__(self, learning_rate: Any, use_locking: bool = False,
                 name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], *options: Any) -> Any:
        return rules.sgd(x, g, slots, *options)


class MomentumOptimizer(Optimizer):
    """a ← momentum · a + g; v ← v - rate · a, or, Nesterov's, v - rate · (g + momentum · a)."""

    _hyper = ("learning_rate", "momentum")

    def __init__(self, learning_rate: Any, momentum: Any, use_locking: bool = False,
                 name: str = "Momentum", use_nesterov: bool = False) -> None:
        super().__init__(use_locking, name)
        self.learning_rate, self.momentum = learning_rate, momentum
        self.use_nesterov, self._kept = use_nesterov, {"momentum": 0.0}

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], *options: Any) -> Any:
        rate, momentum = options
        return rules.sgd(x, g, slots, rate, momentum=momentum, nesterov=self.use_nesterov)


class AdamOptimizer(Optimizer):
    """Moments m and s of g and g²; v ← v - rate · √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√s + ε)."""

    _hyper = ("learning_rate", "beta1", "beta2", "epsilon")

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999,
        epsilon: Any = 1e-8, use_locking: bool = False, name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate, self.beta1, self.beta2 = learning_rate, beta1, beta2
        self.epsilon, self._kept = epsilon, {"m": 0.0, "v": 0.0}
        self._powers: dict[Any, tuple[Any, Any]] = {}

    def _create(self, variables: Sequence[Any]) -> None:
        graph = get_default_graph()
        if graph not in self._powers:
            dtype = variables[0]._data.dtype
            betas = [_number(b, variables[0]) for b in (self.beta1, self.beta2)]
            first = [b if isinstance(b, CoreTensor) else raw(ops.asarray(b, dtype=dtype))
                     for b in betas]
            one, two = (_made(b, f"beta{i}_power") for i, b in enumerate(first, 1))
            self._powers[graph] = one, two
            self._own += [one, two]
        super()._create(variables)

    def _prepare(self) -> None:
        one, two = self._powers[get_default_graph()]
        self._now = one.read_value(), two.read_value()

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], *options: Any) -> Any:
        rate, *betas, epsilon = options
        powers = [_number(power, x) for power in self._now]
        return rules.adam(x, g, slots, rate, betas, powers, epsilon, eps_hat=True, lerp=True)

    def _finish(self) -> list[Any]:
        powers = self._powers[get_default_graph()]
        betas = self.beta1, self.beta2
        return [
            p.assign(now * _number(b, p))
            for p, now, b in zip(powers, self._now, betas, strict=True)
        ]


class RMSPropOptimizer(Optimizer):
    """s ← decay · s + (1 - decay) · g²; m ← momentum · m + rate · g / √(s + ε); v ← v - m.

    centered  the mean of g, squared, is taken off s under the root
    """

    _hyper = ("learning_rate", "decay", "epsilon", "momentum")

    def __init__(
        self, learning_rate: Any, decay: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-10,
        use_locking: bool = False, centered: bool = False, name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self.learning_rate, self.decay = learning_rate, decay
        self.momentum, self.epsilon, self.centered = momentum, epsilon, centered
        self._kept = {"rms": 1.0, **({"mg": 0.0} if centered else {}), "momentum": 0.0}

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], *options: Any) -> Any:
        *others, momentum = options
        squares, *mean, moved = slots
        x, (squares, moved, *mean) = rules.rmsprop(
            x, g, (squares, moved, *mean), *others, momentum=momentum, centered=self.centered,
            eps_inside=True, lerp=True, scaled=True,
        )
        return x, (squares, *mean, moved)


class AdagradOptimizer(Optimizer):
    """a ← a + g²; v ← v - learning_rate · g / √a."""

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1,
        use_locking: bool = False, name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ArgumentError("argument `initial_accumulator_value` of AdagradOptimizer",
                                "a positive number", f"{initial_accumulator_value}")
        super().__init__(use_locking, name)
        self.learning_rate = learning_rate
        self._kept = {"accumulator": initial_accumulator_value}

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], *options: Any) -> Any:
        return rules.adagrad(x, g, slots, options[0], 0.0)


class AdadeltaOptimizer(Optimizer):
    """Steps as large as the root mean square of the steps before over that of the gradients."""

    _hyper = ("learning_rate", "rho", "epsilon")

    def __init__(self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8,
                 use_locking: bool = False, name: str = "Adadelta") -> None:
        super().__init__(use_locking, name)
        self.learning_rate, self.rho, self.epsilon = learning_rate, rho, epsilon
        self._kept = {"accum": 0.0, "accum_update": 0.0}

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], *options: Any) -> Any:
        return rules.adadelta(x, g, slots, *options)
