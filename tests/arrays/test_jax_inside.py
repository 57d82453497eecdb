"""Inside JAX's own transformations: what runs outside runs there as it does, with no glue."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import InplaceError, MixedLibrariesError, PositionError

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.array([0.5, -1.0, 2.0], "float32")


@pb.custom_gradient
def clipped(x: Any) -> Any:
    """x, whose gradient is cut at 1."""
    return x, lambda g: pb.clip(g, -1.0, 1.0)


def loss(x: Any) -> Any:
    return pb.sum(pb.exp(clipped(x * x * 3.0)) * x)


def by_tape(x: Any) -> Any:
    x = pb.tensor(x)
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    return tape.gradient(y, x).data


def by_grad(x: Any) -> Any:
    return pb.grad(loss)(pb.tensor(x)).data


def by_backward(x: Any) -> Any:
    leaf = pb.tensor(x, requires_grad=True)
    loss(leaf).backward()
    return leaf.grad.data


WAYS = pytest.mark.parametrize("way", [by_tape, by_grad, by_backward])


@WAYS
def test_tapes_and_custom_gradients_compile(way: Any) -> None:
    traces = []

    def counted(x: Any) -> Any:
        traces.append(x)
        return way(x)

    compiled = jax.jit(counted)
    for scale in (1.0, -0.5):
        x = jnp.asarray(X * scale)
        np.testing.assert_allclose(compiled(x), way(x), rtol=1e-6)
        np.testing.assert_allclose(way(x), way(X * np.float32(scale)), rtol=1e-5)
    assert len(traces) == 1
    compiled(jnp.ones(4))
    assert len(traces) == 2


@WAYS
def test_no_tracer_is_left_behind(way: Any) -> None:
    with jax.checking_leaks():
        np.testing.assert_allclose(jax.jit(way)(jnp.asarray(X)), way(X), rtol=1e-5)


@WAYS
def test_under_jax_vmap(way: Any) -> None:
    rows = np.stack([X, X + 1, -X])
    wanted = np.stack([way(row) for row in rows])
    for mapped in (jax.vmap(way), jax.jit(jax.vmap(way))):
        np.testing.assert_allclose(mapped(jnp.asarray(rows)), wanted, rtol=1e-5)


def test_under_jax_grad_of_other_arguments() -> None:
    """JAX differentiates once more through what was pulled back here, twice over as we do."""
    def slope(w: Any, x: Any) -> Any:
        return pb.grad(lambda x: pb.sum(pb.sin(x * pb.tensor(w))))(pb.tensor(x)).data.sum()

    w = jnp.asarray(0.7)
    found = jax.grad(slope)(w, jnp.asarray(X))
    wanted = np.sum(np.cos(0.7 * X) - 0.7 * X * np.sin(0.7 * X))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_vmap_and_forward_mode_of_ours_inside_jit() -> None:
    rows = np.stack([X, X + 1])

    @jax.jit
    def run(rows: Any) -> Any:
        def f(x: Any) -> Any:
            return pb.sum(pb.tanh(x) * x)

        each = pb.vmap(pb.grad(f))(pb.tensor(rows))
        along = pb.jvp(f, (rows[0],), (rows[1],))[1]
        return each.data, along.data, pb.hessian(f)(pb.tensor(rows[0])).data

    each, along, hessian = run(jnp.asarray(rows))
    first = np.tanh(rows) + rows / np.cosh(rows) ** 2
    np.testing.assert_allclose(each, first, rtol=1e-5)
    np.testing.assert_allclose(along, np.sum(first[0] * rows[1]), rtol=1e-5)
    second = (2 - 2 * rows[0] * np.tanh(rows[0])) / np.cosh(rows[0]) ** 2
    np.testing.assert_allclose(hessian, np.diag(second), rtol=1e-5, atol=1e-6)


def test_functions_and_overrides_inside_jit() -> None:
    class Cube(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 10 * x

    def f(x: Any) -> Any:
        with pb.override_gradient({"sign": lambda op, g: g * 100}):
            signs = pb.sign(x)
        return pb.sum(signs + Cube.apply(x) + pb.straight_through(pb.round)(x))

    got = jax.jit(lambda x: pb.grad(f)(pb.tensor(x)).data)(jnp.asarray(X))
    np.testing.assert_allclose(got, 100 + 10 * X + 1, rtol=1e-6)


# Training -------------------------------------------------------------------------------------


def steps(xp: Any, how: Any) -> tuple[list[Any], list[float]]:
    """Steps of a small network; the parameters and the losses."""
    rng = np.random.default_rng(0)
    arrays = [
        xp.asarray(rng.standard_normal(shape).astype("float32") * 0.3)
        for shape in ((5, 8), (8,), (8, 3), (3,))
    ]
    x = xp.asarray(rng.standard_normal((16, 5)).astype("float32"))
    y = xp.asarray(rng.integers(0, 3, 16).astype("int32"))

    def network(ps: Any, x: Any, y: Any) -> Any:
        hidden = pb.relu(x @ ps[0] + ps[1])
        return pb.cross_entropy(hidden @ ps[2] + ps[3], y)

    def step(ps: Any, x: Any, y: Any) -> Any:
        value, gs = pb.value_and_grad(network)([pb.tensor(p) for p in ps], x, y)
        return [p - 0.5 * g.data for p, g in zip(ps, gs, strict=True)], value.data

    run, losses = how(step), []
    for _ in range(20):
        arrays, value = run(arrays, x, y)
        losses.append(float(value))
    return arrays, losses


def test_a_compiled_training_step_is_that_of_numpy() -> None:
    arrays, losses = steps(jnp, jax.jit)
    wanted, known = steps(np, lambda step: step)
    assert losses[-1] < losses[0] / 2
    np.testing.assert_allclose(losses, known, rtol=1e-5, atol=1e-6)
    for got, want in zip(arrays, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize(("kind", "options"), [
    (pb.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (pb.optim.Adam, {"lr": 0.1, "amsgrad": True}), (pb.optim.RMSprop, {"lr": 0.1}),
])
def test_optimizers_move_them(kind: Any, options: Any, variable: bool, dtype: str) -> None:
    start = (X * (1 + 2j) if dtype == "complex64" else X).astype(dtype)
    made = []
    for xp in (jnp, np):
        x = xp.asarray(start.copy())
        p = pb.Variable(x) if variable else pb.tensor(x, requires_grad=True)
        optimizer = kind([p], **options)
        for _ in range(3):
            with pb.GradientTape() as tape:
                tape.watch(p)
                y = pb.sum(pb.abs(p) ** 2)
            optimizer.step([tape.gradient(y, p)])
        made.append(p.data)
    assert isinstance(made[0], jax.Array)
    np.testing.assert_allclose(made[0], made[1], rtol=1e-5)


# Devices --------------------------------------------------------------------------------------

SHARDED = """
import jax, numpy as np, pullback as pb
from jax.sharding import PartitionSpec as P

