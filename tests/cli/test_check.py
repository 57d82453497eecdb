"""`pullback check`, as one uses it: what it prints, its options, its exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pullback.cli import main

LAYERS = """
import pullback as pb

@pb.custom_gradient
def wrong(x):
    return x * x, lambda g: g * x

def scaled(x, factor, *, axis=None):
    return pb.sum(x * factor, axis=axis)
"""


@pytest.fixture(autouse=True)
def _layers(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "checked_layers.py").write_text(LAYERS)


def test_the_report_begins_with_the_mistake(capsys: Any) -> None:
    assert main(["check", "checked_layers.py:wrong", "--arg", "f64[3]"]) == 1
    head, first, *_ = capsys.readouterr().out.split("\n\n")
    assert head.startswith("checked_layers.py:wrong: 1 mistake,")
    assert "0.5 times" in first
    assert "also failed: jvp" in first


def test_verbose_tells_every_failure(capsys: Any) -> None:
    assert main(["check", "checked_layers.py:wrong", "--arg", "f64[3]", "--verbose"]) == 1
    assert capsys.readouterr().out.count("[edges]") > 1


def test_on_a_terminal_it_is_a_table(capsys: Any, monkeypatch: Any) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["check", "pullback:tanh", "--arg", "f64[3]"]) == 0
    out = capsys.readouterr().out
    assert "no mistake found" in out
    assert "\x1b[" in out


def test_keyword_arguments(capsys: Any) -> None:
    asked = ["check", "checked_layers.py:scaled", "--arg", "f64[2,3]", "--arg", "axis=0"]
    assert main([*asked, "--arg", "factor=f64[2,3]"]) == 0
    assert main(asked) == 1
    assert "missing 1 required positional argument: 'factor'" in capsys.readouterr().out


def test_nothing_to_check_is_misuse(capsys: Any) -> None:
    assert main(["check", "pullback:argmax", "--arg", "f64[3]"]) == 2
    assert main(["check", "pullback:tanh", "--arg", "3"]) == 2
    said = capsys.readouterr()
    assert "no output is a real" in said.out
    assert "--arg" in said.err
