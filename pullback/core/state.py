"""The state of recording: one immutable `State` in one context variable.

Threads and asyncio tasks each have their own; a new thread starts from the default. Every change
makes another `State`, and is undone in a `finally`, so that an exception or Ctrl-C leaves nothing
behind. Upper layers keep settings of their own in it too, by `Scoped`.

Ctrl-C can come after any call. So entering sets the new state last, inside a `try` (`_enter`), and
leaving restores the state before as its first call; see `tests/test_interrupts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

OFF, TRACED, REQUIRED, ALL, TANGENT, EVERYTHING = 0, 1, 2, 3, 4, 5
"""Levels. A node's level says from which level of recording on its children are recorded.

TRACED      arguments of a transformation: recorded whenever recording is on; a backward pass that
            only passes through does not free them
REQUIRED    tensors with `requires_grad`: recorded unless recording is off
ALL         variables and watched tensors: recorded while a tape is open
TANGENT     nodes that carry tangents only: recorded while tangents are computed
EVERYTHING  as the level of recording: every node is recorded, those with tangents only too
"""
_SPECIAL = 8
"""In `State.mode`: an operation must take the general path through `core.record`."""

NORMAL, QUIET, PULLING, IN_RULE = 0, 1, 2, 3
"""Purposes. QUIET: code of the library, not to be recorded; PULLING: a backward pass on raw arrays;
IN_RULE: a hand-written rule, whose computations belong to the backward pass."""


class State:
    """One setting of everything that decides whether and how operations are recorded.

    enabled, inference   set by `no_grad` and `inference_mode`
    tapes                the open tapes
    watching             a level to record at without a tape: ALL or EVERYTHING; 0 for none
    overrides            scopes of `override_gradient`, innermost last
    keep_values, lines   what is kept with every node beside the values that its rules read
    accumulators         sweeps of forward mode, innermost last
    closed               told of operations on tensors from outside; see `captures.py`
    packing              packs the values that nodes save; see `core.saved_tensor_hooks`
    observers            listeners to events; see `core.observe`
    scoped               the values of `Scoped` settings
    purpose              one of the purposes above

    level  the level of recording
    mode   the level, plus a bit for the general path; the fast path compares it with a node's level
    sweep  the one sweep of forward mode, if that is all that is special

    A class with slots, because every recorded operation reads `mode`.
    """

    __slots__ = (
        "_forms", "accumulators", "closed", "enabled", "inference", "keep_values", "level", "lines",
        "mode", "observers", "overrides", "packing", "purpose", "scoped", "sweep", "tapes",
        "watching",
    )

    def __init__(
        self, enabled: bool = True, inference: bool = False, tapes: tuple[Any, ...] = (),
        overrides: tuple[Any, ...] = (), keep_values: bool = False, lines: bool = False,
        accumulators: tuple[Any, ...] = (), closed: Any = None, watching: int = OFF,
        packing: Any = None, observers: tuple[Any, ...] = (),
        scoped: Mapping[Scoped[Any], Any] = MappingProxyType({}), purpose: int = NORMAL,
    ) -> None:
        self.enabled, self.inference, self.tapes = enabled, inference, tapes
        self.overrides, self.keep_values, self.lines = overrides, keep_values, lines
        self.accumulators, self.closed, self.watching = accumulators, closed, watching
        self.packing, self.observers, self.scoped = packing, observers, scoped
        self.purpose = purpose
        self._settle()

    def _settle(self) -> None:
        """Compute the level and the mode."""
        self._forms: dict[int, State] | None = None
        general: Any = self.observers and any(o.notices for o in self.observers)
        if self.enabled:
            level = (max(ALL, self.watching) if self.watching else ALL) if (
                self.tapes or self.watching) else REQUIRED
            general = general or (
                self.overrides or self.keep_values or self.lines or self.closed is not None
                or self.packing is not None
            )
        else:
            level = OFF
        self.level, sweeps = level, self.accumulators
        alone = len(sweeps) == 1 and not (general or self.observers) and level < TANGENT
        self.sweep = sweeps[0] if alone else None
        self.mode = level | _SPECIAL if general or sweeps else level

    def follows(self, node: Any) -> bool:
        """Whether an operation on a tensor with this node is recorded for reverse mode."""
        return bool(node.level <= self.level)

    def pushes(self, node: Any) -> bool:
        """Whether an active sweep of forward mode has a tangent for the node."""
        return any(node in a.tangents for a in self.accumulators)

    def differentiates(self, nodes: Iterable[Any]) -> bool:
        """Whether an operation on tensors with these nodes is recorded, in either mode."""
        return any(n is not None and (self.follows(n) or self.pushes(n)) for n in nodes)

    def fields(self) -> dict[str, Any]:
        """The arguments that it was made of."""
        return {name: getattr(self, name) for name in _FIELDS}

    def changed(self, **fields: Any) -> State:
        """A state that differs in some fields."""
        made = object.__new__(State)  # written out, as every tape and `no_grad` comes here
        made.enabled, made.inference, made.tapes = self.enabled, self.inference, self.tapes
        made.overrides, made.keep_values, made.lines = self.overrides, self.keep_values, self.lines
        made.accumulators, made.closed = self.accumulators, self.closed
        made.watching, made.packing = self.watching, self.packing
        made.observers, made.scoped, made.purpose = self.observers, self.scoped, self.purpose
        for name, value in fields.items():
            setattr(made, name, value)
        made._settle()
        return made

    def form(self, purpose: int) -> State:
        """The state for code with another purpose: nothing is open, and it records in rules only.

        NORMAL stands for recording without anything open, QUIET and PULLING for none. Observers and
        scoped settings stay; so does noting lines where recording is on. Made once per state.
        """
        forms = self._forms
        if forms is None:
            forms = self._forms = {}
        found = forms.get(purpose)
        if found is None:
            records = purpose in (NORMAL, IN_RULE)
            found = forms[purpose] = State(
                enabled=records, lines=records and self.lines, observers=self.observers,
                scoped=self.scoped, purpose=purpose,
            )
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((self.mode, self.enabled, self.tapes))

    def __repr__(self) -> str:
        return f"State({', '.join(f'{k}={v!r}' for k, v in self.fields().items())})"


_FIELDS = (
    "enabled", "inference", "tapes", "overrides", "keep_values", "lines", "accumulators", "closed",
    "watching", "packing", "observers", "scoped", "purpose",
)

T = TypeVar("T")


class Scoped(Generic[T]):
    """A setting of an upper layer that is part of the state.

    >>> scale = Scoped("scale", 1.0)
    >>> with scale.held(2.0):
    ...     scale.get()
    2.0
    >>> scale.get()
    1.0
    """

    __slots__ = ("default", "name")

    def __init__(self, name: str, default: T) -> None:
        self.name, self.default = name, default

    def __repr__(self) -> str:
        return f"<Scoped {self.name}>"

    def get(self) -> T:
        """The value in this thread or task."""
        scoped = state().scoped
        return cast("T", scoped.get(self, self.default)) if scoped else self.default

    def set(self, value: T) -> T:
        """Set the value, and return the one before, for a `set` in a `finally`."""
        now = state()
        before = now.scoped.get(self, self.default)
        rest = {k: v for k, v in now.scoped.items() if k is not self}
        if value is not self.default:
            rest[self] = value
        _enter(now, now.changed(scoped=MappingProxyType(rest)))
        return cast("T", before)

    @contextmanager
    def held(self, value: T) -> Iterator[None]:
        """Hold a value inside a block."""
        now = state()
        inside, before = now, self.get()
        try:
            self.set(value)
            inside = state()
            yield
        finally:
            old = set_state(now).old_value
            if old is not inside and old is not now:
                amend(old)
                self.set(before)


_DEFAULT = State()
variable: ContextVar[State] = ContextVar("pullback_state", default=_DEFAULT)
state: Callable[[], State] = variable.get
set_state: Callable[[State], Any] = variable.set  # returns a token with the `old_value`
restore = set_state
"""Put back a state that one of the functions below returned."""


def _enter(before: State, inside: State) -> State:
    """Replace the state, and return the state before; an interrupt leaves the state before."""
    try:
        set_state(inside)
        return before
    except BaseException:
        set_state(before)
        raise


def change(**fields: Any) -> State:
    """Set fields of the current state, and return the state before."""
    before = state()
    return _enter(before, before.changed(**fields))


def leave(inside: State, before: State, **fields: Any) -> None:
    """Undo a change: restore the state before, or only fields if others have changed since."""
    old = set_state(before).old_value  # first of all, as an interrupt may follow
    if old is not inside:
        amend(old, **fields)


def amend(old: Any, **fields: Any) -> None:
    """Set fields of a state that was replaced, `Token.old_value`, and make it the state again."""
    set_state((_DEFAULT if old is Token.MISSING else old).changed(**fields))


@contextmanager
def setting(**fields: Any) -> Iterator[None]:
    """Hold fields of the state at other values inside a block."""
    before = state()
    inside = before.changed(**fields)
    own = {name: getattr(before, name) for name in fields}
    try:
        set_state(inside)
        yield
    finally:
        old = set_state(before).old_value  # first of all, as an interrupt may follow
        if old is not inside and old is not before:
            amend(old, **own)


def quiet() -> State:
    """Turn recording off with the least work (hot path)."""
    before = state()
    return _enter(before, before.form(QUIET)) if before.mode else before


def pulling() -> State:
    """Turn recording off for a backward pass on raw arrays."""
    before = state()
    return _enter(before, before.form(PULLING)) if before.mode else before


def in_rules() -> State:
    """Mark that rules run, during a backward pass on raw arrays.

    Where tapes or scopes are open, the rules themselves leave them.
    """
    before = state()
    return _enter(before, before.form(IN_RULE)) if before.mode == REQUIRED else before


def forget_tapes() -> State | None:
    """Leave all tapes and scopes while a hand-written gradient runs (hot path).

    Returns what `restore` takes, or None if there is nothing to leave. Recording stays possible,
    so that a gradient function may open a tape of its own.
    """
    before = state()
    if before.mode == REQUIRED:
        return None
    records = before.enabled or before.purpose == PULLING
    return _enter(before, before.form(IN_RULE if records else QUIET))


def recording(*, fresh: bool) -> State:
    """Turn recording on. `fresh` leaves tapes, scopes and tangents; lines are noted as before."""
    before = state()
    if fresh:
        return _enter(before, before.form(NORMAL))
    if not before.enabled:
        return change(enabled=True, inference=False)
    return before
