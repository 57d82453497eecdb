"""`function`: traced once for each kind of arguments, differentiated like what it was traced from.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core import outside
from pullback.graphs import ConcreteFunction, TensorSpec, function

RNG = np.random.default_rng(7)


def normal(*shape: int) -> Any:
    return pb.tensor(RNG.normal(size=shape))


def network(x: Any, w: Any) -> Any:
    hidden = pb.tanh(pb.matmul(x, w))
    return pb.sum(hidden * hidden * pb.exp(-pb.mean(x, axis=1, keepdims=True)), axis=0)


X, W = normal(4, 3), normal(3, 2)
traced = function(network)


def close(ours: Any, theirs: Any) -> bool:
    return np.allclose(ours.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)


# One law: whatever is asked of the traced function, the Python function answers the same ----------

ASKED: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "value": lambda f: f(X, W),
    "vjp": lambda f: pb.vjp(f, X, W)[1](normal_of(2))[1],
    "jvp": lambda f: pb.jvp(f, (X, W), (X * 2 + 1, W * W))[1],
    "jacrev": lambda f: pb.jacrev(f, 1)(X, W),
    "jacfwd": lambda f: pb.jacfwd(f, 0)(X, W),
    "hessian": lambda f: pb.hessian(lambda w: pb.sum(f(X, w)))(W),
    "forward over reverse": lambda f: pb.jvp(
        pb.grad(lambda w: pb.sum(f(X, w) ** 2)), (W,), (W + 1,))[1],
    "third order": lambda f: third(f),
    "vmap": lambda f: pb.vmap(f, (0, None))(CUBE, W),
    "vmap of both": lambda f: pb.vmap(f)(CUBE, WEIGHTS),
    "per-example gradients": lambda f: pb.vmap(
        pb.grad(lambda x, w: pb.sum(f(x, w)), 1), (0, None))(CUBE, W),
    "checkpoint": lambda f: pb.grad(lambda w: pb.sum(pb.checkpoint(f)(X, w)))(W),
    "linearize": lambda f: pb.linearize(f, X, W)[1](X, W * 2),
}
CUBE, WEIGHTS = normal(5, 4, 3), normal(5, 3, 2)


def normal_of(*shape: int) -> Any:
    return pb.tensor(np.random.default_rng(3).normal(size=shape))


def third(f: Callable[..., Any]) -> Any:
    def first(w: Any) -> Any:
        return pb.sum(pb.grad(lambda v: pb.sum(f(X, v)))(w) ** 2)

    return pb.grad(lambda w: pb.sum(pb.grad(first)(w) ** 3))(W)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_it_answers_as_the_function_it_was_traced_from(asked: Callable[..., Any]) -> None:
    for _ in range(2):  # the second run is the compiled one
        assert close(asked(traced), asked(network))


def test_a_length_that_may_be_any_is_traced_once() -> None:
    spec = [TensorSpec([None, 3]), TensorSpec([3, None])]
    wide = function(network, input_signature=spec)
    for rows in (1, 4, 6):
        x = normal(rows, 3)
        for asked in ("vjp", "hessian"):
            assert close(pb.grad(lambda v, x=x: pb.sum(wide(x, v)))(W),
                         pb.grad(lambda v, x=x: pb.sum(network(x, v)))(W))
            assert close(ASKED[asked](wide), ASKED[asked](network))
    assert wide.experimental_get_tracing_count() == 1


# What is an argument, and what a key --------------------------------------------------------------


def test_python_runs_when_it_is_traced_and_only_then() -> None:
    seen: list[Any] = []

    @function
    def power(x: Any, n: int = 2, *, flip: bool = False) -> Any:
        seen.append((x.shape, n, flip))
        return -(x**n) if flip else x**n

    x = normal(3)
    assert close(power(x), x * x)
    assert close(power(x, 2), x * x)
    assert close(power(n=2, x=x + 1), (x + 1) ** 2)
    assert seen == [((3,), 2, False)]
    assert close(power(x, 3), x**3)
    assert close(power(x, flip=True), -x * x)
    assert close(power(normal(2, 2) * 0 + 2), pb.full((2, 2), 4.0))
    assert len(seen) == 4
    assert close(power(x.numpy(), 3), x**3)
    assert len(seen) == 4


def test_structures_go_in_and_come_out() -> None:
    @function
    def both(pair: Any, more: Any) -> Any:
        return {"sum": pair[0] + pair[1], "rest": [more["a"], None, "text", 2.5]}

    found = both((X, X), {"a": W})
    assert close(found["sum"], X + X)
    assert close(found["rest"][0], W)
    assert found["rest"][1] is None
    assert found["rest"][2] == "text"
    assert found["rest"][3].item() == 2.5


def test_lengths_that_differ_are_traced_for_any_length_if_asked() -> None:
    shapes: list[Any] = []

    @function(reduce_retracing=True)
    def double(x: Any) -> Any:
        shapes.append(x._data.shape)
        return x * 2.0

    for n in (3, 4, 5, 6):
        assert close(double(normal(n) * 0 + 1), pb.full((n,), 2.0))
    assert [tuple(s) for s in shapes] == [(3,), (None,)]


def test_methods_have_traces_of_their_own() -> None:
    class Scale:
        def __init__(self, by: float) -> None:
            self.by = by
            self.traced = 0

        @function
        def apply(self, x: Any) -> Any:
            self.traced += 1
            return x * self.by

    two, three = Scale(2.0), Scale(3.0)
    for _ in range(2):
        assert close(two.apply(X), X * 2)
        assert close(three.apply(X), X * 3)
    assert (two.traced, three.traced) == (1, 1)
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None


def test_the_concrete_function_is_a_graph() -> None:
    found = traced.get_concrete_function(X, W)
    assert isinstance(found, ConcreteFunction)
    assert found is traced.get_concrete_function(X, W)
    kinds = [o.type for o in found.graph.get_operations()]
    assert kinds[:4] == ["argument", "argument", "matmul", "tanh"]
    assert [t.shape for t in found.inputs] == [(4, 3), (3, 2)]
    assert found.structured_outputs.shape == (2,)
    assert close(found(X, W), network(X, W))
    with pytest.raises(pb.errors.ArgumentError, match="argument 0 of <ConcreteFunction network"):
        found(W, W)
    with pytest.raises(pb.errors.ArgumentTypeError, match="2 tensors"):
        found(X)
    assert traced.get_concrete_function(TensorSpec([4, 3]), TensorSpec([3, 2])) is found
    by_spec = function(network).get_concrete_function(TensorSpec([None, 3]), TensorSpec([3, 2]))
    assert close(by_spec(normal(1, 3) * 0 + X[:1], W), network(X[:1], W))


def test_what_does_not_fit_the_signature_is_refused() -> None:
    one = function(lambda x: x + 1, input_signature=[TensorSpec([None], "float32")])
    assert one([1, 2]).dtype == "float32"
    with pytest.raises(pb.errors.ArgumentTypeError, match="as of its input_signature"):
        one(np.ones((2, 2), np.float32))
    with pytest.raises(TypeError, match="too many positional arguments"):
        one(pb.ones(3), pb.ones(3))


# Variables ----------------------------------------------------------------------------------------


def test_variables_are_read_and_assigned_when_it_runs_in_the_order_of_the_code() -> None:
    v = pb.Variable([1.0, 2.0])

    def step(x: Any) -> Any:
        v.assign_add(x)
        product = v * x
        v.assign(product)
        return product + v

    expected = pb.Variable([1.0, 2.0])
    stepped = function(step)
    for k in (1.0, 2.0, 3.0):
        x = pb.tensor([k, -k])
        out = stepped(x)
        expected.assign_add(x)
        product = expected * x
        expected.assign(product)
        assert close(out, product + expected)
        assert close(v, expected)
        assert not outside.traces  # reading costs nothing again


def test_gradients_reach_variables_and_see_their_values_of_the_call() -> None:
    v = pb.Variable(W.numpy())
    total = function(lambda x: pb.sum(network(x, v) * v[0]))
    for _ in range(3):
        with pb.GradientTape() as tape:
            found = total(X)
        with pb.GradientTape() as other:
            wanted = pb.sum(network(X, v) * v[0])
        kept = v.numpy()
        v.assign(v * 0.5)  # between the call and the gradient
        assert close(tape.gradient(found, v), other.gradient(wanted, v))
        assert not np.array_equal(kept, v.numpy())


def test_a_variable_is_made_in_the_first_call_only() -> None:
    class Layer:
        v: Any = None

        @function
        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = pb.Variable(pb.random.normal((3,)))
            return x * self.v

    layer = Layer()
    first = layer(pb.ones(3))
    assert close(layer(pb.ones(3)), first)
    assert close(layer.v, first)
    greedy: list[Any] = []

    @function
    def again(x: Any) -> Any:
        greedy.append(pb.Variable(1.0))
        return x * greedy[-1]

    again(pb.ones(3))
    with pytest.raises(pb.errors.GraphError, match="made in its first call only"):
        again(pb.ones(4))

    @function
    def depends(x: Any) -> Any:
        greedy.append(pb.Variable(x))
        return x

    with pytest.raises(pb.errors.GraphError, match="needs no argument"):
        depends(pb.ones(3))


def test_other_threads_read_variables_while_one_traces() -> None:
    v = pb.Variable(2.0)
    inside, done = threading.Event(), threading.Event()
    seen: list[Any] = []

    def look() -> None:
        inside.wait(10)
        seen.append((v * 3.0).item())
        v.assign(5.0)
        done.set()

    thread = threading.Thread(target=look)
    thread.start()

    @function
    def slow(x: Any) -> Any:
        inside.set()
        assert done.wait(10)
        return x * v

    assert slow(pb.tensor(10.0)).item() == 50.0
    thread.join()
    assert seen == [6.0]


# What is inside -----------------------------------------------------------------------------------


def test_tapes_and_custom_gradients_inside_and_around() -> None:
    @pb.custom_gradient
    def reversed_(x: Any) -> Any:
        return x * 1.0, lambda g: -g

    class Square(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 20.0 * x

    def inside(x: Any) -> Any:
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = pb.sum(reversed_(pb.sin(x)) * Square.apply(x))
        return tape.gradient(y, x)

    x = normal(4)
    assert close(function(inside)(x), inside(x))
    for asked in (pb.jacrev, pb.jacfwd):
        assert close(asked(function(inside))(x), asked(inside)(x))


def test_random_numbers_are_drawn_when_it_runs_and_once() -> None:
    noisy = function(lambda x: x * pb.random.normal((3,)))
    x = normal(3)
    assert not close(noisy(x), noisy(x))
    y, pull = pb.vjp(noisy, x)
    (dx,) = pull(pb.ones(3))
    assert close(dx * x, y)
    second = pb.grad(lambda x: pb.sum(pb.grad(lambda x: pb.sum(noisy(x) ** 2))(x) * x))
    pb.random.seed(0)
    found = second(x)
    pb.random.seed(0)
    noise = pb.random.normal((3,))
    assert close(found, 4 * x * noise * noise)


def test_a_function_inside_a_function_is_traced_once() -> None:
    count = [0]

    @function
    def inner(x: Any, w: Any) -> Any:
        count[0] += 1
        return network(x, w)

    @function
    def outer(x: Any, w: Any) -> Any:
        return pb.sum(inner(x, w) * inner(x + 1, w))

    def plain(x: Any, w: Any) -> Any:
        return pb.sum(network(x, w) * network(x + 1, w))

    for _ in range(2):
        assert close(outer(X, W), plain(X, W))
        assert close(pb.grad(outer, 1)(X, W), pb.grad(plain, 1)(X, W))
        assert close(pb.hessian(outer, 1)(X, W), pb.hessian(plain, 1)(X, W))
        assert close(pb.jvp(outer, (X, W), (X, W))[1], pb.jvp(plain, (X, W), (X, W))[1])
    assert count == [1]


def test_a_function_inside_may_close_over_what_surrounds_it() -> None:
    def outer(x: Any, w: Any, wrap: Any) -> Any:
        scaled = w * 3.0

        def inner(y: Any) -> Any:
            return pb.sum(pb.matmul(y, scaled) ** 2)

        return wrap(inner)(x) * pb.sum(x)

    whole = function(lambda x, w: outer(x, w, function))
    for x in (X, X + 1):
        for arg in (0, 1):
            assert close(pb.grad(whole, arg)(x, W),
                         pb.grad(lambda x, w: outer(x, w, lambda f: f), arg)(x, W))


def test_gradients_reach_tensors_that_are_closed_over() -> None:
    w = pb.tensor(W.numpy().copy(), requires_grad=True)
    pb.sum(function(lambda x: network(x, w))(X)).backward()
    assert close(w.grad, pb.grad(lambda w: pb.sum(network(X, w)))(W))


def test_no_grad_inside_and_around() -> None:
    def half(x: Any) -> Any:
        with pb.no_grad():
            constant = x * x
        return pb.sum(constant * x)

    x = normal(3)
    assert close(pb.grad(function(half))(x), x * x)
    x.requires_grad_()
    with pb.no_grad():
        assert not function(half)(x).requires_grad


# Errors and life -------------------------------------------------------------------------------


def test_a_value_cannot_be_asked_for_while_it_is_traced() -> None:
    def branch(x: Any) -> Any:
        return x if x[0] > 0 else -x

    with pytest.raises(pb.errors.SymbolError, match="use where or cond"):
        function(branch)(X)
    assert pb.is_grad_enabled()
    assert close(traced(X, W), network(X, W))


def test_an_error_while_it_runs_names_the_operation_and_its_line() -> None:
    @function(input_signature=[TensorSpec([None]), TensorSpec([None])])
    def both(x: Any, y: Any) -> Any:
        return x + y

    for _ in range(2):
        with pytest.raises(pb.errors.ShapeError) as caught:
            both(pb.ones(2), pb.ones(3))
        text = "\n".join(caught.value.__notes__)
        assert "'add' (add), built at" in text
        assert "test_function.py:" in text
        both(pb.ones(2), pb.ones(2))


def test_the_graph_of_a_call_is_freed_with_its_results() -> None:
    x = pb.tensor(RNG.normal(size=(4, 3)), requires_grad=True)
    y = traced(x, W)
    kept = weakref.ref(y.node)
    pb.sum(y).backward()
    assert x.grad is not None
    with pytest.raises(pb.errors.GraphFreedError):
        pb.sum(y).backward()
    del y
    assert kept() is None
