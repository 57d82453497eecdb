"""The operation table on a GPU: PyTorch's, JAX's and CuPy's arrays, where there is one.

One command runs all of it, with no network: `python -m pytest tests/arrays/test_gpu.py`, or
`make gpu`. What has to be installed is said in `docs/array_api.md`.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from tests.arrays import laws
from tests.arrays.gpu import DRIVER, ON_GPU, OnGPU
from tests.laws.cases import ROWS
from tests.laws.test_batching import batched
from tests.table import Row

LIBRARY = pytest.mark.parametrize(
    "on_gpu", list(ON_GPU) if DRIVER else ["none"], indirect=True, scope="module"
)
PRECISE = ("float64", "complex128")


def rows(of: list[Row], *dtypes: str) -> list[tuple[Row, str]]:
    return [(row, dtype) for row in of for dtype in row.dtypes if dtype in dtypes]


def cases(of: list[tuple[Row, str]]) -> pytest.MarkDecorator:
    """Where there is no driver one case stands for all, and is skipped."""
    of = of if DRIVER else of[:1]
    return pytest.mark.parametrize(
        ("row", "dtype"), of, ids=[f"{row.id}-{dtype}" for row, dtype in of]
    )


DIFFERENTIABLE = [row for row in ROWS if row.differentiable]
BATCHED = [row for row in ROWS if batched(row)]


def left_out(row: Row, on_gpu: OnGPU) -> bool:
    return row.id in on_gpu.library.without


@LIBRARY
@cases(rows(ROWS, *PRECISE))
def test_values(row: Row, dtype: str, on_gpu: OnGPU) -> None:
    if not left_out(row, on_gpu):
        laws.check_values(row, on_gpu.library, dtype)


@LIBRARY
@cases(rows(ROWS, "float32"))
def test_values_in_single_precision(row: Row, dtype: str, on_gpu: OnGPU) -> None:
    """As near to NumPy's as NumPy's own are to those in double precision."""
    if not left_out(row, on_gpu):
        laws.check_single(row, on_gpu.library)


@LIBRARY
@cases(rows(DIFFERENTIABLE, *PRECISE))
def test_pullbacks(row: Row, dtype: str, on_gpu: OnGPU) -> None:
    if not left_out(row, on_gpu):
        laws.check_pullback(row, on_gpu.library, dtype)


@LIBRARY
@cases(rows(DIFFERENTIABLE, *PRECISE))
def test_pushforwards(row: Row, dtype: str, on_gpu: OnGPU) -> None:
    if not left_out(row, on_gpu):
        laws.check_pushforward(row, on_gpu.library, dtype)


@LIBRARY
@cases(rows(BATCHED, "float64"))
def test_vmap(row: Row, dtype: str, on_gpu: OnGPU) -> None:
    if not left_out(row, on_gpu):
        laws.check_vmap(row, on_gpu.library)


@LIBRARY
def test_everything_stays_on_the_device(on_gpu: OnGPU) -> None:
    x = pb.tensor(on_gpu.library.make(np.arange(6.0).reshape(2, 3)), requires_grad=True)
    y = pb.sum(pb.exp(x[:, 1:]) @ pb.ones_like(x[:, 1:]).mT)
    y.backward()
    assert str(x.grad.device) == str(y.device) == str(x.device) != "cpu"
    assert x.to_device(x.device) is x
    there = pb.asarray(x, like=np.ones(1))
    assert there.device == "cpu"
    pb.sum(there**2).backward()
    assert str(x.grad.device) == str(x.device)
