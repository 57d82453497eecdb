"""Law: an operation on nested lists of tracked tensors is the one on their stack, or an error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import pullback as pb
from pullback.errors import LostGradientError
from tests.laws.cases import few_rows
from tests.laws.checks import is_inexact, outputs
from tests.table import Row


def listed(x: Any) -> Any:
    """A tensor as nested lists of tensors without axes."""
    return [listed(x[i]) for i in range(x.shape[0])] if x.shape else x


def is_listed(x: Any) -> bool:
    """Whether an argument is an array of real numbers that has axes and entries."""
    return bool(x.dtype.kind == "f" and x.size and x.ndim)


def pulled_back(row: Row, args: Any, i: int, take: Any) -> tuple[list[Any], Any]:
    """The values, and the gradient in one argument for random cotangents."""

    def f(x: Any) -> list[Any]:
        return [out for out in outputs(row.call(*args[:i], take(x), *args[i + 1 :]))
                if is_inexact(out)]

    outs, pull = pb.vjp(f, args[i])
    rng = np.random.default_rng(1)
    return outs, pull([rng.standard_normal(out.shape) for out in outs])[0]


@few_rows(lambda row: row.differentiable and any(is_listed(x) for x in row.draw()))
def test_a_list_of_tensors_is_their_stack(row: Row) -> None:
    args = row.draw()
    for i, x in enumerate(args):
        if not is_listed(x):
            continue
        outs, wanted = pulled_back(row, args, i, lambda x: x)
        refusal = None
        try:
            found, got = pulled_back(row, args, i, listed)
        except (LostGradientError, AttributeError, TypeError) as error:
            refusal = f"{type(error).__name__}: {error}"
        if refusal:  # it takes arrays only, or it is array - list, which NumPy converts
            assert re.search(r"list|sequence|LostGradient.*\n.*\n.*numpy\.asarray", refusal), row.id
            continue
        for a, b in zip(found, outs, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-12)
