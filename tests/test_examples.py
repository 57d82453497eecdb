"""The examples on graphs, as a person would start them; `test_demo.py` has the demo."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

EXAMPLES = Path(__file__).parents[1] / "examples"


def start(name: str, *arguments: str) -> str:
    """What an example prints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True,
        timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def percents(line: str) -> list[float]:
    return [float(n) for n in re.findall(r"([\d.]+)%", line)]


def test_binarised_digits_in_a_graph(tmp_path):
    picture = tmp_path / "graph.svg"
    lines = start("binarised_digits_graph.py", "--epochs", "8", "--draw", str(picture)).splitlines()
    (before,), (graph,), (eager,) = map(percents, lines[:3])
    assert graph == eager > 88 > 25 > before
    assert "same weights" in lines[3]
    assert "∇ HardTanh" in picture.read_text("utf-8")


def test_domain_adversarial_digits():
    lines = start("domain_adversarial_digits.py", "--steps", "800").splitlines()
    (source, without), eager, (turned_source, turned), _ = map(percents, lines[1:5])
    assert eager == [source, without]
    assert min(source, turned_source) > 95
    assert turned > without + 5
    assert "same parameters" in lines[5]


def test_guided_backpropagation(tmp_path):
    picture = tmp_path / "new" / "guided.png"
    text = start("guided_backpropagation.py", "--epochs", "3", "--out", str(picture))
    (right,), (plain,), (guided,) = map(percents, text.splitlines()[:3])
    assert right > 85
    assert guided > plain
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_monitored_digits(tmp_path):
    page = tmp_path / "run.html"
    text = start("monitored_digits.py", "--epochs", "10", "--out", str(page))
    assert percents(text.splitlines()[-1])[0] > 90
    assert "first.weight" in text
    assert "<svg" in page.read_text("utf-8")
