"""Inside `torch.func`, and on fake tensors: what runs outside runs there too, or is an error."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pullback as pb
from tests.arrays.laws import LIBRARIES, numbers, outputs, pulled, rows_of
from tests.laws.checks import random_like
from tests.table import Row

pytestmark = [
    pytest.mark.needs("torch"),
    # PyTorch scripts functions of its own when forward mode or its tracer is first used.
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated"),
]
torch = pytest.importorskip("torch")

_TALL = (RuntimeError, "not differentiable when mode='complete' and nrows > ncols")
REFUSED: dict[str, tuple[type[Exception], str]] = {
    "floor_divide": (RuntimeError, "derivative for aten::floor_divide is not implemented"),
    "qr[complete(4, 2)]": _TALL, "qr[complete(2, 3, 2)]": _TALL, "qr[complete(3, 0)]": _TALL,
}
"""Row -> the error that PyTorch's own function raises."""
BY_SCIPY = (pb.errors.ArgumentError, "one inside a transformation of torch.func")
"""The error of operations that SciPy computes."""
SCIPY = frozenset({
    "beta", "betainc", "betainc_by_a", "betainc_by_b", "betaln", "digamma", "erfcinv", "gamma",
    "gammainc", "gammainc_by_a", "gammaincc", "hazard", "iv", "ive", "j0", "j1", "jv", "k0", "k0e",
    "k1", "k1e", "kl_div", "kv", "kve", "polygamma", "rel_entr", "sinc", "spherical_jn", "y0", "y1",
    "yv",
})


def drawn(*shape: int, salt: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(salt).standard_normal(shape))


def slope(x: Any) -> Any:
    """The gradient of a function with indexing and products, an array for an array."""
    return pb.grad(lambda z: pb.sum(pb.tanh(z) * z * z[0]))(pb.tensor(x)).data


def comparable(row: Row) -> bool:
    """PyTorch's derivatives are NaN for singular matrices, and of its own choice for full SVDs."""
    return (row.differentiable and row.id != "adjugate[singular]" and "svd[full" not in row.id
            and any(a.dtype.kind == "f" for a in row.draw("float64"))
            and any(numbers(o).dtype.kind == "f" for o in outputs(row.call(*row.draw("float64")))))


def refusal(row: Row) -> tuple[type[Exception] | None, str]:
    """The class and the text of the error of a row; None for a row that has its gradient."""
    return REFUSED.get(row.id) or (BY_SCIPY if row.name in SCIPY else (None, ""))


@rows_of("torch", comparable)
def test_torch_func_grad_is_the_gradient_or_an_error(row: Row) -> None:
    arrays = row.draw("float64")
    rng = row.rng(31)
    wanted = [numbers(o) for o in outputs(row.call(*arrays))]
    cotangents = [random_like(v, rng) if v.dtype.kind == "f" else None for v in wanted]
    at = tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f")
    gradients = pulled(row.call, arrays, cotangents, np.asarray)

    def weighed(*args: Any) -> Any:
        made = outputs(row.call(*[pb.tensor(a) for a in args]))
        return sum(
            (o.data * torch.tensor(c)).sum()
            for o, c in zip(made, cotangents, strict=True) if c is not None
        )

    given = LIBRARIES["torch"].of(arrays)
    kind, text = refusal(row)
    if kind is not None:
        with pytest.raises(kind, match=re.escape(text)):
            torch.func.grad(weighed, at)(*given)
        return
    got = torch.func.grad(weighed, at)(*given)
    assert len(got) == len(at)
    for g, w in zip(got, gradients, strict=False):
        np.testing.assert_allclose(g, 0 if w is None else w.numpy(), rtol=1e-8, atol=1e-8)


