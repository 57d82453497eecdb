"""Print pullback/_places.py: where each name is that the library loads when it is first used.

    python docs/make_places.py > pullback/_places.py

What type checkers read is what is written by hand: the imports under `if TYPE_CHECKING` in the two
front pages, and `__all__` and the decorators of the chapters. This script reads the same lines, and
imports nothing of the library. Tests compare the file with what this prints, and with what the
modules define.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "pullback"

HEAD = '''\
"""Where each name is that is loaded on its first use; made by docs/make_places.py.

A module -> its names. Those of the module "" are modules themselves.
"""


def _by_name(package: str, names: dict[str, str]) -> dict[str, str]:
    """Name -> the full name of its module."""
    found: dict[str, str] = {}
    for module, listed in names.items():
        place = f"{package}.{module}" if module else package
        found.update(dict.fromkeys(listed.split(), place))
    return found
'''

STAR = '''
FRONT_PAGE |= {name: place for name, place in OPS.items() if place != "pullback.ops"}
'''

Names = dict[str, list[str]]


def tree(module: str) -> ast.Module:
    """The syntax tree of a module: "" is the front page, "ops" the room."""
    path = PACKAGE.joinpath(*module.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    return ast.parse(path.read_text(encoding="utf-8"))


def typed_imports(module: str, block: int = 0) -> Iterator[tuple[str, str]]:
    """(module, name) of the imports under an `if TYPE_CHECKING`; a star is the name "*"."""
    blocks = [
        node.body for node in tree(module).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    for line in blocks[block]:
        assert isinstance(line, ast.ImportFrom), ast.unparse(line)
        assert line.level == 1, ast.unparse(line)
        for alias in line.names:
            yield line.module or "", alias.name


def listed(module: str) -> list[str]:
    """The names in a module's `__all__`."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(target) == "__all__":
                found: list[str] = ast.literal_eval(node.value)
                return found
    raise LookupError(f"pullback.{module} has no __all__")


def names_of(room: str, block: int = 0) -> Names:
    """Module -> the names that a front page has from it; of another front page, none."""
    prefix = f"{room}." if room else ""
    found: Names = {}
    for module, name in typed_imports(room, block):
        if name != "*":
            found.setdefault(module, []).append(name)
        elif prefix + module != "ops":
            found.setdefault(module, []).extend(listed(prefix + module))
            if room:
                found.setdefault("", []).append(module)
    return found


def operations_of(module: str) -> list[str]:
    """The names under which a module registers operations."""
    found = []
    for node in tree(module).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            maker = ast.unparse(call.func if call else decorator)
            if maker == "op":
                given = [k.value for k in call.keywords if k.arg == "name"] if call else []
                found.append(ast.literal_eval(given[0]) if given else node.name)
            elif maker == "face_of" and call and len(call.args) > 1:
                found.append(ast.literal_eval(call.args[1]))
    return found


def known_as(library: str) -> Names:
    """Module of an operation -> "name there=name here", as the decorators `known_as` state."""
    found: Names = {}
    for path in sorted((PACKAGE / "ops").glob("*.py")):
        for node in tree(f"ops.{path.stem}").body if path.stem != "__init__" else ():
            for decorator in getattr(node, "decorator_list", ()):
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "known_as":
                    given = [k.value for k in decorator.keywords if k.arg == library]
                    names = ast.literal_eval(given[0]).split() if given else []
                    assert isinstance(node, ast.FunctionDef)
                    found.setdefault(f"ops.{path.stem}", []).extend(
                        f"{name}={node.name}" for name in names
                    )
    return found


def table(title: str, package: str, names: Names) -> str:
    """One dictionary, as source text."""
    lines = [f'\n{title} = _by_name("{package}", {{']
    for module, own in sorted(names.items()):
        if own:
            text = " ".join(sorted(set(own)))
            parts = textwrap.wrap(text, 88, break_long_words=False, break_on_hyphens=False)
            lines.append(f'    "{module}":')
            lines += [f'        "{part}{" " if part != parts[-1] else ""}"' for part in parts]
            lines[-1] += ","
    return "\n".join([*lines, "})", ""])


def page() -> str:
    """The file."""
    front, ops = names_of(""), names_of("ops")
    chapters = [f"ops.{chapter}" for chapter in ops[""]]
    stars = [module for module, name in typed_imports("") if name == "*" and module != "ops"]
    operations = {module: operations_of(module) for module in [*chapters, *stars]}
    return "".join([
        HEAD, "\n", table("OPS", "pullback.ops", ops), table("FRONT_PAGE", "pullback", front), STAR,
        table("APART", "pullback", names_of("", 1)), table("OPERATIONS", "pullback", operations),
        table("NUMPY", "pullback", known_as("numpy")),
        table("TORCH", "pullback", known_as("torch")),
    ])


if __name__ == "__main__":
    print(page(), end="")
