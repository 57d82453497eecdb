"""What goes wrong on the command line: a short error and 2, or the user's own traceback and 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback.cli import COMMANDS, main
from pullback.cli.arguments import argument_names
from tests.house.sources import ROOT

SOURCE = '''
import pullback as pb

def loss(x, w):
    return pb.sum(pb.tanh(x @ w))

def broken(x):
    return pb.sum(x) + undefined_name
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    files = {
        "misused_layers.py": SOURCE, "misused_import.py": "import no_such_module_here\n",
        "misused_syntax.py": "def f(:\n", "raises.py": "raise ZeroDivisionError('mine')\n",
        "shapes.py": "import pullback as pb\npb.ones((2,)) @ pb.ones((3,))\n",
        "fine.py": "print('ran')\n", "text.npy": "no array",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


LOSS = ["draw", "misused_layers.py:loss"]
GOOD = [*LOSS, "--arg", "f64[8,3]", "--arg", "f64[3]"]
MISUSE = {
    "a number of arguments": ([*LOSS, "--arg", "f64[3]"], "missing a required argument: 'w'"),
    "no file of an array": ([*LOSS, "--arg", "no.npy", "--arg", "1"], "no.npy"),
    "a file of something else": ([*LOSS, "--arg", "text.npy", "--arg", "1"], "text.npy"),
    "bounds that are no numbers": (["draw", "pullback:exp", "--arg", "f64[3]:a:b"], "f64[3]:a:b"),
    "no folder to write to": ([*GOOD, "--out", "no/such/x.svg"], "no/such/x.svg"),
    "another ending": ([*GOOD, "--out", "x.png"], ".svg"),
    "a script where a function is asked for": (["draw", "fine.py"], "fine.py:loss"),
    "no function": (["draw", "pullback:pi"], "a float"),
    "shapes that this library refuses": (
        ["draw", "pullback:matmul", "--arg", "f64[3]", "--arg", "f64[4]"], "matmul"),
    "no operation": (["ops", "tahn"], "did you mean"),
    "no example": (["demo", "no_such_example"], "binarised_digits"),
    "no folder for a trace": (["profile", "--trace", "no/such.json", "fine.py"], "no/such.json"),
}
THEIRS = {
    "a name": (["draw", "misused_layers.py:broken", "--arg", "f64[3]"], "undefined_name"),
    "an import": (["draw", "misused_import.py:f"], "no_such_module_here"),
    "syntax": (["draw", "misused_syntax.py:f"], "SyntaxError"),
    "shapes": ([*LOSS, "--arg", "f64[8,3]", "--arg", "f64[4]"], "misused_layers.py"),
    "a script": (["profile", "raises.py"], "ZeroDivisionError: mine"),
    "a script's shapes": (["profile", "shapes.py"], "shapes.py"),
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_a_short_error(case: str, capsys: Any) -> None:
    arguments, told = MISUSE[case]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.startswith(f"pullback {arguments[0]}: ")
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 4


@pytest.mark.parametrize("case", THEIRS)
def test_what_the_users_code_raises_is_shown_from_its_first_line(case: str, capsys: Any) -> None:
    arguments, told = THEIRS[case]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert told in said
    assert "pullback/cli" not in said
    assert "runpy" not in said
    assert said.count("Traceback") <= 1


@pytest.mark.parametrize("arguments", [
    ["profile", "no_script.py"], ["explain", "no_script.py"],
    ["profile", "--trace", "x.txt", "fine.py"], ["draw"], ["ops", "--no-such-option"],
])
def test_what_the_parser_refuses(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    said = capsys.readouterr()
    assert f"pullback {arguments[0]}: error" in said.err
    assert "ran" not in said.out  # nothing was begun


def test_a_mistake_of_the_library_is_not_hidden(monkeypatch: Any) -> None:
    monkeypatch.setattr("pullback.cli.ops.operations", lambda: None)
    with pytest.raises(TypeError):
        main(["ops"])


def test_nobody_has_to_read_to_the_end() -> None:
    ran = subprocess.run(
        f'"{sys.executable}" -m pullback ops | head -1', shell=True, capture_output=True,
        text=True, cwd=ROOT,
    )
    assert ran.stdout.startswith("operation")
    assert not ran.stderr


def test_operations_have_their_rooms_names_too(capsys: Any) -> None:
    for name in ("inv", "linalg.inv", "pullback.linalg.inv"):
        assert main(["ops", name]) == 0
    said = capsys.readouterr().out
    assert said.count("inv(x, /)") == 3


def test_missing_packages_of_an_example_are_named(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main(["demo", "guided_backpropagation"]) == 2
    said = capsys.readouterr().err
    assert "sklearn" in said
    assert "pip install 'pullback[demo]'" in said


def test_a_picture_of_an_operation_has_no_lines_and_the_arguments_their_names(
    capsys: Any,
) -> None:
    np.save("numbers.npy", np.ones(3))
    assert main(["draw", "pullback:add", "--arg", "numbers.npy", "--arg", "f64[3]"]) == 0
    table = capsys.readouterr().out
    assert "▷ x1_" in table
    assert "▷ x2_" in table
    assert "line" not in table.splitlines()[0]
    assert argument_names(len, 2) == ["obj", "argument 1"]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c in ("check", "draw", "ops")])
def test_the_first_example_of_the_help_works_when_pasted(command: str, capfd: Any) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capfd.readouterr().out.partition("example:")[2].strip().splitlines()[0]
    program = text.replace("pullback", f'"{sys.executable}" -m pullback', 1)
    ran = subprocess.run(program, shell=True, capture_output=True, text=True,
                         env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
