"""The built distribution: what it holds, and that it works installed, outside of the repository.

The wheel is built from the source distribution and installed into an environment of its own, which
shares the packages of the running one, so that nothing is downloaded. The documents' blocks are run
by the tests of the source distribution, from which the package itself was taken out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

import pullback as pb
from pullback.cli import COMMANDS
from tests.house.sources import ROOT, name_of
from tests.house.test_docs import FENCE, LINK
from tests.house.test_docs import PROGRAMS as PAGES

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs("build", "twine", "hatchling", "hatch_fancy_pypi_readme"),
]

PROGRAMS = "pullback/cli/bundle"
KINDS = {".py", ".pyi", ".typed", ".html", ".css", ".js"}
"""Files that the package may consist of."""

TOP = {"pullback", "tests", "docs", "examples", "benchmarks", "README.md", "CHANGELOG.md",
       "CONTRIBUTING.md", "LICENSE", "Makefile", "mkdocs.yml", "pyproject.toml", "PKG-INFO",
       "hatch_build.py", ".gitignore"}
"""What the source distribution has at its top."""

LAYERS = """
import pullback as pb

@pb.custom_gradient
def wrong(x):
    return x * x, lambda g: g * x
"""

SCRIPT = """
import pullback as pb

x = pb.tensor([1.0, 2.0], requires_grad=True)
pb.sum(pb.round(x)).backward()
"""


def run(
    command: Sequence[str | Path], cwd: Path, code: int = 0, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a program without this run's settings of Python and pytest."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "VIRTUAL"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True,
        timeout=timeout, check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


@dataclass(frozen=True)
class Built:
    """The two files of a distribution."""

    sdist: Path
    wheel: Path

    def unpacked(self, folder: Path) -> Path:
        """The source distribution as a folder, inside another."""
        shutil.unpack_archive(self.sdist, folder, filter="data")
        return folder / self.sdist.name.removesuffix(".tar.gz")

    def names(self) -> list[str]:
        """The files in the wheel."""
        with ZipFile(self.wheel) as file:
            return [name for name in file.namelist() if not name.endswith("/")]

    def metadata(self) -> Message:
        """What a package index reads of the wheel."""
        name = next(name for name in self.names() if name.endswith(".dist-info/METADATA"))
        with ZipFile(self.wheel) as file:
            return Parser().parsestr(file.read(name).decode("utf-8"))


@dataclass(frozen=True)
class Installed:
    """An environment that has the wheel, and a folder outside of the repository."""

    bin: Path
    folder: Path

    def program(self, *arguments: str, code: int = 0) -> str:
        """What `pullback` prints."""
        return run([self.bin / "pullback", *arguments], self.folder, code).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """`python -m build` with the packages that are here: it needs no network."""
    out = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT], out)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A fresh environment with the wheel.

    A line of a `.pth` file adds a folder and reads no `.pth` file in it: an editable installation
    of the running environment stays out.
    """
    home, folder = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("elsewhere")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index",
         "--no-deps", "--no-compile", built.wheel], folder)
    (packages,) = home.glob("lib/python*/site-packages")
    shared = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "shared.pth").write_text("".join(f"{path}\n" for path in shared), "utf-8")
    (folder / "layers.py").write_text(LAYERS, "utf-8")
    (folder / "script.py").write_text(SCRIPT, "utf-8")
    asked = "import pullback; print(pullback.__file__)"
    said = run([python, "-c", asked], folder).stdout.strip()
    assert Path(said) == packages / "pullback" / "__init__.py"
    return Installed(home / "bin", folder)


# What is in it ----------------------------------------------------------------------------------


def test_twine_has_no_complaint(built: Built) -> None:
    run([sys.executable, "-m", "twine", "check", "--strict", built.sdist, built.wheel], ROOT)


