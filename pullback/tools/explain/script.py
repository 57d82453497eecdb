"""Runs a script and explains every gradient in it that is None, zero, NaN or infinite."""

from __future__ import annotations

import gc
import inspect
import linecache
import re
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from ..._user_code import is_own, place
from ...arrays import adapters, known
from ...arrays.batched import Batched
from ...arrays.symbol import Symbol
from ...core.node import Leaf, number
from ...core.observe import Calls, observing
from ...core.state import REQUIRED, setting
from ...core.tensor import Tensor, raw
from ...graphs.session import fetching
from ...lost_paths import forget
from ...nn.module import Module
from ...optim.base import Optimizer
from ..debug.journal import keeping, latest
from .causes import CURES
from .explain import explain
from .explanation import Explanation
from .fetched import computed_for, wrong_in
from .numbers import is_replaced, replaced
from .severed import line_from, of_target, own_node


class Asked(NamedTuple):
    """An explanation, and the line that computed the gradient."""

    how: str
    file: str
    line: int
    explanation: Explanation


def _is_ordinary(result: Tensor) -> bool:
    """Whether a gradient is finite and has a non-zero entry, so that it needs no explanation."""
    values = known(raw(result))
    if values is None or isinstance(values, (Batched, Symbol)):
        return False
    numbers = adapters[values.__class__].numpy(values)
    return bool(numpy.isfinite(numbers).all() and numbers.any())


def _is_finite(target: Any) -> bool:
    """Whether a target is finite, or has no values that are known here."""
    values = known(raw(target)) if isinstance(target, Tensor) else None
    if values is None or isinstance(values, (Batched, Symbol)):
        return True
    return bool(numpy.isfinite(adapters[values.__class__].numpy(values)).all())


def _is_script(frame: Any) -> bool:
    """Whether a frame runs code of the script or of a module that it imported."""
    return not is_own(frame.f_code.co_filename) and "runpy" not in frame.f_code.co_filename


def _asked_for(how: str, x: Any) -> str:
    """How a gradient was computed, and of which variable, by its name in the script."""
    frame = inspect.currentframe()
    while frame is not None:
        if _is_script(frame):
            for name, value in (*frame.f_locals.items(), *frame.f_globals.items()):
                if value is x:
                    return f"{how} of `{name}`"
                if isinstance(value, Module):
                    for path, p in value.named_parameters():
                        if p is x:
                            return f"{how} of `{name}.{path}`"
        frame = frame.f_back
    return how


def _old_parameter(x: Any, objects: Sequence[Any]) -> Explanation:
    """Explains a tensor that an optimizer holds, and that the target was not computed from."""
    optimizer = next(
        o for o in objects if issubclass(type(o), Optimizer) and any(p is x for p in o._groups))
    number = next(i for i, p in enumerate(optimizer._groups) if p is x)
    journal = latest()
    event = None if journal is None else journal.find(x._data)
    at = ("", 0) if event is None else (event.file, event.line)
    made = f", made at {at[0]}:{at[1]}" if at[1] else ""
    return Explanation(
        "None", "unused", f"Parameter {number} of the {type(optimizer).__name__}, of shape "
        f"{tuple(x.shape)}{made}, is not in the computation of the target: another tensor may have "
        "replaced it after the optimizer was made.", at=at,
        fix="make the optimizer after the parameters, and change these in place",
    )


