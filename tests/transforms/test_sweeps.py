"""Long forward sweeps, derivatives kept and asked many times, threads, and states after errors."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state
from pullback.kinds import batching

X = np.array([0.5, -1.0, 2.0])
M = np.array([[0.1, 0.2, -0.3], [0.4, -0.5, 0.6], [0.7, 0.8, -0.9]])


@pytest.fixture(autouse=True)
def _everything_is_put_back() -> Iterator[None]:
    before = state()
    yield
    assert state() == before
    assert batching.running() == ()


# Forward over a long loop ----------------------------------------------------------------------


def chain(steps: int, seen: Any = None) -> Any:
    def run(x: Any) -> Any:
        for k in range(steps):
            x = pb.sin(x) + x * 0.5
            if seen is not None and k % 100 == 0:
                seen(x)
        return x

    return run


def test_memory_of_a_forward_sweep_does_not_grow_with_the_loop() -> None:
    x = np.linspace(-1, 1, 10_000)

    def peak(steps: int) -> int:
        tracemalloc.start()
        pb.jvp(chain(steps), (x,), (x,))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    gc.disable()
    try:
        short, long = peak(50), peak(1_000)
    finally:
        gc.enable()
    assert short < 20 * x.nbytes
    assert long < short + 5 * x.nbytes, f"{short} bytes for 50 steps, {long} for 1000"


@pytest.mark.full
def test_a_forward_sweep_of_20_000_steps_keeps_no_nodes() -> None:
    alive: list[weakref.ref[Any]] = []

    def seen(x: Any) -> None:
        alive.append(weakref.ref(x.node))

    gc.disable()
    try:
        value, tangent = pb.jvp(chain(20_000, seen), (0.5,), (1.0,))
        assert len(alive) == 200
        assert [r for r in alive if r() is not None] == []
    finally:
        gc.enable()
    x, t = 0.5, 1.0
    for _ in range(20_000):
        x, t = np.sin(x) + x * 0.5, (np.cos(x) + 0.5) * t
    np.testing.assert_allclose([value.data, tangent.data], [x, t], rtol=1e-9)


def test_constants_of_a_sweep_stay_untracked() -> None:
    w = pb.tensor(M)

    def f(x: Any) -> Any:
        constant = pb.sin(w) @ w
        assert constant.node is None
        return constant @ x

    pb.jvp(f, (X,), (X,))


# Kept, and asked many times --------------------------------------------------------------------


def f(x: Any) -> Any:
    return pb.tanh(pb.tensor(M) @ x) * x


def jacobian() -> np.ndarray:
    a = np.tanh(M @ X)
    return np.asarray(np.diag(a) + (X * (1 - a * a))[:, None] * M)


def test_a_linearization_is_asked_many_times() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return f(x)

    value, push = pb.linearize(counted, X)
    rng = np.random.default_rng(0)
    for _ in range(50):
        t = rng.standard_normal(3)
        np.testing.assert_allclose(push(t).data, jacobian() @ t, rtol=1e-12, atol=1e-12)
    assert len(calls) == 1
    np.testing.assert_allclose(value.data, f(X).data, rtol=1e-15)
    columns = pb.vmap(push, out_axes=-1)(np.eye(3))
    np.testing.assert_allclose(columns.data, jacobian(), rtol=1e-12, atol=1e-12)


def test_a_pullback_is_asked_many_times() -> None:
    _, pull = pb.vjp(f, X)
    rng = np.random.default_rng(1)
    for _ in range(50):
        g = rng.standard_normal(3)
        np.testing.assert_allclose(pull(g)[0].data, g @ jacobian(), rtol=1e-12, atol=1e-12)
    (rows,) = pb.vmap(pull)(np.eye(3))
    np.testing.assert_allclose(rows.data, jacobian(), rtol=1e-12, atol=1e-12)


def test_what_is_carried_may_be_differentiated_itself() -> None:
    """Tangents and cotangents are variables as others are, though the primals are constants."""
    c = np.array([1.0, 10.0, 100.0])
    push, pull = pb.linearize(f, X)[1], pb.vjp(f, X)[1]

    def pulled(g: Any) -> Any:
        return pull(g)[0]

    def forward(t: Any) -> Any:
        return pb.jvp(f, (X,), (t,))[1]

    def inside(t: Any) -> Any:
        return pb.linearize(f, X)[1](t)

    for carry, j in (
        (push, jacobian()), (pulled, jacobian().T), (forward, jacobian()), (inside, jacobian())
    ):
        g = pb.grad(lambda t, carry=carry: pb.sum(carry(t) * c))(X)
        np.testing.assert_allclose(g.data, c @ j, rtol=1e-12)
        np.testing.assert_allclose(pb.jvp(carry, (X,), (c,))[1].data, j @ c, rtol=1e-12)
        np.testing.assert_allclose(pb.jacrev(carry)(X).data, j, rtol=1e-12, atol=1e-14)


def test_a_backward_through_what_is_carried_frees_nothing_of_the_function() -> None:
    """A pushforward or pullback that is kept can be asked again after it."""
    push, pull = pb.linearize(f, X)[1], pb.vjp(f, X)[1]
    c = np.array([1.0, 10.0, 100.0])
    for carry, j in ((push, jacobian()), (lambda g: pull(g)[0], jacobian().T)):
        for _ in range(2):
            t = pb.tensor(X, requires_grad=True)
            pb.sum(carry(t) * c).backward()
            np.testing.assert_allclose(t.grad.data, c @ j, rtol=1e-12)


def test_writes_in_place_are_carried() -> None:
    def g(x: Any) -> Any:
        y = x * 1.0
        y[0] = x[1] * 2.0
        y += x
        view = y[1:]
        view *= x[0]
        return y * y

    a, b, c = X
    inner = np.array([a + 2 * b, 2 * b * a, 2 * c * a])
    slopes = np.array([[1, 2, 0], [2 * b, 2 * a, 0], [2 * c, 0, 2 * a]])
    j = 2 * inner[:, None] * slopes
    for found in (
        pb.jacfwd(g)(X), pb.jacrev(g)(X), pb.vmap(pb.linearize(g, X)[1], out_axes=-1)(np.eye(3)),
        pb.vmap(lambda t: pb.jvp(g, (X,), (t,))[1], out_axes=1)(np.eye(3)),
        pb.jvp(pb.vmap(g, out_axes=1), (np.stack([X, X, X]),), (np.eye(3),))[1],
    ):
        np.testing.assert_allclose(found.data, j, rtol=1e-13, atol=1e-13)
    h = pb.hessian(lambda x: pb.sum(g(x)))(X)
    np.testing.assert_allclose(
        pb.jacfwd(pb.jacfwd(lambda x: pb.sum(g(x))))(X).data, h.data, rtol=1e-13, atol=1e-13
    )


def test_a_pullback_made_inside_one_vmap_is_asked_in_another() -> None:
    """Each example's pullback, of each of several cotangents."""
    xs, cs = np.stack([X, 2 * X]), np.stack([X * X, -X, X + 1, X - 3])

    def rows(x: Any) -> Any:
        _, pull = pb.vjp(lambda v: v * v * v, x)
        return pb.vmap(lambda c: pull(c)[0])(cs)

    got = pb.vmap(rows)(xs)
    np.testing.assert_allclose(got.data, 3 * xs[:, None] ** 2 * cs[None], rtol=1e-14)


