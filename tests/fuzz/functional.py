"""Random programs of functions and transformations, on the library and on JAX.

A program is a function of two arrays, written by both names: `xp` is `pullback` or `jax.numpy`,
`lib` has the transformations and two hand-written rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

import pullback as pb
from tests.fuzz.programs import Program

LINES = [
    "xp.sin({x})", "xp.tanh({x})", "xp.exp(-{x} * {x})", "{x} * {y}", "{x} + {y}",
    "{x} - 0.5 * {y}", "{x} / ({y} * {y} + 1)", "xp.maximum({x}, {y})",
    "xp.where({x} > {y}, {x} * 2, {y})",
    "xp.sum({x}, axis={d}, keepdims=True)", "xp.mean({x}, axis={d}, keepdims=True)",
    "xp.max({x}, axis={d}, keepdims=True)", "xp.reshape(xp.reshape({x}, (-1,)), {x}.shape)",
    "xp.flip({x}, axis={d})", "xp.roll({x}, 1, axis={d})", "xp.cumulative_sum({x}, axis={d})",
    "xp.matmul({x}, xp.permute_dims({x}, (1, 0)))", "xp.sqrt({x} * {x} + 1)", "xp.abs({x})",
    "xp.concat([{x}, {x}], axis={d})", "xp.expand_dims({x}[0], axis=0)", "xp.clip({x}, -0.6, 0.8)",
    "xp.atan2({x}, {y} * {y} + 1)", "xp.log1p({x} * {x})", "{x}[::-1] * {x}", "{x} ** 3",
    "xp.take({x}, xp.asarray([0, 0, 1]), axis={d})", "xp.stack([{x}, {x} * 2])[1]",
    "xp.std({x} + 2 * {y}, axis={d}, keepdims=True)", "xp.tile({x}, (1, 2))", "xp.square({x})",
    "lib.scaled({x})", "lib.pushed({x})", "lib.scaled({x} * {y})", "lib.stop_gradient({x}) * {x}",
    "lib.vmap(lambda r: xp.sum(r * r) * r)({x})", "lib.grad(lambda z: xp.sum(z ** 3))({x})",
    "lib.vmap(lib.grad(lambda r: xp.sum(lib.scaled(r))))({x})", "lib.checkpoint(xp.tanh)({x})",
    "lib.jvp(xp.sin, ({x},), ({x} * 0.5,))[1]", "lib.vjp(lib.pushed, {x})[1]({x})[0]",
    "xp.linalg.vector_norm({x} + 3, axis={d}, keepdims=True)",
    "xp.prod({x}, axis={d}, keepdims=True)",
]
SHAPES = [(2, 3), (3, 3), (1, 3), (3, 2)]


def rules_of(lib: Any, xp: Any) -> SimpleNamespace:
    """Transformations and rules of `pullback`, or of JAX."""

    @lib.custom_vjp
    def scaled(x: Any) -> Any:
        return xp.sin(x) * x

    scaled.defvjp(lambda x: (xp.sin(x) * x, x), lambda x, g: (g * (xp.cos(x) * x + xp.sin(x)),))

    @lib.custom_jvp
    def pushed(x: Any) -> Any:
        return xp.tanh(x)

    @pushed.defjvp
    def _push(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return xp.tanh(x), t * (1 - xp.tanh(x) ** 2)

    stop = lib.stop_gradient if lib is pb else lib.lax.stop_gradient
    return SimpleNamespace(
        scaled=scaled, pushed=pushed, grad=lib.grad, vmap=lib.vmap, jvp=lib.jvp, vjp=lib.vjp,
        stop_gradient=stop, checkpoint=lib.checkpoint,
    )


def function_of(program: Program, lib: Any, xp: Any) -> Callable[..., Any]:
    """The program as a function of its arrays, to a number."""
    rules = rules_of(lib, xp)

    def f(*arrays: Any) -> Any:
        space = {"xp": xp, "lib": rules, **{f"x{i}": a for i, a in enumerate(arrays)}}
        for line in program.lines:
            exec(line, space)
        made = [v for name, v in space.items() if name[0] == "v" or name == "x0"][-3:]
        return sum(xp.sum(xp.cos(v) * (k + 0.7)) for k, v in enumerate(made))

    return f


def written(seed: int) -> Program:
    """A random program; lines that NumPy's shapes forbid are left out, as those that grow."""
    random = Random(seed)
    program = Program(seed, [random.choice(SHAPES)] * 2, [])
    space: dict[str, Any] = {
        "xp": pb, "lib": rules_of(pb, pb),
        **{f"x{i}": pb.tensor(a) for i, a in enumerate(program.leaves())},
    }
    names = ["x0", "x1"]
    for _ in range(random.randint(2, 7)):
        x, y = random.choice(names[-3:]), random.choice(names)
        line = f"v{len(names)} = " + random.choice(LINES).format(x=x, y=y, d=random.randrange(2))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(line, space)
        except Exception:
            continue
        made = space[f"v{len(names)}"]
        if made.ndim == 2 and made.size <= 40 and bool(np.all(np.abs(made.numpy()) < 50)):
            names.append(f"v{len(names)}")
            program.lines.append(line)
    return program


