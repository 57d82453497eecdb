"""NumPy's convolutions: values for all kinds of windows and layouts, scratch memory, threads."""

from __future__ import annotations

import itertools
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pullback.arrays.numpy_ import convolutions, lattices, scratch
from pullback.arrays.numpy_.adapter import ADAPTER
from pullback.ops.convolution import Windows
from tests.tier import share

Case = tuple[Windows, tuple[int, ...], int, int, int, int]

LENGTHS = [(3,), (1, 1), (3, 3), (2, 4), (5, 5), (1, 3), (3, 1), (2, 2, 2)]
STEPS = [(1, 1), (2, 1), (1, 2), (3, 2), (2, 2)]  # stride and dilation
CHANNELS = [(1, 1, 1), (1, 6, 1), (6, 1, 1), (5, 7, 1), (2, 3, 4), (1, 1, 5), (1, 2, 3), (2, 9, 2)]


def cases() -> list[Case]:
    """(windows, sizes, examples, channels of a group, outputs of a group, groups)."""
    found = []
    rng = np.random.default_rng(0)
    for lengths, (stride, apart), (c, o, groups) in itertools.product(LENGTHS, STEPS, CHANNELS):
        d = len(lengths)
        ends = tuple((int(a), int(b)) for a, b in rng.integers(0, 4, (d, 2)))
        sizes = tuple(int(n) for n in rng.integers(3, 6 if d == 3 else 13, d))
        windows = Windows(lengths, (stride,) * d, ends, (apart,) * d)
        if min(windows.outs(sizes)) > 0:
            found.append((windows, sizes, int(rng.integers(1, 4)), c, o, groups))
    return found


CASES = cases()


def by_taps(x: Any, w: Any, g: Any, windows: Windows, groups: int) -> dict[str, Any]:
    """A convolution and its adjoints: the products of one tap after the other."""
    lengths, strides, padding, dilation = windows
    wide = np.pad(x, [(0, 0), (0, 0), *padding])
    out, dx, dw = np.zeros_like(g), np.zeros_like(wide), np.zeros_like(w)
    c, o = w.shape[1], len(w) // groups
    for position in itertools.product(*map(range, lengths)):
        places = tuple(
            slice(k * a, k * a + (n - 1) * s + 1, s)
            for k, a, n, s in zip(position, dilation, g.shape[2:], strides, strict=True)
        )
        for i in range(groups):
            inputs, outputs = slice(i * c, i * c + c), slice(i * o, i * o + o)
            at, weights = (slice(None), inputs, *places), (outputs, slice(None), *position)
            out[:, outputs] += np.einsum("oc,nc...->no...", w[weights], wide[at])
            dx[at] += np.einsum("oc,no...->nc...", w[weights], g[:, outputs])
            summed = (0, *range(2, g.ndim))
            dw[weights] += np.tensordot(g[:, outputs], wide[at], (summed, summed))
    inner = tuple(slice(p, p + n) for (p, _), n in zip(padding, x.shape[2:], strict=True))
    return {"out": out, "x": dx[(..., *inner)], "w": dw}


def drawn(case: Case, dtype: str, seed: int) -> tuple[Any, Any, Any]:
    windows, sizes, n, c, o, groups = case
    rng = np.random.default_rng(seed)

    def array(*shape: int) -> Any:
        made = rng.integers(-4, 5, shape).astype(dtype)  # so that sums are exact
        return made + 1j * rng.integers(-4, 5, shape) if dtype == "complex128" else made

    w = array(o * groups, c, *windows.lengths)
    return array(n, c * groups, *sizes), w, array(n, o * groups, *windows.outs(sizes))


def all_three(x: Any, w: Any, g: Any, windows: Windows, groups: int) -> dict[str, Any]:
    sizes = x.shape[2:]
    return {
        "out": convolutions.convolution(x, w, windows, groups),
        "x": convolutions.convolution_input_adjoint(g, w, windows, sizes, groups),
        "w": convolutions.convolution_weight_adjoint(g, x, windows, groups),
    }


