"""Rows of `pullback/ops/statistics.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, Sample, bools, ints, real

CUBE = real(2, 3, 4)
DISTINCT = real(2, 3, 4, distinct=True)


def zeros_among(*shape: int) -> Sample:
    """Numbers of which a third are 0."""

    def make(rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=shape) * (rng.random(shape) < 0.67)

    return Sample(shape, make=make)


def running(accumulated: Callable[..., Any], first: float) -> Callable[..., Any]:
    """numpy.cumulative_sum or cumulative_prod; NumPy 2.0 has only the older functions."""

    def reference(x: Any, axis: int | None = None, include_initial: bool = False) -> Any:
        found = accumulated(x, axis=axis)
        if not include_initial:
            return found
        shape = [1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
        return np.concatenate([np.full(shape, first, found.dtype), found], axis=axis)

    return reference


RUNNINGS = {
    "cumulative_sum": running(np.cumsum, 0), "cumulative_prod": running(np.cumprod, 1),
}


def reduction(name: str, sample: Sample = CUBE, kind: str = "", **how: Any) -> Row:
    """A row of a reduction with its attributes given; `kind` names what is special of the data."""
    ours: Callable[..., Any] = getattr(pb, name)
    theirs: Callable[..., Any] = RUNNINGS.get(name) or getattr(np, name)
    label = ", ".join([*([kind] if kind else []), *(f"{k}={v}" for k, v in how.items())])
    ordered, numbers = name in ("max", "min"), sample.dtype == "float"
    return Row(name, lambda x: ours(x, **how), lambda x: theirs(x, **how), (sample,), label,
               complex=sample.make is None and not ordered and numbers,
               differentiable=numbers and name not in ("all", "any", "count_nonzero"),
               analytic=name in ("sum", "mean", "prod", "cumulative_sum", "cumulative_prod"))


WAYS: list[dict[str, Any]] = [
    {}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": (0, -1)}, {"axis": ()},
    {"axis": (2, 0), "keepdims": True}, {"keepdims": True},
]
RUNNING: list[dict[str, Any]] = [
    {"axis": 0}, {"axis": -1}, {"axis": 1, "include_initial": True},
    {"axis": -3, "include_initial": True},
]

ROWS = [
    *(reduction(name, **how) for name in ("sum", "mean", "prod", "var") for how in WAYS),
    *(reduction("std", **how) for how in WAYS if how.get("axis") != ()),
    *(reduction(n, DISTINCT, **how) for n in ("max", "min") for how in WAYS),
    *(reduction(n, real(), "no axes") for n in ("sum", "mean", "prod", "max", "min", "var")),
    *(reduction(n, real(0, 3), "nothing", axis=0) for n in ("sum", "prod")),
    *(reduction(n, real(0, 3), "nothing", axis=1)
      for n in ("sum", "mean", "prod", "var", "std", "max", "min")),
    reduction("sum", ints(3, 4, dtype="int8"), "small integers", axis=0),
    reduction("sum", bools(3, 4), "booleans"),
    reduction("prod", ints(3, 4, dtype="uint8"), "small integers", axis=1),
    Row("sum", lambda x: pb.sum(x, dtype=pb.float64), lambda x: np.sum(x, dtype="float64"),
        (CUBE,), "in float64"),
    Row("sum", lambda x: pb.sum(x, dtype=pb.int64), lambda x: np.sum(x, dtype="int64"),
        (CUBE,), "in integers", differentiable=False),
    reduction("prod", zeros_among(3, 4), "zeros", axis=0),
    reduction("prod", zeros_among(2, 2, 3), "zeros", axis=(2, 0)),
    reduction("prod", zeros_among(5), "zeros"),
    *(reduction(n, correction=1, **how) for n in ("var", "std") for how in WAYS[:4]),
    reduction("var", correction=0.5, axis=(0, 1)),
    *(reduction(n, how.pop("sample", CUBE), **how)
      for n in ("cumulative_sum", "cumulative_prod")
      for how in [*map(dict, RUNNING), {"sample": real(5)},
                  {"sample": real(3, 0), "kind": "nothing", "axis": -1},
                  {"sample": real(0, 2), "axis": 0, "include_initial": True}]),
    *(reduction("cumulative_prod", zeros_among(n), f"zeros among {n}") for n in (1, 2, 3, 4, 7)),
    reduction("cumulative_prod", zeros_among(2, 5), "zeros", axis=-1, include_initial=True),
    reduction("diff"),
    reduction("diff", n=2, axis=1),
    reduction("diff", n=0),
    Row("diff", lambda x, y: pb.diff(x, axis=0, prepend=y, append=x),
        lambda x, y: np.diff(x, axis=0, prepend=y, append=x), (real(3, 2), real(1, 2)), "joined",
        complex=True),
    *(reduction(n, zeros_among(2, 3, 4), **how)
      for n in ("all", "any", "count_nonzero") for how in WAYS[:4]),
    *(reduction(n, bools(3, 3), "booleans", axis=0) for n in ("all", "any", "count_nonzero")),
]
