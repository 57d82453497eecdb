"""What must not be stripped, copied or kept in silence: masks, tapes, hooks and old traces."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.tf as tf
import pullback.torch as door

traced = importlib.import_module("pullback.graphs.function")
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
X = np.array([1.0, 2.0, 3.0])

DOORS: dict[str, Callable[[], Any]] = {
    "tensor": lambda: pb.tensor(MASKED),
    "asarray": lambda: pb.asarray(MASKED),
    "Tensor": lambda: pb.Tensor(MASKED),
    "Variable": lambda: pb.Variable(MASKED),
    "operation": lambda: pb.exp(MASKED),
    "reduction": lambda: pb.sum(MASKED),
    "operator": lambda: pb.tensor(X) * MASKED,
    "NumPy's function": lambda: np.multiply(pb.tensor(X, requires_grad=True), MASKED),
    "grad": lambda: pb.grad(lambda x: pb.sum(x * x))(MASKED),
    "jvp": lambda: pb.jvp(lambda x: x * x, (pb.tensor(X),), (MASKED,)),
    "vmap": lambda: pb.vmap(lambda x: x * x)(MASKED),
    "function": lambda: pb.function(lambda x: x * x)(MASKED),
    "assignment": lambda: pb.Variable(X).assign(MASKED),
    "entries": lambda: pb.tensor(X).__setitem__(slice(None), MASKED),
    "torch.tensor": lambda: door.tensor(MASKED),
    "torch.from_numpy": lambda: door.from_numpy(MASKED),
    "tf.constant": lambda: tf.constant(MASKED),
    "tf.Variable": lambda: tf.Variable(MASKED),
    "tf.add": lambda: tf.add(MASKED, 1.0),
}


@pytest.mark.parametrize("name", DOORS)
def test_masked_arrays_are_refused(name: str) -> None:
    with pytest.raises((pb.PullbackError, TypeError, ValueError), match="masked"):
        DOORS[name]()


@pytest.mark.parametrize("tape", [pb.GradientTape, tf.GradientTape])
def test_a_tape_is_not_copied(tape: Any) -> None:
    with tape() as open_tape:
        pass
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(pb.errors.TapeError, match="view of the graph"):
            copying(open_tape)


def test_a_hook_on_its_own_tensor_is_freed() -> None:
    def leaf() -> Any:
        x = pb.tensor(X, requires_grad=True)
        x.register_hook(lambda g: g * x.detach())
        return x

    def computed() -> Any:
        y = pb.tensor(X, requires_grad=True) * 2.0
        y.register_hook(lambda g: g * y.detach())
        y.retain_grad()
        return y

    def front_end() -> Any:
        x = door.tensor([1.0], requires_grad=True)
        x.register_hook(lambda g: g * x.detach())
        x.register_post_accumulate_grad_hook(lambda t: x.zero_())
        return x

    for make in (leaf, computed, front_end):
        tensor = make()
        gone = weakref.ref(tensor.node)
        del tensor
        gc.collect()
        assert gone() is None, make


def test_a_traced_function_warns_of_many_graphs_and_keeps_some() -> None:
    times = pb.function(lambda x, n: x * n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(traced._KEPT + 20):
            assert float(times(pb.tensor(2.0), float(n))) == 2.0 * n
    assert [w.category for w in caught] == [pb.errors.RetracingWarning]
    assert caught[0].filename == __file__
    assert "reduce_retracing" in str(caught[0].message)
    assert len(times._found) == traced._KEPT
    assert float(times(pb.tensor(2.0), 0.0)) == 0.0  # traced again


def test_shapes_are_bounded_too(rng: np.random.Generator) -> None:
    double = pb.function(lambda x: x * 2.0)

    def calls() -> None:
        for n in range(traced._KEPT + 20):
            x = rng.standard_normal(n)
            np.testing.assert_array_equal(double(pb.tensor(x)).data, 2.0 * x)

    with pytest.warns(pb.errors.RetracingWarning):
        calls()
    assert len(double._found) == len(double._plain) == traced._KEPT
