"""`pullback draw`: the table in the terminal, and the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pullback.cli import main
from pullback.tools.draw.layout.drawn import ENDINGS
from tests.graphs.pictures import Seen

SOURCE = '''
import pullback as pb

def loss(x, w):
    h = pb.tanh(x @ w)
    return pb.sum(h * h.detach())
'''
ARGS = ["--arg", "f64[3,4]", "--arg", "f64[4,2]"]


@pytest.fixture
def function(tmp_path: Path, monkeypatch: Any) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drawn_layers.py").write_text(SOURCE)
    return "drawn_layers.py:loss"


def test_the_table_names_functions_lines_and_cuts(function: str, capsys: Any) -> None:
    assert main(["draw", function, *ARGS]) == 0
    table = capsys.readouterr().out
    for told in ("▷ x_", "▷ w_", "loss()", "drawn_layers.py:5", "float64 [3, 2]",
                 "✂ detach"):
        assert told in table


def test_files_of_every_form(function: str, tmp_path: Path, capsys: Any) -> None:
    names = [f"p{ending}" for ending in ENDINGS]
    assert main(["draw", function, *ARGS, *(a for n in names for a in ("--out", n))]) == 0
    assert capsys.readouterr().out.count("written: ") == len(names)
    assert all((tmp_path / name).stat().st_size > 100 for name in names)
    assert any(key.startswith("matmul_") for key in Seen((tmp_path / "p.svg").read_text()).boxes)


def test_another_ending_is_an_error(function: str, capsys: Any) -> None:
    assert main(["draw", function, *ARGS, "--out", "p.png"]) != 0
    assert ".svg" in "".join(capsys.readouterr())
