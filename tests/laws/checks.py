"""The laws that a derivative obeys, as functions that raise `AssertionError` when one is broken.

All of them see an operation as a function of arrays, `call`, and ask for its pullback through the
public way. Cotangents are random, never ones: ones hide every rule that forgets its cotangent.

The gradient of a real loss L in a complex array is dL/dRe + i dL/dIm, as PyTorch has it. A
cotangent c stands for the loss L = Σ Re(c* · out), of which out's gradient is c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback import Tensor
from pullback.autograd import gradients
from tests import tier

Arrays = Sequence[np.ndarray]
STEP = 1e-3
"""Of central differences of fourth order: their error is near h⁴/30 · f⁽⁵⁾, some 1e-10."""
EXACT = 1e-20
"""Of complex steps: nothing cancels, so the step can be as small as numbers are."""
SMALL = 24 if tier.FULL else 4
"""Up to this many entries each one is varied; beyond, random directions: each shows an error."""


def outputs(result: Any) -> list[Any]:
    """The arrays of a result, be it one or several."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def plain(value: Any) -> np.ndarray:
    """The NumPy array in a Tensor, scalar or array."""
    return np.asarray(value.data if isinstance(value, Tensor) else value)


def is_inexact(array: np.ndarray) -> bool:
    """Whether an array can have a derivative."""
    return array.dtype.kind in "fc"


def sealed(array: np.ndarray) -> np.ndarray:
    """The array, which nobody can write to any more."""
    array.flags.writeable = False
    return array


def random_like(array: Any, rng: np.random.Generator) -> np.ndarray:
    """Random numbers in the space of an array, which cannot be written to."""
    array = np.asarray(array)
    made = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(array.shape)
    return sealed(np.array(made, array.dtype))


def cotangents_of(call: Callable[..., Any], arrays: Arrays, rng: np.random.Generator) -> list[Any]:
    """A random cotangent for each output; None for those of integers and booleans."""
    values = [plain(o) for o in outputs(call(*arrays))]
    return [random_like(v, rng) if is_inexact(v) else None for v in values]


def pulled(
    call: Callable[..., Any], arrays: Arrays, cotangents: Sequence[Any],
    tracked: Sequence[int] | None = None, constant: Callable[[Any], Any] = Tensor,
) -> list[np.ndarray]:
    """The gradients in the tracked arguments (all that can have one), as raw arrays."""
    if tracked is None:
        tracked = [i for i, a in enumerate(arrays) if is_inexact(a)]
    args = [
        Tensor(a, requires_grad=True) if i in tracked else constant(a)
        for i, a in enumerate(arrays)
    ]
    found = grads(outputs(call(*args)), [args[i] for i in tracked], cotangents)
    return [g.data for g in found]


def grads(
    results: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], *,
    create: bool = False,
) -> list[Any]:
    """Gradients as Tensors: zeros where nothing depends on a leaf."""
    live = [
        (o, c) for o, c in zip(results, cotangents, strict=True)
        if c is not None and isinstance(o, Tensor) and o.requires_grad
    ]
    if not live:
        return [Tensor(np.zeros(x.shape, x.dtype)) for x in leaves]
    found = gradients(
        [o for o, _ in live], leaves, [c for _, c in live], create_graph=create, allow_unused=True
    )
    return [
        Tensor(np.zeros(x.shape, x.dtype)) if g is None else g
        for x, g in zip(leaves, found, strict=True)
    ]


# Numbers to compare with -----------------------------------------------------------------------


def inner(cotangents: Sequence[Any], values: Sequence[Any]) -> float:
    """Σ Re(c* · value), over all that have a cotangent."""
    return float(sum(
        np.sum(np.real(np.conj(plain(c)) * plain(v)))
        for c, v in zip(cotangents, values, strict=True) if c is not None
    ))


