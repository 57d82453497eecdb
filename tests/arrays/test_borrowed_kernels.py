"""`pb.kernels("torch")`: PyTorch's convolutions of NumPy arrays."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy_ import convolutions
from pullback.ops.convolution import Windows

torch = pytest.importorskip("torch")


def gradients(seed: int = 0, dtype: str = "float32", **how: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(3, 4, 7, 8)).astype(dtype), rng.normal(size=(6, 2, 3, 3)).astype(dtype)
    leaves = [pb.Tensor(a, requires_grad=True) for a in (x, w)]
    y = pb.conv2d(*leaves, groups=2, **how)
    c = rng.normal(size=y.shape).astype(dtype)
    first = pb.autograd.grad(y, leaves, c, create_graph=True)
    second = pb.autograd.grad(pb.sum(first[0] * first[0]), leaves[1])
    found = [y, *first, *second]
    assert all(type(t.data) in (np.ndarray, type(leaves[0].data)) for t in found)
    return [t.numpy() for t in found]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("how", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 3}])
def test_values_and_gradients_of_two_orders_are_the_same(dtype: str, how: dict[str, Any]) -> None:
    wanted = gradients(dtype=dtype, **how)
    with pb.kernels("torch"):
        found = gradients(dtype=dtype, **how)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        room = 100 * np.finfo(dtype).eps * abs(b).max()
        np.testing.assert_allclose(a, b, rtol=0, atol=room)


def test_pytorch_computes_only_where_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = torch.convolution

    def counted(x: Any, *rest: Any) -> Any:
        calls.append(x)
        return real(x, *rest)

    monkeypatch.setattr(torch, "convolution", counted)
    x, w = np.ones((1, 1, 4, 4), "f"), np.ones((1, 1, 2, 2), "f")
    pb.conv2d(x, w)
    assert not calls
    with pb.kernels("torch"):
        found = pb.conv2d(x, w)
        assert len(calls) == 1
        assert np.shares_memory(calls[0].numpy(), x)  # not a copy
        with pb.kernels("numpy"):
            pb.conv2d(x, w)
        pb.conv2d(x.astype(int), w.astype(int))  # PyTorch has no kernel for integers
        assert len(calls) == 1
        with ThreadPoolExecutor(1) as other:
            other.submit(pb.conv2d, x, w).result()
        assert len(calls) == 1
    assert isinstance(found, np.ndarray)
    pb.conv2d(x, w)
    assert len(calls) == 1
    pb.set_kernels("torch")
    try:
        pb.conv2d(x, w)
        assert pb.show_config(mode="dicts")["kernels"] == "torch"
    finally:
        pb.set_kernels("numpy")
    assert len(calls) == 2


def test_the_choice_ends_with_the_block_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), pb.kernels("torch"):
        raise ZeroDivisionError
    assert pb.show_config(mode="dicts")["kernels"] == "numpy"


@pytest.mark.parametrize("layout", ["read-only", "reversed", "unaligned", "empty"])
def test_arrays_that_pytorch_does_not_take_are_copied(layout: str) -> None:
    x, w = np.arange(32, dtype="f").reshape(2, 1, 4, 4), np.ones((1, 1, 2, 2), "f")
    if layout == "read-only":
        x.flags.writeable = False
    elif layout == "reversed":
        x = x[..., ::-1]
    elif layout == "unaligned":
        x = np.ndarray(x.shape, [("a", "i1"), ("b", "f4")], bytearray(5 * x.size))["b"]
    else:
        x = x[:0]
    windows = Windows((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))
    wanted = convolutions.convolution(x, w, windows, 1)
    with pb.kernels("torch"):
        np.testing.assert_allclose(pb.conv2d(x, w), wanted)


def test_another_name_or_a_missing_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for ask in (pb.set_kernels, lambda name: pb.kernels(name).__enter__()):
        with pytest.raises(pb.errors.ArgumentError, match='"numpy" or "torch"'):
            ask("jax")
    monkeypatch.setitem(sys.modules, "pullback.arrays.torch_.nn", None)
    with pytest.raises(pb.errors.ArgumentError, match="installed"):
        pb.set_kernels("torch")
    assert pb.show_config(mode="dicts")["kernels"] == "numpy"


def test_pytorch_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys, numpy as np, pullback as pb\n"
        "x, w = np.ones((1, 1, 4, 4)), np.ones((1, 1, 2, 2))\n"
        "pb.conv2d(x, w); pb.show_config(mode='dicts'); assert 'torch' not in sys.modules\n"
        "with pb.kernels('torch'): assert 'torch' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
