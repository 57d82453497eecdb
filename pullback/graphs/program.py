"""`Program`: a plan that runs. Straight-line Python, made once for the kinds of arrays it meets.

The first run finds, step by step, the kernel for the arrays that are there. From the second run on
arrays of the same classes and shapes, the steps are the lines of one function: a local variable
for a value, which is taken by another value, or emptied, after its last use, so that arrays are
freed as early as can be. What is left of a step is the call of its kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from ..arrays import adapters
from ..arrays.refusals import REFUSALS, refuse
from ..arrays.symbol import Symbol
from ..core import state as _state
from ..errors import PullbackError
from ..kinds import symbols as _symbols
from .aliasing import Constant, Step
from .fusing import Group
from .operation import Operation, filled
from .plan import Plan, found_anew, kernel_for

_numbers = count()

KINDS, FUNCTIONS = 1024, 32
"""So many kinds of arrays are known, and so many functions, or kernels, kept for them."""


class Program:
    """What computes some fetches of a graph from some feeds.

    Called with the arrays that are fed and with the values of variables, it returns the arrays
    that are fetched (None for an operation). The first of them, as many as `own` says, share memory
    with nothing else.
    """

    def __init__(
        self, fetches: Sequence[Any], feeds: Sequence[Symbol] = (), own: int = 0
    ) -> None:
        self.plan, self.owned = Plan(fetches, feeds, own), own
        self.fetched = [f for f in fetches if f.__class__ is Symbol]
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._by_kernels: dict[tuple[int, ...], _Compiled] = {}
        self._seen: dict[Any, list[Callable[..., Any]]] = {}

    def __call__(self, values: Sequence[Any], store: Mapping[Any, Any]) -> list[Any]:
        """The fetched arrays, from those that are fed, in the order of the feeds."""
        key = tuple([(v.__class__, getattr(v, "shape", None)) for v in values])
        run = self._compiled.get(key)
        before = _state.quiet()
        try:
            _symbols.enter(None)  # what runs is not built
            if run is not None:
                return run(store, *values)
            kernels = self._seen.get(key)
            if kernels is not None:
                run = self._compile(key, kernels)
                return run(store, *values)
            return self._first(key, values, store)
        finally:
            _state.restore(before)

    def _compile(self, key: Any, kernels: Sequence[Callable[..., Any]]) -> _Compiled:
        """The function for arrays of a kind: that of others, where the kernels are the same."""
        if len(self._compiled) >= KINDS:  # as where each batch has another length
            self._compiled.clear()
        names = tuple(map(id, kernels))
        run = self._by_kernels.get(names)
        if run is None:
            if len(self._by_kernels) >= FUNCTIONS:
                self._by_kernels.clear()
            run = self._by_kernels[names] = _Compiled(self.plan, kernels)  # which holds them
        self._compiled[key] = run
        self._seen.pop(key, None)
        return run

    def _first(self, key: Any, values: Sequence[Any], store: Any) -> list[Any]:
        """Step by step, taking note of the kernels."""
        plan = self.plan
        registers: list[Any] = [*values, *[None] * (plan.registers - len(values))]
        kernels: list[Callable[..., Any]] = []
        last = _last_uses(plan)
        # What has no shape of its own may hold arrays of other classes next time.
        unsteady = {i for i, v in enumerate(values) if not hasattr(v, "shape")}
        for position, step in enumerate(plan.steps):
            args = [_value(a, registers) for a in step.args]
            operation = step.operation
            attrs = operation.attrs
            if step.extra:
                attrs = filled(attrs, [_value(e, registers) for e in step.extra])
            kernel = kernel_for(operation.op, args, attrs)
            serving = getattr(operation.op, "serving", None)
            if serving is not None:  # it may skip unused outputs
                unused = last.get(position, ())
                kernel = serving([r not in unused for r in step.results])
            if getattr(operation.op, "unsteady", False) or any(
                a in unsteady for a in step.args if a.__class__ is int
            ):
                unsteady.update(step.results)
                kernels.append(found_anew(operation.op) or kernel)
            else:
                kernels.append(kernel)
            if position in plan.kept:
                args = [copied(a) for a in args]
            if getattr(operation.op, "stored", False):
                args.insert(0, store)
            try:
                answer = kernel(*args, **attrs)
            except Exception as error:
                raise failed(operation, args, error) from error
            answers = answer if len(step.results) > 1 else (answer,)
            for register, result in zip(step.results, answers, strict=False):
                registers[register] = result
            for register in last.get(position, ()):
                registers[register] = None
        if len(self._seen) >= FUNCTIONS:
            self._seen.clear()
        self._seen[key] = kernels
        found = [None if r is None else _value(r, registers) for r in plan.results]
        for position in plan.copied:
            found[position] = copied(found[position])
        return found


def copied(array: Any) -> Any:
    """An array with memory of its own."""
    return adapters[array.__class__].copy(array)


def _value(place: Any, registers: Sequence[Any]) -> Any:
    return place.value if place.__class__ is Constant else registers[place]


def _last_uses(plan: Plan) -> dict[int, list[int]]:
    """For each step, the registers that no later step reads."""
    wanted = {r for r in plan.results if r.__class__ is int}
    last: dict[int, int] = {}
    for position, step in enumerate(plan.steps):
        for place in (*step.args, *step.extra, *step.results):
            if place.__class__ is int:
                last[place] = position
    found: dict[int, list[int]] = {}
    for register, position in last.items():
        if register not in wanted:
            found.setdefault(position, []).append(register)
    return found


def failed(operation: Operation, args: Sequence[Any], error: Exception) -> Exception:
    """An error of a kernel, naming the operation and the line that built it."""
    where = (
        f"in operation {operation.name!r} ({operation.type}), built at {operation.line}"
    )
    found: Exception = error
    if isinstance(error, REFUSALS) and not isinstance(error, PullbackError):
        try:
            refuse(operation.op, args, error)
        except Exception as refused:
            found = refused
    if where not in getattr(found, "__notes__", ()):
        found.add_note(where)
    return found


class _Compiled:
    """The steps of a plan as one function, with the kernels that a run of its kind met."""

    def __init__(self, plan: Plan, kernels: Sequence[Callable[..., Any]]) -> None:
        self.plan = plan
        self.file = f"<graph program {next(_numbers)}>"
        self.lines: dict[int, Operation] = {}
        writer = _Writer(plan, kernels, self.lines)
        scope: dict[str, Any] = writer.scope
        exec(compile(writer.text(), self.file, "exec"), scope)  # a text made here, of names only
        self.run: Callable[..., Any] = scope["program"]

    def __call__(self, store: Any, *values: Any) -> Any:
        try:
            return self.run(store, *values)
        except Exception as error:
            operation = self._where(error)
            if operation is None:
                raise
            raise failed(operation, (), error) from error

    def _where(self, error: Exception) -> Operation | None:
        """The operation whose line an error came through."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file:
                return self.lines.get(trace.tb_lineno)
            trace = trace.tb_next
        return None


