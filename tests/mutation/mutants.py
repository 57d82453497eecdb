"""Which mutants there are: of every rule, of the laws of `check`, and of the core's lines."""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import pullback.ops
from pullback.core.op import OPS
from tests.mutation.acting import rules_of
from tests.mutation.edits import LINES, Edit, Function, edits, unchanged, yields_nothing
from tests.mutation.live import ROOT, Source
from tests.mutation.rules import edits_of_rule

CORE = [
    "core/reverse.py", "autograd.py", "core/cotangent.py", "core/forward.py",
    "passes/accumulator.py", "core/record.py", "core/dispatch.py", "core/inplace.py",
    "core/versions.py", "core/multi_output.py", "core/state.py", "core/op.py", "core/node.py",
    "captures.py", "passes/hooks.py", "passes/ends.py", "core/observe.py", "kinds/vmaps.py",
    "core/custom_op.py", "ops/declaring.py", "custom/recompute.py", "kinds/batching.py",
    "transposition.py", "departures.py", "lost_paths.py", "custom/override.py", "custom/rule.py",
    "tape.py", "recording.py",
]
"""Pull, push, recording, in-place writes and the matching of overrides."""

PARTS = ("rules", "laws", "core", "control")
"""Control: rules in which nothing is changed, and which no test may kill."""

CAPS = {"core": 35, "laws": 20, "control": 1}
"""At most so many mutants of a file."""


@dataclass
class Mutant:
    """One edit of one function.

    id       file:line:column:kind, with a number where several are the same
    part     one of `PARTS`
    block    the number of the block in which it stands, or of its own probe
    names    of the operations whose rule it is
    """

    id: str
    part: str
    source: Source
    function: str
    edit: Edit
    block: int = -1
    names: frozenset[str] = field(default_factory=frozenset)

    @property
    def kind(self) -> str:
        return self.edit.kind

    @cached_property
    def text(self) -> tuple[str, str]:
        """The edited statement before and after, as code."""
        return self.edit.text()


@cache
def rule_functions() -> dict[tuple[str, int], tuple[str, frozenset[str]]]:
    """(path, first line) -> the kind of rule a function is, and the operations it is one of."""
    found: dict[tuple[str, int], tuple[str, frozenset[str]]] = {}

    def add(code: object, kind: str, name: str) -> None:
        path = getattr(code, "co_filename", "").removeprefix(f"{ROOT}/")
        key = path, getattr(code, "co_firstlineno", 0)
        found[key] = kind, found.get(key, (kind, frozenset()))[1] | {name}

    for info in pkgutil.iter_modules(pullback.ops.__path__):  # some are read at their first use
        importlib.import_module(f"pullback.ops.{info.name}")
    for name, face in OPS.items():
        for kind, rule in rules_of(face.op):
            add(rule.function.__code__, kind, name)
        if face.op.batch is not None:
            add(face.op.batch.__code__, "batch", name)
    return found


def _complex_names() -> set[str]:
    from tests.table import all_rows

    return {row.name for row in all_rows() if row.complex}


def first_line(function: Function) -> int:
    """The first line of its code object: that of its first decorator."""
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])


def paths_of(parts: Iterable[str]) -> dict[str, list[str]]:
    """The files of each part."""
    files = sorted((ROOT / "pullback" / "tools" / "check").rglob("*.py"))
    checking = [p.relative_to(ROOT).as_posix() for p in files]
    every = {
        "rules": sorted({path for path, _ in rule_functions()}),
        "laws": [p for p in checking if not p.endswith("__init__.py")],
        "core": [f"pullback/{name}" for name in CORE],
    }
    every["control"] = every["rules"]
    return {part: every[part] for part in parts}


Found = Iterator[tuple[str, Edit, frozenset[str]]]
"""The function, the edit, and the operations whose rule the function is."""


def _of_rules(source: Source, complex_names: set[str]) -> Found:
    for name, function in source.functions:
        kind, names = rule_functions().get((source.path, first_line(function)), ("", frozenset()))
        if kind:
            of_complex = bool(names & complex_names)
            for edit in edits_of_rule(function, kind, of_complex):
                yield name, edit, names


def _of_control(source: Source) -> Found:
    for name, function in source.functions:
        kind, names = rule_functions().get((source.path, first_line(function)), ("", frozenset()))
        if kind and function.args.args:
            yield name, unchanged(function), names


def _of_lines(source: Source, part: str) -> Found:
    for name, function in source.functions:
        if (source.path, first_line(function)) in rule_functions():
            continue
        every = list(edits(function, LINES))
        if part == "laws":
            every += yields_nothing(function)
        for edit in every:
            yield name, edit, frozenset()


def _capped(found: list[Mutant], cap: int, seed: str) -> list[Mutant]:
    """So many of the mutants of a file: each law's "nothing", then of each kind in turn."""
    chance = random.Random(seed)
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in found:
        by_kind.setdefault(mutant.kind, []).append(mutant)
    taken = by_kind.pop("nothing", [])
    for group in by_kind.values():
        chance.shuffle(group)
    while any(by_kind.values()) and len(taken) < cap:
        for group in by_kind.values():
            if group and len(taken) < cap:
                taken.append(group.pop())
    order = {id(m): i for i, m in enumerate(found)}
    return sorted(taken, key=lambda m: order[id(m)])


def _found(source: Source, part: str, complex_names: set[str]) -> Found:
    if part == "rules":
        return _of_rules(source, complex_names)
    return _of_control(source) if part == "control" else _of_lines(source, part)


def mutants_of(source: Source, part: str, complex_names: set[str]) -> list[Mutant]:
    """The mutants of one file, each with a name of its own."""
    made, count = [], dict[str, int]()
    for function, edit, names in _found(source, part, complex_names):
        node = edit.place.statement if isinstance(edit.place.node, list) else edit.place.node
        key = f"{source.path}:{node.lineno}:{node.col_offset}:{edit.kind}"
        count[key] = count.get(key, 0) + 1
        key += f"#{count[key]}" if count[key] > 1 else ""
        made.append(Mutant(key, part, source, function, edit, names=names))
    return made


def all_sources() -> list[Source]:
    """The files of every part, each once; in an order that does not depend on options."""
    paths = [path for found in paths_of(PARTS).values() for path in found]
    return [Source(path) for path in dict.fromkeys(paths)]


def all_mutants(sources: Iterable[Source]) -> list[Mutant]:
    """Every mutant of every part; far too many to be tried."""
    complex_names, by_path = _complex_names(), {source.path: source for source in sources}
    return [
        mutant for part, paths in paths_of(PARTS).items() for path in paths
        for mutant in mutants_of(by_path[path], part, complex_names)
    ]


def chosen(
    mutants: Iterable[Mutant], *, parts: Sequence[str] = PARTS, files: Sequence[str] = (),
    functions: Sequence[str] = (), sample: int = 0, seed: int = 0,
) -> list[Mutant]:
    """The mutants to be tried.

    files      if given, only files whose paths hold one of these words
    functions  if given, only functions of these names
    sample     if given, so many mutants of all, drawn with the seed
    """
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in mutants:
        path = mutant.source.path
        if mutant.part in parts and (not files or any(word in path for word in files)) and (
            not functions or mutant.function in functions
        ):
            groups.setdefault((mutant.part, path), []).append(mutant)
    found = []
    for (part, path), group in groups.items():
        found += _capped(group, CAPS[part], f"{seed} {path}") if part in CAPS else group
    if sample and sample < len(found):
        drawn = set(random.Random(seed).sample(range(len(found)), sample))
        found = [m for i, m in enumerate(found) if i in drawn]
    return found
