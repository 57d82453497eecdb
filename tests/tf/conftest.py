"""The door and TensorFlow itself, for the same tests: so that the tests are known to be right."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

import pytest

from tests.parts import is_missing, need

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
INSTALLED = not is_missing("tensorflow")


@pytest.fixture(params=["pullback.tf", *(["tensorflow"] if INSTALLED else [])])
def tf(request: pytest.FixtureRequest) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorFlow's own, at its import
        return importlib.import_module(request.param)


@pytest.fixture
def peer() -> Any:
    """TensorFlow, for comparisons."""
    need("tensorflow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("tensorflow")