def questions(
    lib: Any, f: Callable[..., Any], arrays: list[Any], ts: list[Any], batch: list[Any]
) -> dict[str, Any]:
    """What is asked of a function, by name; `batch` has several examples of each array."""
    of_all = tuple(range(len(arrays)))
    first = lib.grad(f, of_all)
    return {
        "value": lambda: f(*arrays),
        "grad": lambda: first(*arrays),
        "jvp": lambda: lib.jvp(f, tuple(arrays), tuple(ts))[1],
        "vmap of grad": lambda: lib.vmap(first)(*batch),
        "reverse over reverse": lambda: lib.grad(
            lambda *a: sum((g * t).sum() for g, t in zip(first(*a), ts, strict=True)), of_all
        )(*arrays),
        "forward over reverse": lambda: lib.jvp(first, tuple(arrays), tuple(ts))[1],
    }


def answers_of_jax(program: Program, given: tuple[Any, ...]) -> dict[str, Any]:
    """What JAX answers, in one compiled program: each operation by itself is compiled too.

    Left out is what JAX has not: forward mode through a rule that is a VJP.
    """
    import jax

    f = function_of(program, jax, jax.numpy)
    forward = "lib.scaled" not in str(program)

    def run(*given: Any) -> dict[str, Any]:
        asked = questions(jax, f, *given)
        return {n: q() for n, q in asked.items() if forward or not ("jvp" in n or "forward" in n)}

    found: dict[str, Any] = jax.jit(run)(*given)
    return found


def differences(program: Program) -> str:
    """How the answers differ from JAX's; "" if they do not."""
    import jax

    rng = np.random.default_rng(program.seed + 1)
    arrays = program.leaves()
    ts = [rng.normal(size=a.shape) for a in arrays]
    batch = [np.stack([a, a * 0.5, a - 0.3]) for a in arrays]
    with warnings.catch_warnings(), jax.enable_x64(True), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            theirs = answers_of_jax(program, (arrays, ts, batch))
        except Exception:
            return ""  # JAX has no answer
        ours = questions(
            pb, function_of(program, pb, pb), [pb.tensor(a) for a in arrays],
            [pb.tensor(t) for t in ts], batch,
        )
        for name, wanted in theirs.items():
            wrong = _compared(name, ours[name], wanted)
            if wrong:
                return wrong
    return ""


def _compared(name: str, ours: Callable[[], Any], wanted: Any) -> str:
    try:
        found = ours()
    except Exception as error:
        return f"refused {name}: {type(error).__name__}: {error}"
    pairs = zip(_flat(found), _flat(wanted), strict=True)
    for f, w in pairs:
        if not np.all(np.isfinite(w)):
            continue  # at a singular point, where a cotangent of zero stays zero here
        scale = np.max(np.abs(w), initial=1.0)
        if f.shape != w.shape or not np.allclose(f, w, rtol=1e-8, atol=1e-10 * scale):
            return f"different {name}: {f} for {w}"
    return ""


def _flat(answer: Any) -> list[np.ndarray]:
    values = answer if isinstance(answer, (tuple, list)) else [answer]
    return [np.asarray(v.numpy() if hasattr(v, "numpy") else v) for v in values]
