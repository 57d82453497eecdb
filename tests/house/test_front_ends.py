"""The front ends `tf` and `torch` hold names, defaults, dtypes and errors; formulas are below them.

Update rules are in `pullback/optim/rules.py`, learning-rate decays in `pullback/optim/decays.py`.
Initialisers are in `pullback/nn/init.py`.
The table `NUMPY` lists the files that still call NumPy themselves; it is meant to become shorter.
A file that computes says what.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.sources import imports, name_of, python_files, tree
from tests.loops import none_of

NUMPY = {
    "tf/convert.py": "checks the number of entries; integer dtypes",
    "tf/dtypes.py": "dtypes",
    "tf/effects.py": "prints and compares values",
    "tf/indexed_slices.py": "indices, which it concatenates",
    "tf/random.py": "computes: categorical samples and shuffles from drawn arrays",
    "tf/sampling.py": "seeds; the limits of dtypes",
    "tf/shaping.py": "dtypes; computes: linspace, paddings",
    "tf/sparse_updates.py": "indices",
    "tf/strict.py": "dtypes, and shapes in errors",
    "tf/tensor.py": "hands out NumPy arrays",
    "tf/v1/arrays.py": "shapes and constants",
    "tf/v1/functions.py": "the kernel of a graph operation",
    "tf/v1/graph.py": "dtypes; tells arrays",
    "tf/v1/random.py": "computes: samples of graph operations",
    "tf/v1/testing.py": "compares gradients with differences, as TensorFlow's test function does",
    "tf/v1/variable.py": "dtypes; arrays of texts",
    "tf/values.py": "arrays of Python values, in TensorFlow's dtypes",
    "torch/autograd/jacobians.py": "compares Jacobians with differences, as gradcheck does",
    "torch/creation.py": "arrays of Python values, in PyTorch's dtypes",
    "torch/draws.py": "arrays of rates and chances, of which NumPy's generator draws",
    "torch/dtypes.py": "dtypes",
    "torch/indexing.py": "indices",
    "torch/members.py": "indices; applies functions entry by entry",
    "torch/nn/converting.py": "dtypes",
    "torch/nn/functional/layers.py": "indices and masks",
    "torch/nn/functional/sampling.py": "computes: grids of coordinates",
    "torch/nn/functional/windows.py": "indices",
    "torch/random.py": "the state of a generator as bytes",
    "torch/shaping.py": "dtypes and indices",
    "torch/storage.py": "hands out the memory of arrays",
    "torch/tensor.py": "hands out NumPy arrays; computes: how numbers are printed",
    "torch/utils/data.py": "makes batches of arrays and numbers; computes: weighted samples",
    "torch/views.py": "indices; tells whether memory is shared",
}
"""file of a front end -> why it imports NumPy, as it is today."""

FILES = [*python_files("pullback/tf"), *python_files("pullback/torch")]


def numpy_without_reason(path: Path) -> list[int]:
    """The lines at which a file imports NumPy, unless it is in the table."""
    if name_of(path).removeprefix("pullback/") in NUMPY:
        return []
    return [line for module, _, line in imports(path) if module.split(".")[0] == "numpy"]


def test_front_ends_leave_numpy_alone() -> None:
    none_of(FILES, numpy_without_reason, name_of)


def test_the_table_has_no_other_files() -> None:
    using = {
        name_of(p).removeprefix("pullback/") for p in FILES
        if any(module.split(".")[0] == "numpy" for module, _, _ in imports(p))
    }
    assert using == set(NUMPY)


BOOKKEEPING = {
    "cast(self.iterations, 'float32') + 1.0": "the number of a step",
    "len(self._known) - 1": "the number of a variable",
    "own + [self._slots[id(v)][n] for v in self._known for n in self._names_of(v)]": "lists",
    "len(values) - 1": "a length that is checked",
    "('momentum',) * bool(self.momentum)": "names of slots",
    "('average_gradient',) * self.centered": "names of slots",
    "('velocity_hat',) * self.amsgrad": "names of slots",
    "beta ** count": "Keras has no variable for it",
    "now * _number(b, p)": "TensorFlow 1 keeps powers of betas in variables",
    "self._product.value() * momentum": "Keras keeps it in one variable",
}
"""Arithmetic of files of optimizers and schedules that is no part of a formula -> its purpose."""

LISTS = ("updates +=", "self._own +=", "lines +=")


def arithmetic(path: Path) -> list[str]:
    """The sums, products, quotients and powers that a file computes."""
    found = [
        ast.unparse(n) for n in ast.walk(tree(path))
        if isinstance(n, ast.BinOp | ast.AugAssign) and not isinstance(n.op, ast.BitOr)
    ]
    return [text for text in found if text not in BOOKKEEPING and not text.startswith(LISTS)]


def test_optimizers_and_schedules_adapt_formulas() -> None:
    parts = "/optimizers", "/optim/", "/schedules"
    files = [p for p in FILES if any(part in name_of(p) for part in parts)]
    assert len(files) >= 9
    none_of(files, arithmetic, name_of)
