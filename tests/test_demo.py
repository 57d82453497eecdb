"""The demo: a few epochs of it, as a person would start it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

PROGRAM = Path(__file__).parents[1] / "examples" / "binarised_digits.py"


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=120,
        check=False,
    )


def test_the_second_run_learns_and_the_first_does_not(tmp_path):
    image = tmp_path / "new" / "curves.png"
    done = start("--epochs", "6", "--out", str(image), "--at-least", "0.8")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    own, through = (
        [float(n) for n in re.findall(r"([\d.]+)%", line)]
        for line in done.stdout.splitlines() if "sign's own" in line or "straight" in line
    )
    assert own[0] == own[1], "sign's own gradient is zero, so nothing may change"
    assert through[0] == own[0], "both begin with the same network"
    assert through[1] > 80 > 30 > own[1]
    assert image.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert str(image) in done.stdout.replace("\n", "")
    assert len(done.stdout.splitlines()) < 15, "short where there is no terminal"


def test_too_low_an_accuracy_is_a_failure(tmp_path):
    done = start("--epochs", "1", "--quiet", "--out", str(tmp_path / "x.png"), "--at-least", "1.1")
    assert done.returncode == 1
    assert "not 110.0%" in done.stderr


def test_misuse():
    done = start("--epochs", "0")
    assert done.returncode == 2
    assert "at least 1" in done.stderr
