"""Half precision on PyTorch's and JAX's arrays, over the operation table.

They have it themselves for most operations; the others are computed in float32. JAX's rows are only
traced, which is where its refusals come from. The numbers are theirs, so only dtypes are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.tensor import raw
from tests.laws.cases import ROWS
from tests.laws.checks import outputs
from tests.table import Row
from tests.tier import chosen

HALVES = ("float16", "bfloat16")
WITHOUT = {
    ("torch", "float16"): {
        "clip_gradient": "PyTorch refuses bounds that are not in float16",
        "pow[complex number]": "PyTorch's complex numbers of half precision have no power",
        "det[complex singular]": "nor a determinant",
    },
    ("jax", "float16"): {
        "clip_gradient": "NumPy warns of a bound that is not in float16",
        "dropout": "random numbers of NumPy are refused while JAX traces",
    },
    ("jax", "bfloat16"): {"dropout": "random numbers of NumPy are refused while JAX traces"},
}
"""(library, dtype) -> id of a row that does not hold of it -> why."""
SIZED_BY_VALUES = {
    "nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values", "repeat"
}
"""They are not traced."""


def of_numbers(row: Row) -> bool:
    """Rows of finite numbers: what stands for infinite ones is beyond half precision."""
    batched = row.name in ("hide_axis", "show_axis")  # their arrays are none of numbers
    return not batched and all(
        np.isfinite(a).all() for a in row.draw("float64") if a.dtype.kind == "f"
    )


def cases(library: str) -> Any:
    held = [
        (row, dtype) for row in ROWS if of_numbers(row) for dtype in HALVES
        if row.id not in WITHOUT.get((library, dtype), {})
        and not (library == "jax" and (row.name in SIZED_BY_VALUES or "64" in row.label))
    ]
    some = chosen(held, group=lambda case: case[0].name)
    return pytest.mark.parametrize(
        ("row", "dtype"), some, ids=[f"{row.id}-{dtype}" for row, dtype in some]
    )


def spaces(row: Row, arrays: Any) -> tuple[list[Any], list[Any]]:
    """A row's results, and each gradient followed by its source."""
    args = [pb.Tensor(a, requires_grad="float" in str(a.dtype)) for a in arrays]
    results = outputs(row.call(*args))
    live = [r for r in results if isinstance(r, pb.Tensor) and r.requires_grad]
    sources = [x for x in args if x.requires_grad]
    pairs: list[Any] = []
    if live and row.differentiable:
        seeds = [pb.ones_like(r) for r in live]
        found = pb.autograd.grad(live, sources, seeds, allow_unused=True)
        pairs = [
            (raw(g), raw(x)) for g, x in zip(found, sources, strict=True) if g is not None
        ]
    return [raw(r) for r in results], pairs


def name_of(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


def check(row: Row, dtype: str, half: tuple[Any, Any], single: tuple[Any, Any]) -> None:
    """Where float32 gives float32, the narrow dtype; gradients are of their source's."""
    asked = "float32" in row.label
    wanted = [dtype if name_of(s) == "float32" and not asked else name_of(s) for s in single[0]]
    assert [name_of(r) for r in half[0]] == wanted
    assert all(name_of(g) == name_of(x) for g, x in half[1])


@pytest.mark.needs("torch")
@cases("torch")
def test_torch(row: Row, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    given = [torch.from_numpy(np.array(a)) for a in row.draw("float64")]

    def run(name: str) -> tuple[Any, Any]:
        return spaces(row, [
            a.to(getattr(torch, name)) if a.is_floating_point() else a for a in given
        ])

    check(row, dtype, run(dtype), run("float32"))


@pytest.mark.needs("jax")
@cases("jax")
def test_jax(row: Row, dtype: str) -> None:
    jax = pytest.importorskip("jax")
    given = row.draw("float32")

    def run(name: str) -> Any:
        arrays = [
            jax.ShapeDtypeStruct(a.shape, name if a.dtype.kind == "f" else a.dtype) for a in given
        ]
        return jax.eval_shape(lambda *arrays: spaces(row, arrays), *arrays)

    with jax.enable_x64(True):
        check(row, dtype, run(dtype), run("float32"))


@pytest.mark.parametrize("dtype", HALVES)
def test_torch_computes_in_float32_what_it_does_not_have(
    dtype: str, rng: np.random.Generator
) -> None:
    """Rounded once, so off by half a unit."""
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    x = torch.from_numpy(rng.standard_normal((3, 3)) + 3 * np.eye(3)).to(kind)
    wanted = np.linalg.inv(x.double().numpy())
    found = pb.linalg.inv(pb.tensor(x))
    assert found.dtype is kind
    size = np.max(np.abs(wanted))
    np.testing.assert_allclose(
        found.data.double().numpy(), wanted, rtol=0, atol=torch.finfo(kind).eps / 2 * size
    )


def test_torch_says_what_it_cannot() -> None:
    torch = pytest.importorskip("torch")
    x = pb.tensor(torch.ones(2, dtype=torch.float16))
    with pytest.raises(TypeError, match="`pow`"):
        x ** (1 + 2j)
