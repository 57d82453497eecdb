"""The door beside PyTorch on samples of PyTorch's own database of operations.

The database is private to PyTorch, of which the tests ask for one version. What it has and the
door has not is left out here: docs/door_names.md lists the door's names. Every difference that is
left is listed with its reason, and one that is no more has to go from the list.
"""

from __future__ import annotations

import importlib
import sys
import types
import unittest
import warnings
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.torch import rules

from . import op_db as asked

theirs = pytest.importorskip("torch")

PARTS = 12
COUNTS = {theirs.float64: 6, theirs.complex128: 3, theirs.int64: 3, theirs.float32: 1}
"""How many samples of each dtype; of float32 no values, whose last digits are free."""

DRAWN = {
    "bernoulli", "cauchy", "empty", "empty_like", "exponential", "geometric", "log_normal",
    "multinomial", "new_empty", "nn_functional_alpha_dropout", "nn_functional_dropout",
    "nn_functional_dropout2d", "nn_functional_dropout3d",
    "nn_functional_feature_alpha_dropout_with_train", "nn_functional_rrelu", "normal",
    "normal_in_place", "normal_number_mean", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "uniform",
}
"""Of these, shapes and dtypes are compared: numbers are drawn, or are anything."""

TURNED = {"linalg_eig", "linalg_eigh", "linalg_svd", "svd"}
"""Vectors that are known up to a factor of length 1 alone; what does not depend on it is asked."""

TIED = "which of several equal entries an index names is free"
WHOLE = "of integers and a real number, or a mean of integers, the result is real here"
OVERWRITTEN = "an entry that another is put over has no gradient; there it has the other's"
INEXACT = "PyTorch's has seven digits, the door's as many as SciPy's"
DIFFERENT: dict[str, tuple[str, str]] = {
    "__rpow__": ("error", "integers to negative powers; 0 there"),
    "addbmm": ("dtype", WHOLE),
    "addmv": ("dtype", WHOLE),
    "as_strided_partial_views": ("value error", "memory is the tensor's own, not its base's"),
    "baddbmm": ("dtype", WHOLE),
    "cov": ("gradient second", "weights in float32 are computed with in float32 there"),
    "kthvalue": ("value", TIED),
    "linalg_norm_subgradients_at_zero": ("gradient second", "at 0 the derivative is 0, and no NaN"),
    "logaddexp": ("error", "of real numbers alone"),
    "logcumsumexp": ("error", "of real numbers alone"),
    "mode": ("value", TIED),
    "nextafter": ("gradient", "has none"),
    "nn_functional_avg_pool1d": ("dtype", WHOLE),
    "nn_functional_avg_pool2d": ("dtype", WHOLE),
    "nn_functional_avg_pool3d": ("dtype", WHOLE),
    "nn_functional_batch_norm": ("error", "of a tensor with no channels"),
    "nn_functional_conv_transpose2d": ("error", "output_padding is less than the stride"),
    "nn_functional_embedding_bag": ("error", "no mode 'max'"),
    "nn_functional_grid_sample": ("error", "no mode 'bicubic'"),
    "nn_functional_local_response_norm": ("dtype value", WHOLE),
    "nn_functional_max_unpool1d": ("gradient", OVERWRITTEN),
    "nn_functional_max_unpool2d": ("gradient", OVERWRITTEN),
    "nn_functional_max_unpool3d": ("gradient", OVERWRITTEN),
    "nn_functional_multi_margin_loss": ("error", "of vectors of classes, not of single numbers"),
    "nn_functional_pad_replicate_negative": ("error", "nothing is left to repeat"),
    "nn_functional_softplus": ("value", "never overflows, and so ignores its threshold"),
    "special_bessel_j0": ("value", INEXACT),
    "special_bessel_j1": ("value", INEXACT),
    "special_bessel_y0": ("value", INEXACT),
    "special_bessel_y1": ("value", INEXACT),
    "tensordot": ("error", "axes of length 1 are not stretched to those they meet"),
    "topk": ("value", TIED),
}
"""An entry of the database: the kinds of its differences, and why they are."""


def database() -> list[Any]:
    """The entries that the door has a name for."""
    try:
        importlib.import_module("expecttest")
    except ImportError:  # which PyTorch's helpers are a class of, and nothing that is used here
        stub: Any = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub
    found = importlib.import_module("torch.testing._internal.common_methods_invocations")
    return [op for op in found.op_db if asked.counterpart(op) is not None]


def samples(op: Any, dtype: Any, count: int) -> list[Any]:
    """So many of an entry's samples, from the whole range of them."""
    theirs.manual_seed(0)
    slopes = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    # Not `sample_inputs`, which looks at the stack for each sample, to tell where it is from.
    given = list(op.sample_inputs_func(op, "cpu", dtype, slopes))
    places = np.linspace(0, len(given) - 1, min(count, len(given))).round().astype(int)
    return [given[i] for i in places]


