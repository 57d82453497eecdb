"""The operation table on a GPU: PyTorch's, JAX's and CuPy's arrays, where there is one.

One command runs all of it, with no network: `python -m pytest tests/arrays/test_gpu.py`, or
`make gpu`. What has to be installed is said in `docs/array_api.md`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pullback as pb
from tests.arrays import laws
from tests.arrays.gpu import DRIVER, ON_GPU, OnGPU
from tests.laws.cases import ROWS
from tests.laws.test_batching import batched
from tests.loops import each
from tests.table import Row

LIBRARY = pytest.mark.parametrize(
    "on_gpu", list(ON_GPU) if DRIVER else ["none"], indirect=True, scope="module"
)


def cases(where: Callable[[Row], bool] = lambda row: True) -> pytest.MarkDecorator:
    """Each library with each of its rows; where there is no driver, one case, which is skipped."""
    held = [
        (name, row) for name, found in ON_GPU.items() for row in ROWS
        if where(row) and row.id not in found.library.without
    ]
    if not DRIVER:
        held = [("none", ROWS[0])]
    return pytest.mark.parametrize(
        ("on_gpu", "row"), held, indirect=["on_gpu"], scope="module",
        ids=[f"{name}-{row.id}" for name, row in held],
    )


def differentiable(row: Row) -> bool:
    return row.differentiable


@cases()
def test_values(row: Row, on_gpu: OnGPU) -> None:
    each(row.precise, lambda dtype: laws.check_values(row, on_gpu.library, dtype))


@cases()
def test_values_in_single_precision(row: Row, on_gpu: OnGPU) -> None:
    """As near to NumPy's as NumPy's own are to those in double precision."""
    laws.check_single(row, on_gpu.library)


@cases(differentiable)
def test_pullbacks(row: Row, on_gpu: OnGPU) -> None:
    each(row.precise, lambda dtype: laws.check_pullback(row, on_gpu.library, dtype))


@cases(differentiable)
def test_pushforwards(row: Row, on_gpu: OnGPU) -> None:
    each(row.precise, lambda dtype: laws.check_pushforward(row, on_gpu.library, dtype))


@cases(batched)
def test_vmap(row: Row, on_gpu: OnGPU) -> None:
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
