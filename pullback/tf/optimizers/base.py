"""What the optimizers share: learning rates, clipping, slots, and how gradients are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import ArgumentError, ArgumentTypeError
from ...kinds.symbols import current_graph
from ...optim import rules
from .. import linalg
from ..convert import convert_to_tensor
from ..indexed_slices import IndexedSlices
from ..math import clip_by_value
from ..shaping import cast, fill
from ..tape import GradientTape
from ..variable import Variable

__all__ = ["Optimizer"]


class Optimizer:
    """Base of the optimizers, with Keras's arguments and formulas.

    learning_rate    a number, a tensor, a function of no arguments, or a schedule: a function of
                     the number of steps so far
    weight_decay     how much of a variable is taken away in a step, times the learning rate
    clipnorm         the largest norm of a gradient; larger ones are scaled down
    clipvalue        the largest entry of a gradient
    global_clipnorm  the largest norm of all gradients together

    A subclass has `_names`, the slots it keeps for a variable, and `_rule`, which calls the update
    rule in `pullback.optim.rules` with Keras's options.

    >>> from pullback import tf
    >>> v = tf.Variable(4.0)
    >>> optimizer = tf.optimizers.SGD(0.25)
    >>> optimizer.minimize(lambda: v * v, [v])
    >>> v.numpy(), optimizer.iterations.numpy()
    (np.float32(2.0), np.int64(1))
    """

    _names: tuple[str, ...] = ()

    def __init__(
        self, learning_rate: Any, weight_decay: float | None = None,
        clipnorm: float | None = None, clipvalue: float | None = None,
        global_clipnorm: float | None = None, name: str | None = None,
    ) -> None:
        self.name = name or type(self).__name__.lower()
        self.weight_decay, self.clipnorm = weight_decay, clipnorm
        self.clipvalue, self.global_clipnorm = clipvalue, global_clipnorm
        self.iterations = Variable(0, dtype="int64", trainable=False, name="iteration")
        self._rate: Any = learning_rate
        if isinstance(learning_rate, (int, float)):
            self._rate = Variable(float(learning_rate), trainable=False, name="learning_rate")
        self._slots: dict[int, dict[str, Variable]] = {}
        self._known: list[Variable] = []
        self.awaited: dict[str, Any] = {}  # what a checkpoint has for slots that are still to come

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the next step, as a variable or a tensor; can be assigned to."""
        rate = self._rate
        if callable(rate) and not isinstance(rate, Variable):
            takes_steps = hasattr(rate, "get_config")
            rate = rate(self.iterations) if takes_steps else rate()
        return rate if isinstance(rate, Variable) else convert_to_tensor(rate, "float32")

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if isinstance(self._rate, Variable) and not callable(value):
            self._rate.assign(value)
        else:
            self._rate = value

    lr = learning_rate

    @property
    def variables(self) -> list[Variable]:
        """What it keeps: the number of steps, the learning rate, the slots."""
        own = [self.iterations]
        if isinstance(self._rate, Variable):
            own.append(self._rate)
        return own + [self._slots[id(v)][n] for v in self._known for n in self._names_of(v)]

    def kept(self) -> dict[str, Variable]:
        """What it keeps, by names for a checkpoint: slots by the number of their variable."""
        found = {"iterations": self.iterations}
        if isinstance(self._rate, Variable):
            found["learning_rate"] = self._rate
        for i, v in enumerate(self._known):
            found.update({f"{i}/{n}": s for n, s in self._slots[id(v)].items()})
        return found

    def _names_of(self, variable: Variable) -> Sequence[str]:
        return list(self._slots[id(variable)])

    def build(self, var_list: Iterable[Any]) -> None:
        """Make the slots of variables now, and not at the first step."""
        for v in var_list:
            if id(v) in self._slots:
                continue
            if not isinstance(v, Variable):
                raise ArgumentTypeError(f"{self.name}.build", "variables", f"a {type(v).__name__}")
            self._known.append(v)
            self._slots[id(v)] = {
                n: Variable(
                    fill(v.shape, cast(self._first(n), v.dtype)), trainable=False,
                    name=f"{v.name.partition(':')[0]}_{n}",
                ) for n in self._slot_names()
            }
            for n, slot in self._slots[id(v)].items():
                key = f"{len(self._known) - 1}/{n}"
                if key in self.awaited:
                    slot.assign(self.awaited.pop(key))

    def _slot_names(self) -> Sequence[str]:
        return self._names

    def _first(self, name: str) -> Any:
        """What the entries of a slot begin with."""
        return 0.0

    # Steps ------------------------------------------------------------------------------------

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: Any = None) -> Any:
        """Change every variable a little, by its gradient, from pairs (gradient, variable).

        Pairs without a gradient are left out; `ArgumentError` (a `ValueError`) if that is all.
        Returns the number of steps.
        """
        pairs = list(grads_and_vars)
        self.apply([g for g, _ in pairs], [v for _, v in pairs])
        return self.iterations

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """`apply_gradients`, of a list of gradients and one of variables (or those it knows)."""
        variables = self._known if trainable_variables is None else list(trainable_variables)
        if len(grads) != len(variables):
            raise ArgumentError(f"{self.name}.apply", f"{len(variables)} gradients, one a variable",
                                f"{len(grads)}")
        pairs = [(g, v) for g, v in zip(grads, variables, strict=True) if g is not None]
        if not pairs:
            raise ArgumentError(f"{self.name}.apply_gradients", "a gradient", "None for every "
                                f"variable of {[getattr(v, 'name', v) for v in variables]}")
        self.build(v for _, v in pairs)
        gradients = self._clipped([g for g, _ in pairs])
        scalars, dtypes = self._scalars(), {v._data.dtype for _, v in pairs}
        cast_to = {dtype: [cast(s, dtype) for s in scalars] for dtype in dtypes}
        for g, (_, v) in zip(gradients, pairs, strict=True):
            self._update(g, v, cast_to[v._data.dtype])
        self.iterations.assign_add(1)

    def _scalars(self) -> list[Any]:
        """What `_rule` is passed after the slots: the learning rate and the number of the step."""
        return [convert_to_tensor(self.learning_rate), cast(self.iterations, "float32") + 1.0]

    def _update(self, g: Any, v: Variable, scalars: list[Any]) -> None:
        if self.weight_decay:
            v.assign(rules.decayed(
                v.value(), g, scalars[0], self.weight_decay, decoupled=True
            )[0])
        if isinstance(g, IndexedSlices) and not self._slots[id(v)]:
            v.scatter_add(g.with_values(self._rule(0.0, g.values, (), *scalars)[0]))
        else:
            self._apply_rule(convert_to_tensor(g), v, scalars)
        if v.constraint is not None:
            v.assign(v.constraint(v.value()))

    def _apply_rule(self, g: Any, v: Variable, scalars: list[Any]) -> None:
        slots = self._slots[id(v)].values()
        plain = _plain(v, g, scalars[0])
        if plain:  # arrays are faster; copies, as a rule writes to them
            g, scalars = g._data, [s._data for s in scalars]
        if not slots:
            v.assign_add(self._rule(0.0, g, (), *scalars)[0])
            return
        values = (s._data.copy() if plain else s.value() for s in (v, *slots))
        value, made = self._rule(next(values), g, [*values], *scalars)
        v.assign(value)
        for slot, new in zip(slots, made, strict=True):
            slot.assign(new)

    def _rule(self, x: Any, g: Any, slots: Sequence[Any], rate: Any, count: Any) -> Any:
        """The new value and slots of a variable; count is 1 in the first step."""
        raise NotImplementedError

    def _clipped(self, gradients: list[Any]) -> list[Any]:
        if self.clipnorm is not None:
            return [linalg.clip_by_norm(g, self.clipnorm) for g in gradients]
        if self.global_clipnorm is not None:
            return linalg.clip_by_global_norm(gradients, self.global_clipnorm)[0]
        if self.clipvalue is not None:
            return [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        return gradients

    def minimize(
        self, loss: Any, var_list: Any = None, tape: GradientTape | None = None,
    ) -> None:
        """One step down: the gradients of a loss, applied.

        loss  a function of no arguments, or a tensor computed under `tape`
        """
        variables = var_list() if callable(var_list) else list(var_list)
        value = loss
        if callable(loss):
            tape = GradientTape() if tape is None else tape
            with tape:
                value = loss()
        if tape is None:
            raise ArgumentError(f"{self.name}.minimize", "a tape, where the loss is a tensor",
                                "none")
        self.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))


def _plain(v: Variable, g: Any, rate: Any) -> bool:
    """Whether nothing is traced and all arrays are NumPy's, of one shape and a usual dtype."""
    kind, data, slope = rate._data.__class__, v._data, g._data
    return (
        isinstance(data, kind) and isinstance(slope, kind) and data.dtype.char in "fd"
        and slope.shape == data.shape and current_graph() is None
    )


Rate = float | Callable[..., Any]
