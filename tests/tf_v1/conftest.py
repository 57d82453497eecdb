"""The door and TensorFlow itself, for the same tests: so that the tests are known to be right."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parts import is_missing, need

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
INSTALLED = not is_missing("tensorflow")


def module(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorFlow's own, at its import
        found = importlib.import_module(name)
    if name.startswith("tensorflow"):
        found.logging.set_verbosity(found.logging.ERROR)
    return found


@pytest.fixture(params=["pullback.tf.v1", *(["tensorflow.compat.v1"] if INSTALLED else [])])
def tf(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each of the two, with a graph of its own open."""
    found = module(request.param)
    with found.Graph().as_default():
        yield found


@pytest.fixture
def ours(tf: Any) -> bool:
    """Whether it is the door, for what it says or does more."""
    return bool(tf.__name__.startswith("pullback"))


@pytest.fixture
def peer() -> Any:
    """TensorFlow, for comparisons."""
    need("tensorflow")
    return module("tensorflow.compat.v1")
