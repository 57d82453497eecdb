"""Names that are loaded on their first use: each is there, and editors and threads see it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback import _places, ops
from pullback._aliases import aliases
from pullback.arrays.numpy_ import adapter
from pullback.core.op import OPS
from tests.house.sources import PACKAGE, ROOT

PUBLIC = {**_places.FRONT_PAGE, **_places.APART}
PAGES = {pb: PUBLIC, ops: _places.OPS}


def script() -> Any:
    path = ROOT / "docs" / "make_places.py"
    spec = importlib.util.spec_from_file_location("make_places", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(code: str) -> Any:
    """What a fresh process prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_table_of_places_is_up_to_date() -> None:
    written = (PACKAGE / "_places.py").read_text(encoding="utf-8")
    made = script().page()
    assert written == made, "run `python docs/make_places.py > pullback/_places.py`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.__name__)
def test_every_name_is_where_the_table_says(page: Any) -> None:
    shown = dir(page)
    for name, place in PAGES[page].items():
        found = getattr(page, name)
        assert name in shown
        if place == page.__name__:
            assert found is importlib.import_module(f"{place}.{name}")
        else:
            assert found is getattr(importlib.import_module(place), name)


def test_every_name_of_the_chapters_is_on_the_front_page() -> None:
    """The chapters' own lists, read by importing them."""
    chapters = [chapter for chapter, name in script().typed_imports("ops") if name == "*"]
    assert len(chapters) > 20
    for chapter in chapters:
        for name in importlib.import_module(f"pullback.ops.{chapter}").__all__:
            assert _places.OPS[name] == f"pullback.ops.{chapter}"
            assert PUBLIC[name] == _places.OPS[name]


def test_the_registry_knows_every_operation_and_its_file() -> None:
    """In a process in which nothing else has registered any."""
    registered = python(
        "import json; from pullback.core.op import OPS;"
        "print(json.dumps({name: f.__module__ for name, f in OPS.items()}))"
    )
    assert registered == _places.OPERATIONS


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_names_in_other_libraries_stand_with_their_functions(library: str) -> None:
    """And the table that finds them without loading a chapter has no others."""
    chapters = [f"pullback.ops.{path.stem}" for path in (PACKAGE / "ops").glob("[a-z]*.py")]
    stated = {
        (entry.partition("(")[0], function)
        for chapter in chapters
        for function in vars(importlib.import_module(chapter)).values()
        for entry in getattr(function, "known_as", {library: ()})[library]
    }
    listed = {(name, alias.function()) for name, alias in aliases(library).items()}
    assert stated == listed
    assert len(listed) > 50


def test_an_operation_is_there_before_its_chapter_is_loaded() -> None:
    """For membership, overrides by name, and who wants its name."""
    code = """
import json, sys
import pullback as pb
from pullback.core.op import OPS, op
from pullback.custom.override import find_op
from pullback.errors import DuplicateNameError
before = "pullback.ops.trigonometric" in sys.modules
assert "sin" in OPS and OPS.get("no such") is None
try:
    op(name="sin")(lambda xp, x, /: x)
except DuplicateNameError:
    refused = True
still = "pullback.ops.trigonometric" in sys.modules
name = find_op("sin").name
x = pb.tensor(0.0, requires_grad=True)
with pb.override_gradient({"cos": lambda op, g: g * 7}):
    y = pb.cos(x)
y.backward()
print(json.dumps([before, refused, still, name, len(OPS) == len(list(OPS)), float(x.grad)]))
"""
    assert python(code) == [False, True, False, "sin", True, 7.0]


def test_overrides_of_a_pull_need_nothing_else_to_be_loaded() -> None:
    code = """
import pullback as pb
x = pb.tensor(2.0, requires_grad=True)
(x * 1.0).backward(overrides={"multiply": lambda op, g: (g * 7, None)})
print(float(x.grad))
"""
    assert python(code) == 7.0


@pytest.mark.parametrize("name", ["linalg", "custom.ready", "transforms", "tape", "special"])
def test_a_room_can_be_imported_first(name: str) -> None:
    assert python(f"import pullback.{name}; print(1)") == 1


@pytest.mark.full
def test_chapters_can_be_loaded_in_any_order() -> None:
    """Each as the first one, in one process that forgets the package in between."""
    chapters = sorted(set(_places.OPERATIONS.values()))
    code = f"""
import importlib, json, sys
import numpy
for chapter in {chapters!r}:
    for name in [n for n in sys.modules if n.partition(".")[0] == "pullback"]:
        del sys.modules[name]
    importlib.import_module(chapter)
print(json.dumps(len({chapters!r})))
"""
    assert python(code) == len(chapters)


def test_a_star_import_brings_the_functions_and_no_tools() -> None:
    names = python(
        "import json; from pullback import *;"
        "print(json.dumps([n for n in dir() if not n.startswith('__')]))"
    )
    public = {n for n in _places.FRONT_PAGE if not n.startswith("_")}
    assert public <= set(names)
    assert not set(_places.APART) & set(names)