def slope(w, x):
    def f(w):
        return pb.sum(pb.tanh(pb.tensor(x) @ w) ** 2)
    return jax.lax.psum(pb.grad(f)(pb.tensor(w)).data, "i")

devices = len(jax.devices())
mesh = jax.sharding.Mesh(jax.devices(), ("i",))
w, x = np.full((3,), 0.3, "float32"), np.arange(12.0, dtype="float32").reshape(4, 3) / 7
run = jax.jit(jax.shard_map(slope, mesh=mesh, in_specs=(P(), P("i")), out_specs=P()))
y = np.tanh(x @ w)
np.testing.assert_allclose(run(w, x), (2 * y * (1 - y * y)) @ x, rtol=1e-5)
print(devices)
"""


@pytest.mark.parametrize("devices", [1, 2])
def test_under_shard_map(devices: int) -> None:
    """In a process of its own: the number of devices is settled when JAX starts."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    root = Path(__file__).parents[2]
    paths = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", SHARDED], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{devices}\n", done.stderr[-2000:]


# The arrays themselves ------------------------------------------------------------------------


def test_an_array_is_kept_as_it_is() -> None:
    x = jnp.asarray(X, "bfloat16")
    t = pb.tensor(x)
    assert t.data is x
    assert t.dtype == x.dtype
    assert t.device == x.device
    (g,) = pb.autograd.grad(pb.sum((p := pb.tensor(x, requires_grad=True)) * p), p)
    assert (type(g.data), g.dtype) == (type(x), x.dtype)


