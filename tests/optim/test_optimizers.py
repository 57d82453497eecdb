"""What optimizers do around their formulas: where gradients come from, in-place, state, errors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import pullback as pb
from pullback import optim
from pullback.errors import ArgumentError, ArgumentTypeError, DtypeError, InplaceError, ShapeError

CLASSES = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop]
every = pytest.mark.parametrize("cls", CLASSES)


def loss_of(x, w):
    return pb.sum((x @ w - 1.0) ** 2)


def test_the_two_lives_agree(rng):
    data, first = rng.normal(size=(8, 3)), rng.normal(size=(3, 2))
    w, v = pb.tensor(first.copy(), requires_grad=True), pb.Variable(first)
    torch_life, tf_life = optim.Adam([w], lr=0.1), optim.Adam([v], lr=0.1)
    for _ in range(5):
        torch_life.zero_grad()
        loss_of(pb.tensor(data), w).backward()
        torch_life.step()
        with pb.GradientTape() as tape:
            loss = loss_of(pb.tensor(data), v)
        tf_life.apply_gradients(zip(tape.gradient(loss, [v]), [v], strict=True))
    np.testing.assert_array_equal(w.numpy(), v.numpy())
    assert not np.array_equal(v.numpy(), first)


@every
def test_each_goes_down(cls, rng):
    data = pb.tensor(rng.normal(size=(8, 3)))
    w = pb.tensor(rng.normal(size=(3, 2)), requires_grad=True)
    optimizer = cls([w], lr=0.01)
    losses = []
    for _ in range(60):
        loss = loss_of(data, w)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.9 * losses[0]


@every
@pytest.mark.parametrize("layout", ["rows", "columns", "stepped", "one row"])
def test_large_and_strided_parameters_are_changed_everywhere(cls, layout, rng):
    shape = (1, 90_000) if layout == "one row" else (300, 301)
    values = rng.normal(size=shape)
    array = {
        "rows": lambda: values.copy(),
        "columns": lambda: np.asfortranarray(values),
        "stepped": lambda: np.repeat(values, 2, axis=1)[:, ::2],
        "one row": lambda: values.copy(),
    }[layout]()
    x = pb.tensor(array, requires_grad=True)
    small = [pb.tensor(row.copy(), requires_grad=True) for row in values]
    g = rng.normal(size=shape)
    one, many = cls([x], lr=0.1), cls(small, lr=0.1)
    for _ in range(3):
        one.step([g])
        many.step(list(g))
    np.testing.assert_array_equal(x.numpy(), np.stack([s.numpy() for s in small]))


def test_a_tensor_is_written_in_place():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    array = x.data
    optim.SGD([x], lr=0.5).step([[2.0, 2.0]])
    assert x.data is array
    np.testing.assert_array_equal(array, [0.0, 1.0])
    assert x.is_leaf
    assert x.requires_grad


def test_a_step_needs_no_memory_of_the_parameters_size():
    x = pb.tensor(np.ones(1_000_000, np.float32).reshape(1000, 1000), requires_grad=True)
    g = np.ones((1000, 1000), np.float32)
    optimizer = optim.SGD([x], lr=0.5)
    optimizer.step([g])
    tracemalloc.start()
    optimizer.step([g])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < x.data.nbytes / 8


def test_a_stale_graph_is_an_error_after_a_step():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = pb.sum(x * x)
    optim.SGD([x], lr=0.5).step([[2.0, 2.0]])
    with pytest.raises(InplaceError, match=r"SGD\.step"):
        y.backward()


def test_a_graph_that_read_a_variable_stays_right():
    v = pb.Variable([1.0, 2.0])
    with pb.GradientTape() as tape:
        y = pb.sum(v * v * v)
    optim.SGD([v], lr=0.5).step([[2.0, 2.0]])
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [3.0, 12.0])
    np.testing.assert_array_equal(v.numpy(), [0.0, 1.0])


def test_a_variable_held_by_nobody_else_is_written_in_place():
    v = pb.Variable([1.0, 2.0])
    place = id(v.data)
    optimizer = optim.SGD([v], lr=0.5)
    optimizer.step([[2.0, 2.0]])
    assert id(v.data) == place
    held, view = v.data, v.data[:1]
    optimizer.step([[2.0, 2.0]])
    assert v.data is not held
    np.testing.assert_array_equal(held, [0.0, 1.0])
    del held
    optimizer.step([[2.0, 2.0]])
    np.testing.assert_array_equal(view, [0.0])
    np.testing.assert_array_equal(v.numpy(), [-2.0, -1.0])


def test_a_scalar_from_a_reduction_can_be_a_parameter():
    x = pb.sum(pb.tensor([1.0, 2.0])).detach().requires_grad_()
    (x * x).backward()
    optim.SGD([x], lr=0.5).step()
    assert x.item() == 0.0
    x.grad = None
    (x + 1.0).backward()
    assert x.grad.item() == 1.0


def test_a_step_inside_a_tape_is_not_recorded():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.Adam([x], lr=0.5)
    with pb.GradientTape():
        optimizer.step([[2.0, 2.0]])
    assert x.is_leaf


def test_dtypes_are_kept(rng):
    x = pb.tensor(rng.normal(size=4).astype("float32"), requires_grad=True)
    optimizer = optim.Adam([x])
    optimizer.step([rng.normal(size=4)])
    assert x.dtype == np.float32
    assert optimizer.state[x]["exp_avg"].dtype == np.float32


def test_zero_grad():
    x = pb.tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([x])
    x.grad = pb.tensor([3.0])
    optimizer.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert x.grad is None


@every
def test_going_on_from_a_snapshot(cls, rng):
    values, grads = rng.normal(size=(2, 3)), rng.normal(size=(6, 2, 3))
    x = pb.tensor(values.copy(), requires_grad=True)
    optimizer = cls([x], lr=0.1)
    for g in grads[:3]:
        optimizer.step([g])
    saved, then = optimizer.state_dict(), x.numpy().copy()
    for g in grads[3:]:
        optimizer.step([g])
    y = pb.Variable(then)
    other = cls([y], lr=0.7)
    other.load_state_dict(saved)
    for g in grads[3:]:
        other.step([g])
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert other.param_groups[0]["lr"] == 0.1


def test_loading_what_does_not_fit(rng):
    x, y = pb.Variable(np.zeros(3)), pb.Variable(np.zeros(2))
    optimizer = optim.Adam([x])
    optimizer.step([np.ones(3)])
    with pytest.raises(ArgumentError, match=r"groups of \[2\] parameters"):
        optim.Adam([pb.Variable(0.0), pb.Variable(0.0)]).load_state_dict(optimizer.state_dict())
    with pytest.raises(ShapeError, match="exp_avg"):
        optim.Adam([y]).load_state_dict(optimizer.state_dict())


@pytest.mark.parametrize(("options", "words"), [
    ({"lr": -1.0}, "`lr`"), ({"lr": float("nan")}, "`lr`"), ({"momentum": -0.1}, "`momentum`"),
    ({"nesterov": True}, "`nesterov`"),
    ({"nesterov": True, "momentum": 0.5, "dampening": 0.1}, "`nesterov`"),
])
def test_bad_options(options, words):
    with pytest.raises(ArgumentError, match=words):
        optim.SGD([pb.Variable(0.0)], **options)


@pytest.mark.parametrize("cls", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("betas", [(1.0, 0.9), (0.9, -0.1)])
def test_bad_betas(cls, betas):
    with pytest.raises(ArgumentError, match=r"betas\["):
        cls([pb.Variable(0.0)], betas=betas)


def test_bad_parameters():
    x = pb.tensor([1.0], requires_grad=True)
    with pytest.raises(ArgumentError, match="some parameters"):
        optim.SGD([])
    with pytest.raises(ArgumentTypeError, match="put it in a list"):
        optim.SGD(x)
    with pytest.raises(ArgumentTypeError, match="parameter 1"):
        optim.SGD([x, np.ones(2)])
    with pytest.raises(ArgumentError, match="result of `multiply`"):
        optim.SGD([x * 2.0])
    with pytest.raises(ArgumentError, match="every parameter once"):
        optim.SGD([x, x])
    with pytest.raises(DtypeError, match="int64"):
        optim.SGD([pb.Variable([1, 2])])
    with pytest.raises(ArgumentError, match="rate"):
        optim.SGD([{"params": [x], "rate": 1.0}])


def test_bad_gradients_change_nothing():
    x, y = pb.Variable([1.0]), pb.Variable([1.0, 2.0])
    optimizer = optim.SGD([x, y], lr=1.0)
    with pytest.raises(ArgumentError, match="2 gradients"):
        optimizer.step([[1.0]])
    with pytest.raises(ShapeError, match="gradient 1"):
        optimizer.step([[1.0], [1.0]])
    with pytest.raises(DtypeError, match="complex"):
        optimizer.step([[1.0], np.array([1j, 1j])])
    with pytest.raises(ArgumentError, match="add_param_group"):
        optimizer.apply_gradients([([1.0], x), ([1.0], pb.Variable([1.0]))])
    assert (x.tolist(), y.tolist()) == ([1.0], [1.0, 2.0])


def test_the_base_is_no_optimizer_itself():
    with pytest.raises(TypeError, match=r"abstract.*_update"):
        optim.Optimizer([pb.tensor(1.0, requires_grad=True)], {})
