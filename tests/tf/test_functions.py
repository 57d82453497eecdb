"""Every function gives what TensorFlow gives: values, dtypes, shapes and gradients."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import tf as door
from tests.tf import functions_special
from tests.tf.functions import ROWS, SINGLE

TOLERANCE = {"float32": 2e-5, "float64": 1e-10}


def answers(tf: Any, call: Any, arrays: list[np.ndarray], seed: int) -> list[Any]:
    """The outputs of a call, and the gradients for random cotangents of the floating ones."""
    rng = np.random.default_rng(seed)
    xs = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        outs = call(tf, *xs)
    outs = outs if isinstance(outs, list) else [outs]
    exact = [y for y in outs if y.dtype.is_floating]
    cotangents = [tf.constant(rng.normal(size=y.shape), dtype=y.dtype) for y in exact]
    gradients = tape.gradient(exact, xs, output_gradients=cotangents) if exact else []
    gradients = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
    return [*outs, *gradients]


CASES = [
    pytest.param(call, samples, dtype, id=f"{name}-{dtype}")
    for name, call, samples in [*ROWS, *functions_special.ROWS] for dtype in TOLERANCE
    if dtype == "float32" or name not in SINGLE | functions_special.SINGLE
]


@pytest.mark.needs("tensorflow")
@pytest.mark.parametrize(("call", "samples", "dtype"), CASES)
def test_values_and_gradients_are_tensorflows(
    call: Any, samples: Any, dtype: str, peer: Any, rng: np.random.Generator
) -> None:
    arrays = [sample(rng).astype(dtype) for sample in samples]
    ours, theirs = (answers(tf, call, arrays, 7) for tf in (door, peer))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if mine is None or other is None:
            # What is flat has zeros here where TensorFlow may say None, and never the reverse.
            assert other is None
            assert mine is None or not np.any(mine.numpy())
            continue
        assert mine.dtype.name == other.dtype.name
        assert mine.shape == tuple(other.shape)
        assert isinstance(mine, door.Tensor)
        limit = TOLERANCE[dtype] * (1 + np.max(np.abs(other.numpy()), initial=0))
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=0, atol=limit)


@pytest.mark.parametrize(
    "space", ["", "math", "nn", "linalg", "random", "nest", "debugging", "autodiff"],
)
def test_every_name_is_tensorflows(space: str, peer: Any) -> None:
    ours, theirs = (getattr(tf, space) if space else tf for tf in (door, peer))
    own = {"override_gradient", "Any"}
    files = {f.stem for f in Path(door.__file__).parent.glob("*")}
    names = getattr(ours, "__all__", None) or [n for n in dir(ours) if not n.startswith("_")]
    assert [n for n in names if not hasattr(theirs, n) and n not in own | files] == []


def test_the_page_of_names_is_what_its_script_makes(peer: Any) -> None:
    path = Path(__file__).parents[2] / "docs" / "make_doors_tf.py"
    spec = importlib.util.spec_from_file_location("make_doors_tf", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page()


def test_every_function_has_a_row() -> None:
    tested = " ".join(name for name, _, _ in [*ROWS, *functions_special.ROWS])
    elsewhere = {"dropout", "eye", "special"}
    for space in (door.math, door.nn, door.linalg, door.signal, door.math.special):
        missing = [n for n in space.__all__ if n not in tested and n not in elsewhere]
        assert [n for n in missing if not n.startswith(("logical", "argm"))] == []
