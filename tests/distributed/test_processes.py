"""Several processes that are killed and started again, as `examples/distributed_digits.py` is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "distributed_digits.py"
KILLED, STEPS = 70, 6

pytestmark = pytest.mark.full


def losses(
    library: str, processes: int, state: Path, *more: str, code: int = 0
) -> dict[int, float]:
    """The loss of each step that a run prints; it ends with an exit code."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--library", library, "--processes", str(processes),
         "--steps", str(STEPS), "--state", str(state), *more],
        capture_output=True, text=True, timeout=300, check=False,
    )
    assert done.returncode == code, done.stderr
    return {int(n): float(loss) for n, loss in re.findall(r"step +(\d+)  loss (\S+)", done.stdout)}


@pytest.mark.needs("jax", "torch")
@pytest.mark.parametrize("library", ["jax", "torch"])
def test_a_killed_run_goes_on(library: str, tmp_path: Path) -> None:
    unbroken = losses(library, 2, tmp_path / "unbroken")
    assert list(unbroken) == list(range(STEPS))
    state = tmp_path / "run"
    before = losses(library, 2, state, "--kill-in", "3", code=KILLED)
    other = tmp_path / "other"
    (shutil.copytree if state.is_dir() else shutil.copyfile)(state, other)
    after = losses(library, 2, state)
    assert before | after == unbroken
    assert list(after) == [3, 4, 5]
    alone = losses(library, 1, other)
    assert alone == pytest.approx({n: unbroken[n] for n in alone}, rel=1e-9)
    assert list(alone) == [3, 4, 5]
