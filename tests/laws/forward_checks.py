"""The laws of forward mode, and those that tie it to reverse mode, as functions that raise.

A pushforward carries a tangent t of the arguments to J t; as a real-linear map also where numbers
are complex. Tangents are random, never ones. Inner products are `checks.inner`'s: Σ Re(c* · v),
under which the pullback is the adjoint of the pushforward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import pullback as pb
from pullback.core import forward as push_module
from pullback.core.op import Op
from pullback.transposition import push_transposed
from tests.laws.checks import (
    EXACT,
    STEP,
    Arrays,
    cotangents_of,
    inner,
    is_inexact,
    outputs,
    plain,
    random_like,
)

Call = Callable[..., Any]


def tangents_of(arrays: Arrays, rng: np.random.Generator) -> list[Any]:
    """A random tangent for each argument; None for integers and booleans."""
    return [random_like(a, rng) if is_inexact(a) else None for a in arrays]


def pushed(call: Call, arrays: Arrays, tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The value and the tangent, computed together: lists of raw arrays."""
    value, tangent = pb.jvp(call, tuple(arrays), tuple(tangents))
    return [plain(v) for v in outputs(value)], [plain(t) for t in outputs(tangent)]


def pushed_along(call: Call, arrays: Arrays, tangents: Sequence[Any]) -> list[np.ndarray]:
    """The tangent, carried along the recorded graph afterwards."""
    _, push = pb.linearize(call, *arrays)
    return [plain(t) for t in outputs(push(*tangents))]


def only(tangents: Sequence[Any], i: int) -> list[Any]:
    """The i-th tangent, and none of the others."""
    return [t if j == i else None for j, t in enumerate(tangents)]


def along(arrays: Arrays, tangents: Sequence[Any], by: complex) -> list[np.ndarray]:
    """The arrays, moved by a multiple of the tangents."""
    return [
        a if t is None else np.asarray(a + by * t) for a, t in zip(arrays, tangents, strict=True)
    ]


def differences(reference: Call, arrays: Arrays, tangents: Sequence[Any]) -> list[np.ndarray]:
    """The derivative along the tangents by central differences of fourth order."""
    at = [
        [np.asarray(o) for o in outputs(reference(*along(arrays, tangents, k * STEP)))]
        for k in (-2, -1, 1, 2)
    ]
    return [
        (8 * (c - b) - (d - a)) / (12 * STEP) if is_inexact(a) else np.zeros_like(a)
        for a, b, c, d in zip(*at, strict=True)
    ]


def complex_steps(reference: Call, arrays: Arrays, tangents: Sequence[Any]) -> list[np.ndarray]:
    """The derivative along the tangents of a function that takes complex steps."""
    moved = outputs(reference(*along(arrays, tangents, EXACT * 1j)))
    return [np.imag(o) / EXACT for o in moved]


def assert_near(
    got: Sequence[Any], wanted: Sequence[Any], tolerance: float, what: str
) -> None:
    """Two lists of arrays agree, relative to the largest entry (at least 1)."""
    assert len(got) == len(wanted), what
    for k, (g, w) in enumerate(zip(got, wanted, strict=True)):
        g, w = plain(g), plain(w)
        assert g.shape == w.shape, f"{what}, output {k}: shape {g.shape}, not {w.shape}"
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=1) if is_inexact(w) else 1
        np.testing.assert_allclose(
            g, w, rtol=0, atol=tolerance * scale, err_msg=f"{what}, output {k}"
        )


# The laws --------------------------------------------------------------------------------------


def check_pushforward(
    call: Call, arrays: Arrays, rng: np.random.Generator, reference: Call | None = None, *,
    rtol: float = 1e-7, analytic: bool = False,
) -> None:
    """The tangent of each argument alone, and of all, against differences of the reference.

    The value is what it is without tangents, tangents live in the space of their output, along
    the recorded graph they are the same, and nothing is written to.
    """
    reference = reference or call
    tangents = tangents_of(arrays, rng)
    before = [None if t is None else t.tobytes() for t in (*arrays, *tangents)]
    value, tangent = pushed(call, arrays, tangents)
    assert before == [None if t is None else t.tobytes() for t in (*arrays, *tangents)]
    for k, (v, w, t) in enumerate(zip(value, outputs(call(*arrays)), tangent, strict=True)):
        np.testing.assert_array_equal(v, plain(w), err_msg=f"value, output {k}")
        space = f"{t.dtype}{list(t.shape)}"
        assert (t.shape, t.dtype) == (v.shape, v.dtype), f"tangent of output {k}: {space}"
    measured = complex_steps if analytic else differences
    assert_near(tangent, measured(reference, arrays, tangents), rtol, "tangent of all arguments")
    assert_near(pushed_along(call, arrays, tangents), tangent, 1e-13, "tangent along the graph")
    sources = [i for i, t in enumerate(tangents) if t is not None]
    for i in sources if len(sources) > 1 else ():
        alone = only(tangents, i)
        got = pushed(call, arrays, alone)[1]
        wanted = measured(reference, arrays, alone)
        assert_near(got, wanted, rtol, f"tangent of argument {i}")


def check_push_linear(call: Call, arrays: Arrays, rng: np.random.Generator) -> None:
    """The pushforward is linear in the tangents, and keeps zero zero."""
    one, two = (tangents_of(arrays, rng) for _ in range(2))
    a, b = rng.standard_normal(2)
    mixed = [None if s is None else a * s + b * t for s, t in zip(one, two, strict=True)]
    zero = [None if s is None else 0 * s for s in one]
    first, second, both, nothing = (pushed(call, arrays, t)[1] for t in (one, two, mixed, zero))
    assert_near(
        both, [a * s + b * t for s, t in zip(first, second, strict=True)], 1e-12,
        "linearity in the tangent",
    )
    assert not any(np.any(n) for n in nothing), f"a zero tangent gives {nothing}"


