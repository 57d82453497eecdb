"""The tool itself: each edit gives the code it should, acts on what is live, and is found."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pullback as pb
from tests.mutation import blocks, probes
from tests.mutation.acting import HELPERS, refresh
from tests.mutation.edits import LINES, Edit, edits, functions, yields_nothing
from tests.mutation.live import ROOT, Live, Source
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.rules import edits_of_rule


def function_of(code: str) -> Any:
    ((_, function),) = functions(ast.parse(textwrap.dedent(code)))
    return function


def changed(function: Any, found: Iterator[Edit]) -> list[str]:
    """The body of a function after each edit by itself."""
    texts = []
    for edit in list(found):
        before = ast.unparse(function)
        edit.apply()
        texts.append("\n".join(map(ast.unparse, function.body)))
        edit.undo()
        assert ast.unparse(function) == before
    return texts


@pytest.mark.parametrize(("kind", "before", "after"), [
    ("test", "if a: pass", ["if not a:\n    pass"]),
    ("test", "x = a if b else c", ["x = a if not b else c"]),
    ("comparison", "x = a < b", ["x = a <= b"]),
    ("comparison", "x = a == b is c", ["x = a != b is c", "x = a == b is not c"]),
    ("test", "if a is None: pass", ["if a is not None:\n    pass"]),
    ("test", "if not a: pass", ["if a:\n    pass"]),
    ("comparison", "if a is None: pass", []),  # as the negated test
    ("comparison", "if a >= 0: pass", ["if a > 0:\n    pass"]),
    ("connective", "x = a and b or c", ["x = (a and b) and c", "x = (a or b) or c"]),
    ("operator", "x = a + b * c", ["x = a - b * c", "x = a + b / c"]),
    ("operator", "x = -a", ["x = a"]),
    ("operator", "x = a + 'text'", []),
    ("operator", "a += 1", ["a -= 1"]),
    ("constant", "x = f(1, True, 0.5)", ["x = f(2, True, 0.5)", "x = f(1, False, 0.5)",
                                         "x = f(1, True, 50.0)"]),
    ("constant", "zip(a, b, strict=True)", []),
    ("constant", "raise E(1)", []),
    ("deleted", "f()", ["if False:\n    f()"]),
    ("deleted", "a.b = 1", ["if False:\n    a.b = 1"]),
    ("deleted", "a = 1", []),
    ("return", "return a", ["if True:\n    return None\nelse:\n    return a"]),
    ("return", "return None", []),
    ("jump", "for x in a: break", ["for x in a:\n    continue"]),
])
def test_a_kind_edits_a_line(kind: str, before: str, after: list[str]) -> None:
    function = function_of("def f():\n" + textwrap.indent(before, "    "))
    assert changed(function, edits(function, {kind: LINES[kind]})) == after


def test_a_law_yields_nothing() -> None:
    function = function_of('def law(subject):\n    """Text."""\n    yield 1')
    assert changed(function, yields_nothing(function)) == ["'Text.'\nreturn\nyield 1"]


def test_the_kinds_of_a_rule() -> None:
    function = function_of("""
        def pullback_f(g, x, *, axis, keepdims):
            return matmul(sum(conj(g), axis=axis, keepdims=keepdims), x.mT)
    """)
    whole = "matmul(sum(conj(g), axis=axis, keepdims=keepdims), x.mT)"
    found = {}
    for edit in edits_of_rule(function, "pullback", of_complex=True):
        found.setdefault(edit.kind, []).extend(changed(function, iter([edit])))
    assert found == {
        "sign": [f"return __mutant_negated__({whole})"],
        "factor": [f"return __mutant_scaled__({whole})"],
        "cotangent": [f"g = __mutant_ones__(g)\nreturn {whole}"],
        "argument": [f"return __mutant_zeros__({whole})"],
        "axis": [f"return {whole.replace('axis=axis', 'axis=__mutant_mirrored__(axis)')}",
                 f"return {whole.replace('=keepdims', '=not keepdims')}"],
        "operands": ["return matmul(x.mT, sum(conj(g), axis=axis, keepdims=keepdims))"],
        "conjugate": [f"return {whole.replace('conj(g)', 'g')}"],
    }


@contextmanager
def acting(path: str, function: str, kind: str, part: str = "rules") -> Iterator[Mutant]:
    """The first mutant of a kind of a function in effect, in this process."""
    source = Source(path)
    source.remember()
    mutant = next(
        m for m in mutants_of(source, part, set()) if (m.function, m.kind) == (function, kind)
    )
    module = vars(source.module)
    module.update(HELPERS)
    mutant.edit.apply()
    replaced = source.replace(Live())
    refresh()
    try:
        yield mutant
    finally:
        for live, code in replaced:
            live.__code__ = code
        refresh()
        for name in HELPERS:
            del module[name]


def slope(f: Any, *arrays: Any) -> list[float]:
    """Gradients by a pull, on raw arrays and recorded."""
    made = [pb.tensor(a, requires_grad=True) for a in arrays]
    pb.sum(f(*made)).backward()
    recorded = pb.autograd.grad(
        pb.sum(f(*made)), made, create_graph=True
    )
    found = [float(np.sum(t.grad.data)) for t in made]
    assert found == [float(np.sum(t.data)) for t in recorded]
    return found


@pytest.mark.full
@pytest.mark.parametrize(("path", "rule", "f", "count"), [
    ("trigonometric", "partial_tanh", pb.tanh, 1),  # the hot path of one array
    ("exponential", "pullback_sqrt", pb.sqrt, 1),
    ("arithmetic", "pullback_add", pb.add, 2),  # rules that are not called: they return g
    ("arithmetic", "partial_multiply_x1", pb.multiply, 2),  # the hot path of two
    ("statistics", "pullback_mean", lambda x: pb.mean(x, axis=0), 1),  # with attributes
])
def test_a_mutated_rule_acts(path: str, rule: str, f: Any, count: int) -> None:
    arrays = [np.array([0.5, 0.75]), np.array([2.0, 3.0])][:count]
    right = slope(f, *arrays)
    with acting(f"pullback/ops/{path}.py", rule, "sign"):
        wrong = slope(f, *arrays)
    assert -right[0] == wrong[0]
    assert slope(f, *arrays) == right


@pytest.mark.full
def test_a_mutated_pushforward_acts() -> None:
    x, t = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    with acting("pullback/ops/exponential.py", "partial_exp", "sign"):
        _, wrong = pb.jvp(pb.exp, (x,), (t,))
    np.testing.assert_allclose(pb.tensor(wrong).data, -np.exp(x))


@pytest.mark.full
def test_a_mutated_closure_acts() -> None:
    """A line of the hot path, of which each operation has a closure of its own."""
    x = pb.tensor(2.0, requires_grad=True)
    exp = getattr(pb.exp, "general", pb.exp)  # in Python, also where there is a compiled core
    with acting("pullback/core/dispatch.py", "_unary", "return", part="core") as mutant:
        assert mutant.source.path == "pullback/core/dispatch.py"
        assert exp(x.data) is None
    assert exp(x).data == np.exp(2.0)


def test_blocks_tell_which_statements_run_together() -> None:
    class Text(Source):
        def __init__(self, code: str) -> None:
            self.tree = ast.parse(textwrap.dedent(code))
            self.functions = list(functions(self.tree))

    text = Text("""
        def f(a):
            '''Text.'''
            b = 1
            if a:
                c = 2
            else:
                c = 3
            return b + c
    """)
    numbers = blocks.numbered([text])
    assert blocks.count_of(numbers) == 4
    for _, function in text.functions:
        blocks.tell(function.body, numbers)
    entered: list[int] = []
    names: dict[str, Any] = {blocks.HIT: entered.append}
    exec(compile(text.tree, "text", "exec"), names)
    assert names["f"](0) == 4
    assert entered == [0, 2, 3]


def test_a_probe_notes_where_a_mutant_differs() -> None:
    function = function_of("""
        def f(a, b):
            if len(a) > 1 and b:
                return b[0]
    """)
    source: Any = SimpleNamespace(functions=[("f", function)])
    mutants = [
        Mutant(edit.kind, "core", source, "f", edit)
        for edit in edits(function, LINES) if edit.kind in ("comparison", "connective", "constant")
    ]
    for probe in probes.probes_of(mutants, 0):
        probe.put()
    hits: set[int] = set()
    names: dict[str, Any] = {probes.WEAK: probes.comparing(hits), probes.SAFE: probes.plain}
    exec(compile(ast.Module([function], []), "text", "exec"), names)
    number = {m.kind + str(m.edit.place.node.lineno): m.block for m in mutants}
    assert len(number) == len(mutants) == 4

    def noted(*args: Any) -> list[str]:
        hits.clear()
        names["f"](*args)
        return sorted(kind for kind, k in number.items() if k in hits)

    assert noted([], []) == []
    assert noted([], [7]) == ["connective3"]
    assert noted([1], [7]) == ["comparison3", "connective3"]
    assert noted([1, 2], [7]) == ["constant3", "constant4"]
    assert noted([1, 2, 3], [7, 7]) == []


@pytest.mark.full
def test_a_wrong_rule_is_killed_and_a_right_one_survives(tmp_path: Path) -> None:
    law = "tests/laws/test_pullback.py::test_against_central_differences"
    command = [
        sys.executable, "-m", "tests.mutation", "--only", "rules", "control",
        "--files", "ops/trigonometric", "--functions", "partial_tanh", "--out", str(tmp_path),
        "--folders", f"{law}[tanh]",
    ]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    lines = (tmp_path / "outcomes.jsonl").read_text("utf-8").splitlines()[1:]
    found = {one["id"].split(":")[-1]: one for one in map(json.loads, lines)}
    assert found["none"]["how"] == "survived"
    for kind in ("sign", "factor", "argument"):
        assert found[kind]["how"] == "quick", found[kind]
        assert found[kind]["test"] == f"{law}[tanh]"


FOLLOWED = """
from tests.mutation.suite import Suite, collected

def drive(items):
    suite = Suite(items, set())
    suite.ready()
    for number, announced in (0, 1), (-1, None):  # a budget ends behind the first
        assert suite.run(number, announced, full=True)[0] == "passed"
    print("both passed")

collected(["tests/test_tape.py", "tests/core/test_state.py"], drive)
"""


@pytest.mark.full
def test_a_test_may_be_followed_by_another_than_the_announced_one() -> None:
    command = [sys.executable, "-c", FOLLOWED]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert "both passed" in run.stdout, run.stdout