class ScriptListener:
    """Listens to a script and explains each gradient once per line that computes it."""

    def __init__(self) -> None:
        self.found: list[Asked] = []
        self._seen: set[Any] = set()
        self._reported: set[Any] = set()
        self._reached: set[int] = set()
        self._suspects: list[tuple[int, Asked]] = []
        self._since = number()
        # Gradients in graphs, whose values are known where a run fetches them.
        self._pending: dict[int, tuple[Any, int, tuple[str, str, int]]] = {}

    def wanted(self, elements: Sequence[Any]) -> list[Any]:
        """What a run of a graph fetches too: its gradients, and what these are computed from."""
        if not self._pending:
            return []
        return computed_for([s for s in computed_for(elements) if id(s) in self._pending])

    def fetched(self, elements: Sequence[Any], values: Sequence[Any]) -> None:
        """Called for every run of a graph, with what it fetched."""
        known = {id(e): v for e, v in zip(elements, values, strict=True)}
        for element in {id(e): e for e in elements}.values():
            _, last, asked = self._pending.get(id(element), (None, 0, None))
            if asked is None:
                continue
            wrong = wrong_in(element, known[id(element)], known, last)
            if wrong is not None:
                self._add(Asked(*asked, wrong))

    def __call__(
        self, how: str, targets: Sequence[Any], sources: Sequence[Any], results: Sequence[Any],
        tape: Any,
    ) -> None:
        """Called for every computed gradient."""
        file, line = place()
        if not sources and any(t._node is None for t in targets):
            self._explain((file, line, -1), how, lambda: of_target(targets))
        for i, (source, result) in enumerate(zip(sources, results, strict=True)):
            if isinstance(source._node, Leaf):
                self._reached.add(source._node.born)
            if isinstance(result, Tensor) and result._data.__class__ is Symbol:
                last = max([t._data.operation.number for t in targets
                            if t._data.__class__ is Symbol], default=0)
                self._pending[id(result._data)] = (
                    result._data, last, (_asked_for(how, source), file, line))
            if result is None or (isinstance(result, Tensor) and not _is_ordinary(result)):
                self._explain((file, line, i), _asked_for(how, source),
                              lambda s=source: explain(targets, s, tape=tape))
        if sources and not all(map(_is_finite, targets)):
            self._explain((file, line, -2), how, lambda: explain(targets, sources[0], tape=tape))
        if how == "backward()" and (file, line) not in self._seen:
            self._seen.add((file, line))
            self._look_for_left_out(file, line, how, targets)

    def _explain(self, key: tuple[str, int, int], how: str, ask: Any) -> None:
        if key in self._seen:
            return
        explanation = ask()
        if explanation.cause in ("fine", "unknown"):
            return
        self._seen.add(key)
        self._add(Asked(how, key[0], key[1], explanation))

    def _add(self, asked: Asked) -> None:
        """Adds an explanation once per line that computes gradients and per cause."""
        e = asked.explanation
        key = (asked.file, asked.line, e.cause, e.file, e.line)
        if key not in self._reported:
            self._reported.add(key)
            self.found.append(asked)

    def _look_for_left_out(self, file: str, line: int, how: str, targets: Sequence[Any]) -> None:
        """Looks for tensors with requires_grad that got no gradient from any backward call.

        Skips tensors that the target does not depend on, unless an optimizer holds them.
        """
        objects = gc.get_objects()
        learned = {id(p) for o in objects if issubclass(type(o), Optimizer) for p in o._groups}
        for x in [o for o in objects if issubclass(type(o), Tensor)]:
            node = getattr(x, "_leaf", None) or getattr(x, "_node", None)
            if not isinstance(node, Leaf) or node.born < self._since:
                continue
            if node.level == REQUIRED and node.grad is None:
                explanation = explain(targets, x)
                passed = ("fine",) if id(x) in learned else ("fine", "unused")
                if explanation.cause not in passed:
                    if explanation.cause == "unused":
                        explanation = _old_parameter(x, objects)
                    asked = Asked(_asked_for(how, x), file, line, explanation)
                    self._suspects.append((node.born, asked))

    def _look_for_replaced(self, error: BaseException) -> None:
        """Finds `w = w - lr * w.grad`, whose `.grad` is None and fails at the line that uses it."""
        frames = [f for f in traceback.walk_tb(error.__traceback__) if _is_script(f[0])]
        for frame, line in frames[-1:]:
            for x in list(frame.f_locals.values()):
                node = x._node if isinstance(x, Tensor) and not hasattr(x, "_leaf") else None
                if node is not None and is_replaced(node):
                    at = frame.f_code.co_filename
                    self._add(Asked(f"{type(error).__name__}", at, line, replaced(node)))

    def _look_for_result(self, error: BaseException) -> None:
        """Finds `h.grad` of a result of an operation, which is None, in the line that uses it."""
        frames = [f for f in traceback.walk_tb(error.__traceback__) if _is_script(f[0])]
        for frame, line in frames[-1:]:
            at = frame.f_code.co_filename
            for name in re.findall(r"(\w+)\.grad\b", linecache.getline(at, line)):
                x = frame.f_locals.get(name, frame.f_globals.get(name))
                node = own_node(x)
                if node is None or isinstance(node, Leaf) or is_replaced(node):
                    continue
                self._add(Asked(f"`{name}.grad`", at, line, Explanation(
                    "None", "result", f"`{name}` is a result of `{node.name()}`: backward() fills "
                    "`.grad` of leaves only.", operation=node.name(), at=line_from(node),
                    fix=CURES["result"].replace("h.", f"{name}."),
                )))

    def _look_for_number(self, error: AttributeError) -> None:
        """Finds a call of `backward` on a Python number that was a tensor before."""
        if isinstance(error.obj, (int, float, numpy.generic, numpy.ndarray)):
            frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
            asked = ("backward()", frame.f_code.co_filename, line, of_target([error.obj]))
            self._add(Asked(*asked))

    def finish(self, ended: BaseException | None = None) -> list[Asked]:
        """Returns all explanations."""
        if isinstance(ended, (TypeError, AttributeError)) and "NoneType" in str(ended):
            self._look_for_replaced(ended)
            self._look_for_result(ended)
        if isinstance(ended, AttributeError) and ended.name == "backward":
            self._look_for_number(ended)
        for born, asked in self._suspects:
            if born not in self._reached:
                self._add(asked)
        return self.found


def explain_script(path: str, args: Sequence[str] = ()) -> tuple[list[Asked], BaseException | None]:
    """Runs a script with its arguments; returns the explanations and the exception that ended it.

    Restores `sys.argv`, `sys.path` and all recording settings afterwards.
    """
    listener = ScriptListener()
    argv, paths = sys.argv, list(sys.path)
    sys.argv, ended = [path, *args], None
    sys.path.insert(0, str(Path(path).resolve().parent))
    forget()
    try:
        with setting(lines=True), keeping(), observing(
            Calls(gradient=listener)
        ), fetching.held((listener,)):
            runpy.run_path(path, run_name="__main__")
    except (Exception, SystemExit) as error:
        ended = None if isinstance(error, SystemExit) and not error.code else error
    finally:
        sys.argv, sys.path[:] = argv, paths
    return listener.finish(ended), ended


def shown(found: Sequence[Asked], ended: BaseException | None) -> str:
    """The text that the command prints."""
    parts = [f"{a.how} at {a.file}:{a.line}\n{a.explanation}" for a in found]
    if ended is not None and not found:
        parts.append("".join(traceback.format_exception(ended)).rstrip())
    elif ended is not None:
        parts.append(f"The script ended with {type(ended).__name__}: {ended}")
    return "\n\n".join(parts) or "Every gradient is finite and not zero."
