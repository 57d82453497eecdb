"""No test hides another: within a file, function and class names are defined once."""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterator

from tests.house.sources import name_of, python_files, tree
from tests.loops import none_of

Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
ALLOWED = {"overload", "setter", "deleter"}


def scopes(node: ast.Module | ast.ClassDef) -> Iterator[ast.Module | ast.ClassDef]:
    yield node
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            yield from scopes(inner)


def redefined(source: ast.Module) -> list[str]:
    """Names that a later definition in the same scope replaces."""
    found = []
    for scope in scopes(source):
        names = [
            n.name for n in scope.body if isinstance(n, Named)
            and not any(ast.unparse(d).rpartition(".")[2] in ALLOWED for d in n.decorator_list)
        ]
        found += [name for name, count in collections.Counter(names).items() if count > 1]
    return found


def test_the_finder_finds() -> None:
    text = "def test_a(): ...\nclass C:\n  def m(self): ...\n  def m(self): ...\n"
    assert redefined(ast.parse(text + "def test_a(): ...\ndef b(): ...")) == ["test_a", "m"]


def test_nothing_is_defined_twice() -> None:
    none_of(python_files(), lambda path: redefined(tree(path)), name_of)


def test_dictionaries_have_no_key_twice() -> None:
    for path in python_files():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Dict):
                keys = [k.value for k in node.keys if isinstance(k, ast.Constant)]
                twice = [k for k, count in collections.Counter(keys).items() if count > 1]
                assert not twice, f"{name_of(path)}:{node.lineno}: {twice}"
