"""The laws that hold of every array library: what NumPy's arrays give, its arrays give too.

A library is told by how an array of it is made of a NumPy array, and what its rows may not hold of,
each with its reason. Values, pullbacks, pushforwards and vmap are compared with those on NumPy's
arrays, of the same numbers, in the same precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradients
from tests.laws.cases import ROWS, rows_among
from tests.laws.checks import outputs, random_like
from tests.table import Row


@dataclass(frozen=True)
class Library:
    """An array library, under the name of its module."""

    name: str
    make: Callable[[np.ndarray], Any]
    cls: Callable[[], type]
    without: dict[str, str] = field(default_factory=dict)  # id of a row -> why it is left out
    tolerance: float = 1e-12

    def of(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        return [self.make(np.array(a)) for a in arrays]


def _torch(array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array)


def _torch_class() -> type:
    import torch

    return torch.Tensor


def _cupy(array: np.ndarray) -> Any:
    import cupy

    return cupy.asarray(array)


def _cupy_class() -> type:
    import cupy

    return cupy.ndarray


_ORDERS = "CuPy has Bessel functions of the orders 0 and 1, from which whole ones up to 8 are made"
_SLOPES = "CuPy has no derivative of the incomplete functions in their parameters"

EAGER = dict.fromkeys(
    (
        "nonzero", "repeat[counts]", "unique_all", "unique_counts", "unique_inverse",
        "unique_values",
    ),
    "Its result has as many entries as values say: on arrays, not under `jax.jit`",
) | {"dropout": "It draws random numbers of NumPy, which is refused while JAX traces"}
"""id of a row, or name of an operation -> why it is run on JAX's arrays only, never on tracers."""

LIBRARIES = {
    "torch": Library(
        "torch", _torch, _torch_class,
        without={
            "prod[small integers, axis=1]": "PyTorch's uint64 has no arithmetic: int64",
        },
    ),
    "cupy": Library(
        "cupy", _cupy, _cupy_class,
        without={
            **dict.fromkeys(
                ("iv[2.5]", "ive[1.5]", "jv[0.5]", "kv[0.3]", "kve[1.5]", "spherical_jn[11]",
                 "yv[-0.5]", "iv[orders]", "ive[orders]", "jv[orders]", "kv[orders]",
                 "kve[orders]", "spherical_jn[orders]", "yv[orders]"),
                _ORDERS,
            ),
            **dict.fromkeys(
                ("betainc", "betainc_by_a", "betainc_by_b", "gammainc", "gammainc_by_a",
                 "gammaincc"),
                _SLOPES,
            ),
        },
    ),
}


def library_fixture(name: str) -> Any:
    """A fixture that gives a library of `LIBRARIES`, skipped where it is not installed."""

    @pytest.fixture(name="library", scope="module")
    def library() -> Library:
        pytest.importorskip(name)
        return LIBRARIES[name]

    return library