LAYOUTS = {
    "as made": lambda a: a,
    "Fortran": np.asfortranarray,
    "reversed": lambda a: a[..., ::-1],
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "examples last": lambda a: np.ascontiguousarray(np.moveaxis(a, 0, -1)).transpose(
        a.ndim - 1, *range(a.ndim - 1)
    ),
}


@pytest.mark.parametrize(
    ("dtype", "block"),
    [("float32", 1 << 18), ("float64", 40), ("float64", 700), ("complex128", 700), ("int64", 40)],
)
def test_every_kind_of_window_has_the_values_of_its_definition(
    dtype: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolutions, "_BLOCK", block)
    monkeypatch.setattr(convolutions, "_PIECE", block)
    layouts = itertools.cycle(LAYOUTS.values())
    for i, case in enumerate(share(CASES, 16)):
        windows, groups = case[0], case[-1]
        monkeypatch.setattr(convolutions, "_NARROW", (1, 64, 300)[i % 3])
        x, w, g = (next(layouts)(a) for a in drawn(case, dtype, i))
        wanted = by_taps(x, w, g, windows, groups)
        for kind, found in all_three(x, w, g, windows, groups).items():
            assert found.dtype == wanted[kind].dtype
            np.testing.assert_array_equal(found, wanted[kind], f"{kind} of {case}")


@pytest.mark.needs("torch")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_those_of_pytorch(dtype: str) -> None:
    import torch

    eps = np.finfo(dtype).eps
    for i, case in enumerate(share(CASES, 8)):
        windows, sizes, n, c, o, groups = case
        rng = np.random.default_rng(i)
        x = rng.normal(size=(n, c * groups, *sizes)).astype(dtype)
        w = rng.normal(size=(o * groups, c, *windows.lengths)).astype(dtype)
        g = rng.normal(size=(n, o * groups, *windows.outs(sizes))).astype(dtype)
        leaves = [torch.from_numpy(a).requires_grad_() for a in (x, w)]
        ends = [side for pair in reversed(windows.padding) for side in pair]
        f = getattr(torch.nn.functional, f"conv{len(sizes)}d")
        y = f(torch.nn.functional.pad(leaves[0], ends), leaves[1], None, windows.strides, 0,
              windows.dilation, groups)
        grads = torch.autograd.grad(y, leaves, torch.from_numpy(g))
        wanted = dict(zip(("out", "x", "w"), (y.detach(), *grads), strict=True))
        for kind, found in all_three(x, w, g, windows, groups).items():
            reference = wanted[kind].numpy()
            room = 50 * eps * max(1, abs(reference).max())
            np.testing.assert_allclose(found, reference, rtol=0, atol=room, err_msg=str(case))


@pytest.mark.parametrize("empty", ["examples", "channels", "outputs"])
def test_sums_over_nothing_are_zero(empty: str) -> None:
    windows = Windows((2, 2), (1, 1), ((0, 0), (1, 0)), (1, 1))
    n, c, o = (0 if empty == name else 3 for name in ("examples", "channels", "outputs"))
    x, w, g = np.ones((n, c, 4, 5), "f"), np.ones((o, c, 2, 2), "f"), np.ones((n, o, 3, 5), "f")
    found = all_three(x, w, g, windows, 1)
    shapes = {kind: value.shape for kind, value in found.items()}
    assert shapes == {"out": g.shape, "x": x.shape, "w": w.shape}
    assert not any(value.any() for value in found.values())
    assert {value.dtype for value in found.values()} == {np.dtype("f")}


def test_entries_that_no_window_reads_have_no_gradient() -> None:
    windows = Windows((1, 2), (3, 4), ((0, 0), (0, 0)), (1, 1))
    x, w, g = np.ones((1, 1, 5, 7)), np.ones((1, 1, 1, 2)), np.ones((1, 1, 2, 2))
    found = convolutions.convolution_input_adjoint(g, w, windows, (5, 7), 1)
    np.testing.assert_array_equal(found, by_taps(x, w, g, windows, 1)["x"])
    assert found.sum() == 8


