"""The oldest versions that are promised are the oldest ones that are tested."""

from __future__ import annotations

import re
import tomllib

from tests.house.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = ROOT / "tests" / "requirements" / "oldest.txt"


def floors(requirements: list[str]) -> dict[str, str]:
    """Package -> version, of requirements such as `numpy>=2.0.0`."""
    found = {}
    for text in requirements:
        match = re.fullmatch(r"([\w-]+)>=([\d.]+)", text)
        assert match, f"{text}: a floor is written as name>=version"
        found[match[1]] = match[2]
    return found


def test_the_oldest_versions_are_those_that_are_allowed() -> None:
    lines = OLDEST.read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", pin) for pin in pins)
    assert dict(pin.split("==") for pin in pins) == floors(PROJECT["dependencies"])


def test_the_oldest_python_is_the_one_that_the_linters_take() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert tool["mypy"]["python_version"] == oldest
    assert tool["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    assert f"Programming Language :: Python :: {oldest}" in PROJECT["classifiers"]


def test_the_documents_name_the_oldest_versions() -> None:
    oldest = floors(PROJECT["dependencies"])
    numpy, scipy = (oldest[name].removesuffix(".0") for name in ("numpy", "scipy"))
    python = PROJECT["requires-python"].removeprefix(">=")
    said = f"Python {python}, NumPy {numpy} and SciPy {scipy}"
    for page in ("README.md", "docs/limits.md"):
        assert said in " ".join((ROOT / page).read_text(encoding="utf-8").split()), page