def rows_of(name: str, where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by the rows that hold of a library."""
    held = [r for r in ROWS if where(r) and r.id not in LIBRARIES[name].without]
    return rows_among(held)


# Comparing ----------------------------------------------------------------------------------


def numbers(value: Any) -> np.ndarray:
    """The values of a Tensor or array of any library."""
    return pb.asarray(value).numpy()


def assert_same(
    library: Library, got: Any, wanted: Any, what: str, single: float = 1e-5
) -> None:
    """Arrays of the library, with the numbers, shapes and dtypes of NumPy's."""
    got, wanted = outputs(got), outputs(wanted)
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        if w is None:
            assert g is None
            continue
        assert isinstance(g.data if isinstance(g, pb.Tensor) else g, library.cls()), (what, type(g))
        g, w = numbers(g), numbers(w)
        assert g.shape == w.shape, (what, g.shape, w.shape)
        assert g.dtype.kind == w.dtype.kind, (what, g.dtype, w.dtype)
        finite = np.abs(w[np.isfinite(w)]) if w.dtype.kind in "fc" else np.ones(1)
        narrow = {np.dtype("float32"), np.dtype("complex64")} & {g.dtype, w.dtype}
        tolerance = single if narrow else library.tolerance
        scale = np.max(finite, initial=1)
        np.testing.assert_allclose(
            g, w, rtol=tolerance, atol=tolerance * scale, err_msg=what
        )


# The laws -----------------------------------------------------------------------------------


def check_values(row: Row, library: Library, dtype: str) -> None:
    """Raw arrays give raw ones, Tensors give Tensors, with NumPy's values."""
    arrays = row.draw(dtype)
    wanted = row.call(*arrays)
    assert_same(library, row.call(*library.of(arrays)), wanted, "raw")
    tensors = [pb.Tensor(a) for a in library.of(arrays)]
    assert_same(library, row.call(*tensors), wanted, "tensors")


def check_single(row: Row, library: Library) -> None:
    """Values in single precision, as near to NumPy's as those are to the exact ones."""
    arrays = row.draw("float32")
    got = row.call(*library.of(arrays))
    assert_same(library, got, row.call(*arrays), "single", row.float32_tolerance)


def pulled(
    call: Callable[..., Any], arrays: Sequence[np.ndarray], cotangents: Sequence[Any],
    make: Callable[[np.ndarray], Any],
) -> list[Any]:
    """The gradients of a call on a library's arrays, in all floating arguments."""
    args = [pb.Tensor(make(np.array(a)), requires_grad=a.dtype.kind in "fc") for a in arrays]
    pairs = [
        (o, pb.Tensor(make(np.array(c))))
        for o, c in zip(outputs(call(*args)), cotangents, strict=True)
        if c is not None and o.requires_grad
    ]
    leaves = [x for x in args if x.requires_grad]
    if not pairs or not leaves:
        return []
    outs, seeds = zip(*pairs, strict=True)
    return list(gradients(outs, leaves, seeds, allow_unused=True))


def check_pulled(
    call: Callable[..., Any], arrays: Sequence[np.ndarray], wanted: Any, library: Library,
    rng: np.random.Generator, what: str,
) -> None:
    """The gradients of random cotangents of what NumPy's arrays give."""
    values = [numbers(o) for o in outputs(wanted)]
    cotangents = [random_like(v, rng) if v.dtype.kind in "fc" else None for v in values]
    of_numpy = pulled(call, arrays, cotangents, np.asarray)
    assert_same(library, pulled(call, arrays, cotangents, library.make), of_numpy, what)


def check_pullback(row: Row, library: Library, dtype: str) -> None:
    """The gradient of a random cotangent, in every argument."""
    arrays = row.draw(dtype)
    check_pulled(row.call, arrays, row.call(*arrays), library, row.rng(20), "pullback")


def check_pushforward(row: Row, library: Library, dtype: str) -> None:
    """The tangent along random tangents of all arguments."""
    arrays = row.draw(dtype)
    rng = row.rng(21)
    tangents = [random_like(a, rng) if a.dtype.kind in "fc" else None for a in arrays]

    def pushed(make: Callable[[np.ndarray], Any]) -> Any:
        primals = tuple(make(np.array(a)) for a in arrays)
        along = tuple(None if t is None else make(np.array(t)) for t in tangents)
        return pb.jvp(row.call, primals, along)[1]

    assert_same(library, pushed(library.make), pushed(np.asarray), "pushforward")


def check_vmap(row: Row, library: Library) -> None:
    """All arguments mapped: three examples at once, values and pullbacks."""
    examples = [row.draw(salt=salt) for salt in range(3)]
    arrays = [np.stack(parts) for parts in zip(*examples, strict=True)]
    mapped = pb.vmap(row.call, randomness="same")
    wanted = mapped(*arrays)
    assert_same(library, mapped(*library.of(arrays)), wanted, "vmap")
    if row.differentiable:
        check_pulled(mapped, arrays, wanted, library, row.rng(22), "pullback of vmap")