# Memory -----------------------------------------------------------------------------------------

SAMPLE: Case = (Windows((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), (12, 12), 9, 5, 7, 1)
DEPTHWISE: Case = (Windows((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), (12, 12), 9, 1, 1, 7)
STRIDED: Case = (Windows((3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)), (12, 12), 9, 5, 7, 1)
ONE_BY_ONE: Case = (Windows((1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1)), (12, 12), 9, 5, 7, 1)
FEW: Case = (Windows((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), (12, 12), 9, 1, 9, 1)
SAMPLES = [SAMPLE, DEPTHWISE, STRIDED, ONE_BY_ONE, FEW]


@pytest.mark.parametrize("case", SAMPLES)
def test_a_result_shares_no_memory_with_another_one_or_with_scratch(case: Case) -> None:
    arrays = drawn(case, "float32", 0)
    first = all_three(*arrays, case[0], case[-1])
    kept = {kind: value.copy() for kind, value in first.items()}
    second = all_three(*(2 * a for a in arrays), case[0], case[-1])
    for kind, value in first.items():
        np.testing.assert_array_equal(value, kept[kind])
        others = [*arrays, *second.values(), *scratch._kept.buffers]
        assert not any(np.shares_memory(value, other) for other in others)


def test_threads_have_buffers_of_their_own() -> None:
    def work(seed: int) -> bool:
        case = SAMPLES[seed % len(SAMPLES)]
        arrays = drawn(case, "float64", seed)
        wanted = by_taps(*arrays, case[0], case[-1])
        rounds = [all_three(*arrays, case[0], case[-1]) for _ in range(20)]
        return all((found[k] == wanted[k]).all() for found in rounds for k in wanted)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(20)))


def test_a_kernel_inside_another_one_takes_other_buffers() -> None:
    dtype = np.dtype("f")
    with scratch.Scratch() as outer:
        mine = outer.take((100,), dtype)
        mine[:] = 1
        with scratch.Scratch() as inner:
            inner.take((100,), dtype)[:] = 2
            inner.take((90,), dtype)[:] = 3
        assert (mine == 1).all()
        assert not np.shares_memory(outer.take((100,), dtype), mine)


def test_buffers_are_used_again_and_bounded() -> None:
    scratch.clear()
    all_three(*drawn(SAMPLE, "float32", 0), SAMPLE[0], 1)
    kept = scratch.kept_bytes()
    for seed in range(5):
        all_three(*drawn(SAMPLE, "float32", seed), SAMPLE[0], 1)
    assert scratch.kept_bytes() == kept > 0
    for size in range(1, 60):
        with scratch.Scratch() as taken:
            taken.take((size << 17,), np.dtype("f"))
        assert scratch.kept_bytes() <= scratch._KEPT
    for length in range(1, 1200):
        lattices.rows_of[length]
    assert len(lattices.rows_of) <= 1001
    ADAPTER.unpooled()
    assert scratch.kept_bytes() == 0


@pytest.mark.parametrize("kind", ["out", "x", "w"])
@pytest.mark.parametrize("examples", [1, 8])
def test_a_large_image_needs_no_columns_of_its_size(kind: str, examples: int) -> None:
    windows = Windows((5, 5), (1, 1), ((2, 2), (2, 2)), (1, 1))
    x = np.ones((examples, 16, 96, 96), "f")
    w, g = np.ones((16, 16, 5, 5), "f"), np.ones((examples, 16, 96, 96), "f")
    kernels: dict[str, Any] = {
        "out": lambda: convolutions.convolution(x, w, windows, 1),
        "x": lambda: convolutions.convolution_input_adjoint(g, w, windows, (96, 96), 1),
        "w": lambda: convolutions.convolution_weight_adjoint(g, x, windows, 1),
    }
    ADAPTER.unpooled()
    tracemalloc.start()
    found = kernels[kind]()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - found.nbytes < 4 << 20  # all columns of one example: 14 MiB
