"""Arrays of libraries that follow the Array API standard, by one adapter for all of them.

Each row of the operation table gives NumPy's numbers on them, values and gradients, or raises: the
standard has fewer functions than NumPy. No library gives other numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays import adapters
from pullback.arrays.batched import bare
from pullback.core.tensor import raw
from pullback.errors import ArgumentTypeError, MixedLibrariesError
from tests.laws.cases import ROWS
from tests.laws.checks import is_inexact, outputs
from tests.parts import need
from tests.table import Row
from tests.tier import share

LIBRARIES = ["array_api_strict", "dask"]
OTHER_SIGNS = {("dask", "qr")}
"""(library, operation) whose results are unique up to signs, and have others than NumPy's."""
LEAST = {"array_api_strict": 0.75, "dask": 0.6}
"""The share of all rows that must give numbers, and not an error."""


def maker(name: str) -> Any:
    """Makes an array of a library of a NumPy array."""
    need(name)
    if name == "dask":
        from dask import array

        return lambda a: array.from_array(a, chunks=2 if a.ndim else -1)
    import array_api_strict

    return lambda a: array_api_strict.asarray(np.array(a))


def numbers(value: Any) -> np.ndarray:
    data = raw(value)
    known = data.__class__ in adapters and not isinstance(data, np.ndarray)
    return np.asarray(adapters[data.__class__].numpy(data) if known else data)


def everything(row: Row, arrays: Any, make: Any) -> list[np.ndarray]:
    """The values of a row, and the gradients of a cotangent that is drawn."""
    args = [pb.Tensor(make(np.array(a)), requires_grad=is_inexact(a)) for a in arrays]
    results = outputs(row.call(*args))
    found = [numbers(r) for r in results]
    tracked = [r for r in results if isinstance(r, pb.Tensor) and r.requires_grad]
    leaves = [x for x in args if x.requires_grad]
    if row.differentiable and tracked and leaves:
        rng = row.rng(1)
        seeds = [pb.Tensor(make(np.asarray(rng.normal(size=r.shape)).astype(numbers(r).dtype)))
                 for r in tracked]
        gradients = pb.autograd.grad(tracked, leaves, seeds, allow_unused=True)
        found += [numbers(g) for g in gradients if g is not None]
    return found


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("ignore")
def test_every_operation_gives_numpys_numbers_or_raises(name: str) -> None:
    make, held, wrong = maker(name), 0, []
    rows = share([row for row in ROWS if (name, row.name) not in OTHER_SIGNS], 20)
    for row in rows:
        arrays = row.draw()
        wanted = everything(row, arrays, lambda a: a)
        try:
            found = everything(row, arrays, make)
        except Exception:
            continue
        held += 1
        for f, w in zip(found, wanted, strict=True):
            if f.shape != w.shape or not np.allclose(f, w, rtol=1e-9, atol=1e-10, equal_nan=True):
                wrong.append(row.id)
    assert not wrong
    assert held >= LEAST[name] * len(rows) * 0.75


def network(w: Any, x: Any) -> Any:
    h = pb.relu(x @ w) + pb.tanh(x @ w) * pb.sigmoid(x @ w)
    h = pb.layer_norm(pb.concat([h, h[:, ::-1] * 2], axis=1))
    return pb.mean(pb.logsumexp(h, axis=-1)) + pb.mean(pb.where(h > 0, h, 0.1 * h) ** 2)


@pb.custom_vjp
def by_hand(x: Any) -> Any:
    return pb.sin(x)


by_hand.defvjp(lambda x: (pb.sin(x), x), lambda x, g: (3 * g * pb.cos(x),))


def overridden(w: Any, x: Any) -> Any:
    with pb.override_gradient({"sign": lambda op, g: g * 2}):
        return pb.sum(pb.sign(x @ w) * by_hand(w[0]))


def embedded(w: Any, x: Any) -> Any:
    rows = pb.take(w, pb.asarray(np.array([0, 2, 0]), like=w), axis=0)
    return pb.sum(rows**3) + pb.cross_entropy(x @ w, pb.asarray(np.array([0, 2, 1, 1]), like=w))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("ignore:You are comparing a array_api_strict dtype")
