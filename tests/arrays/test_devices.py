"""Nothing leaves the device that it is on: looked at without a GPU.

PyTorch has a device "meta", on which arrays have a shape but no numbers, and which does not mix
with the CPU. What an operation or a rule makes of its own on the CPU meets such arrays with an
error. JAX can be told that one processor is two devices.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.tensor import raw
from pullback.errors import PullbackError
from tests.arrays.laws import rows_of
from tests.house.sources import ROOT
from tests.laws.checks import is_inexact, outputs
from tests.table import Row

torch = pytest.importorskip("torch")

MIXED = ("on the expected device", "on the same device", "two devices")
"""What PyTorch says of arrays of two devices."""


def nowhere(array: np.ndarray) -> Any:
    return torch.from_numpy(np.array(array)).to("meta")


def everything(row: Row, arrays: list[np.ndarray]) -> list[Any]:
    """Values, and where there are some gradients and tangents."""
    args = [pb.Tensor(nowhere(a), requires_grad=is_inexact(a)) for a in arrays]
    results = outputs(row.call(*args))
    found = list(results)
    live = [r for r in results if isinstance(r, pb.Tensor) and r.requires_grad]
    leaves = [x for x in args if x.requires_grad]
    if live and leaves:
        seeds = [pb.ones_like(r.detach()) for r in live]
        found += [
            g for g in pb.autograd.grad(live, leaves, seeds, allow_unused=True) if g is not None
        ]
        along = tuple(nowhere(a) if is_inexact(a) else None for a in arrays)
        found += outputs(pb.jvp(row.call, tuple(map(nowhere, arrays)), along)[1])
    return [raw(f) for f in found]


def check_device(row: Row, arrays: list[np.ndarray]) -> None:
    """What asks for numbers is an error of its own there, and not of interest here."""
    found, said = [], ""
    try:
        found = everything(row, arrays)
    except (NotImplementedError, RuntimeError, PullbackError) as error:
        said = str(error)
    assert not any(words in said for words in MIXED), said
    assert {str(f.device) for f in found if hasattr(f, "device")} <= {"meta"}


@rows_of("torch")
def test_rows_make_nothing_on_the_cpu(row: Row) -> None:
    check_device(row, row.draw())


def made_elsewhere(x: Any) -> Any:
    return x * torch.ones((2, 3))


@pytest.mark.parametrize("call", [made_elsewhere, lambda x: torch.zeros(raw(x).shape)])
def test_the_law_notices_an_array_of_the_cpu(call: Any) -> None:
    with pytest.raises(AssertionError, match=r"device|cpu"):
        check_device(Row("made elsewhere", call, np.abs, ()), [np.ones((2, 3))])


def test_tensors_say_where_they_are() -> None:
    x = pb.tensor(torch.ones(3), requires_grad=True)
    there = x.to("meta")
    assert (x.device, there.device) == (torch.device("cpu"), torch.device("meta"))
    assert x.to("cpu") is x
    assert pb.zeros((2,), device=torch.device("meta")).device.type == "meta"
    assert (pb.sum(there * there) + 1).device.type == "meta"


PROGRAM = """
import jax, numpy, pullback as pb
one, two = jax.devices()
x = pb.tensor(jax.numpy.ones(3), requires_grad=True)
assert x.device == one and x.to(one) is x
for name in (two, "cpu:1"):
    y = x.to(name)
    assert y.device == two
    (g,) = pb.autograd.grad(pb.sum(pb.exp(y[1:]) * y[:2]), [x])
    assert g.device == one, g.device
assert x.to("cpu").device == one
"""


def test_jax_arrays_are_taken_to_another_device_and_back() -> None:
    pytest.importorskip("jax")
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True,
        timeout=120, env={**os.environ, **flags, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
