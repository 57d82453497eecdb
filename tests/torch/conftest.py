"""Tests of the door run twice: on it, and on the library whose spelling it is."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest


@pytest.fixture(params=["pullback.torch", pytest.param("torch", marks=pytest.mark.needs("torch"))])
def torch(request: pytest.FixtureRequest) -> ModuleType:
    """The door, then PyTorch itself where it is installed."""
    return importlib.import_module(request.param)
