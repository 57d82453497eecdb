"""Source files and the live functions made from them, whose code is replaced in memory."""

from __future__ import annotations

import ast
import gc
import importlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.mutation.edits import Function, functions

ROOT = Path(__file__).resolve().parents[2]
Key = tuple[str, int]
"""A qualified name and a first line: these tell functions of one file apart, nearly always."""


class Source:
    """A file of the package: its tree, its code, and the functions that run this code."""

    def __init__(self, path: str) -> None:
        self.path = path
        parts = list(Path(path).with_suffix("").parts)
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.text = (ROOT / path).read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.functions: list[tuple[str, Function]] = list(functions(self.tree))
        self._old: dict[Key, list[CodeType]] | None = None

    @property
    def module(self) -> Any:
        """The imported module."""
        return importlib.import_module(self.name)

    def compiled(self) -> dict[Key, list[CodeType]]:
        """The code of each function in the tree as it is now."""
        whole = compile(self.tree, self.module.__file__, "exec", dont_inherit=True)
        found: dict[Key, list[CodeType]] = defaultdict(list)
        for code in _inside(whole):
            found[code.co_qualname, code.co_firstlineno].append(code)
        return found

    def remember(self) -> None:
        """Compile the tree before any edit."""
        self._old = self.compiled()

    def replace(self, live: Live) -> list[tuple[FunctionType, CodeType]]:
        """Give the live functions the code of the edited tree; those changed, with their old code.

        Raises `ValueError` where the new code has other free variables than the old.
        """
        if self._old is None:
            raise RuntimeError(f"{self.path}: `remember` comes before the first edit")
        new, changed = self.compiled(), []
        for key, olds in self._old.items():
            for old, fresh in zip(olds, new.get(key, ()), strict=False):
                if old == fresh:
                    continue
                for function in live.of(self.module.__file__, key):
                    if function.__code__ == old:
                        function.__code__ = fresh
                        changed.append((function, old))
        return changed


def _inside(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _inside(inner)


class Live:
    """Every function of the package that exists: closures, methods, rules."""

    def __init__(self, package: str = "pullback") -> None:
        folder = str(ROOT / package)
        self._found: dict[tuple[str, Key], list[FunctionType]] = defaultdict(list)
        frozen = gc.get_freeze_count()
        gc.unfreeze()  # what is frozen is not listed
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__code__.co_filename.startswith(folder):
                code = thing.__code__
                self._found[
                    code.co_filename, (code.co_qualname, code.co_firstlineno)
                ].append(thing)
        if frozen:
            gc.freeze()

    def of(self, file: str, key: Key) -> list[FunctionType]:
        """The functions made from one definition."""
        return self._found.get((file, key), [])