def directions(array: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Every entry's direction (the imaginary ones too) of a small array, else random ones."""
    units = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    if array.size * len(units) <= SMALL:
        for unit in units:
            for k in range(array.size):
                d = np.zeros(array.size, array.dtype)
                d[k] = unit
                yield d.reshape(array.shape)
    else:
        for _ in range(4 if tier.FULL else 2):
            made = random_like(array, rng)
            yield made / np.max(np.abs(made))  # no longer than a step along one entry


def central(f: Callable[[float], float], h: float = STEP) -> float:
    """The derivative of f at 0 by central differences of fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def moved(arrays: Arrays, i: int, by: np.ndarray) -> list[np.ndarray]:
    """The arrays, the i-th moved."""
    return [a + by if j == i else a for j, a in enumerate(arrays)]


def assert_gradient(
    loss: Callable[[Arrays], float], arrays: Arrays, i: int, got: np.ndarray,
    rng: np.random.Generator, *, rtol: float = 1e-7, complex_step: bool = False,
) -> None:
    """`got` is the gradient of a real function of arrays in argument i.

    With `complex_step`, `loss` answers the (then complex) sum without taking its real part.
    """
    found, wanted = [], []
    for d in directions(arrays[i], rng):
        found.append(float(np.sum(np.real(np.conj(got) * d))))
        if complex_step:
            step = [np.asarray(a) for a in moved(arrays, i, EXACT * 1j * d)]
            wanted.append(complex(loss(step)).imag / EXACT)
        else:
            wanted.append(central(lambda t, d=d: loss(moved(arrays, i, t * d))))  # type: ignore[misc]
    scale = max([1.0, *map(abs, wanted)])
    np.testing.assert_allclose(
        found, wanted, rtol=0, atol=rtol * scale, err_msg=f"gradient in argument {i}"
    )


# The laws --------------------------------------------------------------------------------------


def check_space(arrays: Arrays, tracked: Sequence[int], got: Sequence[np.ndarray]) -> None:
    """A gradient has the shape and dtype of its source, and is an array of its library."""
    for i, g in zip(tracked, got, strict=True):
        assert isinstance(g, (np.ndarray, np.generic)), f"argument {i}: a {type(g)}"
        assert g.shape == arrays[i].shape, f"argument {i}: {g.shape}, not {arrays[i].shape}"
        assert g.dtype == arrays[i].dtype, f"argument {i}: {g.dtype}, not {arrays[i].dtype}"


def check_pullback(
    call: Callable[..., Any], arrays: Arrays, rng: np.random.Generator,
    reference: Callable[..., Any] | None = None, *, rtol: float = 1e-7, analytic: bool = False,
) -> None:
    """The pullback of a random cotangent, against differences of the reference.

    Every argument that can have a gradient is checked, the spaces too, and that neither the
    arguments nor the cotangents are written to.
    """
    reference = reference or call
    cotangents = cotangents_of(call, arrays, rng)
    before = [None if c is None else c.tobytes() for c in (*arrays, *cotangents)]
    tracked = [i for i, a in enumerate(arrays) if is_inexact(a)]
    got = pulled(call, arrays, cotangents, tracked)
    check_space(arrays, tracked, got)
    assert before == [None if c is None else c.tobytes() for c in (*arrays, *cotangents)]

    def loss(values: Arrays) -> Any:
        results = outputs(reference(*values))
        if analytic:
            pairs = zip(cotangents, results, strict=True)
            return sum(np.sum(c * plain(v)) for c, v in pairs if c is not None)
        return inner(cotangents, results)

    for i, g in zip(tracked, got, strict=True):
        assert_gradient(loss, arrays, i, g, rng, rtol=rtol, complex_step=analytic)


def check_alone(call: Callable[..., Any], arrays: Arrays, rng: np.random.Generator) -> None:
    """An argument's gradient is the same when the others are constants, Tensors or raw."""
    cotangents = cotangents_of(call, arrays, rng)
    tracked = [i for i, a in enumerate(arrays) if is_inexact(a)]
    together = pulled(call, arrays, cotangents, tracked)
    for i, g in zip(tracked, together, strict=True):
        for constant in (Tensor, np.asarray):
            (alone,) = pulled(call, arrays, cotangents, [i], constant)
            np.testing.assert_array_equal(alone, g, err_msg=f"argument {i} alone")


def check_linear(call: Callable[..., Any], arrays: Arrays, rng: np.random.Generator) -> None:
    """The pullback is linear in the cotangent, and keeps zero zero."""
    one, two = (cotangents_of(call, arrays, rng) for _ in range(2))
    a, b = rng.standard_normal(2)
    mixed = [None if c is None else a * c + b * d for c, d in zip(one, two, strict=True)]
    zero = [None if c is None else 0 * c for c in one]
    parts = zip(*(pulled(call, arrays, c) for c in (one, two, mixed, zero)), strict=True)
    for i, (g, h, both, nothing) in enumerate(parts):
        scale = 1 + np.max(np.abs(g), initial=0) + np.max(np.abs(h), initial=0)
        np.testing.assert_allclose(
            both, a * g + b * h, rtol=0, atol=1e-12 * scale, err_msg=f"linearity, argument {i}"
        )
        assert not np.any(nothing), f"argument {i}: a zero cotangent gives {nothing}"


def check_twice(call: Callable[..., Any], x: np.ndarray, rng: np.random.Generator) -> None:
    """The gradient of f(x, x) is the sum of both arguments' gradients."""
    cotangents = cotangents_of(call, (x, x), rng)
    apart = pulled(call, (x, x), cotangents)
    (together,) = pulled(lambda t: call(t, t), (x,), cotangents)
    np.testing.assert_allclose(together, apart[0] + apart[1], rtol=1e-12, atol=1e-12)


def check_second(
    call: Callable[..., Any], arrays: Arrays, rng: np.random.Generator, *, rtol: float = 1e-6
) -> None:
    """The gradient of ⟨w, pullback(c)⟩ in the arguments, and in c, against differences of it."""
    cotangents = cotangents_of(call, arrays, rng)
    tracked = [i for i, a in enumerate(arrays) if is_inexact(a)]
    weights = [random_like(arrays[i], rng) for i in tracked]
    with_cotangents = [*arrays, *(c for c in cotangents if c is not None)]

    def first(leaves: Sequence[Any], *, create: bool) -> list[Any]:
        given = iter(leaves[len(arrays) :])
        cs = [None if c is None else next(given) for c in cotangents]
        results = outputs(call(*leaves[: len(arrays)]))
        return grads(results, [leaves[i] for i in tracked], cs, create=create)

    def loss(values: Arrays) -> float:
        leaves = [Tensor(v, requires_grad=is_inexact(v)) for v in values]
        return inner(weights, first(leaves, create=False))

    leaves = [Tensor(a, requires_grad=is_inexact(a)) for a in with_cotangents]
    differentiable = [i for i, a in enumerate(with_cotangents) if is_inexact(a)]
    once = first(leaves, create=True)
    twice = grads(once, [leaves[i] for i in differentiable], weights)
    check_space(with_cotangents, differentiable, [g.data for g in twice])
    for i, g in zip(differentiable, twice, strict=True):
        assert_gradient(loss, with_cotangents, i, plain(g), rng, rtol=rtol)