def check_both_directions(call: Call, arrays: Arrays, rng: np.random.Generator) -> None:
    """⟨c, J t⟩ = ⟨Jᵀ c, t⟩, for the tangent of each argument alone."""
    cotangents = cotangents_of(call, arrays, rng)
    tangents = tangents_of(arrays, rng)
    back = pb.vjp(call, *arrays)[1](given(cotangents, call, arrays))
    for i, t in enumerate(tangents):
        if t is None:
            continue
        ahead = pushed(call, arrays, only(tangents, i))[1]
        left, right = inner(cotangents, ahead), inner([t], [back[i]])
        scale = 1 + sum(
            float(np.sum(np.abs(c * plain(v))))
            for c, v in zip(cotangents, ahead, strict=True) if c is not None
        )
        assert abs(left - right) <= 1e-12 * scale, (
            f"argument {i}: ⟨c, J t⟩ {left}, ⟨Jᵀ c, t⟩ {right}"
        )


def given(cotangents: Sequence[Any], call: Call, arrays: Arrays) -> Any:
    """Cotangents in the structure of a call's result."""
    result = call(*arrays)
    if not isinstance(result, (tuple, list)):
        return cotangents[0]
    return list(cotangents) if isinstance(result, list) else tuple(cotangents)


@contextmanager
def by_transposition() -> Iterator[None]:
    """No operation's own way forward is used: its pullback is recorded, and pulled."""
    own = push_module._push_operation

    def transposed(node: Any, tangents: Any, record: bool, cls: type, link: Any) -> Any:
        return push_transposed(node, tangents, record, cls)

    push_module._push_operation = transposed
    try:
        yield
    finally:
        push_module._push_operation = own


def check_transposed(call: Call, arrays: Arrays, rng: np.random.Generator) -> None:
    """The tangent by the operations' own rules is the one by transposing their pullbacks."""
    tangents = tangents_of(arrays, rng)
    for i in [i for i, t in enumerate(tangents) if t is not None]:
        alone = only(tangents, i)
        own = pushed_along(call, arrays, alone)
        with by_transposition():
            transposed = pushed_along(call, arrays, alone)
        assert_near(own, transposed, 1e-12, f"argument {i}, own rule and by transposition")


def check_saves_nothing_more(made: Op) -> None:
    """A pushforward reads what the pullback of its argument reads, so that nodes stay small."""
    count = 2 if made.variadic else len(made.arguments)
    own = {name: getattr(made, name) for name in ("pushes", "together", "linear")}
    backward_only = {"pushes": {}, "together": None, "linear": False}
    for mask in range(1, 2**count):
        tracked = tuple(bool(mask >> i & 1) for i in range(count))
        saved = []
        for rules in (own, backward_only):
            made._keep.clear()
            for name, value in rules.items():
                setattr(made, name, value)
            try:
                saved.append(made.keep(tracked))
            finally:
                made._keep.clear()
                for name, value in own.items():
                    setattr(made, name, value)
        assert saved[0] == saved[1], (
            f"{made.name} with {tracked} tracked saves {saved[0]} of (inputs…, output); its "
            f"pullbacks read {saved[1]}"
        )


# Second order ----------------------------------------------------------------------------------


def check_orders_agree(call: Call, arrays: Arrays, rng: np.random.Generator) -> None:
    """Forward over reverse, reverse over reverse, forward over forward, reverse over forward.

    With G(x, c) the pullback, δG its change along (s, d), and w weights on it: ⟨w, δG⟩ is also
    ⟨pullback of G by w, (s, d)⟩. With d = 0 and w = t, it is ⟨c, D²f[s, t]⟩, which forward mode
    in forward mode finds, and reverse mode through a tangent.
    """
    cotangents = cotangents_of(call, arrays, rng)
    live = [k for k, c in enumerate(cotangents) if c is not None]
    where = [i for i, a in enumerate(arrays) if is_inexact(a)]
    n = len(where)

    def f(*xs: Any) -> list[Any]:
        seen = list(arrays)
        for i, x in zip(where, xs, strict=True):
            seen[i] = x
        found = outputs(call(*seen))
        return [found[k] for k in live]

    def pullback(*both: Any) -> list[Any]:
        return list(pb.vjp(f, *both[:n])[1](list(both[n:])))

    xs, cs = [arrays[i] for i in where], [cotangents[k] for k in live]
    point = [*xs, *cs]
    moves = [random_like(a, rng) for a in point]
    t = [random_like(x, rng) for x in xs]
    ahead = outputs(pb.jvp(pullback, point, moves)[1])
    back = pb.vjp(pullback, *point)[1](list(t))
    size = 1 + sum(float(np.sum(np.abs(plain(a)))) for a in (*ahead, *back))
    left, right = inner(t, ahead), inner(moves, back)
    assert abs(left - right) <= 1e-12 * size, (
        f"forward over reverse {left}, reverse over reverse {right}"
    )
    s = moves[:n]
    still = [*s, *(np.zeros_like(c) for c in cs)]
    wanted = inner(t, outputs(pb.jvp(pullback, point, still)[1]))

    def tangent(*xs: Any) -> list[Any]:
        return outputs(pb.jvp(f, xs, t)[1])

    twice = inner(cs, outputs(pb.jvp(tangent, xs, s)[1]))
    assert abs(twice - wanted) <= 1e-12 * size, (
        f"forward over forward {twice}, forward over reverse {wanted}"
    )
    through = inner(s, pb.vjp(tangent, *xs)[1](list(cs)))
    assert abs(through - wanted) <= 1e-12 * size, (
        f"reverse over forward {through}, forward over reverse {wanted}"
    )
