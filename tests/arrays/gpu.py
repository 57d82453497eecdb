"""Is there a GPU for an array library? And the libraries whose arrays the laws run on there."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.arrays.laws import LIBRARIES, Library

DRIVER = any(Path(p).exists() for p in ("/dev/nvidiactl", "/dev/dxg"))
"""Whether the machine shows a driver of NVIDIA's, the second under Windows."""


@dataclass(frozen=True)
class OnGPU:
    """A library on a GPU: why it cannot be had, if so; its laws; and settings for exact numbers."""

    missing: Callable[[], str]
    library: Library
    exactly: Callable[[], Any]


def _torch_missing() -> str:
    import torch

    return "" if torch.cuda.is_available() else "PyTorch finds no GPU"


def _jax_missing() -> str:
    import jax

    found = {device.platform for device in jax.devices()}
    return "" if found & {"gpu", "cuda"} else f"JAX has only {', '.join(sorted(found))}"


def _cupy_missing() -> str:
    import cupy

    try:
        return "" if cupy.cuda.runtime.getDeviceCount() else "CuPy finds no GPU"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy: {error}"


def _on_torch(array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array).to("cuda")


def _on_jax(array: np.ndarray) -> Any:
    import jax

    return jax.device_put(array, jax.devices("gpu")[0])


def _jax_class() -> type:
    import jax

    return jax.Array


@contextmanager
def _torch_exactly() -> Iterator[None]:
    """No TF32, which has 10 bits of float32's 23."""
    import torch

    backends = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [b.allow_tf32 for b in backends]
    for backend in backends:
        backend.allow_tf32 = False
    try:
        yield
    finally:
        for backend, value in zip(backends, before, strict=True):
            backend.allow_tf32 = value


@contextmanager
def _jax_exactly() -> Iterator[None]:
    """In 64 bits, and products of float32 without TF32."""
    import jax

    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


@contextmanager
def _cupy_exactly() -> Iterator[None]:
    """CuPy uses TF32 only where the environment says CUPY_TF32=1."""
    yield


ON_GPU = {
    "torch": OnGPU(
        _torch_missing,
        Library(
            "torch", _on_torch, LIBRARIES["torch"].cls, LIBRARIES["torch"].without, tolerance=1e-10
        ),
        _torch_exactly,
    ),
    "jax": OnGPU(
        _jax_missing, Library("jax", _on_jax, _jax_class, tolerance=1e-10), _jax_exactly,
    ),
    "cupy": OnGPU(
        _cupy_missing,
        Library(
            "cupy", LIBRARIES["cupy"].make, LIBRARIES["cupy"].cls, LIBRARIES["cupy"].without,
            tolerance=1e-10,
        ),
        _cupy_exactly,
    ),
}


def missing(name: str) -> str:
    """Why the arrays of a library cannot be had on a GPU here; nothing if they can."""
    if not DRIVER:
        return "this machine has no driver of NVIDIA's"
    if importlib.util.find_spec(name) is None:
        return f"{name} is not installed"
    return ON_GPU[name].missing()