def findings(op: Any) -> set[tuple[str, str]]:
    """What differs, as (kind, text)."""
    name, found = op.formatted_name, set()
    how = "drawn" if name in DRAWN else "turned" if name in TURNED else "value"
    for dtype, count in COUNTS.items():
        if not op.supports_dtype(dtype, "cpu"):
            continue
        for sample in samples(op, dtype, count):
            try:
                way = "drawn" if dtype is theirs.float32 else how
                found |= set(asked.compared(op, sample, theirs, way))
            except asked.NotComparedError:
                continue
            except Exception as error:
                found.add(("crash", f"{type(error).__name__}: {error}"))
    return found


@pytest.fixture(scope="module")
def entries():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # NumPy's and PyTorch's of single values are not asked
        yield database()


@pytest.mark.parametrize("part", range(PARTS))
def test_answers_are_those_of_the_database(entries, part):
    wrong, stale = {}, []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for op in entries[part::PARTS]:
            kinds, _ = DIFFERENT.get(op.formatted_name, ("", ""))
            found = findings(op)
            rest = {(kind, text) for kind, text in found if kind not in kinds.split()}
            if rest:
                wrong[op.formatted_name] = rest
            if set(kinds.split()) - {kind for kind, _ in found}:
                stale.append(op.formatted_name)
    assert not wrong, "\n".join(f"{name}: {some}" for name, some in wrong.items())
    assert not stale


# PyTorch's own functions on Tensors -----------------------------------------------------------

NOT_ALIKE = {
    "linalg_norm_subgradients_at_zero": "at 0 the derivative is 0, and no NaN",
    "linalg_pinv_hermitian": "the samples are not Hermitian",
    "nn_functional_max_pool1d": "no rule for return_indices",
    "nn_functional_max_pool2d": "no rule for return_indices",
    "nn_functional_max_pool3d": "no rule for return_indices",
    "nn_functional_softplus": "never overflows, and so ignores its threshold",
    "ones_like": "no rule for a device",
    "special_bessel_j0": INEXACT,
    "special_bessel_j1": INEXACT,
    "tensordot": "axes of length 1 are not stretched to those they meet",
    "zeros_like": "no rule for a device",
}
"""An entry of the database: why PyTorch's own function differs on Tensors."""


def tensors(value: Any, memo: dict[int, Any]) -> Any:
    """Arguments with Tensors of the core, of PyTorch's data, in the place of PyTorch's tensors."""
    if isinstance(value, theirs.Tensor):
        made = pb.tensor(value.detach().clone(), requires_grad=value.requires_grad)
        return memo.setdefault(id(value), (value, made))[1]
    if isinstance(value, dict):
        return {k: tensors(v, memo) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, theirs.Size):
        return type(value)([tensors(v, memo) for v in value])
    return value


def flat(value: Any) -> list[Any]:
    """The parts of nested results."""
    return [p for v in value for p in flat(v)] if isinstance(value, (list, tuple)) else [value]


def unlike(op: Any) -> Any:
    """The first difference of an entry's function on Tensors, or None."""
    for sample in samples(op, theirs.float64, 3):
        memo: dict[int, Any] = {}
        wanted = flat(op.op(sample.input, *sample.args, **sample.kwargs))
        got = flat(op.op(*tensors((sample.input, *sample.args), memo),
                         **tensors(sample.kwargs, memo)))
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            if not isinstance(other, theirs.Tensor):
                assert one == other
                continue
            assert type(one) is pb.Tensor
            assert one.dtype == other.dtype
            theirs.testing.assert_close(one.data, other.detach(), equal_nan=True)
            if not other.requires_grad:
                continue
            given = [pair for pair in memo.values() if pair[0].requires_grad]
            seed = theirs.randn_like(other.detach())
            slopes = theirs.autograd.grad(
                other, [a for a, _ in given], seed, allow_unused=True, retain_graph=True)
            ours = pb.autograd.grad(
                one, [b for _, b in given], seed, allow_unused=True, retain_graph=True)
            for g, h in zip(ours, slopes, strict=True):
                if h is not None:
                    theirs.testing.assert_close(g.data, h, equal_nan=True)
    return None


def test_pytorchs_own_functions_on_tensors(entries):
    """Those with a rule give Tensors with PyTorch's values, dtypes and gradients."""
    asked_of = [op for op in entries if op.supports_dtype(theirs.float64, "cpu")
                and rules.rule(getattr(op.op, "__name__", ""))]
    assert len(asked_of) > 330
    wrong = {}
    for op in asked_of:
        try:
            unlike(op)
        except Exception as error:
            wrong[op.formatted_name] = f"{type(error).__name__}: {error}"
    assert wrong.keys() - TURNED == NOT_ALIKE.keys(), wrong


def test_most_of_the_database_is_asked(entries):
    assert len(entries) > 550
    assert DIFFERENT.keys() <= {op.formatted_name for op in entries}
    assert {op.formatted_name for op in entries} >= DRAWN | TURNED