def test_libraries_do_not_mix() -> None:
    x = pb.tensor(jnp.asarray(X))
    for other in (X, pb.tensor(X)):
        with pytest.raises(MixedLibrariesError, match=r"jax and numpy|numpy and jax"):
            x * other
    assert (x * np.float32(2)).dtype == "float32"
    np.testing.assert_array_equal((2.0 * x).numpy(), 2 * X)
    assert isinstance((jnp.asarray(X) + x).data, jax.Array)


def test_what_a_tracer_cannot_say_is_an_error_at_its_line() -> None:
    def decides(x: Any) -> Any:
        t = pb.tensor(x)
        assert "float32[3]" in repr(t)
        return x if t[0] > 0 else -x

    with pytest.raises(pb.errors.SymbolError, match=r"test_jax_inside\.py"):
        jax.jit(decides)(jnp.asarray(X))


def test_positions() -> None:
    x = jnp.asarray(X)
    for index in (3, -4, (..., 3)):
        with pytest.raises(PositionError, match="out of bounds"):
            pb.tensor(x)[index]
        with pytest.raises(PositionError, match="out of bounds"):
            pb.set_at(x, 0.0, index)
    taken = jax.jit(lambda x, i: pb.grad(lambda x: x[i] * x[0])(pb.tensor(x)).data)(x, 2)
    np.testing.assert_array_equal(taken, [X[2], 0, X[0]])


def test_random_numbers_are_of_the_parameters_library() -> None:
    scale = jnp.asarray(X)
    sample = pb.random.Generator(3).normal(scale=pb.tensor(scale))
    np.testing.assert_array_equal(
        sample.numpy(), pb.random.Generator(3).normal(scale=pb.tensor(X)).numpy()
    )
    assert isinstance(pb.random.permutation(pb.tensor(scale)).data, jax.Array)
    assert isinstance(pb.dropout(pb.tensor(scale), 0.5).data, jax.Array)
    drawn = jax.vmap(lambda p: pb.random.bernoulli(pb.tensor(p), (4,)).data)(jnp.ones(1))
    assert drawn.tolist() == [[True] * 4]
    with pytest.raises(pb.errors.ArgumentError, match="probability"):
        pb.random.bernoulli(jnp.asarray(1.5))


# Writing --------------------------------------------------------------------------------------


def written(xp: Any) -> list[Any]:
    """Values, and gradients, after writes to tensors, their views, and views of these."""
    x = pb.tensor(xp.asarray(np.arange(6.0, dtype="float32").reshape(2, 3)))
    w = pb.tensor(xp.array(X), requires_grad=True)
    row, turned, flat, part = x[0], x.T, pb.reshape(x, (6,)), x[1][1:]
    seen: list[Any] = []

    def see(*tensors: Any) -> None:
        seen.extend(np.array(t.numpy()) for t in tensors)

    row[...] = w * 2
    see(x, turned, flat)
    flat[4] = w[0] * w[1]
    see(x, part, turned)
    part *= 10
    see(x, row, flat)
    x[[0, 1]][0] = 0.0  # a copy
    pb.astype(x, x.dtype)[...] = 0.0
    see(x)
    y = pb.sum(turned * turned) + pb.sum(flat * flat * flat)
    seen.append(pb.autograd.grad(y, w)[0].numpy())
    with pb.no_grad():
        w -= 1.0
    pb.sum(w * w).backward()
    see(w, w.grad)
    return seen


def test_a_write_reaches_views_and_bases_and_their_histories() -> None:
    for got, wanted in zip(written(jnp), written(np), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_an_array_is_never_changed() -> None:
    x = jnp.asarray(X)
    t = pb.tensor(x)
    t += 1.0
    t[0] = 9.0
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(t.numpy(), [9.0, *(X[1:] + 1)])


def test_a_write_compiles() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[1:] *= y[0]
        return pb.sum(y * y)

    got = jax.jit(lambda x: pb.grad(f)(pb.tensor(x)).data)(jnp.asarray(X))
    np.testing.assert_allclose(got, pb.grad(f)(pb.tensor(X)).numpy(), rtol=1e-5)


def test_what_broadcasting_repeats_is_not_written() -> None:
    stretched = pb.broadcast_to(pb.tensor(jnp.asarray(X)), (2, 3))
    with pytest.raises(InplaceError, match="repeats"):
        stretched[0] = 1.0
