"""The table of operations: a row each, from which the laws in `tests/laws` take their cases.

A row calls an operation with its attributes fixed, on arrays drawn from the samples, and names a
NumPy reference. What the laws check is said there; a row only says what does not apply, and why.
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import tests.rows
from pullback.arrays.batched import moved_to
from pullback.core.op import OPS
from pullback.core.tensor import raw


@dataclass(frozen=True)
class Sample:
    """How to draw one array argument."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str = "float"  # "float" follows the law (float32/float64/complex); else as named
    away: tuple[float, ...] = ()  # kinks: entries are kept 0.1 away from these
    distinct: bool = False  # entries pairwise at least 0.05 apart (sorting, maxima)
    make: Callable[[np.random.Generator], Any] | None = None  # instead of all that

    def draw(self, rng: np.random.Generator, dtype: str = "float64") -> np.ndarray:
        if self.make is not None:
            made = np.asarray(self.make(rng))
            return made.astype(dtype) if made.dtype.kind in "fc" else made
        if self.dtype == "bool":
            return rng.random(self.shape) < 0.5
        if self.dtype.startswith(("int", "uint")):
            return rng.integers(int(self.low), int(self.high), self.shape, endpoint=True).astype(
                self.dtype
            )
        if self.distinct:
            n = int(np.prod(self.shape))
            steps = np.linspace(self.low, self.high, n) if n > 1 else np.full(n, self.low)
            values = rng.permutation(steps).reshape(self.shape)
        else:
            values = rng.uniform(self.low, self.high, self.shape)
            for kink in self.away:
                close = np.abs(values - kink) < 0.1
                values = np.where(close, kink + 0.1 + 0.1 * rng.random(self.shape), values)
        if dtype.startswith("complex"):
            values = values + 1j * rng.uniform(self.low, self.high, self.shape)
        return values.astype(dtype)


def real(*shape: int, **keywords: Any) -> Sample:
    """Real (or, where the law says so, complex) numbers in [-2, 2]."""
    return Sample(shape, **keywords)


def positive(*shape: int, **keywords: Any) -> Sample:
    """Numbers in [0.3, 2.5]."""
    return Sample(shape, **{"low": 0.3, "high": 2.5, **keywords})


def ints(*shape: int, low: int = 0, high: int = 4, dtype: str = "int64") -> Sample:
    return Sample(shape, low=low, high=high, dtype=dtype)


def bools(*shape: int) -> Sample:
    return Sample(shape, dtype="bool")


def constant(values: Any, like: Any) -> Any:
    """Numbers as a raw array of the library and the dtype of a raw array or a Tensor."""
    data = raw(like)
    return moved_to(np.asarray(values), data, data.dtype)


@dataclass(frozen=True)
class Row:
    """One operation with its attributes fixed."""

    name: str  # of the operation (the function in `pullback`), or of a composition
    call: Callable[..., Any]  # of Tensors or raw arrays; may return a tuple or list of them
    reference: Callable[..., Any]  # the same on NumPy arrays
    args: tuple[Sample, ...]
    label: str = ""  # tells rows of one operation apart
    broadcast: bool = False  # elementwise in all arguments: every operand is broadcast in turn
    complex: bool = False  # the laws run it on complex arguments too
    analytic: bool = False  # NumPy's own function takes complex steps: checked to 1e-12
    differentiable: bool = True  # else only values and dtypes are checked
    second: bool = True  # second order is checked too
    empty: bool = True  # runs with an axis of length 0 (elementwise rows)
    float32_tolerance: float = 2e-5
    tags: frozenset[str] = field(default_factory=frozenset)

    @property
    def id(self) -> str:
        return f"{self.name}[{self.label}]" if self.label else self.name

    @property
    def elementwise(self) -> bool:
        """Whether it can be called on other shapes than the samples'."""
        if any(sample.make is not None for sample in self.args):
            return False
        found = OPS.get(self.name)
        return self.broadcast or (found is not None and found.op.elementwise)

    def rng(self, salt: int = 0) -> np.random.Generator:
        """Random numbers that are the same in every run, and others for every row."""
        return np.random.default_rng([zlib.crc32(self.id.encode()), salt])

    def draw(
        self, dtype: str = "float64", salt: int = 0, shapes: Sequence[tuple[int, ...]] | None = None
    ) -> list[np.ndarray]:
        """Arguments: an array for each sample, none of which can be written to."""
        rng = self.rng(salt)
        samples = self.args
        if shapes is not None:
            samples = tuple(
                replace(s, shape=shape) for s, shape in zip(samples, shapes, strict=True)
            )
        drawn = [np.array(sample.draw(rng, dtype)) for sample in samples]
        for array in drawn:
            array.flags.writeable = False
        return drawn

    @property
    def precise(self) -> tuple[str, ...]:
        """The dtypes in double precision."""
        return ("float64", "complex128") if self.complex else ("float64",)

    @property
    def dtypes(self) -> tuple[str, ...]:
        real = ("float64", "float32")
        return (*real, "complex128", "complex64") if self.complex else real


def all_rows() -> list[Row]:
    """The rows of every file in `tests/rows`, each of which has a list `ROWS`."""
    rows: list[Row] = []
    for info in sorted(pkgutil.iter_modules(tests.rows.__path__), key=lambda m: m.name):
        rows.extend(importlib.import_module(f"tests.rows.{info.name}").ROWS)
    return rows
