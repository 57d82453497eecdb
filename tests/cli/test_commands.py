"""The command line: each command as its help and its page show it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.cli import COMMANDS, bundled, main, parser
from pullback.cli.arguments import function_named, parsed, parsed_all
from pullback.errors import ArgumentError, UnknownNameError
from tests.house.sources import ROOT

LAYERS = '''
import pullback as pb

@pb.custom_gradient
def binarise(x):
    return pb.sign(x), lambda g: pb.where(pb.abs(x) <= 1, g, 0.0)

def hard_tanh(x):
    return pb.clip(x, -1, 1)

@pb.custom_gradient
def wrong(x):
    return x * x, lambda g: g * x
'''


@pytest.fixture
def layers(tmp_path: Path, monkeypatch: Any) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "cli_layers.py").write_text(LAYERS)
    return "cli_layers.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert f"pullback {command}" in text.partition("example")[2]


def test_the_help_and_the_page_name_every_command() -> None:
    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    help_ = parser().format_help()
    for command in COMMANDS:
        assert f"`pullback {command}`" in page
        assert re.search(rf"^\s+{command}\s", help_, re.MULTILINE)


def test_as_a_module() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pullback", "--version"], capture_output=True, text=True, cwd=ROOT,
        check=True,
    )
    assert ran.stdout.strip() == f"pullback {pb.__version__}, {pb.configuration.core()}"


# check ------------------------------------------------------------------------------------------


def test_check_says_right_and_wrong_by_its_exit_code(layers: str, capsys: Any) -> None:
    assert main(["check", "pullback:tanh", "--arg", "f64[3,4]"]) == 0
    assert main(["check", f"{layers}:wrong", "--arg", "f64[3]"]) == 1
    assert "wrong" in capsys.readouterr().out


def test_check_against_a_surrogate_and_saved(layers: str, tmp_path: Path) -> None:
    straight = ["check", f"{layers}:binarise", "--arg", "f64[5]"]
    assert main(straight) == 1
    files = [tmp_path / f"report{ending}" for ending in (".html", ".xml", ".json", ".txt")]
    saved = [part for path in files for part in ("--save", str(path))]
    assert main([*straight, "--surrogate", f"{layers}:hard_tanh", *saved]) == 0
    assert all(path.read_text(encoding="utf-8") for path in files)
    json.loads(files[2].read_text(encoding="utf-8"))


def test_misuse_is_said_and_exits_with_2(layers: str, capsys: Any) -> None:
    assert main(["check", "pullback:tanh", "--arg", "f63[3]"]) == 2
    assert main(["check", "tanh", "--arg", "f64[3]"]) == 2
    assert main(["check", "pullback:tahn", "--arg", "f64[3]"]) == 2
    assert main(["check", "no_such_module_here:f"]) == 2
    assert main(["ops", "tahn"]) == 2
    said = capsys.readouterr().err
    for text in ("f63[3]", "module:name", "tahn", "no_such_module_here"):
        assert text in said


# Arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        ("f64[3,4]", "float64", (3, 4)), ("f32[]", "float32", ()), ("f16[2]", "float16", (2,)),
        ("c128[2, 1]", "complex128", (2, 1)), ("i64[5]", "int64", (5,)), ("u8[0]", "uint8", (0,)),
        ("bool[2]", "bool", (2,)), ("float32[3]", "float32", (3,)),
    ],
)
def test_arrays(text: str, dtype: str, shape: tuple[int, ...]) -> None:
    found = parsed(text)
    assert isinstance(found, pb.Tensor)
    assert str(found.dtype) == dtype
    assert found.shape == shape


def test_arrays_have_bounds_and_seeds() -> None:
    bounded = np.asarray(parsed("f64[200]:0.5:0.75"))
    assert bounded.min() >= 0.5
    assert bounded.max() <= 0.75
    a, b = parsed_all(["f64[4]", "f64[4]"])
    again = parsed("f64[4]", seed=0)
    assert a.tolist() == again.tolist() != b.tolist()


def test_literals_and_files(tmp_path: Path) -> None:
    assert parsed("0.5") == 0.5
    assert parsed("(1, 'a', None)") == (1, "a", None)
    np.save(tmp_path / "x.npy", np.arange(3.0))
    assert parsed(str(tmp_path / "x.npy")).tolist() == [0.0, 1.0, 2.0]
    for text in ("f64[3", "float7[2]", "exp(1)", ""):
        with pytest.raises(ArgumentError, match="--arg"):
            parsed(text)


def test_functions_by_name(layers: str) -> None:
    assert function_named("pullback:linalg.vector_norm") is pb.linalg.vector_norm
    assert function_named("pullback.linalg:vector_norm") is pb.linalg.vector_norm
    assert function_named(f"{layers}:hard_tanh")(3.0) == 1.0
    for text in (f"{layers}:nothing", "no_file.py:f"):
        with pytest.raises(UnknownNameError):
            function_named(text)


# ops, demo, bench -------------------------------------------------------------------------------


def test_ops(capsys: Any) -> None:
    assert main(["ops"]) == 0
    every = capsys.readouterr().out.splitlines()
    assert len(every) > 150
    assert main(["ops", "arc*", "--json"]) == 2
    assert main(["ops", "a*h", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"acosh", "asinh", "atanh"} <= {row["name"] for row in found}
    assert main(["ops", "argmax"]) == 0
    assert "derivatives: none" in capsys.readouterr().out


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own: the names of gradients are registered once."""
    command = [sys.executable, "-m", "pullback", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.full
def test_what_comes_with_the_library_is_run(tmp_path: Path) -> None:
    small = ["--epochs", "1", "--at-least", "0", "--quiet", "--out", str(tmp_path / "curves.png")]
    for name in (["binarised_digits"], []):
        demo = ran("demo", *name, *small)
        assert demo.returncode == 0, demo.stderr
        assert "accuracy" in demo.stdout
    assert ran("demo", "no_such_example").returncode == 2
    bench = ran("bench", "--quick", "--systems", "pullback", "--workloads", "small-1",
                "--rounds", "1")
    assert bench.returncode == 0, bench.stderr
    assert "1 element" in bench.stdout


def test_programs_of_other_packages_are_not_taken_for_those_that_came_with_it(
    tmp_path: Path, monkeypatch: Any
) -> None:
    ours = tmp_path / "pullback" / "cli" / "bundle" / "examples"
    theirs = tmp_path / "examples"
    for folder in (ours, theirs):
        folder.mkdir(parents=True)
        (folder / "README.md").touch()
    monkeypatch.setattr(bundled, "__file__", str(tmp_path / "pullback" / "cli" / "bundled.py"))
    with pytest.raises(UnknownNameError):
        bundled.folder("examples")
    for folder in (ours, theirs):
        (folder / "binarised_digits.py").touch()
    assert bundled.folder("examples") == ours.resolve()


def test_only_some_commands_hand_on_what_they_do_not_know() -> None:
    with pytest.raises(SystemExit):
        main(["ops", "--no-such-option"])


def test_profile(tmp_path: Path, capsys: Any) -> None:
    script = tmp_path / "script.py"
    (tmp_path / "beside_it.py").write_text("")
    before = list(sys.path)
    script.write_text(
        "import sys, beside_it, pullback as pb\n"
        "x = pb.tensor([1.0, 2.0], requires_grad=True)\n"
        "pb.sum(pb.tanh(x)).backward()\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    trace = tmp_path / "trace.json"
    assert main(["profile", "--trace", str(trace), str(script), "3"]) == 3
    assert "tanh" in capsys.readouterr().out
    assert json.loads(trace.read_text())["traceEvents"]
    assert sys.path == before
