"""`tape.jacobian` and `tape.batch_jacobian`: by one batched pull, in pieces, or one by one."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb

WAYS = {
    "batched": {}, "in pieces": {"parallel_iterations": 2},
    "one by one": {"experimental_use_pfor": False},
}


def network(rng):
    w, x = pb.Variable(rng.normal(size=(3, 2))), pb.tensor(rng.normal(size=(4, 3)))
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = pb.tanh(x @ w)
    slope = 1 - np.tanh(x.numpy() @ w.numpy()) ** 2
    return tape, x, w, y, slope


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_jacobian(way, rng):
    tape, x, w, y, slope = network(rng)
    found = tape.jacobian(y, {"x": x, "w": [w]}, **WAYS[way])
    expected = np.einsum("bk,bc,ik->bkci", slope, np.eye(4), w.numpy())
    np.testing.assert_allclose(found["x"].numpy(), expected, atol=1e-15)
    expected = np.einsum("bk,bi,kl->bkil", slope, x.numpy(), np.eye(2))
    np.testing.assert_allclose(found["w"][0].numpy(), expected, atol=1e-15)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_batch_jacobian(way, rng):
    tape, x, w, y, slope = network(rng)
    found = tape.batch_jacobian(y, x, **WAYS[way])
    np.testing.assert_allclose(found.numpy(), np.einsum("bk,ik->bki", slope, w.numpy()))


@pytest.mark.parametrize(("way", "calls"), [("batched", 1), ("in pieces", 4), ("one by one", 8)])
def test_a_jacobian_takes_this_many_pulls(way, calls, rng):
    count = []

    @pb.custom_gradient
    def double(x):
        return x * 2.0, lambda g: (count.append(1), g * 2.0)[1]

    x = pb.tensor(rng.normal(size=(4, 2)))
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = double(x)
    found = tape.jacobian(y, x, **WAYS[way]).numpy()
    np.testing.assert_array_equal(found.reshape(8, 8), 2 * np.eye(8))
    assert len(count) == calls


def test_the_loop_serves_gradients_that_cannot_be_batched():
    @pb.custom_gradient
    def cube(x):
        return x**3, lambda g: pb.tensor(np.asarray(g.numpy()) * 3.0 * x.numpy() ** 2)

    x = pb.tensor([1.0, 2.0])
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = cube(x)
    with pytest.raises(TypeError, match="vmap"):
        tape.jacobian(y, x)
    found = tape.jacobian(y, x, experimental_use_pfor=False)
    assert found.tolist() == [[3.0, 0.0], [0.0, 12.0]]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_connected_is_none_or_zeros(way):
    x, z = pb.tensor([1.0, 2.0, 3.0]), pb.tensor([[3.0]])
    with pb.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * x
    found = tape.jacobian(y, [z, x], **WAYS[way])
    assert found[0] is None
    assert found[1].tolist() == np.diag([2.0, 4.0, 6.0]).tolist()
    zeros = tape.jacobian(y, z, unconnected_gradients="zero", **WAYS[way])
    assert zeros.shape == (3, 1, 1)
    assert not zeros.numpy().any()
    empty = tape.jacobian(y[:0], x, unconnected_gradients="zero", **WAYS[way])
    assert empty.shape == (0, 3)


def test_complex_targets_and_sources():
    z = pb.tensor([1.0 + 2.0j, -1.0j])
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(z)
        y = z * z
    one_by_one = tape.jacobian(y, z, experimental_use_pfor=False).numpy()
    np.testing.assert_allclose(one_by_one, np.diag(np.conj(2 * z.numpy())))
    np.testing.assert_allclose(tape.jacobian(y, z).numpy(), one_by_one)


def test_overrides_are_in_force():
    x = pb.tensor([-0.5, 2.0])
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = pb.sign(x)
    found = tape.jacobian(y, x, overrides={"sign": lambda op, g: g * op.inputs[0]})
    assert found.tolist() == [[-0.5, 0.0], [0.0, 2.0]]


def test_a_jacobian_of_a_jacobian(rng):
    x = pb.tensor(rng.normal(size=3))
    with pb.GradientTape() as outer:
        outer.watch(x)
        with pb.GradientTape() as inner:
            inner.watch(x)
            y = pb.exp(x) * x[0]
        j = inner.jacobian(y, x)
    found = outer.jacobian(j, x).numpy()
    e = np.exp(x.numpy())
    expected = np.zeros((3, 3, 3))
    for i in range(3):
        expected[i, i, i] += e[i] * x.numpy()[0]
        expected[i, i, 0] += e[i]
        expected[i, 0, i] += e[i]
    np.testing.assert_allclose(found, expected)


def test_a_jacobian_for_each_example_of_a_vmap(rng):
    def jacobian(x):
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = pb.sin(x) * x
        return tape.jacobian(y, x)

    x = rng.normal(size=(5, 3))
    found = pb.vmap(jacobian)(x).numpy()
    expected = [np.diag(np.cos(v) * v + np.sin(v)) for v in x]
    np.testing.assert_allclose(found, expected)
