"""The core stays small: one state, one recorder, one interface upwards."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pullback.core.above import Above, above
from tests.house.sources import (
    PACKAGE,
    imports,
    module_of,
    name_of,
    python_files,
    statements,
    under_type_checking,
)
from tests.loops import none_of

LINES = 3000
"""The core, in all; it may become smaller."""

WRITERS = {
    "pullback/core/record.py": "operations, and with `attach` everything else",
    "pullback/core/custom_op.py": "`custom_node`, whose nodes `attach` completes",
    "pullback/core/dispatch.py": "operations in the plain case, for speed",
    "pullback/core/multi_output.py": "the node that picks one output of several",
    "pullback/passes/accumulator.py": "nodes that carry tangents only",
    "pullback/custom/gradient.py": "`custom_gradient` in the plain case, for speed",
    "pullback/custom/function.py": "`Function` in the plain case, for speed; its kind of node",
    "pullback/custom/context.py": "placeholders that raise when a derivative needs them",
}
"""Files that make nodes -> which ones."""

FILES = python_files("pullback")


def test_the_core_is_small() -> None:
    files = list((PACKAGE / "core").glob("*.py"))
    assert sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files) <= LINES


def test_files_of_the_core_import_each_other_one_way() -> None:
    """The files can be read in an order in which none needs a later one."""
    files = {module_of(p): p for p in (PACKAGE / "core").glob("*.py")}
    needs = {
        own: {m for m, _, line in imports(path) if m in files and m != own
              and line not in under_type_checking(path)}
        for own, path in files.items()
    }
    while ready := {m for m, needed in needs.items() if not needed & needs.keys()}:
        needs = {m: needed for m, needed in needs.items() if m not in ready}
    assert not needs, needs


def test_one_context_variable_holds_the_state() -> None:
    found = [name_of(p) for p in FILES if "ContextVar(" in p.read_text(encoding="utf-8")]
    assert found == ["pullback/core/state.py"]


def test_nodes_are_made_in_few_places() -> None:
    pattern = re.compile(r"object_new\((?!cls\b|x\b|a\b|y\b|context\b|node\.cls|\w+\._out)")
    found = {name_of(p) for p in FILES if pattern.search(p.read_text(encoding="utf-8"))}
    assert found == set(WRITERS)


def injected(path: Path) -> list[str]:
    """Assignments to attributes of a module of the core: `module.name = …`."""
    modules = {m for m, _, _ in imports(path) if m.startswith("pullback.core.")}
    own = {m.rpartition(".")[2] for m in modules}
    names = {
        alias.asname or alias.name
        for node, _ in statements(path) if isinstance(node, ast.ImportFrom)
        for alias in node.names if alias.name in own
    }
    return [
        ast.unparse(target)
        for node, _ in statements(path) if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        and target.value.id in names
    ]


def test_nothing_is_put_into_modules_of_the_core() -> None:
    none_of([p for p in FILES if "core" not in p.parts], injected, name_of)


def test_the_interface_upwards_is_complete_and_used() -> None:
    core = "".join(p.read_text(encoding="utf-8") for p in (PACKAGE / "core").glob("*.py"))
    assert Above.__annotations__
    for name in Above.__annotations__:
        assert callable(getattr(above, name)), name
        assert f"above.{name}(" in core or f"above.{name}," in core, name


def test_the_core_imports_nothing_above_itself() -> None:
    allowed = ("pullback.core", "pullback.arrays", "pullback.errors", "pullback._")

    def upwards(path: Path) -> list[str]:
        return [m for m, _, _ in imports(path)
                if m.startswith("pullback.") and not m.startswith(allowed)]

    none_of([p for p in FILES if module_of(p).startswith("pullback.core")], upwards, name_of)
