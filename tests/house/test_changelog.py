"""The changelog begins with the version that the package has, and keeps to its format."""

from __future__ import annotations

import re
import tomllib
from datetime import date

import pullback as pb
from tests.house.sources import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
"""The headings that Keep a Changelog has below a version."""


def test_the_newest_version_is_the_package_s() -> None:
    assert VERSION.findall(TEXT)[0][0] == pb.__version__


def test_versions_descend_and_have_dates_and_addresses() -> None:
    found = VERSION.findall(TEXT)
    numbers = [tuple(map(int, version.split("."))) for version, _ in found]
    days = [date.fromisoformat(day) for _, day in found]
    assert numbers == sorted(set(numbers), reverse=True)
    assert days == sorted(days, reverse=True)
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert headings == ["[Unreleased]", *(f"[{version}] - {day}" for version, day in found)]
    addresses = dict(re.findall(r"^\[(.+)\]: (https://\S+)$", TEXT, re.MULTILINE))
    assert addresses.keys() == {"Unreleased", *(version for version, _ in found)}
    assert addresses["Unreleased"].endswith(f"v{pb.__version__}...HEAD")


def test_every_change_is_of_a_known_kind() -> None:
    assert set(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)) <= KINDS


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"] == {"path": "pullback/__init__.py"}
