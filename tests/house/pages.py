"""The Python blocks of a page, and which optional parts each of them needs."""

from __future__ import annotations

import ast
import dis
import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from tests.parts import PARTS

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"```\s+^```output\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""The output that a page shows right after a block; "…" stands for anything."""
NEEDS = re.compile(r"<!-- needs (\w+) -->\s*\Z")
"""A comment right above a block: a part that it needs and does not import."""
_KEYS = {part.module: key for key, part in PARTS.items() if part.module and not part.version}
"""Module -> the key of the part that has it."""


@dataclass(frozen=True)
class Block:
    """One Python block of a page."""

    line: int
    code: str
    needs: frozenset[str] = frozenset()
    """Keys of the parts without which it cannot run."""
    prints: str | None = None
    """The output that the page shows for it, if it shows one."""


def blocks(path: Path) -> list[Block]:
    """The blocks of a page, in order.

    A block needs the parts that it imports, the one that a comment names right above it, and those
    of the blocks that made the names it reads.
    """
    text = path.read_text(encoding="utf-8")
    found: list[Block] = []
    made_with: dict[str, frozenset[str]] = {}
    for match in BLOCK.finditer(text):
        code = match.group(1)
        read, made = names(program(code), str(path))
        needs = parts_of(program(code)).union(
            NEEDS.findall(text, 0, match.start()), *(made_with.get(name, ()) for name in read)
        )
        made_with |= dict.fromkeys(made, needs)
        prints = PRINTS.match(text, match.end() - 3)
        wanted = prints.group(1).replace("…", "...") if prints else None
        found.append(Block(text.count("\n", 0, match.start(1)) + 1, code, needs, wanted))
    return found


def program(code: str) -> str:
    """The code of a block without the prompts and outputs of a session."""
    if ">>>" not in code:
        return code
    return "".join(example.source for example in doctest.DocTestParser().get_examples(code))


def parts_of(code: str) -> frozenset[str]:
    """The keys of the parts that a program imports, anywhere in it."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.add(node.module or "")
    tops = {module.partition(".")[0] for module in modules}
    return frozenset(_KEYS[top] for top in tops if top in _KEYS)


def names(code: str, file: str = "<block>") -> tuple[set[str], set[str]]:
    """The names that a program reads before it makes them, and those that it makes.

    A function's body is taken to run last: it may read a name that is made after its definition.
    """
    whole = compile(code, file, "exec")
    read: set[str] = set()
    made: set[str] = set()
    for step in dis.get_instructions(whole):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in made:
            read.add(step.argval)
        elif step.opname == "STORE_NAME":
            made.add(step.argval)
    inner = {
        step.argval for body in _bodies(whole) for step in dis.get_instructions(body)
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
    }
    return read | (inner - made), made


def _bodies(code: CodeType) -> Iterator[CodeType]:
    """The code of the functions and classes in some code, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _bodies(constant)
