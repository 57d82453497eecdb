"""Optimizers and schedulers while a step is traced: their numbers are the host's.

In the trace an optimizer has other groups and another state: numbers are `Number`s and arrays are
tracers. Its own are put back at the end, whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.tensor import Tensor
from .host import Host, Number
from .places import UNSET, SlotPlace

_FIXED = (bool, str, type(None))


def missing_slots(optimizer: Any) -> dict[tuple[Any, str], Any]:
    """The arrays that an optimizer would make in its next step: (parameter, name) -> array."""
    made = {}
    for p, group in optimizer._groups.items():
        kept = optimizer.state.get(p, {})
        for name in optimizer._slots(group):
            if name not in kept:
                made[p, name] = optimizer._new_slot(p, name, group)
    return made


def snapshot(optimizers: Iterable[Any], schedulers: Iterable[Any]) -> Callable[[], None]:
    """A function that puts back the options of optimizers, and what schedulers know."""
    groups = [(g, dict(g)) for o in optimizers for g in o.param_groups]
    known = [(s, {k: list(v) if isinstance(v, list) else v for k, v in vars(s).items()})
             for s in schedulers]

    def restore() -> None:
        for own, before in [*groups, *((vars(s), before) for s, before in known)]:
            if own != before:
                own.clear()
                own.update(before)

    return restore


class Held:
    """One optimizer in the trace of a step.

    places  (parameter, name) -> the place of a slot
    """

    def __init__(self, optimizer: Any, host: Host) -> None:
        self.optimizer, self.host = optimizer, host
        self.groups, self.state = optimizer.param_groups, optimizer.state
        self.parameters = optimizer._groups
        self.places: dict[tuple[Any, str], SlotPlace] = {}
        self.stepped: dict[Any, None] = {}
        self._names = [host.named(g, "g") for g in self.groups]
        self._given: list[dict[str, Any]] = [{} for _ in self.groups]
        self.views: list[dict[str, Any]] = [{} for _ in self.groups]
        self._read()
        self._counts: dict[Any, tuple[Any, str, list[Any], list[Any]]] = {}
        self.bound: list[tuple[list[Any], list[Any]]] = []

    # Options ----------------------------------------------------------------------------------

    def _read(self) -> None:
        """Let the views have the options as they are at this stage."""
        for name, group, view, given in zip(
            self._names, self.groups, self.views, self._given, strict=True
        ):
            for key, value in group.items():
                view[key] = given[key] = self._number(f"{name}[{key!r}]", value)

    def _number(self, text: str, value: Any) -> Any:
        if value.__class__ in (int, float):
            return self.host.read(text, value)
        if value.__class__ is tuple and value and all(v.__class__ in (int, float) for v in value):
            return tuple(self._number(f"{text}[{i}]", v) for i, v in enumerate(value))
        if isinstance(value, _FIXED) and self.host.stage == 0:
            self.host.require(f"{text} is {self.host.named(value)}" if value.__class__ is not str
                              else f"{text} == {value!r}")
        return value

    def write(self) -> None:
        """Let each call put the options that the step has changed where they belong."""
        for group, view, given in zip(self.groups, self.views, self._given, strict=True):
            for key, value in view.items():
                if value is not given.get(key, UNSET) and key != "params":
                    self.host.put(group, key, value)
                    group[key] = value.value if isinstance(value, Number) else value
                    given[key] = value

    # In place of the optimizer's own -----------------------------------------------------------

    def enter(self) -> None:
        """Make the groups and the state that the optimizer has in the trace, and give it them."""
        view_of = {id(g): v for g, v in zip(self.groups, self.views, strict=True)}
        self._inner = {p: view_of[id(g)] for p, g in self.parameters.items()}
        plain = type(self.state) is dict
        self.inside: Any = {} if plain else type(self.state)(dict)
        for p, kept in self.state.items():
            if p in self.parameters:
                self.inside[p] = {k: self._count(p, k, v) for k, v in kept.items()}
        for (p, name), place in self.places.items():
            if p not in self.inside:
                self.inside[p] = {"step": self._count(p, "step", 0)}
            self.inside[p][name] = place.start
        for p in self.parameters if plain else ():
            if p not in self.inside:
                self.inside[p] = {"step": self._count(p, "step", 0)}
        self.begun = {p: dict(kept) for p, kept in self.inside.items()}
        self.swap()

    def swap(self) -> None:
        """Give it these in place of its own."""
        self.optimizer.param_groups, self.optimizer._groups = self.views, self._inner
        self.optimizer.state = self.inside

    def leave(self) -> None:
        """Put back its own."""
        self.optimizer.param_groups, self.optimizer._groups = self.groups, self.parameters
        self.optimizer.state = self.state

    def _count(self, p: Any, key: str, value: Any) -> Any:
        """What is kept for a parameter; a number of steps is one number for all that have it."""
        if value.__class__ not in (int, float):
            return value
        if (key, value) not in self._counts:
            holders: list[Any] = []
            name = self.host.named(holders, "counts")
            number = self.host.read(f"{name}[0][{key!r}]", value)
            self._counts[key, value] = (number, name, holders, [])
        number, _, _, parameters = self._counts[key, value]
        parameters.append(p)
        return number

    # At the end -------------------------------------------------------------------------------

    def finish(self) -> list[tuple[Any, str, Any]]:
        """What the state has that it had not: (parameter, key, value); notes the others."""
        self.write()
        made = []
        changed: dict[tuple[str, str], list[Any]] = {}
        for p, kept in self.inside.items():
            before = self.begun.get(p, {})
            for name, value in kept.items():
                place = self.places.get((p, name))
                if value is before.get(name, UNSET):
                    continue
                self.stepped[p] = None
                if isinstance(value, (Number, int, float)):
                    text = value.name if isinstance(value, Number) else repr(value)
                    changed.setdefault((name, text), []).append(p)
                elif place is not None and not isinstance(value, Tensor):
                    place.data = value
                else:
                    made.append((p, name, value))
        for (key, _), (_, name, holders, parameters) in self._counts.items():
            stepped = [p for p in parameters if p in self.stepped]
            if stepped:
                self.host.require(f"all([k[{key!r}] == {name}[0][{key!r}] for k in {name}])")
            self.bound.append((holders, stepped or parameters[:1]))
        for (key, text), parameters in changed.items():
            holders = []
            self.host.put_counts(self.host.named(holders, "changed"), key, text)
            self.bound.append((holders, parameters))
        return made

    def fits(self) -> bool:
        """Whether the state has the arrays that it had, or lacks those that can be made."""
        state = self.optimizer.state
        for p in self.stepped:
            now = state.get(p, {}).keys() - {"step"}
            then = self.begun.get(p, {}).keys() - {"step"}
            if not now <= then or any((p, name) not in self.places for name in then - now):
                return False
        return True

    def bind(self) -> None:
        """Fill the lists of the program with the dictionaries that are the state now."""
        state = self.optimizer.state
        for holders, parameters in self.bound:
            holders[:] = [state.setdefault(p, {"step": 0}) for p in parameters]