def test_a_pullback_of_a_batch_is_asked_after_it() -> None:
    """What is not mapped gets a sum over the examples, as soon as their vmap has ended."""
    xs, w = np.stack([X, 2 * X]), np.array([1.0, 2.0, 3.0])
    mapped = pb.vmap(lambda w, x: pb.sum(w * w * x), (None, 0))
    value, pull = pb.vjp(mapped, w, xs)
    c = np.array([10.0, 100.0])
    gw, gx = pull(c)
    np.testing.assert_allclose(gw.data, 2 * w * (c @ xs), rtol=1e-14)
    np.testing.assert_allclose(gx.data, c[:, None] * w * w, rtol=1e-14)
    _, push = pb.linearize(mapped, w, xs)
    np.testing.assert_allclose(push(w, 0 * xs).data, 2 * xs @ (w * w), rtol=1e-14)
    assert value.shape == (2,)


def test_hand_written_gradients_of_a_batch_after_it() -> None:
    """A gradient known as a pullback only is transposed for each example, not for their sum."""
    class Square(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    @pb.custom_gradient
    def square(x: Any) -> Any:
        return x * x, lambda g: g * 2 * x

    xs, ts = np.stack([X, 3 * X]), np.stack([X + 1, X * X])
    for call in (Square.apply, square):
        for mapped in (pb.vmap(call), pb.vmap(call, 1, 1)):
            _, push = pb.linearize(mapped, xs)
            np.testing.assert_allclose(push(ts).data, 2 * xs * ts, rtol=1e-14)
            tangent = pb.jvp(mapped, (xs,), (ts,))[1]
            np.testing.assert_allclose(tangent.data, 2 * xs * ts, rtol=1e-14)
            (back,) = pb.vjp(mapped, xs)[1](ts)
            np.testing.assert_allclose(back.data, 2 * xs * ts, rtol=1e-14)
        inside = pb.vmap(lambda x, t, call=call: pb.linearize(call, x)[1](t))(xs, ts)
        np.testing.assert_allclose(inside.data, 2 * xs * ts, rtol=1e-14)


def test_a_pullback_holds_what_it_needs_and_no_more() -> None:
    x = pb.tensor(X)
    _, pull = pb.vjp(lambda x: pb.sin(x) * 2.0, x)
    gc.disable()
    try:
        held = weakref.ref(pull)
        del pull
        assert held() is None
    finally:
        gc.enable()


# Threads, and states after errors --------------------------------------------------------------


def test_threads_do_not_see_each_other() -> None:
    found: dict[int, Any] = {}
    ready = threading.Barrier(4)

    def work(k: int) -> None:
        def g(x: Any) -> Any:
            ready.wait(timeout=30)  # all are inside their transformations at once
            return pb.sum(x * x * float(k))

        if k % 2:
            found[k] = pb.vmap(pb.grad(g))(np.stack([X, X])).data
        else:
            found[k] = pb.jvp(g, (X,), (X,))[1].data

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in (1, 3):
        np.testing.assert_allclose(found[k], [2 * k * X, 2 * k * X])
    for k in (2, 4):
        np.testing.assert_allclose(found[k], 2 * k * np.sum(X * X))


def test_a_thread_inside_starts_afresh() -> None:
    seen: list[Any] = []

    def look(x: Any) -> None:
        seen.append((batching.running(), (x * 2.0).node, state().accumulators))

    def g(x: Any) -> Any:
        thread = threading.Thread(target=look, args=(pb.tensor(1.0),))
        thread.start()
        thread.join()
        return x * x

    pb.jvp(lambda x: pb.vmap(g)(x), (X,), (X,))
    assert seen == [((), None, ())]


class Stop(Exception):
    pass


ENDINGS = [Stop, KeyboardInterrupt, SystemExit]


@pytest.mark.parametrize("ending", ENDINGS)
def test_states_after_an_exception(ending: type[BaseException]) -> None:
    def fail(x: Any) -> Any:
        raise ending

    def inside(x: Any) -> Any:
        return pb.vmap(lambda y: pb.jvp(fail, (y,), (y,)))(x)

    for call in (
        lambda: pb.grad(fail)(X), lambda: pb.vjp(fail, X), lambda: pb.jvp(fail, (X,), (X,)),
        lambda: pb.linearize(fail, X), lambda: pb.jacfwd(fail)(X), lambda: pb.jacrev(fail)(X),
        lambda: pb.vmap(fail)(X), lambda: pb.hessian(fail)(X), lambda: pb.grad(inside)(X),
        lambda: pb.jvp(inside, (X,), (X,)),
    ):
        before = state()
        with pytest.raises(ending):
            call()
        assert state() == before
        assert batching.running() == ()


def test_an_exception_caught_inside_leaves_the_outer_as_it_was() -> None:
    def fail(x: Any) -> Any:
        raise Stop

    def g(x: Any) -> Any:
        for call in (
            lambda: pb.grad(fail)(x), lambda: pb.jvp(fail, (x,), (x,)),
            lambda: pb.vmap(fail)(pb.stack([x, x])),
        ):
            with pytest.raises(Stop):
                call()
        return pb.sum(x * x)

    np.testing.assert_array_equal(pb.grad(g)(X).data, 2 * X)
    np.testing.assert_array_equal(pb.vmap(pb.grad(g))(X[:, None]).data[:, 0], 2 * X)
    assert float(pb.jvp(g, (X,), (X,))[1].data) == float(2 * np.sum(X * X))


def test_an_error_in_a_rule_names_the_operation_and_the_direction() -> None:
    @pb.custom_gradient
    def odd(x: Any) -> Any:
        def gradient(g: Any) -> Any:
            raise Stop

        return x * 1.0, gradient

    for call, place in (
        (lambda: pb.grad(odd)(1.0), "in the gradient of `odd`"),
        (lambda: pb.jvp(odd, (1.0,), (1.0,)), "in the tangent of `odd`"),
    ):
        with pytest.raises(Stop) as caught:
            call()
        assert place in " ".join(caught.value.__notes__)


def test_a_product_with_the_hessian_is_differentiated_by_the_vector() -> None:
    """The tangents of a gradient have a history where the vector has one."""
    x, v = np.array([1.0, 2.0]), np.array([0.5, -1.0])

    def cubes(x: Any) -> Any:
        return pb.sum(x * x * x)

    products = {
        "grad": lambda v: pb.jvp(pb.grad(cubes), (x,), (v,))[1],
        "vjp": lambda v: pb.jvp(lambda x: pb.vjp(cubes, x)[1](1.0)[0], (x,), (v,))[1],
        "hvp": lambda v: pb.hvp(cubes, (x,), (v,)),
        "linearize": lambda v: pb.linearize(pb.grad(cubes), x)[1](v),
    }
    for name, product in products.items():
        for way in (pb.grad, lambda f: pb.function(pb.grad(f)), lambda f: pb.jacfwd(f)):
            found = way(lambda v, p=product: pb.sum(p(v) * pb.tensor([1.0, 3.0])))(pb.tensor(v))
            np.testing.assert_allclose(found.numpy(), 6 * x * [1.0, 3.0], err_msg=name)
    assert products["grad"](v).node is None  # no history where none is wanted