class _Writer:
    """Writes the function of a plan: `program(store, v0, v1, …)`."""

    def __init__(
        self, plan: Plan, kernels: Sequence[Callable[..., Any]], lines: dict[int, Operation]
    ) -> None:
        self.plan, self.kernels, self.lines = plan, kernels, lines
        self.scope: dict[str, Any] = {"filled": filled, "copied": copied}
        self.names: dict[int, str] = {}
        self.free: list[str] = []
        self.variables = len(plan.feeds)
        self._held: dict[int, str] = {}
        self._kernels: dict[int, str] = {}

    def text(self) -> str:
        """The function's text; each step is one line of it, or two."""
        plan = self.plan
        feeds = [f"v{i}" for i in range(len(plan.feeds))]
        self.names = dict(enumerate(feeds))
        out = [f"def program({', '.join(['store', *feeds])}):"]
        last = _last_uses(plan)
        end, outputs, indent = -1, list[int](), ""
        for position, step in enumerate(plan.steps):
            if position in plan.groups and not plan.kept:
                end, outputs = plan.groups[position]
                group = Group(plan.steps[position:end], outputs)
                inputs = ", ".join(self.names[r] for r in group.inputs)
                out.append(f" group = {self._constant(group)}({inputs})")
                out.append(" if group is None:")
                indent = " "
            call = self._call(step, self.kernels[position], position in plan.kept)
            ended = last.get(position, ())
            self.free += [self.names.pop(r) for r in ended if r in self.names]
            results = [self._target(r, r in ended) for r in step.results]
            line = f" {', '.join(results)} = {call}" if results else f" {call}"
            out.append(indent + line)
            self.lines[len(out)] = step.operation
            # What is free and was not taken by the result is let go of at once.
            dead = [n for n in self.free if n not in results]
            if ended and dead:
                out.append(f"{indent} {' = '.join(dead)} = None")
            self.free += [n for r, n in zip(step.results, results, strict=True) if r in ended]
            if position == end - 1:
                indent = ""
                out.append(" else:")
                names = [self.names[r] for r in outputs]
                out.append(f"  {', '.join(names)}, = group")
                out += [f"  {' = '.join(self.free)} = None"] if self.free else []
                out.append(" group = None")
        fetched = ["None" if r is None else self._place(r) for r in plan.results]
        for position in plan.copied:
            fetched[position] = f"copied({fetched[position]})"
        out.append(f" return [{', '.join(fetched)}]")
        return "\n".join(out) + "\n"

    def _target(self, register: int, dead: bool) -> str:
        """A local variable for a result: one that is free, or a new one."""
        if self.free:
            name = self.free.pop()
        else:
            name = f"v{self.variables}"
            self.variables += 1
        if not dead:
            self.names[register] = name
        return name

    def _call(self, step: Step, kernel: Callable[..., Any], kept: bool) -> str:
        operation = step.operation
        args = [self._place(a) for a in step.args]
        if kept:
            args = [f"copied({a})" for a in args]
        if getattr(operation.op, "stored", False):
            args.insert(0, "store")
        if step.extra:
            attrs = self._constant(operation.attrs)
            places = ", ".join(self._place(e) for e in step.extra)
            args.append(f"**filled({attrs}, [{places}])")
        else:
            args += [f"{k}={self._constant(v)}" for k, v in operation.attrs.items()]
        return f"{self._kernel(kernel)}({', '.join(args)})"

    def _place(self, place: Any) -> str:
        return self._constant(place.value) if place.__class__ is Constant else self.names[place]

    def _constant(self, value: Any) -> str:
        if value is None or value is True or value is False or value.__class__ is int:
            return repr(value)
        return self._hold(self._held, value, "c")

    def _kernel(self, kernel: Callable[..., Any]) -> str:
        return self._hold(self._kernels, kernel, "f")

    def _hold(self, table: dict[int, str], value: Any, letter: str) -> str:
        name = table.get(id(value))
        if name is None:
            name = table[id(value)] = f"{letter}{len(table)}"
            self.scope[name] = value  # which keeps its id its own
        return name


def plain(value: Any) -> Any:
    """An array as its library's users know it; without axes, as the library's number."""
    if value is None or isinstance(value, tuple):
        return value
    made = adapters[value.__class__].plain(value)
    return made[()] if getattr(made, "shape", None) == () else made
