"""The operation table on JAX's arrays, each row as one compiled function, on the CPU.

What a row computes is traced once and compiled: so nothing in an operation, its rules or its
batching asks a tracer for its numbers. In 64 bits the numbers are NumPy's; in JAX's 32 bits, which
are only traced, so are shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.batched import adapter_of
from pullback.core.tensor import raw
from tests.arrays.laws import EAGER, numbers
from tests.laws.cases import rows
from tests.laws.checks import is_inexact, outputs, random_like
from tests.table import Row

jax = pytest.importorskip("jax")

INDEXED = {"add_at", "getitem", "put_view", "scatter", "set_at", "take", "take_along_axis"}
"""Operations whose batching depends on how a library reads an index: run under vmap too."""

QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def is_eager(row: Row) -> bool:
    return row.name in EAGER or row.id in EAGER


def everything(
    row: Row, arrays: Any, cotangents: Any, tangents: Any, *, vmap: bool
) -> list[Any]:
    """Values, and where there are some the gradients and the tangents; or what vmap gives too."""
    args = [pb.Tensor(a, requires_grad=is_inexact(a)) for a in arrays]
    results = outputs(row.call(*args))
    found = [raw(r) for r in results]
    leaves = [x for x in args if x.requires_grad]
    if row.differentiable and any(isinstance(r, pb.Tensor) and r.requires_grad for r in results):
        found += [raw(g) for g in _gradients(results, leaves, cotangents)]
        tangent = pb.jvp(row.call, tuple(arrays), tuple(tangents))[1]
        found += [raw(t) for t in outputs(tangent)]
    if vmap:
        xp = adapter_of(arrays[0]).namespace
        twice = [xp.stack([a, a]) for a in arrays]
        found += [raw(o) for o in outputs(pb.vmap(row.call, randomness="same")(*twice))]
    return found


def _gradients(results: list[Any], leaves: list[Any], cotangents: Any) -> list[Any]:
    pairs = [
        (r, c) for r, c in zip(results, cotangents, strict=True)
        if c is not None and isinstance(r, pb.Tensor) and r.requires_grad
    ]
    outs, seeds = zip(*pairs, strict=True)
    found = pb.autograd.grad(outs, leaves, seeds, allow_unused=True)
    return [g for g in found if g is not None]


def drawn(row: Row, dtype: str) -> tuple[Any, ...]:
    """Arrays for a row, and random cotangents and tangents."""
    arrays = row.draw(dtype)
    values = [numbers(o) for o in outputs(row.call(*arrays))]
    return (
        arrays,
        [random_like(v, row.rng(31)) if is_inexact(v) else None for v in values],
        [random_like(a, row.rng(32)) if is_inexact(a) else None for a in arrays],
    )


def of_jax(given: Any) -> Any:
    return jax.tree.map(jax.numpy.asarray, given)


@rows()
def test_compiled_rows_give_what_numpy_gives(row: Row) -> None:
    """Complex numbers, where there are rules for them, which are those for real ones too."""
    given = drawn(row, "complex128" if row.complex else "float64")
    mapped = row.name in INDEXED
    wanted = everything(row, *given, vmap=mapped)

    def function(*given: Any) -> Any:
        return everything(row, *given, vmap=mapped)

    with jax.enable_x64(True):
        run: Callable[..., Any] = function if is_eager(row) else jax.jit(
            function, compiler_options=QUICK
        )
        got = run(*of_jax(given))
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            assert isinstance(g, jax.Array)
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            size = np.max(np.abs(w[np.isfinite(w)]), initial=1) if is_inexact(w) else 0
            np.testing.assert_allclose(g, w, rtol=0, atol=1e-11 * size)


def in_32_bits(row: Row) -> bool:
    return not is_eager(row) and not any(
        named in row.label for named in ("64", "128", "in integers", "whole numbers")
    )


@rows(in_32_bits)
def test_traced_rows_have_the_shapes_and_dtypes_of_numpy(row: Row) -> None:
    """Without 64 bits integers and what comes of them are half as wide, and nothing warns."""
    given = drawn(row, "float32")
    wanted = everything(row, *given, vmap=True)
    got = jax.eval_shape(lambda *given: everything(row, *given, vmap=True), *of_jax(given))
    for g, w in zip(got, wanted, strict=True):
        assert (g.shape, g.dtype) == (w.shape, jax.dtypes.canonicalize_dtype(w.dtype))