def test_a_function_is_pickled_by_the_chapter_that_it_is_in() -> None:
    code = """
import json, pickle
import pullback as pb
print(json.dumps(pickle.dumps([pb.tanh, pb.cross_entropy, pb.GradientTape]).hex()))
"""
    here = pickle.loads(bytes.fromhex(python(code)))
    assert here == [pb.tanh, pb.cross_entropy, pb.GradientTape]
    names = (
        "import json, pickle;"
        f"made = pickle.loads(bytes.fromhex({python(code)!r}));"
        "print(json.dumps([f.__name__ for f in made]))"
    )
    assert python(names) == ["tanh", "cross_entropy", "GradientTape"]


def test_threads_that_use_names_first_at_once_meet_whole_operations() -> None:
    code = """
import json, sys, threading
import numpy
import pullback as pb
from pullback.core.op import OPS
from pullback._places import FRONT_PAGE, OPERATIONS
sys.setswitchinterval(1e-6)
start, wrong = threading.Barrier(8), []
def use(k):
    names = sorted(OPERATIONS)[k::4] + sorted(OPERATIONS)
    start.wait()
    try:
        for name in names:
            made = OPS[name].op
            if made.differentiable and not made.rules:
                wrong.append(name)
        for name in sorted(FRONT_PAGE, reverse=bool(k % 2)):
            getattr(pb, name)
    except Exception as error:
        wrong.append(repr(error))
threads = [threading.Thread(target=use, args=(k,)) for k in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(json.dumps(wrong))
"""
    assert python(code) == []


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="module 'pullback' has no attribute 'no_such'"):
        getattr(pb, "no_such")  # noqa: B009  # what a checker would refuse
    with pytest.raises(AttributeError, match=r"module 'pullback\.ops' has no attribute 'no_such'"):
        getattr(ops, "no_such")  # noqa: B009


def test_type_checkers_are_told_every_name() -> None:
    """The front pages as a checker reads them: every name, and no `__getattr__` for others."""
    told = set()
    for page, room in ((pb, ""), (ops, "ops")):
        body = ast.parse(Path(str(page.__file__)).read_text(encoding="utf-8"))
        assert not [n for n in ast.walk(body) if isinstance(n, ast.FunctionDef)]
        for block in range(1 if room else 2):
            for module, name in script().typed_imports(room, block):
                if name == "*":
                    name = importlib.import_module(f"{page.__name__}.{module}").__all__
                told |= {name} if isinstance(name, str) else set(name)
    assert told >= set(PUBLIC)


def test_mypy_knows_every_name(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    lines = [f"pb.{name}" for name in sorted(PUBLIC) if not name.startswith("_")]
    file = tmp_path / "uses.py"
    file.write_text("\n".join(["import pullback as pb", *lines, "pb.no_such"]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary",
         "--no-site-packages", "--ignore-missing-imports",
         f"--cache-dir={tmp_path / 'cache'}", str(file)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )
    found = done.stdout.strip().splitlines()
    assert len(found) == 1, done.stdout + done.stderr
    assert f"uses.py:{len(lines) + 2}" in found[0]
    assert "no_such" in found[0]


def test_files_of_kernels_hold_what_is_said_of_them() -> None:
    for file, names in adapter.FILES.items():
        assert sorted(adapter.kernels_in(file)) == names.split(), file


def test_operations_are_those_of_one_registry() -> None:
    assert OPS["tanh"] is pb.tanh
    assert dict(OPS) == {**OPS} == dict(OPS.items())
    assert list(OPS) == list(OPS.keys())
    assert len(OPS) == len(OPS.values())


def test_what_a_star_imports_does_not_grow_with_use() -> None:
    code = (
        "import pullback as pb\n"
        "before = pb.__all__\n"
        "pb.check, pb.function, pb.odeint\n"
        "assert pb.__all__ == before and 'check' not in before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("former", "name"), [
    ("checking", "tools.check"), ("explaining", "tools.explain"),
    ("seeing", "tools.draw"), ("drawing", "tools.draw.layout"), ("measuring", "tools.profile"),
    ("monitoring", "tools.monitor"),
])
def test_former_names_of_modules_still_work(former: str, name: str) -> None:
    module = importlib.import_module(f"pullback.{name}")
    spec = module.__spec__
    for loaded in [m for m in sys.modules if m.startswith(f"pullback.{former.partition('.')[0]}")]:
        del sys.modules[loaded]
    with pytest.warns(DeprecationWarning, match=f"pullback.{name}"):
        found = importlib.import_module(f"pullback.{former}")
    assert found is module
    assert module.__spec__ is spec
    with pytest.raises(ModuleNotFoundError, match=f"from pullback.{name}"):
        importlib.import_module(f"pullback.{former}.inner")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pullback.nowhere")
