"""The programs of the "Coming from" pages run on the frameworks that they come from, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.pages import blocks
from tests.house.sources import ROOT

PAGES = {
    "from_tensorflow1.md": ("pullback.tf.v1", "tensorflow.compat.v1", 2),
    "from_tensorflow2.md": ("pullback.tf", "tensorflow", 1),
    "from_pytorch.md": ("pullback.torch", "torch", 1),
}
"""Page -> the door's module, the framework's, and how many blocks run on both."""
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def on_framework(page: str) -> str:
    """The code of the page's first blocks, with the framework in the place of the door."""
    door, framework, count = PAGES[page]
    code = "\n".join(block.code for block in blocks(ROOT / "docs" / "howto" / page)[:count])
    assert code.count(door) > 0
    return code.replace(door, framework)


@pytest.mark.parametrize("page", [
    pytest.param(page, marks=pytest.mark.needs(framework.partition(".")[0]))
    for page, (_, framework, _) in PAGES.items()
])
def test_the_programs_run_on_the_framework_too(page: str, tmp_path: Path) -> None:
    code = on_framework(page)
    assert "pullback" not in code
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, cwd=tmp_path,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
