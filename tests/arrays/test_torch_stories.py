"""Programs on PyTorch's tensors: no copies, no graph of PyTorch's, all else as always."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.errors import InplaceError, MixedLibrariesError

torch = pytest.importorskip("torch")


def numbers(*shape: int, seed: int = 0, dtype=None):
    made = torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))
    return made if dtype is None else made.to(dtype)


# Taking in and handing out ------------------------------------------------------------------


@pytest.mark.parametrize("make", [pb.tensor, pb.asarray, pb.Tensor])
def test_nothing_is_copied(make):
    t = numbers(3, dtype=torch.float32)
    x = make(t)
    assert type(x.data) is torch.Tensor
    assert x.data.data_ptr() == t.data_ptr()
    assert x.dtype is torch.float32
    assert x.device == t.device
    assert x.shape == (3,)
    assert np.shares_memory(x.numpy(), t.numpy())


def test_memory_is_shared_through_dlpack_in_both_directions():
    t, a = numbers(3), np.array([1.0, 2.0])
    x = pb.tensor(t)
    assert torch.from_dlpack(x).data_ptr() == t.data_ptr()
    assert np.shares_memory(np.from_dlpack(x), t.numpy())
    assert np.shares_memory(pb.from_dlpack(t).data, t.numpy())
    assert np.shares_memory(torch.from_dlpack(pb.tensor(a)).numpy(), a)


def test_like_takes_a_tensor_to_another_library_and_cotangents_back():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    there = pb.asarray(x, like=torch.zeros(1))
    assert type(there.data) is torch.Tensor
    assert there.dtype is torch.float64
    assert np.shares_memory(there.numpy(), x.numpy())
    pb.sum(there * there).backward()
    assert type(x.grad.data) is np.ndarray
    assert x.grad.tolist() == [2.0, 4.0]
    assert pb.asarray([1.0, 2.0], like=numbers(1)).dtype is torch.float64
    assert type(pb.asarray(numbers(2), like=np.ones(1)).data) is np.ndarray


def test_words_and_other_forms():
    x = pb.tensor(torch.tensor([1.0, 2.5]), requires_grad=True)
    assert repr(x) == "Tensor([1. , 2.5], dtype=float32, requires_grad=True)"
    assert x.tolist() == [1.0, 2.5]
    assert float(x[1]) == 2.5
    again = pickle.loads(pickle.dumps(x))
    assert type(again.data) is torch.Tensor
    assert again.requires_grad
    assert repr(pb.tensor(torch.tensor([1 + 2j]).conj())) == "Tensor([1.-2.j], dtype=complex64)"


def test_dtypes_of_both_libraries_are_understood():
    x = pb.tensor(numbers(3))
    assert pb.astype(x, pb.float32).dtype is torch.float32
    assert pb.astype(x, torch.float32).dtype is torch.float32
    assert pb.sum(x, dtype=pb.float32).dtype is torch.float32
    assert pb.zeros_like(x, dtype=pb.int64).dtype is torch.int64
    assert pb.asarray(x, dtype=pb.float64) is x
    assert type(pb.zeros((2,), dtype=torch.float32).data) is torch.Tensor
    assert pb.tensor(numbers(2), dtype=pb.complex64).dtype is torch.complex64
    assert pb.isdtype(x.dtype, "real floating")


def test_tensors_without_axes_promote_and_numbers_do_not():
    x = pb.tensor(torch.ones(2, dtype=torch.float32))
    one = pb.tensor(torch.tensor(1.0, dtype=torch.float64))
    for f in (pb.add, pb.multiply, pb.maximum, pb.atan2, pb.equal):
        wanted = torch.bool if f is pb.equal else torch.float64
        assert f(x, one).dtype is wanted
        assert f(x, 1.0).dtype is (torch.bool if f is pb.equal else torch.float32)
    assert (x * np.float64(2)).dtype is torch.float32
    assert (2 - x).tolist() == [1.0, 1.0]
    assert (x * [1.0, 2.0]).dtype is torch.float32


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, a: x + a, lambda x, a: a * x, lambda x, a: pb.matmul(x, a),
        lambda x, a: pb.where(x > 0, a, x), lambda x, a: pb.stack([x, pb.tensor(a)]),
        lambda x, a: x.__setitem__(slice(None), a), lambda x, a: pb.set_at(x, a, ...),
    ],
)
def test_mixing_libraries_is_an_error_that_names_both(mix):
    with pytest.raises(MixedLibrariesError, match=r"(?s)torch.*numpy|numpy.*torch"):
        mix(pb.tensor(numbers(3)), np.ones(3))


@pytest.mark.parametrize(
    ("call", "family", "words"),
    [
        (lambda x: x + numbers(4), ValueError, "`add`"),
        (lambda x: pb.reshape(x, (2, 2)), ValueError, "`reshape`"),
        (lambda x: x[7], IndexError, "getitem"),
        (lambda x: x @ numbers(5), ValueError, "`matmul`"),
        (lambda x: pb.sum(x, axis=5), IndexError, "`sum`"),
        (lambda x: pb.linalg.solve(pb.tensor(torch.zeros(3, 3)), x), ValueError, "`solve`"),
    ],
)
def test_what_pytorch_refuses_is_refused_by_name(call, family, words):
    with pytest.raises(family, match=words):
        call(pb.tensor(numbers(3, dtype=torch.float32), requires_grad=True))


def test_an_error_of_a_users_own_passes():
    @pb.op
    def broken(xp, x, /):
        raise RecursionError("too deep")

    with pytest.raises(RecursionError, match="too deep"):
        broken(pb.tensor(numbers(3)))


# PyTorch's autograd stays off ---------------------------------------------------------------


def test_tensors_that_require_a_gradient_are_detached():
    w = torch.nn.Parameter(numbers(3))
    t = numbers(3).requires_grad_()
    x = pb.tensor(numbers(3, seed=1), requires_grad=True)
    for operand in (w, t, pb.tensor(t), pb.tensor(w)):
        for y in (x * operand, operand * x if isinstance(operand, pb.Tensor) else operand + x,
                  pb.where(x > 0, operand, x), pb.matmul(x, operand)):
            assert y.data.grad_fn is None
            assert not y.data.requires_grad
            (g,) = pb.autograd.grad(pb.sum(y), x)
            assert g.data.grad_fn is None
            assert not g.data.requires_grad
    assert type(pb.tensor(w).data) is torch.Tensor
    assert t.grad is None


# Programs -----------------------------------------------------------------------------------


def test_a_tape_and_backward_agree_with_pytorch():
    a, b = numbers(4, 3), numbers(3, 2, seed=1)
    ta, tb = a.clone().requires_grad_(), b.clone().requires_grad_()
    torch.tanh(ta @ tb).exp().sum().backward()

    xa, xb = pb.tensor(a, requires_grad=True), pb.tensor(b, requires_grad=True)
    pb.sum(pb.exp(pb.tanh(xa @ xb))).backward()
    torch.testing.assert_close(xa.grad.data, ta.grad)
    torch.testing.assert_close(xb.grad.data, tb.grad)

    with pb.GradientTape() as tape:
        tape.watch(constant := pb.tensor(a))
        loss = pb.sum(pb.exp(pb.tanh(constant @ pb.tensor(b))))
    torch.testing.assert_close(tape.gradient(loss, constant).data, ta.grad)


def test_gradients_are_nobody_elses_memory():
    x, y = (pb.tensor(numbers(3), requires_grad=True) for _ in "xy")
    seed = torch.ones(3, dtype=torch.float64)
    found = pb.autograd.grad(x + y, [x, y], [pb.tensor(seed)])
    pb.sum(x + y).backward()
    pointers = [g.data.data_ptr() for g in (*found, x.grad, y.grad)]
    assert len({*pointers, seed.data_ptr()}) == 5
    before = x.grad.data
    pb.sum(x * 2).backward()
    assert x.grad.data is before
    assert x.grad.tolist() == [3.0] * 3


def test_custom_gradients():
    @pb.custom_gradient
    def clipped(x):
        return x * x, lambda g: pb.clip(g * 2 * x, -1.0, 1.0)

    x = pb.tensor(numbers(5), requires_grad=True)
    pb.sum(clipped(x)).backward()
    torch.testing.assert_close(x.grad.data, torch.clamp(2 * x.data, -1, 1))

    class Cube(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    (g,) = pb.autograd.grad(pb.sum(Cube.apply(x)), x)
    torch.testing.assert_close(g.data, 3 * x.data**2)


def test_transformations():
    a = numbers(4)
    f = lambda x: pb.sum(pb.sin(x) * x)  # noqa: E731
    wanted = torch.diag(2 * torch.cos(a) - torch.sin(a) * a)
    torch.testing.assert_close(pb.hessian(f)(pb.tensor(a)).data, wanted)
    rows = numbers(3, 4)
    torch.testing.assert_close(
        pb.vmap(pb.grad(f))(pb.tensor(rows)).data,
        torch.func.vmap(torch.func.grad(lambda x: (torch.sin(x) * x).sum()))(rows),
    )
    torch.testing.assert_close(
        pb.jacobian(pb.exp)(pb.tensor(a)).data, torch.diag(torch.exp(a))
    )


def test_writing_in_place():
    w = pb.tensor(numbers(3), requires_grad=True)
    y = w * 2
    view = y[1:]
    view *= 3
    y[0] = 5.0
    (g,) = pb.autograd.grad(pb.sum(y), w)
    assert g.tolist() == [0.0, 6.0, 6.0]

    y = pb.exp(w)
    z = y * 1
    y += 1
    with pytest.raises(InplaceError):
        pb.sum(y + z).backward()
    with pytest.raises(InplaceError):
        w += 1
    stretched = pb.broadcast_to(pb.tensor(torch.ones(1)), (3,))
    with pytest.raises(InplaceError):
        stretched += 1


def test_writing_inside_vmap():
    rows = pb.tensor(numbers(3, 4))

    def own(x):
        y = x * 1
        y[0] = 7.0
        y[1:] += 1.0
        return y

    assert pb.vmap(own)(rows)[:, 0].tolist() == [7.0] * 3
    before = rows.data.clone()

    def argument(x):
        x[1:] += 1.0
        return x

    for function in (argument, lambda x: argument(x[1:])):
        with pytest.raises(InplaceError):
            pb.vmap(function)(rows)
    assert torch.equal(rows.data, before)


def test_the_last_value_written_to_an_entry_stays():
    n = 100_000
    index = np.random.default_rng(0).integers(0, 10, n)
    values = numbers(n)
    got = pb.set_at(pb.tensor(torch.zeros(10, dtype=torch.float64)), values, index)
    wanted = np.zeros(10)
    wanted[index] = values.numpy()
    assert got.tolist() == wanted.tolist()


def test_an_optimiser_step():
    x, y = pb.tensor(numbers(20, 3)), pb.tensor(numbers(20, 1, seed=2))
    model = pb.nn.Parameter(torch.zeros(3, 1, dtype=torch.float64))
    adam = pb.optim.Adam([model], 0.1)
    theirs = torch.nn.Parameter(torch.zeros(3, 1, dtype=torch.float64))
    other = torch.optim.Adam([theirs], 0.1)
    for _ in range(5):
        for step, loss in ((adam, pb.mse_loss(x @ model, y)),
                           (other, torch.nn.functional.mse_loss(x.data @ theirs, y.data))):
            step.zero_grad()
            loss.backward()
            step.step()
    assert type(model.data) is torch.Tensor
    torch.testing.assert_close(model.data, theirs.detach())


def test_random_numbers_meet_tensors():
    x = pb.tensor(torch.ones(1000), requires_grad=True)
    y = pb.dropout(x, 0.5, generator=pb.random.Generator(0))
    assert type(y.data) is torch.Tensor
    pb.sum(y).backward()
    assert set(x.grad.tolist()) == {0.0, 2.0}


def test_a_graph_is_freed_with_its_last_user():
    gc.collect()
    gc.disable()
    try:
        x = pb.tensor(numbers(1000), requires_grad=True)
        y = pb.exp(x)
        kept = weakref.ref(y.data)
        loss = pb.sum(y * y)
        del y
        assert kept() is not None
        del loss
        assert kept() is None
    finally:
        gc.enable()


def test_solvers():
    start = torch.ones(3, dtype=torch.float64)
    x = pb.tensor(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), requires_grad=True)
    found = pb.solvers.root(lambda y, a: y**3 - a, pb.tensor(start), x)
    assert type(found.data) is torch.Tensor
    pb.sum(found).backward()
    torch.testing.assert_close(x.grad.data, x.data ** (-2 / 3) / 3)

    times = pb.tensor(torch.tensor([0.0, 1.0], dtype=torch.float64))
    (g,) = pb.autograd.grad(pb.sum(pb.solvers.odeint(lambda y, t: -y, x, times)[-1]), x)
    torch.testing.assert_close(g.data, torch.full_like(g.data, np.exp(-1)), rtol=1e-6, atol=0)


def test_forward_mode_jacobians():
    a = numbers(3)
    found = pb.jacfwd(lambda x: pb.sin(x) * 2)(pb.tensor(a))
    torch.testing.assert_close(found.data, torch.diag(2 * torch.cos(a)))


def test_an_operand_of_a_class_that_is_seen_first_is_detached():
    class Weight(torch.nn.Parameter):
        pass

    w = Weight(torch.ones(3))
    y = w * pb.tensor(torch.ones(3), requires_grad=True)
    assert isinstance(y, pb.Tensor)
    assert y.data.grad_fn is None
