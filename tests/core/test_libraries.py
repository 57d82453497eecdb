"""Arrays of libraries that are not known here are refused by name, not converted in silence."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb


class Foreign:
    """Looks like an array of Dask."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(2)


Foreign.__module__ = "dask"


@pytest.mark.parametrize(
    "use",
    [
        lambda x, f: x + f, lambda x, f: pb.multiply(x, f), lambda x, f: pb.Tensor(f),
        lambda x, f: pb.tensor(f), lambda x, f: pb.where(x > 0, f, x), lambda x, f: f + x,
    ],
)
def test_a_foreign_array_is_an_error_that_names_both_libraries(use):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError) as caught:
        use(x, Foreign())
    assert "numpy" in str(caught.value)
    assert "dask" in str(caught.value)


def test_what_converts_itself_is_taken():
    class Column:
        def __array__(self, dtype=None, copy=None):
            return np.array([3.0, 4.0])

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.sum(x * Column()).backward()
    assert x.grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("call", "family", "words"),
    [
        (lambda x: x + pb.ones(3), ValueError, r"`add`.*float64\[2\], float64\[3\]"),
        (lambda x: pb.sum(x, axis=5), ValueError, "`sum`"),
        (lambda x: pb.sum(x, axis=5), IndexError, "`sum`"),
        (lambda x: float(x), ValueError, r"2 \(shape \(2,\)\)"),
        (lambda x: bool(x), ValueError, "one entry"),
        (lambda x: pb.reshape(x, (3, 4)), ValueError, "`reshape`"),
        (lambda x: x[7], IndexError, "getitem"),
        (lambda x: x @ pb.tensor([1.0, 2.0, 3.0]), ValueError, "`matmul`"),
        (lambda x: pb.sum(x, axes=1), TypeError, "unknown axes"),
        (lambda x: pb.exp("text"), TypeError, "str"),
        (lambda x: pb.concat([x, pb.ones((2, 2))]), ValueError, "concat"),
    ],
)
def test_what_an_array_library_refuses_is_refused_by_name(call, family, words):
    with pytest.raises(family, match=f"(?s){words}"):
        call(pb.tensor([1.0, 2.0], requires_grad=True))


def test_gradients_that_are_handed_out_are_nobody_elses():
    x, y = (pb.tensor(np.ones(3), requires_grad=True) for _ in "xy")
    seed = pb.tensor(np.array([1.0, 2.0, 3.0]))
    answers = [
        *pb.autograd.grad(x + y, [x, y], seed), *pb.autograd.grad(pb.sum(x + y), [x, y]),
    ]
    with pb.GradientTape(persistent=True) as tape:
        z = x + y
    answers += tape.gradient(z, [x, y, z], output_gradients=seed)
    arrays = [seed.data, *(a.data for a in answers)]
    for i, a in enumerate(arrays):
        assert a.flags.writeable
        assert not any(np.shares_memory(a, b) for b in arrays[:i])
