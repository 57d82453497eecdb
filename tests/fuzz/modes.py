"""One program of the front end in every mode: all give the derivative that `backward` gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
import pullback.torch as t
from tests.fuzz.programs import Program, loss_of, space_of

ONE_WAY = ("no_grad", "detach", "Straight", "round")
"""Lines whose gradient is not the derivative of the values: forward mode differs on purpose."""
NOT_LINEAR = ("Clipped",)
HOOKED = "hooked"
"""Puts a hook where a tensor requires a gradient, which one that a tape watches does not."""


def function_of(program: Program) -> Callable[..., Any]:
    """The program as a function of the leaves, which returns the loss."""

    def f(*leaves: Any) -> Any:
        space = space_of(t, program, leaves)
        for line in program.lines:
            exec(line, space)
        return loss_of(t, space)

    return f


def by_transformation(f: Any, xs: list[Any], ts: list[Any]) -> list[Any]:
    """`pb.grad`."""
    return list(pb.grad(f, tuple(range(len(xs))))(*xs))


def by_tape(f: Any, xs: list[Any], ts: list[Any]) -> list[Any]:
    """A tape that watches the leaves."""
    with pb.GradientTape() as tape:
        tape.watch(xs)
        loss = f(*xs)
    return list(tape.gradient(loss, xs, unconnected_gradients="zero"))


def by_tracing(f: Any, xs: list[Any], ts: list[Any]) -> list[Any]:
    """`pb.grad` of a traced function, asked twice: the first run of a graph is a special one."""
    traced = pb.function(f)
    pb.grad(traced, 0)(*xs)
    return list(pb.grad(traced, tuple(range(len(xs))))(*xs))


def by_batching(f: Any, xs: list[Any], ts: list[Any]) -> list[Any]:
    """`vmap` of the gradient, of three examples of which the first is asked for."""
    slope = pb.grad(f, tuple(range(len(xs))))
    batched = [pb.stack([x, x * 0.5, x - 0.25]) for x in xs]
    return [g[0] for g in pb.vmap(slope)(*batched)]


REVERSE = {f.__name__: f for f in (by_transformation, by_tape, by_tracing, by_batching)}


def wrong_modes(program: Program, wanted: dict[str, Any]) -> str:
    """How the modes differ from the gradients of `backward`: "" if none does."""
    f = function_of(program)
    rng = np.random.default_rng(program.seed + 1)
    arrays = program.leaves()
    directions = [rng.normal(size=a.shape) for a in arrays]
    text = "\n".join(program.lines)
    if HOOKED in text:
        return ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, mode in REVERSE.items():
            xs = [t.tensor(a) for a in arrays]
            try:
                found = mode(f, xs, directions)
            except Exception as error:
                return f"refused {name}: {type(error).__name__}: {error}"
            for i, g in enumerate(found):
                target = wanted[f"x{i}"]
                target = np.zeros_like(arrays[i]) if target is None else target
                if not _close(g.numpy(), target):
                    return f"different {name}: x{i}: {g.numpy()} for {target}"
        if not any(word in text for word in (*ONE_WAY, *NOT_LINEAR)):
            return _wrong_tangent(f, arrays, directions, wanted)
    return ""


def _wrong_tangent(f: Any, arrays: Any, directions: Any, wanted: dict[str, Any]) -> str:
    xs, ts = [t.tensor(a) for a in arrays], [t.tensor(d) for d in directions]
    try:
        _, tangent = pb.jvp(f, xs, ts)
    except Exception as error:
        return f"refused jvp: {type(error).__name__}: {error}"
    pairs = zip(wanted.values(), directions, strict=True)
    target = sum(np.sum(g * d) for g, d in pairs if g is not None)
    if not _close(tangent.numpy(), np.asarray(target)):
        return f"different jvp: {tangent.numpy()} for {target}"
    return ""


def _close(found: Any, wanted: Any) -> bool:
    scale = np.max(np.abs(wanted), initial=1.0)
    return bool(np.allclose(found, wanted, rtol=1e-7, atol=1e-9 * scale, equal_nan=True))