@pytest.mark.parametrize("program", [network, overridden, embedded], ids=lambda p: p.__name__)
def test_programs_with_derivatives_stay_in_their_library(name: str, program: Any) -> None:
    make, rng = maker(name), np.random.default_rng(0)
    w, x, v = rng.normal(size=(3, 3)), rng.normal(size=(4, 3)), rng.normal(size=(3, 3))

    def second(w: Any, x: Any, v: Any) -> Any:
        return pb.grad(lambda w: pb.sum(pb.grad(program)(w, x) * v))(w)

    def forward(w: Any, x: Any, v: Any) -> Any:
        return pb.jvp(lambda w: program(w, x), (w,), (v,))[1]

    for derived in (lambda w, x, v: pb.grad(program)(w, x), second, forward):
        if derived is second and program is not network:
            continue
        found = derived(*[pb.Tensor(make(a)) for a in (w, x, v)])
        assert type(bare(raw(found))) is type(make(w))
        np.testing.assert_allclose(numbers(found), derived(w, x, v).numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_a_library_lacks_is_named(name: str) -> None:
    x = maker(name)(np.ones((3, 3)))
    with pytest.raises(ArgumentTypeError, match=r"function `(expm|slogdet)`"):
        pb.linalg.slogdet(x) if name == "dask" else pb.linalg.expm(x)
    with pytest.raises(ArgumentTypeError, match=r"`erf`"):
        pb.special.erf(x)
    with pytest.raises(MixedLibrariesError, match="numpy"):
        pb.add(pb.tensor(np.ones((3, 3))), x)


def test_a_program_with_its_gradient_becomes_an_onnx_model() -> None:
    need("ndonnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    import ndonnx as ndx

    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(5, 4)).astype("float32")

    def loss(x: Any, w: Any) -> Any:
        return pb.mean(pb.tanh(x @ w) ** 2)

    given = ndx.argument(shape=(5, 4), dtype=ndx.float32)
    slope = pb.grad(loss)(pb.Tensor(given), pb.Tensor(ndx.asarray(w)))
    model = ndx.build({"x": given}, {"slope": slope.data})
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(found, pb.grad(loss)(x, w).numpy(), atol=1e-6)


LARGER = """
import resource
import dask, numpy as np, pullback as pb
from dask import array
dask.config.set(scheduler="threads", num_workers=2)
n, d = 1_200_000, 64
x = array.random.default_rng(0).standard_normal((n, d), chunks=(50_000, d)).astype("float32")
y = (x @ np.linspace(-1, 1, d).astype("float32") > 0).astype("float32")
def loss(w):
    z = x @ w
    return pb.mean(pb.softplus(z) - y * z)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
value, slope = pb.value_and_grad(loss)(pb.Tensor(array.zeros(d, dtype="float32", chunks=d)))
value, slope = dask.compute(value.data, slope.data)
assert abs(value - np.log(2)) < 1e-5 and slope.shape == (d,)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (n * d * 4))
"""


@pytest.mark.full
def test_a_regression_on_data_that_is_never_in_memory_at_once() -> None:
    """Of 300 MB of data in chunks of 13 MB, less than half is in memory at any time."""
    need("dask")
    ran = subprocess.run(
        [sys.executable, "-c", LARGER], capture_output=True, text=True, check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < 0.6


@pytest.mark.filterwarnings("ignore:You are comparing a array_api_strict dtype")
def test_dtypes_of_another_library_leave_those_of_numpy_alone() -> None:
    """They have the hashes of NumPy's, and warn where a dictionary compares the two."""
    make = maker("array_api_strict")
    for dtype in ("int64", "float32", "complex64"):
        other = pb.Tensor(make(np.ones(2, dtype)))
        pb.checkpoint(lambda x: x * 2)(other) if dtype == "float32" else other * 2
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x = pb.tensor(np.ones(2, dtype))
            assert pb.sum(x * 2).dtype == dtype
            assert pb.sum(pb.checkpoint(lambda x: x * 2)(x)).dtype == dtype
