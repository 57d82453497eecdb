"""`monitor`: measures a training loop step by step."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from ...arrays import adapters
from ...core.inplace import immutable
from ...core.observe import Calls, observing
from ...core.tensor import Tensor
from ...errors import AnomalyError, ArgumentError
from ..table import Table
from . import pictures
from .curves import History
from .measures import array_of, distance, is_slices, norm, number_of, zero_share
from .notes import Watched, note_on_units, shown, spark
from .parameters import Named, entries, matched, modules_of, parameters_of
from .units import Units
from .writers import Events, Rows, Screen, Target

_RESERVED = ("step", "seconds", "gradient", "update", "zero", "dead")
_HEAD = ("name", "shape", "gradient", "update/weight", "zeros", "note")


class Monitor:
    """Returned by `monitor`: measures each step, and calls its writers and its screen.

    history  the curves, by name
    alarms   the messages about NaN and infinity
    copies   the number of copied parameters
    """

    def __init__(
        self, watched: Any, optimizer: Any, files: tuple[Target | None, Target | None], live: Any,
        every: int, batches: int, dead_units: bool, channels_last: bool, stop: bool, start: int,
    ) -> None:
        for name, value in (("every", every), ("batches", batches)):
            if value < 1:
                raise ArgumentError(f"argument `{name}` of monitor", "at least 1", f"{value}")
        self.history, self.copies, self.alarms = History(), 0, list[str]()
        self.every, self._stop, self._count, self._start = every, stop, start, start
        self._watched, self._optimizer, self._files, self._live = watched, optimizer, files, live
        self._parameters: Named = []
        if watched is not None:
            self._parameters = parameters_of(watched, "argument of monitor")
        modules = [] if watched is None else modules_of(watched)
        self._units = Units({id(m): n for n, m in modules}, batches, channels_last)
        self._dead_units, self._modules = dead_units, modules
        self._seen: dict[str, Watched] = {}
        self._before: dict[str, Any] = {}
        self._bad: set[str] = set()
        self._alarm_steps: list[int] = []
        self._note = ""
        self._times: deque[float] = deque(maxlen=21)
        self._writers: list[Rows | Events] = []
        self._stack: ExitStack | None = None

    # The block --------------------------------------------------------------------------------

    def __enter__(self) -> Monitor:
        if self._stack is not None or self._times:
            raise ArgumentError("a monitor", "one `with` block", "a second one",
                                "create another one")
        with ExitStack() as stack:
            kinds: tuple[type[Rows | Events], ...] = (Rows, Events)
            for path, writer in zip(self._files, kinds, strict=True):
                if path is not None:
                    self._writers.append(writer(path))
                    stack.callback(self._writers[-1].close)
            self._screen = Screen(self._live)
            stack.callback(self._screen.close)
            if self._dead_units:
                stack.enter_context(observing(Calls(kernel=self._units)))
            self._stack = stack.pop_all()
        self._times.append(time.perf_counter())
        self._began = self._times[0]
        self._prepare()
        return self

    def __exit__(self, *error: object) -> None:
        stack, self._stack = self._stack, None
        self._units.on = False
        try:
            if self._count > self._start:
                self._screen.show(self.table, at_once=True)
        finally:
            if stack is not None:
                stack.close()
            self._watched, self._parameters, self._optimizer = None, [], None
            self._before.clear()
            self._modules.clear()
            self._units.modules = {}

    # A step -----------------------------------------------------------------------------------

    def step(
        self, loss: Any = None, *, params: Any = None, gradients: Any = None, **numbers: Any
    ) -> None:
        """Measures, writes and shows one training step; call it after the optimizer's step.

        loss       a tensor or number; None if there is none
        params     the current parameters, for training loops that create new arrays
        gradients  in the structure or the order of the parameters, or a dictionary by name;
                   default: the tensors' `grad`
        numbers    further numbers by name, such as accuracy=0.9 or lr=0.1; None is left out

        Raises `ArgumentError` and `ArgumentTypeError` for values that are not numbers and for
        gradients that do not fit; with `stop=True`, `AnomalyError` for NaN and infinity.
        """
        if self._stack is None:
            raise ArgumentError("step of a monitor", "a `with` block that is open", "none",
                                "with pb.monitor(model) as seen: …")
        sampled, now = self._is_sampled(self._count), time.perf_counter()
        record = self._numbers(loss, numbers)
        if params is not None:
            self._parameters = parameters_of(params, "argument `params` of a monitor's step")
        pairs = self._with_gradients(gradients)
        self._count += 1
        self._times.append(now)
        passed = now - self._times[0]
        record["steps/s"] = (len(self._times) - 1) / passed if passed > 0 else 0.0
        record |= self._measured(pairs, sampled)
        alarm = self._alarm(record)
        if not sampled:
            record = {k: v for k, v in record.items() if not k.startswith("gradient/")}
        self.history.add(self._count, record)
        for writer in self._writers:
            writer.write(self._count, now - self._began, record)
        if alarm:
            self._screen.alarm(alarm)
        self._screen.show(self.table)
        self._prepare()
        if alarm and self._stop:
            raise AnomalyError(alarm, fix="pb.debug(nan=True, inf=True) stops at the operation")

    def _is_sampled(self, done: int) -> bool:
        return (done - self._start) % self.every == 0

    def _numbers(self, loss: Any, numbers: Mapping[str, Any]) -> dict[str, float]:
        for name in numbers:
            if name in _RESERVED:
                fix = "gradients=…" if name == "gradient" else ""
                raise ArgumentError("step of a monitor", "another name", repr(name), fix)
        given = {"loss": loss, **_rates(self._optimizer), **numbers}
        return {
            name: number_of(value, f"argument `{name}` of a monitor's step")
            for name, value in given.items() if value is not None
        }

    def _with_gradients(self, gradients: Any) -> list[tuple[str, Any, Any]]:
        named = self._parameters
        if gradients is None:
            found = [getattr(p, "grad", None) for _, p in named]
        elif not named:
            named = [(n, g) for n, g in entries(gradients)]
            found = [g for _, g in named]
        else:
            found = matched(gradients, named)
        given = gradients is not None or any(g is not None for g in found)
        asks = [p for _, p in named if isinstance(p, Tensor)]
        self._note = "" if given or not asks else (
            "no gradient was found: call step before zero_grad, or pass gradients=…"
        )
        for (name, p), g in zip(named, found, strict=True):
            watched = self._seen.setdefault(name, Watched(name, tuple(getattr(p, "shape", ()))))
            watched.missing = given and g is None and _learns(p)
        return [(n, p, g) for (n, p), g in zip(named, found, strict=True)]

    def _measured(self, pairs: list[tuple[str, Any, Any]], sampled: bool) -> dict[str, float]:
        record: dict[str, float] = {}
        total = 0.0
        for name, p, g in pairs:
            array = None if g is None else array_of(g)
            watched = self._seen[name]
            watched.gradient = None if array is None else norm(array)
            if watched.gradient is not None:
                record[f"gradient/{name}"] = watched.gradient
                total = math.hypot(total, watched.gradient)
            if sampled:
                watched.zeros = None if array is None else _zeros(array, g, watched.size)
                watched.update = self._update(name, p)
        if record:
            record = {"gradient": _total(record, total), **record}
        if sampled:
            record |= self._judged([name for name, _, _ in pairs])
        self._before.clear()
        return record

    def _update(self, name: str, p: Any) -> float | None:
        before = self._before.get(name)
        after = array_of(p)
        if before is None or getattr(before, "shape", ()) != getattr(after, "shape", ()):
            return None
        size = norm(before)
        return distance(after, before) / size if size else None

    def _judged(self, names: list[str]) -> dict[str, float]:
        record: dict[str, float] = {}
        largest = max((self._seen[n].entry for n in names), default=0.0)
        for name in names:
            watched = self._seen[name]
            watched.judge(largest)
            for kind, value in (("update", watched.update), ("zero", watched.zeros)):
                if value is not None:
                    record[f"{kind}/{name}"] = value
        shares = self._units.shares()
        record |= {f"dead/{site}": dead / count for site, (dead, count) in shares.items()}
        if shares:
            dead, count = (sum(v) for v in zip(*shares.values(), strict=True))
            record["dead"] = dead / count
        return record

    def _prepare(self) -> None:
        """For the next step: copies parameters to measure their update, and watches units."""
        sampled = self._is_sampled(self._count)
        self._units.next_step(sampled and self._dead_units)
        if not sampled:
            return
        if self._watched is not None and any(isinstance(p, Tensor) for _, p in self._parameters):
            self._parameters = parameters_of(self._watched, "argument of monitor")
        for name, p in self._parameters:
            array = array_of(p)
            if not immutable(array):
                array = adapters[array.__class__].copy(array)
                self.copies += 1
            self._before[name] = array

    # Alarms -----------------------------------------------------------------------------------

    def _alarm(self, record: Mapping[str, float]) -> str:
        """Text for numbers that became NaN or infinite; again only after a finite value."""
        bad = {name for name, value in record.items() if not math.isfinite(value)}
        new = [name for name in record if name in bad - self._bad]
        self._bad = bad | {name for name in self._bad if name not in record}
        if not new:
            return ""
        words = [f"{name} is {record[name]}" for name in new[:3]]
        more = f", and {len(new) - 3} more" if len(new) > 3 else ""
        text = f"step {self._count}: {'; '.join(words)}{more}"
        self.alarms.append(text)
        self._alarm_steps.append(self._count)
        return text

    # Results ----------------------------------------------------------------------------------

    def table(self) -> Table:
        """Returns the current state: one row per parameter and per activation.

        Rows with a note come first. `print` shows it.
        """
        rows = [
            (w.name, "×".join(map(str, w.shape)) or "1", shown(w.gradient), shown(w.update),
             shown(w.zeros, share=True), w.note) for w in self._seen.values()
        ]
        rows += [
            (str(site), f"{count} units", "", "", shown(dead / count, share=True),
             note_on_units(dead, count)) for site, (dead, count) in self._units.shares().items()
        ]
        rows.sort(key=lambda row: not row[-1])
        notes = [*([self._note] if self._note else []), *self.alarms[-5:]]
        return Table(self._title(), _HEAD, rows, notes, alarms=True)

    def _title(self) -> str:
        parts = [f"step {self._count}"]
        for name, curve in self.history.items():
            if "/" not in name or name == "steps/s":
                end = f" {spark(curve)}" if name == "loss" else ""
                parts.append(f"{name} {shown(curve[-1])}{end}")
        return " · ".join(parts)

    def save(self, path: Target) -> None:
        """Writes the curves as .png, .svg, .pdf or .html, chosen by the file's suffix."""
        pictures.save(path, self.history, self.table(), self._alarm_steps)