def test_transformations_of_torch_func() -> None:
    x = drawn(3)
    f = torch.func.grad(lambda x: pb.tanh(pb.tensor(x)).data.sum())
    torch.testing.assert_close(f(x), 1 - torch.tanh(x) ** 2)
    hessian = pb.hessian(lambda z: pb.sum(pb.tanh(z) * z * z[0]))(pb.tensor(x)).data
    torch.testing.assert_close(torch.func.jacrev(slope)(x), hessian)
    torch.testing.assert_close(torch.func.jacfwd(slope)(x), hessian)
    rows = drawn(4, 3)
    each = torch.stack([slope(row) for row in rows])
    torch.testing.assert_close(torch.func.vmap(slope)(rows), each)
    torch.testing.assert_close(torch.func.vmap(torch.func.jacrev(slope))(rows)[1],
                               torch.func.jacrev(slope)(rows[1]))


def test_large_tensors_inside_torch_func() -> None:
    rows = drawn(2, 1 << 18)
    torch.testing.assert_close(torch.func.vmap(slope)(rows)[1], slope(rows[1]))
    (tangent,) = torch.func.jvp(slope, (rows[0],), (rows[1],))[1:]
    (cotangent,) = torch.func.vjp(slope, rows[0])[1](rows[1])
    torch.testing.assert_close(tangent, cotangent)  # a Hessian is symmetric


def test_sealed_and_converted_tensors_keep_the_history_of_torch_func() -> None:
    x = drawn(3)
    ways = (pb.tensor, pb.asarray, lambda x: pb.asarray(x, dtype="float64", like=x),
            lambda x: pb.broadcast_to(pb.tensor(x), (2, 3))[0])
    for way in ways:
        got = torch.func.grad(lambda x, way=way: (way(x) * way(x)).data.sum())(x)
        torch.testing.assert_close(got, 2 * x)


def test_torch_func_stops_where_gradients_are_stopped() -> None:
    x = drawn(3)
    for stop in (pb.stop_gradient, lambda t: t.detach()):
        def f(x: Any, stop: Any = stop) -> Any:
            return (pb.tensor(x) * stop(pb.tensor(x))).data.sum()

        torch.testing.assert_close(torch.func.grad(f)(x), x)


def test_fake_and_symbolic_tensors_are_traced() -> None:
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    x = drawn(5)
    for mode in ("real", "fake", "symbolic"):
        traced = make_fx(slope, tracing_mode=mode)(x)
        torch.testing.assert_close(traced(2 * x), slope(2 * x))
    with FakeTensorMode():
        y = torch.ones(3)
        assert tuple(slope(y).shape) == (3,)
        assert "FakeTensor" in repr(pb.tensor(y))
        with pytest.raises(pb.errors.ArgumentError, match="a fake tensor"):
            pb.tensor(y).numpy()


def test_what_scipy_computes_is_refused_inside_torch_func() -> None:
    def f(x: Any) -> Any:
        return pb.special.jv(2.0, pb.tensor(x)).data.sum()

    with pytest.raises(pb.errors.ArgumentError, match=r"torch\.func(.|\n)*pullback\.grad"):
        torch.func.grad(f)(drawn(3))


FIRST = """
import torch
x = torch.ones(3, dtype=torch.float64)
import pullback as pb
f = lambda x: pb.tanh(pb.tensor(x)).data.sum()
for transform in (torch.func.grad, torch.func.vmap):
    out = transform(f)(x[None] if transform is torch.func.vmap else x)
print((pb.tensor(x) * 2).tolist())
"""


def test_the_first_use_of_a_process_may_be_inside_torch_func() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True,
                          check=False)
    assert done.stdout == "[2.0, 2.0, 2.0]\n", done.stderr[-2000:]


# DLPack --------------------------------------------------------------------------------------


def test_dlpack_copies_what_other_libraries_cannot_read() -> None:
    a = np.arange(6.0).reshape(2, 3)
    for array in (a[0][::-1], a[::-1], a[:, ::-1], a[::-1, ::-1]):
        x = pb.tensor(array)
        np.testing.assert_array_equal(torch.from_dlpack(x).numpy(), array)
        with pytest.raises(BufferError, match="negative"):
            x.__dlpack__(copy=False)
    for array in (a.T, a[:, ::2], a[1:]):  # which need no copy
        assert np.shares_memory(torch.from_dlpack(pb.tensor(array)).numpy(), a)
