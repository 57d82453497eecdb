"""What all optimizers share: groups of parameters, where gradients come from, how values change.

A subclass is one formula, `_update`, on raw arrays and in place. It is called on pieces small
enough for the processor's cache, so its intermediate results are small too and a step goes through
the memory of a large parameter once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from sys import getrefcount
from typing import Any

from ..arrays import adapters
from ..arrays.kept import check_kept
from ..core import versions
from ..core.cotangent import is_complex
from ..core.inplace import immutable
from ..core.node import maker_of
from ..core.op import OPS
from ..core.outside import current_step
from ..core.tensor import Tensor, check_inexact, raw, to_array, wrap
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from ..kinds.symbols import current_graph
from ..variable import Variable

_PIECE = 1 << 16  # entries; see docs/performance.md

Group = dict[str, Any]


class Optimizer(ABC):
    """Base of the optimizers.

    params    tensors or variables; or groups of them, each a dictionary with its `"params"` and
              the options in which it differs from the others
    defaults  the options of every group that does not have its own

    A subclass has `_update`, the names of the arrays it keeps for a parameter in `_slots`, and a
    check of its options in `_check`. Options may be changed in `param_groups` at any time.

    >>> import pullback as pb
    >>> class SignDescent(pb.optim.Optimizer):
    ...     def _update(self, x, g, slots, count, group):
    ...         x -= group["lr"] * pb.sign(g)
    >>> x = pb.tensor([3.0, -1.0], requires_grad=True)
    >>> SignDescent([x], {"lr": 0.5}).step([pb.tensor([7.0, -7.0])])
    >>> x.detach()
    Tensor([ 2.5, -0.5])
    """

    _any_option = False  # whether groups may have options that `defaults` does not know

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        self.state: dict[Any, dict[str, Any]] = {}
        self._groups: dict[Any, Group] = {}  # parameter -> its group
        given = _listed(params, "argument `params`", self)
        if not given:
            raise ArgumentError(f"argument `params` of {self._name}", "some parameters", "none")
        if not any(isinstance(p, dict) for p in given):
            given = [{"params": given}]
        for group in given:
            self.add_param_group(group)

    @abstractmethod
    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        """Change x, and the slots, in place: all raw arrays of one shape; count starts at 1."""

    def _slots(self, group: Group) -> tuple[str, ...]:
        """The names of the arrays, zeros at first, that are kept for a parameter."""
        return ()

    def _start(self, name: str, group: Group) -> float:
        """What the entries of a slot are before the first step."""
        return 0.0

    def _check(self, group: Group) -> None:  # noqa: B027  # there may be nothing to check
        """Raise an `ArgumentError` for an option that cannot be."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    # Parameters -------------------------------------------------------------------------------

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Take more parameters: a dictionary with `"params"` and options of their own.

        Raises `ArgumentError` for a parameter that it has already or that was computed, and for an
        unknown option; `ArgumentTypeError` for what is no tensor.
        """
        if not isinstance(group, Mapping) or "params" not in group:
            raise ArgumentTypeError(
                f"group of {self._name}", 'a dictionary with "params"', f"{type(group).__name__}",
                "give all parameters, or all groups, in one list",
            )
        unknown = set(group) - set(self.defaults) - {"params", "initial_lr"}
        if unknown and not self._any_option:
            raise ArgumentError(
                f"group of {self._name}", f"options among {', '.join(self.defaults)}",
                ", ".join(sorted(unknown)),
            )
        given = group["params"]
        params = [given] if isinstance(given, Tensor) else _listed(given, '"params"', self)
        made = {**self.defaults, **group, "params": params}
        self._check(made)
        for i, p in enumerate(params):
            self._check_parameter(p, i, params)
        self.param_groups.append(made)
        self._groups.update((p, made) for p in params)

    def _check_parameter(self, p: Any, i: int, params: list[Any]) -> None:
        subject = f"parameter {i} of {self._name}"
        if not isinstance(p, Tensor):
            raise ArgumentTypeError(subject, "a Tensor or Variable", f"a {type(p).__name__}")
        check_inexact(p._data, subject)
        if not p.is_leaf:
            raise ArgumentError(
                subject, "a leaf", f"a result of `{maker_of(p._node)}`",
                "give the tensor that it was computed from, or x.detach().requires_grad_()",
            )
        if p in self._groups or any(p is other for other in params[:i]):
            raise ArgumentError(subject, "every parameter once", "one that is there already")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients; or make them zeros, with `set_to_none=False`."""
        for p in self._groups:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad = wrap(p._out, OPS["zeros_like"](p._data))

    # Steps ------------------------------------------------------------------------------------

    def step(self, grads: Iterable[Any] | None = None) -> None:
        """Change every parameter a little, by its `grad`, or by gradients that are given.

        grads  a gradient (Tensor or array) for each parameter, in the order of the parameters;
               None where there is none, which leaves the parameter alone

        Nothing is changed if one of the gradients does not fit: `ShapeError`, `DtypeError`, or
        `ArgumentError` for another number of them.
        """
        if grads is None:
            pairs = [(p.grad, p) for p in self._groups]
        else:
            given = _listed(grads, "argument `grads`", self)
            if len(given) != len(self._groups):
                raise ArgumentError(
                    f"argument `grads` of {self._name}.step",
                    f"{len(self._groups)} gradients, one a parameter", f"{len(given)}",
                )
            pairs = list(zip(given, self._groups, strict=True))
        self._advance(pairs)

    def apply_gradients(self, grads_and_params: Iterable[tuple[Any, Any]]) -> None:
        """`step` in the spelling of TensorFlow, from pairs (gradient, parameter).

        Raises `ArgumentError` for a parameter that the optimizer was not made with.

        >>> import pullback as pb
        >>> v = pb.Variable([1.0, 2.0])
        >>> pb.optim.SGD([v], lr=0.5).apply_gradients([(pb.tensor([2.0, 2.0]), v)])
        >>> v
        Variable([0., 1.])
        """
        pairs = [(g, p) for g, p in grads_and_params]
        for i, (_, p) in enumerate(pairs):
            if not isinstance(p, Tensor) or p not in self._groups:
                raise ArgumentError(
                    f"parameter {i} of {self._name}.apply_gradients",
                    "one that the optimizer was made with", f"another {type(p).__name__}",
                    "add it first, with add_param_group",
                )
        self._advance(pairs)

    def _advance(self, pairs: list[tuple[Any, Any]]) -> None:
        fitted = [
            (self._fitted(g, p, i), p) for i, (g, p) in enumerate(pairs) if g is not None
        ]
        for g, p in fitted:
            check_kept(p._data, f"{self._name}.step", g)
        if current_graph() is not None:  # then it is a step of the graph, taken when that runs
            self._put_off(fitted)
            return
        if (step := current_step()) is not None:
            step.advances(self, [p for _, p in fitted])
        for g, p in fitted:
            self._change(p, g)

    def _put_off(self, fitted: list[tuple[Any, Any]]) -> None:
        from ..graphs.tracing import effect  # loaded already when a graph is built

        parameters = [p for _, p in fitted]

        def run(*arrays: Any) -> None:
            for p, g in zip(parameters, arrays, strict=True):
                self._change(p, g)

        effect(self._name, run, [g for g, _ in fitted], parameters)

    def _fitted(self, g: Any, p: Any, i: int) -> Any:
        """A gradient as a raw array of the parameter's shape and dtype."""
        data = p._data
        given = to_array(g, data)
        if given.__class__ is data.__class__ and (given.shape, given.dtype) == (
            data.shape, data.dtype
        ):
            return given
        subject = f"gradient {i} of {self._name}.step"
        if tuple(getattr(given, "shape", ())) != p.shape:
            raise ShapeError(
                subject,
                f"the parameter's shape {p.shape}",
                f"shape {tuple(getattr(g, 'shape', ()))}",
            )
        array = adapters[data.__class__].asarray(given)
        if is_complex(array) and not is_complex(data):
            raise DtypeError(subject, f"dtype {data.dtype}", f"{array.dtype}", "take its real part")
        return array if array.dtype == data.dtype else OPS["astype"](array, data.dtype)

    def _change(self, p: Any, g: Any) -> None:
        group, state = self._groups[p], self.state.setdefault(p, {"step": 0})
        state["step"] += 1
        slots = []
        for name in self._slots(group):
            if name not in state:
                state[name] = self._new_slot(p, name, group)
            slots.append(state[name])
        if immutable(p._data):
            self._renew(p, g, state, group)
            return
        alone = not isinstance(p, Variable) or _held_alone(p)
        data = _array(p) if alone else adapters[p._data.__class__].copy(p._data)
        g = -g if group.get("maximize") else g
        for x, piece, *kept in _pieces([data, g, *slots]):
            self._update(x, piece, kept, state["step"], group)
        if not alone:
            p.assign(data)
            return
        versions.written(data, f"{self._name}.step", line=False)
        if isinstance(p, Variable) and p._leaf is not None:
            p._leaf.renew(data)

    def _new_slot(self, p: Any, name: str, group: Group) -> Any:
        start = self._start(name, group)
        if is_complex(p._data):  # each half is a number of its own to the formulas
            return OPS["full_like"](p._data, complex(start, start))
        return OPS["full_like"](p._data, start)

    def _renew(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        """The same for arrays that cannot be written: Tensors are, which then hold others."""
        names, parted = self._slots(group), is_complex(g)
        x, g, *kept = [
            wrap(Tensor, OPS["stack"]([OPS["real"](a), OPS["imag"](a)]) if parted else a)
            for a in (p._data, g, *(state[name] for name in names))
        ]
        self._update(x, -g if group.get("maximize") else g, kept, state["step"], group)
        data, *slots = [
            OPS["make_complex"](*t._data) if parted else t._data for t in (x, *kept)
        ]
        state.update(zip(names, slots, strict=True))
        if isinstance(p, Variable):
            p.assign(data)
            return
        p._data = data
        if p._node is not None:
            p._node.renew(data)

    # Saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """A snapshot of the state and the options; parameters are named by their number.

        >>> import pullback as pb
        >>> x = pb.tensor([1.0], requires_grad=True)
        >>> optimizer = pb.optim.SGD([x], lr=0.1, momentum=0.9)
        >>> optimizer.step([[2.0]])
        >>> optimizer.state_dict()["state"]
        {0: {'step': 1, 'momentum_buffer': Tensor([2.])}}
        """
        numbers = {p: i for i, p in enumerate(self._groups)}
        state = {
            numbers[p]: {
                k: v if k == "step" else wrap(Tensor, adapters[v.__class__].copy(v))
                for k, v in kept.items()
            }
            for p, kept in self.state.items()
        }
        groups = [
            {**group, "params": [numbers[p] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a snapshot of an optimizer with the same groups of parameters.

        Raises `ArgumentError` for other groups, `ShapeError` for parameters of other shapes.
        """
        groups = state_dict["param_groups"]
        sizes, ours = [[len(g["params"]) for g in gs] for gs in (groups, self.param_groups)]
        if sizes != ours:
            raise ArgumentError(
                f"{self._name}.load_state_dict", f"groups of {ours} parameters", f"of {sizes}"
            )
        numbers = [n for group in groups for n in group["params"]]
        state = {
            p: self._restored(p, state_dict["state"][n], n)
            for n, p in zip(numbers, self._groups, strict=True) if n in state_dict["state"]
        }
        for group, saved in zip(self.param_groups, groups, strict=True):
            known = saved if self._any_option else {*self.defaults, "initial_lr"}
            made = {**group, **{k: saved[k] for k in saved if k in known and k != "params"}}
            self._check(made)
            group.update(made)
        self.state = state

    def _restored(self, p: Any, saved: Mapping[str, Any], number: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, value in saved.items():
            if name == "step":
                kept[name] = int(value)
            elif value is not None:
                adapter = adapters[p._data.__class__]
                made = adapter.asarray(raw(value), p.dtype)
                if made.shape != p.shape:
                    raise ShapeError(
                        f"{name!r} of parameter {number} in {self._name}.load_state_dict",
                        f"shape {p.shape}", f"shape {tuple(made.shape)}",
                    )
                # A copy of the parameter has its place: device, sharding over several.
                kept[name] = adapter.write(adapter.copy(p._data), made)
        return kept

    def __repr__(self) -> str:
        options = [f"{k}={v}" for k, v in self.param_groups[0].items() if k != "params"]
        groups = len(self.param_groups)
        return f"{self._name}({len(self._groups)} parameters" + (
            f" in {groups} groups)" if groups > 1 else f", {', '.join(options)})"
        )


def at_least(group: Group, subject: str, names: Iterable[str], limit: float = 0.0) -> None:
    """Raise an `ArgumentError` unless these options are numbers from a limit up."""
    for name in names:
        if not group[name] >= limit:
            raise ArgumentError(
                f"argument `{name}` of {subject}", f"a number ≥ {limit:g}", f"{group[name]}"
            )


def below_one(subject: str, **options: float) -> None:
    """Raise an `ArgumentError` unless the options are in [0, 1)."""
    for name, value in options.items():
        if not 0 <= value < 1:
            raise ArgumentError(f"argument `{name}` of {subject}", "a number in [0, 1)", f"{value}")


def stored(slots: list[Any], updated: tuple[Any, Sequence[Any]]) -> None:
    """Write the slots that an update rule returned as new arrays into those that are kept."""
    for kept, made in zip(slots, updated[1], strict=True):
        if made is not kept:
            kept[...] = made


def _listed(values: Any, what: str, optimizer: Optimizer) -> list[Any]:
    if isinstance(values, (Tensor, Mapping)) or not isinstance(values, Iterable):
        raise ArgumentTypeError(
            f"{what} of {type(optimizer).__name__}", "a list", f"a {type(values).__name__}",
            "put it in a list: [x]",
        )
    return list(values)


def _references(variable: Variable) -> int:
    return getrefcount(variable._data)


_ALONE = _references(Variable(0.0))  # how that counts depends on the interpreter


def _held_alone(variable: Variable) -> bool:
    """Whether nothing else (a graph, a view, a user) holds the variable's array."""
    data = variable._data
    owned = adapters[data.__class__].owner(data) is data
    del data  # it would count
    return owned and _references(variable) <= _ALONE


def _array(p: Any) -> Any:
    """A parameter's array, one that can be written: a NumPy scalar is replaced."""
    data = p._data
    adapter = adapters[data.__class__]
    if adapter.owner(data) is None:
        p._data = data = adapter.copy(data)
        if p._node is not None:
            p._node.renew(data)
    return data


def _pieces(arrays: list[Any]) -> Iterable[list[Any]]:
    """Views of corresponding parts, along the first axis; of complex arrays, their two halves."""
    if is_complex(arrays[0]):  # each half is a real number to the formulas, as in PyTorch
        return [*_pieces([a.real for a in arrays]), *_pieces([a.imag for a in arrays])]
    shape = arrays[0].shape
    entries = math.prod(shape)
    if entries <= _PIECE:
        return (arrays,)
    rows = max(1, _PIECE * shape[0] // entries)
    return ([a[i : i + rows] for a in arrays] for i in range(0, shape[0], rows))
