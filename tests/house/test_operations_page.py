"""The pages that are made by scripts are what the scripts make."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tests.house.sources import ROOT

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
        f"run `python docs/{PAGES[page]} > docs/{page}`; first differing: {differing[:1]}"
    )


def test_the_page_of_operations_has_every_public_operation() -> None:
    """Every function that `pullback` has from its chapters stands in the page, once."""
    made = script("make_operations.py")
    text = made.page()
    import pullback as pb
    from pullback.core.op import OPS

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
