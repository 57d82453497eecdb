"""Arrays of libraries that are not supported are refused; nothing is converted in silence.

Those that follow the Array API standard are supported: see `test_standard.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import MixedLibrariesError
from tests.loops import each


class Standard:
    """An array of a library that is known not to work."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.shape, self.dtype, self.ndim = self.values.shape, self.values.dtype, self.values.ndim

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def __dlpack__(self, **how: Any) -> Any:
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class Plain:
    """An object that only says that it converts to NumPy."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.ones(2)


Standard.__module__ = "tensorflow.python"  # of a library that does not follow the standard


USES: list[Callable[[Any], Any]] = [
    pb.tensor, pb.asarray, pb.Tensor, pb.sin, pb.sum, pb.Variable,
    lambda a: pb.tensor([a, a]), lambda a: pb.add(np.ones(2), a), lambda a: pb.add(a, pb.ones(2)),
    lambda a: pb.ones(2) * a, lambda a: pb.matmul(pb.ones(2), a), lambda a: pb.stack([a, a]),
    lambda a: pb.where(pb.ones(2) > 0, a, 0.0), lambda a: pb.grad(lambda x: pb.sum(x * x))(a),
    lambda a: pb.vmap(pb.sin)(a), lambda a: pb.set_at(pb.ones(2), a, slice(None)),
]


def test_an_array_of_another_library_is_refused_with_the_supported_libraries() -> None:
    def law(use: Callable[[Any], Any]) -> None:
        with pytest.raises((MixedLibrariesError, pb.errors.ArgumentTypeError)) as caught:
            use(Standard([1.0, 2.0]))
        assert "Standard" in str(caught.value)

    each(USES, law)
    with pytest.raises(MixedLibrariesError) as caught:
        pb.sin(Standard([1.0, 2.0]))
    assert "cupy or jax or numpy or torch" in caught.value.expected
    assert "from_dlpack" in caught.value.fix


def test_it_is_taken_in_when_asked_for() -> None:
    a = Standard([1.0, 2.0])
    assert pb.from_dlpack(a).tolist() == pb.tensor(np.asarray(a)).tolist() == [1.0, 2.0]
    assert pb.sum(Plain()).item() == 2.0


