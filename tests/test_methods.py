"""NumPy's methods on Tensors: what arrays answer, tracked; and that they are declared."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.tf as tf
import pullback.torch as torch
from pullback.core import tensor
from pullback.protocols.methods import DIRECT, METHODS
from pullback.tools.check.differences import along

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4)) + 2.0
CALLS: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: x.all(axis=0), "any": lambda x: x.any(), "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(axis=0), "argsort": lambda x: x.argsort(),
    "astype": lambda x: x.astype(np.float32), "clip": lambda x: x.clip(1.5, 2.5),
    "compress": lambda x: x.compress([True, False, True], axis=0), "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(), "copy": lambda x: x.copy(),
    "cumprod": lambda x: x.cumprod(axis=1), "cumsum": lambda x: x.cumsum(),
    "diagonal": lambda x: x.diagonal(1), "dot": lambda x: x.dot(X[0]),
    "flatten": lambda x: x.flatten(), "imag": lambda x: x.imag,
    "max": lambda x: x.max(axis=1, keepdims=True), "mean": lambda x: x.mean((0, 1)),
    "min": lambda x: x.min(0), "nonzero": lambda x: x.nonzero()[1], "prod": lambda x: x.prod(0),
    "ravel": lambda x: x.ravel(), "real": lambda x: x.real, "repeat": lambda x: x.repeat(2, axis=1),
    "reshape": lambda x: x.reshape(2, -1), "round": lambda x: x.round(1),
    "searchsorted": lambda x: x[0].searchsorted(2.0), "squeeze": lambda x: x[:, :1].squeeze(1),
    "std": lambda x: x.std(ddof=1), "sum": lambda x: x.sum(axis=0, keepdims=True),
    "swapaxes": lambda x: x.swapaxes(0, 1), "take": lambda x: x.take([2, 0], axis=1),
    "trace": lambda x: x.trace(), "transpose": lambda x: x.transpose(),
    "var": lambda x: x.var(axis=0),
}
SMOOTH = sorted(set(CALLS) - {
    "all", "any", "argmax", "argmin", "argsort", "astype", "imag", "nonzero", "round",
    "searchsorted",
})


def test_every_method_is_tried() -> None:
    assert set(CALLS) == set(METHODS)


@pytest.mark.parametrize("name", CALLS)
def test_a_method_answers_what_numpy_s_does(name: str) -> None:
    got, wanted = CALLS[name](pb.tensor(X)), CALLS[name](X)
    assert isinstance(got, pb.Tensor)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)


FORMS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda f: f(), "an axis": lambda f: f(0), "by name": lambda f: f(axis=-1),
    "two axes": lambda f: f((0, 1)), "kept": lambda f: f(1, keepdims=True),
    "a dtype": lambda f: f(dtype=np.float64), "where": lambda f: f(where=X > 2),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int32", "bool"])
@pytest.mark.parametrize("name", DIRECT)
def test_a_method_that_is_an_operation_is_numpy_s_too(name: str, dtype: str) -> None:
    x = X.astype(dtype)
    for form in FORMS.values():
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            wanted = form(getattr(x, name))
            got = form(getattr(pb.tensor(x), name))
        assert (type(got), got.dtype, got.shape) == (pb.Tensor, wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=5e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("name", DIRECT)
def test_an_axis_twice_is_refused(name: str) -> None:
    with pytest.raises(TypeError):
        getattr(pb.tensor(X), name)(0, axis=0)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_method_has_the_gradient_of_numpy_s(name: str) -> None:
    call = CALLS[name]
    u, d = RNG.standard_normal(np.shape(call(X))), RNG.standard_normal(X.shape)
    gradient = pb.grad(lambda x: pb.sum(u * call(x)))(X).numpy()
    wanted = along(lambda xs: [np.asarray((u * call(xs[0])).sum())], [X], [d], 2.3e-16)
    assert (gradient * d).sum() == pytest.approx(wanted.values[0], rel=1e-6, abs=1e-8)


def test_shapes_and_axes_come_as_a_tuple_or_one_by_one() -> None:
    x = pb.tensor(RNG.standard_normal((2, 3, 4)))
    for given in ((4, -1), ((4, 6),)):
        assert x.reshape(*given).shape == (4, 6)
    assert x.reshape(-1).shape == (24,)
    assert x.reshape(24, order="C").shape == (24,)
    assert pb.tensor([1.0]).reshape(()).shape == ()
    assert x.transpose(2, 0, 1).shape == x.transpose((2, 0, 1)).shape == (4, 2, 3)
    assert x.transpose().shape == (4, 3, 2)


def test_methods_work_mapped_traced_and_of_variables() -> None:
    rows = pb.vmap(lambda r: r.sum() / r.max())(X)
    np.testing.assert_allclose(rows.numpy(), X.sum(1) / X.max(1), rtol=1e-12)
    traced = pb.function(lambda x: (x * x).sum(axis=0).reshape(-1, 1))
    np.testing.assert_allclose(traced(X).numpy(), (X * X).sum(0)[:, None], rtol=1e-12)
    v = pb.Variable(X)
    with pb.GradientTape() as tape:
        y = (v * v).mean()
    np.testing.assert_allclose(tape.gradient(y, v).numpy(), X / 6, rtol=1e-12)


def test_doors_keep_their_own() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert x.std(dim=0, unbiased=True).tolist() == pytest.approx([2**0.5, 3 / 2**0.5])
    assert isinstance(tf.constant([1.0, 2.0]).sum(), tf.Tensor)


def test_an_argument_that_is_not_there_is_named() -> None:
    with pytest.raises(pb.errors.ArgumentTypeError, match=r"numpy\.sum[^$]*argument 'axes'"):
        pb.tensor(X).sum(axes=0)
    with pytest.raises(AttributeError, match="sort"):  # in place, in NumPy
        pb.tensor(X).sort()  # type: ignore[attr-defined]


PROPERTIES = {"T", "grad", "imag", "mT", "real"}


def functions_in(file: Path) -> list[str]:
    """The names of a file's functions, without the setters of its properties."""
    tree = ast.walk(ast.parse(file.read_text()))
    return [
        node.name for node in tree if isinstance(node, ast.FunctionDef)
        and not any(ast.unparse(d).endswith(".setter") for d in node.decorator_list)
    ]


def test_what_is_declared_is_bound_and_the_other_way_round() -> None:
    core = Path(tensor.__file__)
    declared = functions_in(core.with_name("declared.pyi"))
    own = functions_in(core)
    bound = {name for name in vars(pb.Tensor)
             if name not in own and (callable(getattr(pb.Tensor, name)) or name in PROPERTIES)}
    assert bound - {"_out"} == set(declared)
    assert len(declared) == len(set(declared))


def test_type_checkers_know_operators_and_methods(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import pullback as pb\n"
        "x = pb.Tensor([1.0, 2.0])\n"
        "y = (x * x + 1 - x @ x)[0] / x.T.sum(axis=0).reshape(-1)\n"
        "x += y\n"
        "x.smu()\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-site-packages", "--ignore-missing-imports",
         "--follow-imports=silent", "--cache-dir", str(tmp_path), str(program)],
        capture_output=True, text=True, cwd=Path(pb.__file__).parent.parent, timeout=300,
    )
    assert [line for line in run.stdout.splitlines() if ": error:" in line] == [
        f'{program}:5: error: "Tensor" has no attribute "smu"  [attr-defined]'
    ], run.stdout + run.stderr