def test_the_wheel_has_the_package_and_the_programs_of_the_command_line(built: Built) -> None:
    expected = {name_of(p) for p in files_of("pullback") if p.suffix in KINDS}
    examples = list((ROOT / "examples").glob("*.py"))
    benchmarks = [p for p in files_of("benchmarks") if p.suffix == ".py"]
    expected |= {f"{PROGRAMS}/{name_of(path)}" for path in examples + benchmarks}
    about = {f"pullback-{pb.__version__}.dist-info/{name}" for name in (
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    names = built.names()
    assert len(names) == len(set(names))
    compiled = f"pullback/core/compiled/_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    assert set(names) == expected | about | {compiled}
    assert {"pullback/py.typed", "pullback/core/declared.pyi"} <= expected
    assert not [name for name in names if re.search(r"(^|/)(tests?/|test_|conftest)", name)]


def files_of(folder: str) -> list[Path]:
    """The files in a folder, without what was compiled."""
    return [
        p for p in (ROOT / folder).rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and p.suffix not in (".so", ".pyd")
    ]


def test_the_source_distribution_has_what_builds_and_tests_it(built: Built, tmp_path: Path) -> None:
    unpacked = built.unpacked(tmp_path)
    assert {path.name for path in unpacked.iterdir()} == TOP
    for folder in ("pullback", "tests", "docs", "examples", "benchmarks"):
        there = {name_of(p) for p in files_of(folder)}
        assert {p.relative_to(unpacked).as_posix() for p in (unpacked / folder).rglob("*")
                if p.is_file()} == there


@pytest.mark.parametrize("missing", [{"PULLBACK_PURE": "1"}, {"CC": "/bin/false"}])
def test_without_the_compiled_core_there_is_a_wheel_for_every_system(
    tmp_path: Path, missing: dict[str, str]
) -> None:
    command = ["env", *(f"{k}={v}" for k, v in missing.items()), sys.executable, "-m", "build",
               "--no-isolation", "--wheel", "--outdir", tmp_path, ROOT]
    done = run(command, tmp_path)
    said = done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with ZipFile(wheel) as file:
        assert not [name for name in file.namelist() if "/_core" in name]
    assert ("without its compiled core" in said) == ("CC" in missing)


def test_the_metadata_says_where_it_comes_from_and_where_it_runs(built: Built) -> None:
    found = built.metadata()
    assert found["Name"] == "pullback"
    assert found["Version"] == pb.__version__
    assert found["License-Expression"] == "MIT"
    urls = dict(line.split(", ", 1) for line in found.get_all("Project-URL", []))
    assert urls.keys() == {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
    assert all(url.startswith("https://github.com/") for url in urls.values())
    classifiers = found.get_all("Classifier", [])
    assert "Typing :: Typed" in classifiers
    for kind in ("Operating System", "Programming Language :: Python :: 3"):
        assert any(text.startswith(kind) for text in classifiers)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(found.get_all("Provides-Extra", [])) == project["optional-dependencies"].keys()


def test_the_description_is_the_readme_with_links_that_work_elsewhere(built: Built) -> None:
    found = built.metadata()
    assert found["Description-Content-Type"] == "text/markdown"
    text, readme = found.get_payload(), (ROOT / "README.md").read_text("utf-8")
    assert isinstance(text, str)
    prose = FENCE.sub("", text)
    assert not LINK.findall(prose)
    assert not re.findall(r"<img|<a |!\[|^\[.+\]: ", prose, re.MULTILINE)
    assert [m[0] for m in FENCE.finditer(text)] == [m[0] for m in FENCE.finditer(readme)]
    base = re.escape("](https://github.com/pullback-ad/pullback/blob/main/")
    assert re.sub(base, "](", text).rstrip() == readme.rstrip()


# That it works ----------------------------------------------------------------------------------

SMALL = ["--epochs", "1", "--at-least", "0", "--quiet", "--out", "curves.png"]

CALLS: list[tuple[list[str], int, str]] = [
    (["--version"], 0, f"^pullback {re.escape(pb.__version__)}, the compiled core$"),
    (["check", "pullback:tanh", "--arg", "f64[3,4]"], 0, "no mistake found"),
    (["check", "layers.py:wrong", "--arg", "f64[3]", "--save", "report.html"], 1, "0.5 times"),
    (["explain", "script.py"], 1, "cause: +flat"),
    (["draw", "pullback:softmax", "--arg", "f64[3,4]", "--out", "softmax.html"], 0, "softmax.html"),
    (["profile", "script.py"], 0, "round"),
    (["ops", "tanh"], 0, "sinh x / cosh x"),
    (["demo", "binarised_digits", *SMALL], 0, "accuracy"),
    (["bench", "--quick", "--systems", "pullback", "--workloads", "small-1", "--rounds", "1"], 0,
     "1 element"),
]
"""Arguments, exit code, a pattern of what is printed."""


@pytest.mark.parametrize(("arguments", "code", "said"), CALLS, ids=lambda x: str(x)[:24])
def test_a_command_runs(installed: Installed, arguments: list[str], code: int, said: str) -> None:
    assert re.search(said, installed.program(*arguments, code=code))
    for name in arguments:
        if PurePosixPath(name).suffix in {".html", ".png"}:
            assert (installed.folder / name).stat().st_size > 1000


def test_every_command_is_run() -> None:
    assert {arguments[0] for arguments, _, _ in CALLS} == {"--version", *COMMANDS}


def test_an_unknown_example_is_told_the_names_of_those_that_are_there(installed: Installed) -> None:
    done = run([installed.bin / "pullback", "demo", "none"], installed.folder, code=2)
    for path in (ROOT / "examples").glob("*.py"):
        assert path.stem in done.stderr


def test_the_blocks_of_every_document_run(
    installed: Installed, built: Built, tmp_path: Path
) -> None:
    unpacked = built.unpacked(tmp_path)
    shutil.rmtree(unpacked / "pullback")
    done = run(
        [installed.bin / "python", "-m", "pytest", "--full", "-p", "no:cacheprovider",
         "tests/house/test_docs.py::test_the_blocks_of_a_document_run_in_order"],
        unpacked, timeout=600,
    )
    assert re.search(rf"^{len(PAGES)} passed", done.stdout, re.MULTILINE), done.stdout
