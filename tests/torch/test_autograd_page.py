"""docs/doors_torch_autograd.md names all of PyTorch's autograd, and says what is true."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import pullback.torch as ours

PAGE = Path(__file__).parents[2] / "docs" / "doors_torch_autograd.md"
ROW = re.compile(r"^\| `(\w+)` \| (works|differs|not here) \| (.*)\|$", re.MULTILINE)

HOLDERS = {
    # heading, or first word of a table's line before it: what has the names
    "`torch.autograd`": lambda t: t.autograd,
    "`torch.autograd.function`": lambda t: t.autograd.function,
    "`torch.autograd.graph`": lambda t: t.autograd.graph,
    "`torch.autograd.functional`": lambda t: t.autograd.functional,
    "`torch.autograd.forward_ad`": lambda t: t.autograd.forward_ad,
    "`torch.func`": lambda t: t.func,
    "Members of tensors": lambda t: t.Tensor,
    "In `torch` itself": lambda t: t,
}
LISTED = ("`torch.autograd`", "`torch.autograd.function`", "`torch.autograd.graph`", "`torch.func`")


def sections():
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text):
    return {name: state for name, state, _ in ROW.findall(text)}


@pytest.mark.parametrize("heading", HOLDERS)
def test_what_the_page_says_is_there_is_there(heading):
    found = rows(sections()[heading].partition("What a `Function`")[0].partition("Of a node")[0])
    assert found
    holder = HOLDERS[heading](ours)
    for name, state in found.items():
        assert hasattr(holder, name) == (state != "not here"), name


@pytest.mark.parametrize("heading", LISTED)
def test_the_page_has_all_public_names(heading):
    theirs = pytest.importorskip("torch")
    module = importlib.import_module(heading.strip("`"))
    assert module is HOLDERS[heading](theirs)
    assert set(module.__all__) <= rows(sections()[heading]).keys()


def test_contexts_and_nodes_have_what_the_page_says():
    theirs = pytest.importorskip("torch")
    text = sections()
    context = rows(text["`torch.autograd.function`"])
    public = {n for n in dir(theirs.autograd.function.FunctionCtx) if not n.startswith("_")}
    assert public <= context.keys()
    node = rows(text["`torch.autograd.graph`"])
    assert {n for n in dir(theirs.autograd.graph.Node) if not n.startswith("_")} <= node.keys()
    for name in public:
        has = hasattr(ours.autograd.function.FunctionCtx, name)
        assert has == (context[name] != "not here"), name
