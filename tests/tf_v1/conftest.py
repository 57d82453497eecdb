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


MODULES = ["pullback.tf.v1", *(["tensorflow.compat.v1"] if INSTALLED else [])]


@pytest.fixture(params=[
    *[pytest.param((name, False), id=name) for name in MODULES],
    *[pytest.param((name, True), id=f"{name}, v1 behaviour", marks=pytest.mark.full)
      for name in MODULES],
])
def tf(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each of the two, with a graph of its own open, as it is and after `disable_v2_behavior()`.

    Of TensorFlow's own, only the part about shapes can be undone: for later tests, of TensorFlow 2.
    """
    name, older = request.param
    found = module(name)
    if older:
        found.disable_v2_behavior() if name.startswith("pullback") else (
            found.disable_v2_tensorshape())
    try:
        with found.Graph().as_default():
            yield found
    finally:
        if older:
            found.enable_v2_tensorshape()


@pytest.fixture
def older(request: pytest.FixtureRequest, tf: Any) -> bool:
    """Whether entries of shapes are Dimensions."""
    return "v1 behaviour" in request.node.callspec.id


@pytest.fixture
def ours(tf: Any) -> bool:
    """Whether it is the door, for what it says or does more."""
    return bool(tf.__name__.startswith("pullback"))


@pytest.fixture
def peer() -> Any:
    """TensorFlow, for comparisons."""
    need("tensorflow")
    return module("tensorflow.compat.v1")
