"""The pages that are made by scripts are what the scripts make."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest

import pullback as pb
from pullback.core.op import OPS
from tests.house.sources import PACKAGE, ROOT, python_files

PAGES = {"operations.md": "make_operations.py", "door_names.md": "make_door_names.py"}


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), ROOT / "docs" / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES)
def test_a_made_page_is_up_to_date(page: str) -> None:
    made = script(PAGES[page]).page()
    written = (ROOT / "docs" / page).read_text(encoding="utf-8")
    old, new = written.splitlines(), made.splitlines()
    differing = [(o, n) for o, n in zip(old, new, strict=False) if o != n]
    assert written == made, (
        f"run `PYTHONPATH=. python docs/{PAGES[page]} > docs/{page}`; "
        f"first differing: {differing[:1]}"
    )


def test_the_page_of_operations_has_every_public_operation() -> None:
    """Every function that `pullback` has from its chapters stands in the page, once."""
    made = script("make_operations.py")
    text = made.page().partition("## Edges")[0]
    for name, function in OPS.items():
        if function.__module__.startswith("pullback."):
            assert text.count(f"| `{name}(") == 1, name
    for name in ("conv2d", "tensordot", "dropout", "reverse_gradient"):
        assert hasattr(pb, name)
        assert text.count(f"| `{name}(") == 1, name


def test_edges_are_numbers_where_a_number_is_right() -> None:
    made = script("make_operations.py")
    for title, cases in made.EDGES:
        for expression, values in cases:
            found = made.gradient_at(expression, values)
            assert "nan" not in found, (title, expression, values)


def test_every_error_that_is_raised_has_its_limit_written_down() -> None:
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    sources = [
        p.read_text(encoding="utf-8") for p in python_files("pullback")
        if p.parent in (PACKAGE, PACKAGE / "core", PACKAGE / "custom", PACKAGE / "ops")
    ]
    raised = {name for s in sources for name in re.findall(r"raise (\w+Error)\(", s)}
    raised &= set(vars(pb.errors))
    assert len(raised) > 10
    assert [name for name in sorted(raised) if f"### `{name}`" not in text] == []


def library_table() -> list[list[str]]:
    """The cells of the table of array libraries."""
    text = script("make_operations.py").page().partition("## Array libraries")[2]
    text = text.partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_no_operation_lacks_a_rule_without_a_reason() -> None:
    """A dash is explained in its row, or by a number."""
    rows = library_table()
    assert [row[0] for row in rows] == [
        f"`{name}`" for name, f in sorted(OPS.items()) if f.__module__.startswith("pullback.")
    ]
    for name, *cells, why in rows:
        for cell in cells:
            marks, _, number = cell.partition("(")
            expected = "– – b" if why else "v j b"
            assert marks.strip() == expected or (marks.strip() == "–" and number), (name, cell)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_a_library_has_a_kernel_for_every_operation(library: str) -> None:
    """But for those that the page leaves out."""
    module = pytest.importorskip(library)
    column = 2 if library == "torch" else 3
    cls = type(module.ones(1))
    for row in library_table():
        if not row[column].startswith("– ("):
            assert callable(OPS[row[0].strip("`")].op.kernels[cls])  # type: ignore[attr-defined]