def monitor(
    watched: Any = None, *, optimizer: Any = None, csv: Target | None = None,
    tensorboard: Target | None = None, live: Any = None, every: int = 10, batches: int = 10,
    dead_units: bool = True, channels_last: bool = False, stop: bool = False, start: int = 0,
) -> Monitor:
    """Context manager: measures a training loop; call its `step` after each optimizer step.

    watched        a module, or pytrees of tensors and arrays; None if every call of `step` passes
                   its own `params`
    optimizer      records its learning rate
    csv            a CSV file to write; replaced if it exists
    tensorboard    a folder for event files
    live           True: a table in the terminal, else lines; False: alarms only; None: a table
                   if there is a terminal; or rich's Console
    every          number of steps between measurements of updates (copies parameters) and units
    batches        a unit is dead if it is zero in this many measurements in a row
    dead_units     False: do not watch kernels
    channels_last  for pictures whose last axis is the channels
    stop           raise `AnomalyError` at a NaN or infinity
    start          the number of steps done before

    >>> import pullback as pb
    >>> w = pb.tensor([3.0, 4.0], requires_grad=True)
    >>> optimizer = pb.optim.SGD([w], lr=0.5)
    >>> with monitor({"w": w}, optimizer=optimizer, live=False) as seen:
    ...     loss = pb.sum(w * w)
    ...     loss.backward()
    ...     optimizer.step()
    ...     seen.step(loss)
    >>> seen.history["loss"][-1], seen.history["gradient/w"][-1], seen.history["update/w"][-1]
    (25.0, 10.0, 1.0)
    """
    return Monitor(watched, optimizer, (csv, tensorboard), live, every, batches, dead_units,
                   channels_last, stop, start)


def _rates(optimizer: Any) -> dict[str, Any]:
    if optimizer is None:
        return {}
    if hasattr(optimizer, "param_groups"):
        rates = [group.get("lr") for group in optimizer.param_groups]
        return {"lr" if i == 0 else f"lr/{i}": rate for i, rate in enumerate(rates)}
    return {"lr": getattr(optimizer, "learning_rate", None)}


def _learns(p: Any) -> bool:
    return not isinstance(p, Tensor) or p.requires_grad or getattr(p, "trainable", False)


def _zeros(array: Any, g: Any, size: int) -> float:
    """The share of zeros; for `IndexedSlices`, entries of missing rows are zeros too."""
    if not is_slices(g) or not size:
        return zero_share(array)
    return 1 - (1 - zero_share(array)) * array.size / size


def _total(record: Mapping[str, float], total: float) -> float:
    """The norm of all gradients together; NaN takes precedence over infinity."""
    return math.nan if any(math.isnan(v) for v in record.values()) else total
